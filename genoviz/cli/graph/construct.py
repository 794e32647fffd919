"""``genoviz construct``: a genome and its phased variants as a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import JsonOption, option, with_examples
from genoviz.cli.graph.reading import listed_names
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import (
    ProgressBar,
    describe_graph,
    name_of_output,
    print_notes,
    print_results,
    show_progress,
)
from genoviz.cli.sequences.kmer_index import read_sequences

if TYPE_CHECKING:
    from genoviz.analyses.graph.phase_sets import PossiblePaths
    from genoviz.model import PangenomeGraph

_KINDS = {"graph": (".gfa",), "gbz": (".gbz",)}

SamplesOption = Annotated[
    str | None,
    option(
        "Only these samples of the VCF file: comma-separated names, or a file with one "
        "name per line.",
        "--samples",
        metavar="FILE|NAMES",
        show_default="all",
    ),
]


@with_examples(
    "genoviz construct genome.fa.gz --vcf phased.vcf.gz -o graph.gfa.gz",
    "genoviz construct genome.fa.gz --vcf phased.bcf --samples HG00096,HG00097 -o two.gbz",
)
def construct(
    genome: Annotated[Path, typer.Argument(metavar="GENOME", help="FASTA or 2bit.")],
    vcf: Annotated[Path, option("Phased genotypes: VCF or BCF.", "--vcf")],
    output: Annotated[
        Path, option("Output file: .gfa, .gfa.gz or .gbz; - writes GFA.", "-o", "--output")
    ],
    samples: SamplesOption = None,
    reference: Annotated[str, option("Sample name of the genome's paths.")] = "reference",
    as_json: JsonOption = False,
) -> None:
    """Make a graph whose paths are a genome and the haplotypes of a phased VCF file.

    Paths have PanSN names: reference#0#contig for the genome, sample#1#contig and sample#2#contig
    for the haplotypes of a sample. Each path is the genome or a haplotype of the file.
    """
    kind = check_output(output, _KINDS, default="graph", binary=("gbz",))
    with show_progress() as bar:
        graph, _ = read_haplotypes(genome, vcf, bar, samples=samples, reference=reference)
        from genoviz.io.graph.gbz_writer import write_gbz
        from genoviz.io.graph.gfa_writer import write_gfa

        bar.update("Writing", 0, None, "")
        (write_gbz if kind == "gbz" else write_gfa)(graph, output)
    sizes, words = describe_graph(graph)
    results = {"graph": sizes, "files": [str(output)]}
    print_results(results, [words, f"wrote {name_of_output(output)}"], as_json=as_json)


def read_haplotypes(
    genome: Path,
    vcf: Path,
    bar: ProgressBar,
    *,
    samples: str | None,
    reference: str = "reference",
    window: int = 0,
) -> tuple[PangenomeGraph, PossiblePaths | None]:
    """Return a genome and the haplotypes of a VCF file as a graph; notes go to standard error.

    Where ``window`` bases can have alleles of two phase sets of a sample, all combinations are
    paths, and it is said which paths are such; 0 takes all genotypes for one set, which is phased.
    """
    from genoviz.analyses.graph.construct import iter_construct_graph
    from genoviz.io.genotypes.phased_vcf import iter_read_phased_variants

    sequences = read_sequences(genome, bar)
    chosen = None if samples is None else listed_names(samples)
    if chosen == []:
        raise typer.BadParameter("--samples names no sample; leave it out to take all")
    options = {"samples": chosen, "phase_sets": window > 0}
    for read in iter_read_phased_variants(vcf, sequences, **options):
        bar.update(read.stage, read.n_bytes, read.n_bytes_total, "B")
    options = {"reference": reference, "window": window}
    for made in iter_construct_graph(sequences, read.variants, **options):
        bar.update("Making paths", made.n_done, made.n_total, "paths")
    print_notes(*made.graph.notes)
    return made.graph, made.possible
