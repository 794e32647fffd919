"""Successors of handles: a bidirected graph as a directed one, with a vertex for each strand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct

_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class HandleGraph:
    """The successors of each handle; every edge is there on both strands.

    Attributes
    ----------
    offsets
        int64, shape (2 * n_nodes + 1,).
    targets
        uint32: handle ``h`` is followed by ``targets[offsets[h]:offsets[h + 1]]``. It is preceded
        by ``p`` where ``h ^ 1`` is followed by ``p ^ 1``.
    n_added
        Number of edges used by paths but not listed in the graph; they are added.
    """

    offsets: np.ndarray
    targets: np.ndarray
    n_added: int

    @classmethod
    def of(cls, graph: PangenomeGraph) -> HandleGraph:
        """Return the successors in a graph, by its edges and by the steps of its paths."""
        offsets, targets = _link(graph.links, 2 * graph.n_nodes)
        added = _find_unlinked_steps(graph, offsets, targets)
        if len(added):
            edges = np.concatenate([graph.links.reshape(-1, 2), added])
            offsets, targets = _link(edges, 2 * graph.n_nodes)
        return cls(offsets, targets, len(added))

    @classmethod
    def of_edges(cls, edges: np.ndarray, n_nodes: int) -> HandleGraph:
        """Return the successors by these edges alone; uint32, shape (n, 2)."""
        return cls(*_link(edges, 2 * n_nodes), 0)


@njit(nogil=True, cache=True)
def _link(edges, n_handles):
    """Return offsets and targets; an edge that is its own mirror image is stored once."""
    offsets = np.zeros(n_handles + 1, np.int64)
    for edge in range(len(edges)):
        origin, target = edges[edge]
        offsets[origin + np.int64(1)] += 1
        if target != origin ^ 1:
            offsets[(target ^ 1) + np.int64(1)] += 1
    for handle in range(n_handles):
        offsets[handle + 1] += offsets[handle]
    targets = np.empty(offsets[-1], np.uint32)
    ends = offsets[:-1].copy()
    for edge in range(len(edges)):
        origin, target = edges[edge]
        targets[ends[origin]] = target
        ends[origin] += 1
        if target != origin ^ 1:
            targets[ends[target ^ 1]] = origin ^ 1
            ends[target ^ 1] += 1
    return offsets, targets


def _find_unlinked_steps(
    graph: PangenomeGraph, offsets: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Return the edges that paths use and the graph lacks; uint32, shape (n, 2), each once."""
    counts = _count_unlinked(graph.steps, graph.path_offsets, offsets, targets)
    if not counts.any():
        return np.empty((0, 2), np.uint32)
    places = np.concatenate([[0], np.cumsum(counts)])
    pairs = distinct(_list_unlinked(graph.steps, graph.path_offsets, offsets, targets, places))
    return np.stack([pairs >> np.uint64(32), pairs & _LOW], axis=1).astype(np.uint32)


@njit(nogil=True, cache=True)
def _is_linked(origin, target, offsets, targets):
    for index in range(offsets[origin], offsets[origin + np.int64(1)]):
        if targets[index] == target:
            return True
    return False


@njit(nogil=True, cache=True, parallel=True)
def _count_unlinked(steps, path_offsets, offsets, targets):
    counts = np.zeros(len(path_offsets) - 1, np.int64)
    for path in prange(len(counts)):
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            counts[path] += not _is_linked(steps[step - 1], steps[step], offsets, targets)
    return counts


@njit(nogil=True, cache=True, parallel=True)
def _list_unlinked(steps, path_offsets, offsets, targets, places):
    """Return pairs of handles, each pair as the smaller of its two mirror images."""
    pairs = np.empty(places[-1], np.uint64)
    for path in prange(len(path_offsets) - 1):
        place = places[path]
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            origin, target = np.uint64(steps[step - 1]), np.uint64(steps[step])
            if not _is_linked(steps[step - 1], steps[step], offsets, targets):
                one = np.uint64(1)
                pair = (origin << np.uint64(32)) | target
                mirror = ((target ^ one) << np.uint64(32)) | (origin ^ one)
                pairs[place] = min(pair, mirror)
                place += 1
    return pairs
