"""Burden, SKAT, SKAT-O and their combination, from scores of variants and their covariance.

Under the null hypothesis the scores U of the m variants of a set are normal with covariance S.
With weights multiplied in::

    burden  (sum U)^2 / sum S              chi-square of 1 degree
    SKAT    Q = U'U / 2                    mixture of chi-squares, weights: eigenvalues of S / 2
    SKAT-O  the minimum over rho of p of   (1 - rho) U'U + rho (sum U)^2

The p value of the minimum is that of the normal distribution of U, without approximation: given
the sum of U, which is normal, U'U is a mixture of noncentral chi-squares. It is integrated over
the sum. R's SKAT takes the two to be independent instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from genoviz.analyses.genotypes.association.few_cases import z_of_log_p
from genoviz.analyses.genotypes.association.p_values import log_p_of_mixture, log_p_of_z
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.errors import ParameterError

RHOS = np.array([0.0, 0.01, 0.04, 0.09, 0.16, 0.25, 0.5, 1.0])
"""Shares of burden in SKAT-O, as in R's SKAT with method "optimal.adj"."""
_SMALL_LOG_P = -34.0
_NODES, _PIECE, _MAX_STEPS = 12, 1.5, 60


@dataclass(frozen=True)
class SetStatistics:
    """Tests of a set of variants; NaN where a test is not possible.

    Attributes
    ----------
    beta, standard_error
        Effect of one unit of the weighted sum of dosages, and its standard error, in units of the
        scores.
    burden_log10_p
        -log10 p of burden.
    skat_q, skat_log10_p
        Q of SKAT, and its -log10 p.
    skat_o_rho, skat_o_log10_p
        rho with the lowest p, and -log10 p of SKAT-O.
    acat_log10_p
        -log10 p of burden and SKAT by the Cauchy combination.
    """

    beta: float = np.nan
    standard_error: float = np.nan
    burden_log10_p: float = np.nan
    skat_q: float = np.nan
    skat_log10_p: float = np.nan
    skat_o_rho: float = np.nan
    skat_o_log10_p: float = np.nan
    acat_log10_p: float = np.nan


def set_statistics(
    scores: np.ndarray, covariance: np.ndarray, weights: np.ndarray | None = None
) -> SetStatistics:
    """Return burden, SKAT, SKAT-O and ACAT of a set of variants.

    Scores and covariances of several studies can be added up before, which is a meta-analysis.

    Parameters
    ----------
    scores
        float64, shape (m,): for example G'(y - p) of a logistic model.
    covariance
        float64, shape (m, m): of the scores under the null hypothesis.
    weights
        float64, shape (m,); None for ones.

    Raises
    ------
    ParameterError
        If shapes do not match.

    References
    ----------
    Wu et al. 2011, Rare-variant association testing for sequencing data with the sequence kernel
    association test, doi:10.1016/j.ajhg.2011.05.029
    Lee et al. 2012, Optimal unified approach for rare-variant association testing with application
    to small-sample case-control whole-exome sequencing studies, doi:10.1016/j.ajhg.2012.06.007
    Liu et al. 2019, ACAT: a fast and powerful p value combination method for rare-variant analysis
    in sequencing studies, doi:10.1016/j.ajhg.2019.01.002

    Examples
    --------
    >>> found = set_statistics(np.array([1.0, 3.0]), np.eye(2))
    >>> round(float(10**-found.skat_log10_p), 6), found.skat_o_rho  # exp(-5), of two equal weights
    (0.006738, 0.5)
    """
    u = np.asarray(scores, np.float64)
    within = np.asarray(covariance, np.float64)
    w = np.ones(len(u)) if weights is None else np.asarray(weights, np.float64)
    if u.ndim != 1 or within.shape != (len(u), len(u)) or w.shape != u.shape:
        raise ParameterError(
            f"scores have shape {u.shape}, their covariance {within.shape}, weights {w.shape}; "
            "need (m,), (m, m) and (m,)"
        )
    u, within = w * u, w[:, None] * within * w
    if not np.diagonal(within).any():
        return SetStatistics()
    found = burden_of(u, within)
    of_skat, of_both, rho = log_p_of_kernels(u, within)
    return with_kernels(found, of_skat, of_both, rho)


def burden_of(u: np.ndarray, within: np.ndarray) -> SetStatistics:
    """Return burden's test, and SKAT's Q, for weighted scores and their covariance."""
    variance = within.sum()
    if variance <= UNVARIED * np.abs(within).sum():
        return SetStatistics(skat_q=float(u @ u / 2))
    return SetStatistics(
        beta=u.sum() / variance,
        standard_error=1 / np.sqrt(variance),
        burden_log10_p=-float(log_p_of_z(u.sum() / np.sqrt(variance))) / np.log(10),
        skat_q=float(u @ u / 2),
    )


def with_kernels(found: SetStatistics, of_skat: float, of_both: float, rho: float) -> SetStatistics:
    """Return tests with log p of SKAT and SKAT-O, and the Cauchy combination of burden and SKAT."""
    both = np.array([-np.log(10) * found.burden_log10_p, of_skat])
    return replace(
        found,
        skat_log10_p=-of_skat / np.log(10),
        skat_o_rho=rho,
        skat_o_log10_p=-of_both / np.log(10),
        acat_log10_p=-combine_cauchy(both[np.isfinite(both)]) / np.log(10),
    )


def combine_cauchy(log_p: np.ndarray) -> float:
    """Return log p of the mean of Cauchy variables cot(pi p); for p = 1, Bonferroni's."""
    least = log_p.min()
    if log_p.max() >= 0:
        return float(min(least + np.log(len(log_p)), 0.0))
    if least > _SMALL_LOG_P:
        mean = (1 / np.tan(np.pi * np.exp(log_p))).mean()
        return float(np.log(np.arctan2(1.0, mean) / np.pi))
    # Of a small p the variable is 1 / (pi p), and p of a large mean is 1 / (pi mean).
    return float(least - np.log(np.exp(least - log_p).mean()))


def log_p_of_kernels(u: np.ndarray, within: np.ndarray) -> tuple[float, float, float]:
    """Return log p of SKAT and of SKAT-O, and rho, for weighted scores and their covariance."""
    values, vectors = np.linalg.eigh(within)
    kept = values > UNVARIED * values[-1]
    values = values[kept]
    # u = vectors sqrt(values) g with g standard normal, and sum u = along'g.
    along = vectors[:, kept].sum(0) * np.sqrt(values)
    mixtures = mixtures_of(values, along)
    q = (1 - RHOS) * (u @ u) + RHOS * u.sum() ** 2
    is_there = mixtures.max(1) > UNVARIED * values[-1]
    log_p = np.zeros(len(q))
    log_p[is_there] = log_p_of_mixture(q[is_there], mixtures[is_there])
    best = int(log_p.argmin())
    if len(values) == 1 or not is_there.all() or log_p[best] >= 0:
        return float(log_p[0]), float(log_p[0]), 0.0
    return float(log_p[0]), _log_p_of_minimum(values, along, mixtures, q, log_p), float(RHOS[best])


def mixtures_of(values: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the weights of the mixture of each rho, shape (n_rhos, m)."""
    kernels = RHOS[:, None, None] * np.outer(along, along)
    kernels += (1 - RHOS)[:, None, None] * np.diag(values)
    return np.maximum(np.linalg.eigvalsh(kernels), 0.0)


def _log_p_of_minimum(
    values: np.ndarray, along: np.ndarray, mixtures: np.ndarray, q: np.ndarray, log_p: np.ndarray
) -> float:
    """Return log P(some rho has a p as low as the lowest one)."""
    variance, least, r = along @ along, float(log_p.min()), 1 - RHOS[:-1]
    limits = _quantiles(least, mixtures[:-1], q[:-1])
    # x = sum u / its deviation; of the rest of g, the part h has the mixture U'U - constant x^2.
    beta = along / np.sqrt(variance)
    rest = np.linalg.svd(beta[None])[2][1:].T
    weights, turned = np.linalg.eigh((rest.T * values) @ rest)
    pulls = turned.T @ (rest.T @ (values * beta))
    constant = values @ beta**2 - (pulls**2 / weights).sum()
    # All p are higher if U'U stays below each of these lines in x^2, and x below its own limit.
    starts, slopes = limits / r, RHOS[:-1] * variance / r + constant
    end = min(float(z_of_log_p(np.array(least))) ** 2, float((starts / slopes).min()))
    edges = np.sqrt([0.0, *_bends(starts, slopes, end), end])
    pieces = [np.linspace(a, b, 2 + int((b - a) / _PIECE)) for a, b in pairwise(edges) if b > a]
    borders = np.unique(np.concatenate(pieces))
    nodes, shares = np.polynomial.legendre.leggauss(_NODES)
    nodes, shares = (1 + nodes) / 2, shares / 2
    # Substitutes x = b - (b - a) (1 - t)^2, since the integrand may end like a square root.
    widths = np.diff(borders)[:, None]
    x = (borders[1:, None] - widths * (1 - nodes) ** 2).ravel()
    shares = (2 * widths * (1 - nodes) * shares).ravel()
    levels = (starts - slopes * x[:, None] ** 2).min(1)
    shifts = x[:, None] ** 2 * (pulls / weights) ** 2
    tails = log_p_of_mixture(np.maximum(levels, 0.0), weights, shifts)
    logs = np.log(2 * shares / np.sqrt(2 * np.pi)) - x**2 / 2 + tails
    logs = np.append(logs, log_p_of_z(np.sqrt(end)))
    return float(min(logs.max() + np.log(np.exp(logs - logs.max()).sum()), 0.0))


def _bends(starts: np.ndarray, slopes: np.ndarray, end: float) -> list[float]:
    """Return where the lowest of the lines starts - slopes y changes, between 0 and an end."""
    found, y, k = [], 0.0, int(starts.argmin())
    while True:
        steeper = np.flatnonzero(slopes > slopes[k])
        if not len(steeper):
            return found
        places = (starts[steeper] - starts[k]) / (slopes[steeper] - slopes[k])
        y = max(y, float(places.min()))
        if y >= end:
            return found
        found.append(y)
        k = int(steeper[places.argmin()])


def _quantiles(log_p: float, mixtures: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the q of mixtures (k, m) that have a log p, by Newton's method in the root of q.

    The logarithm of the tail of a norm is concave, so steps do not pass the solution twice.
    """
    root = np.sqrt(np.maximum(q, mixtures.sum(1)))
    for _ in range(_MAX_STEPS):
        near = root * (1 + 1e-5)
        both = log_p_of_mixture(np.append(root, near) ** 2, np.tile(mixtures, (2, 1)))
        now, then = both.reshape(2, -1)
        step = (log_p - now) * (near - root) / (then - now)
        root = np.maximum(root + step, root / 4)
        if (np.abs(now - log_p) <= 1e-10 * max(1.0, -log_p)).all():
            break
    return root**2
