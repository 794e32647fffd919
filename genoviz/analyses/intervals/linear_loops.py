"""Compiled loops over intervals in linear coordinates: conversion, overlaps, nearest intervals.

The subjects that overlap a query are found without a scan of all earlier ones. Subjects are sorted
by start. A pyramid over their ends has the maximum of each ``RADIX`` ends, of each ``RADIX``
squared, and so on (here with a radix of 2)::

    level 2                  90
    level 1          90              40
    level 0 (ends)   12      90      30      40
    starts            5      10      21      33        query: 35 to 50

A query that starts at 35 skips all blocks with a maximum of 35 or less. It goes from one end above
35 to the next (90, then 40): up a level at the start of a block, down where the maximum is high
enough, until starts reach the query's end.
"""

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.sorted_keys import count_below

NO_GROUP = -1
KEEP, WIDEN, LEAVE_OUT = 0, 1, 2
MIN_CHUNK = 1 << 14
RADIX_BITS = 4
RADIX = 1 << RADIX_BITS
NO_SUBJECT = -1


def contig_ends(contig_ids, ends, n_contigs):
    """Return the largest end on each contig, 0 where there is none."""
    n_chunks = min(get_num_threads(), max(len(ends) // max(MIN_CHUNK, 8 * n_contigs), 1))
    return _contig_ends(contig_ids, ends, n_contigs, n_chunks).max(axis=0, initial=0)


@njit(nogil=True, cache=True, parallel=True)
def _contig_ends(contig_ids, ends, n_contigs, n_chunks):
    n = len(ends)
    largest = np.zeros((n_chunks, n_contigs), np.int64)
    for chunk in prange(n_chunks):
        for i in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            contig = contig_ids[i]
            largest[chunk, contig] = max(largest[chunk, contig], ends[i])
    return largest


@njit(nogil=True, cache=True, parallel=True)
def find_wrong(starts, ends):
    """Return the number of intervals that are reversed or begin before 0, and the first of them."""
    n_wrong, first = 0, len(starts)
    for i in prange(len(starts)):
        if starts[i] < 0 or ends[i] < starts[i]:
            n_wrong += 1
            first = min(first, i)
    return n_wrong, first


@njit(nogil=True, cache=True, parallel=True)
def to_linear(contig_ids, strands, starts, ends, offsets, groups, closing, empty, left_out, linear):
    """Fill ``linear``, shape (2, n), with the linear starts and ends.

    ``groups`` (n_contigs, 3) has the group of a contig with strand 0, 1 and -1, ``NO_GROUP`` if
    such intervals are left out, and ``offsets`` the coordinate 0 of each group. ``closing`` (0 or
    1) is added to ends. ``empty`` says whether intervals that are still empty then are kept,
    widened by a base on both sides, or left out; intervals left out are put at ``left_out``.
    """
    for i in prange(len(starts)):
        strand = strands[i] if len(strands) else 0
        group = groups[contig_ids[i], strand]
        start, end = starts[i], ends[i] + closing
        is_empty = start == end
        if group == NO_GROUP or (is_empty and empty == LEAVE_OUT):
            linear[0, i] = left_out
            linear[1, i] = left_out
        else:
            margin = 1 if is_empty and empty == WIDEN else 0
            linear[0, i] = offsets[group] + start - margin
            linear[1, i] = offsets[group] + end + margin


def build_pyramid(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maxima of all levels, with the values as level 0, and the start of each level.

    The second array has n_levels + 1 items.
    """
    levels = [values]
    while len(levels[-1]) > RADIX:
        levels.append(np.maximum.reduceat(levels[-1], np.arange(0, len(levels[-1]), RADIX)))
    return np.concatenate(levels), np.cumsum([0, *map(len, levels)])


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
def fill_pairs(asked, by_start, firsts, queries, subjects):
    """Store the pairs of query i from ``firsts[i]`` on: its number, and those of its subjects.

    ``asked`` has the starts and ends of the queries, and the order of processing, fastest by start.
    ``by_start`` has, for subjects sorted by start: the starts, the pyramid of the ends with its
    levels, the numbers, and the longest length.
    """
    query_starts, query_ends, query_order = asked
    starts, pyramid, levels, order, longest = by_start
    for rank in prange(len(query_order)):
        i = query_order[rank]
        start, end = np.int64(query_starts[i]), np.int64(query_ends[i])
        stop = count_below(starts, end)
        k = count_below(starts, start - longest + 1)
        at = firsts[i]
        k = _next_above(pyramid, levels, k, stop, start)
        while k < stop:
            queries[at] = i
            subjects[at] = order[k]
            at += 1
            k = _next_above(pyramid, levels, k + 1, stop, start)


@njit(nogil=True, cache=True, parallel=True)
def find_nearest(asked, by_start, by_end, group_bounds, subjects, distances):
    """Store the nearest subject of each query in its group, and the distance.

    Group g is between ``group_bounds`` g and g + 1. The distance is 0 for an overlap and 1 for
    adjacent intervals. Of several subjects, the first by start that overlaps is taken, or else the
    one before the query. The first two tuples are those of ``fill_pairs``; ``by_end`` has the
    sorted ends of the subjects, and their numbers.
    """
    query_starts, query_ends, query_order = asked
    starts, pyramid, levels, order, longest = by_start
    ends, order_by_end = by_end
    n_groups = len(group_bounds) - 1
    for rank in prange(len(query_order)):
        i = query_order[rank]
        start, end = np.int64(query_starts[i]), np.int64(query_ends[i])
        subjects[i], distances[i] = NO_SUBJECT, NO_SUBJECT
        group = count_below(group_bounds, start + 1) - 1
        if group < 0 or group >= n_groups:
            continue
        stop = count_below(starts, end)
        k = count_below(starts, start - longest + 1)
        k = _next_above(pyramid, levels, k, stop, start)
        if k < stop:
            subjects[i], distances[i] = order[k], 0
            continue
        before = count_below(ends, start + 1) - 1
        if before >= 0 and np.int64(ends[before]) >= group_bounds[group]:
            subjects[i] = order_by_end[before]
            distances[i] = start - np.int64(ends[before]) + 1
        if stop < len(starts) and np.int64(starts[stop]) < group_bounds[group + 1]:
            distance = np.int64(starts[stop]) - end + 1
            if distances[i] < 0 or distance < distances[i]:
                subjects[i], distances[i] = order[stop], distance


# Compiled with genoviz/kernels/sorted_keys.py: a27e01ef7d3a0f32
