"""Overlaps of intervals cut into blocks: a spliced read does not overlap the intron it spans.

The blocks of a read that overlap a query are consecutive, so their number is one more than that of
the gaps between them. Such a gap, extended by a base on either side, is within the query. If
queries have blocks too, the pairs of blocks are listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.intervals.linear_coordinates import Strand, ZeroLength, linear_pair
from genoviz.analyses.intervals.pairs import PAIRS_PER_CHUNK, iter_overlap_pairs
from genoviz.errors import ParameterError
from genoviz.model import Intervals
from genoviz.model.columns import distinct


def count_split_overlaps(
    queries: Intervals,
    subjects: Intervals,
    *,
    query_owners: np.ndarray | None = None,
    subject_owners: np.ndarray | None = None,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
) -> np.ndarray:
    """Return the number of subjects with a block that overlaps a block of each query (``-split``).

    Parameters
    ----------
    queries, subjects
        Blocks; those of one interval are contiguous.
    query_owners, subject_owners
        Integers, shape (n_blocks,), ascending from 0: the interval of each block. None if each
        block is an interval.
    strand, zero_length
        As for `count_overlaps`.

    Returns
    -------
    numpy.ndarray
        int64, shape (n_queries,): subjects, each counted once, for each query in order.

    Raises
    ------
    ParameterError
        As for `count_overlaps`, or if owners do not fit.

    Examples
    --------
    >>> introns = Intervals.from_columns(["c"], [120], [180])
    >>> read = Intervals.from_columns(["c", "c"], [100, 190], [110, 200])
    >>> count_split_overlaps(introns, read, subject_owners=np.array([0, 0])).tolist()
    [0]
    """
    for name, intervals in (("queries", queries), ("subjects", subjects)):
        intervals.check_whole("counting by blocks", name)
    of_query = _checked(query_owners, len(queries))
    of_subject = _checked(subject_owners, len(subjects))
    options = {"strand": strand, "zero_length": zero_length}
    n_queries = int(of_query[-1]) + 1 if len(of_query) else 0
    n_subjects = int(of_subject[-1]) + 1 if len(of_subject) else 0
    counts = np.zeros(n_queries, np.int64)
    if n_queries == len(queries) and n_subjects == len(subjects):
        return count_overlaps(queries, subjects, backend="cpu", **options).astype(np.int64)
    if n_queries == len(queries) and _are_apart(subjects, of_subject):
        counts += count_overlaps(queries, subjects, backend="cpu", **options)
        return counts - _count_contained(queries, _gaps(subjects, of_subject), **options)
    last = np.empty(0, np.int64)
    for pairs in iter_overlap_pairs(queries, subjects, pairs_per_chunk=PAIRS_PER_CHUNK, **options):
        keys = of_query[pairs.queries] * n_subjects + of_subject[pairs.subjects]
        found = np.setdiff1d(distinct(keys), last, assume_unique=True)
        counts += np.bincount(found // n_subjects, minlength=n_queries)
        # A query whose blocks continue in the next chunk must not count a subject again.
        end = int(pairs.queries[-1])
        is_last = of_query[pairs.queries] == of_query[end]
        before = last[last // n_subjects == of_query[end]]
        last = distinct(np.concatenate([before, keys[is_last]]))
    return counts


def _are_apart(blocks: Intervals, owners: np.ndarray) -> bool:
    """Return whether no block is empty, and those of an interval are sorted without overlaps."""
    goes_on = owners[1:] == owners[:-1]
    is_before = blocks.contig_ids[1:] == blocks.contig_ids[:-1]
    is_before &= blocks.ends[:-1] <= blocks.starts[1:]
    if blocks.strands is not None:
        is_before &= blocks.strands[1:] == blocks.strands[:-1]
    return bool((blocks.lengths > 0).all() and (is_before | ~goes_on).all())


def _gaps(blocks: Intervals, owners: np.ndarray) -> Intervals:
    """Return the gaps between the blocks of each interval, extended by a base of either block."""
    rows = np.flatnonzero(owners[1:] == owners[:-1])
    ends = blocks.starts[rows + 1] + 1
    starts = blocks.ends[rows] - 1
    return replace(blocks.select(rows), starts=starts, ends=ends)


def _count_contained(queries: Intervals, subjects: Intervals, **options: Any) -> np.ndarray:
    """Return the number of subjects fully within each query; int64, shape (n_queries,)."""
    counts = np.zeros(len(queries), np.int64)
    pair = linear_pair(queries, subjects, **options)
    order = np.argsort(pair.starts)[::-1]
    ends = np.sort(pair.ends)
    _add_contained(
        pair.query_starts,
        np.searchsorted(ends, pair.query_ends, "right"),
        np.argsort(pair.query_starts)[::-1],
        pair.starts[order],
        np.searchsorted(ends, pair.ends)[order],
        counts,
    )
    return counts


@njit(nogil=True, cache=True)
def _add_contained(query_starts, limits, query_order, starts, ranks, counts):
    """Add the subjects that begin at or after the start of a query and rank below its limit.

    A Fenwick tree counts the ranks of the subjects that begin at or after the current query.
    """
    tree = np.zeros(len(starts) + 1, np.int64)
    row = 0
    for query in query_order:
        while row < len(starts) and starts[row] >= query_starts[query]:
            place = ranks[row] + 1
            while place < len(tree):
                tree[place] += 1
                place += place & -place
            row += 1
        place = limits[query]
        while place > 0:
            counts[query] += tree[place]
            place -= place & -place


def _checked(owners: np.ndarray | None, n: int) -> np.ndarray:
    if owners is None:
        return np.arange(n)
    owners = np.asarray(owners, np.int64)
    steps = np.diff(owners, prepend=0)
    if len(owners) != n or (n and (owners[0] != 0 or (steps < 0).any())):
        raise ParameterError(f"there are {len(owners):,} owners, needs {n:,} that ascend from 0")
    return owners
