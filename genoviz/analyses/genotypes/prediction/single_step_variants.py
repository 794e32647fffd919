"""ssSNPBLUP: equations of all animals and all variants."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.prediction.preconditioners import (
    Preconditioner,
    variant_preconditioner,
)
from genoviz.analyses.genotypes.prediction.single_step_parts import SingleStepParts


class VariantEquations:
    """The equations of ssSNPBLUP.

    With B = A_gg^-1 for the rows of genotyped animals, l the variance ratio and w the polygenic
    weight::

        (P + l (A^-1 + (1/w - 1) B)) u - l/w BZ g                  = Py
        -l/w Z'B u                     + l (Z'BZ / w + ridge I) g  = 0
    """

    def __init__(self, parts: SingleStepParts, preconditioner: Preconditioner) -> None:
        self.training = parts.training
        self._parts = parts
        phenotype = self.training.project(self.training.phenotype)
        self.right_side = np.concatenate([phenotype, np.zeros(parts.n_variants)])
        self._diagonal = (
            np.ones(parts.n_animals) if preconditioner == "none" else parts.diagonal(parts.weight)
        )
        self._precondition_effects = variant_preconditioner(
            preconditioner,
            parts.markers,
            np.arange(len(parts.genotyped)),
            parts.ratio * parts.ridge,
            scale=parts.ratio / parts.weight * parts.genotyped_inverse.diagonal.mean(),
        )

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times breeding values and effects."""
        parts, weight = self._parts, self._parts.weight
        values, effects = np.split(direction, [parts.n_animals])
        genotyped = values[parts.genotyped]
        polygenic = genotyped - parts.matrix.multiply(effects)
        both = np.column_stack([genotyped, polygenic])
        of_values, of_polygenic = parts.genotyped_inverse.multiply(both).T
        animals = parts.inverse @ values
        animals[parts.genotyped] += of_polygenic / weight - of_values
        variants = parts.ridge * effects
        variants -= parts.matrix.multiply_transposed(of_polygenic / weight)
        image = parts.ratio * np.concatenate([animals, variants])
        image[: parts.n_animals] += self.training.project(values)
        return (image,)

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the breeding values and effects for a right side."""
        animals, variants = np.split(residual, [self._parts.n_animals])
        return np.concatenate([animals / self._diagonal, self._precondition_effects(variants)])

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        values, effects = np.split(step.solution, [self._parts.n_animals])
        return effects, values
