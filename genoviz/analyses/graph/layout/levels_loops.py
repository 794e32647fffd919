"""Loops that choose the points of coarser views of the paths, and write their records."""

import numpy as np
from numba import njit, prange

from genoviz.kernels.path_sgd import CLOSING
from genoviz.kernels.path_sgd.cpu import _position


@njit(nogil=True, cache=True)
def choose_points(records, path_starts, has_ends, spacing, levels, level):
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
def count_points(records, path_starts, has_ends, levels, level):
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
def fill_points(found, found_starts, records, path_starts, has_ends, levels, level):
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


# Compiled with genoviz/kernels/path_sgd/cpu.py: d3411de2f2bb61f1
