"""``genoviz stats``: a graph in numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import CacheOption, GraphArgument, JsonOption, examples, help_of
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes, print_results

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.statistics_results import GraphStatistics

EXAMPLES = examples(
    "genoviz stats graph.gfa.gz",
    "genoviz stats graph.gfa --layout graph.lay --json",
    "genoviz stats graph.gfa --tsv > graph.stats.tsv",
)


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("stats", help=help_of(stats), epilog=EXAMPLES, no_args_is_help=True)(stats)


def stats(
    graph: GraphArgument,
    layout: Annotated[
        Path | None,
        typer.Option("--layout", help="Layout of the graph, for the distances in it."),
    ] = None,
    as_tsv: Annotated[
        bool, typer.Option("--tsv", help="Print names and plain numbers, separated by tabs.")
    ] = False,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Count what a graph has: sizes, components, loops, bases, depth, samples.

    These are the figures of odgi stats -S -W -L -N -b -a -l -s, and with --layout those of -c.
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
