"""Signals and features in bigWig and bigBed files.

References
----------
Kent et al., BigWig and BigBed, Bioinformatics 26 (2010), doi:10.1093/bioinformatics/btq351
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.optional import import_reader
from genoviz.model import ByteStrings, Intervals, PathRegion

_VALUE_STEP = np.dtype([("start", np.int64), ("end", np.int64), ("value", np.float64)])

Progress = tuple[str, int, int]


class BigWig:
    """A bigWig file that stays open, for pictures of any stretch.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    contig_lengths
        Length of each contig by name, bp.

    Raises
    ------
    FileFormatError
        If it is no such file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _open(self.path, "bigWig")
        self.contig_lengths: dict[str, int] = dict(self._file.chroms())

    def bins(
        self,
        contig: str,
        start: int,
        end: int,
        n_bins: int,
        *,
        summary: Literal["mean", "min", "max"] = "mean",
        exact: bool = False,
    ) -> np.ndarray:
        """Return the values of bins of equal width; float64, shape (n_bins,), NaN without data.

        Where bins are wide they come from the summaries in the file, unless ``exact``.
        """
        self._check(contig)
        if n_bins < 1 or end <= start:
            raise ParameterError(
                f"{n_bins:,} bins from {start:,} to {end:,}: need a bin, and an end after a start"
            )
        values = self._file.values(
            contig,
            start,
            end,
            bins=n_bins,
            summary=summary,
            exact=exact,
            uncovered=np.nan,
            oob=np.nan,
            fillna=np.nan,
        )
        return np.asarray(values, np.float64)

    def steps(self, contig: str, start: int = 0, end: int | None = None) -> Intervals:
        """Return the stretches with one value each that touch a region; scores are the values."""
        self._check(contig)
        end = self.contig_lengths[contig] if end is None else end
        return _one_contig(self.path, self._file, contig, start, end, "bigwig")

    def _check(self, contig: str) -> None:
        if contig not in self.contig_lengths:
            known = ", ".join([*self.contig_lengths][:3]) or "none at all"
            raise ParameterError(f"{self.path.name} has no contig {contig!r}, it has {known}")


def read_big_file(
    path: Path, kind: str, *, region: PathRegion | None = None, names: bool = True
) -> Generator[Progress, None, Intervals]:
    """Return what a bigWig or bigBed file holds, values and scores as scores; yields progress."""
    title = {"bigwig": "bigWig", "bigbed": "bigBed"}[kind]
    file = _open(path, title)
    lengths = dict(file.chroms())
    if region is not None and region.path not in lengths:
        known = ", ".join([*lengths][:3]) or "none at all"
        raise FileFormatError(path, f"has no contig {region.path!r}, it has {known}")
    wanted = lengths if region is None else [region.path]
    parts = []
    for k, contig in enumerate(wanted):
        yield f"Reading {title}", k, len(wanted)
        bounds = (0, lengths[contig]) if region is None else (region.start, region.end)
        parts.append(_one_contig(path, file, contig, *bounds, kind, names))
    return _join(parts, lengths, [*lengths].index(region.path) if region else 0)


def write_bigwig(
    path: str | PathLike[str], steps: Intervals, *, contig_lengths: Iterable[int] | None = None
) -> None:
    """Write a signal as bigWig: intervals that do not overlap, with their values as scores.

    Parameters
    ----------
    path
        The file to write.
    steps
        The signal; stretches without a value (NaN) are left out.
    contig_lengths
        Length of each contig, bp; those of ``steps`` by default, or its last ends.

    Raises
    ------
    ParameterError
        If there are no scores, or intervals overlap.
    FileFormatError
        If the file cannot be written.
    """
    tools = import_reader("pybigtools", "bigWig and bigBed files")
    if steps.scores is None:
        raise ParameterError("bigWig needs intervals with scores, these have none")
    if contig_lengths is None:
        contig_lengths = steps.contig_lengths
    if contig_lengths is None:
        ends = np.zeros(steps.n_contigs, np.int64)
        np.maximum.at(ends, steps.contig_ids, steps.ends)
        contig_lengths = ends
    order = np.lexsort((steps.starts, _by_name(steps)[steps.contig_ids]))
    order = order[~np.isnan(steps.scores[order]) & (steps.lengths[order] > 0)]
    ids, starts, ends = (a[order] for a in (steps.contig_ids, steps.starts, steps.ends))
    if ((ids[1:] == ids[:-1]) & (starts[1:] < ends[:-1])).any():
        raise ParameterError("bigWig needs intervals that do not overlap, these do")
    lengths = dict(zip(steps.contigs, map(int, contig_lengths), strict=True))
    try:
        file = tools.open(str(path), "w")
        file.write(lengths, _iter_steps(steps, order))
        file.close()
    except OSError as error:
        raise FileFormatError(path, f"cannot be written: {error.strerror or error}") from error


def _iter_steps(steps: Intervals, order: np.ndarray) -> Iterator[tuple[str, int, int, float]]:
    for row in order.tolist():
        contig = steps.contigs[steps.contig_ids[row]]
        yield contig, int(steps.starts[row]), int(steps.ends[row]), float(steps.scores[row])


def _by_name(steps: Intervals) -> np.ndarray:
    """Return the rank of each contig by name."""
    ranks = np.empty(steps.n_contigs, np.int64)
    ranks[sorted(range(steps.n_contigs), key=lambda k: steps.contigs[k])] = np.arange(len(ranks))
    return ranks


def _open(path: Path, title: str) -> Any:
    tools = import_reader("pybigtools", "bigWig and bigBed files")
    if not path.is_file():
        raise FileFormatError(path, f"there is no such file in {path.absolute().parent}")
    try:
        return tools.open(str(path))
    except Exception as error:
        raise FileFormatError(path, f"is no {title} file that can be read: {error}") from error


def _one_contig(
    path: Path, file: Any, contig: str, start: int, end: int, kind: str, names: bool = True
) -> Intervals:
    """Return what lies on one contig."""
    damaged = import_reader("pybigtools", "bigWig and bigBed files").BBIReadError
    try:
        return _read_contig(file, contig, start, end, kind, names)
    except (OSError, damaged) as error:
        raise FileFormatError(
            path, f"cannot be read on {contig}, so it is cut off or damaged: {error}"
        ) from error


def _read_contig(file: Any, contig: str, start: int, end: int, kind: str, names: bool) -> Intervals:
    end = min(end, dict(file.chroms())[contig])
    start = max(start, 0)
    records = file.records(contig, start, end) if start < end else iter(())
    if kind == "bigwig":
        rows = np.fromiter(records, _VALUE_STEP)
        starts, ends, extra = rows["start"], rows["end"], {"scores": rows["value"].copy()}
    else:
        found = list(records)
        starts = np.array([row[0] for row in found], np.int64)
        ends = np.array([row[1] for row in found], np.int64)
        extra = _bed_columns([row[2:] for row in found], names)
    ids = np.zeros(len(starts), np.int32)
    return Intervals((contig,), ids, starts.copy(), ends.copy(), **extra)


def _bed_columns(rest: list[tuple[str, ...]], names: bool) -> dict[str, Any]:
    """Return names, scores and strands of the further columns of bigBed rows."""
    n_columns = min((len(row) for row in rest), default=0)
    columns: dict[str, Any] = {}
    if names and n_columns >= 1:
        columns["names"] = ByteStrings.from_texts(row[0] for row in rest)
    if n_columns >= 2:
        columns["scores"] = np.array([_to_number(row[1]) for row in rest], np.float64)
    if n_columns >= 3:
        signs = {"+": 1, "-": -1}
        columns["strands"] = np.array([signs.get(row[2], 0) for row in rest], np.int8)
    return columns


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _join(parts: list[Intervals], lengths: dict[str, int], first: int) -> Intervals:
    """Return the parts of contigs ``first`` and following as one."""

    def together(name: str) -> np.ndarray | None:
        found = [getattr(part, name) for part in parts if len(part)]
        if not found or any(array is None for array in found):
            return None
        return np.concatenate(found)

    names = [part.names for part in parts if len(part)]
    has_names = bool(names) and all(name is not None for name in names)
    counts = [len(part) for part in parts]
    return Intervals(
        tuple(lengths),
        np.repeat(np.arange(first, first + len(parts), dtype=np.int32), counts),
        np.concatenate([part.starts for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.ends for part in parts] or [np.empty(0, np.int64)]),
        strands=together("strands"),
        names=ByteStrings.from_texts(n for part in names for n in part) if has_names else None,
        scores=together("scores"),
        contig_lengths=np.array([*lengths.values()], np.int64),
    )
