"""Solutions of mixed models after some iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class MixedSolution:
    """Solution of a mixed model after some iterations.

    Attributes
    ----------
    traits, effects, levels
        int64, shape (n,): trait, effect and level of each value, all from 0.
    values
        float64, shape (n,). For confounded effects only differences are meaningful.
    standard_errors
        float64, shape (n,): of fixed effects, and of predictions of random ones; NaN if not
        estimable. None unless requested.
    residuals
        float64, shape (iteration + 1,): squared residual norm relative to that of the right side.
    is_converged
        Whether the last residual is within the tolerance.
    seconds
        Time since the start.
    variant_effects
        float64, shape (n_variants, effects * traits): effect per copy of A1 on the random effects
        of each `SingleStep`, traits within effects.
    """

    traits: np.ndarray
    effects: np.ndarray
    levels: np.ndarray
    values: np.ndarray
    standard_errors: np.ndarray | None
    residuals: np.ndarray
    is_converged: bool
    seconds: float
    variant_effects: tuple[np.ndarray, ...] = ()

    def of_effect(self, effect: int, n_traits: int) -> np.ndarray:
        """Return the solutions of an effect: float64, shape (n_levels, n_traits), NaN if none."""
        chosen = self.effects == effect
        levels, traits = self.levels[chosen], self.traits[chosen]
        found = np.full((levels.max(initial=-1) + 1, n_traits), np.nan)
        found[levels, traits] = self.values[chosen]
        return found

    @property
    def sentence(self) -> str:
        """Accuracy of the solution, in words."""
        n = len(self.residuals) - 1
        words = f"{n:,} iteration{'s' * (n != 1)}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{', not converged' * (not self.is_converged)}"
