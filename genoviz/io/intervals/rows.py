"""Parallel parsing of BED, bedGraph and GFF rows into `Intervals`."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np

from genoviz.io.intervals import parser as ip
from genoviz.io.intervals.file_loops import find_line_ends
from genoviz.io.intervals.kinds import RowColumns, RowFormat, explain_row
from genoviz.io.intervals.tables import are_titles
from genoviz.io.text import line_errors
from genoviz.model import Intervals

PART = 8 << 20
_FIRST_CONTIGS = 256
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FASTA = re.compile(rb"^(##FASTA|>)", re.MULTILINE)
Progress = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Intervals, and the lines that they come from.

    Attributes
    ----------
    intervals
        One per row, or per block of a row.
    text
        uint8: the file content.
    line_at
        int64: start of each row's line in the text; empty unless requested.
    """

    intervals: Intervals
    text: np.ndarray
    line_at: np.ndarray

    @cached_property
    def line_ends(self) -> np.ndarray:
        """End of each row's line, without carriage return; int64, shape (n,)."""
        ends = np.empty_like(self.line_at)
        find_line_ends(self.text, self.line_at, ends)
        return ends


@dataclass(eq=False)
class _Part:
    """A part of the text, and its parsed rows."""

    position: int
    stop: int
    n_lines: int
    first_row: int = 0
    n_rows: int = 0
    wrong_at: int = -1
    contigs: dict[bytes, int] = field(default_factory=dict)
    n_odd_strands: int = 0


def parse_intervals(
    path: Path,
    text: np.ndarray,
    rows: RowFormat,
    *,
    names: bool = True,
    blocks: bool = False,
    features: Sequence[str] = (),
    lines: bool = False,
) -> Generator[Progress, None, IntervalRows]:
    """Return the intervals of a text; yields progress.

    Parameters
    ----------
    path
        The file, for errors.
    text
        uint8: the file content.
    rows
        Column layout of the format.
    names
        Whether to keep names.
    blocks
        Whether each block of a BED12 row becomes an interval.
    features
        GFF feature types to keep; all if empty.
    lines
        Whether to record where the line of each row starts.

    Raises
    ------
    FileFormatError
        If a row violates the format; the message says which one and why.
    """
    reader = _RowReader(path, text, rows, names, blocks, features, lines)
    parts = reader.cut()
    into = reader.make_rows(sum(part.n_lines for part in parts))
    with ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS) as pool:
        for part in pool.map(partial(reader.read, into), parts):
            yield "Reading intervals", part.stop, len(text)
    return reader.finish(parts, into)


class _RowReader:
    """State shared by the parts of one text."""

    def __init__(self, path, text, rows, names, blocks, features, lines) -> None:
        self.path, self.text, self.rows = path, text, rows
        self.notes: list[str] = []
        self.keep_lines = lines
        self.start, first_line = _find_first_row(text)
        n_columns = first_line.count(b"\t") + 1
        n_words = len(first_line.split())
        self.any_blank = rows.may_have_spaces and n_columns <= rows.end < n_words
        if self.any_blank:
            n_columns = n_words
        self.header_at, self.header = -1, first_line
        if rows.may_have_spaces and _is_header(first_line, rows, self.any_blank):
            shown = line_errors.show(b" ".join(first_line.split()))
            self.notes.append(f"The first row, {shown}, was taken for names.")
            self.header_at = self.start
            self.start += len(first_line)
            self.start += int(text[self.start : self.start + 1].tobytes() == b"\r")

        def has(column: int, wanted: bool = True) -> int:
            return column if wanted and column < n_columns else -1

        self.columns = ip.Columns(
            rows.start,
            rows.end,
            has(rows.name, names),
            rows.score if rows.score < rows.n_needed else has(rows.score),
            has(rows.strand),
            rows.feature if features else -1,
            has(rows.blocks, blocks),
            rows.first_base,
            rows.n_needed,
            self.any_blank,
        )
        encoded = [feature.encode() for feature in features]
        self.features = np.frombuffer(b"".join(encoded), np.uint8)
        self.feature_offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        self.feature_offsets.flags.writeable = False  # as the letters, for the compiled loop

    def cut(self) -> list[_Part]:
        """Divide the text into parts at line starts; return them with their line counts."""
        text, stop = self.text, len(self.text)
        if self.rows.title == "GFF":
            fasta = _FASTA.search(text.data)
            stop = fasta.start() if fasta else stop
        parts, position = [], self.start
        while position < stop:
            end = min(position + PART, stop)
            end = min(_line_end(text, end, keep_return=True) + 1, stop) if end < stop else stop
            n_lines = int(np.count_nonzero(text[position:end] == ord("\n"))) + 1
            parts.append(_Part(position, end, n_lines))
            position = end
        for before, part in pairwise(parts):
            part.first_row = before.first_row + before.n_lines
        return parts

    def make_rows(self, n: int) -> ip.Rows:
        """Allocate ``n`` rows."""

        def room(dtype: type, wanted: bool = True) -> np.ndarray:
            return np.empty(n if wanted else 0, dtype)

        columns = self.columns
        return ip.Rows(
            room(np.int32),
            room(np.int64),
            room(np.int64),
            room(np.int8, columns.strand >= 0),
            room(np.float64, columns.score >= 0),
            room(np.int64, columns.score >= 0),
            room(np.int64, columns.name >= 0),
            room(np.int64, columns.name >= 0),
            room(np.int64, columns.blocks >= 0),
            room(np.int64, self.keep_lines or columns.blocks >= 0),
        )

    def read(self, into: ip.Rows, part: _Part) -> _Part:
        """Parse one part into its rows."""
        table = _make_table(_FIRST_CONTIGS)
        bounds = np.empty((ip.MAX_COLUMNS, 2), np.int64)
        position, row = part.position, part.first_row
        while True:
            how, position, row = ip.parse_rows(
                self.text,
                position,
                part.stop,
                row,
                self.columns,
                self.features,
                self.feature_offsets,
                into,
                table,
                bounds,
            )
            if how != ip.TABLE_FULL:
                break
            table = _grow_table(table)
        part.wrong_at = position if how == ip.WRONG_ROW else -1
        part.n_rows = row - part.first_row
        at, lengths = table.name_at, table.name_lengths
        part.contigs = {
            self.text[at[k] : at[k] + lengths[k]].tobytes(): int(at[k])
            for k in range(table.count[0])
        }
        part.n_odd_strands = int(table.count[1])
        return part

    def finish(self, parts: list[_Part], into: ip.Rows) -> IntervalRows:
        """Return the concatenated rows of all parts."""
        for part in parts:
            if part.wrong_at >= 0:
                explain = partial(explain_row, rows=self.rows, any_blank=self.any_blank)
                raise line_errors.wrong_line(self.path, self.text, part.wrong_at, explain)
        self._check_header(sum(part.n_rows for part in parts))
        ranks: dict[bytes, int] = {}
        places: dict[bytes, int] = {}
        for part in parts:
            for name, at in part.contigs.items():
                places.setdefault(name, at)
            numbers = np.array([ranks.setdefault(c, len(ranks)) for c in part.contigs], np.int32)
            if len(numbers) and (numbers != np.arange(len(numbers))).any():
                rows = slice(part.first_row, part.first_row + part.n_rows)
                into.contig_ids[rows] = numbers[into.contig_ids[rows]]
        into = _close_gaps(parts, into)
        columns = RowColumns(self.path, self.text, self.rows, self.columns, into)
        intervals = Intervals(
            columns.contig_names(places),
            into.contig_ids,
            into.starts,
            into.ends,
            strands=columns.strands(sum(part.n_odd_strands for part in parts)),
            names=columns.names(),
            scores=columns.scores(),
        )
        line_at = into.line_at
        if self.columns.blocks >= 0:
            intervals, row_of = columns.expand_blocks(intervals)
            line_at = line_at[row_of]
        return IntervalRows(
            replace(intervals, notes=(*self.notes, *columns.notes)),
            self.text,
            line_at if self.keep_lines else line_at[:0],
        )

    def _check_header(self, n_rows: int) -> None:
        """Reject a first row of words that no row follows, unless these are usual titles."""
        if n_rows or self.header_at < 0:
            return
        fields = self.header.split(None if self.any_blank else b"\t")
        start, end = (fields[k].strip().decode() for k in (self.rows.start, self.rows.end))
        if not are_titles(start, end):
            explain = partial(explain_row, rows=self.rows, any_blank=self.any_blank)
            raise line_errors.wrong_line(self.path, self.text, self.header_at, explain)


def _find_first_row(text: np.ndarray) -> tuple[int, bytes]:
    """Return the start of the first row, and its line."""
    position = len(_BYTE_ORDER_MARK) if text[:3].tobytes() == _BYTE_ORDER_MARK else 0
    while position < len(text):
        line = text[position : _line_end(text, position)].tobytes()
        is_header = re.match(rb"(track|browser)([ \t]|$)", line)
        if line.strip() and not line.startswith(b"#") and not is_header:
            return position, line
        position = _line_end(text, position + len(line), keep_return=True) + 1
    return len(text), b""


def _is_header(line: bytes, rows: RowFormat, any_blank: bool) -> bool:
    """Return whether a line is a header: it has words where numbers are expected."""
    fields = line.split() if any_blank else line.split(b"\t")
    if len(fields) <= rows.end:
        return False
    return all(re.match(rb"[A-Za-z_]\w*$", fields[k].strip()) for k in (rows.start, rows.end))


def _line_end(text: np.ndarray, position: int, *, keep_return: bool = False) -> int:
    """Return the end of the line that contains ``position``."""
    step = 256
    while position < len(text):
        found = text[position : position + step].tobytes().find(b"\n")
        if found >= 0:
            position += found
            break
        position = min(position + step, len(text))
        step = min(2 * step, 1 << 20)
    if not keep_return and position and text[position - 1] == ord("\r"):
        position -= 1
    return position


def _make_table(n: int) -> ip.ContigTable:
    return ip.ContigTable(
        np.zeros(2 * n, np.int64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(2, np.int64),
    )


def _grow_table(table: ip.ContigTable) -> ip.ContigTable:
    larger = _make_table(4 * len(table.hashes))
    for old, new in zip(table[1:], larger[1:], strict=True):
        new[: len(old)] = old
    ip.refill_slots(larger)
    return larger


def _close_gaps(parts: list[_Part], into: ip.Rows) -> ip.Rows:
    """Return the rows without the gaps left by comments."""
    n_rows = sum(part.n_rows for part in parts)
    row = 0
    for part in parts:
        if part.first_row != row:
            for array in into:
                if len(array):
                    rows = array[part.first_row : part.first_row + part.n_rows]
                    array[row : row + part.n_rows] = rows
        row += part.n_rows
    return ip.Rows(*(array[:n_rows] for array in into))
