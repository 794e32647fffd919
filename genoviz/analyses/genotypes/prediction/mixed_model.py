"""Solutions of general linear mixed models: any number of traits and of random effects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_run import PACE_SECONDS
from genoviz.analyses.genotypes.prediction.conjugate_gradient import (
    GradientStep,
    iter_conjugate_gradient,
)
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.genotypes.mixed_model import Descent, MixedModel, RandomEffects, Structure

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_DENSE = 5_000
"""Equations whose inverse can be had, and levels whose covariances are inverted."""
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class MixedSolution:
    """Solutions of a mixed model as they are after some iterations.

    Attributes
    ----------
    traits, effects, levels
        int64, shape (n,): what each is of; all from 0.
    values
        float64, shape (n,). Of effects that cannot be told apart, only differences mean something.
    standard_errors
        float64, shape (n,): of fixed effects, and of predictions of random ones; NaN where they
        cannot be estimated alone. None unless asked for.
    residuals
        float64, shape (iteration + 1,): squared norm of the residual over that of the right side.
    is_converged
        Whether the last one is within the tolerance.
    seconds
        Since the start.
    """

    traits: np.ndarray
    effects: np.ndarray
    levels: np.ndarray
    values: np.ndarray
    standard_errors: np.ndarray | None
    residuals: np.ndarray
    is_converged: bool
    seconds: float

    @property
    def sentence(self) -> str:
        """How exact the solution is, in words."""
        n = len(self.residuals) - 1
        words = f"{n:,} iteration{'s' * (n != 1)}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{'' if self.is_converged else ', not converged'}"


def iter_solve_mixed_model(
    model: MixedModel,
    *,
    standard_errors: bool = False,
    tolerance: float = 1e-18,
    max_iterations: int = 5000,
) -> Iterator[MixedSolution]:
    """Solve Henderson's mixed model equations by conjugate gradients, and yield the iterates.

    Residuals of a record have the inverse of the covariance of the traits that it has. The
    preconditioner is the inverse of the block of each level, traits by traits.

    Parameters
    ----------
    model
        Observations, effects and covariances.
    standard_errors
        Whether the last solution has them, which takes the dense inverse of up to 5,000 equations.
    tolerance
        Squared norm of the residual over that of the right side at which to stop.
    max_iterations
        When to stop at the latest.

    Raises
    ------
    ParameterError
        If a covariance is not symmetric and positive definite, apart from traits that have not an
        effect; if there are too many equations for standard errors.

    References
    ----------
    Henderson 1984, Applications of Linear Models in Animal Breeding, University of Guelph
    Strandén and Lidauer 1999, Solving large mixed linear models using preconditioned conjugate
    gradient iteration, doi:10.3168/jds.S0022-0302(99)75535-9
    """
    start = shown = time.perf_counter()
    equations = _Equations(model)
    n = equations.matrix.shape[0]
    if standard_errors and n > MAX_DENSE:
        raise ParameterError(
            f"standard errors need the inverse of {n:,} equations, can do at most {MAX_DENSE:,}"
        )
    steps = iter_conjugate_gradient(
        lambda direction: (equations.matrix @ direction,),
        equations.right_side,
        equations.precondition,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    for step in steps:
        now = time.perf_counter()
        if step.is_last or now - shown >= PACE_SECONDS:
            shown = now
            errors = equations.standard_errors() if step.is_last and standard_errors else None
            yield equations.read(step, errors, now - start)


@in_one_go(iter_solve_mixed_model)
def solve_mixed_model(last: MixedSolution) -> MixedSolution:
    """Return the last of what `iter_solve_mixed_model` yields."""
    return last


class _Equations:
    """Equations with a row for each trait of each level of each effect, nested in this order."""

    def __init__(self, model: MixedModel) -> None:
        self._n_traits = model.observations.shape[1]
        self._starts, self._n_levels = _number_levels(model)
        design = _design(model, self._starts, self._n_levels[-1] + self._starts[-1])
        precision = _residual_precision(model)
        weighted = design.T @ precision
        self.right_side = weighted @ np.nan_to_num(model.observations).ravel()
        matrix = weighted @ design
        for group in model.random:
            matrix = matrix + self._penalty(group)
        self.matrix = matrix.tocsr()
        self._is_used = self.matrix.diagonal() > 0
        self._inverses = self._invert_blocks()

    def _penalty(self, group: RandomEffects) -> csr_array:
        """Return what random effects add to the left side."""
        from scipy.sparse import coo_array

        n_traits, n = self._n_traits, self.right_side.size
        n_levels = self._n_levels[group.effects[0]]
        if any(self._n_levels[effect] != n_levels for effect in group.effects):
            numbers = ", ".join(str(effect + 1) for effect in group.effects)
            raise ParameterError(f"effects {numbers} are correlated and differ in their levels")
        names = "effects " if len(group.effects) > 1 else "effect "
        names += ", ".join(str(effect + 1) for effect in group.effects)
        inverse = _invert_covariance(group.covariance, names)
        structure = _inverse_of(group.structure, n_levels).tocoo()
        data, rows, columns = [], [], []
        for (k, m), value in np.ndenumerate(inverse):
            if value == 0:
                continue
            first, second = (
                self._starts[group.effects[j // n_traits]] * n_traits + j % n_traits for j in (k, m)
            )
            data.append(structure.data * value)
            rows.append(first + structure.row * n_traits)
            columns.append(second + structure.col * n_traits)
        found = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return coo_array(found, shape=(n, n)).tocsr()

    def _invert_blocks(self) -> np.ndarray:
        """Return the inverses of the diagonal blocks, of traits by traits."""
        n_traits = self._n_traits
        n_blocks = self.right_side.size // n_traits
        blocks = np.zeros((n_blocks, n_traits, n_traits))
        found = self.matrix.tocoo()
        inside = found.row // n_traits == found.col // n_traits
        rows, columns = found.row[inside], found.col[inside]
        blocks[rows // n_traits, rows % n_traits, columns % n_traits] = found.data[inside]
        return np.linalg.pinv(blocks, rcond=_LEAST, hermitian=True)

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the solution for a right side."""
        parts = residual.reshape(-1, self._n_traits)
        return np.einsum("lij,lj->li", self._inverses, parts).ravel()

    def standard_errors(self) -> np.ndarray:
        """Return the roots of the diagonal of the inverse, NaN of what is not estimable."""
        used = np.flatnonzero(self._is_used)
        scale = 1 / np.sqrt(self.matrix.diagonal()[used])
        dense = self.matrix[used][:, used].toarray() * scale[:, None] * scale
        values, vectors = np.linalg.eigh(dense)
        is_null = values < _LEAST * values[-1]
        weights = np.where(is_null, 0.0, 1 / np.where(is_null, 1.0, values))
        errors = np.full(self.right_side.size, np.nan)
        errors[used] = np.sqrt(vectors**2 @ weights) * scale
        # What differs between two solutions has a part in the null space.
        is_lost = (vectors[:, is_null] ** 2).sum(axis=1) > _LEAST
        errors[used[is_lost]] = np.nan
        return errors

    def read(self, step: GradientStep, errors: np.ndarray | None, seconds: float) -> MixedSolution:
        """Return the solutions of all traits that have the effects."""
        rows = np.arange(self.right_side.size)
        traits, levels = rows % self._n_traits, rows // self._n_traits
        is_first = np.flatnonzero(np.append(np.diff(self._starts) > 0, True))
        effects = is_first[np.searchsorted(self._starts[is_first], levels, side="right") - 1]
        by_effect = np.zeros((len(self._starts), self._n_traits), bool)
        np.logical_or.at(by_effect, (effects, traits), self._is_used)
        kept = by_effect[effects, traits]
        values = np.where(self._is_used, step.solution, 0.0)
        return MixedSolution(
            traits[kept],
            effects[kept],
            (levels - self._starts[effects])[kept],
            values[kept],
            None if errors is None else errors[kept],
            step.residuals,
            step.is_converged,
            seconds,
        )


def _number_levels(model: MixedModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the first number of each effect's levels, and how many these are.

    One that is a part of the next has the numbers of that.
    """
    starts, sizes, end = [], [], 0
    for effect in model.effects:
        starts.append(end)
        sizes.append(effect.n_levels)
        end += 0 if effect.is_part_of_next else effect.n_levels
    for number in reversed(range(len(sizes) - 1)):
        if model.effects[number].is_part_of_next:
            sizes[number] = sizes[number + 1]
    return np.array(starts), np.array(sizes)


def _design(model: MixedModel, starts: np.ndarray, n_levels: int) -> csr_array:
    """Return the effects of each trait of each record: rows by traits within records."""
    from scipy.sparse import coo_array

    n, n_traits = model.observations.shape
    trait = np.broadcast_to(np.arange(n_traits), (n, n_traits))
    row = np.arange(n * n_traits).reshape(n, n_traits)
    data, rows, columns = [], [], []
    for effect, start in zip(model.effects, starts.tolist(), strict=True):
        has = effect.levels >= 0
        covariates = effect.covariates
        data.append(np.ones(int(has.sum())) if covariates is None else covariates[has])
        rows.append(row[has])
        columns.append(((start + effect.levels) * n_traits + trait)[has])
    found = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(found, shape=(n * n_traits, n_levels * n_traits)).tocsr()


def _residual_precision(model: MixedModel) -> csr_array:
    """Return the inverse of the covariance of all residuals, block by block of a record."""
    from scipy.sparse import coo_array

    n, n_traits = model.observations.shape
    _invert_covariance(model.residual, "residuals")  # of all traits, so that its fault is told
    has = ~np.isnan(model.observations)
    patterns, which = np.unique(has, axis=0, return_inverse=True)
    inverses = np.zeros((len(patterns), n_traits, n_traits))
    for pattern, inverse in zip(patterns, inverses, strict=True):
        there = np.ix_(pattern, pattern)
        inverse[there] = np.linalg.inv(model.residual[there])
    blocks = inverses[which.ravel()]
    if model.weights is not None:
        blocks = blocks * model.weights[:, None, None]
    rows = np.arange(n * n_traits).reshape(n, n_traits)
    row = np.repeat(rows[:, :, None], n_traits, axis=2)
    column = np.repeat(rows[:, None, :], n_traits, axis=1)
    size = n * n_traits, n * n_traits
    return coo_array((blocks.ravel(), (row.ravel(), column.ravel())), shape=size).tocsr()


def _invert_covariance(covariance: np.ndarray, what: str) -> np.ndarray:
    """Return the inverse of a covariance, with zeros where it has nothing but zeros."""
    there = covariance.any(axis=0)
    used = covariance[np.ix_(there, there)]
    if not np.isfinite(covariance).all() or not np.allclose(covariance, covariance.T, rtol=1e-6):
        raise ParameterError(f"the covariance of {what} is not symmetric")
    if not len(used) or np.linalg.eigvalsh(used)[0] <= 0:
        raise ParameterError(f"the covariance of {what} is not positive definite")
    inverse = np.zeros_like(covariance)
    inverse[np.ix_(there, there)] = np.linalg.inv(used)
    return inverse


def _inverse_of(structure: Structure, n_levels: int) -> csr_array:
    """Return the inverse of the covariances of levels, in units of their variance."""
    from scipy.sparse import coo_array, csr_array, diags_array, eye_array

    if structure is None:
        return eye_array(n_levels, format="csr")
    if isinstance(structure, Descent):
        row = np.arange(len(structure.animals))
        has = structure.parents >= 0
        rows = np.concatenate([row, row[has[:, 0]], row[has[:, 1]]])
        columns = np.concatenate(
            [structure.animals, structure.parents[has[:, 0], 0], structure.parents[has[:, 1], 1]]
        )
        own = np.ones(len(row))
        shares = [np.full(has[:, k].sum(), -structure.shares[k]) for k in (0, 1)]
        data = np.concatenate([own, *shares])
        sampling = csr_array((data, (rows, columns)), shape=(len(row), n_levels))
        return (sampling.T @ diags_array(structure.precisions) @ sampling).tocsr()
    is_off = structure.rows != structure.columns
    rows = np.concatenate([structure.rows, structure.columns[is_off]])
    columns = np.concatenate([structure.columns, structure.rows[is_off]])
    data = np.concatenate([structure.values, structure.values[is_off]])
    matrix = coo_array((data, (rows, columns)), shape=(n_levels, n_levels)).tocsr()
    if structure.is_inverse:
        return matrix
    if n_levels > MAX_DENSE:
        raise ParameterError(
            f"covariances of {n_levels:,} levels are to be inverted, can do at most {MAX_DENSE:,}"
        )
    there = np.flatnonzero(matrix.diagonal())
    dense = np.zeros((n_levels, n_levels))
    dense[np.ix_(there, there)] = np.linalg.inv(matrix[there][:, there].toarray())
    return csr_array(dense)
