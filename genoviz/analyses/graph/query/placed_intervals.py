"""Intervals of contigs on the paths of a graph: the nodes under them, and the groups with them.

A million intervals are placed together: those that touch on a path are merged first, so that no
step of a path is visited twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.annotate import ContigPaths, find_contig_paths
from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.model import Intervals, PangenomeGraph
from genoviz.model.columns import distinct

_N_REASONS = 2


@dataclass(frozen=True, eq=False)
class PlacedIntervals:
    """Places of intervals on paths; an interval on several paths has several rows.

    Attributes
    ----------
    rows
        int64, shape (n,): index of the interval.
    paths
        int64, shape (n,): index of the path.
    starts, ends
        int64, shape (n,): 0-based half-open, bp from the path's first base, within the path.
    nodes
        int64, ascending: the nodes under any of them, each once.
    n_placed
        Number of intervals with a place.
    reasons
        Why the others have none, as parts of sentences; empty if all have one.
    """

    rows: np.ndarray
    paths: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    nodes: np.ndarray
    n_placed: int
    reasons: tuple[str, ...] = ()


def place_intervals(graph: PangenomeGraph, intervals: Intervals) -> PlacedIntervals:
    """Return where intervals lie on the paths of a graph.

    A contig matches the exact name of a path, with positions from the path's first base, or the
    graph's name of the contig, as in :func:`annotate_graph`, with positions of the contig. If
    several samples have a contig of that name, an interval is on that of the one sample whose paths
    extend there, or of the one reference among those. Intervals are clipped to the path. An empty
    interval is on the node of its base.
    """
    ids = intervals.contig_ids
    order = _order(ids)
    bounds = np.searchsorted(ids[order], np.arange(len(intervals.contigs) + 1))
    parts: list[tuple[np.ndarray, ...]] = []
    reasons: list[str] = []
    unknown: list[str] = []
    n_placed = n_outside = 0
    for contig in np.flatnonzero(np.diff(bounds)).tolist():
        rows = order[bounds[contig] : bounds[contig + 1]]
        name = intervals.contigs[contig]
        contig_paths = find_contig_paths(graph, name)
        if not contig_paths.owners:
            unknown.append(name)
            continue
        found, n_owners, chosen = _place_on(graph, intervals, rows, contig_paths)
        parts += found
        n_placed += int(np.count_nonzero(chosen >= 0))
        n_outside += int(np.count_nonzero(n_owners == 0))
        if ((n_owners > 1) & (chosen < 0)).any():
            reasons.append(contig_paths.ambiguity)
    empty = np.empty(0, np.int64)
    found = [np.concatenate([empty, *column]) for column in zip(*parts, strict=True)] or [empty] * 4
    if unknown:
        more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        reasons.append(f"the graph's paths have no contig {unknown[0]}{more}")
    if n_outside:
        reasons.append("the graph's paths do not reach that far")
    _, paths, starts, ends = found
    return PlacedIntervals(
        *found,
        find_nodes_below(graph, paths, starts, ends),
        n_placed,
        tuple(reasons[:_N_REASONS]),
    )


def _place_on(
    graph: PangenomeGraph,
    intervals: Intervals,
    rows: np.ndarray,
    contig_paths: ContigPaths,
) -> tuple[list[tuple[np.ndarray, ...]], np.ndarray, np.ndarray]:
    """Return rows, paths, starts and ends for each path, and what `ContigPaths.choose` does."""
    starts, ends = intervals.starts[rows], intervals.ends[rows]
    ends = np.maximum(ends, starts + 1)
    is_local = contig_paths.is_local
    firsts = {path: 0 if is_local else int(graph.path_starts[path]) for path in contig_paths.paths}
    stops = {path: first + int(graph.path_lengths[path]) for path, first in firsts.items()}
    has = np.zeros((len(contig_paths.owners), len(rows)), bool)
    for owner, paths in enumerate(contig_paths.owners):
        for path in paths:
            has[owner] |= (starts < stops[path]) & (ends > firsts[path])
    n_owners, chosen = contig_paths.choose(has)
    parts = []
    for owner, paths in enumerate(contig_paths.owners):
        for path in paths:
            first = firsts[path]
            here = (chosen == owner) & (starts < stops[path]) & (ends > first)
            low, high = np.maximum(starts[here], first), np.minimum(ends[here], stops[path])
            parts.append((rows[here], np.full(len(low), path, np.int64), low - first, high - first))
    return parts, n_owners, chosen


def find_nodes_below(
    graph: PangenomeGraph, paths: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Return the nodes under stretches of paths, each once and ascending; int64.

    Parameters
    ----------
    paths, starts, ends
        int64, shape (n,): path, and 0-based half-open bp from its first base, within the path;
        none is empty.
    """
    if not len(paths):
        return np.empty(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum(graph.path_lengths)]).astype(np.int64)
    first, last = offsets[paths] + starts, offsets[paths] + ends - 1
    order = _order(first)
    reach = np.maximum.accumulate(last[order])
    is_new = np.ones(len(order), bool)
    # Never merge the last base of a path and the first of the next one, though they are adjacent.
    same = paths[order][1:] == paths[order][:-1]
    is_new[1:] = (first[order][1:] > reach[:-1] + 1) | ~same
    begins = np.flatnonzero(is_new)
    stops = np.append(begins[1:], len(order)) - 1
    owners = paths[order][begins]
    index = graph.position_index
    steps = index.steps_at(owners, first[order][begins] - offsets[owners])
    last_steps = index.steps_at(owners, reach[stops] - offsets[owners])
    is_below = np.zeros(graph.n_nodes, bool)
    _mark_steps(graph.steps, graph.node_lengths, steps, last_steps, is_below)
    return np.flatnonzero(is_below)


def _order(values: np.ndarray) -> np.ndarray:
    """Return the argsort of values; hits of a search are already sorted."""
    is_sorted = bool((values[1:] >= values[:-1]).all())
    return np.arange(len(values)) if is_sorted else np.argsort(values, kind="stable")


def count_groups_with(graph: PangenomeGraph, nodes: np.ndarray, *, by: str = "haplotype") -> int:
    """Return the number of groups of paths on any of the nodes; see :func:`group_paths`.

    Raises
    ------
    ParameterError
        If there is no such grouping.
    """
    groups = group_paths(graph, by)
    is_wanted = np.zeros(graph.n_nodes, bool)
    is_wanted[nodes] = True
    has = np.zeros(len(groups.names), bool)
    _find_groups(graph.steps, graph.path_offsets, groups.of_path, is_wanted, has)
    return int(has.sum())


def count_groups_of(graph: PangenomeGraph, paths: np.ndarray, *, by: str = "haplotype") -> int:
    """Return the number of groups of the paths; see :func:`group_paths`."""
    has = np.zeros(graph.n_paths, bool)
    has[paths] = True
    return len(distinct(group_paths(graph, by).of_path[has]))


def stretches_on_path(graph: PangenomeGraph, path: str | int, nodes: np.ndarray) -> np.ndarray:
    """Return where a path runs through any of the nodes.

    Returns
    -------
    numpy.ndarray
        int64, shape (n, 2): start and end, bp from the path's first base, ascending; neighbours
        are joined.
    """
    is_wanted = np.zeros(graph.n_nodes, bool)
    is_wanted[nodes] = True
    return PathProfile.of(graph, path).find_stretches(is_wanted)


@njit(nogil=True, cache=True)
def _mark_steps(steps, node_lengths, firsts, lasts, is_below):
    for i in range(len(firsts)):
        for step in range(firsts[i], lasts[i] + 1):
            node = steps[step] >> 1
            if node_lengths[node] > 0:
                is_below[node] = True


@njit(nogil=True, cache=True)
def _find_groups(steps, path_offsets, of_path, is_wanted, has):
    for path in range(len(of_path)):
        group = of_path[path]
        if group < 0 or has[group]:
            continue
        for step in range(path_offsets[path], path_offsets[path + 1]):
            if is_wanted[steps[step] >> 1]:
                has[group] = True
                break
