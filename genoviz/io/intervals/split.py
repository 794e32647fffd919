"""Reads and BED12 features cut into their blocks, with the number of what each block is of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.io.intervals.intervals import iter_read_intervals
from genoviz.io.intervals.kinds import READ_KINDS, ROW_FORMATS, find_kind
from genoviz.io.intervals.read_blocks import EXCLUDE_FLAGS, read_blocks
from genoviz.io.intervals.rows import IntervalRows, parse_intervals
from genoviz.io.text.text_file import open_text
from genoviz.model import Intervals


@dataclass(frozen=True, eq=False)
class SplitIntervals:
    """Blocks of intervals.

    Attributes
    ----------
    blocks
        All blocks, those of an interval one after the other, by start.
    owners
        int64, shape (n_blocks,): the number of the interval that each is of; ascending.
    """

    blocks: Intervals
    owners: np.ndarray


@dataclass(frozen=True)
class SplitProgress:
    """How far the reading is; the last report has the blocks."""

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    split: SplitIntervals | None = None


def iter_read_split(
    path: Path, *, exclude_flags: int = EXCLUDE_FLAGS, min_quality: int = 0
) -> Iterator[SplitProgress]:
    """Yield how far the reading of a file is; the last report has the blocks of its intervals.

    Reads are cut at the N of their CIGAR, as ``bedtools intersect -split`` cuts them, and BED12
    into its blocks; other intervals are one block each.

    Raises
    ------
    FileFormatError
        If the file cannot be read; says where and why.
    """
    kind = find_kind(path)
    if kind in READ_KINDS:
        owners: list[np.ndarray] = []
        reading = read_blocks(
            path,
            kind,
            exclude_flags=exclude_flags,
            min_quality=min_quality,
            cuts="N",
            reads_of_blocks=owners,
        )
        found = yield from _progress(reading)
        # Reads without a block have no number.
        split = SplitIntervals(found, np.unique(owners[0], return_inverse=True)[1])
    elif kind in ROW_FORMATS:
        rows = yield from _progress(_read_rows(path, kind))
        starts_row = np.append(False, rows.line_at[1:] != rows.line_at[:-1])[: len(rows.line_at)]
        split = SplitIntervals(rows.intervals, np.cumsum(starts_row).astype(np.int64))
    else:
        for report in iter_read_intervals(path, names=False):
            intervals = report.intervals
            yield SplitProgress(report.stage, report.n_bytes_done, report.n_bytes_total)
        split = SplitIntervals(intervals, np.arange(len(intervals)))
    yield SplitProgress("Reading blocks", 1, 1, split)


def _progress(reading: Any) -> Iterator[SplitProgress]:
    while True:
        try:
            yield SplitProgress(*next(reading))
        except StopIteration as done:
            return done.value


def _read_rows(path: Path, kind: str) -> Iterator[tuple[str, int, int]]:
    opening = open_text(path, may_be_empty=True)
    while True:
        try:
            yield "Decompressing", *next(opening)
        except StopIteration as done:
            text = done.value
            break
    rows: IntervalRows = yield from parse_intervals(
        path, text, ROW_FORMATS[kind], names=False, blocks=True, lines=True
    )
    return rows
