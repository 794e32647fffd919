"""``genoviz position``: from positions on paths to nodes, to other paths, and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import CacheOption, GraphArgument, JsonOption, examples, help_of
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes, print_results

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.position_lift import PositionRow
    from genoviz.model import PangenomeGraph

EXAMPLES = examples(
    "genoviz position graph.gfa.gz --path 'GRCh38#0#chr6:31982057'",
    "genoviz position graph.gfa.gz --path 'GRCh38#0#chr6:31,982,057' --to CHM13#0#chr6",
    "genoviz position graph.gfa.gz --node 1234 --node 1250:7-",
    "genoviz position graph.gfa.gz --file positions.txt --json",
)
_N_LIFT_COLUMNS = 5


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("position", help=help_of(position), epilog=EXAMPLES, no_args_is_help=True)(position)


def position(
    graph: GraphArgument,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="PATH:POSITION", help="Position of a path (repeat)."),
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            "--node", metavar="NODE[:OFFSET][+-]", help="Base of a node, its first if no OFFSET."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="Positions as PATH:POSITION or PATH, tab, POSITION; one a line."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="PATH", help="Also give the position on this path."),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Find the node at a path's position, the positions of a node, or a position on another path.

    All positions are 0-based. Those of PATH count from its first base where PATH is the name of a
    path of the graph; otherwise PATH is a contig (GRCh38#0#chr6 or, if one is meant, chr6) and
    positions are those of the contig, whatever sub-path has them. An OFFSET counts on the strand
    of the node that is given after it.

    With --to, the path is walked in both directions to the nearest base on a node that the other
    path visits; distance says how far that was, to_strand is - where the other path runs the
    opposite way.
    """
    if not (path or node or file):
        raise typer.BadParameter("give --path, --node or --file")
    with show_progress() as bar:
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


def _find_rows_of_file(graph: PangenomeGraph, file: Path) -> list[PositionRow]:
    from genoviz.analyses.graph.query.position_lift import locate_path_positions
    from genoviz.errors import FileFormatError, ParameterError
    from genoviz.io.files.file_bytes import read_bytes

    rows = []
    text = read_bytes(file).tobytes().decode("utf-8", "replace")
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
