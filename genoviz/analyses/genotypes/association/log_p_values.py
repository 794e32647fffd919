"""p values that are kept in logarithms, so that the smallest have a height too."""

from __future__ import annotations

import numpy as np

SMALL_P = 1e-280
MEDIAN_CHI_SQUARE = 0.454936423119572
"""Median of chi-square with one degree of freedom."""
_LAST_FRACTION = 10_000


def log_p_of_t(t: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return natural logarithms of two-sided p values of Student's t.

    Parameters
    ----------
    t
        float64, any shape; NaN stays NaN.
    degrees
        Degrees of freedom, of the same shape.

    Returns
    -------
    numpy.ndarray
        float64: log of I_x(degrees / 2, 1 / 2), with x = degrees / (degrees + t^2); -inf at
        infinite t.
    """
    from scipy.special import betainc

    squares = t * t
    a, x = degrees / 2, degrees / (degrees + squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = betainc(a, 0.5, x)
        log_p = np.log(p)
    is_small = (p < SMALL_P) & np.isfinite(squares)
    log_p[is_small] = _log_tail(a[is_small], squares[is_small])
    return log_p


def log_p_of_z(z: np.ndarray) -> np.ndarray:
    """Return natural logarithms of two-sided p values of a standard normal variable."""
    from scipy.special import log_ndtr

    return np.log(2) + log_ndtr(-np.abs(z))


def inflation_factor(p: np.ndarray) -> float:
    """Return lambda_GC: the median chi-square of p values over what it is by chance.

    NaN among the p values is left out; NaN if nothing is left.

    References
    ----------
    Devlin and Roeder 1999, Genomic control for association studies,
    doi:10.1111/j.0006-341X.1999.00997.x.
    """
    from scipy.special import ndtri

    known = p[np.isfinite(p)]
    if not len(known):
        return np.nan
    return float(np.median(ndtri(known / 2) ** 2) / MEDIAN_CHI_SQUARE)


def _log_tail(a: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return log I_x(a, 1/2), for x = 2a / (2a + squares), by the continued fraction of I_x."""
    from scipy.special import betaln

    log_x, rest = -np.log1p(squares / (2 * a)), squares / (2 * a + squares)
    x = np.exp(log_x)
    fraction = _continued_fraction(a, x)
    return a * log_x + 0.5 * np.log(rest) - np.log(a) - betaln(a, 0.5) + np.log(fraction)


def _continued_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + d_1 / (1 + d_2 / ...)) of the incomplete beta function with b = 1/2.

    By the method of Lentz; DLMF 8.17.22.
    """
    b = 0.5
    front = np.ones_like(a)
    back = 1 / (1 - (a + b) * x / (a + 1))
    fraction = back.copy()
    for m in range(1, _LAST_FRACTION):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for coefficient in (even, odd):
            back = 1 / (1 + coefficient * back)
            front = 1 + coefficient / front
            fraction *= front * back
        if np.all(np.abs(front * back - 1) < 1e-13):
            break
    return fraction
