"""p values of a scan: logarithms, quantiles under the null hypothesis, and inflation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from genoviz.errors import ParameterError, check_minimum

SMALL_P = 1e-280
MEDIAN_CHI_SQUARE = 0.454936423119572
"""Median of chi-square with one degree of freedom."""
_FAR, _TERMS = 20.0, 10
_LAST_FRACTION = 10_000
_CONTOUR_STEP, _CONTOUR_END = 0.2, 20.0
_LESS_BENT, _MAX_GROWTH, _MAX_LEFT = (1 / 4, 1 / 16, 1 / 64, 1 / 256), 2.0, 1e-10
_MAX_LOG = 600.0
_BLOCK_VALUES, _MAX_STEPS = 1 << 14, 200


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
    return log_p_of_f(t * t, 1, degrees)


def log_p_of_z(z: np.ndarray) -> np.ndarray:
    """Return natural logarithms of two-sided p values of a standard normal variable.

    SciPy has this too, but its import takes as long as a scan of thousands of variants.
    """
    x = np.abs(np.ravel(np.asarray(z, np.float64))) / math.sqrt(2)
    p = np.array([math.erfc(each) for each in x.tolist()])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(p)
        # The asymptotic series of erfc, DLMF 7.12.1.
        far = x[x > _FAR]
        square, sums = 1 / (2 * far * far), np.ones_like(far)
        for k in range(_TERMS, 0, -1):
            sums = 1 - (2 * k - 1) * square * sums
        log_p[x > _FAR] = np.log(sums) - far * far - np.log(far * math.sqrt(math.pi))
    return log_p.reshape(np.shape(z))[()]


def log_p_of_f(f: np.ndarray, k: int, degrees: np.ndarray) -> np.ndarray:
    """Return natural logarithms of upper p values of F with k and some more degrees of freedom.

    Parameters
    ----------
    f, degrees
        float64, of the same shape; NaN stays NaN.
    k
        Degrees of freedom of the numerator.

    Returns
    -------
    numpy.ndarray
        float64: log of I_x(degrees / 2, k / 2), with x = degrees / (degrees + k f).
    """
    from scipy.special import betainc

    squares, a = k * np.asarray(f, np.float64), np.asarray(degrees, np.float64) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        p = betainc(a, k / 2, 2 * a / (2 * a + squares))
        log_p = np.log(p)
    # Of a p near 1, its difference from 1 has all digits, and p has not.
    near = p > 0.5
    squares_near = squares[near]
    rest = squares_near / (2 * a[near] + squares_near)
    log_p[near] = np.log1p(-betainc(k / 2, a[near], rest))
    is_small = (p < SMALL_P) & np.isfinite(squares)
    log_p[is_small] = _log_tail(a[is_small], squares[is_small], k / 2)
    return log_p


def log_p_of_mixture(
    q: np.ndarray, weights: np.ndarray, shifts: np.ndarray | None = None
) -> np.ndarray:
    """Return log P(sum of weights times independent chi-squares of 1 degree >= q).

    The characteristic function is inverted numerically, along a parabola through the saddle point
    of the integrand. There the integrand neither oscillates nor cancels, so the relative error is
    about 1e-12 in the body and in the tail alike.

    Parameters
    ----------
    q
        float64, shape (k,) or a number.
    weights
        float64, shape (k, m) or (m,): at least 0, in each row one above 0.
    shifts
        float64, shape (k, m) or (m,): noncentralities of the chi-squares, squares of the means of
        the normal variables; None for zeros.

    Returns
    -------
    numpy.ndarray
        float64, shape (k,), or a number if q is one.

    References
    ----------
    Rice 1980, Distribution of quadratic forms in normal random variables - evaluation by numerical
    integration, doi:10.1137/0901032.

    Examples
    --------
    >>> round(float(np.exp(log_p_of_mixture(2 * np.log(20), np.ones(2)))), 12)
    0.05
    """
    q = np.asarray(q, np.float64)
    each = np.atleast_1d(q)
    rows = np.broadcast_to(weights, (len(each), np.shape(weights)[-1]))
    squares = np.broadcast_to(0.0 if shifts is None else shifts, rows.shape)
    found = np.zeros(len(each))
    step = max(1, _BLOCK_VALUES // rows.shape[1])
    places = np.flatnonzero(each > 0)
    for first in range(0, len(places), step):
        part = places[first : first + step]
        largest = rows[part].max(1)
        found[part] = _log_p(each[part] / largest, rows[part] / largest[:, None], squares[part])
    return found.reshape(q.shape)[()]


def _log_p(q: np.ndarray, w: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return log p for q (k,), weights (k, m) of which the largest is 1, and noncentralities."""
    # The integrand exp(K(s) - q s) / s has a saddle point on either side of its pole at 0: one
    # gives the upper tail, the other the lower.
    is_upper = q >= (w * (1 + shifts)).sum(1)
    s = _saddle_points(q, w, shifts, is_upper)
    left = 1 - 2 * w * s[:, None]
    ratios, pulls = w / left, shifts / left
    second = (ratios**2 * (2 + 4 * pulls)).sum(1) + s**-2
    third = (ratios**3 * (8 + 24 * pulls)).sum(1) - 2 * s**-3
    # Steepest descent, bent to the right at least so far that exp(-q s) ends the integral.
    bend = np.maximum(third / (6 * second**2), 0.1 / q)
    u = np.arange(0, _CONTOUR_END, _CONTOUR_STEP)
    size, is_good = _contour_sizes(q, w, shifts, s, bend, u)
    # With large noncentralities the integrand may grow along this path, but not along a straight
    # one, which needs more steps.
    for share in _LESS_BENT:
        rows = np.flatnonzero(~is_good)
        if not len(rows):
            break
        u = np.arange(0, 8 * _CONTOUR_END, _CONTOUR_STEP / 4)
        several = (each[rows] for each in (q, w, shifts, s, share * bend))
        size[rows], is_good[rows] = _contour_sizes(*several, u)
    tail = size - 0.5 * np.log(left).sum(1) + ((1 / left - 1) * shifts).sum(1) / 2 - q * s
    lower = np.log1p(-np.exp(np.minimum(tail, -1e-300)))
    return np.where(is_upper, np.minimum(tail, 0.0), lower)


def _contour_sizes(
    q: np.ndarray, w: np.ndarray, shifts: np.ndarray, s: np.ndarray, bend: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithm of the integral over that of its middle, and whether it converged.

    Paths begin at s (k,), and bend to the right by bend (k,); u are the steps along them.
    """
    bend = bend[:, None]
    left = 1 - 2 * w * s[:, None]
    second = ((w / left) ** 2 * (2 + 4 * shifts / left)).sum(1) + s**-2
    path = s[:, None] + 1j * u / np.sqrt(second)[:, None] + bend * u**2
    direction = 1j / np.sqrt(second)[:, None] + 2 * bend * u
    logs = -q[:, None] * (path - s[:, None]) - np.log(path / s[:, None])
    ends = 1 - 2 * w[:, :, None] * path[:, None]
    # NumPy's logarithm of complex numbers is some ten times slower than that of real ones.
    sizes = np.log(ends.real**2 + ends.imag**2).sum(1) / 2 - np.log(left).sum(1)[:, None]
    logs -= (sizes + 1j * np.arctan2(ends.imag, ends.real).sum(1)) / 2
    if shifts.any():
        logs += ((1 / ends - 1 / left[:, :, None]) * shifts[:, :, None]).sum(1) / 2
    growth = logs.real.max(1)
    is_good = (growth < np.log(_MAX_GROWTH)) & (logs.real[:, -1] < np.log(_MAX_LEFT))
    logs[growth > _MAX_LOG] = 0.0  # refused, but it must not overflow
    values = (np.exp(logs) * direction).imag
    total = values.sum(1) - values[:, 0] / 2
    is_good &= total > 0
    size = np.log(u[1] / np.pi * np.where(is_good, total, 1.0) / np.abs(s))
    return size, is_good


def _saddle_points(
    q: np.ndarray, w: np.ndarray, shifts: np.ndarray, is_upper: np.ndarray
) -> np.ndarray:
    """Return s with K'(s) = q + 1 / s, by Newton's method within a bracket."""
    total = (w * (1 + shifts)).sum(1)
    low = np.where(
        is_upper, 1 / (8 + 8 * total), -1.01 * (w.shape[1] / 2 + shifts.sum(1) / 8 + 1) / q
    )
    high = np.where(is_upper, (1 - 1 / (q + 5)) / 2, -0.5 / q)
    s = (low + high) / 2
    for _ in range(_MAX_STEPS):
        left = 1 - 2 * w * s[:, None]
        ratios, pulls = w / left, shifts / left
        excess = (ratios * (1 + pulls)).sum(1) - q - 1 / s
        slope = (ratios**2 * (2 + 4 * pulls)).sum(1) + s**-2
        low, high = np.where(excess < 0, s, low), np.where(excess < 0, high, s)
        new = s - excess / slope
        is_inside = (new > low) & (new < high)
        new = np.where(is_inside, new, (low + high) / 2)
        is_last = np.abs(new - s) <= 1e-9 * np.abs(s)
        s = new
        if is_last.all():
            break
    return s


def inflation_factor(p: np.ndarray) -> float:
    """Return lambda_GC: the median chi-square of p values over its null expectation.

    NaN p values are ignored; the result is NaN if none is left.

    References
    ----------
    Devlin and Roeder 1999, Genomic control for association studies,
    doi:10.1111/j.0006-341X.1999.00997.x.
    """
    known = p[np.isfinite(p)]
    if not len(known):
        return np.nan
    # The median of an even number is that of two, of which p is taken alone.
    middle = [(len(known) - 1) // 2, len(known) // 2]
    halves = (np.partition(known, middle)[middle] / 2).tolist()
    squares = [NormalDist().inv_cdf(half) ** 2 if half > 0 else math.inf for half in halves]
    return sum(squares) / 2 / MEDIAN_CHI_SQUARE


def _log_tail(a: np.ndarray, squares: np.ndarray, b: float) -> np.ndarray:
    """Return log I_x(a, b), for x = 2a / (2a + squares), by the continued fraction of I_x."""
    from scipy.special import betaln

    log_x, rest = -np.log1p(squares / (2 * a)), squares / (2 * a + squares)
    fraction = _continued_fraction(a, np.exp(log_x), b)
    return a * log_x + b * np.log(rest) - np.log(a) - betaln(a, b) + np.log(fraction)


def _continued_fraction(a: np.ndarray, x: np.ndarray, b: float) -> np.ndarray:
    """Return 1 / (1 + d_1 / (1 + d_2 / ...)) of the incomplete beta function.

    By the method of Lentz; DLMF 8.17.22.
    """
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


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of p values as -log10 p: all of the smallest, and a subset of the others.

    Attributes
    ----------
    tests
        int64, shape (n_points,): index of the test at each point, the strongest first.
    expected, observed
        float64: expected value at this rank, and the observed value.
    low, high
        float64: bounds of the pointwise band with probability `level`.
    n_tests, level
        Number of tests, and the probability.
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

    Among n independent null tests, the p value of rank k is close to (k - 1/2) / n and has the
    distribution Beta(k, n + 1 - k), whose quantiles give the band.

    Parameters
    ----------
    minus_log10_p
        float64, shape (n_variants,); NaN for variants that were not tested.
    level
        Probability of the band, between 0 and 1.
    n_points
        Approximate number of points to return, including all of the strongest.

    Raises
    ------
    ParameterError
        If the level is not between 0 and 1, or ``n_points`` is below 1.

    Examples
    --------
    >>> found = scan_quantiles(-np.log10([0.5, 0.1, np.nan, 0.9]))
    >>> found.tests.tolist(), (10 ** -found.expected).round(3).tolist()
    ([1, 0, 3], [0.167, 0.5, 0.833])
    """
    from scipy.special import betaincinv

    if not 0 < level < 1:
        raise ParameterError(f"level is {level:g}, needs to be between 0 and 1")
    check_minimum("n_points", n_points, 1)
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
    """Return ranks from 1 to n: consecutive for half of the points, then increasingly sparse."""
    if n <= n_points:
        return np.arange(1, n + 1)
    dense = max(n_points // 2, 1)
    sparse = np.geomspace(dense + 1, n, n_points - dense).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, dense + 1), sparse, [n]]))
