"""``genoviz stress``: how well a layout keeps the distances along the paths."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.graph_file import read_graph
from genoviz.cli.options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    CacheOption,
    GraphArgument,
    JsonOption,
    SeedOption,
    examples,
    help_of,
)
from genoviz.cli.progress import show_progress
from genoviz.cli.results import describe_graph, describe_stress, print_notes, print_results

EXAMPLES = examples(
    "genoviz stress graph.gfa graph.lay",
    "genoviz stress graph.gfa graph.tsv.gz --exact --json",
)


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("stress", help=help_of(stress), epilog=EXAMPLES, no_args_is_help=True)(stress)


def stress(
    graph: GraphArgument,
    layout: Annotated[
        Path,
        typer.Argument(metavar="LAYOUT", help="Its layout: odgi's .lay or TSV, or Bandage's."),
    ],
    exact: Annotated[
        bool, typer.Option("--exact", help="Take all pairs of steps; slow for long paths.")
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_COUNT, help="Pairs to sample.", show_default="100 for each step"
        ),
    ] = None,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure the path stress of a layout, by samples or exactly.

    It is the mean of ((D - d) / d)^2 over pairs of node ends, with D their distance in the layout
    and d along a path. Compare layouts of one graph: lower is better.
    """
    from genoviz.io.layout_files import read_layout

    if exact and samples is not None:
        raise typer.BadParameter("--exact takes all pairs; give it or --samples, not both")
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache)
        bar.update("Reading the layout", 0, None, "")
        placed = read_layout(layout, pangenome)
        from genoviz.analyses.stress import iter_path_stress, iter_sampled_path_stress

        began = time.perf_counter()
        steps = (
            iter_path_stress(pangenome, placed, backend=backend.value)
            if exact
            else iter_sampled_path_stress(
                pangenome, placed, n_samples=samples, seed=seed, backend=backend.value
            )
        )
        for progress in steps:
            bar.update("Path stress", progress.n_done, progress.n_total, "pairs")
        found = progress.stress
        seconds = time.perf_counter() - began
    print_notes(placed.note)
    results = {"graph": describe_graph(pangenome)[0], "stress": found, "seconds": seconds}
    print_results(results, [describe_stress(found)], as_json=as_json)
