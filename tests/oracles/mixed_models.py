"""Mixed model equations, inflated and solved directly."""

from __future__ import annotations

import numpy as np


def centred(dosages):
    """Return Z and 2 sum p(1 - p) of counts of A1 with NaN where missing."""
    means = np.nanmean(dosages, axis=0)
    frequencies = means / 2
    z = np.where(np.isnan(dosages), 0.0, dosages - means)
    return z, 2 * (frequencies * (1 - frequencies)).sum()


def solve(phenotype, design, incidence, inverse, ratio):
    """Return fixed and random effects of y = Xb + Wu + e, u ~ N(0, K vg), given K^-1 or its like.

    Rows with a NaN are left out.
    """
    used = ~np.isnan(phenotype) & ~np.isnan(design).any(axis=1)
    y, x, w = phenotype[used], design[used], incidence[used]
    left = np.block([[x.T @ x, x.T @ w], [w.T @ x, w.T @ w + ratio * inverse]])
    found = np.linalg.solve(left, np.concatenate([x.T @ y, w.T @ y]))
    return np.split(found, [x.shape[1]])


def single_step_inverse(relationships, genotyped, z, scale, weight):
    """Return H^-1 and the inverse of the genomic relationships, with all matrices dense."""
    among = relationships[np.ix_(genotyped, genotyped)]
    genomic = np.linalg.inv((1 - weight) * z @ z.T / scale + weight * among)
    inverse = np.linalg.inv(relationships)
    inverse[np.ix_(genotyped, genotyped)] += genomic - np.linalg.inv(among)
    return inverse, genomic
