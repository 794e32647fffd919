"""What only the GPU's way of sorting suffixes has: blocks, narrow keys, groups of any size."""

import numpy as np
import pytest

from genoviz.analyses.sequences.suffix_array import suffix_array
from genoviz.backend import cuda_is_available, load_kernel
from genoviz.kernels.suffix_sort import BLOCK_STAGES
from tests.kernels.texts import TEXTS, make_text
from tests.oracles.suffix_array import is_suffix_array

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


def sort_blocks(text, block_rows, cover_bits, **options):
    """Return the rows of blocks, and what the generator returns."""
    kernel = load_kernel("suffix_sort", "cuda")
    source = text.packed, text.n_symbols, text.exceptions
    steps, returned = [], []

    def go():
        returned.append(
            (yield from kernel.iter_sort_blocks(*source, block_rows, cover_bits, 3, **options))
        )

    steps = list(go())
    stages = [BLOCK_STAGES.index(stage) for stage, *_ in steps]
    assert stages == sorted(stages)
    return [rows for *_, rows in steps if rows is not None], returned[0]


@pytest.mark.parametrize("cover_bits", [6, 9])
@pytest.mark.parametrize("n_blocks", [1, 9])
@pytest.mark.parametrize("name", TEXTS)
def test_blocks_that_are_given_away_are_the_suffix_array(name, n_blocks, cover_bits):
    text = make_text(*TEXTS[name]())
    blocks, _ = sort_blocks(text, text.n_symbols // n_blocks + 1, cover_bits)
    assert is_suffix_array(text, np.concatenate([np.empty(0, np.uint32), *blocks]))
    assert max(map(len, blocks), default=0) <= text.n_symbols // n_blocks + 1


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("name", NAMES)
def test_several_gpus_share_blocks(texts, name, dtype):
    """One card stands for three, as there may be no more."""
    text, expected = texts[name]
    options = {"devices": [0, 0, 0], "table_k": 5, "dtype": dtype}
    blocks, table = sort_blocks(text, text.n_symbols // 20 + 1, 8, **options)
    assert len(blocks) >= 20
    np.testing.assert_array_equal(np.concatenate(blocks), expected)
    np.testing.assert_array_equal(table.get(), starts_of(text, expected, 5))


def starts_of(text, rows, k):
    """Return the first and the last row of each k-mer, row by row."""
    symbols, table = np.append(text.symbols(), [4] * k), np.zeros((4**k, 2), np.int64)
    for row, position in enumerate(rows.tolist()):
        kmer = symbols[position : position + k]
        if kmer.max() < 4:
            code = int("".join(map(str, kmer)), 4)
            table[code] = table[code, 0] or row, row + 1
    return table


def test_blocks_that_nobody_asks_for_are_not_made():
    """Who stops early waits for what has begun, and the card is as it was."""
    text = make_text(*TEXTS["random"]())
    kernel = load_kernel("suffix_sort", "cuda")
    source = text.packed, text.n_symbols, text.exceptions
    made = []

    def finish(_text, rows, first_row):
        made.append(first_row)
        return len(rows)

    steps = kernel.iter_sort_blocks(*source, 1_000, 9, 0, devices=[0, 0], finish=finish)
    assert next(n for *_, n in steps if n is not None) <= 1_000
    steps.close()
    assert len(made) <= 8


def test_what_fails_on_a_gpu_ends_the_sort():
    text = make_text(*TEXTS["random"]())
    kernel = load_kernel("suffix_sort", "cuda")
    source = text.packed, text.n_symbols, text.exceptions

    def finish(_text, _rows, _first_row):
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        list(kernel.iter_sort_blocks(*source, 1_000, 9, 0, devices=[0, 0], finish=finish))
