"""Oracle: sum of single effects from individual data, one effect and variant at a time."""

from __future__ import annotations

import numpy as np
from scipy import stats


def density(x, noise, variance):
    """Return the density of the data if one variant has an effect; without effect if x is 0."""
    n = len(x)
    return stats.multivariate_normal(np.zeros(n), noise * np.eye(n) + variance * np.outer(x, x))


def bayes_factor(x, residual, noise, variance):
    """Return the log Bayes factor of one variant, from the densities of the data."""
    one, none = density(x, noise, variance), density(0 * x, noise, variance)
    return one.logpdf(residual) - none.logpdf(residual)


def fit(x, y, n_effects, noise, variance, n_iterations=200):
    """Return alpha (L, m) and posterior means (L, m) for fixed variances."""
    m = x.shape[1]
    none, *each = (density(column, noise, variance) for column in np.c_[0 * y, x].T)
    alpha, means = np.full((n_effects, m), 1 / m), np.zeros((n_effects, m))
    for _ in range(n_iterations):
        for effect in range(n_effects):
            others = (alpha * means).sum(0) - alpha[effect] * means[effect]
            residual = y - x @ others
            logs = np.array([one.logpdf(residual) - none.logpdf(residual) for one in each])
            alpha[effect] = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
            for j in range(m):
                precision = x[:, j] @ x[:, j] / noise + 1 / variance
                means[effect, j] = x[:, j] @ residual / noise / precision
    return alpha, means


def posterior_of_pairs(x, y, noise, variance):
    """Return the inclusion probability of each variant, over all pairs of causal variants.

    Both effects have the same variance. All pairs are equally likely, including a variant twice.
    """
    n, m = x.shape
    logs = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            columns = x[:, [i, j]]
            cov = noise * np.eye(n) + variance * columns @ columns.T
            logs[i, j] = stats.multivariate_normal.logpdf(y, np.zeros(n), cov)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return np.array([weights[j].sum() + weights[:, j].sum() - weights[j, j] for j in range(m)])
