"""Observed p-values of a scan beside those that chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Quantiles:
    """The smallest p-values one by one, and some of the many others; all as -log10 p.

    Attributes
    ----------
    tests
        int64, shape (n_points,): which test each point is, the strongest first.
    expected, observed
        float64: what the rank of the point lets expect, and what it is.
    low, high
        float64: ends of the band that has a point of this rank with probability `level`.
    n_tests, level
        How many tests there are, and the probability.
    """

    tests: np.ndarray
    expected: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_tests: int
    level: float


def scan_quantiles(
    minus_log10_p: np.ndarray, *, level: float = 0.95, n_points: int = 2000
) -> Quantiles:
    """Return the quantiles of p-values against those of a uniform distribution.

    The p-value of rank k among n independent tests without an effect is expected near
    (k - 1/2) / n, and has the distribution Beta(k, n + 1 - k), whose quantiles make the band.

    Parameters
    ----------
    minus_log10_p
        float64, shape (n_variants,); what is NaN was not tested.
    level
        Probability of the band, between 0 and 1.
    n_points
        About how many points are returned; the strongest are all among them.

    Raises
    ------
    ParameterError
        If the level is not between 0 and 1, or there is to be no point.

    Examples
    --------
    >>> found = scan_quantiles(-np.log10([0.5, 0.1, np.nan, 0.9]))
    >>> found.tests.tolist(), (10 ** -found.expected).round(3).tolist()
    ([1, 0, 3], [0.167, 0.5, 0.833])
    """
    from scipy.special import betaincinv

    if not 0 < level < 1:
        raise ParameterError(f"level is {level:g}, needs to be between 0 and 1")
    if n_points < 1:
        raise ParameterError(f"n_points is {n_points}, needs at least 1")
    tested = np.flatnonzero(~np.isnan(minus_log10_p))
    order = tested[np.argsort(-minus_log10_p[tested], kind="stable")]
    n = len(order)
    ranks = _thin_ranks(n, n_points)
    tail = (1 - level) / 2
    low, high = (betaincinv(ranks, n + 1.0 - ranks, share) for share in (1 - tail, tail))
    tests = order[ranks - 1]
    expected = -np.log10((ranks - 0.5) / max(n, 1))
    observed = np.asarray(minus_log10_p, float)[tests]
    return Quantiles(tests, expected, observed, -np.log10(low), -np.log10(high), n, level)


def _thin_ranks(n: int, n_points: int) -> np.ndarray:
    """Return ranks from 1 to n: the first half of the points one by one, then ever fewer."""
    if n <= n_points:
        return np.arange(1, n + 1)
    dense = max(n_points // 2, 1)
    sparse = np.geomspace(dense + 1, n, n_points - dense).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, dense + 1), sparse, [n]]))
