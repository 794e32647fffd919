"""Coarser and coarser views of the paths of a graph: fewer points, further apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.layout.path_records import PathRecords, find_block_paths
from genoviz.kernels.path_sweep import CLOSING

FACTOR = 4
MIN_POINTS = 500
MIN_SPACINGS = 8


@dataclass(frozen=True, eq=False)
class PathLevel:
    """One view of the paths; `genoviz.kernels.path_sweep` describes the arrays.

    Attributes
    ----------
    records, path_starts, block_paths
        The kernels' arguments.
    lengths
        int64, shape (n_paths,): of each path, bp.
    spacing
        How far apart its points lie on a path, about, bp.
    has_ends
        Whether the records are steps, with both ends of their nodes, as only the finest level's.
    """

    records: Any
    path_starts: Any
    block_paths: Any
    lengths: np.ndarray
    spacing: float
    has_ends: bool

    def moved(self, xp: Any) -> PathLevel:
        """Return it with its arrays where a backend has them."""
        return replace(
            self,
            records=xp.asarray(self.records),
            path_starts=xp.asarray(self.path_starts),
            block_paths=xp.asarray(self.block_paths),
        )


def build_levels(records: PathRecords, n_points: int) -> tuple[list[PathLevel], np.ndarray]:
    """Return the views of the paths, the finest first, and how coarse a view each point is in.

    Each level has points about four times as far apart as the one before, in bp: where alleles
    are short, most points are left out; long nodes keep their ends. Points are chosen path by path,
    and a path takes those that are there already, so that alleles share what they can.

    Parameters
    ----------
    records
        The steps of the paths; at least one.
    n_points
        Node ends of the graph.

    Returns
    -------
    levels
        Of which level 0 has all points.
    levels of points
        int8, shape (n_points,): the coarsest level that has a point.
    """
    lengths = _path_lengths(records)
    total = float(lengths.sum())
    spacing = max(total / (2 * records.n_steps), 1.0)
    found = [
        PathLevel(
            records.records,
            records.path_starts,
            records.block_paths,
            lengths,
            spacing,
            has_ends=True,
        )
    ]
    point_levels = np.zeros(n_points, np.int8)
    while len(found) == 1 or (
        total / (FACTOR * spacing) > MIN_POINTS
        and lengths.max() / (FACTOR * spacing) > MIN_SPACINGS
    ):
        spacing *= FACTOR
        found.append(_coarser(found[-1], point_levels, len(found), spacing))
    return found, point_levels


def _path_lengths(records: PathRecords) -> np.ndarray:
    """Return the length of each path; int64, bp."""
    closing = records.records[records.path_starts[1:] - 1].astype(np.int64)
    half = closing.shape[1] // 2
    return closing[:, half] | (closing[:, -1] << 32 if half == 2 else 0)


def _coarser(level: PathLevel, point_levels: np.ndarray, number: int, spacing: float) -> PathLevel:
    finer = level.records, level.path_starts, level.has_ends
    _choose_points(*finer, spacing, point_levels, number)
    counts = _count_points(*finer, point_levels, number)
    path_starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts + 1, out=path_starts[1:])
    records = np.empty((path_starts[-1], level.records.shape[1]), np.uint32)
    _fill_points(records, path_starts, *finer, point_levels, number)
    block_paths = find_block_paths(path_starts)
    return PathLevel(records, path_starts, block_paths, level.lengths, spacing, has_ends=False)


@njit(nogil=True, cache=True, inline="always")
def _position(records, record):
    n_words = records.shape[1]
    low, high = records[record, n_words >> 1], records[record, n_words - 1]
    return np.int64(low) | (np.int64(high) & -(np.int64(n_words) >> 2)) << 32


@njit(nogil=True, cache=True)
def _choose_points(records, path_starts, has_ends, spacing, levels, level):
    """Give points a level: on every path the first, the last, and one within each ``spacing`` bp.

    What an earlier path has chosen serves the later ones too.
    """
    n_ends = 2 if has_ends else 1
    for path in range(len(path_starts) - 1):
        first, last = path_starts[path] * n_ends, (path_starts[path + 1] - 1) * n_ends - 1
        chosen = 0
        for k in range(first, last + 1):
            record, coin = k // n_ends, k % n_ends
            point = np.int64(records[record, 0]) ^ coin
            position = _position(records, record + coin)
            if k == first or k == last or levels[point] >= level or position - chosen >= spacing:
                levels[point] = level
                chosen = position


@njit(nogil=True, cache=True, parallel=True)
def _count_points(records, path_starts, has_ends, levels, level):
    """Return how many points of a level each path has."""
    n_ends = 2 if has_ends else 1
    counts = np.zeros(len(path_starts) - 1, np.int64)
    for path in prange(len(counts)):
        n = 0
        for k in range(path_starts[path] * n_ends, (path_starts[path + 1] - 1) * n_ends):
            n += levels[np.int64(records[k // n_ends, 0]) ^ (k % n_ends)] >= level
        counts[path] = n
    return counts


@njit(nogil=True, cache=True, parallel=True)
def _fill_points(found, found_starts, records, path_starts, has_ends, levels, level):
    """Write the records of the points of a level; each path's closing record stays the last."""
    n_ends = 2 if has_ends else 1
    half = records.shape[1] // 2
    for path in prange(len(path_starts) - 1):
        n = found_starts[path]
        for k in range(path_starts[path] * n_ends, (path_starts[path + 1] - 1) * n_ends):
            record, coin = k // n_ends, k % n_ends
            point = np.int64(records[record, 0]) ^ coin
            if levels[point] >= level:
                found[n, 0] = point
                found[n, 1] = 0
                for word in range(half, 2 * half):
                    found[n, word] = records[record + coin, word]
                n += 1
        found[n, 0] = CLOSING
        found[n, 1] = 0
        for word in range(half, 2 * half):
            found[n, word] = records[path_starts[path + 1] - 1, word]
