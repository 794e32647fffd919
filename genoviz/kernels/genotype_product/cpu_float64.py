"""Products of packed genotypes in float64, genotype by genotype, for columns that are wide.

Each genotype counts what its code does, times the dense row, as in a dense matrix: so terms of 0
add nothing to the error, and infinities and NaN come out as NumPy has them. Sums of 1,024 terms are
made before they are added up, which keeps errors below 1e-12 of the sum of magnitudes of terms.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.genotype_product.cpu_blocks import read_only

CHUNK = 1024
BYTES = 64
"""Bytes of packed samples that a thread sums up at a time."""


def multiply(packed, n_samples, values, right):
    """Return Z @ right."""
    out = np.zeros((n_samples, right.shape[1]))
    columns = np.ascontiguousarray(right, np.float64)
    _multiply(read_only(packed), np.ascontiguousarray(values), columns, out)
    return out.astype(right.dtype, copy=False)


def multiply_transposed(packed, n_samples, values, left):
    """Return Z.T @ left."""
    out = np.zeros((len(packed), left.shape[1]))
    columns = np.ascontiguousarray(left[:n_samples], np.float64)
    _multiply_transposed(read_only(packed), np.ascontiguousarray(values), columns, out)
    return out.astype(left.dtype, copy=False)


@njit(nogil=True, cache=True, parallel=True)
def _multiply(packed, values, right, out):
    n_samples, k = out.shape
    for block in prange(-(-n_samples // (4 * BYTES))):
        first = 4 * BYTES * block
        n_here = min(4 * BYTES, n_samples - first)
        sums = np.empty((n_here, k))
        for start in range(0, len(packed), CHUNK):
            sums[:] = 0.0
            for j in range(start, min(start + CHUNK, len(packed))):
                for i in range(n_here):
                    sample = first + i
                    code = packed[j, sample >> 2] >> 2 * (sample & 3) & 3
                    for column in range(k):
                        sums[i, column] += values[j, code] * right[j, column]
            out[first : first + n_here] += sums


@njit(nogil=True, cache=True, parallel=True)
def _multiply_transposed(packed, values, left, out):
    k = out.shape[1]
    for j in prange(len(packed)):
        for start in range(0, len(left), CHUNK):
            sums = np.zeros(k)
            for i in range(start, min(start + CHUNK, len(left))):
                code = packed[j, i >> 2] >> 2 * (i & 3) & 3
                for column in range(k):
                    sums[column] += values[j, code] * left[i, column]
            out[j] += sums
