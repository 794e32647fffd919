"""What a path stress is, how far its computation, and its 95 % confidence interval.

The interval is that of a stratified mean whose terms have a long tail. Such means are
skewed, and their standard error is itself unsure: a sample that lacks the rare huge terms has a
mean that is too low and an error that is too small. So the interval takes two numbers
from the third and fourth moments of the strata: the degrees of freedom of the standard error
(Satterthwaite, with the variance that a sample variance has at that kurtosis), for Student's t; and
the skewness of the mean, by which the upper end moves up (first term of the Edgeworth expansion of
a studentised mean). The lower end stays, so that the interval errs to the long side. It is even on
a log scale but for that. The moments of a sample are below those of its stratum, whose rarest terms
it lacks: the kurtosis counts fourfold, the skewness, which is at most its root, twice.

References
----------
Satterthwaite 1946, doi:10.2307/3002019. Johnson 1978, Modified t tests and confidence intervals for
asymmetrical populations, doi:10.1080/01621459.1978.10480051. Abramowitz and Stegun 1964, 26.7.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError

Weighting = Literal["pairs", "steps"]
WEIGHTINGS = ("pairs", "steps")
Z_95 = 1.959964
MIN_FREEDOM = 4.0
UNSEEN = 4.0
"""What the kurtosis of a sample is multiplied with, for the terms that were not drawn."""
_MAX_EXPONENT = 700.0


@dataclass(frozen=True)
class PathStress:
    """Path stress of a layout; 0 is perfect, and what is good depends on the graph.

    Attributes
    ----------
    mean
        Mean, by ``weighting``, of the terms ``((D - d) / d)^2`` with D the distance in the layout
        and d the distance along the path; NaN when there is no term.
    ci_low, ci_high
        95 % confidence interval of the mean, even on a log scale but for the skewness, which moves
        the upper end up; the mean itself when all terms were taken.
    median
        Median term, which a few bad pairs cannot move, of a plain sample; NaN for exact stress,
        whose terms are not kept.
    n_terms, n_skipped
        Terms in the mean, and terms left out because the two ends are one joint (d = 0).
    is_exact
        Whether all pairs were counted rather than a sample.
    weighting
        ``"pairs"`` where all terms count alike, so that a path counts by the square of its steps;
        ``"steps"`` where a path counts by its steps.
    """

    mean: float
    ci_low: float
    ci_high: float
    median: float
    n_terms: int
    n_skipped: int
    is_exact: bool
    weighting: Weighting = "pairs"


@dataclass(frozen=True)
class StressProgress:
    """How far a path stress is.

    Attributes
    ----------
    n_done, n_total
        Pairs of steps, or samples, done and in all.
    stress
        The result, at the end.
    """

    n_done: int
    n_total: int
    stress: PathStress | None = None


@dataclass(frozen=True)
class StratumMoments:
    """Moments of the terms that were drawn from a stratum.

    Attributes
    ----------
    weight
        What all terms of the stratum count together.
    n_samples, n_terms
        Terms drawn, and those of them that were not skipped.
    total, total_squares
        Sums of these, and of their squares.
    skewness, kurtosis
        Standardised third and fourth central moment; 0 and 3 for a normal distribution.
    """

    weight: float
    n_samples: int
    n_terms: int
    total: float
    total_squares: float
    skewness: float
    kurtosis: float


def shape_of(values: np.ndarray) -> tuple[float, float]:
    """Return skewness and kurtosis of values, 0 and 3 if all are alike; NaN is left out."""
    drawn = values[~np.isnan(values)].astype(np.float64)
    deviations = drawn - drawn.mean() if len(drawn) else drawn
    largest = np.abs(deviations).max(initial=0.0)
    if largest == 0.0:
        return 0.0, 3.0
    deviations /= largest
    squares = deviations * deviations
    variance = squares.mean()
    return (
        float((squares * deviations).mean() / variance**1.5),
        float((squares * squares).mean() / variance**2),
    )


def interval(mean: float, counted: float, strata: list[StratumMoments]) -> tuple[float, float]:
    """Return the ends of the interval of a mean.

    Parameters
    ----------
    mean
        The stratified mean, 0 or more.
    counted
        Sum of the weights of all terms, drawn or not, without the skipped ones.
    strata
        Those that were drawn from; what was taken whole has no error.
    """
    variance = third = unsure = 0.0
    for stratum in strata:
        part = _variance(mean, stratum)
        variance += part
        third += part**1.5 * stratum.skewness / math.sqrt(stratum.n_samples)
        unsure += part**2 * (max(UNSEEN * (stratum.kurtosis - 3.0), 0.0) + 2.0) / stratum.n_samples
    if variance <= 0.0 or mean <= 0.0:
        return mean, mean
    quantile = t_quantile(2.0 * variance**2 / unsure if unsure > 0.0 else math.inf)
    error = math.sqrt(variance) / counted / mean
    # On the log scale a part of the skewness is gone.
    skewness = math.sqrt(UNSEEN) * third / variance**1.5
    shift = skewness * (2.0 * Z_95**2 + 1.0) / 6.0 - error * Z_95**2 / 2.0
    low, high = (
        min(error * side, _MAX_EXPONENT) for side in (quantile, quantile + max(shift, 0.0))
    )
    return mean * math.exp(-low), mean * math.exp(high)


def _variance(mean: float, stratum: StratumMoments) -> float:
    """Return the variance of a stratum's part of the total."""
    # Of (term - mean), 0 for a skipped one, as the mean is one of the terms not skipped.
    n, n_terms, total = stratum.n_samples, stratum.n_terms, stratum.total
    error = total - mean * n_terms
    squares = stratum.total_squares - 2 * mean * total + mean * mean * n_terms
    spread = max(squares / n - (error / n) ** 2, 0.0)
    return stratum.weight**2 * spread / max(n - 1, 1)


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t, right to 1 %; below 4 degrees, that of 4.

    Examples
    --------
    >>> round(t_quantile(10), 2), round(t_quantile(1e9), 2)
    (2.23, 1.96)
    """
    z, nu = Z_95, max(freedom, MIN_FREEDOM)
    return (
        z
        + (z**3 + z) / (4 * nu)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * nu**3)
    )


def check_weighting(weighting: str) -> None:
    """Refuse what is not a weighting.

    Raises
    ------
    ParameterError
        If it is neither ``"pairs"`` nor ``"steps"``.
    """
    if weighting not in WEIGHTINGS:
        raise ParameterError(f"weighting is {weighting!r}, needs one of {', '.join(WEIGHTINGS)}")
