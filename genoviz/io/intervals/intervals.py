"""Reading of intervals from many formats (features, peaks, signals, reads, tables)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import ParameterError
from genoviz.generators import finish, report
from genoviz.io.intervals.big_files import read_big_file
from genoviz.io.intervals.index_files import (
    TEXT_ENDINGS,
    check_index,
    fetch_lines,
    find_index,
    indexed_contigs,
)
from genoviz.io.intervals.kinds import READ_KINDS, ROW_FORMATS, SIGNAL_KINDS, find_kind
from genoviz.io.intervals.read_blocks import EXCLUDE_FLAGS, read_blocks
from genoviz.io.intervals.rows import IntervalRows, parse_intervals
from genoviz.io.intervals.tables import intervals_from_table, read_interval_table
from genoviz.io.text.text_file import open_text, refuse_returns
from genoviz.model import Intervals, PathRegion
from genoviz.model.intervals.intervals import map_contigs
from genoviz.model.intervals.region_text import parse_region

__all__ = [
    "EXCLUDE_FLAGS",
    "IntervalProgress",
    "intervals_from_table",
    "iter_read_intervals",
    "map_contigs",
    "read_interval_rows",
    "read_intervals",
]

Region = PathRegion | str | tuple[str, int, int]


@dataclass(frozen=True)
class IntervalProgress:
    """Progress of reading a file.

    Attributes
    ----------
    stage
        Current stage, e.g. ``"Reading reads"``.
    n_bytes_done, n_bytes_total
        Bytes (contigs for bigWig and bigBed) processed in this stage, and their total.
    intervals
        The intervals, in the last report only.
    """

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    intervals: Intervals | None = None


def read_intervals(path: str | PathLike[str], **options: Any) -> Intervals:
    """Return the intervals of a file; see :func:`iter_read_intervals`."""
    for progress in iter_read_intervals(path, **options):
        found = progress.intervals
    return found


def iter_read_intervals(
    path: str | PathLike[str],
    *,
    kind: str | None = None,
    region: Region | None = None,
    names: bool | None = None,
    blocks: bool | None = None,
    features: Sequence[str] = (),
    exclude_flags: int = EXCLUDE_FLAGS,
    min_quality: int = 0,
    reference: str | PathLike[str] | None = None,
    reads_of_blocks: list[np.ndarray] | None = None,
) -> Iterator[IntervalProgress]:
    """Yield the progress of reading a file; the last report has the intervals.

    Supported are BED (3 to 12 columns), narrowPeak and broadPeak (scores are signal values),
    bedGraph, GFF3 and GTF (converted from 1-based closed to 0-based half-open), SAM, BAM and CRAM,
    bigWig and bigBed, Parquet, Arrow and CSV; text may be gzipped. Lines ``track``, ``browser`` and
    ``#`` are skipped. Reads are split at D and N of their CIGAR. Reads with ``exclude_flags`` are
    left out, with a note.

    Parameters
    ----------
    path
        The file.
    kind
        One of ``genoviz.io.intervals.kinds.KINDS``; by default detected from the first bytes, the
        name, and the first row.
    region
        Return only intervals that touch it: a `PathRegion`, ``(contig, start, end)`` or a text:
        ``contig``, ``contig:position`` or ``contig:start-end``; 0-based half-open. In a text, the
        contig may have its alternative name (1 for chr1), as in `map_contigs`. An index
        (``.bai``, ``.csi``, ``.crai``, ``.tbi``) is used if there is one.
    names
        Whether to keep names; by default for rows but not for reads.
    blocks
        Whether each block of a row (BED12) or read is an interval; by default for reads only.
    features
        GFF feature types to read, such as ``exon``; all by default.
    exclude_flags
        Skip reads with any of these bits: 1796 is unmapped, secondary, failed, duplicate.
    min_quality
        Minimum mapping quality of reads.
    reference
        FASTA file for a CRAM that needs it.
    reads_of_blocks
        List that receives one array for files of reads: int64, shape (n,), the read number of each
        block, ascending. Not available with a region.

    Raises
    ------
    FileFormatError
        If the file cannot be read or a row violates the format; the message says where and why.
    ParameterError
        If ``kind`` or ``region`` is invalid.
    """
    path = Path(path)
    if region is not None:
        to_region(region, ())
    kind = find_kind(path, kind)
    with_names = names is not False
    reading: Generator[tuple[str, int, int], None, Intervals]
    if kind in ROW_FORMATS:
        reading = _read_rows(
            path, kind, region, names=with_names, blocks=bool(blocks), features=features
        )
    elif kind in READ_KINDS:
        reading = read_blocks(
            path,
            kind,
            find_region=None if region is None else partial(to_region, region),
            exclude_flags=exclude_flags,
            min_quality=min_quality,
            blocks=blocks is not False,
            names=bool(names),
            reference=None if reference is None else Path(reference),
            reads_of_blocks=reads_of_blocks,
        )
    elif kind in SIGNAL_KINDS:
        reading = read_big_file(
            path,
            kind,
            find_region=None if region is None else partial(to_region, region),
            names=with_names,
            blocks=bool(blocks),
        )
    else:
        reading = _read_table(path, kind, region)
    found = yield from report(reading, lambda step: IntervalProgress(*step))
    n_bytes = path.stat().st_size
    yield IntervalProgress("Reading intervals", n_bytes, n_bytes, found)


def read_interval_rows(
    path: str | PathLike[str], *, kind: str | None = None, names: bool = False
) -> IntervalRows:
    """Return the intervals of a text file with their lines, to write them out again.

    Raises
    ------
    ParameterError
        If the file format has no lines.
    """
    path = Path(path)
    kind = find_kind(path, kind)
    if kind not in ROW_FORMATS:
        raise ParameterError(f"{path.name} is {kind}, needs to be BED, bedGraph or GFF")
    return finish(_parse(path, kind, names=names, lines=True))


def to_region(region: Region, contigs: Iterable[str]) -> PathRegion:
    """Return a region in any notation as a `PathRegion`; 0-based half-open.

    Parameters
    ----------
    contigs
        The known contigs; a text may use an alternative name of one of them.

    Raises
    ------
    ParameterError
        If it is not a region.
    """
    if isinstance(region, PathRegion):
        return region
    if isinstance(region, str):
        return parse_region(region, contigs)
    try:
        contig, start, end = region
        return PathRegion(str(contig), int(start), int(end))
    except (TypeError, ValueError):
        raise ParameterError(f"region is {region!r}, needs (contig, start, end)") from None


def _read_rows(
    path: Path, kind: str, region: Region | None, **options: Any
) -> Generator[tuple[str, int, int], None, Intervals]:
    index = None if region is None else find_index(path, TEXT_ENDINGS)
    if region is None or index is None:
        rows = yield from _parse(path, kind, **options)
        found = rows.intervals
        return found if region is None else _within(found, region)
    notes = check_index(index, path)
    region = to_region(region, indexed_contigs(path, index))
    lines = fetch_lines(path, index, region)
    text = np.frombuffer(lines, np.uint8)
    # Line numbers in errors are relative to the region, so the message names the region.
    part = path.with_name(f"{path.name} at {region}".replace("/", "_"))
    rows = yield from parse_intervals(part, text, ROW_FORMATS[kind], **options)
    found = _within(rows.intervals, region)
    return replace(found, notes=(*found.notes, *notes))


def _parse(
    path: Path, kind: str, **options: Any
) -> Generator[tuple[str, int, int], None, IntervalRows]:
    opening = open_text(path, may_be_empty=True)
    text = yield from report(opening, lambda step: ("Decompressing", *step))
    refuse_returns(path, text)
    return (yield from parse_intervals(path, text, ROW_FORMATS[kind], **options))


def _read_table(
    path: Path, kind: str, region: Region | None
) -> Generator[tuple[str, int, int], None, Intervals]:
    yield "Reading the table", 0, path.stat().st_size if path.exists() else 0
    found = read_interval_table(path, kind)
    return found if region is None else _within(found, region)


def _within(intervals: Intervals, region: Region) -> Intervals:
    """Return the intervals that touch a region; its contig may be absent."""
    region = to_region(region, intervals.contigs)
    if region.path not in intervals.contigs:
        note = f"No interval lies on {region.path}."
        none = intervals.select(np.empty(0, np.int64))
        return replace(none, notes=(*intervals.notes, note))
    return intervals.within(region.path, region.start, region.end)


@dataclass(frozen=True, eq=False)
class SplitIntervals:
    """Intervals split into blocks.

    Attributes
    ----------
    blocks
        All blocks, grouped by interval and sorted by start.
    owners
        int64, shape (n_blocks,): interval number of each block; ascending.
    """

    blocks: Intervals
    owners: np.ndarray


@dataclass(frozen=True)
class SplitProgress:
    """Progress of reading; the last report has the blocks."""

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    split: SplitIntervals | None = None


def iter_read_split(
    path: Path, *, exclude_flags: int = EXCLUDE_FLAGS, min_quality: int = 0
) -> Iterator[SplitProgress]:
    """Yield the progress of reading a file; the last report has the blocks of its intervals.

    Reads are split at N of their CIGAR, as in ``bedtools intersect -split``, and BED12 rows (also
    of bigBed) into their blocks; other intervals are one block each.

    Raises
    ------
    FileFormatError
        If the file cannot be read; the message says where and why.
    """
    kind = find_kind(path)
    owners: list[np.ndarray] = []
    if kind in READ_KINDS:
        reading = read_blocks(
            path,
            kind,
            exclude_flags=exclude_flags,
            min_quality=min_quality,
            cuts="N",
            reads_of_blocks=owners,
        )
        found = yield from report(reading, lambda step: SplitProgress(*step))
        # Number only the reads that have blocks.
        split = SplitIntervals(found, np.unique(owners[0], return_inverse=True)[1])
    elif kind in ROW_FORMATS:
        rows = yield from report(
            _parse(path, kind, names=False, blocks=True, lines=True),
            lambda step: SplitProgress(*step),
        )
        starts_row = np.append(False, rows.line_at[1:] != rows.line_at[:-1])[: len(rows.line_at)]
        split = SplitIntervals(rows.intervals, np.cumsum(starts_row).astype(np.int64))
    elif kind in SIGNAL_KINDS:
        reading = read_big_file(path, kind, names=False, blocks=True, owners=owners)
        found = yield from report(reading, lambda step: SplitProgress(*step))
        rows_of = np.concatenate([np.empty(0, np.int64), *owners])
        split = SplitIntervals(found, rows_of)
    else:
        for step in iter_read_intervals(path, names=False):
            intervals = step.intervals
            yield SplitProgress(step.stage, step.n_bytes_done, step.n_bytes_total)
        split = SplitIntervals(intervals, np.arange(len(intervals)))
    yield SplitProgress("Reading blocks", 1, 1, split)
