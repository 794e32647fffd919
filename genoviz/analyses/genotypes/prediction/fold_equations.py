"""The equations of SNP-BLUP without each fold of the samples, solved side by side."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.products import GenotypeMatrix


class FoldEquations:
    """(Z'P_f Z + ridge I) g_f = Z'P_f y, a column for each fold f, whose samples P_f leaves out.

    Parameters
    ----------
    matrix
        Z, of all samples.
    phenotype, covariates
        As in `Training`.
    fold_of
        int64, shape (n_samples,): the fold that each sample is held out in, or -1.
    folds
        How many there are.
    ridge
        Residual variance over that of an effect.
    """

    def __init__(
        self,
        matrix: GenotypeMatrix,
        phenotype: np.ndarray,
        covariates: np.ndarray | None,
        fold_of: np.ndarray,
        folds: int,
        ridge: float,
    ) -> None:
        self._matrix = matrix
        self._phenotype = phenotype
        self._covariates = covariates
        self._fold_of = fold_of
        self._ridge = ridge
        self._trainings = [
            Training(np.where(fold_of == fold, np.nan, phenotype), covariates)
            for fold in range(folds)
        ]
        phenotypes = np.column_stack([training.phenotype for training in self._trainings])
        self.right_side = matrix.multiply_transposed(self._project(phenotypes))

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times effects, and the breeding values of these."""
        values = self._matrix.multiply(direction)
        image = self._matrix.multiply_transposed(self._project(values))
        return image + self._ridge * direction, values

    def compare(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return what is predicted and observed of each sample; NaN where it is in no fold."""
        n_samples, folds = len(self._phenotype), len(self._trainings)
        breeding_values = step.images[0] if step.images else np.zeros((n_samples, folds))
        predicted = np.full(n_samples, np.nan)
        observed = predicted.copy()
        for fold, training in enumerate(self._trainings):
            held_out = self._fold_of == fold
            values = breeding_values[:, fold]
            intercept, *effects = training.fixed_effects(values)
            predicted[held_out] = intercept + values[held_out]
            observed[held_out] = self._phenotype[held_out]
            if effects:
                columns = np.reshape(self._covariates, (len(observed), -1))
                observed[held_out] -= columns[held_out] @ np.array(effects)
        return predicted, observed

    def _project(self, columns: np.ndarray) -> np.ndarray:
        pairs = zip(self._trainings, columns.T, strict=True)
        return np.column_stack([training.project(column) for training, column in pairs])
