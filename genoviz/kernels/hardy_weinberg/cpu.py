"""The exact test of Hardy-Weinberg proportions; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import njit, prange

AS_LIKELY = 1 + 1e-9
NEGLIGIBLE = 1e-18
LARGEST = 1e300


def p_values(counts, mid_p):
    """Return the p value of each variant."""
    out = np.empty(len(counts))
    _p_values(np.ascontiguousarray(counts), mid_p, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _p_values(counts, mid_p, out):
    for j in prange(len(counts)):
        one, other = float(counts[j, 0]), float(counts[j, 3])
        heterozygotes = float(counts[j, 2])
        rarer, commoner = min(one, other), max(one, other)
        unlikely, likely, ties = 1.0, 0.0, 1.0
        for direction in (2, -2):
            sums = _sum_terms(heterozygotes, rarer, commoner, direction)
            unlikely += sums[0]
            likely += sums[1]
            ties += sums[2]
        p = (unlikely - 0.5 * ties * mid_p) / (unlikely + likely)
        out[j] = 0.0 if likely > LARGEST else min(p, 1.0)


@njit(nogil=True, cache=True)
def _sum_terms(heterozygotes, rarer, commoner, direction):
    """Return the sums of P / P(observed) to one side: as likely or less, more likely; and ties."""
    unlikely, likely, ties = 0.0, 0.0, 0.0
    term = 1.0
    while True:
        if direction > 0:
            term *= 4 * rarer * commoner / ((heterozygotes + 2) * (heterozygotes + 1))
            heterozygotes += 2
            rarer -= 1
            commoner -= 1
        else:
            term *= heterozygotes * (heterozygotes - 1) / (4 * (rarer + 1) * (commoner + 1))
            heterozygotes -= 2
            rarer += 1
            commoner += 1
        if term > AS_LIKELY:
            likely += term
            if likely > LARGEST:
                break
        else:
            unlikely += term
            ties += term > 2 - AS_LIKELY
            if term <= NEGLIGIBLE:
                break
    return unlikely, likely, ties
