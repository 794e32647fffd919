"""Pairs of overlapping intervals, and nearest intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.intervals import linear_loops
from genoviz.analyses.intervals.count import count_linear
from genoviz.analyses.intervals.linear_coordinates import (
    MARGIN,
    LinearPair,
    Strand,
    ZeroLength,
    linear_pair,
    ordered_pair,
)
from genoviz.backend import load_kernel
from genoviz.errors import check_minimum
from genoviz.model.intervals.intervals import Intervals

PAIRS_PER_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class OverlapPairs:
    """A chunk of overlapping pairs of query and subject.

    Attributes
    ----------
    queries, subjects
        int64, shape (n_pairs,): rows of each pair, in query order and then by subject start.
    n_queries_done
        Number of queries whose pairs are complete.
    """

    queries: np.ndarray
    subjects: np.ndarray
    n_queries_done: int


@dataclass(frozen=True, eq=False)
class NearestIntervals:
    """The nearest subject of each query.

    Attributes
    ----------
    subjects
        int64, shape (n_queries,): row of the subject, -1 if the contig has none.
    distances
        int64, shape (n_queries,): 0 for an overlap, 1 for adjacent intervals, and so on, as in
        ``bedtools closest -d``; -1 if there is no subject.
    """

    subjects: np.ndarray
    distances: np.ndarray


def _order_of(keys: np.ndarray) -> np.ndarray:
    return load_kernel("interval_count", "cpu").order_of(keys)


def _sort_by_start(pair: LinearPair, starts: np.ndarray) -> tuple[Any, ...]:
    """Return the subjects by start, and the pyramid of their ends, as the compiled loops expect.

    A widened empty subject starts one base before its own start, which determines its place among
    subjects with the same start.
    """
    order = _order_of(pair.starts)
    own, placed = starts[order], pair.starts[order]
    if np.any((placed[1:] == placed[:-1]) & (own[1:] < own[:-1])):
        order = np.lexsort((starts, pair.starts))
    longest = int((pair.ends - pair.starts).max())
    return pair.starts[order], *linear_loops.build_pyramid(pair.ends[order]), order, longest


def iter_overlap_pairs(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
    pairs_per_chunk: int = PAIRS_PER_CHUNK,
) -> Iterator[OverlapPairs]:
    """Yield all overlapping pairs in bounded chunks.

    Parameters
    ----------
    queries, subjects, closed, strand, zero_length
        As for `count_overlaps`, whose counts are the numbers of pairs.
    pairs_per_chunk
        Maximum number of pairs per chunk; a single query with more has its own chunk.

    Raises
    ------
    ParameterError
        As for `count_overlaps`, or if ``pairs_per_chunk`` is below 1.
    """
    check_minimum("pairs_per_chunk", pairs_per_chunk, 1)
    pair = ordered_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)
    return _iter_pairs(pair, subjects.starts, zero_length, pairs_per_chunk)


def _iter_pairs(
    pair: LinearPair, starts: np.ndarray, zero_length: ZeroLength, pairs_per_chunk: int
) -> Iterator[OverlapPairs]:
    n = len(pair.query_starts)
    counts = count_linear(pair, zero_length=zero_length, backend="cpu")
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if offsets[-1] == 0:
        return
    by_start = _sort_by_start(pair, starts)
    first = 0
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + pairs_per_chunk, "right")) - 1
        last = max(last, first + 1)
        firsts = offsets[first : last + 1] - offsets[first]
        if firsts[-1]:
            rows, partners = np.empty((2, firsts[-1]), np.int64)
            query_starts = pair.query_starts[first:last]
            linear_loops.fill_pairs(
                (query_starts, pair.query_ends[first:last], _order_of(query_starts)),
                by_start,
                firsts,
                rows,
                partners,
            )
            rows += first
            yield OverlapPairs(rows, partners, last)
        first = last


def nearest_intervals(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
) -> NearestIntervals:
    """Return the nearest subject of each query, an overlapping one if there is one.

    Among overlapping subjects the first by start is returned; among equally distant ones, the one
    before the query. Options and errors are those of `count_overlaps`. Distances are in bases, so
    real and negative coordinates are rejected.
    """
    pair = linear_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)
    rows, distances = np.full((2, len(pair.query_starts)), linear_loops.NO_SUBJECT, np.int64)
    if len(pair.starts) and len(rows):
        order_by_end = _order_of(pair.ends)
        linear_loops.find_nearest(
            (pair.query_starts, pair.query_ends, _order_of(pair.query_starts)),
            _sort_by_start(pair, subjects.starts),
            (pair.ends[order_by_end], order_by_end),
            pair.offsets - MARGIN,
            rows,
            distances,
        )
    return NearestIntervals(rows, distances)
