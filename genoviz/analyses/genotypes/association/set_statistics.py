"""Burden, SKAT, SKAT-O and their combination, from scores of variants and their covariance.

Under the null hypothesis the scores U of the m variants of a set are normal with covariance S.
With weights multiplied in::

    burden  (sum U)^2 / sum S              chi-square of 1 degree
    SKAT    Q = U'U / 2                    mixture of chi-squares, weights: eigenvalues of S / 2
    SKAT-O  the minimum over rho of p of   (1 - rho) U'U + rho (sum U)^2
    ACAT-V  the mean of cot(pi p) of single variants, and of the burden of the rarest ones

The p value of the minimum is that of the normal distribution of U, without approximation: given
the sum of U, which is normal, U'U is a mixture of noncentral chi-squares. It is integrated over
the sum. R's SKAT takes the two to be independent instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from genoviz.analyses.genotypes.association.p_values import log_p_of_mixture, log_p_of_z
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.association.saddle_point import NORMAL_BELOW, z_of_log_p
from genoviz.errors import ParameterError
from genoviz.model.columns import distinct

RHOS = np.array([0.0, 0.01, 0.04, 0.09, 0.16, 0.25, 0.5, 1.0])
"""Shares of burden in SKAT-O, as in R's SKAT with method "optimal.adj"."""
RARE_COUNT = 10
"""ACAT-V tests variants of at most this many minor alleles together."""
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
    acat_v_log10_p
        -log10 p of ACAT-V; NaN also without frequencies.
    """

    beta: float = np.nan
    standard_error: float = np.nan
    burden_log10_p: float = np.nan
    skat_q: float = np.nan
    skat_log10_p: float = np.nan
    skat_o_rho: float = np.nan
    skat_o_log10_p: float = np.nan
    acat_log10_p: float = np.nan
    acat_v_log10_p: float = np.nan


def set_statistics(
    scores: np.ndarray,
    covariance: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    frequencies: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> SetStatistics:
    """Return burden, SKAT, SKAT-O, ACAT and ACAT-V of a set of variants.

    Scores and covariances of several studies can be added up before, which is a meta-analysis.

    Parameters
    ----------
    scores
        float64, shape (m,): for example G'(y - p) of a logistic model.
    covariance
        float64, shape (m, m): of the scores under the null hypothesis.
    weights
        float64, shape (m,); None for ones.
    frequencies, counts
        float64, shape (m,): minor allele frequencies, and counts of minor alleles in the samples;
        ACAT-V needs both.

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
    of_variants = np.nan
    if frequencies is not None and counts is not None:
        of_variants = acat_v(u, within, w, frequencies, counts)
    u, within = w * u, w[:, None] * within * w
    if not np.diagonal(within).any():
        return SetStatistics()
    found = burden_of(u, within)
    of_skat, of_both, rho = log_p_of_kernels(u, within)
    found = with_kernels(found, of_skat, of_both, rho)
    return replace(found, acat_v_log10_p=of_variants)


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


def acat_v(
    scores: np.ndarray,
    covariance: np.ndarray,
    weights: np.ndarray,
    frequencies: np.ndarray,
    counts: np.ndarray,
    log_p_of: Callable[[np.ndarray, np.ndarray], float] | None = None,
) -> float:
    """Return -log10 p of ACAT-V, NaN if nothing varies.

    A variant has the share w^2 f (1 - f); variants of at most 10 minor alleles are tested by their
    burden, with the means of w and f. ``log_p_of`` returns log p of the weighted sum of some
    variants (indices and weights) where the normal approximation is too rough.
    """
    rare = np.flatnonzero((counts <= RARE_COUNT) & (weights > 0))
    groups = [np.array([k]) for k in np.flatnonzero((counts > RARE_COUNT) & (weights > 0))]
    groups += [rare] if len(rare) else []
    log_p, shares = [], []
    for group in groups:
        w, within = weights[group], covariance[np.ix_(group, group)]
        variance, f = w @ within @ w, frequencies[group].mean()
        if variance > UNVARIED * (w @ np.abs(within) @ w):
            z = w @ scores[group] / np.sqrt(variance)
            is_near = log_p_of is None or abs(z) <= NORMAL_BELOW
            log_p.append(float(log_p_of_z(z)) if is_near else log_p_of(group, w))
            shares.append(w.mean() ** 2 * f * (1 - f))
    return -combine_cauchy(np.array(log_p), np.array(shares)) / np.log(10) if log_p else np.nan


def combine_cauchy(log_p: np.ndarray, shares: np.ndarray | None = None) -> float:
    """Return log p of the mean of Cauchy variables cot(pi p); for p = 1, Bonferroni's.

    ``shares`` are positive weights of the mean.
    """
    shares = np.ones(len(log_p)) if shares is None else shares
    shares = shares / shares.sum()
    minimum = log_p.min()
    if log_p.max() >= 0:
        return float(min((log_p - np.log(shares)).min(), 0.0))
    if minimum > _SMALL_LOG_P:
        mean = shares @ (1 / np.tan(np.pi * np.exp(log_p)))
        return float(np.log(np.arctan2(1.0, mean) / np.pi))
    # Of a small p the variable is 1 / (pi p), and p of a large mean is 1 / (pi mean).
    return float(minimum - np.log(shares @ np.exp(minimum - log_p)))


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
    variance, minimum, r = along @ along, float(log_p.min()), 1 - RHOS[:-1]
    limits = _quantiles(minimum, mixtures[:-1], q[:-1])
    # x = sum u / its deviation; of the rest of g, the part h has the mixture U'U - constant x^2.
    beta = along / np.sqrt(variance)
    rest = np.linalg.svd(beta[None])[2][1:].T
    weights, turned = np.linalg.eigh((rest.T * values) @ rest)
    pulls = turned.T @ (rest.T @ (values * beta))
    constant = values @ beta**2 - (pulls**2 / weights).sum()
    # All p are higher if U'U stays below each of these lines in x^2, and x below its own limit.
    starts, slopes = limits / r, RHOS[:-1] * variance / r + constant
    end = min(float(z_of_log_p(np.array(minimum))) ** 2, float((starts / slopes).min()))
    edges = np.sqrt([0.0, *_bends(starts, slopes, end), end])
    pieces = [np.linspace(a, b, 2 + int((b - a) / _PIECE)) for a, b in pairwise(edges) if b > a]
    borders = distinct(np.concatenate(pieces))
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


class Comparison:
    """Statistics that draws of scores are compared by.

    They are (sum U)^2 for burden, U'U for SKAT, and -log of the lowest p for SKAT-O. This p, of
    each rho, is that of a chi-square with the mean, variance and kurtosis of the mixture.
    """

    def __init__(self, within: np.ndarray) -> None:
        values, vectors = np.linalg.eigh(within)
        self._values = values = np.maximum(values, 0)
        mixtures = mixtures_of(values, vectors.sum(0) * np.sqrt(values))
        is_there = mixtures.max(1) > UNVARIED * values[-1]
        self._rhos, mixtures = RHOS[is_there], mixtures[is_there]
        self._means, squares = mixtures.sum(1), (mixtures**2).sum(1)
        self._deviations = np.sqrt(2 * squares)
        self._degrees = squares**2 / (mixtures**4).sum(1)

    def _log_p(self, scores: np.ndarray) -> np.ndarray:
        """Return log p of scores (n, m) for each rho, at least -690: (n, n_rhos)."""
        from scipy.special import chdtrc

        q = (scores**2).sum(1)[:, None] * (1 - self._rhos)
        q += scores.sum(1)[:, None] ** 2 * self._rhos
        x = (q - self._means) / self._deviations * np.sqrt(2 * self._degrees) + self._degrees
        return np.log(np.maximum(chdtrc(self._degrees, np.maximum(x, 0)), 1e-300))

    def observe(self, scores: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the statistics of scores (m,), and rho with the lowest p."""
        log_p = self._log_p(scores[None])[0]
        rho = float(self._rhos[log_p.argmin()])
        return np.array([scores.sum() ** 2, scores @ scores, -log_p.min()]), rho

    def statistics(self, scores: np.ndarray) -> np.ndarray:
        """Return the statistics of scores (n, m): (n, 3)."""
        lowest = self._log_p(scores).min(1)
        return np.column_stack([scores.sum(1) ** 2, (scores**2).sum(1), -lowest])

    def log_p(self, statistics: np.ndarray) -> np.ndarray:
        """Return log p of SKAT for normal scores, and the lowest one over rho."""
        return np.array([log_p_of_mixture(statistics[1], self._values), -statistics[2]])
