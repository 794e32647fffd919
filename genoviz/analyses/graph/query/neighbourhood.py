"""The neighbourhood of some nodes of a graph."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct


def find_neighbourhood(
    graph: PangenomeGraph, nodes: np.ndarray, *, steps: int = 0, bp: int = 0
) -> np.ndarray:
    """Return nodes and those around them; int64, ascending.

    Edges are followed in any direction, whatever the strand.

    Parameters
    ----------
    nodes
        int64, shape (n,).
    steps
        Nodes at most this many edges away are included.
    bp
        Nodes with a base among the ``bp`` next to the given ones are included.

    Raises
    ------
    ParameterError
        If ``steps`` or ``bp`` is negative.
    """
    for name, value in (("context in steps", steps), ("context in bp", bp)):
        if value < 0:
            raise ParameterError(f"the {name} is {value:,}, needs to be 0 or more")
    by_steps = _expand(graph, nodes, np.ones(1, np.int64), steps)
    by_bp = _expand(graph, nodes, graph.node_lengths, bp)
    return distinct(np.concatenate([by_steps, by_bp]))


def _expand(graph: PangenomeGraph, nodes: np.ndarray, costs: np.ndarray, limit: int) -> np.ndarray:
    """Return the nodes at a distance below ``limit``; nodes on the way add their costs."""
    if limit == 0 or len(nodes) == 0:
        return distinct(nodes)
    far = np.iinfo(np.int64).max
    distances = np.full(graph.n_nodes, far, np.int64)
    distances[nodes] = 0
    is_given = distances == 0
    frontier = distinct(nodes)
    while len(frontier):
        edges, counts = graph.node_edge_index.gather(frontier)
        own = distances[frontier]
        onward = own + np.where(is_given[frontier], 0, costs[frontier] if len(costs) > 1 else 1)
        ends = (graph.edges[edges] >> 1).astype(np.int64)
        sources = np.repeat(frontier, counts)
        others = np.where(ends[:, 0] == sources, ends[:, 1], ends[:, 0])
        reached = np.repeat(onward, counts)
        is_better = (reached < limit) & (reached < distances[others])
        others, reached = others[is_better], reached[is_better]
        np.minimum.at(distances, others, reached)
        frontier = distinct(others)
    return np.flatnonzero(distances < far)


def find_detours(graph: PangenomeGraph, nodes: np.ndarray, *, max_bp: int) -> np.ndarray:
    """Return nodes and those on the detours of paths around them; int64, ascending.

    A detour is a stretch of a path of at most ``max_bp`` between two steps on given nodes.

    Raises
    ------
    ParameterError
        If ``max_bp`` is negative.
    """
    if max_bp < 0:
        raise ParameterError(f"the longest detour is {max_bp:,} bp, needs to be 0 or more")
    is_given = np.zeros(graph.n_nodes, bool)
    is_given[nodes] = True
    if max_bp == 0:
        return np.flatnonzero(is_given)
    is_taken = is_given.copy()
    _take_detours(graph.steps, graph.path_offsets, graph.node_lengths, max_bp, is_given, is_taken)
    return np.flatnonzero(is_taken)


@njit(nogil=True, cache=True)
def _take_detours(steps, path_offsets, node_lengths, max_bp, is_given, is_taken):
    for path in range(len(path_offsets) - 1):
        left = -1
        length = 0
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            if not is_given[node]:
                length += node_lengths[node]
                continue
            if left >= 0 and length <= max_bp:
                for between in range(left + 1, step):
                    is_taken[steps[between] >> 1] = True
            left = step
            length = 0
