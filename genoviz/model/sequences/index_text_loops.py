"""Compiled loops over the symbols of an index's text."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def unpack(packed, start, symbols):
    """Fill symbols of a packed text from a position on, 0 to 3 each."""
    for k in range(len(symbols)):
        position = start + k
        symbols[k] = (packed[position >> 5] >> np.uint64(62 - 2 * (position & 31))) & np.uint64(3)
