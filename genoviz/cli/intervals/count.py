"""``genoviz count``: how many intervals of one file each interval of another overlaps.

With ``--split`` their blocks do, and with ``--graph`` they lie on the paths of a graph.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    JsonOption,
    SchedulerOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.intervals import options as io
from genoviz.cli.output_kinds import BED, TABLE, choose_kind
from genoviz.cli.results import ProgressBar, print_notes, print_results, show_progress

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.graph.query.path_depth import PlacedIntervals
    from genoviz.io.intervals.intervals import SplitIntervals
    from genoviz.io.intervals.rows import IntervalRows
    from genoviz.model import Intervals, PangenomeGraph

_ROWS_PER_PART = 1 << 14


@ignores("with --graph", lambda given: given["graph"], "split", "map_contigs", "scheduler")
@ignores(
    "without B, where paths are counted",
    lambda given: given["graph"] and not given["subjects"],
    *("same_strand", "opposite_strand", "zero_length"),
)
@with_examples(
    "genoviz count exons.bed reads.bed.gz > counts.bed",
    "genoviz count genes.gtf reads.bam -s -o counts.gtf",
    "genoviz count peaks.narrowPeak repeats.bed --json",
    "genoviz count introns.bed rna.bam --split",
    "genoviz count genes.bed --graph graph.gfa.gz",
)
def count(
    queries: Annotated[
        Path, typer.Argument(metavar="A", help=f"Intervals to count for: {io.FILES}.")
    ],
    subjects: Annotated[
        Path | None, typer.Argument(metavar="B", help="Intervals to count.")
    ] = None,
    split: Annotated[
        bool,
        option(
            "Count overlaps of blocks of reads (split at N) and BED12, like bedtools "
            "intersect -split -c.",
            "--split",
        ),
    ] = False,
    same_strand: io.SameStrand = False,
    opposite_strand: io.OppositeStrand = False,
    zero_length: io.ZeroLengthOption = io.ZeroLengthRule.bedtools,
    map_contigs: io.MapContigs = True,
    exclude_flags: io.ExcludeFlags = 1796,
    min_quality: io.MinQuality = 0,
    graph: Annotated[
        Path | None, option("Graph (GFA) whose paths are the contigs of the intervals.", "--graph")
    ] = None,
    of: Annotated[
        list[str] | None,
        option(
            "Path to count, without B (repeatable).", "--of", metavar="NAME", show_default="all"
        ),
    ] = None,
    output: io.OutputOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count the intervals of B that overlap each interval of A.

    Writes each line of A unchanged and in order, with the count as last column, like 'bedtools
    intersect -c -a A -b B' (also with -s and -S). A read counts as one interval from its first base
    to its last. Reads are filtered as by 'samtools view -F 1796'.

    With --graph, contigs are paths of the graph, or contigs that its paths are parts of. One line
    is written per position of an interval on a path: path, start, end, name and count. Without B,
    the count is the number of paths that visit a node of the interval, followed by their mean
    depth.
    """
    strand = io.strand_rule(same_strand, opposite_strand)
    if subjects is None and graph is None:
        raise typer.BadParameter("give B, or a --graph")
    if of and (graph is None or subjects is not None):
        raise typer.BadParameter("--of goes with --graph and without B")
    if scheduler is not None and split:
        raise typer.BadParameter("--scheduler does not go with --split")
    if backend is BackendName.cuda and (split or subjects is None):
        what = "--split" if split else "counting paths (--graph without B)"
        raise typer.BadParameter(f"{what} runs on the CPU, leave out --backend cuda")
    queries = io.as_file(queries)
    reads = {"exclude_flags": exclude_flags, "min_quality": min_quality}
    if graph is not None:
        choose_kind(output, {"BED": BED, "table": TABLE}, default="table")
        options = {"strand": strand, "zero_length": zero_length.value, "backend": backend.value}
        _write_graph_counts(graph, queries, subjects, of, reads, options, output, as_json)
        return
    io.check_lines_output(output, queries)
    options = {"strand": strand, "zero_length": zero_length.value}
    with show_progress() as bar:
        if split:
            rows, n_subjects, counts, seconds = count_split(
                queries, subjects, bar, map_contigs=map_contigs, reads=reads, options=options
            )
        else:
            rows, found = io.read_pair(
                queries,
                subjects,
                bar,
                blocks=False,
                map_contigs=map_contigs,
                reads=reads,
                strand=strand,
            )
            from genoviz.analyses.intervals.count import iter_count_overlaps

            began = time.perf_counter()
            options |= {"scheduler": scheduler, "backend": backend.value}
            reports = iter_count_overlaps(rows.intervals, found, **options)
            counts = io.follow(reports, bar, "Counting")
            seconds, n_subjects = time.perf_counter() - began, len(found)
    from genoviz.io.intervals.writer import Column, iter_lines

    if output is not None or not as_json:
        io.write_output(iter_lines(rows, [Column(counts)]), output)
    results = {
        "n_queries": len(counts),
        "n_subjects": n_subjects,
        "n_overlaps": int(counts.sum(dtype="int64")),
        "n_queries_with_overlap": int((counts > 0).sum()),
        "seconds": seconds,
        "files": [str(output)] if output else [],
        "counts": [] if output else counts.tolist(),
    }
    if as_json:
        print_results(results, [], as_json=True)


def _write_graph_counts(
    graph: Path,
    queries: Path,
    subjects: Path | None,
    of: list[str] | None,
    reads: dict[str, int],
    options: dict[str, object],
    output: Path | None,
    as_json: bool,
) -> None:

    with show_progress() as bar:
        found = count_on_graph(graph, queries, subjects, of, reads, options, bar)
    if output is not None or not as_json:
        io.write_output(found.lines(), output)
    if as_json:
        intervals = found.placed.intervals
        results = {
            "rows": found.placed.rows.tolist(),
            "paths": [intervals.contigs[path] for path in intervals.contig_ids.tolist()],
            "starts": intervals.starts.tolist(),
            "ends": intervals.ends.tolist(),
            **{name: values.tolist() for name, values in found.columns.items()},
            "files": [str(output)] if output else [],
        }
        print_results(results, [], as_json=True)


class SplitCounts(NamedTuple):
    """Lines of A, number of intervals of B, a count for each line, and seconds of counting."""

    rows: IntervalRows
    n_subjects: int
    counts: np.ndarray
    seconds: float


def count_split(
    queries: Path,
    subjects: Path,
    bar: ProgressBar,
    *,
    map_contigs: bool,
    reads: dict[str, int],
    options: dict[str, Any],
) -> SplitCounts:
    """Count for each interval of A the intervals of B with a block that overlaps one of its own."""
    from genoviz.analyses.intervals.split_overlaps import count_split_overlaps

    queries = io.as_file(queries)
    rows = io.read_rows(queries, bar, **reads)
    of_queries = _read(queries, bar, reads)
    io.need_strands(options["strand"], queries, of_queries.blocks)
    subjects = io.as_file(subjects)
    of_subjects = _read(subjects, bar, reads)
    io.need_strands(options["strand"], subjects, of_subjects.blocks)
    blocks = of_subjects.blocks
    if map_contigs:
        blocks = io.match_contigs(blocks, of_queries.blocks)
    bar.update("Counting", 0, None, "")
    began = time.perf_counter()
    counts = count_split_overlaps(
        of_queries.blocks,
        blocks,
        query_owners=of_queries.owners,
        subject_owners=of_subjects.owners,
        **options,
    )
    n_subjects = int(of_subjects.owners[-1]) + 1 if len(of_subjects.owners) else 0
    return SplitCounts(rows, n_subjects, counts, time.perf_counter() - began)


def _read(path: Path, bar: ProgressBar, reads: dict[str, int]) -> SplitIntervals:
    from genoviz.io.intervals.intervals import iter_read_split

    for progress in iter_read_split(path, **reads):
        bar.update(f"{progress.stage} of {path.name}", progress.n_bytes_done, None, "B")
    return progress.split


@dataclass(frozen=True, eq=False)
class GraphCounts:
    """What was counted for intervals on paths.

    Attributes
    ----------
    placed
        Where the intervals lie.
    columns
        Numbers of each place, by name; floats have six decimals.
    """

    placed: PlacedIntervals
    columns: dict[str, np.ndarray]

    def lines(self) -> Iterator[bytes]:
        """Yield a line for each place: path, start, end, name, and its numbers."""
        intervals = self.placed.intervals
        for first in range(0, len(intervals), _ROWS_PER_PART):
            rows = range(first, min(first + _ROWS_PER_PART, len(intervals)))
            yield "".join(self._line(intervals, row) for row in rows).encode()

    def _line(self, intervals: Intervals, row: int) -> str:
        name = intervals.names[row] if intervals.names is not None else ""
        fields = [
            intervals.contigs[intervals.contig_ids[row]],
            str(intervals.starts[row]),
            str(intervals.ends[row]),
            name or ".",
        ]
        for values in self.columns.values():
            is_whole = values.dtype.kind == "i"
            fields.append(str(values[row]) if is_whole else f"{values[row]:.6f}")
        return "\t".join(fields) + "\n"


def count_on_graph(
    graph_file: Path,
    queries: Path,
    subjects: Path | None,
    of: list[str] | None,
    reads: dict[str, int],
    options: dict[str, object],
    bar: ProgressBar,
) -> GraphCounts:
    """Return how many intervals, or paths, lie over intervals on the paths of a graph."""
    from genoviz.analyses.graph.query.path_depth import depths_of_intervals
    from genoviz.analyses.intervals.count import iter_count_overlaps

    graph = read_graph(graph_file, bar, cache=True)
    strand = None if subjects is None else options["strand"]
    placed = _place(graph, queries, bar, reads, names=True, strand=strand)
    if subjects is None:
        bar.update("Counting", 0, None, "")
        depths = depths_of_intervals(graph, placed.intervals, of or None)
        return GraphCounts(placed, {"n_paths": depths.n_paths, "mean_depth": depths.mean_depths})
    others = _place(graph, subjects, bar, reads, names=False, strand=strand)
    reports = iter_count_overlaps(placed.intervals, others.intervals, **options)
    counts = io.follow(reports, bar, "Counting")
    return GraphCounts(placed, {"count": counts})


def _place(
    graph: PangenomeGraph,
    path: Path,
    bar: ProgressBar,
    reads: dict[str, int],
    *,
    names: bool,
    strand: str | None,
) -> PlacedIntervals:
    from genoviz.analyses.graph.query.path_depth import place_intervals

    intervals = io.read(path, bar, names=names, blocks=False, **reads)
    io.need_strands(strand, path, intervals)
    placed = place_intervals(graph, intervals)
    print_notes(*placed.intervals.notes[len(intervals.notes) :])
    return placed
