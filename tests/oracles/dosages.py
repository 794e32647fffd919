"""Oracle: sums of dosages, sample by sample."""

from __future__ import annotations

import math


def count_dosages(dosages, copies):
    """Return the frequency of A1, the number of its copies, and the r2 of imputation.

    Parameters
    ----------
    dosages
        Of the samples, 0 to 2, NaN if missing.
    copies
        2, 1 or 0: how many copies each sample has.
    """
    n_alleles = a1_copies = 0
    taken = []
    for dosage, n in zip(dosages, copies, strict=True):
        if math.isnan(dosage) or n == 0:
            continue
        n_alleles += n
        a1_copies += dosage * n / 2
        taken.append(dosage)
    if not n_alleles:
        return math.nan, 0, math.nan
    frequency = a1_copies / n_alleles
    if {*copies} - {0} not in ({1}, {2}) or frequency in (0, 1):
        return frequency, n_alleles, math.nan
    mean = sum(taken) / len(taken)
    variance = sum((dosage - mean) ** 2 for dosage in taken) / len(taken)
    # Of n copies that are A1 with this frequency, in units of a dosage.
    expected = (2 / max(copies)) ** 2 * max(copies) * frequency * (1 - frequency)
    return frequency, n_alleles, variance / expected


def weigh_dosages(dosages, is_a2, weights):
    """Return the score of each sample, its number of alleles, and its sum of dosages."""
    scores = []
    for sample in range(len(dosages)):
        total = n_alleles = dosage_sum = 0.0
        for variant, swapped in enumerate(is_a2):
            there = [row[variant] for row in dosages if not math.isnan(row[variant])]
            own = dosages[sample][variant]
            is_missing = math.isnan(own)
            value = sum(there) / len(there) if is_missing else own
            value = 2 - value if swapped else value
            total += weights[variant] * value
            n_alleles += 2 * (not is_missing)
            dosage_sum += 0 if is_missing else value
        scores.append((total, n_alleles, dosage_sum))
    return scores
