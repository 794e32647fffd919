"""Results of covariance estimation: covariances, correlations and their standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.variances.reml import FLOOR
from genoviz.analyses.genotypes.variances.variance_results import with_error
from genoviz.errors import ParameterError

_HALVINGS = 6
_AT_BOUND, _NEAR_BOUND, _MAX_ERROR = 1e-4, 0.05, 0.5
"""Eigenvalues of scaled covariances below the first count as 0, and as the second says
`_find_bounds`. No number from 0 to 1 has a larger standard deviation than the last."""


@dataclass(frozen=True, eq=False)
class CorrelationSnapshot:
    """Covariances of traits after some iterations.

    Attributes
    ----------
    iteration
        Number of iterations done.
    genetic, residual
        float64, shape (n_traits, n_traits): covariances; NaN while relationships are computed.
    genetic_errors, residual_errors
        float64, same shape: their standard errors; NaN of a variance at its bound of 0, and of all
        covariances between traits if the matrix is singular, so at the bound of what it can be.
    correlations, correlation_errors
        float64, same shape: genetic correlations; 1 and 0 on the diagonal. The errors are NaN as
        those of covariances.
    residual_correlations, residual_correlation_errors
        float64, same shape.
    heritabilities, heritability_errors
        float64, shape (n_traits,); the error is NaN if a variance of the trait is at its bound.
    log_likelihood
        Restricted log likelihood up to a constant.
    change
        Largest change of a covariance in the last step, in units of the traits' variances.
    n_samples
        int64, shape (n_traits,): samples with a value of the trait and all covariates.
    is_bounded
        Whether the estimate lies on the boundary of the parameter space, such as a correlation
        of 1.
    is_converged
        Whether the change is within the tolerance.
    seconds
        Time since the start of the iterations.
    notes
        Covariates that were left out, and fewer than 50 samples, one sentence each.
    """

    iteration: int
    genetic: np.ndarray
    residual: np.ndarray
    genetic_errors: np.ndarray
    residual_errors: np.ndarray
    correlations: np.ndarray
    correlation_errors: np.ndarray
    residual_correlations: np.ndarray
    residual_correlation_errors: np.ndarray
    heritabilities: np.ndarray
    heritability_errors: np.ndarray
    log_likelihood: float
    change: float
    n_samples: np.ndarray
    is_bounded: bool
    is_converged: bool
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Summary of the result in words."""
        if np.isnan(self.genetic).any():
            return "covariances are not known yet"
        found = [
            f"rg {with_error(self.correlations[t, u], self.correlation_errors[t, u])}"
            for t, u in zip(*np.triu_indices(len(self.genetic), 1), strict=True)
        ]
        found += [
            f"h2 {with_error(value, error)}"
            for value, error in zip(self.heritabilities, self.heritability_errors, strict=True)
        ]
        words = f"{', '.join(found)}; {self.iteration:,} iteration{'s' * (self.iteration != 1)}"
        words += ", at the bound of what covariances can be" * self.is_bounded
        return words if self.is_converged else f"{words}, not converged"


@dataclass(frozen=True, eq=False)
class PairState:
    """The likelihood at given covariances; slopes are per pair of traits, genetic ones first."""

    genetic: np.ndarray
    residual: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    log_likelihood: float

    def improve(self, find: Callable[[np.ndarray, np.ndarray], PairState]) -> PairState:
        """Return the state after an average information step, halved while the likelihood falls.

        If the step leaves the parameter space, the Cholesky factors are updated instead. `find`
        returns the state at given covariances.
        """
        from scipy.linalg import LinAlgError

        tries = [(self.move, 0.5**k) for k in range(_HALVINGS)]
        tries += [(self.move_factors, 10.0**k) for k in range(-4, _HALVINGS)]
        for move, size in tries:
            matrices = move(size)
            if matrices is None:
                continue
            try:
                new = find(*matrices)
            except LinAlgError:  # a matrix from a file may have negative eigenvalues
                continue
            if new.log_likelihood > self.log_likelihood:
                return new
        return self

    def move(self, share: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return covariances after a share of the step; None if they are not positive definite."""
        step = np.linalg.lstsq(self.information, self.gradient)[0]
        found = split_pairs(self.covariances + share * step, len(self.genetic))
        return found if min(np.linalg.eigvalsh(each)[0] for each in found) >= FLOOR else None

    def move_factors(self, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """Return covariances after a damped step of their Cholesky factors."""
        factors = np.array([_factor(each) for each in (self.genetic, self.residual)])
        lower = np.tril_indices(len(self.genetic))
        slopes = np.zeros((len(self.gradient), 2, len(lower[0])))
        for k, (row, column) in enumerate(zip(*lower, strict=True)):
            for which, factor in enumerate(factors):
                change = np.zeros((2, *factor.shape))
                change[which, row] = factor[:, column]
                change[which] += change[which].T
                slopes[:, which, k] = pair_values(*change)
        slopes = slopes.reshape(len(self.gradient), -1)
        information = slopes.T @ self.information @ slopes
        # The same ridge for all: the information of a factor near 0 is near 0 too.
        ridge = damping * np.trace(information) / len(information)
        damped = information + ridge * np.eye(len(information))
        step = np.linalg.solve(damped, slopes.T @ self.gradient)
        factors[:, *lower] += step.reshape(2, -1)
        genetic, residual = factors @ factors.transpose(0, 2, 1)
        return genetic, nearest_covariance(residual)

    @property
    def covariances(self) -> np.ndarray:
        """Covariances of pairs of traits, genetic ones first."""
        pairs = trait_pairs(len(self.genetic))
        return np.array(
            [matrix[pair] for matrix in (self.genetic, self.residual) for pair in pairs]
        )


def trait_pairs(n_traits: int) -> list[tuple[int, int]]:
    """Return the pairs of traits with a covariance, including the variances."""
    return list(combinations_with_replacement(range(n_traits), 2))


def pair_values(genetic: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return the elements of two matrices for each pair of traits."""
    return np.array([each[pair] for each in (genetic, residual) for pair in trait_pairs(len(each))])


def _factor(matrix: np.ndarray) -> np.ndarray:
    """Return the triangular factor of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0))).T)[1].T


def nearest_covariance(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with eigenvalues not below the floor."""
    values, vectors = np.linalg.eigh(matrix)
    return matrix if values[0] >= FLOOR else (vectors * np.maximum(values, FLOOR)) @ vectors.T


def split_pairs(covariances: np.ndarray, n_traits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices from values per pair of traits, in the order of `PairState`."""
    t, u = np.array(trait_pairs(n_traits)).T
    both = np.zeros((2, n_traits, n_traits))
    both[:, t, u] = both[:, u, t] = covariances.reshape(2, -1)
    return both[0], both[1]


def trait_scales(values: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the residual standard deviations of traits after fixed effects, used as units."""
    scales = []
    for trait in values.T:
        has = ~np.isnan(trait)
        rest = trait[has] - basis[has] @ np.linalg.lstsq(basis[has], trait[has])[0]
        scales.append(np.sqrt((rest @ rest) / max(has.sum() - basis.shape[1], 1)))
    found = np.array(scales)
    if not (found > 0).all():
        raise ParameterError("covariates account for a trait wholly, which leaves no variance")
    return found


def make_snapshot(state: PairState, scales: np.ndarray, **known: Any) -> CorrelationSnapshot:
    """Return the state as a snapshot in the units of the traits."""
    n_traits = len(scales)
    genetic, residual = state.genetic, state.residual
    spread = np.linalg.pinv(state.information)
    units = scales[:, None] * scales
    errors = split_pairs(np.sqrt(np.maximum(np.diag(spread), 0)), n_traits)
    places = split_pairs(np.arange(len(state.covariances)), n_traits)
    of_genetic, of_residual = (
        _correlations(matrix, place.astype(int), spread)
        for matrix, place in zip((genetic, residual), places, strict=True)
    )
    of_traits = [_heritability(genetic, residual, places, spread, t) for t in range(n_traits)]
    heritabilities, heritability_errors = np.array(of_traits).T
    is_singular, is_bounded = _find_bounds(genetic, residual, heritability_errors)
    heritability_errors[is_bounded.any(axis=0)] = np.nan
    for k, of_matrix in enumerate((of_genetic, of_residual)):
        errors[k][np.diag(is_bounded[k])] = np.nan
        unknown = is_singular[k] & ~np.eye(n_traits, dtype=bool)
        errors[k][unknown] = of_matrix[1][unknown] = np.nan
    return CorrelationSnapshot(
        genetic=genetic * units,
        residual=residual * units,
        genetic_errors=errors[0] * units,
        residual_errors=errors[1] * units,
        correlations=of_genetic[0],
        correlation_errors=of_genetic[1],
        residual_correlations=of_residual[0],
        residual_correlation_errors=of_residual[1],
        heritabilities=heritabilities,
        heritability_errors=heritability_errors,
        log_likelihood=state.log_likelihood,
        is_bounded=bool(is_singular.any()),
        **known,
    )


def _find_bounds(
    genetic: np.ndarray, residual: np.ndarray, heritability_errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of both matrices is singular, and which variances are at their bound of 0.

    Where a matrix is singular, a variance that explains next to nothing of its trait, with an error
    that no number from 0 to 1 can have, is at its bound too: the likelihood is flat there.
    """
    both = np.stack([genetic, residual])
    is_singular = np.linalg.eigvalsh(both)[:, 0] < _AT_BOUND
    variances = np.diagonal(both, axis1=1, axis2=2)
    is_low = (variances < _NEAR_BOUND * variances.sum(0)) & (heritability_errors > _MAX_ERROR)
    return is_singular, (variances < _AT_BOUND) | (is_low & is_singular[:, None])


def _correlations(
    matrix: np.ndarray, places: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return correlations, and their standard errors by the delta method."""
    deviations = np.sqrt(np.diag(matrix))
    correlations = matrix / (deviations[:, None] * deviations)
    errors = np.zeros_like(matrix)
    for t, u in zip(*np.triu_indices(len(matrix), 1), strict=True):
        slope = np.zeros(len(spread))
        slope[places[t, u]] = 1 / (deviations[t] * deviations[u])
        slope[places[t, t]] = -correlations[t, u] / (2 * matrix[t, t])
        slope[places[u, u]] = -correlations[t, u] / (2 * matrix[u, u])
        errors[t, u] = errors[u, t] = np.sqrt(max(slope @ spread @ slope, 0))
    np.fill_diagonal(correlations, 1.0)
    return correlations, errors


def _heritability(
    genetic: np.ndarray,
    residual: np.ndarray,
    places: tuple[np.ndarray, np.ndarray],
    spread: np.ndarray,
    trait: int,
) -> tuple[float, float]:
    """Return the heritability of a trait, and its standard error."""
    g, r = genetic[trait, trait], residual[trait, trait]
    slope = np.zeros(len(spread))
    slope[int(places[0][trait, trait])] = r / (g + r) ** 2
    slope[int(places[1][trait, trait])] = -g / (g + r) ** 2
    return g / (g + r), float(np.sqrt(max(slope @ spread @ slope, 0)))


def nothing_yet(values: np.ndarray, notes: tuple[str, ...]) -> CorrelationSnapshot:
    """Return the snapshot before the first estimate, for traits of shape (n, n_traits)."""
    n_traits = values.shape[1]
    unknown = np.full((n_traits, n_traits), np.nan)
    return CorrelationSnapshot(
        0,
        *[unknown] * 8,
        unknown[0],
        unknown[0],
        np.nan,
        np.inf,
        (~np.isnan(values)).sum(axis=0),
        False,
        False,
        0.0,
        notes,
    )
