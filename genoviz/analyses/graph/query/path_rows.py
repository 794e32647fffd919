"""Which path is on which node, as rows of bins along all nodes: the picture of ``odgi viz``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.path_groups import GROUPINGS, PathGroups, group_paths
from genoviz.errors import ParameterError
from genoviz.generators import Progress, last_of
from genoviz.model import PangenomeGraph

MAX_CELLS = 1 << 27
SMALL_SHARE = 0.08
"""Share of all steps below which a view is filled from the steps of its nodes alone."""
STEPS_AT_ONCE = 1 << 23


@dataclass(frozen=True, eq=False)
class NodeAxis:
    """Nodes end to end on a line.

    Attributes
    ----------
    nodes
        int64, shape (n_nodes,): the nodes in their order.
    bounds
        int64, shape (n_nodes + 1,): node ``nodes[k]`` takes ``bounds[k]`` to ``bounds[k + 1]``.
    starts, ends
        int64, shape (n_nodes,): begin and end of each node of the graph, by its number.
    """

    nodes: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(
        cls, graph: PangenomeGraph, order: np.ndarray | None = None, *, in_bp: bool = True
    ) -> NodeAxis:
        """Return the nodes in an order, by default that of the graph.

        Each is as long as its sequence, or has a length of 1 where that is not ``in_bp``.
        """
        nodes = np.arange(graph.n_nodes) if order is None else np.asarray(order, np.int64)
        lengths = graph.node_lengths[nodes] if in_bp else np.ones(len(nodes), np.int64)
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        starts, ends = np.empty((2, len(nodes)), np.int64)
        starts[nodes], ends[nodes] = bounds[:-1], bounds[1:]
        return cls(nodes, bounds, starts, ends)

    @property
    def length(self) -> int:
        """Where the last node ends."""
        return int(self.bounds[-1])

    def between(self, start: float, end: float) -> np.ndarray:
        """Return the nodes that overlap a stretch, in order."""
        first = int(np.searchsorted(self.bounds, start, "right")) - 1
        stop = int(np.searchsorted(self.bounds, end, "left"))
        return self.nodes[max(first, 0) : stop]

    def stretches(self, nodes: np.ndarray, gap: float = 0.0) -> np.ndarray:
        """Return the stretches of nodes; int64, shape (n, 2). Gaps up to ``gap`` are closed."""
        places = np.sort(np.stack([self.starts[nodes], self.ends[nodes]], axis=1), axis=0)
        starts, ends = places[:, 0], np.maximum.accumulate(places[:, 1])
        if not len(starts):
            return np.empty((0, 2), np.int64)
        begins = np.append(True, starts[1:] - ends[:-1] > gap)
        return np.stack([starts[begins], ends[np.append(begins[1:], True)]], axis=1)


@dataclass(frozen=True, eq=False)
class PathRows:
    """A row for each path or group of paths, in bins along the nodes.

    Nodes are end to end, by default in the order of the graph: position x is then the x-th of all
    bases.

    Attributes
    ----------
    groups
        The paths or groups, one a row.
    bounds
        int64, shape (n_bins + 1,): bin k is ``bounds[k]`` to ``bounds[k + 1]``, bp.
    present
        float32, shape (n_rows, n_bins): share of the bin's bases that are visited, 0 to 1.
    depths
        float32, like ``present``: mean number of visits of a base.
    reverse
        float32, like ``present``: share of these visits that are reverse; NaN without any.
    places
        float32, like ``present``: mean place of these visits in their paths, from 0 at the first
        base of a path to 1 at its last; NaN without any.
    """

    groups: PathGroups
    bounds: np.ndarray
    present: np.ndarray
    depths: np.ndarray
    reverse: np.ndarray
    places: np.ndarray


def iter_path_rows(
    graph: PangenomeGraph,
    *,
    by: str | PathGroups = "path",
    start: int = 0,
    end: int | None = None,
    n_bins: int = 1000,
    axis: NodeAxis | None = None,
) -> Iterator[Progress]:
    """Compute the result of `find_path_rows` in batches of paths; the last `Progress` has it."""
    axis = NodeAxis.of(graph) if axis is None else axis
    total = axis.length
    end = total if end is None else end
    groups = group_paths(graph, by) if isinstance(by, str) else by
    n_rows = len(groups.names)
    if not n_rows:
        raise ParameterError(f"the graph has no {GROUPINGS[groups.by]}")
    if not 0 <= start < end <= total:
        raise ParameterError(
            f"the stretch is {start:,} to {end:,}, needs a part of 0 to {total:,} bp"
        )
    if n_bins < 1:
        raise ParameterError(f"there are {n_bins} bins, needs at least 1")
    n_bins = min(n_bins, end - start)
    if n_rows * n_bins > MAX_CELLS:
        raise ParameterError(
            f"{n_rows:,} rows of {n_bins:,} bins are {n_rows * n_bins:,} cells, "
            f"and at most {MAX_CELLS:,} can be"
        )
    bounds = start + np.arange(n_bins + 1) * (end - start) // n_bins
    sums = np.zeros((4, n_rows, n_bins), np.float32)
    # Sums of one row at a time have 64 bits: from 2^24 bases on, 32 bits would lose short nodes.
    row_sums, current = np.zeros((4, n_bins)), np.zeros(1, np.int64)
    last = np.full(graph.n_nodes, -1, np.int32)
    for done, visits in _iter_visits(graph, groups, axis, start, end):
        _fill(*visits, graph.node_lengths, axis.starts, axis.ends, bounds, sums, row_sums, current,
              last)  # fmt: skip
        yield Progress("reading paths", done)
    sums[:, current[0]] = row_sums
    present, visits, reverse, places = sums
    with np.errstate(invalid="ignore"):
        reverse /= visits
        places /= visits
    widths = np.diff(bounds).astype(np.float32)
    rows = PathRows(groups, bounds, present / widths, visits / widths, reverse, places)
    yield Progress("drawn", 1.0, rows)


def find_path_rows(
    graph: PangenomeGraph,
    *,
    by: str | PathGroups = "path",
    start: int = 0,
    end: int | None = None,
    n_bins: int = 1000,
    axis: NodeAxis | None = None,
) -> PathRows:
    """Return where along the nodes each path or group is, how often, and on which strand.

    Parameters
    ----------
    by
        A row for each ``"path"``, ``"sample"``, ``"haplotype"`` or ``"contig"``; or the groups
        themselves, in the order of the rows.
    start, end
        The stretch of the nodes, bp, 0-based half-open; all of them by default.
    n_bins
        How many bins; fewer where the stretch has fewer bases.
    axis
        In which order the nodes lie, and how long they are; by default that of the graph.

    Raises
    ------
    ParameterError
        If the graph has no path, the stretch is not one of its nodes, or there are too many bins.
    """
    steps = iter_path_rows(graph, by=by, start=start, end=end, n_bins=n_bins, axis=axis)
    return last_of(steps).result


def _iter_visits(
    graph: PangenomeGraph, groups: PathGroups, axis: NodeAxis, start: int, end: int
) -> Iterator[tuple[float, tuple[np.ndarray, ...]]]:
    """Yield the amount done, and handles, rows, positions and path lengths of visits, by row.

    The visits are the steps of the nodes in view, or those of all nodes if these are many.
    """
    nodes = axis.between(start, end)
    if len(nodes) < graph.n_nodes and _is_small(graph, nodes):
        steps, _ = graph.node_step_index.gather(nodes)
        paths = np.searchsorted(graph.path_offsets, steps, "right") - 1
        rows = groups.of_path[paths]
        order = np.argsort(rows, kind="stable")
        order = order[np.searchsorted(rows[order], 0) :]
        steps, paths, rows = steps[order], paths[order], rows[order]
        positions = graph.position_index.positions_of(steps)
        yield 1.0, (graph.steps[steps], rows, positions, graph.path_lengths[paths])
        return
    order = np.argsort(groups.of_path, kind="stable")
    order = order[np.searchsorted(groups.of_path[order], 0) :]
    n_done = 0
    for path in order.tolist():
        handles, position = graph.path_steps(path), 0
        row = groups.of_path[path : path + 1]
        for first in range(0, len(handles), STEPS_AT_ONCE):
            part = handles[first : first + STEPS_AT_ONCE]
            ends = position + np.cumsum(graph.node_lengths[part >> 1])
            positions = ends - graph.node_lengths[part >> 1]
            n_done, position = n_done + len(part), int(ends[-1])
            yield n_done / max(graph.n_steps, 1), (part, row, positions, graph.path_lengths[[path]])


def _is_small(graph: PangenomeGraph, nodes: np.ndarray) -> bool:
    return graph.node_depths[nodes].sum() < SMALL_SHARE * graph.n_steps


@njit(nogil=True, cache=True)
def _fill(
    handles, rows, positions, path_lengths, node_lengths, starts, ends, bounds, sums, row_sums,
    current, last,
):  # fmt: skip
    """Add up the bases of each bin that are present, visited, and visited in reverse.

    Visits are sorted by row, or all of one row. ``row_sums`` are those of the row in ``current``;
    they go to ``sums`` when the next row begins. ``last`` has the row of the last visit to each
    node. The fourth sum is over the places of visits in their paths.
    """
    start, end, n_bins = bounds[0], bounds[-1], len(bounds) - 1
    for visit in range(len(handles)):
        each = visit if len(rows) > 1 else 0
        node, row = handles[visit] >> 1, rows[each]
        if row != current[0]:
            for kind in range(4):
                for k in range(n_bins):
                    sums[kind, current[0], k] = row_sums[kind, k]
                    row_sums[kind, k] = 0.0
            current[0] = row
        first, stop = max(starts[node], start), min(ends[node], end)
        if first >= stop:
            continue
        is_new = last[node] != row
        last[node] = row
        place = (positions[visit] + 0.5 * node_lengths[node]) / max(path_lengths[each], 1)
        k = (first - start) * n_bins // (end - start)
        while bounds[k + 1] <= first:
            k += 1
        while k < n_bins and bounds[k] < stop:
            n = min(stop, bounds[k + 1]) - max(first, bounds[k])
            row_sums[1, k] += n
            if is_new:
                row_sums[0, k] += n
            if handles[visit] & 1:
                row_sums[2, k] += n
            row_sums[3, k] += n * place
            k += 1
