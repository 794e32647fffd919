"""``genoviz sites``: the variation sites along a path."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import (
    MAX_LENGTH,
    CacheOption,
    GraphArgument,
    JsonOption,
    examples,
    help_of,
)
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.output_kinds import check_output
from genoviz.cli.progress import ProgressBar, show_progress
from genoviz.cli.results import print_notes, print_results
from genoviz.cli.streams import name_of_output

if TYPE_CHECKING:
    from genoviz.analyses.graph.sites.results import VariationSites
    from genoviz.model import PangenomeGraph

EXAMPLES = examples(
    "genoviz sites graph.gfa.gz --reference 'GRCh38#0#chr6' -o sites.tsv",
    "genoviz sites graph.gfa --reference chm13 --min-size 50 -o large.bed",
    "genoviz sites graph.gfa --gaps tangles.bed --json",
)
FORMS = {"tsv": (".tsv",), "bed": (".bed",)}


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("sites", help=help_of(sites), epilog=EXAMPLES, no_args_is_help=True)(sites)


def sites(
    graph: GraphArgument,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="PATH",
            help="Path that gives the coordinates; its range may be left out.",
            show_default="the first path",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Table to write: .tsv or .bed, or these and .gz."),
    ] = None,
    min_size: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_LENGTH, help="Leave out sites whose longest allele is shorter, bp."
        ),
    ] = 0,
    gaps: Annotated[
        Path | None,
        typer.Option("--gaps", help="Stretches with variation but no site, to write: .bed(.gz)."),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Find the variation sites along a path, and count the alleles of all paths there.

    Sites are superbubbles between two nodes of the path, nested ones too. Start and end are
    those of the contig: the range in the path's name is added. Walks that read the same bases are
    one allele; the table has how many walks each allele has. Without sequences, each walk is one.
    """
    from genoviz.analyses.graph.sites.table import iter_gap_lines, iter_site_lines

    form = check_output(output, FORMS)
    check_output(gaps, {"bed": FORMS["bed"]}, option="--gaps")
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache, sequences=True)
        began = time.perf_counter()
        found = _find(pangenome, 0 if reference is None else reference, bar)
        seconds = time.perf_counter() - began
        chosen = (found.max_lengths >= min_size).nonzero()[0]
        bar.update("Writing", 0, None, "")
        if output is not None:
            _write(output, iter_site_lines(pangenome, found, form=form, chosen=chosen))
        if gaps is not None:
            _write(gaps, iter_gap_lines(pangenome, found))
    print_notes(*found.notes)
    results = {
        "reference": pangenome.path_names[found.reference],
        "n_sites": len(chosen),
        "n_top_level": int((found.levels[chosen] == 0).sum()),
        "kinds": found.count_kinds(chosen),
        "n_alleles": int(found.n_alleles[chosen].sum()),
        "n_gaps": len(found.gap_starts),
        "gap_length": int((found.gap_ends - found.gap_starts).sum()),
        "files": [str(path) for path in (output, gaps) if path is not None],
        "seconds": seconds,
    }
    print_results(results, _sentences(results), as_json=as_json)


def _find(graph: PangenomeGraph, reference: str | int, bar: ProgressBar) -> VariationSites:
    from genoviz.analyses.graph.sites.search import iter_find_sites
    from genoviz.errors import ParameterError

    if graph.n_paths == 0:
        raise ParameterError("the graph has no paths; sites need one that gives the coordinates")
    for progress in iter_find_sites(graph, reference):
        bar.update(progress.stage, progress.n_done, progress.n_total, "")
    return progress.sites


def _write(path: Path, blocks: Iterable[str]) -> None:
    import gzip

    from genoviz.io.files.replace_file import replace_file

    with replace_file(path) as file:
        is_zipped = path.name.lower().endswith(".gz")
        sink = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if is_zipped else file
        for block in blocks:
            sink.write(block.encode())
        if is_zipped:
            sink.close()


def _sentences(results: dict) -> list[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in results["kinds"].items())
    sentences = [
        f"{results['n_sites']:,} sites along {results['reference']}"
        f" ({results['n_top_level']:,} not within another), {results['n_alleles']:,} alleles",
        kinds,
        f"{results['n_gaps']:,} stretches ({results['gap_length']:,} bp) have variation,"
        " but no site: cycles, inversions, tips",
        f"{results['seconds']:.2f} s",
    ]
    sentences += [f"wrote {name_of_output(path)}" for path in results["files"]]
    return [sentence for sentence in sentences if sentence]
