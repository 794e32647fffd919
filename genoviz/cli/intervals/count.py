"""``genoviz count``: how many intervals of one file each interval of another overlaps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, JsonOption, examples, help_of
from genoviz.cli.intervals import options as io
from genoviz.cli.output_kinds import BED, TABLE, choose_kind
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_results

EXAMPLES = examples(
    "genoviz count exons.bed reads.bed.gz > counts.bed",
    "genoviz count genes.gtf reads.bam -s -o counts.gtf",
    "genoviz count peaks.narrowPeak repeats.bed --json",
    "genoviz count introns.bed rna.bam --split",
    "genoviz count genes.bed --graph graph.gfa.gz",
)


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("count", help=help_of(count), epilog=EXAMPLES, no_args_is_help=True)(count)


def count(
    queries: Annotated[
        Path, typer.Argument(metavar="A", help=f"Intervals to count for: {io.FILES}.")
    ],
    subjects: Annotated[
        Path | None, typer.Argument(metavar="B", help="Intervals that are counted.")
    ] = None,
    split: Annotated[
        bool,
        typer.Option(
            "--split",
            help="Reads (cut at N) and BED12 overlap where their blocks do, as bedtools "
            "intersect -split -c.",
        ),
    ] = False,
    same_strand: io.SameStrand = False,
    opposite_strand: io.OppositeStrand = False,
    zero_length: io.ZeroLengthOption = io.ZeroLengthRule.bedtools,
    map_contigs: io.MapContigs = True,
    exclude_flags: io.ExcludeFlags = 1796,
    min_quality: io.MinQuality = 0,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", help="Graph (GFA) on whose paths the intervals lie."),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of", metavar="NAME", help="Path that counts, without B (repeat).", show_default="all"
        ),
    ] = None,
    output: io.OutputOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count for each interval of A how many of B overlap it.

    Each line of A is written as it is, in its order, with the count as a last column: what
    'bedtools intersect -c -a A -b B' writes (with -s and -S too). A read counts as one interval
    from its first base to its last; which reads are left out is that of 'samtools view -F 1796'.

    With --graph, contigs are paths of the graph or contigs that its paths are parts of, and a line
    is written for each place of an interval on a path: path, start, end, name and count. Without B
    the count is of the paths that visit a node of the interval, followed by their mean depth.
    """
    strand = io.strand_rule(same_strand, opposite_strand)
    if subjects is None and graph is None:
        raise typer.BadParameter("give B, or a --graph")
    if of and (graph is None or subjects is not None):
        raise typer.BadParameter("--of goes with --graph and without B")
    if split and graph is not None:
        raise typer.BadParameter("--split does not go with --graph")
    if backend is BackendName.cuda and (split or subjects is None):
        what = "--split" if split else "counting paths (--graph without B)"
        raise typer.BadParameter(f"{what} runs on the CPU, leave out --backend cuda")
    queries = io.as_file(queries)
    if graph is not None:
        choose_kind(output, {"BED": BED, "table": TABLE}, default="table")
        options = {
            "strand": strand,
            "zero_length": zero_length.value,
            "backend": backend.value,
        }
        _count_on_graph(graph, queries, subjects, of, options, output, as_json)
        return
    io.check_lines_output(output, queries)
    reads = {"exclude_flags": exclude_flags, "min_quality": min_quality}
    options = {"strand": strand, "zero_length": zero_length.value}
    with show_progress() as bar:
        if split:
            from genoviz.cli.intervals.split_counts import count_split

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
            from genoviz.analyses.intervals.count import count_overlaps

            bar.update("Counting", 0, None, "")
            began = time.perf_counter()
            counts = count_overlaps(rows.intervals, found, backend=backend.value, **options)
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


def _count_on_graph(
    graph: Path,
    queries: Path,
    subjects: Path | None,
    of: list[str] | None,
    options: dict[str, object],
    output: Path | None,
    as_json: bool,
) -> None:
    from genoviz.cli.intervals.count_on_graph import count_on_graph

    with show_progress() as bar:
        found = count_on_graph(graph, queries, subjects, of, options, bar)
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
