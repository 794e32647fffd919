"""Solutions of mixed models, as they are after some iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
    variant_effects
        float64, shape (n_variants, effects * traits): of one allele A1 on random effects of each
        `SingleStep`, traits within effects.
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
        """Return the solutions of one effect: float64, shape (n_levels, n_traits), NaN for none."""
        chosen = self.effects == effect
        levels, traits = self.levels[chosen], self.traits[chosen]
        found = np.full((levels.max(initial=-1) + 1, n_traits), np.nan)
        found[levels, traits] = self.values[chosen]
        return found

    @property
    def sentence(self) -> str:
        """How exact the solution is, in words."""
        n = len(self.residuals) - 1
        words = f"{n:,} iteration{'s' * (n != 1)}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{', not converged' * (not self.is_converged)}"
