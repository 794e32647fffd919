"""Reading of bigWig and bigBed files.

References
----------
Kent et al., BigWig and BigBed, Bioinformatics 26 (2010), doi:10.1093/bioinformatics/btq351
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.compiled_errors import held_messages, is_failure
from genoviz.io.files.content import missing
from genoviz.io.files.optional import import_reader
from genoviz.model import ByteStrings, Intervals, PathRegion

# For other endings, such as SIGNAL.BW, the library reads only from memory.
_ENDINGS = (".bw", ".bigWig", ".bigwig", ".bb", ".bigBed")
_MAX_ASKED = 2**31 - 1
_VALUE_STEP = np.dtype([("start", np.int64), ("end", np.int64), ("value", np.float64)])

Progress = tuple[str, int, int]


class BigWig:
    """An open bigWig file that can be queried for any region.

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
        If the file is not a bigWig file.
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

        For wide bins, values come from the summaries in the file, unless ``exact``.
        """
        self._check(contig)
        if n_bins < 1 or end <= start:
            raise ParameterError(
                f"{n_bins:,} bins from {start:,} to {end:,}: need a bin, and an end after a start"
            )
        if start < 0 or end > _MAX_ASKED:
            raise ParameterError(
                f"bins from {start:,} to {end:,}: need bases from 0 to {_MAX_ASKED:,}"
            )
        with _explained(self.path, contig):
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
        """Return the constant-value intervals that touch a region, with values as scores."""
        self._check(contig)
        end = self.contig_lengths[contig] if end is None else end
        return _one_contig(self.path, self._file, contig, start, end, "bigwig")[0]

    def _check(self, contig: str) -> None:
        if contig not in self.contig_lengths:
            known = ", ".join([*self.contig_lengths][:3]) or "none at all"
            raise ParameterError(f"{self.path.name} has no contig {contig!r}, it has {known}")


def read_big_file(
    path: Path,
    kind: str,
    *,
    find_region: Callable[[Iterable[str]], PathRegion] | None = None,
    names: bool = True,
    blocks: bool = False,
    owners: list[np.ndarray] | None = None,
) -> Generator[Progress, None, Intervals]:
    """Read a bigWig or bigBed file, with values as scores; yields progress.

    ``find_region`` is called with the contigs, and returns the only region to read. With
    ``blocks``, rows of a bigBed of BED12 are split into their blocks, and ``owners`` receives
    arrays of the row of each block, int64.
    """
    title = {"bigwig": "bigWig", "bigbed": "bigBed"}[kind]
    file = _open(path, title)
    lengths = dict(file.chroms())
    region = None if find_region is None else find_region(lengths)
    if region is not None and region.path not in lengths:
        known = ", ".join([*lengths][:3]) or "none at all"
        raise FileFormatError(path, f"has no contig {region.path!r}, it has {known}")
    wanted = lengths if region is None else [region.path]
    parts, n_rows = [], 0
    for k, contig in enumerate(wanted):
        yield f"Reading {title}", k, len(wanted)
        # A base more on each side: empty rows at the bounds are within them.
        bounds = (0, lengths[contig]) if region is None else (region.start - 1, region.end + 1)
        part, rows = _one_contig(path, file, contig, *bounds, kind, names, blocks)
        parts.append(part)
        if owners is not None:
            owners.append(rows + n_rows)
            n_rows += int(rows[-1]) + 1 if len(rows) else 0
    found = _join(parts, lengths, [*lengths].index(region.path) if region else 0)
    return found if region is None else found.within(region.path, region.start, region.end)


def _open(path: Path, title: str) -> Any:
    tools = import_reader("pybigtools", "bigWig and bigBed files")
    if not path.is_file():
        raise missing(path)
    try:
        with held_messages():
            file = tools.open(str(path) if path.suffix in _ENDINGS else _in_memory(path))
            file.chroms()
            return file
    except BaseException as error:
        if not is_failure(error):
            raise
        raise FileFormatError(path, f"is no {title} file that can be read: {error}") from error


def _in_memory(path: Path) -> io.BytesIO:
    return io.BytesIO(path.read_bytes())


@contextlib.contextmanager
def _explained(path: Path, contig: str) -> Iterator[None]:
    """Convert failures and panics of the library into readable errors."""
    try:
        with held_messages():
            yield
    except BaseException as error:
        if not is_failure(error):
            raise
        # A panic's message quotes the library's source, so it is not shown; nor is its term for the
        # end of a file.
        is_said = isinstance(error, Exception) and "fill whole buffer" not in str(error)
        reason = f": {error}" if is_said else ""
        raise FileFormatError(
            path, f"cannot be read on {contig}, so it is cut off or damaged{reason}"
        ) from error


def _one_contig(
    path: Path,
    file: Any,
    contig: str,
    start: int,
    end: int,
    kind: str,
    names: bool = True,
    blocks: bool = False,
) -> tuple[Intervals, np.ndarray]:
    """Return the records of one contig, or their blocks, and the record of each."""
    with _explained(path, contig):
        return _read_contig(file, contig, start, end, kind, names, blocks)


def _read_contig(
    file: Any, contig: str, start: int, end: int, kind: str, names: bool, blocks: bool
) -> tuple[Intervals, np.ndarray]:
    end = min(end, dict(file.chroms())[contig])
    start = max(start, 0)
    records = _records(file, contig, start, end) if start < end else iter(())
    split = None
    if kind == "bigwig":
        rows = np.fromiter(records, _VALUE_STEP)
        if len(rows) and end <= _MAX_ASKED:
            rows["start"][0] = _find_start(file, contig, rows["start"][0].item())
            rows["end"][-1] = _find_end(file, contig, rows["end"][-1].item())
        starts, ends, extra = rows["start"], rows["end"], {"scores": rows["value"].copy()}
    else:
        found = list(records)
        starts = np.array([row[0] for row in found], np.int64)
        ends = np.array([row[1] for row in found], np.int64)
        extra = _bed_columns([row[2:] for row in found], names)
        split = _find_blocks(found) if blocks else None
    ids = np.zeros(len(starts), np.int32)
    read = Intervals((contig,), ids, starts.copy(), ends.copy(), **extra)
    if split is None:
        return read, np.arange(len(read))
    owners, starts, ends = split
    is_there = (starts < end) & (ends > start)
    read = replace(read.select(owners), starts=starts, ends=ends)
    return read.select(is_there), owners[is_there]


def _find_blocks(rows: list[tuple]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return row, start and end of each block; None unless all rows have blocks as in BED12."""
    found: list[tuple[int, int, int]] = []
    for number, (start, end, *rest) in enumerate(rows):
        try:
            n, sizes, firsts = (
                int(rest[6]),
                *([int(word) for word in text.strip(",").split(",")] for text in rest[7:9]),
            )
        except (IndexError, ValueError):
            return None
        bounds = [
            (start + first, start + first + size)
            for first, size in zip(firsts, sizes, strict=False)
        ]
        is_right = len(sizes) == len(firsts) == n and all(
            a >= start and b <= end for a, b in bounds
        )
        if not is_right or min(sizes) < 0:
            return None
        found += [(number, a, b) for a, b in sorted(bounds)]
    if not found:
        return None
    owners, starts, ends = np.array(found, np.int64).T.copy()
    return owners, starts, ends


def _records(file: Any, contig: str, start: int, end: int) -> Iterator[tuple]:
    """Return the records in a region; the library rejects positions from 2^31 on."""
    if end <= _MAX_ASKED:
        return file.records(contig, start, end)
    return (row for row in file.records(contig) if row[0] < end and row[1] > start)


def _find_start(file: Any, contig: str, start: int) -> int:
    """Return where the stretch of a bigWig that has base ``start`` begins.

    The library cuts stretches at the bounds of the region that it is asked for.
    """
    width = 1
    while start > 0:
        low = max(start - width, 0)
        (*_, (found, _, _)) = file.records(contig, low, start + 1)
        if found > low:
            return found
        start, width = low, 4 * width
    return start


def _find_end(file: Any, contig: str, end: int) -> int:
    """Return where the stretch of a bigWig that has base ``end - 1`` ends."""
    width, length = 1, dict(file.chroms())[contig]
    while end < min(length, _MAX_ASKED):
        high = min(end + width, length, _MAX_ASKED)
        _, found, _ = next(file.records(contig, end - 1, high))
        if found < high:
            return found
        end, width = high, 4 * width
    if end < length:
        return next(found for _, found, _ in file.records(contig) if found >= end)
    return end


def _bed_columns(rest: list[tuple[str, ...]], names: bool) -> dict[str, Any]:
    """Return names, scores and strands from the extra columns of bigBed rows."""
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
    """Return the concatenated parts of contigs ``first`` and following."""
    # Parts of a bigBed without rows have no columns; a bigWig has scores, however few.
    filled = [part for part in parts if len(part)] or parts

    def together(name: str) -> np.ndarray | None:
        found = [getattr(part, name) for part in filled]
        if not found or any(array is None for array in found):
            return None
        return np.concatenate(found)

    names = [part.names for part in filled]
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
