"""``genoviz position``, ``stats`` and ``sites``: what there is to know of a graph."""

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
    option,
    with_examples,
)
from genoviz.cli.graph.reading import find_indexed_regions, is_large_base, read_graph
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import (
    ProgressBar,
    name_of_output,
    print_notes,
    print_results,
    show_progress,
)
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.graph.sites.results import VariationSites
    from genoviz.model import PangenomeGraph
import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.position_lift import PositionRow
    from genoviz.model import PangenomeGraph
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.statistics_results import GraphStatistics

_N_LIFT_COLUMNS = 5
FORMS = {"tsv": (".tsv",), "bed": (".bed",)}


@with_examples(
    "genoviz stats graph.gfa.gz",
    "genoviz stats graph.gfa --layout graph.lay --json",
    "genoviz stats graph.gfa --tsv > graph.stats.tsv",
)
def stats(
    graph: GraphArgument,
    layout: Annotated[
        Path | None, option("Layout of the graph, for statistics of distances.", "--layout")
    ] = None,
    as_tsv: Annotated[
        bool, option("Print tab-separated names and plain numbers.", "--tsv")
    ] = False,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Print graph statistics: sizes, components, loops, bases, depth, samples.

    Prints the numbers of odgi stats -S -W -L -N -b -a -l -s, and with --layout those of -c.
    """
    from genoviz.analyses.graph.query.statistics import iter_graph_statistics
    from genoviz.io.graph.layout_files import read_layout

    if as_tsv and as_json:
        raise typer.BadParameter("give --tsv or --json, not both")
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache, sequences=True)
        placed = None if layout is None else read_layout(layout, pangenome)
        for progress in iter_graph_statistics(pangenome, placed):
            bar.update("Counting", progress.n_done, progress.n_total, "")
    if placed is not None:
        print_notes(placed.note)
    found = progress.statistics
    lines = _tsv_lines(found) if as_tsv else _lines(found)
    print_results(dataclasses.asdict(found), lines, as_json=as_json)


def _lines(statistics: GraphStatistics) -> Iterator[str]:
    """Yield the statistics for people, in columns below the name of each group."""
    from genoviz.analyses.graph.query.statistics_rows import statistics_rows

    rows = statistics_rows(statistics)
    width = max(len(row.name) for row in rows)
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            yield group
        yield f"  {row.name:{width}}  {row.value}"


def _tsv_lines(statistics: GraphStatistics) -> Iterator[str]:
    """Yield the name and the number of each statistic, those within others as ``outer.inner``."""
    for name, value in _flat("", dataclasses.asdict(statistics)):
        yield f"{name}\t{value}"


def _flat(prefix: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        elif isinstance(value, tuple):
            yield f"{prefix}{key}", ",".join(map(str, value))
        elif value is not None:
            yield f"{prefix}{key}", value


@with_examples(
    "genoviz position graph.gfa.gz --path 'GRCh38#0#chr6:31982057'",
    "genoviz position graph.gfa.gz --path 'GRCh38#0#chr6:31,982,057' --to CHM13#0#chr6",
    "genoviz position graph.gfa.gz --node 1234 --node 1250:7-",
    "genoviz position graph.gfa.gz --file positions.txt --json",
)
def position(
    graph: GraphArgument,
    path: Annotated[
        list[str] | None,
        option("Position on a path (repeatable).", "--path", metavar="PATH:POSITION"),
    ] = None,
    node: Annotated[
        list[str] | None,
        option(
            "Base of a node; the first one without OFFSET.", "--node", metavar="NODE[:OFFSET][+-]"
        ),
    ] = None,
    file: Annotated[
        Path | None,
        option("File of positions, one per line: PATH:POSITION, or PATH, tab, POSITION.", "--file"),
    ] = None,
    to: Annotated[
        str | None, option("Also print the position on this path.", "--to", metavar="PATH")
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Convert between path positions and nodes, or between positions on two paths.

    All positions are 0-based. If PATH is the name of a path of the graph, positions count from its
    first base. Otherwise PATH is a contig (GRCh38#0#chr6 or, if unambiguous, chr6), and positions
    are those of the contig, on any of its sub-paths. An OFFSET counts on the strand given after it.
    In the table, offset always counts on the node's forward strand, and strand is - if the path
    visits the node in reverse (odgi position then counts from the other end).

    With --to, the command searches the path in both directions for the nearest base on a node of
    the other path; distance is the number of bases to it. to_strand is - if the other path runs in
    the opposite direction.
    """
    if not (path or node or file):
        raise typer.BadParameter("give --path, --node or --file")
    with show_progress() as bar:
        if is_large_base(graph) and not (node or file or to):
            bar.update("Looking up", 0, None, "")
            rows = _find_base_rows(graph, path or [])
        else:
            pangenome = read_graph(graph, bar, cache=cache)
            bar.update("Looking up", 0, None, "")
            rows = _find_rows(pangenome, path or [], node or [], file, to)
    columns = [field.name for field in dataclasses.fields(_row_type())]
    if to is None:
        columns = columns[:-_N_LIFT_COLUMNS]
    results = {"positions": [{name: getattr(row, name) for name in columns} for row in rows]}
    lines = ["#" + "\t".join(columns)]
    lines += ["\t".join(_cell(getattr(row, name)) for name in columns) for row in rows]
    print_results(results, lines, as_json=as_json)


def _row_type() -> type[PositionRow]:
    from genoviz.analyses.graph.query.position_lift import PositionRow

    return PositionRow


def _find_rows(
    graph: PangenomeGraph, paths: list[str], nodes: list[str], file: Path | None, to: str | None
) -> list[PositionRow]:
    from genoviz.analyses.graph.query import position_lift

    rows = position_lift.locate_path_positions(graph, paths)
    if file is not None:
        rows += _find_rows_of_file(graph, file)
    found = position_lift.locate_node_positions(graph, nodes)
    for query in set(nodes) - {row.query for row in found}:
        print_notes(f"no path visits node {query}")
    rows += found
    return rows if to is None else position_lift.add_lifted(graph, rows, to)


def _find_base_rows(path: Path, queries: list[str]) -> list[PositionRow]:
    """Return the nodes at positions of indexed paths of a large database."""
    from genoviz.analyses.graph.query.position_lift import locate_path_positions
    from genoviz.io.graph.gbz_base import GbzBase
    from genoviz.io.graph.gbz_base_part import PartReader

    rows = []
    with GbzBase(path) as base:
        reader = PartReader(base)
        for query in queries:
            for region in find_indexed_regions(reader.indexed, [query]):
                (number,) = reader.indexed.path_directory.exact(region.path)
                there = locate_path_positions(reader.place(number, region.start), [query])
                rows += [row for row in there if row.path == region.path]
    return rows


def _find_rows_of_file(graph: PangenomeGraph, file: Path) -> list[PositionRow]:
    from genoviz.analyses.graph.query.position_lift import locate_path_positions
    from genoviz.errors import FileFormatError, ParameterError
    from genoviz.io.text.encoding import read_utf8

    rows = []
    text = read_utf8(file)
    for number, line in enumerate(text.splitlines(), start=1):
        query = ":".join(line.strip().split("\t")[:2])
        if not query or query.startswith("#"):
            continue
        try:
            rows += locate_path_positions(graph, [query])
        except ParameterError as error:
            raise FileFormatError(file, str(error), line=number) from error
    return rows


def _cell(value: object) -> str:
    return "." if value is None else str(value)


@with_examples(
    "genoviz sites graph.gfa.gz --reference 'GRCh38#0#chr6' -o sites.tsv",
    "genoviz sites graph.gfa --reference chm13 --min-size 50 -o large.bed",
    "genoviz sites graph.gfa --gaps tangles.bed --json",
)
def sites(
    graph: GraphArgument,
    reference: Annotated[
        str | None,
        option(
            "Path that defines the coordinates; its range may be omitted.",
            "--reference",
            metavar="PATH",
            show_default="the first path",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("Output table: .tsv or .bed, optionally with .gz.", "-o", "--output")
    ] = None,
    min_size: Annotated[
        int,
        option(
            "Exclude sites whose longest allele is shorter than this, in bp.",
            within=(0, MAX_LENGTH),
        ),
    ] = 0,
    gaps: Annotated[
        Path | None,
        option("Also write variable regions without a site: .bed or .bed.gz.", "--gaps"),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Find the variation sites along a path, and count the alleles of all paths there.

    Sites are superbubbles between two nodes of the path, including nested ones. Start and end are
    contig coordinates: the offset in the path's name is added. Walks with the same bases are one
    allele, and the table has the number of walks of each allele. Without sequences, each walk is an
    allele.
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
        f"{n_words(results['n_sites'], 'site')} along {results['reference']}"
        f" ({results['n_top_level']:,} not within another), "
        f"{n_words(results['n_alleles'], 'allele')}",
        kinds,
        f"{n_words(results['n_gaps'], 'stretch has', 'stretches have')} variation "
        f"({results['gap_length']:,} bp), but no site: cycles, inversions, tips",
        f"{results['seconds']:.2f} s",
    ]
    sentences += [f"wrote {name_of_output(path)}" for path in results["files"]]
    return [sentence for sentence in sentences if sentence]
