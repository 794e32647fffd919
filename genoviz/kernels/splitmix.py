"""Random bits of SplitMix64 for kernels on the CPU; GPU sources have the same constants.

The state grows by `GOLDEN` from one number to the next, so a generator needs no memory: any
function of seed and index can serve as its first state.

References
----------
Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014.
https://doi.org/10.1145/2660193.2660195
"""

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 2.0**-53


@njit(nogil=True, cache=True, inline="always")
def mix(state):
    """Return the generator's 64 bits for a state."""
    state = (state ^ (state >> _S30)) * _MIX_1
    state = (state ^ (state >> _S27)) * _MIX_2
    return state ^ (state >> _S31)


@njit(nogil=True, cache=True, inline="always")
def fraction(bits):
    """Return a uniform float64 in [0, 1), a multiple of 2^-53, from 64 random bits."""
    return np.float64(bits >> _S11) * _UNIT


@njit(nogil=True, cache=True, inline="always")
def scramble(number):
    """Return a 64-bit hash of an integer."""
    return mix(np.uint64(number) + GOLDEN)
