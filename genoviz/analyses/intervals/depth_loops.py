"""Compiled loops over depth: of single bases, of any bins, and as steps.

``starts`` and ``ends`` are linear coordinates, sorted separately, without empty intervals. Depth at
x is ``#(starts <= x) - #(ends <= x)``, and the sum of depths before x is
``sum(x - start for starts below x) - sum(x - end for ends below x)``, so starts and ends need not
be paired. With prefix sums for each ``BLOCK`` of starts and of ends, a bin of any length costs four
binary searches::

    intervals     [-------)      [----)
                    [-------)
    x             3 4 5 6 7 8 9 10 11 12
    depth         1 2 2 2 1 0 0  1  1  0      before 8: (8 - 3) + (8 - 4) - (8 - 7) = 8

Depth is constant between two changes. So the maximum of a bin is that of the depths after the
starts in it, and the minimum that of the depths after the ends in it, each with the depth at its
first base; a pyramid of blocks of 64 holds the extremes of each level.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.sorted_keys import (
    BLOCK,
    BLOCK_BITS,
    count_below,
    lower_bound,
    sum_of_first,
)

CHUNK = 1 << 15


@njit(nogil=True, cache=True, parallel=True)
def depths_at(starts, ends, values):
    """Return the depth at each value; int64."""
    depths = np.empty(len(values), np.int64)
    for i in prange(len(values)):
        value = np.int64(values[i]) + 1
        depths[i] = count_below(starts, value) - count_below(ends, value)
    return depths


@njit(nogil=True, cache=True, parallel=True)
def depths_after_events(events, others, sign):
    """Return for each event ``sign * (number of events up to it - number of others up to it)``.

    With starts as events and sign 1, this is the depth from each start on; with ends and -1, that
    from each end on. Of events at one coordinate, the last has the right depth; the others are too
    low for starts and too high for ends.
    """
    n, m = len(events), len(others)
    depths = np.empty(n, np.int32)
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        first, last = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        k = count_below(others, np.int64(events[first]) + 1)
        for i in range(first, last):
            value = np.int64(events[i])
            while k < m and np.int64(others[k]) <= value:
                k += 1
            depths[i] = sign * (i + 1 - k)
    return depths


def build_extremes(depths: np.ndarray, reduce: np.ufunc) -> tuple[np.ndarray, np.ndarray]:
    """Return the extremes of each ``BLOCK`` depths, of each ``BLOCK`` of those, and so on.

    Level 0, the depths themselves, is not repeated. The second array has the beginning of each
    level, and one item more than there are levels above 0.
    """
    levels, below = [], depths
    while len(below) > BLOCK:
        below = reduce.reduceat(below, np.arange(0, len(below), BLOCK))
        levels.append(below)
    sizes = np.cumsum([0, *map(len, levels)])
    return (np.concatenate(levels) if levels else depths[:0]), sizes


@njit(nogil=True, cache=True, inline="always")
def _extreme(a, b, sign):
    return max(a, b) if sign > 0 else min(a, b)


@njit(nogil=True, cache=True)
def _range_extreme(depths, pyramid, levels, first, last, sign, extreme):
    """Return the extreme of the depths from first to last, and of the one given."""
    n_levels = len(levels) - 1
    level = 0
    while first < last:
        base = levels[level - 1] if level > 0 else 0
        source = pyramid if level > 0 else depths
        if level == n_levels or last - first < 2 * BLOCK:
            for k in range(first, last):
                extreme = _extreme(extreme, np.int64(source[base + k]), sign)
            break
        while first & (BLOCK - 1):
            extreme = _extreme(extreme, np.int64(source[base + first]), sign)
            first += 1
        while last & (BLOCK - 1):
            last -= 1
            extreme = _extreme(extreme, np.int64(source[base + last]), sign)
        first >>= BLOCK_BITS
        last >>= BLOCK_BITS
        level += 1
    return extreme


@njit(nogil=True, cache=True, inline="always")
def _rank(keys, coarse, value):
    """Return the number of keys below a value; ``coarse`` is the first key of each block."""
    block = count_below(coarse, value)
    if block == 0:
        return 0
    last = min(block << BLOCK_BITS, len(keys))
    return lower_bound(keys, (block - 1) << BLOCK_BITS, last, value)


@njit(nogil=True, cache=True, inline="always")
def _rank_of_next(keys, coarse, rank, value):
    """Return the number of keys up to a value, given the number of those below it."""
    if rank < len(keys) and np.int64(keys[rank]) == value:
        return _rank(keys, coarse, value + 1)
    return rank


@njit(nogil=True, cache=True)
def summarise_bins(sorted_starts, sorted_ends, maxima, minima, edges):
    """Return the sum of depths, the smallest and largest depth and the intervals of each bin.

    int64, shape (4, n_bins). The sorted ones are tuples: the starts or ends, each ``BLOCK``-th of
    them, and their ``block_sums``. The extremes are tuples too: ``depths_after_events`` of starts
    or ends, and their ``build_extremes``.
    """
    starts, coarse_starts, start_sums = sorted_starts
    ends, coarse_ends, end_sums = sorted_ends
    start_depths, start_pyramid, start_levels = maxima
    end_depths, end_pyramid, end_levels = minima
    bins = np.empty((4, len(edges) - 1), np.int64)
    started, ended, previous_sum = 0, 0, np.int64(0)
    for i in range(len(edges)):
        edge = edges[i]
        n_starts, n_ends = _rank(starts, coarse_starts, edge), _rank(ends, coarse_ends, edge)
        total = (n_starts - n_ends) * edge - (
            sum_of_first(starts, start_sums, n_starts) - sum_of_first(ends, end_sums, n_ends)
        )
        if i > 0:
            depth = np.int64(started - ended)
            bins[0, i - 1] = total - previous_sum
            bins[1, i - 1] = _range_extreme(
                end_depths, end_pyramid, end_levels, ended, n_ends, -1, depth
            )
            bins[2, i - 1] = _range_extreme(
                start_depths, start_pyramid, start_levels, started, n_starts, 1, depth
            )
            bins[3, i - 1] = n_starts - ended
        started = _rank_of_next(starts, coarse_starts, n_starts, edge)
        ended = _rank_of_next(ends, coarse_ends, n_ends, edge)
        previous_sum = total
    return bins


@njit(nogil=True, cache=True)
def extend_steps(starts, ends, i, j, high, positions, depths, n):
    """Store where the depth changes before ``high``, and the depth from there on.

    Continues from start i and end j, after the n steps already stored; returns the next i, j
    and n.
    """
    last_i, last_j = count_below(starts, high), count_below(ends, high)
    while i < last_i or j < last_j:
        position = np.int64(high)
        if i < last_i:
            position = np.int64(starts[i])
        if j < last_j:
            position = min(position, np.int64(ends[j]))
        while i < last_i and np.int64(starts[i]) == position:
            i += 1
        while j < last_j and np.int64(ends[j]) == position:
            j += 1
        if i - j != depths[n - 1]:
            positions[n], depths[n] = position, i - j
            n += 1
    return i, j, n


@njit(nogil=True, cache=True)
def find_steps(starts, ends, low, high):
    """Return where the depth changes in a range, from ``low`` on, and the depth from there on."""
    i, j = count_below(starts, low + 1), count_below(ends, low + 1)
    last_i, last_j = count_below(starts, high), count_below(ends, high)
    positions = np.empty(last_i - i + last_j - j + 1, np.int64)
    depths = np.empty(len(positions), np.int64)
    positions[0], depths[0] = low, i - j
    i, j, n = extend_steps(starts, ends, i, j, high, positions, depths, 1)
    return positions[:n].copy(), depths[:n].copy()


# Compiled with genoviz/kernels/sorted_keys.py: a27e01ef7d3a0f32
