"""The paths of a graph as the layout kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from genoviz.errors import ParameterError
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
    """

    records: np.ndarray
    path_starts: np.ndarray
    block_paths: np.ndarray
    n_steps: int
    longest_path: int


@njit(nogil=True, cache=True, parallel=True)
def _fill_records(records, path_starts, step_starts, steps, node_lengths):
    for path in prange(len(path_starts) - 1):
        position = 0
        offset = step_starts[path] - path_starts[path]
        for record in range(path_starts[path], path_starts[path + 1] - 1):
            handle = steps[record + offset]
            records[record, 0] = handle
            records[record, 1] = position
            position += node_lengths[handle >> 1]
        records[path_starts[path + 1] - 1, 0] = CLOSING
        records[path_starts[path + 1] - 1, 1] = position


def build_path_records(
    graph: PangenomeGraph, *, paths: Sequence[str | int] | None = None, min_steps: int = 1
) -> PathRecords:
    """Return the records of the paths that have at least ``min_steps`` steps.

    Positions take 32 bits, or 64 where the longest path passes 2^32 bp.

    Parameters
    ----------
    paths
        Names or indices of the paths to use; all when None.

    Raises
    ------
    ParameterError
        If a path is not in the graph.
    """
    used = np.arange(graph.n_paths) if paths is None else _path_indices(graph, paths)
    counts = np.diff(graph.path_offsets)[used]
    used, counts = used[counts >= min_steps], counts[counts >= min_steps]
    path_starts = np.zeros(len(used) + 1, np.int64)
    np.cumsum(counts + 1, out=path_starts[1:])
    fits_32_bits = graph.path_lengths[used].max(initial=0) < 2**32
    records = np.empty((path_starts[-1], 2), np.uint32 if fits_32_bits else np.int64)
    _fill_records(records, path_starts, graph.path_offsets[used], graph.steps, graph.node_lengths)
    block_starts = np.arange(0, len(records), 1 << BLOCK_BITS)
    block_paths = np.searchsorted(path_starts, block_starts, side="right") - 1
    return PathRecords(
        records=records,
        path_starts=path_starts,
        block_paths=block_paths.astype(np.int32),
        n_steps=int(counts.sum()),
        longest_path=int(counts.max(initial=0)),
    )


def _path_indices(graph: PangenomeGraph, paths: Sequence[str | int]) -> np.ndarray:
    indices = [graph.find_path(path) if isinstance(path, str) else int(path) for path in paths]
    for index in indices:
        if not 0 <= index < graph.n_paths:
            raise ParameterError(f"path {index} is not one of the graph's {graph.n_paths:,}")
    return np.unique(np.array(indices, np.int64))
