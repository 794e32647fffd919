"""Oracle: relationships by the tabular method, and group contributions, animal by animal."""

from __future__ import annotations

import numpy as np


def relationships(sires, dams):
    """Return A: float64 (n, n)."""
    n = len(sires)
    table = np.zeros((n, n))
    for i in range(n):
        sire, dam = sires[i], dams[i]
        for j in range(i):
            of_sire = table[j, sire] if sire >= 0 else 0
            of_dam = table[j, dam] if dam >= 0 else 0
            table[i, j] = table[j, i] = (of_sire + of_dam) / 2
        table[i, i] = 1 + (table[sire, dam] / 2 if min(sire, dam) >= 0 else 0)
    return table


def metafounder_relationships(sires, dams, gamma):
    """Return A^Gamma, metafounders first: float64 (n_groups + n, n_groups + n).

    Parents are -1 if unknown and unrelated, or -2 - g for metafounder g.
    """
    n_groups, n = len(gamma), len(sires)
    table = np.zeros((n_groups + n, n_groups + n))
    table[:n_groups, :n_groups] = gamma
    for i in range(n):
        row = n_groups + i
        parents = [
            n_groups + p if p >= 0 else -2 - p for p in (int(sires[i]), int(dams[i])) if p != -1
        ]
        for parent in parents:
            table[row, :row] += table[parent, :row] / 2
        table[:row, row] = table[row, :row]
        table[row, row] = 1 + (table[tuple(parents)] / 2 if len(parents) == 2 else 0)
    return table


def group_shares(sires, dams, n_groups):
    """Return Q: float64 (n, n_groups); parents are -1 if unknown, or -2 - g for group g."""
    shares = np.zeros((len(sires), n_groups))
    for i, parents in enumerate(zip(sires, dams, strict=True)):
        for parent in parents:
            if parent >= 0:
                shares[i] += shares[parent] / 2
            elif parent < -1:
                shares[i, -2 - parent] += 1 / 2
    return shares
