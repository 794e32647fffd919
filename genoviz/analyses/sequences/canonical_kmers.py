"""K-mers and their reverse complements: pairs of groups, and occurrences of both.

Groups of rows of the suffix array are in the order of their k-mers, so a binary search finds each
reverse complement. It compares the first 32 bases, stored as one integer per group, and the text if
those are equal. A table over the first bases gives the start of the search.

For a spectrum alone it is faster to sort the canonical k-mers of up to 32 bases as integers.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.analyses.sequences.kmer_groups import (
    FEW,
    iter_batches,
    n_chunks,
    select_groups,
    tally_sizes,
)

MAX_TABLE_BASES = 13
BLOCK = 256
FEW_KEYS = 8
# Fractions of the time, for the progress.
_KEYS_SHARE, _FILLED_SHARE, _SORTED_SHARE = 0.2, 0.2, 0.9
MAX_SORTED_K = 32
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, eq=False)
class CanonicalGroups:
    """All k-mers of a text, each paired with its reverse complement.

    Attributes
    ----------
    heads, sizes
        With the dtype of the suffix array, shape (n_groups,): the first row that begins with a
        k-mer, and the number of such rows; in the order of the k-mers.
    partners
        int32 or int64, shape (n_groups,): group of the reverse complement; -1 if it does not
        occur, the group itself for a palindrome.
    """

    heads: np.ndarray
    sizes: np.ndarray
    partners: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """How often each k-mer occurs on both strands; int64, shape (n_groups,)."""
        totals = np.empty(len(self.sizes), np.int64)
        _add_partners(self.sizes, self.partners, totals)
        return totals

    @property
    def is_first(self) -> np.ndarray:
        """Whether a k-mer represents its pair; bool, shape (n_groups,), one of each pair."""
        return (self.partners < 0) | (self.partners >= np.arange(len(self.partners)))


def iter_canonical_groups(
    packed: np.ndarray, suffix_array: np.ndarray, lcp: np.ndarray, short: np.ndarray, k: int
) -> Generator[float, None, CanonicalGroups]:
    """Return all k-mers of a text with their reverse complements; yield the fraction done.

    ``packed`` is that of an `IndexText`, ``short`` the result of `mark_short`. The time is that of
    half a binary search for each distinct k-mer; the memory is 20 bytes for each, 8 of them only
    temporarily.
    """
    heads, sizes = select_groups(suffix_array, lcp, short, k, 1, len(lcp))
    keys = np.empty(len(heads), np.uint64)
    for first, last, share in iter_batches(len(heads)):
        _fill_keys(packed, suffix_array, heads[first:last], k, keys[first:last])
        yield _KEYS_SHARE * share
    table_bases = min(k, MAX_TABLE_BASES, int(np.log2(len(heads) + 1) / 2) + 1)
    table = np.empty(4**table_bases + 1, heads.dtype)
    _fill_table(keys, table_bases, table)
    partners = np.full(len(heads), -1, np.int32 if len(heads) < 2**31 else np.int64)
    for first, last, share in iter_batches(-(-len(heads) // BLOCK)):
        _find_partners(
            packed, suffix_array, heads, keys, table, table_bases, k, first, last, partners
        )
        yield _KEYS_SHARE + (1 - _KEYS_SHARE) * share
    return CanonicalGroups(heads, sizes, partners)


@njit(nogil=True, cache=True, parallel=True)
def _add_partners(sizes, partners, totals):
    for group in prange(len(sizes)):
        partner = np.int64(partners[group])
        totals[group] = np.int64(sizes[group])
        if partner >= 0 and partner != group:
            totals[group] += np.int64(sizes[partner])


@njit(nogil=True, cache=True, inline="always")
def _window(packed, position):
    """Return the 32 symbols from a position on, the first one in the highest bits."""
    word, shift = position >> 5, np.uint64(2 * (position & 31))
    if shift == 0:
        return packed[word]
    return packed[word] << shift | packed[word + 1] >> (np.uint64(64) - shift)


@njit(nogil=True, cache=True, inline="always")
def _keep(window, n):
    """Return the first ``n`` symbols of a window, 1 to 32, padded with A."""
    return window & (~np.uint64(0) << np.uint64(64 - 2 * n))


@njit(nogil=True, cache=True)
def _turn(window):
    """Return the reverse complement of 32 symbols."""
    turned = ~window
    for shift, mask in (
        (np.uint64(2), np.uint64(0x3333333333333333)),
        (np.uint64(4), np.uint64(0x0F0F0F0F0F0F0F0F)),
        (np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
        (np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
        (np.uint64(32), np.uint64(0x00000000FFFFFFFF)),
    ):
        turned = (turned >> shift) & mask | (turned & mask) << shift
    return turned


@njit(nogil=True, cache=True)
def _turned_window(packed, position, k, word):
    """Return word ``word`` of the reverse complement of a k-mer, 32 symbols."""
    n_left = k - 32 * word
    if n_left >= 32:
        return _turn(_window(packed, position + n_left - 32))
    return _turn(_window(packed, position) >> np.uint64(64 - 2 * n_left))


@njit(nogil=True, cache=True)
def _compare(packed, turned_position, position, k, first_word):
    """Compare the reverse complement of one k-mer with another k-mer; return -1, 0 or 1."""
    for word in range(first_word, (k + 31) >> 5):
        n = min(32, k - 32 * word)
        one = _keep(_turned_window(packed, turned_position, k, word), n)
        other = _keep(_window(packed, position + 32 * word), n)
        if one != other:
            return -1 if one < other else 1
    return 0


@njit(nogil=True, cache=True, parallel=True)
def _fill_keys(packed, suffix_array, heads, k, keys):
    for group in prange(len(heads)):
        position = np.int64(suffix_array[np.int64(heads[group])])
        keys[group] = _keep(_window(packed, position), min(k, 32))


@njit(nogil=True, cache=True)
def _fill_table(keys, table_bases, table):
    """Store the first group at or after each of the table's k-mers."""
    shift = np.uint64(64 - 2 * table_bases)
    cell = 0
    for group in range(len(keys)):
        while cell <= np.int64(keys[group] >> shift):
            table[cell] = group
            cell += 1
    table[cell:] = len(keys)


@njit(nogil=True, cache=True)
def _find_among_equal(packed, suffix_array, heads, keys, first, last, position, key, k):
    """Return the first group that is not before the reverse complement of a k-mer.

    The groups first have its key, and then greater ones.
    """
    while first < last:
        middle = (first + last) >> 1
        is_before = False
        if keys[middle] == key:
            other = np.int64(suffix_array[np.int64(heads[middle])])
            is_before = _compare(packed, position, other, k, 1) > 0
        if is_before:
            first = middle + 1
        else:
            last = middle
    return first


@njit(nogil=True, cache=True, parallel=True)
def _find_partners(
    packed, suffix_array, heads, keys, table, table_bases, k, first_block, last_block, partners
):
    n = len(heads)
    shift = np.uint64(64 - 2 * table_bases)
    for block in prange(first_block, last_block):
        # Each kind of load has a loop of its own, so that many cache misses overlap.
        groups, positions = np.empty((2, BLOCK), np.int64)
        wanted = np.empty(BLOCK, np.uint64)
        firsts, lasts = np.empty((2, BLOCK), np.int64)
        for group in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            positions[group % BLOCK] = suffix_array[np.int64(heads[group])]
        n_wanted = 0
        for group in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            position = positions[group % BLOCK]
            key = _keep(_turned_window(packed, position, k, 0), min(k, 32))
            is_equal = key == keys[group]
            order = _compare(packed, position, position, k, 1) if is_equal and k > 32 else 0
            if is_equal and order == 0:
                partners[group] = group
            elif order < 0 or (not is_equal and key < keys[group]):
                groups[n_wanted], positions[n_wanted], wanted[n_wanted] = group, position, key
                n_wanted += 1
        for i in range(n_wanted):
            cell = np.int64(wanted[i] >> shift)
            firsts[i] = table[cell]
            lasts[i] = table[cell + 1]
        for i in range(n_wanted):
            found, last = firsts[i], lasts[i]
            while last - found > FEW_KEYS:
                middle = (found + last) >> 1
                if keys[middle] < wanted[i]:
                    found = middle + 1
                else:
                    last = middle
            while found < last and keys[found] < wanted[i]:
                found += 1
            firsts[i] = found
        for i in range(n_wanted):
            found, last = firsts[i], lasts[i]
            if k > 32 and found + 1 < last and keys[found + 1] == wanted[i]:
                found = _find_among_equal(
                    packed, suffix_array, heads, keys, found, last, positions[i], wanted[i], k
                )
            if found < last and keys[found] == wanted[i]:
                other = np.int64(suffix_array[np.int64(heads[found])])
                if k <= 32 or _compare(packed, positions[i], other, k, 1) == 0:
                    # Each group has one reverse complement, so no two threads write to the same
                    # place.
                    partners[groups[i]] = found
                    partners[found] = groups[i]


def iter_count_canonical(
    packed: np.ndarray, n_symbols: int, short: np.ndarray, n_places: int, k: int
) -> Generator[float, None, tuple[np.ndarray, np.ndarray]]:
    """Return the multiplicities of canonical k-mers, and the number of each; int64 both.

    Yields the fraction done.

    Parameters
    ----------
    packed, n_symbols
        Those of an `IndexText`.
    short, n_places
        The result of `mark_short`, and the number of places that it does not mark.
    k
        1 to 32. Memory is 8 bytes a symbol.
    """
    keys = np.empty(n_symbols, np.uint64)
    chunks = n_chunks(n_symbols)
    for first, last, share in iter_batches(chunks):
        _fill_sorted_keys(packed, short, k, chunks, first, last, keys)
        yield _FILLED_SHARE * share
    # No canonical k-mer is all T, so places without a k-mer sort last.
    keys.sort()
    yield _SORTED_SHARE
    few = np.zeros((chunks, FEW), np.int64)
    many = np.zeros(n_places // FEW + 2 * chunks, np.int64)
    for first, last, share in iter_batches(chunks):
        _count_equal(keys[:n_places], first, last, few, many)
        yield _SORTED_SHARE + (1 - _SORTED_SHARE) * share
    return tally_sizes(few, many)


@njit(nogil=True, cache=True, parallel=True)
def _fill_sorted_keys(packed, short, k, chunks, first_chunk, last_chunk, keys):
    n = len(keys)
    top = np.uint64(2 * (k - 1))
    mask = _NONE >> np.uint64(64 - 2 * k)
    for chunk in prange(first_chunk, last_chunk):
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
def _count_equal(keys, first_chunk, last_chunk, few, many):
    """Histogram of runs of equal keys by length; long runs are listed."""
    n, chunks = len(keys), len(few)
    for chunk in prange(first_chunk, last_chunk):
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
