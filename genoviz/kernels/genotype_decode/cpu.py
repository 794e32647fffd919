"""Decode packed genotypes to a dense block on all cores; see the contract in ``__init__``."""

import numpy as np
from numba import njit, prange


def decode(packed, n_samples, values):
    """Return the value of each genotype."""
    out = np.empty((len(packed), n_samples), values.dtype)
    rows = np.ascontiguousarray(packed).view()
    rows.flags.writeable = False
    _decode(rows, values, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _decode(packed, values, out):
    n_samples = out.shape[1]
    n_whole = n_samples >> 2
    for j in prange(len(packed)):
        of_byte = np.empty((256, 4), values.dtype)
        for byte in range(256):
            for place in range(4):
                of_byte[byte, place] = values[j, byte >> 2 * place & 3]
        for byte in range(n_whole):
            genotypes = packed[j, byte]
            for place in range(4):
                out[j, 4 * byte + place] = of_byte[genotypes, place]
        for i in range(4 * n_whole, n_samples):
            out[j, i] = of_byte[packed[j, i >> 2], i & 3]
