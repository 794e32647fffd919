"""Lay a pangenome graph out by path-guided stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.layout.options import LayoutOptions
from genoviz.analyses.graph.layout.path_records import build_path_records, linear_coordinates
from genoviz.analyses.graph.layout.run import LayoutRun, LayoutSnapshot
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout, PangenomeGraph


def path_sgd_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    backend: Backend = "auto",
    **options: Any,
) -> GraphLayout:
    """Return the path-guided SGD layout of a graph.

    Parameters
    ----------
    graph
        A graph with paths. One without gets its nodes in a line, and a note that says so.
    paths
        Names or indices of the paths that guide the layout; all by default.
    start
        A layout to start from, in place of ``initialisation``.
    options
        See `LayoutOptions`.

    Raises
    ------
    ParameterError
        If an option is out of range, a path is not in the graph or ``start`` is of another graph.

    References
    ----------
    Heumos et al. 2024, doi:10.1093/bioinformatics/btae363;
    Li et al. 2024, doi:10.1109/SC41406.2024.00035.
    """
    snapshots = iter_path_sgd_layout(
        graph, paths=paths, start=start, backend=backend, slice_seconds=None, **options
    )
    *_, final = snapshots
    return final.layout


def iter_path_sgd_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    slice_seconds: float | None = 0.05,
    stress_samples: int = 0,
    copies: bool = True,
    backend: Backend = "auto",
    **options: Any,
) -> Iterator[LayoutSnapshot]:
    """Yield a layout again and again while it unfolds; see `path_sgd_layout`.

    Parameters
    ----------
    slice_seconds
        About how long to compute between two snapshots (at least one ends each iteration);
        None yields the finished layout alone.
    stress_samples
        Terms of the sampled path stress at the end of each iteration; 0 for none. They are of the
        same pairs of steps each time, so that what changes is the layout.
    copies
        Whether each snapshot has coordinates of its own. If not, all of them but the last share the
        array in which the layout goes on (`LayoutSnapshot.is_live`): for live views of large
        graphs, where a copy takes as long as a picture. The last snapshot is never live.
    options
        See `LayoutOptions`.
    """
    checked = LayoutOptions(**options)
    if start is not None and start.n_nodes != graph.n_nodes:
        raise ParameterError(
            f"the layout to start from has {start.n_nodes:,} nodes and the graph {graph.n_nodes:,}"
        )
    used = None if paths is None else graph.path_indices(paths)
    return _iter_snapshots(
        graph, used, start, slice_seconds, stress_samples, copies, backend, checked
    )


def _iter_snapshots(
    graph: PangenomeGraph,
    paths: np.ndarray | None,
    start: GraphLayout | None,
    slice_seconds: float | None,
    stress_samples: int,
    copies: bool,
    backend: Backend,
    options: LayoutOptions,
) -> Iterator[LayoutSnapshot]:
    records = build_path_records(graph, paths=paths, min_steps=2)
    if records.n_steps == 0:
        yield _linear_fallback(graph, options)
        return
    run = LayoutRun(graph, records, start, options, stress_samples, backend, copies=copies)
    yield from run.iter_snapshots(slice_seconds)


def _linear_fallback(graph: PangenomeGraph, options: LayoutOptions) -> LayoutSnapshot:
    return LayoutSnapshot(
        coordinates=linear_coordinates(graph),
        iteration=options.n_iterations,
        n_iterations=options.n_iterations,
        n_updates=0,
        n_updates_total=0,
        eta=0.0,
        seconds=0.0,
        is_final=True,
        note="No path has two steps, so nothing guides the layout: nodes lie in graph order.",
        components=find_components(graph),
    )
