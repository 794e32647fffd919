"""``genoviz depth`` and ``coverage``: how many intervals, reads or paths lie over each base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import JsonOption, ignores, option, with_examples
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.intervals import options as io
from genoviz.cli.output_kinds import BEDGRAPH, BIGWIG, TABLE, choose_kind
from genoviz.cli.results import ProgressBar, print_notes, print_results, show_progress

if TYPE_CHECKING:
    from genoviz.model import Intervals
import time

from genoviz.cli.common_options import BackendName, BackendOption, SchedulerOption


@with_examples(
    "genoviz coverage exons.bed reads.bam --split > coverage.bed",
    "genoviz coverage windows.bed peaks.narrowPeak --mean",
    "genoviz coverage genes.gtf repeats.bed.gz -s --json",
)
def coverage(
    queries: Annotated[
        Path, typer.Argument(metavar="A", help=f"Intervals that are covered: {io.FILES}.")
    ],
    subjects: Annotated[Path, typer.Argument(metavar="B", help="Covering intervals.")],
    mean: Annotated[
        bool, option("Write only the mean depth, like bedtools coverage -mean.", "--mean")
    ] = False,
    split: Annotated[
        bool,
        option("Split reads (at D and N) and BED12 of B into blocks, and count blocks.", "--split"),
    ] = False,
    same_strand: io.SameStrand = False,
    opposite_strand: io.OppositeStrand = False,
    zero_length: io.ZeroLengthOption = io.ZeroLengthRule.bedtools,
    map_contigs: io.MapContigs = True,
    exclude_flags: io.ExcludeFlags = 1796,
    min_quality: io.MinQuality = 0,
    output: io.OutputOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Measure how much of each interval of A is covered by B.

    Writes each line of A unchanged and in order, with four more columns: number of overlapping
    intervals of B, bases covered, length, and fraction covered. The output is that of 'bedtools
    coverage -a A -b B', for reads after 'samtools view -F 1796'.
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
            scheduler=scheduler,
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


class StrandName(StrEnum):
    """Strands."""

    forward = "+"
    reverse = "-"


@ignores("without --path", lambda given: not given["path"], "of", "once")
@ignores(
    "with --path",
    lambda given: given["path"],
    *("genome", "region", "strand", "split", "exclude_flags", "min_quality"),
)
@with_examples(
    "genoviz depth reads.bam > depth.bedgraph",
    "genoviz depth reads.bam --region chr9:4000000-6000000 --per-base",
    "genoviz depth peaks.bed -g hg19.genome --zeros -o depth.bedgraph",
    "genoviz depth reads.bam -o depth.bw",
    "genoviz depth graph.gfa.gz --path 'GRCh38#0#chr6' --of 'CHM13#0#chr6'",
)
def depth(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help=f"{io.FILES}; or, with --path, a graph (GFA).")
    ],
    per_base: Annotated[
        bool,
        option(
            "Write one line per base: contig, 1-based position, depth; like samtools depth.",
            "--per-base",
        ),
    ] = False,
    zeros: Annotated[
        bool, option("Include depth 0, like genomecov -bga and samtools depth -aa.", "--zeros")
    ] = False,
    genome: Annotated[
        Path | None, option("File of contig names and lengths, tab-separated.", "-g", "--genome")
    ] = None,
    region: Annotated[
        str | None,
        option(
            "Only this contig, base or interval; 0-based, half-open. Uses an index if there "
            "is one.",
            "--region",
            metavar="CONTIG[:START[-END]]",
        ),
    ] = None,
    strand: Annotated[
        StrandName | None, option("Only this strand, like genomecov -strand.", "--strand")
    ] = None,
    split: Annotated[
        bool,
        option("Split reads and BED12 into blocks, or use whole intervals.", "--split/--no-split"),
    ] = True,
    exclude_flags: io.ExcludeFlags = 1796,
    min_quality: io.MinQuality = 0,
    path: Annotated[
        str | None,
        option("Path of the graph along which to compute depth.", "--path", metavar="NAME"),
    ] = None,
    of: Annotated[
        list[str] | None,
        option("Path to count (repeatable).", "--of", metavar="NAME", show_default="all"),
    ] = None,
    once: Annotated[bool, option("Count each path at most once per node.", "--once")] = False,
    output: io.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the depth of intervals or reads as a bedGraph.

    The output is that of 'bedtools genomecov -bg -split', for reads after 'samtools view -F 1796'.
    With --per-base it is that of 'samtools depth' without lines of depth 0. Overlaps of mates count
    twice. Intervals of length zero cover nothing, and intervals are cut at the end of their contig.
    -o FILE.bw writes bigWig.

    With --path, FILE is a graph, and the depth is the number of visits of its paths (or those of
    --of) at each base of that path.
    """
    kind = _kind_of(output, per_base)
    with show_progress() as bar:
        if path is not None:
            steps = _along_path(file, path, of, once, bar)
        else:
            options = {"exclude_flags": exclude_flags, "min_quality": min_quality}
            found = io.read(file, bar, names=False, blocks=split, region=region, **options)
            found = _choose(found, strand, genome, file)
            steps = _depth(found, zeros, region, file, bar)
    if not zeros:
        steps = steps.select(steps.scores > 0)
    if kind == "bigWig":
        from genoviz.io.intervals.bigwig_writer import write_bigwig

        if steps.contig_lengths is None:
            print_notes(
                f"{file.name} does not say how long its contigs are; in {output.name} they end "
                "with their last intervals (--genome says where they do)"
            )
        write_bigwig(output, steps)
    elif output is not None or not as_json:
        io.write_output(_iter_bases(steps) if per_base else _iter_steps(steps), output)
    if as_json:
        results = {
            "n_steps": len(steps),
            "covered_bases": int(steps.lengths[steps.scores > 0].sum()),
            "summed_bases": int((steps.lengths * steps.scores.astype("int64")).sum()),
            "max_depth": int(steps.scores.max(initial=0)),
            "files": [str(output)] if output else [],
        }
        print_results(results, [], as_json=True)


def _along_path(
    file: Path, path: str, of: list[str] | None, once: bool, bar: ProgressBar
) -> Intervals:
    from genoviz.analyses.graph.query.path_depth import path_depth_along

    graph = read_graph(file, bar, cache=True)
    bar.update("Depth", 0, None, "")
    return path_depth_along(graph, path, of or None, once=once)


def _kind_of(output: Path | None, per_base: bool) -> str:
    """Return what is written; the ending of a file decides, or is refused."""
    if per_base:
        return choose_kind(output, {"table": TABLE}, default="table")
    writes = {"bedGraph": (*BEDGRAPH, *TABLE), "bigWig": BIGWIG}
    return choose_kind(output, writes, default="bedGraph", binary=("bigWig",))


def _choose(
    found: Intervals, strand: StrandName | None, genome: Path | None, file: Path
) -> Intervals:
    """Return the intervals of a strand, on the contigs of a genome."""
    from genoviz.analyses.intervals.linear_coordinates import count_beyond
    from genoviz.errors import FileFormatError
    from genoviz.io.intervals.bigwig_writer import on_genome, read_genome

    if strand is not None:
        if found.strands is None:
            raise FileFormatError(
                file,
                "has no strands, which --strand needs: leave it out, or give BED with 6 columns",
            )
        found = found.select(found.strands == (1 if strand == StrandName.forward else -1))
    if genome is not None:
        n_notes = len(found.notes)
        found = on_genome(found, read_genome(genome), file=file, genome=genome)
        print_notes(*found.notes[n_notes:])
    n_beyond = count_beyond(found)
    if n_beyond:
        they = "interval reaches beyond its contig, and is"
        if n_beyond > 1:
            they = "intervals reach beyond their contigs, and are"
        print_notes(f"{file.name}: {n_beyond:,} {they} cut off at the end")
    return found


def _depth(
    found: Intervals, zeros: bool, region: str | None, file: Path, bar: ProgressBar
) -> Intervals:
    import numpy as np

    from genoviz.analyses.intervals.depth_steps import iter_depth_steps
    from genoviz.errors import FileFormatError
    from genoviz.io.intervals.intervals import to_region

    if zeros and found.contig_lengths is None:
        raise FileFormatError(
            file, "does not say how long its contigs are, which --zeros needs: give --genome"
        )
    steps = io.follow(iter_depth_steps(found, zeros=zeros), bar, "Depth")
    if region is None:
        return steps
    place = to_region(region, steps.contigs)
    if place.path not in steps.contigs:
        return steps
    if place.path not in (region, to_region(region, ()).path):
        print_notes(f"--region {region} is taken for {place.path}")
    if steps.contig_lengths is not None:
        length = int(steps.contig_lengths[steps.find_contig(place.path)])
        if place.start >= length:
            print_notes(f"--region {region} begins beyond {place.path}, which has {length:,} bp")
    steps = steps.within(place.path, place.start, place.end)
    return replace(
        steps, starts=np.maximum(steps.starts, place.start), ends=np.minimum(steps.ends, place.end)
    ).select((steps.ends > place.start) & (steps.starts < place.end))


def _iter_steps(steps: Intervals) -> Iterator[bytes]:
    from genoviz.io.intervals.writer import iter_table

    return iter_table(steps.contigs, steps.contig_ids, (steps.starts, steps.ends, steps.scores))


def _iter_bases(steps: Intervals, bases: int = 1 << 18) -> Iterator[bytes]:
    """Yield a line for each base, so many at a time."""
    import numpy as np

    from genoviz.io.intervals.writer import iter_table

    totals = np.cumsum(steps.lengths)
    for first in range(0, int(totals[-1]) if len(totals) else 0, bases):
        places = np.arange(first, min(first + bases, int(totals[-1])))
        rows = np.searchsorted(totals, places, side="right")
        positions = steps.ends[rows] - (totals[rows] - places)
        columns = (positions + 1, steps.scores[rows])
        yield from iter_table(steps.contigs, steps.contig_ids[rows], columns)
