"""Options of the commands on intervals, and what these have in common."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import option
from genoviz.cli.output_kinds import BED, GFF, TABLE, choose_kind
from genoviz.cli.results import ProgressBar, as_file, print_notes, until_nobody_reads

if TYPE_CHECKING:
    from genoviz.analyses.intervals.count import WorkProgress
    from genoviz.io.intervals.rows import IntervalRows
    from genoviz.model import Intervals


class ZeroLengthRule(StrEnum):
    """What empty intervals overlap."""

    bedtools = "bedtools"
    strict = "strict"
    interior = "interior"


FILES = "BED, narrowPeak, bedGraph, GFF, BAM, CRAM, bigWig, Parquet, CSV; - is standard input"
SameStrand = Annotated[
    bool, option("Only intervals on the same strand, like bedtools -s.", "-s", "--same-strand")
]
OppositeStrand = Annotated[
    bool,
    option("Only intervals on the opposite strand, like bedtools -S.", "-S", "--opposite-strand"),
]
ZeroLengthOption = Annotated[
    ZeroLengthRule,
    option(
        "Overlaps of zero-length intervals: as in bedtools, none, or with intervals "
        "that have bases on both sides.",
        "--zero-length",
    ),
]
MapContigs = Annotated[
    bool,
    option(
        "Match chr1 with 1, and chrM with MT, if the files differ; a note reports it.",
        "--map-contigs/--no-map-contigs",
    ),
]
ExcludeFlags = Annotated[
    int,
    option(
        "Exclude reads with any of these flags, like samtools -F; 1796 is unmapped, "
        "secondary, failed and duplicate.",
        "-F",
        "--exclude-flags",
        within=(0, 65535),
    ),
]
MinQuality = Annotated[
    int, option("Minimum mapping quality of reads.", "-q", "--min-quality", within=(0, 255))
]
OutputOption = Annotated[
    Path | None, option("File to write.", "-o", "--output", show_default="standard output")
]


def strand_rule(same: bool, opposite: bool) -> str | None:
    """Return the rule that -s and -S mean."""
    if same and opposite:
        raise typer.BadParameter("give -s or -S, not both")
    return "same" if same else "opposite" if opposite else None


def need_strands(strand: str | None, file: Path, intervals: Intervals) -> None:
    """Refuse a file without strands where -s or -S asks for them."""
    from genoviz.errors import FileFormatError

    if strand is not None and intervals.strands is None:
        raise FileFormatError(
            file,
            "has no strands, which -s and -S need: leave these out, or give BED with 6 columns, "
            "GFF or reads",
        )


def check_lines_output(output: Path | None, queries: Path) -> None:
    """Refuse the name of another kind of file for the lines of A."""
    from genoviz.io.intervals.kinds import find_kind

    if output is not None:
        lines = {"GFF": GFF} if find_kind(queries) == "gff" else {"BED": BED}
        choose_kind(output, {**lines, "table": TABLE}, default="table")


def read_rows(path: Path, bar: ProgressBar, **options) -> IntervalRows:
    """Return the intervals of a file and their lines, those of BED for files without lines."""
    from genoviz.io.intervals.intervals import read_interval_rows
    from genoviz.io.intervals.kinds import ROW_FORMATS, find_kind
    from genoviz.io.intervals.writer import rows_of

    path = as_file(path)
    if find_kind(path) not in ROW_FORMATS:
        return rows_of(read(path, bar, names=True, blocks=False, **options))
    bar.update(f"Reading {path.name}", 0, None, "B")
    rows = read_interval_rows(path)
    print_notes(*rows.intervals.notes)
    return rows


def read(path: Path, bar: ProgressBar, **options) -> Intervals:
    """Return the intervals of a file; notes go to standard error."""
    from genoviz.io.intervals.intervals import iter_read_intervals

    path = as_file(path)
    for progress in iter_read_intervals(path, **options):
        stage = f"{progress.stage} of {path.name}"
        bar.update(stage, progress.n_bytes_done, progress.n_bytes_total or None, "B")
    print_notes(*progress.intervals.notes)
    return progress.intervals


def follow(reports: Iterable[WorkProgress], bar: ProgressBar, stage: str) -> Any:
    """Return what a computation finds, and show how far it is."""
    bar.update(stage, 0, None, "")
    for report in reports:
        bar.update(stage, report.n_done, report.n_total, "")
    return report.found


def match_contigs(subjects: Intervals, queries: Intervals) -> Intervals:
    """Return subjects with contigs named as those of the queries; notes go to standard error."""
    from genoviz.io.intervals.intervals import map_contigs

    mapped = map_contigs(subjects, queries.contigs)
    print_notes(*mapped.notes[len(subjects.notes) :])
    return mapped


def read_pair(
    queries: Path,
    subjects: Path,
    bar: ProgressBar,
    *,
    blocks: bool,
    map_contigs: bool,
    reads: dict[str, int],
    strand: str | None,
) -> tuple[IntervalRows, Intervals]:
    """Return the lines of A, and the intervals of B under the contigs' names of A.

    Parameters
    ----------
    blocks
        Whether the intervals of B are the blocks of reads and features.
    reads
        Options of `read_intervals` for files of reads.
    strand
        The rule for strands, which both files then need.
    """
    rows = read_rows(queries, bar, **reads)
    need_strands(strand, queries, rows.intervals)
    found = read(subjects, bar, names=False, blocks=blocks, **reads)
    need_strands(strand, subjects, found)
    return rows, match_contigs(found, rows.intervals) if map_contigs else found


def write_output(parts: Iterable[bytes], output: Path | None) -> None:
    """Write text to a file (in gzip by its name), or to standard output until nobody reads on."""
    if output is not None:
        from genoviz.io.text.text_file import write_text

        write_text(output, parts)
        return
    if sys.stdout is None:
        raise OSError("standard output is closed, needs to be open or a file to write to")
    with until_nobody_reads():
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.flush()
