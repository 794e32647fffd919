"""Models without variants of cases and controls, with a random effect of their relationships.

logit(p) = Xa + b, b ~ N(0, K v), is fitted by penalised quasi-likelihood. With the weights
w = p (1 - p), the working response z = Xa + b + (y - p) / w has the linear mixed model::

    V = W^-1 + K v,    b = K v Pz,    Pz = y - p at the solution

v is estimated in it by REML; then p, w and z follow anew, until nothing changes. With S = W^1/2,
the residual variance of Sz is 1, and its relationships are SKS. So what serves linear mixed models
serves these.

- Dense: V is inverted, and v takes one step of average information REML each time.
- By products: v comes from Lanczos iterations with random traces, in one model of all variants. The
  models of all chromosomes have this v, and are solved together by conjugate gradients.

Breslow and Clayton 1993, Approximate inference in generalized linear mixed models,
doi:10.1080/01621459.1993.10594284. Chen et al. 2016, Control for population structure and
relatedness for binary traits in genetic association studies via logistic mixed models,
doi:10.1016/j.ajhg.2016.02.012.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.analyses.genotypes.association.left_out import (
    Chromosome,
    Relationships,
    WeightedSolving,
)
from genoviz.analyses.genotypes.association.mixed_models import (
    CALIBRATED,
    CORRECTED,
    FITTING,
    calibrating_variants,
    check_null,
    count_probes,
    take_variants,
)
from genoviz.analyses.genotypes.association.regressions import MAX_CHANGE, fit_without_variant
from genoviz.analyses.genotypes.prediction.preconditioners import invert
from genoviz.analyses.genotypes.variances.covariances import SOLVED, ProbedCovariance
from genoviz.analyses.genotypes.variances.lanczos import iter_reml_by_lanczos
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz.kernels.logistic_derivatives import MAX_LOGIT

RESIDUAL = np.pi**2 / 3
"""Variance of the logistic distribution: the residual on the scale of log odds."""
MAX_STEPS = 100
_EXACTLY, _ROUGHLY, _LEAST = 1e-6, 1e-3, 0.01
"""Last changes of v over 1 + v, and over v + 0.01 where random traces estimate v."""
_SHORTEST, _LONGEST = 0.2, 5.0
"""Least and largest factor of a change; otherwise it is taken as it is."""
_FLAT = 1e-9
"""Below this share of the slope, nothing is known of the variance."""
_SETTLED = 1e-4
"""Last change of log odds where v is given: steps are Newton's, the next is about its square."""


@dataclass(frozen=True, eq=False)
class LogisticNull:
    """A logistic mixed model without variants.

    Attributes
    ----------
    variance, variance_error
        Variance of the random effect, in squared log odds, for relationships of mean diagonal
        about 1; and its standard error, NaN if it is 0, its bound.
    coefficients
        float64, shape (c + 1,): log odds of intercept and covariates, those of the design.
    logits
        float64, shape (n,): log odds of being a case, random effect included.
    """

    variance: float
    variance_error: float
    coefficients: np.ndarray
    logits: np.ndarray

    @property
    def fitted(self) -> np.ndarray:
        """float64, shape (n,): probability of being a case."""
        return 1 / (1 + np.exp(-np.clip(self.logits, -MAX_LOGIT, MAX_LOGIT)))

    @property
    def heritability(self) -> float:
        """Share of the random effect in the variance of log odds with a logistic residual."""
        return self.variance / (self.variance + RESIDUAL)

    @property
    def heritability_error(self) -> float:
        """Its standard error; NaN at the bound."""
        return self.variance_error * RESIDUAL / (self.variance + RESIDUAL) ** 2


def fit_densely(
    relationships: np.ndarray, design: Design, first: LogisticNull | None = None
) -> Generator[int, None, tuple[LogisticNull, np.ndarray]]:
    """Return the model with given relationships K, and P: float64, shape (n, n).

    Yields the steps done.

    Parameters
    ----------
    relationships
        float64, shape (n, n).
    design
        Phenotype (0 and 1) and covariates.
    first
        A similar model to start from.

    Raises
    ------
    ParameterError
        If the covariates tell cases from controls entirely, or the model does not converge.
    """
    x, y = design.basis, design.response
    variance, plain = 0.0, design.standard_columns @ fit_without_variant(design)
    logits, search = plain, _Secants()
    if first is not None and first.variance > 0:
        variance, logits = first.variance, first.logits
    for step in range(MAX_STEPS):
        yield step
        weights, working = _quasi(logits, y)
        roots = np.sqrt(weights)
        within = roots[:, None] * relationships * roots
        inverse = variance * within
        inverse[np.diag_indices_from(inverse)] += 1.0
        if variance:
            inverse = invert(inverse)
        across = inverse @ (roots[:, None] * x)
        inner = (roots[:, None] * x).T @ across
        projection = inverse - across @ np.linalg.solve(inner, across.T)
        residual = roots * (projection @ (roots * working))
        related = relationships @ residual
        way = roots * related
        solved = projection @ way
        information = way @ solved
        slope = residual @ related - np.vdot(projection, within)
        is_told = information * (1 + variance) > _FLAT * abs(slope)
        change = max(slope / information, -variance) if is_told else -variance
        new = search.next(variance, change)
        # Pz at the next v, to first order: log odds do not lag behind.
        random = new * (relationships @ (residual - (new - variance) * roots * solved))
        found = np.linalg.solve((weights[:, None] * x).T @ x, x.T @ (weights * (working - random)))
        old = logits
        # Log odds with a random effect are far from those without.
        is_gone = new == 0 and variance > 0
        logits = plain if is_gone else _move(old, x @ found + random)
        if max(abs(change) / (1 + variance), np.abs(logits - old).max()) <= _EXACTLY:
            error = np.sqrt(2 / information) if variance > 0 else np.nan
            projection *= roots[:, None] * roots
            return _null_of(design, variance, error, found, old), projection
        variance = new
    raise ParameterError(_not_fitted())


def _quasi(logits: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return w and z at log odds, of the shape of these."""
    logits = np.clip(logits, -MAX_LOGIT, MAX_LOGIT)
    weights = 1 / (2 + np.exp(logits) + np.exp(-logits))  # p (1 - p), also near 1
    return weights, logits + (y - 1 / (1 + np.exp(-logits))) / weights


def _null_of(
    design: Design, variance: float, error: float, found: np.ndarray, logits: np.ndarray
) -> LogisticNull:
    """Return a model from coefficients of the basis and log odds."""
    columns = np.column_stack([np.ones(design.n_samples), design.covariates[design.kept]])
    coefficients = np.linalg.lstsq(columns, design.basis @ found)[0]
    return LogisticNull(variance, error, coefficients, logits)


def _move(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return log odds on the way to new ones, which far from these may be beyond the solution."""
    step = new - old
    return old + step * (MAX_CHANGE / max(np.abs(step).max(), MAX_CHANGE))


class _Secants:
    """Next variances, from changes that each leave a constant share of the way.

    The share is that of the last two changes.
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def next(self, variance: float, change: float) -> float:
        """Return the variance to try after one that would change so."""
        factor = 1.0
        if self._last is not None:
            old, old_change = self._last
            if change != old_change:
                factor = (variance - old) / (old_change - change)
            factor = factor if _SHORTEST < factor < _LONGEST else 1.0
        self._last = variance, change
        return min(max(variance + factor * change, 0.0), 2 * variance + 1)


def _not_fitted() -> str:
    return (
        f"the logistic mixed model without variants still changes after {MAX_STEPS} steps; needs "
        "a trait that covariates and relationships explain in part"
    )


@dataclass(frozen=True, eq=False)
class CalibratedLogistic:
    """The models without variants of all chromosomes, given by products.

    Attributes
    ----------
    chromosomes
        The chromosomes.
    nulls
        Their models.
    solve
        Products with P, by chromosome.
    gamma
        Ratio of g~'Pg~ to g~'Wg~, for dosages g~ without fixed effects.
    """

    chromosomes: list[Chromosome]
    nulls: list[LogisticNull]
    solve: WeightedSolving
    gamma: float

    def find_covariance(
        self, rows: np.ndarray, what: str, start: float, share: float
    ) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray]]:
        """Return the chromosomes of variants, and the covariance g~'Pg~ of their scores.

        It is that of variants of the same chromosome.
        """
        owners, columns = take_variants(self.chromosomes, rows)
        columns = self.solve.take(columns, owners)
        solved, rest = yield from self.solve(columns, owners, CORRECTED, what, start, share)
        return owners, columns.T @ solved + solved.T @ rest


def iter_calibrated_logistic(
    chromosomes: list[Chromosome],
    design: Design,
    takes_all: bool,
    seed: int,
    candidates: np.ndarray | None = None,
    *,
    backend: Backend,
) -> Generator[Progress, None, CalibratedLogistic]:
    """Return the models by products, calibrated by some of the candidates: their indices.

    The steps report up to 0.7.
    """
    whole = Relationships(chromosomes, True, backend)
    logits = (design.standard_columns @ fit_without_variant(design))[:, None]
    variance, n_probes, search = 0.0, count_probes(design.n_samples), _Secants()
    for step in range(1, MAX_STEPS + 1):
        start = 0.4 * (1 - 0.7 ** (step - 1))
        null = yield from _estimate(whole, design, logits[:, 0], n_probes, seed, start)
        found = 0.0 if null.is_bounded[0] else float(null.variances[0])
        change = found - variance
        variance = search.next(variance, change)
        logits, _ = yield from _step(whole, design, variance, logits, start, 0.0)
        if abs(change) <= _ROUGHLY * (variance + _LEAST):
            break
    else:
        raise ParameterError(_not_fitted())
    relationships = whole if takes_all else Relationships(chromosomes, False, backend)
    logits = np.repeat(logits, len(chromosomes), axis=1)
    for step in range(1, MAX_STEPS + 1):
        start = 0.4 + 0.2 * (1 - 0.5 ** (step - 1))
        new, found = yield from _step(relationships, design, variance, logits, start, 0.0)
        change, logits = np.abs(new - logits).max(), new
        if change <= _SETTLED:
            break
    else:
        raise ParameterError(_not_fitted())
    weights, _ = _quasi(logits, design.response[:, None])
    solve = WeightedSolving(relationships, design.basis, variance, weights)
    owners, columns = calibrating_variants(chromosomes, solve.take, seed, candidates)
    solved, rest = yield from solve(columns, owners, CALIBRATED, "Calibration", 0.6, 0.1)
    ratios = ((columns + rest) * solved).sum(0) / (columns * columns).sum(0)
    error = float(null.standard_errors[0])
    nulls = [
        _null_of(design, variance, error, *each)
        for each in zip(found.T, np.ascontiguousarray(logits.T), strict=True)
    ]
    return CalibratedLogistic(chromosomes, nulls, solve, float(ratios.mean()))


def _estimate(
    whole: Relationships, design: Design, logits: np.ndarray, n_probes: int, seed: int, start: float
) -> Generator[Progress, None, Any]:
    """Return the variances of the working response of all variants at log odds (n,)."""
    weights, working = _quasi(logits, design.response)
    roots = np.sqrt(weights)[:, None]

    def multiply(columns: np.ndarray) -> np.ndarray:
        return roots * whole.multiply_all(roots * columns)

    basis = np.linalg.qr(roots * design.basis)[0]
    covariance = ProbedCovariance([multiply], basis, n_probes=n_probes, seed=seed)
    options = {"tolerance": 1e-6, "max_iterations": 200, "residual": 1.0}
    response = covariance.take(roots[:, 0] * working)
    null = None
    for step in iter_reml_by_lanczos(covariance, response, ("genotypes",), **options):
        null = step
        yield Progress(FITTING, start)
    check_null(null)
    return null


def _step(
    relationships: Relationships,
    design: Design,
    variance: float,
    logits: np.ndarray,
    start: float,
    share: float,
) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray]]:
    """Return the next log odds (n, n_chromosomes), given v, and coefficients of the basis."""
    weights, working = _quasi(logits, design.response[:, None])
    solve = WeightedSolving(relationships, design.basis, variance, weights)
    owners = np.arange(logits.shape[1])
    columns = solve.take(working, owners)
    solved, _ = yield from solve(columns, owners, SOLVED, FITTING, start, share)
    random = solve.relate(solved)
    found = solve.fix(weights * (working - random))
    return _move(logits, design.basis @ found + random), found
