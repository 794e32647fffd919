"""Numba version of the contract in ``genoviz.kernels.pedigree_inbreeding``."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def inbreeding(sires, dams, of_groups, group_coefficients, coefficients):
    """Fill ``coefficients``."""
    n_animals = len(sires)
    generations = count_generations(sires, dams)
    variances = np.empty(n_animals)
    shares = np.zeros(n_animals)
    # Linked lists of the ancestors met: the last one of each generation, and its predecessor.
    heads = np.full(n_animals + 1, -1)
    before = np.empty(n_animals, np.int64)
    for i in range(n_animals):
        sire, dam = sires[i], dams[i]
        of_sire = _coefficient(sire, coefficients, group_coefficients)
        of_dam = _coefficient(dam, coefficients, group_coefficients)
        variances[i] = 0.5 - 0.25 * (of_sire + of_dam)
        if of_sire == -1.0 or of_dam == -1.0:  # an unrelated parent
            coefficients[i] = 0.0
        elif i > 0 and sires[i - 1] == sire and dams[i - 1] == dam:
            coefficients[i] = coefficients[i - 1]
        else:
            coefficients[i] = of_groups[i] + _follow(
                i, sires, dams, generations, variances, shares, heads, before
            )


@njit(nogil=True, cache=True)
def relate(sires, dams, variances, columns):
    """Multiply the relationships with columns, in place."""
    n_animals, n_columns = columns.shape
    for i in range(n_animals - 1, -1, -1):
        for parent in (sires[i], dams[i]):
            if parent >= 0:
                for k in range(n_columns):
                    columns[parent, k] += 0.5 * columns[i, k]
    for i in range(n_animals):
        for k in range(n_columns):
            columns[i, k] *= variances[i]
        for parent in (sires[i], dams[i]):
            if parent >= 0:
                for k in range(n_columns):
                    columns[i, k] += 0.5 * columns[parent, k]


@njit(nogil=True, cache=True)
def count_generations(sires, dams):
    """Return the longest path up from each animal, 0 for founders."""
    generations = np.zeros(len(sires), np.int64)
    for i in range(len(sires)):
        for parent in (sires[i], dams[i]):
            if parent >= 0:
                generations[i] = max(generations[i], generations[parent] + 1)
    return generations


@njit(nogil=True, cache=True)
def _coefficient(parent, coefficients, group_coefficients):
    if parent >= 0:
        return coefficients[parent]
    return group_coefficients[-2 - parent] if parent < -1 else -1.0


@njit(nogil=True, cache=True)
def _follow(animal, sires, dams, generations, variances, shares, heads, before):
    """Return the coefficient of an animal; resets ``shares`` to 0 and ``heads`` to -1."""
    coefficient = -1.0
    shares[animal] = 1.0
    before[animal] = -1
    heads[generations[animal]] = animal
    for generation in range(generations[animal], -1, -1):
        j = heads[generation]
        heads[generation] = -1
        while j >= 0:
            for parent in (sires[j], dams[j]):
                if parent >= 0:
                    if shares[parent] == 0.0:
                        before[parent] = heads[generations[parent]]
                        heads[generations[parent]] = parent
                    shares[parent] += 0.5 * shares[j]
            coefficient += shares[j] * shares[j] * variances[j]
            shares[j] = 0.0
            j = before[j]
    return coefficient
