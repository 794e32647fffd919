"""Queries and subjects in one linear coordinate system of all contigs and strands, with gaps.

Overlaps depend only on the order of interval ends, not on distances. Coordinates that do not fit
into 62 bits (real, negative, very large) are therefore replaced by their ranks among all starts and
ends of their contig, which are small integers in the same order. Nothing is rounded, and every
kernel can use them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from genoviz.analyses.intervals import linear_loops
from genoviz.errors import ParameterError, check_choice
from genoviz.model.intervals.coordinates import as_float64
from genoviz.model.intervals.intervals import Intervals

Strand = Literal["same", "opposite"]
ZeroLength = Literal["bedtools", "strict", "interior"]
MARGIN = 2
MAX_TOP = 2**62

EMPTY = {
    "bedtools": linear_loops.WIDEN,
    "strict": linear_loops.LEAVE_OUT,
    "interior": linear_loops.KEEP,
}
_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class LinearPair:
    """Queries and subjects in linear coordinates, in the order of their rows.

    Intervals that never count (of an excluded strand, or empty ones under ``"strict"``) are (0, 0)
    among the queries and (top, top) among the subjects.

    Attributes
    ----------
    query_starts, query_ends, starts, ends
        uint32 or int64, all of the same dtype; bp.
    top
        A coordinate beyond all groups.
    offsets
        int64, shape (n_groups + 1,): linear coordinate of position 0 of each group, and ``top``; no
        interval of a group reaches the ``MARGIN`` bases before the next.
    query_groups, subject_groups
        int64, shape (n_contigs of the queries or subjects, 3): the group of each contig with
        strand 0, 1 and -1, or -1 if such intervals never count.
    """

    query_starts: np.ndarray
    query_ends: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    top: int
    offsets: np.ndarray
    query_groups: np.ndarray
    subject_groups: np.ndarray

    @cached_property
    def n_groups(self) -> int:
        """Number of contigs, or of pairs of contig and strand."""
        return len(self.offsets) - 1


def linear_pair(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
) -> LinearPair:
    """Return queries and subjects in linear coordinates; contigs are matched by name.

    Raises
    ------
    ParameterError
        If an option is unknown, an interval starts before its contig or is reversed, or strands
        are requested but unknown.
    """
    check_choice("zero_length", zero_length, get_args(ZeroLength))
    check_strands(queries, subjects, strand)
    for name, intervals in (("queries", queries), ("subjects", subjects)):
        check_intervals(intervals, name)
    ranks = {name: rank for rank, name in enumerate(queries.contigs)}
    for name in subjects.contigs:
        ranks.setdefault(name, len(ranks))
    rank_of_subject = np.array([ranks[name] for name in subjects.contigs], np.int64)
    sizes = np.zeros(len(ranks), np.int64)
    sizes[: queries.n_contigs] = contig_ends(queries)
    np.maximum.at(sizes, rank_of_subject, contig_ends(subjects))
    n_strands = 1 if strand is None else 2
    offsets = group_offsets(np.tile(sizes, n_strands))
    top = int(offsets[-1])
    query_groups = _groups(np.arange(queries.n_contigs), len(ranks), strand, flipped=False)
    subject_groups = _groups(rank_of_subject, len(ranks), strand, flipped=strand == "opposite")
    dtype = np.uint32 if top + MARGIN < 2**32 else np.int64
    options = {"offsets": offsets, "dtype": dtype, "closed": closed, "empty": EMPTY[zero_length]}
    return LinearPair(
        *_to_linear(queries, query_groups, left_out=0, **options),
        *_to_linear(subjects, subject_groups, left_out=top, **options),
        top=top,
        offsets=offsets,
        query_groups=query_groups,
        subject_groups=subject_groups,
    )


def check_strands(queries: Intervals, subjects: Intervals, strand: Strand | None) -> None:
    """Raise `ParameterError` if strands are requested but unknown."""
    check_choice("strand", strand, (None, *get_args(Strand)))
    for name, intervals in (("queries", queries), ("subjects", subjects)):
        if strand is not None and intervals.strands is None:
            raise ParameterError(f"the {name} have no strands, needs them for strand {strand!r}")


def fits_on_line(queries: Intervals, subjects: Intervals, *, strand: Strand | None) -> bool:
    """Return whether coordinates are integral, non-negative, and small enough for one line."""
    total = 0
    for intervals in (queries, subjects):
        if intervals.is_real or linear_loops.find_wrong(intervals.starts, intervals.ends)[0]:
            return False
        total += sum(contig_ends(intervals).tolist()) + 4 * MARGIN * (intervals.n_contigs + 1)
    return total * (1 if strand is None else 2) < MAX_TOP


def linear_intervals(intervals: Intervals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return linear starts, ends and the offsets of the contigs of one set of intervals."""
    check_intervals(intervals, "intervals")
    offsets = group_offsets(contig_ends(intervals))
    groups = _groups(np.arange(intervals.n_contigs), intervals.n_contigs, None, flipped=False)
    dtype = np.uint32 if offsets[-1] + MARGIN < 2**32 else np.int64
    starts, ends = _to_linear(
        intervals,
        groups,
        left_out=int(offsets[-1]),
        offsets=offsets,
        dtype=dtype,
        closed=False,
        empty=linear_loops.KEEP,
    )
    return starts, ends, offsets


def contig_ends(intervals: Intervals) -> np.ndarray:
    """Return the largest end on each contig; int64, shape (n_contigs,), bp."""
    return linear_loops.contig_ends(intervals.contig_ids, intervals.ends, intervals.n_contigs)


def on_contigs(intervals: Intervals) -> Intervals:
    """Clip intervals to contigs of known length.

    A read that overhangs its contig ends with it, as in ``bedtools genomecov``; an interval wholly
    beyond becomes empty. Without such intervals, the argument itself is returned.
    """
    if intervals.contig_lengths is None or len(intervals) == 0:
        return intervals
    if (contig_ends(intervals) <= intervals.contig_lengths).all():
        return intervals
    limits = intervals.contig_lengths[intervals.contig_ids]
    starts, ends = (np.minimum(column, limits) for column in (intervals.starts, intervals.ends))
    return replace(intervals, starts=starts, ends=ends)


def count_beyond(intervals: Intervals) -> int:
    """Return how many intervals reach beyond a contig of known length."""
    if intervals.contig_lengths is None or len(intervals) == 0:
        return 0
    return int((intervals.ends > intervals.contig_lengths[intervals.contig_ids]).sum())


def group_offsets(sizes: np.ndarray) -> np.ndarray:
    """Return the offsets of groups with room for widened intervals, and the top.

    Raises
    ------
    ParameterError
        If the total length would overflow in the kernels.
    """
    total = sum(sizes.tolist())
    if total + 4 * MARGIN * (len(sizes) + 1) >= MAX_TOP:
        raise ParameterError(
            f"the contigs have {total:,} bp in all, needs fewer than 2^62 ({MAX_TOP:,})"
        )
    return 2 * MARGIN + np.concatenate([[0], np.cumsum(sizes + 2 * MARGIN)]).astype(np.int64)


def check_intervals(intervals: Intervals, name: str) -> None:
    """Raise `ParameterError` with the first invalid interval, and the number of invalid ones.

    ``Intervals`` rejects reversed ones on construction, but arrays may have been modified since.
    """
    intervals.check_whole("what measures bases", name)
    n_wrong, row = linear_loops.find_wrong(intervals.starts, intervals.ends)
    if n_wrong:
        start, end = int(intervals.starts[row]), int(intervals.ends[row])
        raise ParameterError(
            f"row {row:,} of the {name} goes from {start:,} to {end:,}, needs 0 <= start <= end; "
            f"{n_wrong:,} {'row is' if n_wrong == 1 else 'rows are'} wrong"
        )


def _groups(ranks: np.ndarray, n_contigs: int, strand: str | None, *, flipped: bool) -> np.ndarray:
    """Return the group of each contig for strands 0, 1 and -1, in Python index order."""
    if strand is None:
        return np.repeat(np.asarray(ranks, np.int64)[:, None], 3, axis=1)
    forward, reverse = (n_contigs, 0) if flipped else (0, n_contigs)
    columns = [np.full(len(ranks), linear_loops.NO_GROUP), ranks + forward, ranks + reverse]
    return np.stack(columns, axis=1).astype(np.int64)


def _to_linear(
    intervals: Intervals,
    groups: np.ndarray,
    *,
    offsets: np.ndarray,
    dtype: type,
    closed: bool,
    empty: int,
    left_out: int,
) -> np.ndarray:
    linear = np.empty((2, len(intervals)), dtype)
    strands = intervals.strands if intervals.strands is not None else np.zeros(0, np.int8)
    linear_loops.to_linear(
        intervals.contig_ids,
        strands,
        intervals.starts,
        intervals.ends,
        offsets,
        groups,
        int(closed),
        empty,
        left_out,
        linear,
    )
    return linear


def ordered_pair(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool,
    strand: Strand | None,
    zero_length: ZeroLength,
) -> LinearPair:
    """Return queries and subjects in linear coordinates, true ones or, if necessary, ranks.

    The overlapping pairs are the same, but lengths and distances may not be used.

    Raises
    ------
    ParameterError
        As for `linear_pair`, except for coordinates that are real, negative or large; if an empty
        interval of real coordinates would have to be widened; or if integers are mixed with real
        numbers and one is not exactly representable as float64.
    """
    check_strands(queries, subjects, strand)
    if not fits_on_line(queries, subjects, strand=strand):
        queries, subjects = _ranked(queries, subjects, closed, zero_length)
    return linear_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)


def _ranked(
    queries: Intervals, subjects: Intervals, closed: bool, zero_length: ZeroLength
) -> tuple[Intervals, Intervals]:
    """Return the same intervals with ranks as coordinates; empty ones are already widened."""
    columns = [queries.starts, queries.ends, subjects.starts, subjects.ends]
    for starts, ends, name in ((*columns[:2], "queries"), (*columns[2:], "subjects")):
        _check_order(starts, ends, name)
    if queries.is_real or subjects.is_real:
        names = ("starts of the queries", "ends of the queries")
        names += ("starts of the subjects", "ends of the subjects")
        columns = [as_float64(c, name) for c, name in zip(columns, names, strict=True)]
    if zero_length == "bedtools" and not closed:
        columns = [*_widened(*columns[:2], "queries"), *_widened(*columns[2:], "subjects")]
    numbers: dict[str, int] = {}
    ids = []
    for intervals in (queries, subjects):
        of_contig = [numbers.setdefault(name, len(numbers)) for name in intervals.contigs]
        ids += [np.array(of_contig, np.int64)[intervals.contig_ids]] * 2
    bounds = np.cumsum([len(column) for column in columns])[:-1]
    ranks = np.split(_ranks(np.concatenate(ids), np.concatenate(columns)), bounds)
    return (
        replace(queries, starts=ranks[0], ends=ranks[1]),
        replace(subjects, starts=ranks[2], ends=ranks[3]),
    )


def _ranks(ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the rank of each value among the distinct values of its contig; int64, from 0."""
    order = np.lexsort((values, ids))
    ids, values = ids[order], values[order]
    is_first = np.append(True, ids[1:] != ids[:-1])[: len(ids)]
    is_new = is_first.copy()
    is_new[1:] |= values[1:] != values[:-1]
    number = np.cumsum(is_new)
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = number - number[is_first][np.cumsum(is_first) - 1]
    return ranks


def _check_order(starts: np.ndarray, ends: np.ndarray, name: str) -> None:
    """Raise `ParameterError` with the first reversed interval, and the number of reversed ones."""
    rows = np.flatnonzero(~(starts <= ends))
    if len(rows):
        row = int(rows[0])
        raise ParameterError(
            f"row {row:,} of the {name} goes from {starts[row]:,} to {ends[row]:,}, needs "
            f"start <= end; {len(rows):,} {'row is' if len(rows) == 1 else 'rows are'} wrong"
        )


def _widened(starts: np.ndarray, ends: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return empty intervals widened by a base on both sides."""
    is_empty = starts == ends
    if not is_empty.any():
        return starts, ends
    if starts.dtype == np.float64:
        row = int(np.argmax(is_empty))
        raise ParameterError(
            f"row {row:,} of the {name} is empty at {starts[row]:,}, and real coordinates have no "
            "bases to widen it by; choose closed=True, or zero_length 'strict' or 'interior'"
        )
    # Clamped at the limits of 64-bit integers, where nothing can lie beyond.
    return (
        starts - (is_empty & (starts > _LOWEST)),
        ends + (is_empty & (ends < _HIGHEST)),
    )
