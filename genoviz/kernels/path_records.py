"""Records of paths as read by CPU kernels: the position of a record, and its path."""

import numpy as np
from numba import njit

BLOCK_BITS = 10
CLOSING = 0xFFFFFFFF


@njit(nogil=True, cache=True, inline="always")
def find_path(record, path_starts, block_paths):
    """Return the path of a record."""
    path = np.int64(block_paths[record >> BLOCK_BITS])
    while path_starts[path + 1] <= record:
        path += 1
    return path


@njit(nogil=True, cache=True, inline="always")
def position(records, record):
    """Return the position at which a record begins on its path, bp."""
    # words of a record    handle  position                                     n_words = 2
    #                      handle  (high half)  position  high half of position  n_words = 4
    # A branch would prevent vectorisation, so both kinds read a high word. It is masked by
    # -(n_words >> 2): -1 (all ones) for four words, 0 for two.
    n_words = records.shape[1]
    low, high = records[record, n_words >> 1], records[record, n_words - 1]
    return np.int64(low) | (np.int64(high) & -(np.int64(n_words) >> 2)) << 32
