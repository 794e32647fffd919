"""Intervals on contigs (features, reads, signal steps), and alternative contig names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.byte_strings import ByteStrings
from genoviz.model.intervals.coordinates import coordinate_columns

_MITOCHONDRIAL = ("chrM", "M", "chrMT", "MT")
_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """Intervals in row order; 0-based, half-open, bp.

    Real (float64) and negative coordinates are supported for counting overlaps only; functions that
    measure bases or write files reject them.

    Parameters
    ----------
    contigs
        Distinct names of the contigs; may be paths of a graph.
    contig_ids
        int32, shape (n,): the contig of each interval.
    starts, ends
        int64, shape (n,): ``starts <= ends``. An empty interval lies between two bases. Both are
        float64 and finite if coordinates are real.
    strands
        int8, shape (n,): 1 forward, -1 reverse, 0 neither; or None if no strand is known.
    names
        The n names, or None.
    scores
        float64, shape (n,): scores, or the values of a signal; NaN if missing; or None.
    contig_lengths
        int64, shape (n_contigs,), bp; or None if unknown.
    n_reads
        Number of reads that the intervals are blocks of; None if unknown, or if each interval is a
        whole read or feature.
    notes
        What a reader left out or treated specially, one sentence each.

    Raises
    ------
    ParameterError
        If the arrays do not match, or an interval ends before its start.

    Examples
    --------
    >>> genes = Intervals.from_columns(["chr1", "chr2", "chr1"], [10, 0, 30], [20, 5, 30])
    >>> genes
    Intervals(3 intervals on 2 contigs)
    >>> genes.contigs, genes.contig_ids.tolist(), genes.lengths.tolist()
    (('chr1', 'chr2'), [0, 1, 0], [10, 5, 0])
    """

    contigs: tuple[str, ...]
    contig_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    strands: np.ndarray | None = None
    names: ByteStrings | None = None
    scores: np.ndarray | None = None
    contig_lengths: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    n_reads: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        n = len(self.starts)
        coordinate = np.float64 if self.is_real else np.int64
        expected = {
            "contig_ids": (np.int32, n),
            "starts": (coordinate, n),
            "ends": (coordinate, n),
            "strands": (np.int8, n),
            "scores": (np.float64, n),
            "contig_lengths": (np.int64, len(self.contigs)),
        }
        for name, (dtype, length) in expected.items():
            array = getattr(self, name)
            if array is None and name in ("strands", "scores", "contig_lengths"):
                continue
            if array.dtype != dtype or array.shape != (length,):
                raise ParameterError(
                    f"{name} is {array.dtype} {array.shape}, needs {np.dtype(dtype)} ({length},)"
                )
        if self.names is not None and len(self.names) != n:
            raise ParameterError(f"there are {len(self.names):,} names for {n:,} intervals")

    def _check_values(self) -> None:
        if len(set(self.contigs)) != len(self.contigs):
            raise ParameterError("a contig is named twice, needs each name once")
        if len(self) == 0:
            return
        low, high = int(self.contig_ids.min()), int(self.contig_ids.max())
        if low < 0 or high >= len(self.contigs):
            wrong = low if low < 0 else high
            raise ParameterError(f"contig {wrong} is not one of the {len(self.contigs):,} contigs")
        if self.is_real:
            is_finite = np.isfinite(self.starts) & np.isfinite(self.ends)
            if not is_finite.all():
                row = int(np.argmin(is_finite))
                raise ParameterError(
                    f"interval {row:,} goes from {self.starts[row]} to {self.ends[row]}, "
                    "needs finite numbers"
                )
        is_reversed = self.ends < self.starts
        if is_reversed.any():
            row = int(np.argmax(is_reversed))
            raise ParameterError(
                f"interval {row:,} starts at {self.starts[row]:,} and ends at {self.ends[row]:,}, "
                "needs an end that is not before the start"
            )

    @classmethod
    def from_columns(
        cls,
        contigs: Iterable[str] | np.ndarray,
        starts: np.ndarray,
        ends: np.ndarray,
        *,
        strands: Iterable[str] | np.ndarray | None = None,
        names: Iterable[str] | None = None,
        scores: np.ndarray | None = None,
    ) -> Intervals:
        """Return intervals from columns with one value per row.

        Contigs are numbered in order of appearance. Coordinates become int64 if all are integral,
        otherwise float64. Strands may be ``+``, ``-`` and other text, or numbers.

        Raises
        ------
        ParameterError
            As for `Intervals`, or if a coordinate is not finite or not exactly representable.
        """
        ranks: dict[str, int] = {}
        ids = np.fromiter((ranks.setdefault(str(name), len(ranks)) for name in contigs), np.int32)
        return cls(
            tuple(ranks),
            ids,
            *coordinate_columns(starts, ends),
            strands=None if strands is None else _strand_numbers(strands),
            names=None if names is None else ByteStrings.from_texts(names),
            scores=None if scores is None else np.array(scores, np.float64),
        )

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"Intervals({len(self):,} intervals on {len(self.contigs):,} contigs)"

    @property
    def n_contigs(self) -> int:
        """Number of contigs, including those without intervals."""
        return len(self.contigs)

    @property
    def lengths(self) -> np.ndarray:
        """Length of each interval; dtype of the coordinates, shape (n,), bp."""
        return self.ends - self.starts

    @property
    def is_real(self) -> bool:
        """Whether coordinates are real numbers: float64 instead of int64."""
        return self.starts.dtype == np.float64

    def check_whole(self, what: str, name: str = "intervals") -> None:
        """Raise `ParameterError` if coordinates are real; ``what`` needs integers."""
        if self.is_real:
            row = int(np.argmax((self.starts % 1 != 0) | (self.ends % 1 != 0))) if len(self) else 0
            where = f", as {self.starts[row]:g} to {self.ends[row]:g} in row {row:,}"
            raise ParameterError(
                f"{what} needs whole coordinates, and the {name} have real ones"
                f"{where if len(self) else ''}; only overlaps of these can be counted"
            )

    @cached_property
    def _contig_ranks(self) -> dict[str, int]:
        return {name: rank for rank, name in enumerate(self.contigs)}

    def find_contig(self, name: str) -> int:
        """Return the number of a contig by name.

        Raises
        ------
        ParameterError
            If there is no contig of that name.
        """
        try:
            return self._contig_ranks[name]
        except KeyError:
            examples = ", ".join(self.contigs[:3]) or "none at all"
            raise ParameterError(
                f"no contig is named {name!r}; there are {len(self.contigs):,}: {examples}"
                + (", ..." if len(self.contigs) > 3 else "")
            ) from None

    def select(self, rows: np.ndarray) -> Intervals:
        """Return a subset of the intervals, on the same contigs; ``rows`` are indices or a mask."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        return replace(
            self,
            contig_ids=self.contig_ids[rows],
            starts=self.starts[rows],
            ends=self.ends[rows],
            strands=None if self.strands is None else self.strands[rows],
            names=None if self.names is None else self.names.take(rows),
            scores=None if self.scores is None else self.scores[rows],
            n_reads=None,
        )

    def within(self, contig: str, start: int, end: int) -> Intervals:
        """Return the intervals that overlap a region or are empty within it."""
        rank = self.find_contig(contig)
        touches = (self.starts < end) & (self.ends > start)
        touches |= (self.starts == self.ends) & (self.starts >= start) & (self.starts <= end)
        return self.select((self.contig_ids == rank) & touches)


def _strand_numbers(strands: Iterable[str] | np.ndarray) -> np.ndarray:
    array = strands if isinstance(strands, np.ndarray) else np.array(list(strands))
    if array.dtype.kind in "iufb":
        return np.sign(array).astype(np.int8)
    texts = array.astype(str)
    return (texts == "+").astype(np.int8) - (texts == "-").astype(np.int8)


def map_contigs(intervals: Intervals, names: Iterable[str]) -> Intervals:
    """Rename the contigs of intervals to match ``names``; notes list the changes.

    A contig that is not in ``names`` takes the name that differs by the prefix ``chr``, or another
    name of the mitochondrion (chrM, M, chrMT, MT). It is not renamed if ``intervals`` already has a
    contig of the new name (both X and chrX), which may be a different one, or if several of
    ``names`` match. The notes list the renamed contigs, and say so if none matches.

    Examples
    --------
    >>> genes = Intervals.from_columns(["1", "MT", "GL0"], [0, 0, 0], [9, 9, 9])
    >>> genes = map_contigs(genes, ["chr1", "chr2", "chrM"])
    >>> genes.contigs
    ('chr1', 'chrM', 'GL0')
    >>> genes.notes[0]
    'Contigs are renamed: 1 to chr1, MT to chrM.'
    """
    wanted = dict.fromkeys(names)
    if isinstance(names, str):
        raise ParameterError(f"names is the text {names!r}, needs a sequence of names")
    present = set(intervals.contigs)
    new_names, unknown, unclear = [], [], []
    renamed: dict[str, str] = {}
    for name in intervals.contigs:
        candidates = [other for other in aliases(name) if other in wanted]
        if name in wanted or not candidates:
            new_names.append(name)
            if name not in wanted:
                unknown.append(name)
        elif len(candidates) > 1 or candidates[0] in present or candidates[0] in renamed.values():
            new_names.append(name)
            unclear.append(name)
        else:
            renamed[name] = candidates[0]
            new_names.append(candidates[0])
    notes = list(intervals.notes)
    if renamed:
        pairs = [f"{old} to {new}" for old, new in renamed.items()]
        notes.append(f"Contigs are renamed: {_list(pairs)}.")
    if unclear:
        notes.append(f"Contigs keep their names, for another may be meant: {_list(unclear)}.")
    if len(unknown) == len(intervals.contigs) > 0 and wanted:
        notes.append(f"No contig is known there: {_list(unknown)} here, {_list([*wanted])} there.")
    return replace(intervals, contigs=tuple(new_names), notes=tuple(notes))


def aliases(name: str) -> tuple[str, ...]:
    """Return the alternative names of a contig.

    Examples
    --------
    >>> aliases("chr1"), aliases("X"), aliases("MT")
    (('1',), ('chrX',), ('chrM', 'M', 'chrMT'))
    """
    if name in _MITOCHONDRIAL:
        return tuple(other for other in _MITOCHONDRIAL if other != name)
    return (name[3:],) if name.startswith("chr") and len(name) > 3 else (f"chr{name}",)


def _list(items: list[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN:,} more"
