"""Writing of intervals as text: input lines with additional columns, BED, and bedGraph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.files.replace_file import replace_file
from genoviz.io.intervals.file_loops import MAX_NUMBER_BYTES, write_lines
from genoviz.io.intervals.rows import IntervalRows
from genoviz.io.text.text_file import BGZF_END, compress_blocks
from genoviz.model import Intervals

_ROWS = 1 << 16
SIGNS = (".", "+", "-")


@dataclass(frozen=True, eq=False)
class Column:
    """An additional numeric column.

    Parameters
    ----------
    values
        Integers, shape (n,), or floats with ``decimals``.
    decimals
        Number of decimal places.
    """

    values: np.ndarray
    decimals: int = 0

    def as_integers(self, first: int, last: int) -> np.ndarray:
        """Return the numbers as multiples of the last decimal place; int64."""
        values = self.values[first:last]
        if self.decimals == 0:
            return values.astype(np.int64)
        return np.rint(values.astype(np.float64) * 10**self.decimals).astype(np.int64)


def iter_lines(rows: IntervalRows, columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield the lines of a file with additional columns appended."""
    decimals = np.array([column.decimals for column in columns], np.int64)
    for first in range(0, len(rows.line_at), _ROWS):
        last = min(first + _ROWS, len(rows.line_at))
        starts, ends = rows.line_at[first:last], rows.line_ends[first:last]
        values = np.empty((last - first, len(columns)), np.int64)
        for k, column in enumerate(columns):
            values[:, k] = column.as_integers(first, last)
        n_bytes = int((ends - starts).sum())
        n_bytes += (last - first) * (1 + len(columns) * MAX_NUMBER_BYTES)
        into = np.empty(n_bytes, np.uint8)
        size = write_lines(rows.text, starts, ends, values, decimals, into)
        yield into[:size].tobytes()


def iter_table(
    contigs: Sequence[str], contig_ids: np.ndarray, columns: Sequence[np.ndarray]
) -> Iterator[bytes]:
    """Yield lines of a contig and integer columns, shape (n,) each."""
    encoded = [name.encode() for name in contigs]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    starts = np.append(np.zeros(1, np.int64), ends)[: len(ends)]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    decimals = np.zeros(len(columns), np.int64)
    for first in range(0, len(contig_ids), _ROWS):
        ids = contig_ids[first : first + _ROWS]
        values = np.empty((len(ids), len(columns)), np.int64)
        for k, column in enumerate(columns):
            # Per column, because mixing with floats would round positions beyond 2^53.
            values[:, k] = column[first : first + _ROWS]
        n_bytes = int((ends - starts)[ids].sum())
        n_bytes += len(ids) * (1 + len(columns) * MAX_NUMBER_BYTES)
        into = np.empty(n_bytes, np.uint8)
        size = write_lines(text, starts[ids], ends[ids], values, decimals, into)
        yield into[:size].tobytes()


def rows_of(intervals: Intervals) -> IntervalRows:
    """Return intervals with the BED lines that represent them; for formats without lines."""
    intervals.check_whole("BED")
    parts = [f"{contig}\t".encode() for contig in intervals.contigs]
    lines = []
    has_more = intervals.names is not None or intervals.strands is not None
    for row in range(len(intervals)):
        fields = [str(intervals.starts[row]), str(intervals.ends[row])]
        if has_more:
            name = intervals.names[row] if intervals.names is not None else ""
            score = "0"
            if intervals.scores is not None and np.isfinite(intervals.scores[row]):
                score = _number(float(intervals.scores[row]))
            strand = 0 if intervals.strands is None else int(intervals.strands[row])
            fields += [name or ".", score, SIGNS[strand]]
        lines.append(parts[intervals.contig_ids[row]] + "\t".join(fields).encode())
    lengths = np.array([len(line) + 1 for line in lines], np.int64)
    text = np.frombuffer(b"\n".join([*lines, b""]), np.uint8)
    return IntervalRows(intervals, text, np.cumsum(lengths) - lengths)


def write_bed(path: str | PathLike[str], intervals: Intervals) -> None:
    """Write intervals as BED: 6 columns if names or strands are known, else 3.

    If the name ends in ``.gz``, the file is BGZF, which tabix can index.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    _write(path, iter_lines(rows_of(intervals), ()))


def write_bedgraph(path: str | PathLike[str], steps: Intervals) -> None:
    """Write a signal as bedGraph; stretches without a value (NaN) are skipped.

    If the name ends in ``.gz``, the file is BGZF, which tabix can index.

    Raises
    ------
    ParameterError
        If there are no scores.
    FileFormatError
        If the file cannot be written.
    """
    _write(path, iter_bedgraph(steps))


def iter_bedgraph(steps: Intervals) -> Iterator[bytes]:
    """Yield the lines of a signal as bedGraph.

    Raises
    ------
    ParameterError
        If there are no scores.
    """
    steps.check_whole("bedGraph")
    if steps.scores is None:
        raise ParameterError("bedGraph needs intervals with scores, these have none")
    kept = np.flatnonzero(~np.isnan(steps.scores))
    contigs = steps.contigs
    for first in range(0, len(kept), _ROWS):
        rows = kept[first : first + _ROWS]
        columns = (steps.contig_ids, steps.starts, steps.ends, steps.scores)
        lines = [
            f"{contigs[contig]}\t{start}\t{end}\t{_number(value)}\n"
            for contig, start, end, value in zip(*(c[rows].tolist() for c in columns), strict=True)
        ]
        yield "".join(lines).encode()


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _write(path: str | PathLike[str], parts: Iterator[bytes]) -> None:
    is_packed = Path(path).name.endswith(".gz")
    with replace_file(path) as file:
        for part in parts:
            file.write(compress_blocks(part) if is_packed else part)
        if is_packed:
            file.write(BGZF_END)


@dataclass(frozen=True, eq=False)
class BedExtras:
    """Columns of BED beyond those of intervals.

    Attributes
    ----------
    colours
        int32, shape (n,): 0xRRGGBB, -1 for none; or None.
    block_offsets, blocks
        Interval i has the blocks ``block_offsets[i]`` to ``block_offsets[i + 1]``, as start and
        end in bp; both are None without blocks.
    """

    colours: np.ndarray | None = None
    block_offsets: np.ndarray | None = None
    blocks: np.ndarray | None = None


NO_EXTRAS = BedExtras()


def iter_bed(intervals: Intervals, extras: BedExtras = NO_EXTRAS) -> Iterator[bytes]:
    """Yield intervals as BED lines, each with all columns that any of them needs.

    Scores are written as integers from 0 to 1000, as BED requires, 0 for a missing one. An interval
    without blocks is one block.

    Examples
    --------
    >>> genes = Intervals.from_columns(["c"], [5], [30], names=["g"], strands=["-"])
    >>> blocks = BedExtras(None, np.array([0, 2]), np.array([[5, 9], [20, 30]]))
    >>> b"".join(iter_bed(genes, blocks)).decode().split()[6:]
    ['5', '30', '0', '2', '4,10', '0,15']
    """
    intervals.check_whole("BED")
    n_columns = _n_columns(intervals, extras)
    columns = (intervals.contig_ids, intervals.starts, intervals.ends)
    for row, (contig, start, end) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        fields = [intervals.contigs[contig], str(start), str(end)]
        if n_columns >= 6:
            fields += _name_score_strand(intervals, row)
        if n_columns >= 9:
            fields += [str(start), str(end), _colour(extras, row)]
        if n_columns >= 12:
            fields += _blocks(extras, row, start, end)
        yield ("\t".join(fields) + "\n").encode()


def _n_columns(intervals: Intervals, extras: BedExtras) -> int:
    if extras.blocks is not None and len(extras.blocks):
        return 12
    if extras.colours is not None and (extras.colours >= 0).any():
        return 9
    return 3 if intervals.names is None and intervals.strands is None else 6


def _name_score_strand(intervals: Intervals, row: int) -> list[str]:
    name = intervals.names[row] if intervals.names is not None else ""
    score = np.nan if intervals.scores is None else float(intervals.scores[row])
    whole = 0 if np.isnan(score) else round(min(max(score, 0), 1000))
    strand = 0 if intervals.strands is None else int(intervals.strands[row])
    return [name or ".", str(whole), SIGNS[strand]]


def _colour(extras: BedExtras, row: int) -> str:
    colour = -1 if extras.colours is None else int(extras.colours[row])
    return "0" if colour < 0 else f"{colour >> 16},{colour >> 8 & 255},{colour & 255}"


def _blocks(extras: BedExtras, row: int, start: int, end: int) -> list[str]:
    """Return count, lengths and relative starts; BED requires blocks to span the interval."""
    found = extras.blocks[extras.block_offsets[row] : extras.block_offsets[row + 1]]
    blocks = found.tolist() or [[start, end]]
    if blocks[0][0] != start or blocks[-1][1] != end:
        blocks = [[start, end]]
    lengths = ",".join(str(stop - begin) for begin, stop in blocks)
    return [str(len(blocks)), lengths, ",".join(str(begin - start) for begin, _ in blocks)]
