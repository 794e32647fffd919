"""The sum of single effects with the samples themselves, an effect and a variant at a time."""

from __future__ import annotations

import numpy as np
from scipy import stats


def density(x, noise, variance):
    """Return the density of the samples where one variant has an effect; none where x is 0."""
    n = len(x)
    return stats.multivariate_normal(np.zeros(n), noise * np.eye(n) + variance * np.outer(x, x))


def bayes_factor(x, residual, noise, variance):
    """Return the log Bayes factor of one variant, by the densities of the samples."""
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
    """Return the inclusion of each variant, over all pairs of variants that two effects can have.

    Both effects are of the same variance, and any two variants as likely, the same one twice too.
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
