"""Which subjects each query overlaps, and which is nearest; linear coordinates as for the counts.

Subjects are sorted by start. A pyramid over their ends holds the largest of each ``RADIX``, of each
``RADIX`` squared, and so on, level by level: it skips the subjects that end before a query starts.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.interval_count import MAX_PACKED_BITS, packed_bits
from genoviz.kernels.interval_count.cpu_sort import is_sorted, sort_arrays

RADIX_BITS = 4
RADIX = 1 << RADIX_BITS
NO_SUBJECT = -1


def order_of(keys: np.ndarray) -> np.ndarray:
    """Return the numbers of the keys in ascending order of key, then of number; int64."""
    n = len(keys)
    if n == 0 or is_sorted(keys):
        return np.arange(n)
    if packed_bits(int(keys.max()), n, 0) > MAX_PACKED_BITS:
        return np.argsort(keys, kind="stable")
    bits = np.uint64(n.bit_length())
    packed = keys.astype(np.uint64) << bits | np.arange(n, dtype=np.uint64)
    (packed,) = sort_arrays([], spare=[packed])
    return (packed & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)


def build_pyramid(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maxima of all levels, the values themselves being level 0, and where each begins.

    The second array has n_levels + 1 items.
    """
    levels = [values]
    while len(levels[-1]) > RADIX:
        levels.append(np.maximum.reduceat(levels[-1], np.arange(0, len(levels[-1]), RADIX)))
    return np.concatenate(levels), np.cumsum([0, *map(len, levels)])


@njit(nogil=True, cache=True, inline="always")
def _lower_bound(keys, value):
    """Return the number of keys below a value."""
    first, last = 0, len(keys)
    while first < last:
        middle = (first + last) >> 1
        if np.int64(keys[middle]) < value:
            first = middle + 1
        else:
            last = middle
    return first


@njit(nogil=True, cache=True)
def _next_above(pyramid, levels, k, stop, value):
    """Return the first item of level 0 from k on, before stop, that is above a value, or stop."""
    n_levels = len(levels) - 1
    level = 0
    while k < stop:
        while level + 1 < n_levels and k & ((1 << (RADIX_BITS * (level + 1))) - 1) == 0:
            level += 1
        while level > 0:
            if np.int64(pyramid[levels[level] + (k >> (RADIX_BITS * level))]) <= value:
                break
            level -= 1
        if level == 0 and np.int64(pyramid[k]) > value:
            return k
        k += 1 << (RADIX_BITS * level)
    return stop


@njit(nogil=True, cache=True, parallel=True)
def fill_pairs(
    query_starts,
    query_ends,
    query_order,
    starts,
    pyramid,
    levels,
    order,
    longest,
    firsts,
    queries,
    subjects,
):
    """Store the pairs of query i from ``firsts[i]`` on: its number, and those of its subjects.

    ``starts`` and ``order`` are sorted by start, and the pyramid is that of their ends. Queries
    are taken in the order given, that of their starts being the fastest.
    """
    for rank in prange(len(query_order)):
        i = query_order[rank]
        start, end = np.int64(query_starts[i]), np.int64(query_ends[i])
        stop = _lower_bound(starts, end)
        k = _lower_bound(starts, start - longest + 1)
        at = firsts[i]
        k = _next_above(pyramid, levels, k, stop, start)
        while k < stop:
            queries[at] = i
            subjects[at] = order[k]
            at += 1
            k = _next_above(pyramid, levels, k + 1, stop, start)


@njit(nogil=True, cache=True, parallel=True)
def find_nearest(
    query_starts,
    query_ends,
    query_order,
    starts,
    pyramid,
    levels,
    order,
    longest,
    ends,
    order_by_end,
    group_bounds,
    subjects,
    distances,
):
    """Store for each query the nearest subject of its group and how far away it is.

    Group g lies between ``group_bounds`` g and g + 1. The distance is 0 for an overlap and 1 for
    neighbours that touch; of several subjects, the first by start that overlaps, or else the one
    before the query.
    """
    n_groups = len(group_bounds) - 1
    for rank in prange(len(query_order)):
        i = query_order[rank]
        start, end = np.int64(query_starts[i]), np.int64(query_ends[i])
        subjects[i], distances[i] = NO_SUBJECT, NO_SUBJECT
        group = _lower_bound(group_bounds, start + 1) - 1
        if group < 0 or group >= n_groups:
            continue
        stop = _lower_bound(starts, end)
        k = _lower_bound(starts, start - longest + 1)
        k = _next_above(pyramid, levels, k, stop, start)
        if k < stop:
            subjects[i], distances[i] = order[k], 0
            continue
        before = _lower_bound(ends, start + 1) - 1
        if before >= 0 and np.int64(ends[before]) >= group_bounds[group]:
            subjects[i] = order_by_end[before]
            distances[i] = start - np.int64(ends[before]) + 1
        if stop < len(starts) and np.int64(starts[stop]) < group_bounds[group + 1]:
            distance = np.int64(starts[stop]) - end + 1
            if distances[i] < 0 or distance < distances[i]:
                subjects[i], distances[i] = order[stop], distance
