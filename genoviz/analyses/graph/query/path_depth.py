"""Depth of paths along one path, and under intervals on the paths of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.analyses.graph.query.path_groups import PathGroups, count_node_groups
from genoviz.model import ByteStrings, Intervals, PangenomeGraph
from genoviz.model.columns import distinct
from genoviz.model.intervals.annotations import Annotations, Categories


@dataclass(frozen=True, eq=False)
class PlacedIntervals:
    """Intervals on the paths of a graph; an interval on several paths occurs several times.

    Attributes
    ----------
    intervals
        Their contigs are all paths of the graph; positions are bp from each path's first base.
    rows
        int64, shape (n,): original row of each; ascending.
    """

    intervals: Intervals
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class IntervalDepths:
    """Depth of paths in intervals.

    Attributes
    ----------
    n_paths
        int64, shape (n,): number of paths that visit a node of the interval.
    mean_depths
        float64, shape (n,): mean number of visits of a base by these paths; NaN for an empty
        interval.
    """

    n_paths: np.ndarray
    mean_depths: np.ndarray


def node_depths_of(
    graph: PangenomeGraph, paths: Iterable[str | int] | None = None, *, once: bool = False
) -> np.ndarray:
    """Return how often the paths visit each node; int64, shape (n_nodes,).

    Parameters
    ----------
    paths
        Names or indices; all paths by default.
    once
        Whether to count a path once per node, however often it visits the node.

    Raises
    ------
    ParameterError
        If the graph has no such path.
    """
    chosen = np.arange(graph.n_paths) if paths is None else graph.path_indices(paths)
    if once:
        of_path = np.full(graph.n_paths, -1, np.int32)
        of_path[chosen] = np.arange(len(chosen))
        names = tuple(graph.path_names[path] for path in chosen.tolist())
        groups = PathGroups("path", names, of_path)
        return count_node_groups(graph, groups).counts.astype(np.int64)
    if paths is None:
        return graph.node_depths
    depths = np.zeros(graph.n_nodes, np.int64)
    for path in chosen.tolist():
        depths += np.bincount(graph.path_steps(path) >> 1, minlength=graph.n_nodes)
    return depths


def path_depth_along(
    graph: PangenomeGraph,
    path: str | int,
    paths: Iterable[str | int] | None = None,
    *,
    once: bool = False,
) -> Intervals:
    """Return the depth of paths along a path, as a step function.

    Parameters
    ----------
    path
        The path that gives the coordinates.
    paths
        Paths to count; all by default, including ``path``.
    once
        Whether to count a path once per node, however often it visits the node.

    Returns
    -------
    Intervals
        Maximal stretches of constant depth, with the depth as score, from the path's first base to
        its last.

    Raises
    ------
    ParameterError
        If the graph has no such path.
    """
    index = int(graph.path_indices([path])[0])
    depths = node_depths_of(graph, paths, once=once)
    nodes = graph.path_steps(index) >> 1
    lengths = graph.node_lengths[nodes]
    nodes, lengths = nodes[lengths > 0], lengths[lengths > 0]
    values = depths[nodes]
    ends = np.cumsum(lengths)
    is_last = np.append(values[1:] != values[:-1], True)[: len(values)]
    ends, values = ends[is_last], values[is_last]
    starts = np.append(0, ends)[:-1]
    return Intervals(
        (graph.path_names[index],),
        np.zeros(len(ends), np.int32),
        starts.astype(np.int64),
        ends.astype(np.int64),
        scores=values.astype(np.float64),
        contig_lengths=graph.path_lengths[[index]],
    )


def place_intervals(
    graph: PangenomeGraph, intervals: Intervals, *, sample: str | None = None
) -> PlacedIntervals:
    """Map intervals on contigs to the paths of a graph.

    Contigs are matched, and intervals clipped to paths, as by `place_annotations`. Notes list what
    could not be placed.

    Raises
    ------
    ParameterError
        If the graph has no path of ``sample``.
    """
    intervals.check_whole("a place on paths")
    n = len(intervals)
    nothing = ByteStrings.from_texts([""] * n)
    annotations = Annotations(
        contigs=Categories(intervals.contigs, intervals.contig_ids),
        starts=intervals.starts,
        ends=intervals.ends,
        names=nothing,
        types=Categories(("",), np.zeros(n, np.int32)),
        strands=np.zeros(n, np.int8),
        scores=np.full(n, np.nan),
        colours=np.full(n, -1, np.int32),
        block_offsets=np.zeros(n + 1, np.int64),
        blocks=np.empty((0, 2), np.int64),
    )
    placed = place_annotations(graph, annotations, sample=sample)
    taken = intervals.select(placed.rows)
    found = replace(
        taken,
        contigs=graph.path_names,
        contig_ids=placed.paths.astype(np.int32),
        starts=placed.starts,
        ends=placed.ends,
        contig_lengths=graph.path_lengths,
        notes=(*intervals.notes, *placed.notes),
    )
    return PlacedIntervals(found, placed.rows)


def depths_of_intervals(
    graph: PangenomeGraph, intervals: Intervals, paths: Iterable[str | int] | None = None
) -> IntervalDepths:
    """Return the depth of paths in intervals on paths.

    Parameters
    ----------
    intervals
        Result of `place_intervals`: contigs are the paths of the graph, in order.
    paths
        Paths to count; all by default.

    Raises
    ------
    ParameterError
        If the graph has no such path.
    """
    paths = None if paths is None else graph.path_indices(paths).tolist()
    depths = node_depths_of(graph, paths)
    is_counted = np.ones(graph.n_paths, bool)
    if paths is not None:
        is_counted[:] = False
        is_counted[paths] = True
    n_paths = np.zeros(len(intervals), np.int64)
    means = np.full(len(intervals), np.nan)
    for path in distinct(intervals.contig_ids).tolist():
        rows = np.flatnonzero(intervals.contig_ids == path)
        nodes = (graph.path_steps(path) >> 1).astype(np.int64)
        bounds = np.append(0, np.cumsum(graph.node_lengths[nodes]))
        sums = np.append(0, np.cumsum(graph.node_lengths[nodes] * depths[nodes]))
        starts, ends = intervals.starts[rows], intervals.ends[rows]
        lengths = ends - starts
        total = _up_to(bounds, sums, ends) - _up_to(bounds, sums, starts)
        means[rows] = np.where(lengths > 0, total / np.maximum(lengths, 1), np.nan)
        firsts = np.searchsorted(bounds, starts, "right") - 1
        stops = np.searchsorted(bounds, np.maximum(ends, starts + 1), "left")
        for row, first, stop in zip(rows.tolist(), firsts.tolist(), stops.tolist(), strict=True):
            there = distinct(nodes[first:stop])
            steps, _ = graph.node_step_index.gather(there)
            visitors = np.searchsorted(graph.path_offsets, steps, side="right") - 1
            n_paths[row] = np.count_nonzero(is_counted[distinct(visitors)])
    return IntervalDepths(n_paths, means)


def _up_to(bounds: np.ndarray, sums: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the sum of depths before each position of a path; exact int64."""
    steps = np.clip(np.searchsorted(bounds, places, "right") - 1, 0, max(len(bounds) - 2, 0))
    if len(bounds) == 1:
        return np.zeros(len(places), np.int64)
    lengths = bounds[steps + 1] - bounds[steps]
    rate = np.diff(sums)[steps] // np.maximum(lengths, 1)
    return sums[steps] + (places - bounds[steps]) * rate
