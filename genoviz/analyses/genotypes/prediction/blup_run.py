"""Iterative solution of BLUP equations, with snapshots."""

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
    """Predictions after some iterations.

    Attributes
    ----------
    iteration
        Number of iterations done.
    residuals
        float64, shape (iteration + 1,): squared residual norm relative to that of the right side.
    effects
        float64, shape (n_variants,): effect per copy of A1; 0 for excluded variants.
    breeding_values
        float64: of all samples, or of all animals of the pedigree, with or without records.
    fixed_effects
        float64: the intercept, then the covariates; 0 for excluded ones.
    is_converged
        Whether the last residual is within the tolerance.
    seconds
        Time since the start of the iterations.
    notes
        Covariates that were left out, one sentence each.
    permanent_effects
        float64, shape of the breeding values: permanent environmental effects of animals; None if
        they have no variance.
    group_effects
        float64, shape (n_groups,): breeding values of the unknown parent groups.
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
        """Accuracy of the prediction, in words."""
        plural = "s" * (self.iteration != 1)
        words = f"{self.iteration:,} iteration{plural}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{'' if self.is_converged else ', not converged'}"


class Equations(Protocol):
    """Symmetric positive definite equations with fixed effects projected out."""

    training: Training
    right_side: np.ndarray

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times a vector, and other products that `read` needs."""

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return an approximate solution for a right side."""

    def read(self, step: GradientStep) -> Solution:
        """Return effects and breeding values of an iterate, and group effects if any."""


def iter_blup(
    equations: Equations, *, tolerance: float, max_iterations: int
) -> Iterator[BlupSnapshot]:
    """Yield the first iterate, the last, and some in between at time intervals."""
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
    """Expand effects of selected variants to all variants, 0 for excluded ones."""
    for snapshot in snapshots:
        effects = spread_rows(snapshot.effects, kept, n_variants)
        yield snapshot if effects is snapshot.effects else replace(snapshot, effects=effects)
