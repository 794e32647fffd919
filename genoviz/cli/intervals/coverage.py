"""``genoviz coverage``: how much of each interval the intervals of another file cover."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, JsonOption, examples, help_of
from genoviz.cli.intervals import options as io
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_results

EXAMPLES = examples(
    "genoviz coverage exons.bed reads.bam --split > coverage.bed",
    "genoviz coverage windows.bed peaks.narrowPeak --mean",
    "genoviz coverage genes.gtf repeats.bed.gz -s --json",
)


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("coverage", help=help_of(coverage), epilog=EXAMPLES, no_args_is_help=True)(coverage)


def coverage(
    queries: Annotated[
        Path, typer.Argument(metavar="A", help=f"Intervals that are covered: {io.FILES}.")
    ],
    subjects: Annotated[Path, typer.Argument(metavar="B", help="Intervals that cover them.")],
    mean: Annotated[
        bool, typer.Option("--mean", help="Write the mean depth only: bedtools coverage -mean.")
    ] = False,
    split: Annotated[
        bool,
        typer.Option(
            "--split",
            help="Cut reads (at D and N) and BED12 of B into blocks, which are counted.",
        ),
    ] = False,
    same_strand: io.SameStrand = False,
    opposite_strand: io.OppositeStrand = False,
    zero_length: io.ZeroLengthOption = io.ZeroLengthRule.bedtools,
    map_contigs: io.MapContigs = True,
    exclude_flags: io.ExcludeFlags = 1796,
    min_quality: io.MinQuality = 0,
    output: io.OutputOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Measure for each interval of A how much of it B covers.

    Each line of A is written as it is, in its order, with four further columns: how many of B
    overlap, bases covered, length, and share covered. It is what 'bedtools coverage -a A -b B'
    writes, for reads after 'samtools view -F 1796'.
    """
    strand = io.strand_rule(same_strand, opposite_strand)
    queries = io.as_file(queries)
    io.check_lines_output(output, queries)
    reads = {"exclude_flags": exclude_flags, "min_quality": min_quality}
    with show_progress() as bar:
        rows, found = io.read_pair(
            queries,
            subjects,
            bar,
            blocks=split,
            map_contigs=map_contigs,
            reads=reads,
            strand=strand,
        )
        from genoviz.analyses.intervals.coverage import iter_coverage_fraction

        began = time.perf_counter()
        reports = iter_coverage_fraction(
            rows.intervals,
            found,
            strand=strand,
            zero_length=zero_length.value,
            backend=backend.value,
        )
        result = io.follow(reports, bar, "Measuring")
        seconds = time.perf_counter() - began
    import numpy as np

    from genoviz.io.intervals.writer import Column, iter_lines

    # bedtools divides in single precision, and the seventh decimal shows it.
    lengths = np.maximum(result.lengths, 1).astype(np.float32)
    shares = result.covered_bases.astype(np.float32) / lengths
    columns = [Column(result.counts), Column(result.covered_bases), Column(result.lengths)]
    columns.append(Column(shares, decimals=7))
    if mean:
        columns = [Column(result.summed_bases.astype(np.float32) / lengths, decimals=7)]
    if output is not None or not as_json:
        io.write_output(iter_lines(rows, columns), output)
    if as_json:
        results = {
            "n_queries": len(rows.intervals),
            "n_subjects": len(found),
            "backend": result.backend,
            "n_queries_covered": int((result.covered_bases > 0).sum()),
            "covered_bases": int(result.covered_bases.sum()),
            "length": int(result.lengths.sum()),
            "seconds": seconds,
            "files": [str(output)] if output else [],
        }
        if output is None:
            results |= {
                "counts": result.counts.tolist(),
                "fractions": result.fractions.tolist(),
                "mean_depths": result.mean_depths.tolist(),
            }
        print_results(results, [], as_json=True)
