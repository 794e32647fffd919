"""A number for the bases of nodes that a site reads, the same from whichever side."""

from __future__ import annotations

import numpy as np
from numba import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def hash_sites(handles, node_lengths, steps, firsts, lengths, strands, keys):
    """Hash where sites begin and the handles that they read, 5' to 3' of the guide.

    Of 10^7 different sites, two share a number with a probability of 3e-6.

    Parameters
    ----------
    handles
        uint32: what paths read, in the order in which they are walked.
    node_lengths
        int64, bp.
    steps, firsts, lengths
        int64, shape (n,): first step, first base in it and bases of each site.
    strands
        int8, shape (n,): 1 where the guide reads along the walk, else -1.
    keys
        uint64, shape (n,): filled.
    """
    for row in range(len(steps)):
        step, inside, n_left = steps[row], firsts[row], lengths[row]
        forward = backward = np.uint64(0)
        power = np.uint64(1)
        n_over = inside + n_left
        while n_over > 0:
            handle = handles[step]
            length = node_lengths[handle >> 1]
            if length > 0:
                forward = forward * _MULTIPLIER + np.uint64(handle + 1)
                backward += power * np.uint64((handle ^ 1) + 1)
                power *= _MULTIPLIER
            n_over -= length
            step += 1
        # What is left of the last node is where the other strand begins.
        key, place = (forward, inside) if strands[row] > 0 else (backward, -n_over)
        key = (key ^ (key >> np.uint64(31))) * _MULTIPLIER + np.uint64(place)
        keys[row] = (key ^ (key >> np.uint64(29))) * _MULTIPLIER
