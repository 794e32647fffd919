"""Weakly connected components, and how a layout of several is packed."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.model import PangenomeGraph

MARGIN = 1000.0


@njit(nogil=True, cache=True)
def _find_root(parents, node):
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(nogil=True, cache=True)
def _join(parents, first, second):
    a = _find_root(parents, np.int64(first) >> 1)
    b = _find_root(parents, np.int64(second) >> 1)
    parents[max(a, b)] = min(a, b)


@njit(nogil=True, cache=True)
def _join_edges(parents, edges):
    for edge in range(len(edges)):
        _join(parents, edges[edge, 0], edges[edge, 1])
    for node in range(len(parents)):
        parents[node] = _find_root(parents, node)


@njit(nogil=True, cache=True, parallel=True)
def _paths_to_join(parents, steps, path_offsets):
    """Return the paths through nodes that edges do not connect."""
    is_apart = np.zeros(len(path_offsets) - 1, np.bool_)
    for path in prange(len(is_apart)):
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            if parents[steps[step - 1] >> 1] != parents[steps[step] >> 1]:
                is_apart[path] = True
                break
    return is_apart


@njit(nogil=True, cache=True)
def _join_steps(parents, steps, path_offsets, is_apart):
    for path in range(len(is_apart)):
        if is_apart[path]:
            for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
                _join(parents, steps[step - 1], steps[step])


@njit(nogil=True, cache=True)
def _number(parents):
    components = np.empty(len(parents), np.int32)
    n_components = 0
    for node in range(len(parents)):
        root = _find_root(parents, node)
        if root == node:
            components[node] = n_components
            n_components += 1
        else:
            components[node] = components[root]
    return components


def find_components(graph: PangenomeGraph) -> np.ndarray:
    """Return the weakly connected component of each node; int32, shape (n_nodes,).

    Components are numbered from 0 in the order of their first nodes. Both edges and the steps of
    paths connect.
    """
    parents = np.arange(graph.n_nodes, dtype=np.int32)
    _join_edges(parents, graph.edges)
    is_apart = _paths_to_join(parents, graph.steps, graph.path_offsets)
    _join_steps(parents, graph.steps, graph.path_offsets, is_apart)
    return _number(parents)


@njit(nogil=True, cache=True)
def _bounding_boxes(coordinates, components, n_components):
    boxes = np.empty((n_components, 4))
    boxes[:, :2] = np.inf
    boxes[:, 2:] = -np.inf
    for node in range(len(coordinates)):
        box = boxes[components[node]]
        for end in range(2):
            for axis in range(2):
                value = coordinates[node, end, axis]
                box[axis] = min(box[axis], value)
                box[2 + axis] = max(box[2 + axis], value)
    return boxes


def pack_components(coordinates: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return coordinates with the components stacked along y, each from x = 1000.

    Every component is moved as a whole: its lowest x is 1000, its lowest y lies 1000 above
    the highest y of the component before it (the first lies at 1000), as odgi places them.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp.
    components
        int32, shape (n_nodes,).
    """
    if len(coordinates) == 0:
        return coordinates.copy()
    boxes = _bounding_boxes(coordinates, components, int(components.max()) + 1)
    heights = boxes[:, 3] - boxes[:, 1]
    shifts = np.empty((len(boxes), 2))
    shifts[:, 0] = MARGIN - boxes[:, 0]
    shifts[:, 1] = MARGIN + np.concatenate([[0.0], np.cumsum(heights + MARGIN)[:-1]]) - boxes[:, 1]
    return coordinates + shifts[components][:, None, :]
