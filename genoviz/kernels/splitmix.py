"""Random bits of SplitMix64 for kernels on the CPU; sources for GPUs have the same constants.

A state goes up by `GOLDEN` from one number to the next, so that a generator needs no memory: any
function of seed and place can be its first state.

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
    """Return a number from 0 to below 1, all 2^53 of them alike, of 64 random bits."""
    return np.float64(bits >> _S11) * _UNIT


@njit(nogil=True, cache=True, inline="always")
def scramble(number):
    """Return 64 random-looking bits for a whole number, as hashes need them."""
    return mix(np.uint64(number) + GOLDEN)
