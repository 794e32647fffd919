"""Longest common prefixes on all cores; the contract is in this folder's ``__init__``.

Neighbours are compared 32 bases at a time. Long common prefixes are computed in text order: the
prefix of the next position is at most one base shorter, so no base is compared twice. Besides text,
suffix array and result, this takes 1/256 byte a symbol and, in texts with long repeats, up to
another array of the size of the suffix array.
"""

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.instructions import leading_zeros, prefetch

COMPARED_BASES = 256
AHEAD = 24
BLOCK = 1 << 14
CHUNKS_PER_THREAD = 16
LONGEST = 2**32 - 1
ONE = np.uint64(1)


def longest_common_prefixes(packed, n_symbols, exceptions, suffix_array):
    """Return the number of bases that each row shares with the previous row; uint32, (n,)."""
    lengths = np.zeros(n_symbols, np.uint32)
    if n_symbols == 0:
        return lengths
    near = np.zeros((n_symbols >> 11) + 1, np.uint64)
    _mark_words(exceptions, near)
    rows = np.zeros(n_symbols, suffix_array.dtype)
    n_long = _compare_neighbours(packed, exceptions, near, suffix_array, lengths, rows)
    if n_long > 0:
        n_chunks = CHUNKS_PER_THREAD * get_num_threads()
        _extend_in_text_order(packed, exceptions, near, suffix_array, lengths, rows, n_chunks)
    return lengths


@njit(nogil=True, cache=True)
def _mark_words(exceptions, near):
    """Flag each word of 32 symbols that has an exception, and the word before it."""
    for i in range(len(exceptions)):
        word = exceptions[i] >> 5
        for marked in (word, max(word - 1, 0)):
            near[marked >> 6] |= ONE << np.uint64(marked & 63)


@njit(nogil=True, cache=True)
def _window(packed, position):
    """Return 32 symbols from a position on."""
    word = position >> 5
    shift = np.uint64(2 * (position & 31))
    return packed[word] << shift | packed[word + 1] >> ONE >> (np.uint64(63) - shift)


@njit(nogil=True, cache=True)
def _n_bases(exceptions, near, position):
    """Return the number of bases from a position to the next exception, at most 32."""
    word = position >> 5
    if near[word >> 6] >> np.uint64(word & 63) & ONE:
        following = exceptions[np.searchsorted(exceptions, position)]
        return min(following - position, 32)
    return np.int64(32)


@njit(nogil=True, cache=True)
def _extend(packed, exceptions, near, first, second, length, limit):
    """Return the length of the common prefix of two suffixes, of which ``length`` is known."""
    while length < limit:
        one, other = first + length, second + length
        n_equal = np.int64(leading_zeros(_window(packed, one) ^ _window(packed, other))) >> 1
        n_equal = min(n_equal, _n_bases(exceptions, near, one), _n_bases(exceptions, near, other))
        length += n_equal
        if n_equal < 32:
            break
    return length


@njit(nogil=True, cache=True, parallel=True)
def _compare_neighbours(packed, exceptions, near, suffix_array, lengths, rows):
    """Compare up to ``COMPARED_BASES``; store longer rows at their positions for the second pass.

    Return the number of such rows.
    """
    n, n_long = len(suffix_array), 0
    for block in prange((n + BLOCK - 1) // BLOCK):
        first = max(block * BLOCK, 1)
        last = min((block + 1) * BLOCK, n)
        before = np.int64(suffix_array[first - 1])
        window_before = _window(packed, before)
        n_before = _n_bases(exceptions, near, before)
        for row in range(first, last):
            prefetch(packed, np.int64(suffix_array[min(row + AHEAD, n - 1)]) >> 5)
            position = np.int64(suffix_array[row])
            window = _window(packed, position)
            n_bases = _n_bases(exceptions, near, position)
            length = np.int64(leading_zeros(window ^ window_before)) >> 1
            length = min(length, n_bases, n_before)
            if length == 32:
                length = _extend(packed, exceptions, near, before, position, length, COMPARED_BASES)
                if length >= COMPARED_BASES:
                    rows[position] = row
                    n_long += 1
            lengths[row] = length
            before, window_before, n_before = position, window, n_bases
    return n_long


@njit(nogil=True, cache=True, parallel=True)
def _extend_in_text_order(packed, exceptions, near, suffix_array, lengths, rows, n_chunks):
    n, longest = len(rows), len(rows)
    for chunk in prange(n_chunks):
        length = np.int64(0)
        for position in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            row = np.int64(rows[position])
            if row == 0:
                length = np.int64(0)
                continue
            before = np.int64(suffix_array[row - 1])
            length = max(length - 1, COMPARED_BASES)
            length = _extend(packed, exceptions, near, before, position, length, longest)
            lengths[row] = min(length, LONGEST)


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
