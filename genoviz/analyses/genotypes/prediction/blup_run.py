"""The run of a BLUP: equations in, snapshots of their solution out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.conjugate_gradient import (
    GradientStep,
    Products,
    iter_conjugate_gradient,
)
from genoviz.analyses.genotypes.sex_chromosomes import spread_rows

PACE_SECONDS = 0.03
Solution = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class BlupSnapshot:
    """Predictions as they are after some iterations.

    Attributes
    ----------
    iteration
        Iterations done.
    residuals
        float64, shape (iteration + 1,): squared norm of the residual over that of the right side.
    effects
        float64, shape (n_variants,): effect of one allele A1; 0 of variants that are left out.
    breeding_values
        float64: of all samples, or of all animals of the pedigree, trained on or not.
    fixed_effects
        float64: the intercept, then one a covariate; 0 of those that are left out.
    is_converged
        Whether the last residual is within the tolerance.
    seconds
        Since the start of the iterations.
    notes
        Which covariates are left out, one sentence each.
    permanent_effects
        float64, as breeding values: what records of one animal have in common beside these; None
        where that has no variance.
    group_effects
        float64, shape (n_groups,): breeding values of the pedigree's groups of unknown parents.
    """

    iteration: int
    residuals: np.ndarray
    effects: np.ndarray
    breeding_values: np.ndarray
    fixed_effects: np.ndarray
    is_converged: bool
    seconds: float
    notes: tuple[str, ...] = ()
    permanent_effects: np.ndarray | None = None
    group_effects: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def sentence(self) -> str:
        """How exact the prediction is, in words."""
        plural = "s" * (self.iteration != 1)
        words = f"{self.iteration:,} iteration{plural}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{'' if self.is_converged else ', not converged'}"


class Equations(Protocol):
    """Symmetric positive definite equations, after fixed effects were projected out."""

    training: Training
    right_side: np.ndarray

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times a vector, and other images that `read` needs."""

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the solution for a right side."""

    def read(self, step: GradientStep) -> Solution:
        """Return effects and breeding values of an iterate, and those of groups if there are."""


def iter_blup(
    equations: Equations, *, tolerance: float, max_iterations: int
) -> Iterator[BlupSnapshot]:
    """Yield the first iterate, the last, and between them one whenever some time went by."""
    start = shown = time.perf_counter()
    for step in iter_conjugate_gradient(
        equations.multiply,
        equations.right_side,
        equations.precondition,
        tolerance=tolerance,
        max_iterations=max_iterations,
    ):
        now = time.perf_counter()
        if step.iteration > 0 and not step.is_last and now - shown < PACE_SECONDS:
            continue
        shown = now
        effects, breeding_values, *groups = equations.read(step)
        yield BlupSnapshot(
            step.iteration,
            step.residuals,
            effects,
            breeding_values,
            equations.training.fixed_effects(breeding_values),
            step.is_converged,
            now - start,
            equations.training.notes,
            equations.training.permanent_effects(breeding_values),
            *groups,
        )


def spread_effects(
    snapshots: Iterator[BlupSnapshot], kept: slice | np.ndarray, n_variants: int
) -> Iterator[BlupSnapshot]:
    """Yield snapshots of some variants with effects of all: 0 of those that are left out."""
    for snapshot in snapshots:
        effects = spread_rows(snapshot.effects, kept, n_variants)
        yield snapshot if effects is snapshot.effects else replace(snapshot, effects=effects)
