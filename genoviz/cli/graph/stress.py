"""``genoviz stress``: how well a layout keeps the distances along the paths."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    CacheOption,
    GraphArgument,
    JsonOption,
    SeedOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.results import (
    describe_defects,
    describe_graph,
    describe_stress,
    print_notes,
    print_results,
    show_progress,
)
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.graph.layout.near_stress import NearStress
    from genoviz.model import PangenomeGraph


class WeightingName(StrEnum):
    """What a path counts by."""

    pairs = "pairs"
    steps = "steps"


@ignores(
    "in the tables of --worst and --by-path",
    lambda given: given["worst"] or given["by_path"],
    *("exact", "samples", "samples_per_step", "weighting", "seed"),
)
@with_examples(
    "genoviz stress graph.gfa graph.lay",
    "genoviz stress graph.gfa graph.tsv.gz --exact --json",
    "genoviz stress graph.gfa graph.lay --samples-per-step 100 --weighting pairs",
    "genoviz stress graph.gfa graph.lay --worst 20 > worst.tsv",
    "genoviz stress graph.gfa graph.lay --by-path > paths.tsv",
)
def stress(
    graph: GraphArgument,
    layout: Annotated[
        Path,
        typer.Argument(
            metavar="LAYOUT", help="Layout of the graph: odgi's .lay or TSV, or Bandage's."
        ),
    ],
    exact: Annotated[
        bool, option("Use all pairs of steps; slow for long paths.", "--exact")
    ] = False,
    samples: Annotated[
        int | None,
        option(
            "Number of sampled terms.",
            within=(1, MAX_COUNT),
            show_default="100 for each step, at most 10^8",
        ),
    ] = None,
    samples_per_step: Annotated[
        float | None,
        option(
            "Number of sampled terms per step, without a maximum; 100 in the paper.",
            within=(1e-6, 1e9),
        ),
    ] = None,
    weighting: Annotated[
        WeightingName | None,
        option(
            "Weight paths by their pairs of steps, or by their steps.",
            show_default="pairs with --exact, else steps, as in the paper",
        ),
    ] = None,
    worst: Annotated[
        int | None,
        option(
            "Print a table of this number of nodes with the largest stress.", within=(1, MAX_COUNT)
        ),
    ] = None,
    by_path: Annotated[
        bool, option("Print a table of stress and torn joints by path.", "--by-path")
    ] = False,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure the path stress of a layout, sampled or exact.

    Path stress is the mean of ((D - d) / d)^2 over pairs of node ends, where D is their distance in
    the layout and d their distance along a path. Lower is better; compare only layouts of the same
    graph, with the same weighting.

    Li et al. (2024) weight a path by its pairs of steps in the exact stress, and by its steps in
    the sampled stress; --weighting selects the weighting of either. A graph without paths is
    measured along the guides of its layout and along its links, each as a path of two steps.

    The output also counts torn joints; folds, where a path turns by more than 90 degrees between
    consecutive chords of 100 bp; and crossings, pairs of unlinked nodes whose lines cross.

    --worst and --by-path print a table instead of the mean: the exact stress of pairs up to 8 steps
    apart, which shows local errors. A joint is torn if the ends of neighbouring steps are farther
    apart than ten times the mean length of both nodes.
    """
    from genoviz.io.graph.layout_files import read_layout

    if exact and not (samples is None and samples_per_step is None):
        raise typer.BadParameter("--exact takes all pairs; give it or --samples, not both")
    if samples is not None and samples_per_step is not None:
        raise typer.BadParameter("give --samples or --samples-per-step, not both")
    if worst is not None and by_path:
        raise typer.BadParameter("give --worst or --by-path, not both")
    if worst is not None or by_path:
        _print_places(graph, layout, worst, backend, cache=cache, as_json=as_json)
        return
    weighting = weighting or (WeightingName.pairs if exact else WeightingName.steps)
    options = {"weighting": weighting.value, "backend": backend.value}
    if not exact:
        options |= {"n_samples": samples, "samples_per_step": samples_per_step, "seed": seed}
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache)
        bar.update("Reading the layout", 0, None, "")
        placed = read_layout(layout, pangenome)
        from genoviz.analyses.graph.layout.defects import count_defects
        from genoviz.analyses.graph.layout.guides import graph_to_measure
        from genoviz.analyses.graph.layout.stress import (
            iter_path_stress,
            iter_sampled_path_stress,
            link_stress,
        )

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
        bar.update("Folds and crossings", 0, None, "")
        defects = count_defects(measured, placed)
    print_notes(placed.note)
    results = {"graph": describe_graph(pangenome)[0], "stress": found, "seconds": seconds}
    results["defects"] = defects
    sentences = [describe_stress(found), describe_defects(defects)]
    if links is not None:
        results["link_stress"] = links
        sentences.append(f"no paths: measured along {n_words(measured.n_paths, 'guide')}")
        sentences.append(f"link stress {links.mean:.6g} (exact, {n_words(links.n_terms, 'term')})")
    print_results(results, sentences, as_json=as_json)


def _print_places(
    graph: Path,
    layout: Path,
    worst: int | None,
    backend: BackendName,
    *,
    cache: bool,
    as_json: bool,
) -> None:
    """Print the worst nodes, or the paths, as a table."""
    from genoviz.analyses.graph.layout.guides import graph_to_measure
    from genoviz.analyses.graph.layout.near_stress import near_stress
    from genoviz.io.graph.layout_files import read_layout

    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache)
        placed = read_layout(layout, pangenome)
        bar.update("Path stress", 0, None, "")
        measured = graph_to_measure(pangenome)
        found = near_stress(measured, placed, backend=backend.value)
    rows = _path_rows(measured, found) if worst is None else _worst_rows(measured, found, worst)
    print_notes(placed.note, f"{found.n_torn:,} of {n_words(found.n_joints, 'joint')} are torn")
    results = {"rows": rows, "n_torn": found.n_torn, "n_joints": found.n_joints}
    lines = ["#" + "\t".join(rows[0])] if rows else []
    lines += ["\t".join(map(_cell, row.values())) for row in rows]
    print_results(results, lines, as_json=as_json)


def _worst_rows(graph: PangenomeGraph, found: NearStress, n: int) -> list[dict[str, Any]]:
    import numpy as np

    steps = found.find_worst(graph, n)
    paths = np.searchsorted(graph.path_offsets, steps, side="right") - 1
    places = (steps, paths, graph.position_index.positions_of(steps))
    return [
        {
            "node": graph.node_names[int(graph.steps[step] >> 1)],
            "path": graph.path_names[path],
            "position": position,
            "stress": float(found.steps[step]),
            "gap_bp": float(found.gaps[step]),
            "torn": int(found.is_torn[step]),
        }
        for step, path, position in zip(*(array.tolist() for array in places), strict=True)
    ]


def _path_rows(graph: PangenomeGraph, found: NearStress) -> list[dict[str, Any]]:
    import numpy as np

    n_torn = np.diff(np.append(0, np.cumsum(found.is_torn))[graph.path_offsets])
    columns = graph.path_names, np.diff(graph.path_offsets), found.paths, n_torn
    return [
        {"path": name, "n_steps": int(n_steps), "stress": float(stress), "n_torn": int(torn)}
        for name, n_steps, stress, torn in zip(*columns, strict=True)
    ]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "." if math.isnan(value) else f"{value:.6g}"
    return str(value)
