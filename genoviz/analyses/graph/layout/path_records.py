"""The paths of a graph as the layout kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.kernels.path_sgd import BLOCK_BITS, CLOSING
from genoviz.model import PangenomeGraph


@dataclass(frozen=True, eq=False)
class PathRecords:
    """Steps with their positions; ``genoviz.kernels.path_sgd`` describes the arrays.

    Attributes
    ----------
    records, path_starts, block_paths
        The kernels' arguments.
    n_steps
        Steps of all paths used.
    longest_path
        Most steps of a path; 0 without paths.
    is_visited
        bool, shape (n_nodes,): whether one of these paths visits a node.
    """

    records: np.ndarray
    path_starts: np.ndarray
    block_paths: np.ndarray
    n_steps: int
    longest_path: int
    is_visited: np.ndarray


@njit(nogil=True, cache=True, parallel=True)
def _sum_path_lengths(step_starts, counts, steps, node_lengths):
    lengths = np.zeros(len(counts), np.int64)
    for path in prange(len(counts)):
        for step in range(step_starts[path], step_starts[path] + counts[path]):
            lengths[path] += node_lengths[steps[step] >> 1]
    return lengths


@njit(nogil=True, cache=True, parallel=True)
def _fill_records(records, is_visited, path_starts, step_starts, steps, node_lengths):
    column = records.shape[1] // 2
    for path in prange(len(path_starts) - 1):
        position = 0
        offset = step_starts[path] - path_starts[path]
        for record in range(path_starts[path], path_starts[path + 1]):
            handle = np.int64(CLOSING)
            if record < path_starts[path + 1] - 1:
                handle = np.int64(steps[record + offset])
                is_visited[handle >> 1] = True
            records[record, 0] = handle
            records[record, column] = position & CLOSING
            if column == 2:
                records[record, 1] = 0
                records[record, 3] = position >> 32
            if handle != CLOSING:
                position += node_lengths[handle >> 1]


def build_path_records(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | np.ndarray | None = None,
    min_steps: int = 1,
) -> PathRecords:
    """Return the records of the paths that have at least ``min_steps`` steps.

    Positions take 32 bits, or 64 where the longest path passes 2^32 bp: two words more in each
    record, so that the kernels compiled for short paths read long ones too.

    Parameters
    ----------
    paths
        Names or indices of the paths to use; all when None.

    Raises
    ------
    ParameterError
        If a path is not in the graph.
    """
    used = np.arange(graph.n_paths) if paths is None else graph.path_indices(paths)
    counts = np.diff(graph.path_offsets)[used]
    used, counts = used[counts >= min_steps], counts[counts >= min_steps]
    step_starts = graph.path_offsets[used]
    path_starts = np.zeros(len(used) + 1, np.int64)
    np.cumsum(counts + 1, out=path_starts[1:])
    lengths = _sum_path_lengths(step_starts, counts, graph.steps, graph.node_lengths)
    n_words = 2 if lengths.max(initial=0) < 2**32 else 4
    records = np.empty((path_starts[-1], n_words), np.uint32)
    is_visited = np.zeros(graph.n_nodes, bool)
    _fill_records(records, is_visited, path_starts, step_starts, graph.steps, graph.node_lengths)
    block_starts = np.arange(0, len(records), 1 << BLOCK_BITS)
    block_paths = np.searchsorted(path_starts, block_starts, side="right") - 1
    return PathRecords(
        records=records,
        path_starts=path_starts,
        block_paths=block_paths.astype(np.int32),
        n_steps=int(counts.sum()),
        longest_path=int(counts.max(initial=0)),
        is_visited=is_visited,
    )
