"""Common prefixes against symbol-by-symbol comparison and their definition on repeats."""

import numba
import numpy as np
import pytest
from hypothesis import given

from genoviz.analyses.sequences.suffix_array import suffix_array
from genoviz.backend import array_module, load_kernel
from genoviz.kernels.common_prefix import cpu
from tests.kernels.test_suffix_sort import CONTIGS
from tests.kernels.texts import TEXTS, make_text
from tests.oracles.suffix_array import common_prefixes, sort_suffixes


def find_prefixes(text, order, backend="cpu"):
    kernel, arrays = load_kernel("common_prefix", backend), array_module(backend)
    lengths = kernel.longest_common_prefixes(
        arrays.asarray(text.packed), text.n_symbols, arrays.asarray(text.exceptions), order
    )
    return lengths if isinstance(lengths, np.ndarray) else lengths.get()


def kasai_prefixes(symbols, order):
    """Find them in the order of the text with Kasai's rule, a symbol at a time."""
    rows = np.empty(len(order), np.int64)
    rows[order] = np.arange(len(order))
    return _kasai(symbols, order.astype(np.int64), rows)


@numba.njit
def _kasai(symbols, order, rows):
    lengths, length = np.zeros(len(order), np.int64), 0
    for position in range(len(order)):
        if rows[position] == 0:
            length = 0
            continue
        before = order[rows[position] - 1]
        while symbols[position + length] < 4:
            if symbols[position + length] != symbols[before + length]:
                break
            length += 1
        lengths[rows[position]] = length
        length = max(length - 1, 0)
    return lengths


@given(CONTIGS)
def test_small_texts_have_the_prefixes_that_comparison_finds(backend, contigs):
    text = make_text(*contigs)
    order = sort_suffixes(text.symbols())
    rows = np.array(order, np.uint32)
    rows.flags.writeable = False  # as those of an index
    lengths = find_prefixes(text, rows, backend)
    assert lengths.dtype == np.uint32
    assert lengths.tolist() == common_prefixes(text.symbols(), order)


@pytest.mark.parametrize("name", TEXTS)
def test_hard_texts_have_the_prefixes_of_kasai(backend, name):
    text = make_text(*TEXTS[name]())
    order = suffix_array(text, backend="cpu")
    lengths = find_prefixes(text, order, backend)
    np.testing.assert_array_equal(lengths, kasai_prefixes(text.symbols(), order))


def test_two_copies_have_their_length_in_common(backend):
    text = make_text(*TEXTS["two copies"]())
    lengths = find_prefixes(text, suffix_array(text, backend="cpu"), backend)
    assert lengths.max() == 100_000


def test_rows_of_64_bits_give_the_same():
    text = make_text(*TEXTS["strains"]())
    order = suffix_array(text, backend="cpu")
    lengths = find_prefixes(text, order)
    np.testing.assert_array_equal(find_prefixes(text, order.astype(np.int64)), lengths)


def test_any_number_of_threads_gives_the_same():
    text = make_text(*TEXTS["strains"]())
    order = suffix_array(text, backend="cpu")
    expected = find_prefixes(text, order)
    n_threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(find_prefixes(text, order), expected)
    finally:
        numba.set_num_threads(n_threads)
    assert expected.max() > cpu.COMPARED_BASES
