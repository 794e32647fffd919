"""The exact test of Hardy-Weinberg proportions; the contract is in this folder's ``__init__``."""

from math import exp, lgamma, log

import numpy as np
from numba import njit, prange

AS_LIKELY = 1 + 1e-9
NEGLIGIBLE = 1e-18
LARGEST = 1e300
AS_LIKELY_AT_X = 1 + 1e-7


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
    """Return sums of P / P(observed) on one side: at most as likely, more likely; and ties."""
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


def p_values_of_x(counts, of_males, mid_p):
    """Return the p value of each variant of X."""
    out = np.empty(len(counts))
    _p_values_of_x(np.ascontiguousarray(counts), np.ascontiguousarray(of_males), mid_p, out)
    return out


@njit(nogil=True, cache=True, parallel=True)
def _p_values_of_x(counts, of_males, mid_p, out):
    for j in prange(len(counts)):
        males, others = of_males[j, 0], of_males[j, 3]
        out[j] = _p_value_of_x(
            counts[j, 0], counts[j, 2], counts[j, 3], males, males + others, mid_p
        )


@njit(nogil=True, cache=True)
def _p_value_of_x(one, heterozygotes, other, males_with, n_males, mid_p):
    """Sum the rows with an equal number of A1 males, from the likeliest row outwards."""
    n_females = one + heterozygotes + other
    n_one = 2 * one + heterozygotes + males_with
    n_all = n_males + 2 * n_females
    facts = (n_one, n_females, n_males, _log_constant(n_one, n_all, n_females, n_males))
    observed = exp(_log_probability(facts, males_with, heterozygotes))
    if observed < 1 / LARGEST:
        return 0.0
    minimum, maximum = max(0, n_one - 2 * n_females), min(n_one, n_males)
    middle = min(max(n_males * n_one // max(n_all, 1), minimum), maximum)
    total = ties = 0.0
    for direction in (1, -1):
        males = middle if direction > 0 else middle - 1
        while minimum <= males <= maximum:
            sums = _sum_row(facts, males, observed)
            total += sums[0]
            ties += sums[1]
            if sums[2] < observed * NEGLIGIBLE:
                break
            males += direction
    return min(total - 0.5 * ties * mid_p, 1.0)


@njit(nogil=True, cache=True)
def _log_constant(n_one, n_all, n_females, n_males):
    alleles = lgamma(n_one + 1.0) + lgamma(n_all - n_one + 1.0) - lgamma(n_all + 1.0)
    return alleles + lgamma(n_females + 1.0) + lgamma(n_males + 1.0)


@njit(nogil=True, cache=True)
def _log_probability(facts, males, heterozygotes):
    n_one, n_females, n_males, constant = facts
    one = (n_one - males - heterozygotes) // 2
    other = n_females - one - heterozygotes
    below = lgamma(males + 1.0) + lgamma(n_males - males + 1.0)
    below += lgamma(one + 1.0) + lgamma(heterozygotes + 1.0) + lgamma(other + 1.0)
    return constant + heterozygotes * log(2.0) - below


@njit(nogil=True, cache=True)
def _sum_row(facts, males, observed):
    """Return a row's sums of P: at most as likely as observed, and ties; and its largest P."""
    n_one, n_females = facts[0], facts[1]
    alleles = n_one - males
    maximum = min(alleles, 2 * n_females - alleles)
    middle = alleles * (2 * n_females - alleles) // max(2 * n_females, 1)
    middle = min(middle - (middle - maximum) % 2, maximum)
    middle = middle if middle >= 0 else middle + 2
    largest = exp(_log_probability(facts, males, middle))
    total = ties = 0.0
    for direction in (2, -2):
        heterozygotes, term = middle, largest
        while True:
            one = (alleles - heterozygotes) / 2
            other = n_females - one - heterozygotes
            if direction > 0:
                step = 4 * one * other / ((heterozygotes + 2.0) * (heterozygotes + 1.0))
            else:
                step = heterozygotes * (heterozygotes - 1.0) / (4 * (one + 1) * (other + 1))
            is_counted = direction > 0 or heterozygotes != middle
            if is_counted and term <= observed * AS_LIKELY_AT_X:
                total += term
                ties += term * (term >= observed * (2 - AS_LIKELY_AT_X))
            heterozygotes += direction
            term *= step
            if term <= observed * NEGLIGIBLE:
                break
    return total, ties, largest
