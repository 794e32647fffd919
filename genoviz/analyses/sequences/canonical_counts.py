"""How often k-mers of up to 32 bases occur on both strands, by sorting them as integers.

For a spectrum alone this is faster than to find the partner of each k-mer in the suffix array.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.analyses.sequences.kmer_groups import FEW, n_chunks, tally_sizes

MAX_SORTED_K = 32
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


def count_canonical(
    packed: np.ndarray, n_symbols: int, short: np.ndarray, n_places: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often canonical k-mers occur, and how many k-mers do; int64 both.

    Parameters
    ----------
    packed, n_symbols
        Those of an `IndexText`.
    short, n_places
        What `mark_short` returns, and how many places it does not mark.
    k
        1 to 32. The room is 8 bytes a symbol.
    """
    keys = np.empty(n_symbols, np.uint64)
    chunks = n_chunks(n_symbols)
    _fill_keys(packed, short, k, chunks, keys)
    # No canonical k-mer is all T, so that places without one are sorted behind all others.
    keys.sort()
    few = np.zeros((chunks, FEW), np.int64)
    many = np.zeros(n_places // FEW + 2 * chunks, np.int64)
    _count_equal(keys[:n_places], few, many)
    return tally_sizes(few, many)


@njit(nogil=True, cache=True, parallel=True)
def _fill_keys(packed, short, k, chunks, keys):
    n = len(keys)
    top = np.uint64(2 * (k - 1))
    mask = _NONE >> np.uint64(64 - 2 * k)
    for chunk in prange(chunks):
        first, last = n * chunk // chunks, n * (chunk + 1) // chunks
        keys[first:last] = _NONE
        forward, reverse = np.uint64(0), np.uint64(0)
        for i in range(first, min(last + k - 1, n)):
            symbol = (packed[i >> 5] >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)
            forward = (forward << np.uint64(2) | symbol) & mask
            reverse = reverse >> np.uint64(2) | (np.uint64(3) - symbol) << top
            place = i - k + 1
            if place >= first and not (short[place >> 6] >> np.uint64(place & 63)) & np.uint64(1):
                keys[place] = min(forward, reverse)


@njit(nogil=True, cache=True, parallel=True)
def _count_equal(keys, few, many):
    """Count runs of equal keys by their length, long ones by themselves."""
    n, chunks = len(keys), len(few)
    for chunk in prange(chunks):
        first, last = n * chunk // chunks, n * (chunk + 1) // chunks
        n_many = first // FEW + 2 * chunk
        i = first
        while 0 < i < last and keys[i] == keys[i - 1]:
            i += 1
        while i < last:
            start = i
            i += 1
            while i < n and keys[i] == keys[start]:
                i += 1
            if i - start >= FEW:
                many[n_many] = i - start
                n_many += 1
            else:
                few[chunk, i - start] += 1
