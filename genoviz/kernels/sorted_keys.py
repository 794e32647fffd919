"""Search in sorted keys for CPU kernels: the number of keys below a value, and prefix sums.

A sum is stored for each `BLOCK` of keys; the sum of the first n adds the remaining keys to it.
"""

import numpy as np
from numba import njit, prange

BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS


@njit(nogil=True, cache=True, inline="always")
def lower_bound(keys, first, last, value):
    """Return the first k in a range with ``keys[k] >= value``, or its end."""
    while first < last:
        middle = (first + last) >> 1
        if np.int64(keys[middle]) < value:
            first = middle + 1
        else:
            last = middle
    return first


@njit(nogil=True, cache=True, inline="always")
def count_below(keys, value):
    """Return the number of keys below a value."""
    return lower_bound(keys, 0, len(keys), value)


@njit(nogil=True, cache=True, parallel=True)
def block_sums(keys):
    """Return the sum of the keys before each ``BLOCK`` of them; int64."""
    n_blocks = (len(keys) + BLOCK - 1) >> BLOCK_BITS
    sums = np.zeros(n_blocks + 1, np.int64)
    for block in prange(n_blocks):
        total = np.int64(0)
        for k in range(block << BLOCK_BITS, min((block + 1) << BLOCK_BITS, len(keys))):
            total += np.int64(keys[k])
        sums[block + 1] = total
    for block in range(n_blocks):
        sums[block + 1] += sums[block]
    return sums


@njit(nogil=True, cache=True, inline="always")
def sum_of_first(keys, sums, n):
    """Return the sum of the first n keys, given their ``block_sums``."""
    total = sums[n >> BLOCK_BITS]
    for i in range((n >> BLOCK_BITS) << BLOCK_BITS, n):
        total += np.int64(keys[i])
    return total
