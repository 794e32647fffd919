"""Solution of linear mixed models with any number of traits and random effects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_run import PACE_SECONDS
from genoviz.analyses.genotypes.prediction.conjugate_gradient import (
    GradientStep,
    iter_conjugate_gradient,
)
from genoviz.analyses.genotypes.prediction.mixed_solution import MixedSolution
from genoviz.analyses.genotypes.prediction.pedigree_inverse import MAX_INVERTED
from genoviz.analyses.genotypes.prediction.preconditioners import inverse_within
from genoviz.analyses.genotypes.prediction.structures import (
    GenomicRows,
    MarkerRows,
    structure_inverse,
)
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.genotypes.mixed_model import (
    MarkerEffects,
    MixedModel,
    PedigreeRelationships,
    RandomEffects,
    SingleStep,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LEAST = 1e-9
_MAX_COMMON = 12


def iter_solve_mixed_model(
    model: MixedModel,
    *,
    standard_errors: bool = False,
    tolerance: float = 1e-18,
    max_iterations: int = 5000,
    backend: Backend = "auto",
) -> Iterator[MixedSolution]:
    """Solve Henderson's mixed model equations by conjugate gradients, and yield the iterates.

    Each record uses the inverse residual covariance of its observed traits. The preconditioner
    inverts the trait-by-trait diagonal block of each level.

    Parameters
    ----------
    model
        Observations, effects and covariances.
    standard_errors
        Whether the last solution has standard errors. They need the dense inverse, which is limited
        to 6,000 equations, not counting those of variants.
    tolerance
        Stop at this squared residual norm relative to that of the right side.
    max_iterations
        Maximum number of iterations.
    backend
        Where to multiply genotypes: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If a covariance is not symmetric and positive definite, except for traits without the
        effect; if standard errors are requested with `MarkerEffects`, for too many equations or for
        covariances that are none; or if a genotyped sample is not in the pedigree.

    References
    ----------
    Henderson 1984, Applications of Linear Models in Animal Breeding, University of Guelph
    Strandén and Lidauer 1999, Solving large mixed linear models using preconditioned conjugate
    gradient iteration, doi:10.3168/jds.S0022-0302(99)75535-9
    """
    start = shown = time.perf_counter()
    equations = _Equations(model, backend)
    n = equations.n_rows
    if standard_errors and any(isinstance(each, MarkerRows) for each in equations.genomic):
        raise ParameterError("standard errors are of models without MarkerEffects")
    if standard_errors and n > MAX_INVERTED:
        raise ParameterError(
            f"standard errors need the inverse of {n:,} equations, can do at most {MAX_INVERTED:,}"
        )
    steps = iter_conjugate_gradient(
        equations.multiply,
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
    """Return the last snapshot of `iter_solve_mixed_model`."""
    return last


class _Equations:
    """Equations with a row for each trait of each level of each effect, nested in this order.

    The rows of the variant effects on each trait follow.
    """

    def __init__(self, model: MixedModel, backend: Backend) -> None:
        self._n_traits = model.observations.shape[1]
        self._starts, self._n_levels = _number_levels(model)
        self.n_rows = (self._n_levels[-1] + self._starts[-1]) * self._n_traits
        design = _design(model, self._starts, self.n_rows)
        weighted = design.T @ _residual_precision(model)
        right_side = weighted @ np.nan_to_num(model.observations).ravel()
        matrix = weighted @ design
        self.genomic: list[GenomicRows | MarkerRows] = []
        end = self.n_rows
        for group in model.random:
            inverse = self._invert(group)
            if isinstance(group.structure, SingleStep | MarkerEffects):
                rows = GenomicRows if isinstance(group.structure, SingleStep) else MarkerRows
                places = self._places(group)
                self.genomic.append(rows(group.structure, inverse, places, end, backend))
                end = self.genomic[-1].span.stop
            else:
                matrix = matrix + self._penalty(group, inverse)
        self.right_side = np.pad(right_side, (0, end - self.n_rows))
        for each in self.genomic:
            each.begin(self.right_side)
        self.matrix = matrix.tocsr()
        self._inverses = self._invert_blocks()
        directions = self._common_values(model)
        self._common = inverse_within(lambda each: self.multiply(each)[0], directions)

    def _common_values(self, model: MixedModel) -> np.ndarray:
        """Return poorly determined directions: a constant shared by all animals.

        They trade off against a fixed effect that all records have.
        """
        random = {effect for group in model.random for effect in group.effects}
        fixed = [
            k for k, effect in enumerate(model.effects)
            if k not in random and effect.covariates is None and (effect.levels >= 0).all()
        ]  # fmt: skip
        directions = []
        for group in model.random:
            if not isinstance(group.structure, PedigreeRelationships | SingleStep):
                continue
            places = self._places(group)
            for column in np.flatnonzero(np.diag(group.covariance)).tolist():
                direction = np.zeros(len(self.right_side))
                direction[places[:, column]] = 1.0
                for effect in fixed[:1]:
                    levels = self._starts[effect] + np.arange(self._n_levels[effect])
                    direction[levels * self._n_traits + column % self._n_traits] = -1.0
                directions.append(direction)
        return np.reshape(directions[:_MAX_COMMON], (-1, len(self.right_side))).T

    def multiply(self, direction: np.ndarray) -> tuple[np.ndarray]:
        """Return the left side times solutions."""
        direction = self._fill(direction)
        image = np.zeros_like(direction)
        image[: self.n_rows] = self.matrix @ direction[: self.n_rows]
        for each in self.genomic:
            each.add(image, direction)
        return (image,)

    def _fill(self, solution: np.ndarray) -> np.ndarray:
        for each in self.genomic:
            solution = each.fill(solution)
        return solution

    def _invert(self, group: RandomEffects) -> np.ndarray:
        """Return the inverse covariance of a group of correlated effects."""
        numbers = ", ".join(str(effect + 1) for effect in group.effects)
        if len({int(self._n_levels[effect]) for effect in group.effects}) > 1:
            raise ParameterError(f"effects {numbers} are correlated and differ in their levels")
        names = f"effect{'s' * (len(group.effects) > 1)} {numbers}"
        return _invert_covariance(group.covariance, names)

    def _places(self, group: RandomEffects) -> np.ndarray:
        """Return the equation indices of each level, shape (n_levels, effects * traits)."""
        levels = np.arange(self._n_levels[group.effects[0]])
        traits = np.arange(self._n_traits)
        places = [
            (self._starts[effect] + levels[:, None]) * self._n_traits + traits
            for effect in group.effects
        ]
        return np.hstack(places)

    def _penalty(self, group: RandomEffects, inverse: np.ndarray) -> csr_array:
        """Return the contribution of random effects to the left side."""
        from scipy.sparse import coo_array

        places = self._places(group)
        structure = structure_inverse(group.structure, len(places)).tocoo()
        data, rows, columns = [], [], []
        for (k, m), value in np.ndenumerate(inverse):
            if value:
                data.append(structure.data * value)
                rows.append(places[structure.row, k])
                columns.append(places[structure.col, m])
        found = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        return coo_array(found, shape=(self.n_rows, self.n_rows)).tocsr()

    def _invert_blocks(self) -> np.ndarray:
        """Return the inverses of the trait-by-trait diagonal blocks."""
        n_traits = self._n_traits
        blocks = np.zeros((self.n_rows // n_traits, n_traits, n_traits))
        found = self.matrix.tocoo()
        inside = found.row // n_traits == found.col // n_traits
        rows, columns = found.row[inside], found.col[inside]
        blocks[rows // n_traits, rows % n_traits, columns % n_traits] = found.data[inside]
        for each in self.genomic:
            each.add_blocks(blocks)
        self._is_used = np.einsum("ltt->lt", blocks).ravel() > 0
        return np.linalg.pinv(blocks, rcond=_LEAST, hermitian=True)

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return an approximate solution for a right side."""
        parts = residual[: self.n_rows].reshape(-1, self._n_traits)
        rough = np.empty_like(residual)
        rough[: self.n_rows] = np.einsum("lij,lj->li", self._inverses, parts).ravel()
        for each in self.genomic:
            rough[each.span] = each.precondition(residual[each.span])
        return rough + self._common @ (self._common.T @ residual)

    def standard_errors(self) -> np.ndarray:
        """Return the roots of the diagonal of the inverse; NaN if not estimable."""
        used = np.flatnonzero(self._is_used)
        dense = self.matrix.toarray()
        for each in self.genomic:
            each.add_dense(dense)
        dense = dense[np.ix_(used, used)]
        scale = 1 / np.sqrt(np.abs(dense.diagonal()))
        values, vectors = np.linalg.eigh(dense * scale[:, None] * scale)
        if values[0] < -_LEAST * values[-1]:
            raise ParameterError(
                "the equations are not positive definite, so solutions have no standard errors; "
                "weights of genomic and pedigree relationships do not match"
            )
        is_null = values < _LEAST * values[-1]
        weights = np.where(is_null, 0.0, 1 / np.where(is_null, 1.0, values))
        errors = np.full(self.n_rows, np.nan)
        errors[used] = np.sqrt(vectors**2 @ weights) * scale
        is_lost = (vectors[:, is_null] ** 2).sum(axis=1) > _LEAST
        errors[used[is_lost]] = np.nan
        return errors

    def read(self, step: GradientStep, errors: np.ndarray | None, seconds: float) -> MixedSolution:
        """Return the solutions for the traits that have each effect."""
        rows = np.arange(self.n_rows)
        traits, levels = rows % self._n_traits, rows // self._n_traits
        is_first = np.flatnonzero(np.append(np.diff(self._starts) > 0, True))
        effects = is_first[np.searchsorted(self._starts[is_first], levels, side="right") - 1]
        by_effect = np.zeros((len(self._starts), self._n_traits), bool)
        np.logical_or.at(by_effect, (effects, traits), self._is_used)
        kept = by_effect[effects, traits]
        solution = self._fill(step.solution)
        values = np.where(self._is_used, solution[: self.n_rows], 0.0)
        return MixedSolution(
            traits[kept],
            effects[kept],
            (levels - self._starts[effects])[kept],
            values[kept],
            None if errors is None else errors[kept],
            step.residuals,
            step.is_converged,
            seconds,
            tuple(each.read(solution) for each in self.genomic),
        )


def _number_levels(model: MixedModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the first level number of each effect, and the total number of levels.

    An effect that is part of the next one shares its numbers.
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


def _design(model: MixedModel, starts: np.ndarray, n_columns: int) -> csr_array:
    """Return the design matrix; rows are traits within records."""
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
    return coo_array(found, shape=(n * n_traits, n_columns)).tocsr()


def _residual_precision(model: MixedModel) -> csr_array:
    """Return the block-diagonal inverse of the residual covariance, one block per record."""
    from scipy.sparse import coo_array

    n, n_traits = model.observations.shape
    _invert_covariance(model.residual, "residuals")  # all traits, to report a singular matrix
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
    """Return the inverse of a covariance; zero rows and columns stay zero."""
    there = covariance.any(axis=0)
    used = covariance[np.ix_(there, there)]
    if not np.isfinite(covariance).all() or not np.allclose(covariance, covariance.T, rtol=1e-6):
        raise ParameterError(f"the covariance of {what} is not symmetric")
    if not len(used) or np.linalg.eigvalsh(used)[0] <= 0:
        raise ParameterError(f"the covariance of {what} is not positive definite")
    inverse = np.zeros_like(covariance)
    inverse[np.ix_(there, there)] = np.linalg.inv(used)
    return inverse
