"""Products over the samples without a genotype; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import njit, prange


def missing_products(packed, n_samples, columns):
    """Return the sums of products of each variant."""
    out = np.zeros((len(packed), columns.shape[1], columns.shape[1]))
    rows = np.ascontiguousarray(packed).view()
    rows.flags.writeable = False
    _add_products(rows, n_samples, columns, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _add_products(packed, n_samples, columns, out):
    k = columns.shape[1]
    for j in prange(len(packed)):
        sums = np.zeros((k, k))
        for byte in range(packed.shape[1]):
            genotypes = packed[j, byte]
            if genotypes & ~(genotypes >> 1) & 0x55:
                for place in range(4):
                    i = 4 * byte + place
                    if i < n_samples and genotypes >> 2 * place & 3 == 1:
                        for a in range(k):
                            for b in range(k):
                                sums[a, b] += columns[i, a] * columns[i, b]
        for a in range(k):
            for b in range(k):
                out[j, a, b] = sums[a, b]
