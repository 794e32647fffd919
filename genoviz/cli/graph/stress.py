"""``genoviz stress``: how well a layout keeps the distances along the paths."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    CacheOption,
    GraphArgument,
    JsonOption,
    SeedOption,
    with_examples,
)
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.results import (
    describe_graph,
    describe_stress,
    print_notes,
    print_results,
    show_progress,
)


class WeightingName(StrEnum):
    """What a path counts by."""

    pairs = "pairs"
    steps = "steps"


@with_examples(
    "genoviz stress graph.gfa graph.lay",
    "genoviz stress graph.gfa graph.tsv.gz --exact --json",
    "genoviz stress graph.gfa graph.lay --samples-per-step 100 --weighting pairs",
)
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
            min=1,
            max=MAX_COUNT,
            help="Terms to sample.",
            show_default="100 for each step, at most 10^8",
        ),
    ] = None,
    samples_per_step: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1e9,
            help="Terms to sample for each step, however many these are; the paper has 100.",
        ),
    ] = None,
    weighting: Annotated[
        WeightingName | None,
        typer.Option(
            help="A path counts by its pairs of steps, or by its steps.",
            show_default="pairs with --exact, else steps, as in the paper",
        ),
    ] = None,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure the path stress of a layout, by samples or exactly.

    It is the mean of ((D - d) / d)^2 over pairs of node ends, with D their distance in the layout
    and d along a path. Compare layouts of one graph, by one weighting: lower is better.

    Li et al. (2024) let a path count by its pairs of steps in the exact stress, and by its steps in
    the sampled one; --weighting gives either form of both. A graph without paths is measured along
    the guides of its layout and along its links, each as a path of two steps.
    """
    from genoviz.io.graph.layout_files import read_layout

    if exact and not (samples is None and samples_per_step is None):
        raise typer.BadParameter("--exact takes all pairs; give it or --samples, not both")
    if samples is not None and samples_per_step is not None:
        raise typer.BadParameter("give --samples or --samples-per-step, not both")
    weighting = weighting or (WeightingName.pairs if exact else WeightingName.steps)
    options = {"weighting": weighting.value, "backend": backend.value}
    if not exact:
        options |= {"n_samples": samples, "samples_per_step": samples_per_step, "seed": seed}
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache)
        bar.update("Reading the layout", 0, None, "")
        placed = read_layout(layout, pangenome)
        from genoviz.analyses.graph.layout.guides import graph_to_measure, link_stress
        from genoviz.analyses.graph.layout.stress import iter_path_stress, iter_sampled_path_stress

        began = time.perf_counter()
        iter_stress = iter_path_stress if exact else iter_sampled_path_stress
        measured = graph_to_measure(pangenome)
        steps = iter_stress(measured, placed, **options)
        for progress in steps:
            bar.update("Path stress", progress.n_done, progress.n_total, "pairs")
        found = progress.stress
        links = None
        if measured is not pangenome:
            links = link_stress(pangenome, placed, backend=backend.value)
        seconds = time.perf_counter() - began
    print_notes(placed.note)
    results = {"graph": describe_graph(pangenome)[0], "stress": found, "seconds": seconds}
    sentences = [describe_stress(found)]
    if links is not None:
        results["link_stress"] = links
        sentences.append(f"no paths: measured along {measured.n_paths:,} guides")
        sentences.append(f"link stress {links.mean:.6g} (exact, {links.n_terms:,} terms)")
    print_results(results, sentences, as_json=as_json)
