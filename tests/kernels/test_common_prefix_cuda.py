"""What only the GPU's way of finding common prefixes has: three ways, by how many are long."""

import numpy as np
import pytest

from genoviz.analyses.sequences.suffix_array import common_prefixes, suffix_array
from genoviz.backend import cuda_is_available, load_kernel
from tests.kernels.texts import TEXTS, make_text

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here"),
]
OPTIONS = {
    "by position": {"short_words": 1, "few_long": 0},
    "a warp each": {"short_words": 1, "few_long": 1, "long": 2**31},
    "a warp each, then by position": {"short_words": 1, "few_long": 1, "long": 2048},
}


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["two copies", "strains", "families", "long runs", "all T"])
def test_every_way_gives_the_lengths_of_the_cpu(name, options, dtype):
    import cupy

    text = make_text(*TEXTS[name]())
    rows = suffix_array(text, backend="cpu")
    expected = common_prefixes(text, rows, backend="cpu")
    lengths = load_kernel("common_prefix", "cuda").longest_common_prefixes(
        cupy.asarray(text.packed),
        text.n_symbols,
        cupy.asarray(text.exceptions),
        cupy.asarray(rows.astype(dtype)),
        **OPTIONS[options],
    )
    np.testing.assert_array_equal(lengths.get(), expected)
