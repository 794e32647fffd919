"""The images of several workers become one, on the CPU."""

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


@njit(nogil=True, cache=True)
def mean_keys(sums, counts):
    """Return the key of each mean in float32; ``counts`` holds two numbers a pixel."""
    keys = np.empty(sums.shape[0], dtype=np.uint32)
    mean = np.empty(1, dtype=np.float32)
    bits = mean.view(np.uint32)
    for i in range(sums.shape[0]):
        if counts[2 * i] == 0:
            keys[i] = KEY_EMPTY if counts[2 * i + 1] == 0 else KEY_MISSING
        else:
            mean[0] = sums[i] / counts[2 * i]
            is_negative = bits[0] >> np.uint32(31)
            keys[i] = ~bits[0] if is_negative else bits[0] | np.uint32(1 << 31)
            if np.isnan(mean[0]):
                keys[i] = KEY_MISSING
    return keys
