"""Queries and subjects for which order alone counts: real, negative and very large coordinates.

Which intervals overlap follows from the order of their ends, not from how far apart these are. So
coordinates that do not fit on one line of 62 bits are replaced by their ranks among all starts and
ends of their contig, which are small whole numbers in the same order. Nothing is rounded, and
every kernel takes them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.analyses.intervals.linear_coordinates import (
    LinearPair,
    Strand,
    ZeroLength,
    check_strands,
    fits_on_line,
    linear_pair,
)
from genoviz.errors import ParameterError
from genoviz.model.intervals.coordinates import as_float64
from genoviz.model.intervals.intervals import Intervals

_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def ordered_pair(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
) -> LinearPair:
    """Return queries and subjects on one line, in true distances or, where needed, in ranks.

    The pairs that overlap are the same. Lengths and distances are not to be taken from it.

    Raises
    ------
    ParameterError
        As for `linear_pair`, but for coordinates that are real, negative or large; if an empty
        interval of real coordinates is to be widened; if whole numbers and real ones come
        together and one is no float64.
    """
    check_strands(queries, subjects, strand)
    if not fits_on_line(queries, subjects, strand=strand):
        queries, subjects = _ranked(queries, subjects, closed, zero_length)
    return linear_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)


def _ranked(
    queries: Intervals, subjects: Intervals, closed: bool, zero_length: ZeroLength
) -> tuple[Intervals, Intervals]:
    """Return the same intervals with ranks as coordinates; none is left that is to be widened."""
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
    """Return the rank of each value among the different ones of its contig; int64, from 0."""
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
    """Raise a ParameterError that names the first interval that is reversed, and how many are."""
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
    # At either end of the numbers of 64 bits there is nothing left to be reached.
    return (
        starts - (is_empty & (starts > _LOWEST)),
        ends + (is_empty & (ends < _HIGHEST)),
    )
