"""The product for Hopper cards compiles, without warnings, also where there is no GPU."""

import pytest

from genoviz.kernels.cuda_source import STANDARD
from tests.kernels.test_cuda_sources import CUPY_OPTIONS, SOURCES, compile_cuda


@pytest.mark.parametrize("n_blocks", [1, 10])
def test_source_compiles_for_groups_of_warps(n_blocks):
    source = SOURCES["genotype_product/integer_product.cu"].read_text(encoding="utf-8")
    options = (STANDARD, f"-DN_BLOCKS={n_blocks}", "-arch=sm_90a", *CUPY_OPTIONS)
    assert compile_cuda(source, *options) == ""
