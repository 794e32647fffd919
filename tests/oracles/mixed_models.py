"""Oracle: mixed model equations, set up densely and solved directly."""

from __future__ import annotations

import numpy as np


def centred(dosages):
    """Return Z and 2 sum p(1 - p) from numbers of A1 copies with NaN for missing."""
    means = np.nanmean(dosages, axis=0)
    frequencies = means / 2
    z = np.where(np.isnan(dosages), 0.0, dosages - means)
    return z, 2 * (frequencies * (1 - frequencies)).sum()


def centred_by_half(dosages):
    """Return Z and half the number of variants, with all frequencies 1/2."""
    means = np.nanmean(dosages, axis=0)
    return np.where(np.isnan(dosages), means, dosages) - 1, dosages.shape[1] / 2


def solve(phenotype, design, incidence, inverse, ratio):
    """Return fixed and random effects of y = Xb + Wu + e, u ~ N(0, K vg), given K^-1.

    Rows with NaN are omitted.
    """
    used = ~np.isnan(phenotype) & ~np.isnan(design).any(axis=1)
    y, x, w = phenotype[used], design[used], incidence[used]
    left = np.block([[x.T @ x, x.T @ w], [w.T @ x, w.T @ w + ratio * inverse]])
    found = np.linalg.solve(left, np.concatenate([x.T @ y, w.T @ y]))
    return np.split(found, [x.shape[1]])


def solve_records(phenotype, design, incidence, inverse, ratios, weights):
    """Return fixed effects, breeding values and permanent effects, by Henderson's equations.

    y = Xb + Wu + Wp + e. The ratios are ve to the variances of u and of p, and e has variance ve /
    weight. Rows with NaN are omitted.
    """
    used = ~np.isnan(phenotype) & ~np.isnan(design).any(axis=1) & ~np.isnan(weights)
    x, w = design[used], incidence[used]
    rows = np.hstack([x, w, w])
    n, m = x.shape[1], w.shape[1]
    left = rows.T @ np.diag(weights[used]) @ rows
    left[n : n + m, n : n + m] += ratios[0] * inverse
    left[n + m :, n + m :] += ratios[1] * np.eye(m)
    found = np.linalg.solve(left, rows.T @ (weights[used] * phenotype[used]))
    return np.split(found, [n, n + m])


def solve_traits(values, design, incidence, owners, covariances, weights, inverse=None):
    """Return fixed, random and permanent effects of several traits, by Henderson's equations.

    Within records (rows) and effects (columns), traits vary fastest. Random effects have incidence
    matrix ``incidence`` and covariance G0 x K, given K^-1 (I if None). Permanent effects, if any,
    have incidence matrix ``owners`` and covariance P0 x I. Residuals of a record have covariance R0
    / weight over its traits.
    """
    genetic, residual, permanent = covariances
    n, n_traits = values.shape
    columns = [design, incidence] + ([] if owners is None else [owners])
    rows = np.kron(np.hstack(columns), np.eye(n_traits))
    precision = np.zeros((n * n_traits, n * n_traits))
    for record, has in enumerate(~np.isnan(values)):
        there = record * n_traits + np.flatnonzero(has)
        precision[np.ix_(there, there)] = weights[record] * np.linalg.inv(
            residual[np.ix_(has, has)]
        )
    left = rows.T @ precision @ rows
    n_fixed, n_random = design.shape[1], incidence.shape[1]
    first, second = n_fixed * n_traits, (n_fixed + n_random) * n_traits
    inverse = np.eye(n_random) if inverse is None else inverse
    left[first:second, first:second] += np.kron(inverse, np.linalg.inv(genetic))
    if owners is not None:
        left[second:, second:] += np.kron(np.eye(owners.shape[1]), np.linalg.inv(permanent))
    right = rows.T @ precision @ np.nan_to_num(values).ravel()
    found = np.linalg.lstsq(left, right, rcond=1e-12)[0].reshape(-1, n_traits)
    return np.split(found, [n_fixed, n_fixed + n_random])


def single_step_inverse(relationships, genotyped, z, scale, weight):
    """Return H^-1 and the inverse of the genomic relationships, with dense matrices."""
    among = relationships[np.ix_(genotyped, genotyped)]
    genomic = np.linalg.inv((1 - weight) * z @ z.T / scale + weight * among)
    inverse = np.linalg.inv(relationships)
    inverse[np.ix_(genotyped, genotyped)] += genomic - np.linalg.inv(among)
    return inverse, genomic


def projection(covariance, design):
    """Return P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1."""
    inverse = np.linalg.inv(covariance)
    return inverse - inverse @ design @ np.linalg.solve(
        design.T @ inverse @ design, design.T @ inverse
    )


def covariance_of(variances, relationships):
    """Return V = sum_k v_k K_k + v_e I."""
    n = len(relationships[0])
    return sum(v * k for v, k in zip(variances, [*relationships, np.eye(n)], strict=True))


def restricted_likelihood(variances, phenotype, design, relationships):
    """Return -(log |V| + log |X'V^-1 X| + y'Py) / 2."""
    covariance = covariance_of(variances, relationships)
    inner = design.T @ np.linalg.inv(covariance) @ design
    quadratic = phenotype @ projection(covariance, design) @ phenotype
    return -(np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inner)[1] + quadratic) / 2


def reml(phenotype, design, relationships):
    """Return the variances that maximize the restricted likelihood, and average information.

    The optimizer is derivative-free.
    """
    from scipy.optimize import minimize

    start = np.log(np.full(len(relationships) + 1, phenotype.var() / (len(relationships) + 1)))
    found = minimize(
        lambda logs: -restricted_likelihood(np.exp(logs), phenotype, design, relationships),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5000},
    )
    variances = np.exp(found.x)
    p = projection(covariance_of(variances, relationships), design)
    ways = [k @ p @ phenotype for k in [*relationships, np.eye(len(p))]]
    return variances, np.array([[a @ p @ b / 2 for b in ways] for a in ways])


def generalised_least_squares(phenotype, design, covariance):
    """Return coefficient and standard error of the design's last column, given V."""
    inverse = np.linalg.inv(covariance)
    spread = np.linalg.inv(design.T @ inverse @ design)
    return (spread @ design.T @ inverse @ phenotype)[-1], np.sqrt(spread[-1, -1])


def logistic_mixed(y, design, relationships, variance):
    """Return fixed effects, fitted probabilities and P of a logistic mixed model, by its variance.

    Penalised quasi-likelihood: the working response has the covariance diag(1 / w) + K variance.
    """
    logits = np.zeros(len(y))
    for _ in range(200):
        p = 1 / (1 + np.exp(-logits))
        w = p * (1 - p)
        working = logits + (y - p) / w
        covariance = np.diag(1 / w) + variance * relationships
        inverse = np.linalg.inv(covariance)
        fixed = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ working)
        effects = variance * relationships @ inverse @ (working - design @ fixed)
        old, logits = logits, design @ fixed + effects
        if np.abs(logits - old).max() < 1e-12:
            break
    return fixed, p, projection(covariance, design), working


def logistic_reml(y, design, relationships):
    """Return the variance at which the derivative of the restricted likelihood is 0, or 0.

    The likelihood is that of the working response of this variance.
    """
    from scipy.optimize import brentq

    def slope(variance):
        *_, p, working = logistic_mixed(y, design, relationships, variance)
        way = p @ working
        return way @ relationships @ way - np.trace(p @ relationships)

    return brentq(slope, 0, 20, xtol=1e-11) if slope(0.0) > 0 else 0.0
