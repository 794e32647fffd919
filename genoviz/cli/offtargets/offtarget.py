"""``genoviz offtarget``: off-target sites of guides, as cas-offinder is called or by options."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    JsonOption,
    SchedulerOption,
    option,
    with_examples,
)
from genoviz.cli.graph.construct import SamplesOption
from genoviz.cli.graph.reading import is_graph
from genoviz.cli.intervals.options import write_output
from genoviz.cli.offtargets import results
from genoviz.cli.offtargets.paths import (
    PopulationsOption,
    VcfOption,
    check_vcf,
    open_haplotypes,
    open_paths,
    read_populations,
    search_paths,
)
from genoviz.cli.offtargets.query import (
    Device,
    EnzymeName,
    make_query,
    open_genome,
    parse_device,
    protect_genome,
    read_query,
    run_searches,
)
from genoviz.cli.results import as_file, print_results, show_progress
from genoviz.model.offtargets.protospacer import ENZYMES

# More than any guide has letters.
MAX_SIZE = 1000


class PlacementName(StrEnum):
    """Which alignments of a site with a bulge are given."""

    best = "best"
    all = "all"


class StrandName(StrEnum):
    """Which strands are searched."""

    both = "both"
    forward = "+"
    reverse = "-"


class FormatName(StrEnum):
    """How hits are written."""

    v2 = "v2"
    bulge = "bulge"
    v3 = "v3"
    bed = "bed"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


InputArgument = Annotated[
    Path | None,
    typer.Argument(metavar="INPUT", help="Input file of Cas-OFFinder; - is standard input."),
]

DeviceArgument = Annotated[
    str | None,
    typer.Argument(metavar="DEVICE", help="Device as in cas-offinder: C, G or A, or e.g. G0,2."),
]

OutputArgument = Annotated[
    Path | None, typer.Argument(metavar="OUTPUT", help="Output file; - is standard output.")
]

GuideOption = Annotated[
    list[str] | None,
    option("Guide, with or without its PAM (repeatable).", "-g", "--guide", metavar="LETTERS"),
]
GuidesOption = Annotated[
    Path | None,
    option(
        "File of guides: FASTA, CSV, TSV, or one per line; - is standard input.",
        "--guides",
    ),
]

PamOption = Annotated[str, option("PAM in IUPAC codes; '' for none.", "--pam")]

PamFirstOption = Annotated[bool, option("The PAM is at the 5' end, as for Cas12a.", "--pam-first")]

EnzymeOption = Annotated[
    EnzymeName | None, option("Nuclease; sets --pam and --pam-first.", "--enzyme")
]

GenomeOption = Annotated[
    Path | None,
    option(
        "Genome: FASTA (plain or gzipped) or 2bit, or a folder of these; or a graph "
        "(GFA), to search all its paths.",
        "--genome",
    ),
]

ReferenceOption = Annotated[
    str | None,
    option(
        "For a graph: the reference sample or path.",
        show_default="GRCh38 or CHM13 where there is one",
    ),
]

GenesOption = Annotated[
    Path | None,
    option(
        "Annotations (GFF, GTF or BED), to add the gene and exon of each site to tables.", "--genes"
    ),
]

EveryPlaceOption = Annotated[
    bool,
    option("For a graph: one table row per position of a site on each path.", "--every-place"),
]

MismatchesOption = Annotated[
    int | None,
    option(
        "Maximum number of mismatches outside the PAM.",
        "-m",
        "--mismatches",
        within=(0, MAX_SIZE),
        show_default="4",
    ),
]

DnaBulgeOption = Annotated[
    int, option("Maximum DNA bulge, in nt.", "--dna-bulge", within=(0, MAX_SIZE))
]

RnaBulgeOption = Annotated[
    int, option("Maximum RNA bulge, in nt.", "--rna-bulge", within=(0, MAX_SIZE))
]

PlacementsOption = Annotated[
    PlacementName | None,
    option(
        "Report the best, or all, alignments with the same guide, strand and PAM.",
        "--placements",
        show_default="all of INPUT, else best",
    ),
]

StrandOption = Annotated[StrandName, option("Strands to search.", "--strand")]

FormatOption = Annotated[
    FormatName | None,
    option(
        "v2: cas-offinder rows; bulge: cas-offinder-bulge rows; v3; bed; csv; tsv; parquet.",
        "--format",
        show_default="by -o, else v2, or bulge where bulges are allowed",
    ),
]

ScoresOption = Annotated[
    bool,
    option(
        "Add CFD, MIT and CCTop scores, and specificities of the guides; BED scores are CFD.",
        "--scores",
    ),
]

ClosestOption = Annotated[
    int | None,
    option(
        "Keep this number of sites per guide, those with the fewest mismatches; without bulges.",
        "--closest",
        within=(1, MAX_COUNT),
        show_default="all",
    ),
]

CountOnlyOption = Annotated[
    bool, option("Write only the number of hits by guide and mismatches.", "--count-only")
]
OutputOption = Annotated[
    Path | None, option("File to write.", "-o", "--output", show_default="standard output")
]
CacheOption = Annotated[
    bool, option("Cache the genome, so that it opens faster next time.", "--cache/--no-cache")
]
BackendOption = Annotated[
    BackendName | None,
    option("Where to compute.", "--backend", show_default="by DEVICE, else auto"),
]


@with_examples(
    "genoviz offtarget input.txt C -",
    "genoviz offtarget input.txt G0,1 hits.txt",
    "genoviz offtarget --guide GGCCGACCTGTCGCTGACGC --pam NGG --genome hg38.2bit -o hits.csv",
    "genoviz offtarget --guides guides.csv --enzyme Cas12a --genome genome/ -m 3",
    "genoviz offtarget --guides guides.fa --genome graph.gfa.gz --scores --genes genes.gff3 "
    "-o sites.tsv",
    "genoviz offtarget --guides guides.fa --genome hg38.fa --dna-bulge 1 --rna-bulge 1 -o hits.bed",
)
def offtarget(
    input_file: InputArgument = None,
    device: DeviceArgument = None,
    output_file: OutputArgument = None,
    guide: GuideOption = None,
    guides: GuidesOption = None,
    pam: PamOption = None,
    pam_first: PamFirstOption = False,
    enzyme: EnzymeOption = None,
    genome: GenomeOption = None,
    vcf: VcfOption = None,
    samples: SamplesOption = None,
    populations: PopulationsOption = None,
    mismatches: MismatchesOption = None,
    dna_bulge: DnaBulgeOption = 0,
    rna_bulge: RnaBulgeOption = 0,
    placements: PlacementsOption = None,
    strand: StrandOption = StrandName.both,
    as_format: FormatOption = None,
    scores: ScoresOption = False,
    genes: GenesOption = None,
    reference: ReferenceOption = None,
    every_place: EveryPlaceOption = False,
    closest: ClosestOption = None,
    count_only: CountOnlyOption = False,
    output: OutputOption = None,
    cache: CacheOption = True,
    scheduler: SchedulerOption = None,
    backend: BackendOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find sites in a genome that match guides with few mismatches and bulges.

    INPUT DEVICE OUTPUT are the arguments of cas-offinder, and the output has its rows. If the
    second line of INPUT has bulge sizes, the output has the rows of cas-offinder-bulge.
    Alternatively, use options. Positions are 0-based, of the leftmost base of a site with its PAM.
    A summary by guide is printed to standard error.

    For a graph, or with --vcf, cas-offinder rows and BED list positions on paths, as if each path
    were searched separately. csv, tsv and parquet list each site once, with its haplotypes, their
    frequency, and the sequence of the reference.
    """
    if enzyme is not None:
        if pam is not None or pam_first:
            raise typer.BadParameter("--enzyme has its PAM: leave out --pam and --pam-first")
        pam, pam_first = ENZYMES[enzyme.value].pam, ENZYMES[enzyme.value].is_pam_first
    if input_file is None:
        sizes = {"dna_bulge": dna_bulge, "rna_bulge": rna_bulge}
        limit = 4 if mismatches is None else mismatches
        options = {"pam_first": pam_first, "mismatches": limit, **sizes}
        query = make_query(genome, guide or (), guides, "NGG" if pam is None else pam, **options)
    else:
        given = guide or guides or genome or pam_first or dna_bulge or rna_bulge
        if given or pam is not None or mismatches is not None:
            raise typer.BadParameter(
                "INPUT says what is searched: leave out --guide, --guides, --pam, --pam-first, "
                "--enzyme, --genome, --mismatches, --dna-bulge and --rna-bulge"
            )
        query = read_query(input_file)
    where = parse_device(device) if device else Device("auto")
    if backend is not None:
        where = Device(backend.value)
    if closest is not None and (count_only or query.dna_bulge or query.rna_bulge):
        raise typer.BadParameter("--closest goes neither with --count-only nor with bulges")
    if output_file is not None and output is not None:
        raise typer.BadParameter("give OUTPUT or -o, not both")
    output = None if str(output_file or output) == "-" else output_file or output
    form = results.find_format(as_format and as_format.value, output, query, count_only)
    results.check_output(output, form)
    protect_genome(query.genome, output)
    if placements is None:
        placements = PlacementName.all if query.is_input_file else PlacementName.best
    from genoviz.analyses.offtargets.request import SearchOptions

    options = SearchOptions(
        dna_bulge=query.dna_bulge,
        rna_bulge=query.rna_bulge,
        strands=strand.value,
        placements=placements.value,
        devices=where.devices,
        scheduler=scheduler,
        backend=where.backend,
    )
    check_vcf(query.genome, vcf, samples)
    graph = vcf is not None or is_graph(query.genome)
    if scheduler is not None and where.devices:
        raise typer.BadParameter("--scheduler goes with --backend, and with C alone as DEVICE")
    if graph and (closest is not None or strand is not StrandName.both or where.devices):
        raise typer.BadParameter("--closest, --strand and lists of devices are not for graphs")
    if graph and scheduler is not None:
        raise typer.BadParameter("--scheduler is not for graphs")
    if not graph and (reference is not None or every_place or populations is not None):
        raise typer.BadParameter(
            "--reference, --every-place and --populations are for graphs (GFA) and --vcf"
        )
    groups = None if populations is None else read_populations(populations)
    of_people = vcf is not None
    extras = results.Extras(scores, genes and as_file(genes), every_place, groups, of_people)
    results.check_extras(extras, form, count_only=count_only)
    seconds, possible = {}, None
    with show_progress() as bar:
        began = time.perf_counter()
        if vcf is not None:
            planes, possible, reference = open_haplotypes(query, vcf, bar, samples, reference)
        else:
            planes = (open_paths if graph else open_genome)(query.genome, bar, cache=cache)
        seconds["genome"] = time.perf_counter() - began
        began = time.perf_counter()
        if graph:
            answers = search_paths(query, planes, bar, options, reference, possible)
        else:
            wanted = {"count_only": count_only, "closest": closest}
            answers = run_searches(query, planes, bar, options, scores=scores, **wanted)
        seconds["search"] = time.perf_counter() - began
        began = time.perf_counter()
        if output is not None or not as_json:
            bar.update("Writing", 0, None, "")
            if count_only:
                write_output(results.count_lines(answers), output)
            else:
                results.write_hits(answers, form, output, extras, bar)
        else:
            results.sum_up(answers, scores=scores)
        seconds["writing"] = time.perf_counter() - began
    summary = results.summary(answers, planes, seconds, scores=scores and not count_only)
    if as_json:
        print_results(summary | {"files": [str(output)] if output else []}, [], as_json=True)
    else:
        results.print_summary(summary)
