"""What nodes are coloured by: place on a path, paths that they lie on, strand, GC content."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit, prange

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph


def node_positions(graph: PangenomeGraph, path: str | int) -> np.ndarray:
    """Return where each node lies on one path.

    Returns
    -------
    numpy.ndarray
        float32, shape (n_nodes,): middle of the node's first visit by the path, bp from the
        path's start; NaN for a node that the path does not visit.

    Raises
    ------
    ParameterError
        If the graph has no such path.
    """
    index = _path_index(graph, path)
    nodes = (graph.path_steps(index) >> 1).astype(np.int64)
    lengths = graph.node_lengths[nodes]
    values = np.full(graph.n_nodes, np.nan, np.float32)
    middles = np.cumsum(lengths) - lengths / 2
    values[nodes[::-1]] = middles[::-1]
    return values


def node_path_ranks(graph: PangenomeGraph, paths: Sequence[str | int]) -> np.ndarray:
    """Return which of some paths each node lies on.

    Returns
    -------
    numpy.ndarray
        float32, shape (n_nodes,): 0 for none of them, i + 1 for only ``paths[i]``, and
        ``len(paths) + 1`` for several of them.

    Raises
    ------
    ParameterError
        If the graph lacks one of the paths.

    Examples
    --------
    >>> import numpy as np
    >>> from genoviz.model import ByteStrings
    >>> graph = PangenomeGraph(
    ...     ByteStrings.from_integers(1, 4), np.full(4, 5), np.empty((0, 2), np.uint32),
    ...     ("a", "b"), np.array([0, 2, 4]), np.array([0, 2, 2, 4], np.uint32))
    >>> node_path_ranks(graph, ["a", "b"]).tolist()
    [1.0, 3.0, 2.0, 0.0]
    """
    ranks = np.zeros(graph.n_nodes, np.float32)
    for rank, path in enumerate(paths, start=1):
        nodes = np.unique(graph.path_steps(_path_index(graph, path)) >> 1)
        ranks[nodes] = np.where(ranks[nodes] == 0, rank, len(paths) + 1)
    return ranks


def _path_index(graph: PangenomeGraph, path: str | int) -> int:
    if isinstance(path, str):
        return graph.find_path(path)
    if not 0 <= path < graph.n_paths:
        raise ParameterError(f"path {path} is not one of the graph's {graph.n_paths:,} paths")
    return path


def node_reverse_shares(graph: PangenomeGraph) -> np.ndarray:
    """Return the share of reverse steps of each node; float32, (n_nodes,), NaN without any."""
    n_reverse = _count_reverse(graph.steps, graph.n_nodes)
    depths = graph.node_depths
    shares = np.full(graph.n_nodes, np.nan, np.float32)
    np.divide(n_reverse, depths, out=shares, where=depths > 0, casting="unsafe")
    return shares


def node_gc_shares(graph: PangenomeGraph) -> np.ndarray:
    """Return the share of G and C among the A, C, G and T of each node.

    Returns
    -------
    numpy.ndarray
        float32, shape (n_nodes,); NaN for a node without such bases.

    Raises
    ------
    ParameterError
        If the graph has no sequences.
    """
    sequences = graph.node_sequences
    if sequences is None or (graph.n_nodes and len(sequences.data) == 0):
        raise ParameterError("GC content needs the nodes' sequences, and the graph has none")
    return _gc_shares(sequences.data, sequences.offsets)


@njit(nogil=True, cache=True)
def _count_reverse(steps, n_nodes):
    counts = np.zeros(n_nodes, np.int64)
    for step in steps:
        counts[step >> 1] += step & 1
    return counts


@njit(nogil=True, cache=True, parallel=True)
def _gc_shares(data, offsets):
    shares = np.empty(len(offsets) - 1, np.float32)
    for node in prange(len(shares)):
        n_gc = 0
        n_at = 0
        for position in range(offsets[node], offsets[node + 1]):
            base = data[position] | 32
            n_gc += base == 103 or base == 99
            n_at += base == 97 or base == 116
        shares[node] = n_gc / (n_gc + n_at) if n_gc + n_at else np.nan
    return shares
