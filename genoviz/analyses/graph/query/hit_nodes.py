"""The nodes under stretches of paths of one length, such as the hits of a k-mer."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.model import PangenomeGraph


def find_nodes(
    graph: PangenomeGraph, paths: np.ndarray, starts: np.ndarray, n_bases: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes that stretches of paths are on.

    Parameters
    ----------
    graph
        The graph.
    paths, starts
        Integers, shape (n,): path and first base of each stretch, which is on the path.
    n_bases
        Length of all stretches, at least 1.

    Returns
    -------
    offsets, nodes
        int64, shape (n + 1,), and int32: stretch ``i`` is on ``nodes[offsets[i] :
        offsets[i + 1]]``, in the order of the path; nodes without bases are left out.
    """
    offsets = np.zeros(len(paths) + 1, np.int64)
    if len(paths) == 0:
        return offsets, np.empty(0, np.int32)
    firsts = graph.position_index.steps_at(paths, starts)
    positions = graph.position_index.positions_of(firsts)
    _count_nodes(graph.steps, graph.node_lengths, firsts, starts + n_bases - positions, offsets)
    np.cumsum(offsets, out=offsets)
    nodes = np.empty(offsets[-1], np.int32)
    _fill_nodes(graph.steps, graph.node_lengths, firsts, offsets, nodes)
    return offsets, nodes


@njit(nogil=True, cache=True)
def _count_nodes(steps, node_lengths, firsts, n_bases, offsets):
    """Count the nodes that have bases of each hit, from its first step on."""
    for i in range(len(firsts)):
        step, n_left = firsts[i], n_bases[i]
        while n_left > 0:
            length = node_lengths[steps[step] >> 1]
            offsets[i + 1] += length > 0
            n_left -= length
            step += 1


@njit(nogil=True, cache=True)
def _fill_nodes(steps, node_lengths, firsts, offsets, nodes):
    for i in range(len(firsts)):
        step = firsts[i]
        n = offsets[i]
        while n < offsets[i + 1]:
            node = steps[step] >> 1
            if node_lengths[node] > 0:
                nodes[n] = node
                n += 1
            step += 1
