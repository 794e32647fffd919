"""What only the GPU's way of sorting suffixes has: blocks, narrow keys, groups of any size."""

import numpy as np
import pytest

from genoviz.analyses.sequences.suffix_array import suffix_array
from genoviz.backend import cuda_is_available, load_kernel
from tests.kernels.texts import TEXTS, make_text

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here"),
]
NAMES = ("all T", "strains", "families", "dense exceptions", "runs of every length", "random")
OPTIONS = {
    "narrow keys": {"width": 4},
    "large groups by radix sort": {"width": 4, "small_size": 2},
    "ranks alone": {"few_tied": 0},
    "comparison at once": {"few_tied": 1},
    "wide keys": {"width": 29},
}


def sort_on_gpu(text, dtype=np.uint32, *, on_host=False, **options):
    import cupy

    kernel = load_kernel("suffix_sort", "cuda")
    rows = (np if on_host else cupy).zeros(text.n_symbols, dtype)
    packed, exceptions = cupy.asarray(text.packed), cupy.asarray(text.exceptions)
    steps = list(kernel.iter_sort_suffixes(packed, text.n_symbols, exceptions, rows, **options))
    return rows if on_host else rows.get(), steps


@pytest.fixture(scope="module")
def texts():
    found = {name: make_text(*TEXTS[name]()) for name in NAMES}
    return {name: (text, suffix_array(text, backend="cpu")) for name, text in found.items()}


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_way_gives_the_array_of_the_cpu(texts, name, options, dtype):
    text, expected = texts[name]
    rows, _ = sort_on_gpu(text, dtype, **OPTIONS[options])
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize("n_blocks", [2, 7, 40])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_give_the_array_of_the_cpu(texts, name, n_blocks, on_host, dtype):
    text, expected = texts[name]
    max_block = -(-text.n_symbols // n_blocks)
    rows, steps = sort_on_gpu(text, dtype, on_host=on_host, max_block=max_block)
    np.testing.assert_array_equal(rows, expected)
    n_done = [n_done for stage, n_done, *_ in steps if stage == "blocks"]
    assert n_done[-1] == text.n_symbols
    # Suffixes of one long run of a base have the same first bases: they cannot be parted.
    assert len(n_done) > 1 or name == "all T"


def test_a_block_of_one_suffix_after_another():
    text = make_text("GATTACA", "NACGT")
    rows, steps = sort_on_gpu(text, max_block=1)
    np.testing.assert_array_equal(rows, suffix_array(text, backend="cpu"))
    assert sum(stage == "blocks" for stage, *_ in steps) == text.n_symbols - 2
