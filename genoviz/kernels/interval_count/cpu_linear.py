"""Intervals on many contigs and strands as linear coordinates, for the kernels of this folder."""

import numpy as np
from numba import get_num_threads, njit, prange

NO_GROUP = -1
KEEP, WIDEN, LEAVE_OUT = 0, 1, 2
MIN_CHUNK = 1 << 14


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
    """Return how many intervals are reversed or begin before 0, and the first of them."""
    n_wrong, first = 0, len(starts)
    for i in prange(len(starts)):
        if starts[i] < 0 or ends[i] < starts[i]:
            n_wrong += 1
            first = min(first, i)
    return n_wrong, first


@njit(nogil=True, cache=True, parallel=True)
def to_linear(contig_ids, strands, starts, ends, offsets, groups, closing, empty, left_out, linear):
    """Fill ``linear``, shape (2, n), with the linear starts and ends.

    ``groups`` (n_contigs, 3) has the group of a contig with strand 0, 1 and -1, ``NO_GROUP`` where
    such intervals are left out, and ``offsets`` the coordinate 0 of each group. ``closing`` (0 or
    1) is added to ends. ``empty`` says what becomes of intervals that are still empty then: they
    are kept, widened by a base on both sides, or left out; those left out lie at ``left_out``.
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
