"""The images of several workers merged into one, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.segment_raster import KEY_EMPTY, KEY_MISSING

PIECE = 16384


def merge(parts, keep_largest: bool):
    """Return the sum of the workers' images, or their largest numbers."""
    return parts[0] if len(parts) == 1 else _merge_in_parallel(parts, keep_largest)


@njit(nogil=True, parallel=True, cache=True)
def _merge_in_parallel(parts, keep_largest):
    n_parts, n = parts.shape
    merged = np.empty(n, dtype=parts.dtype)
    for piece in prange((n + PIECE - 1) // PIECE):
        for i in range(piece * PIECE, min(n, (piece + 1) * PIECE)):
            number = parts[0, i]
            for part in range(1, n_parts):
                number = max(number, parts[part, i]) if keep_largest else number + parts[part, i]
            merged[i] = number
    return merged


def merge_means(parts):
    """Return the key of the mean of each pixel, from the workers' images of cells.

    A cell is the float64 bits of a sum, and the numbers of segments with and without a value.
    """
    n_parts = len(parts)
    cells = parts.reshape(n_parts, -1, 4)
    sums = parts.view(np.float64).reshape(n_parts, -1, 2)
    if n_parts == 1:
        keys = np.empty(cells.shape[1], dtype=np.uint32)
        _find_keys(sums, cells, keys, 0, len(keys))
        return keys
    return _find_keys_in_parallel(sums, cells)


@njit(nogil=True, parallel=True, cache=True)
def _find_keys_in_parallel(sums, cells):
    n = cells.shape[1]
    keys = np.empty(n, dtype=np.uint32)
    for piece in prange((n + PIECE - 1) // PIECE):
        _find_keys(sums, cells, keys, piece * PIECE, min(n, (piece + 1) * PIECE))
    return keys


@njit(nogil=True, cache=True)
def _find_keys(sums, cells, keys, start, stop):
    mean = np.empty(1, dtype=np.float32)
    bits = mean.view(np.uint32)
    for i in range(start, stop):
        total, n_known, n_missing = 0.0, np.uint32(0), np.uint32(0)
        for part in range(cells.shape[0]):
            total += sums[part, i, 0]
            n_known += cells[part, i, 2]
            n_missing += cells[part, i, 3]
        if n_known == 0:
            keys[i] = KEY_EMPTY if n_missing == 0 else KEY_MISSING
        else:
            mean[0] = total / n_known
            is_negative = bits[0] >> np.uint32(31)
            keys[i] = ~bits[0] if is_negative else bits[0] | np.uint32(1 << 31)
            if np.isnan(mean[0]):
                keys[i] = KEY_MISSING
