"""Results of path stress computations, and their 95 % confidence intervals.

The estimate is a stratified mean of terms with a long tail. Such means are skewed, and their
standard error is itself uncertain: a sample that misses the rare huge terms underestimates both the
mean and the error. The interval therefore uses the third and fourth moments of the strata. The
degrees of freedom of the standard error for Student's t follow Satterthwaite, with the variance of
a sample variance at that kurtosis. The skewness of the mean moves the upper end up (first term of
the Edgeworth expansion of a studentised mean). The lower end stays, so that the interval errs on
the wide side. Apart from that it is symmetric on a log scale. Sample moments underestimate those of
a stratum, because rare terms are missing: the kurtosis is multiplied by four, and the skewness,
which is at most its root, by two.

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

Weighting = Literal["pairs", "steps"]
WEIGHTINGS = ("pairs", "steps")
Z_95 = 1.959964
MIN_FREEDOM = 4.0
UNSEEN = 4.0
"""Factor of the sample kurtosis that allows for terms that were not drawn."""
_MAX_EXPONENT = 700.0


@dataclass(frozen=True)
class PathStress:
    """Path stress of a layout; 0 is perfect, and typical values depend on the graph.

    Attributes
    ----------
    mean
        Mean of the terms ``((D - d) / d)^2``, by ``weighting``, with D the distance in the layout
        and d the distance along the path; NaN if there are no terms.
    ci_low, ci_high
        95 % confidence interval of the mean, symmetric on a log scale except for a skewness
        correction of the upper end; equal to the mean if all terms were taken.
    median
        Median term of an unweighted sample, which is robust against a few bad pairs; NaN for exact
        stress, which does not store its terms, and while a layout runs.
    n_terms, n_skipped
        Number of terms in the mean, and of terms skipped because the two ends coincide (d = 0).
    is_exact
        Whether all pairs were counted rather than a sample.
    weighting
        ``"pairs"`` if all terms have equal weight, so that a path counts by its squared number of
        steps; ``"steps"`` if a path counts by its number of steps.
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
    """Progress of a path stress computation.

    Attributes
    ----------
    n_done, n_total
        Number of pairs of steps, or of samples, done and in total.
    stress
        The result, in the last report.
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
        Total weight of the stratum's terms.
    n_samples, n_terms
        Number of terms drawn, and of those not skipped.
    total, total_squares
        Sums of the terms, and of their squares.
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
    """Return skewness and kurtosis of values, ignoring NaN; 0 and 3 if all are equal."""
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
    """Return the confidence interval of a mean.

    Parameters
    ----------
    mean
        The stratified mean, 0 or more.
    counted
        Total weight of all terms, drawn or not, without the skipped ones.
    strata
        The sampled strata; strata taken completely have no error.
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
    # The log transform removes part of the skewness.
    skewness = math.sqrt(UNSEEN) * third / variance**1.5
    shift = skewness * (2.0 * Z_95**2 + 1.0) / 6.0 - error * Z_95**2 / 2.0
    low, high = (
        min(error * side, _MAX_EXPONENT) for side in (quantile, quantile + max(shift, 0.0))
    )
    return mean * math.exp(-low), mean * math.exp(high)


def _variance(mean: float, stratum: StratumMoments) -> float:
    """Return the variance of a stratum's contribution to the total."""
    # Deviations from the mean; 0 for skipped terms, because the mean excludes them.
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
