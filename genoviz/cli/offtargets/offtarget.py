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
from genoviz.cli.sequences.kmer_index import is_graph
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
    typer.Argument(
        metavar="INPUT",
        help="Input file of Cas-OFFinder (genome, pattern, guides); - is standard input.",
    ),
]

DeviceArgument = Annotated[
    str | None,
    typer.Argument(metavar="DEVICE", help="As of cas-offinder: C, G or A, or such as G0,2."),
]

OutputArgument = Annotated[
    Path | None, typer.Argument(metavar="OUTPUT", help="Rows to write; - is standard output.")
]

GuideOption = Annotated[
    list[str] | None,
    option("Guide, with its PAM or without (repeat).", "-g", "--guide", metavar="LETTERS"),
]
GuidesOption = Annotated[
    Path | None,
    option(
        "Guides: FASTA, CSV or TSV, or one a line, with names and mismatches or without; "
        "- is standard input.",
        "--guides",
    ),
]

PamOption = Annotated[str, option("PAM, in letters of IUPAC; '' for none.", "--pam")]

PamFirstOption = Annotated[bool, option("The PAM is at the 5' end, as of Cas12a.", "--pam-first")]

EnzymeOption = Annotated[
    EnzymeName | None, option("The nuclease, instead of --pam and --pam-first.", "--enzyme")
]

GenomeOption = Annotated[
    Path | None,
    option(
        "FASTA (plain or gzipped) or 2bit, or a folder of these; or a graph (GFA), all paths "
        "of which are searched at once.",
        "--genome",
    ),
]

ReferenceOption = Annotated[
    str | None,
    option(
        "Of a graph: the sample or path that the others are compared with.",
        show_default="GRCh38 or CHM13 where there is one",
    ),
]

GenesOption = Annotated[
    Path | None, option("GFF, GTF or BED: tables get the gene and exon of each site.", "--genes")
]

EveryPlaceOption = Annotated[
    bool,
    option("Of a graph, in tables: a row for each place of a site on each path.", "--every-place"),
]

MismatchesOption = Annotated[
    int | None,
    option(
        "Maximum of mismatches, beside the PAM.",
        "-m",
        "--mismatches",
        within=(0, MAX_SIZE),
        show_default="4",
    ),
]

DnaBulgeOption = Annotated[
    int, option("Largest DNA bulge, nt.", "--dna-bulge", within=(0, MAX_SIZE))
]

RnaBulgeOption = Annotated[
    int, option("Largest RNA bulge, nt.", "--rna-bulge", within=(0, MAX_SIZE))
]

PlacementsOption = Annotated[
    PlacementName | None,
    option(
        "Of the alignments that share guide, strand and PAM, the best or all.",
        "--placements",
        show_default="all of INPUT, else best",
    ),
]

StrandOption = Annotated[StrandName, option("Strands to search.", "--strand")]

FormatOption = Annotated[
    FormatName | None,
    option(
        "v2: rows of cas-offinder; bulge: of cas-offinder-bulge; v3; bed; csv; tsv; parquet.",
        "--format",
        show_default="by -o, else v2, or bulge where bulges are allowed",
    ),
]

ScoresOption = Annotated[
    bool,
    option(
        "Columns of CFD, MIT and CCTop scores, and specificities of the guides; BED shows CFD.",
        "--scores",
    ),
]

ClosestOption = Annotated[
    int | None,
    option(
        "Keep so many sites of each guide, those with the fewest mismatches; without bulges.",
        "--closest",
        within=(1, MAX_COUNT),
        show_default="all",
    ),
]

CountOnlyOption = Annotated[
    bool, option("Write hits of each guide by mismatches alone.", "--count-only")
]
OutputOption = Annotated[
    Path | None, option("File to write.", "-o", "--output", show_default="standard output")
]
CacheOption = Annotated[
    bool, option("Keep the genome, so that it opens at once later.", "--cache/--no-cache")
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
    """Find the sites at which guides fit a genome with few mismatches and bulges.

    INPUT DEVICE OUTPUT are those of cas-offinder, and so are the rows; where the second line of
    INPUT has sizes of bulges, the rows are those of cas-offinder-bulge. Instead, options say what
    to search. Positions are 0-based, the leftmost base of a site with its PAM. A summary by guide
    goes to standard error.

    Of a graph, or with --vcf, rows of cas-offinder and BED are places on paths, as of searching
    each path alone; csv, tsv and parquet have each site once, with its haplotypes, their share, and
    what the reference has there.
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
