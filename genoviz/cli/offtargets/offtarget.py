"""``genoviz offtarget``: off-target sites of guides, as cas-offinder is called or by options."""

from __future__ import annotations

import time

import typer

from genoviz.cli.common_options import JsonOption, examples, help_of
from genoviz.cli.intervals.options import write_output
from genoviz.cli.offtargets import options as io
from genoviz.cli.offtargets import results
from genoviz.cli.offtargets.device import Device, parse_device
from genoviz.cli.offtargets.query import make_query, read_query
from genoviz.cli.offtargets.search import open_genome, run_searches
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_results

EXAMPLES = examples(
    "genoviz offtarget input.txt C -",
    "genoviz offtarget input.txt G0,1 hits.txt",
    "genoviz offtarget --guide GGCCGACCTGTCGCTGACGC --pam NGG --genome hg38.2bit -o hits.csv",
    "genoviz offtarget --guides guides.csv --pam TTTV --pam-first --genome genome/ -m 3",
    "genoviz offtarget --guides guides.fa --genome hg38.fa --dna-bulge 1 --rna-bulge 1 -o hits.bed",
)


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("offtarget", help=help_of(offtarget), epilog=EXAMPLES, no_args_is_help=True)(
        offtarget
    )


def offtarget(
    input_file: io.InputArgument = None,
    device: io.DeviceArgument = None,
    output_file: io.OutputArgument = None,
    guide: io.GuideOption = None,
    guides: io.GuidesOption = None,
    pam: io.PamOption = None,
    pam_first: io.PamFirstOption = False,
    genome: io.GenomeOption = None,
    mismatches: io.MismatchesOption = None,
    dna_bulge: io.DnaBulgeOption = 0,
    rna_bulge: io.RnaBulgeOption = 0,
    placements: io.PlacementsOption = None,
    strand: io.StrandOption = io.StrandName.both,
    as_format: io.FormatOption = None,
    scores: io.ScoresOption = False,
    closest: io.ClosestOption = None,
    count_only: io.CountOnlyOption = False,
    output: io.OutputOption = None,
    cache: io.CacheOption = True,
    backend: io.BackendOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the sites at which guides fit a genome with few mismatches and bulges.

    INPUT DEVICE OUTPUT are those of cas-offinder, and so are the rows; where the second line of
    INPUT has sizes of bulges, the rows are those of cas-offinder-bulge. Instead, options say what
    to search. Positions are 0-based, the leftmost base of a site with its PAM. A summary by guide
    goes to standard error.
    """
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
                "--genome, --mismatches, --dna-bulge and --rna-bulge"
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
    if placements is None:
        placements = io.PlacementName.all if query.is_input_file else io.PlacementName.best
    seconds = {}
    with show_progress() as bar:
        began = time.perf_counter()
        planes = open_genome(query.genome, bar, cache=cache)
        seconds["genome"] = time.perf_counter() - began
        began = time.perf_counter()
        answers = run_searches(
            query,
            planes,
            bar,
            count_only=count_only,
            closest=closest,
            placements=placements.value,
            strands=strand.value,
            devices=where.devices,
            backend=where.backend,
        )
        seconds["search"] = time.perf_counter() - began
        began = time.perf_counter()
        if output is not None or not as_json:
            bar.update("Writing", 0, None, "")
            if count_only:
                write_output(results.count_lines(answers), output)
            else:
                results.write_hits(answers, form, output, scores=scores)
        seconds["writing"] = time.perf_counter() - began
    summary = results.summary(answers, planes, seconds)
    if as_json:
        print_results(summary | {"files": [str(output)] if output else []}, [], as_json=True)
    else:
        results.print_summary(summary)
