"""Groups of rows that begin with the same k-mer, from the longest common prefixes.

Rows ``i - 1`` and ``i`` of a suffix array begin with the same k-mer if ``lcp[i] >= k``. A group of
one row is a k-mer only if there is no exception within its ``k`` symbols. The functions take the
suffix array, uint32 or int64 of shape (n,), and the common prefixes, uint32 of shape (n,).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.generators import report

CHUNKS_PER_THREAD = 8
N_SLICES = 8
FEW = 1 << 12
_HISTOGRAM_ROOM = 1 << 24


def n_chunks(n: int, room: int = 1) -> int:
    """Return the number of chunks for ``n`` rows, if each chunk needs an array of ``room``."""
    maximum = min(CHUNKS_PER_THREAD * get_num_threads(), _HISTOGRAM_ROOM // max(room, 1), n >> 8)
    return max(1, maximum)


def iter_batches(n: int) -> Iterator[tuple[int, int, float]]:
    """Yield the ends of batches of ``n`` chunks, groups or blocks, and the fraction then done."""
    edges = sorted({n * part // N_SLICES for part in range(N_SLICES + 1)})
    for first, last in pairwise(edges):
        yield first, last, last / n


def scaled(
    steps: Generator[float, None, Any], low: float, high: float
) -> Generator[float, None, Any]:
    """Return what a generator returns; map its progress to the range ``low`` to ``high``."""
    return report(steps, lambda share: low + (high - low) * share)


def iter_repeated_sizes(
    lcp: np.ndarray, k: int
) -> Generator[float, None, tuple[np.ndarray, np.ndarray]]:
    """Return the distinct sizes of groups, 2 or more, and the number of groups; int64 both.

    Like all generators here, it yields the fraction done.
    """
    n, chunks = len(lcp), n_chunks(len(lcp))
    few = np.zeros((chunks, FEW), np.int64)
    many = np.zeros(n // FEW + 2 * chunks, np.int64)
    for first, last, share in iter_batches(chunks):
        _count_sizes(lcp, k, first, last, few, many)
        yield share
    return tally_sizes(few, many)


def tally_sizes(few: np.ndarray, many: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct sizes, ascending, and the number of each; int64 both.

    ``few`` has counts of the sizes below `FEW` for each chunk; ``many`` has larger sizes, and
    zeros.
    """
    few_counts = few.sum(axis=0)
    few_sizes = np.flatnonzero(few_counts)
    many_sizes, many_counts = np.unique(many[many > 0], return_counts=True)
    return (
        np.concatenate([few_sizes, many_sizes]),
        np.concatenate([few_counts[few_sizes], many_counts]),
    )


@njit(nogil=True, cache=True, parallel=True)
def _count_sizes(lcp, k, first_chunk, last_chunk, few, many):
    n, chunks = len(lcp), len(few)
    for chunk in prange(first_chunk, last_chunk):
        first, last = n * chunk // chunks, n * (chunk + 1) // chunks
        # Of the large groups that begin in a chunk, at most one ends after it.
        n_many = first // FEW + 2 * chunk
        i = first
        while i < last and np.int64(lcp[i]) >= k:
            i += 1
        while i < last:
            head = i
            i += 1
            while i < n and np.int64(lcp[i]) >= k:
                i += 1
            size = i - head
            if size >= FEW:
                many[n_many] = size
                n_many += 1
            elif size > 1:
                few[chunk, size] += 1


def iter_lengths(
    lcp: np.ndarray, top: int
) -> Generator[float, None, tuple[np.ndarray, np.ndarray]]:
    """Return histograms of common prefix lengths; int64, shape (top + 1,) both.

    The first one is of the prefix shared with the previous row, the second of the longer one of
    those shared with the two neighbours. Lengths beyond ``top`` count as ``top``.
    """
    counts = np.zeros((n_chunks(len(lcp), top), 2, top + 1), np.int64)
    for first, last, share in iter_batches(len(counts)):
        _count_lengths(lcp, first, last, counts)
        yield share
    before, longest = counts.sum(axis=0)
    return before, longest


@njit(nogil=True, cache=True, parallel=True)
def _count_lengths(lcp, first_chunk, last_chunk, counts):
    n, chunks, top = len(lcp), len(counts), np.int64(counts.shape[2] - 1)
    for chunk in prange(first_chunk, last_chunk):
        for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            before = min(np.int64(lcp[i]), top)
            after = min(np.int64(lcp[i + 1]), top) if i + 1 < n else np.int64(0)
            counts[chunk, 0, before] += 1
            counts[chunk, 1, max(before, after)] += 1


def mark_short(exceptions: np.ndarray, n_symbols: int, k: int) -> np.ndarray:
    """Return a bitmap of text positions at which no k-mer begins; uint64, (n // 64 + 1,)."""
    bits = np.zeros(n_symbols // 64 + 1, np.uint64)
    _mark_short(exceptions, k, bits)
    return bits


@njit(nogil=True, cache=True)
def _mark_short(exceptions, k, bits):
    first = 0
    for exception in exceptions:
        for position in range(max(first, exception - k + 1), exception + 1):
            bits[position >> 6] |= np.uint64(1) << np.uint64(position & 63)
        first = exception + 1


@njit(nogil=True, cache=True)
def clear_short(exceptions, k, values):
    """Set values to 0 at text positions at which no k-mer begins."""
    first = 0
    for exception in exceptions:
        values[max(first, exception - k + 1) : exception + 1] = 0
        first = exception + 1


def select_groups(
    suffix_array: np.ndarray,
    lcp: np.ndarray,
    short: np.ndarray,
    k: int,
    low: int,
    high: int,
    first: int = 0,
    stop: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows and the sizes of groups of ``low`` to ``high`` rows; dtype of rows.

    Of these groups, in order of rows, ``first`` to ``stop`` are returned. ``short`` is the result
    of `mark_short`; it is not used if ``low`` is above 1.
    """
    counts = np.zeros(n_chunks(len(lcp)), np.int64)
    _count_groups(suffix_array, lcp, short, k, low, high, counts)
    n = int(counts.sum())
    first, stop, _ = slice(first, stop).indices(n)
    heads = np.empty(max(stop - first, 0), suffix_array.dtype)
    sizes = np.empty_like(heads)
    offsets = np.cumsum(counts) - counts
    if len(heads):
        _take_groups(suffix_array, lcp, short, k, low, high, offsets, counts, first, heads, sizes)
    return heads, sizes


@njit(nogil=True, cache=True, inline="always")
def _is_short(short, position):
    return (short[position >> 6] >> np.uint64(position & 63)) & np.uint64(1) != 0


@njit(nogil=True, cache=True, parallel=True)
def _count_groups(suffix_array, lcp, short, k, low, high, counts):
    n, chunks = len(lcp), len(counts)
    for chunk in prange(chunks):
        last = n * (chunk + 1) // chunks
        i = n * chunk // chunks
        n_found = 0
        while i < last and np.int64(lcp[i]) >= k:
            i += 1
        while i < last:
            head = i
            i += 1
            while i < n and np.int64(lcp[i]) >= k:
                i += 1
            if low <= i - head <= high and (
                i - head > 1 or not _is_short(short, np.int64(suffix_array[head]))
            ):
                n_found += 1
        counts[chunk] = n_found


@njit(nogil=True, cache=True, parallel=True)
def _take_groups(
    suffix_array, lcp, short, k, low, high, offsets, counts, first_wanted, heads, sizes
):
    n, chunks = len(lcp), len(offsets)
    for chunk in prange(chunks):
        place = offsets[chunk] - first_wanted
        if place >= len(heads) or place + counts[chunk] <= 0:
            continue
        last = n * (chunk + 1) // chunks
        i = n * chunk // chunks
        while i < last and np.int64(lcp[i]) >= k:
            i += 1
        while i < last and place < len(heads):
            head = i
            i += 1
            while i < n and np.int64(lcp[i]) >= k:
                i += 1
            if low <= i - head <= high and (
                i - head > 1 or not _is_short(short, np.int64(suffix_array[head]))
            ):
                if place >= 0:
                    heads[place] = head
                    sizes[place] = i - head
                place += 1


@njit(nogil=True, cache=True, parallel=True)
def find_first_positions(suffix_array, heads, sizes):
    """Return the smallest text position of each group; int64, shape (n_groups,)."""
    positions = np.empty(len(heads), np.int64)
    for group in prange(len(heads)):
        smallest = np.int64(suffix_array[np.int64(heads[group])])
        for row in range(np.int64(heads[group]), np.int64(heads[group]) + np.int64(sizes[group])):
            smallest = min(smallest, np.int64(suffix_array[row]))
        positions[group] = smallest
    return positions


def iter_scatter_sizes(
    suffix_array: np.ndarray, lcp: np.ndarray, k: int, values: np.ndarray
) -> Generator[float, None, None]:
    """Store the size of its group at each text position; ``values`` has an item for each."""
    chunks = n_chunks(len(lcp))
    for first, last, share in iter_batches(chunks):
        _scatter_sizes(suffix_array, lcp, k, chunks, first, last, values)
        yield share


@njit(nogil=True, cache=True, parallel=True)
def _scatter_sizes(suffix_array, lcp, k, chunks, first_chunk, last_chunk, values):
    n = len(lcp)
    for chunk in prange(first_chunk, last_chunk):
        last = n * (chunk + 1) // chunks
        i = n * chunk // chunks
        while i < last and np.int64(lcp[i]) >= k:
            i += 1
        while i < last:
            head = i
            i += 1
            while i < n and np.int64(lcp[i]) >= k:
                i += 1
            for row in range(head, i):
                values[np.int64(suffix_array[row])] = i - head


def iter_scatter_totals(
    suffix_array: np.ndarray,
    heads: np.ndarray,
    sizes: np.ndarray,
    totals: np.ndarray,
    values: np.ndarray,
) -> Generator[float, None, None]:
    """Store the total of its group at each text position, for groups selected before."""
    for first, last, share in iter_batches(len(heads)):
        part = slice(first, last)
        _scatter_totals(suffix_array, heads[part], sizes[part], totals[part], values)
        yield share


@njit(nogil=True, cache=True, parallel=True)
def _scatter_totals(suffix_array, heads, sizes, totals, values):
    for group in prange(len(heads)):
        head = np.int64(heads[group])
        for row in range(head, head + np.int64(sizes[group])):
            values[np.int64(suffix_array[row])] = totals[group]
