"""Cross-validation of genomic prediction with random folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import (
    Training,
    check_phenotype_length,
    variance_ratio,
)
from genoviz.analyses.genotypes.prediction.conjugate_gradient import (
    GradientStep,
    Products,
    iter_conjugate_gradient,
)
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.preconditioners import variant_preconditioner
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_minimum, n_words
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

_MIN_FOLD = 3


class FoldEquations:
    """(Z'P_f Z + ridge I) g_f = Z'P_f y, one column per fold f; P_f excludes the fold's samples.

    Parameters
    ----------
    matrix
        Z, of all samples.
    phenotype, covariates
        As in `Training`.
    fold_of
        int64, shape (n_samples,): fold in which each sample is held out, or -1.
    folds
        Number of folds.
    ridge
        Residual variance divided by the variance of an effect.
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
        projected = np.column_stack([training.right_side for training in self._trainings])
        self.right_side = matrix.multiply_transposed(projected)

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times effects, and the resulting breeding values."""
        values = self._matrix.multiply(direction)
        image = self._matrix.multiply_transposed(self._project(values))
        return image + self._ridge * direction, values

    def compare(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted and observed values of each sample; NaN if it is in no fold."""
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


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Predictions of held-out phenotypes.

    Attributes
    ----------
    predicted
        float64, shape (n_samples,): intercept plus breeding value, estimated from the other folds;
        mean over repeats. NaN if there is no observation to compare with.
    observed
        float64, shape (n_samples,): phenotype minus covariate effects, estimated from the other
        folds.
    folds
        int64, shape (n_samples,): fold of each sample in the first repeat, -1 for none.
    accuracies
        float64, shape (repeats, folds): correlation of predicted and observed within each fold.
    accuracy
        Mean of ``accuracies``.
    bias
        Mean slope of observed on predicted within folds: 1 if unbiased, less if predictions are
        inflated, more if deflated.
    heritability
        Heritability used for the predictions.
    residual
        Largest final squared relative residual.
    is_converged
        Whether all folds were solved to the tolerance.
    """

    predicted: np.ndarray
    observed: np.ndarray
    folds: np.ndarray
    accuracies: np.ndarray
    accuracy: float
    bias: float
    heritability: float
    residual: float
    is_converged: bool

    @property
    def reliability(self) -> float:
        """Squared correlation with true breeding values, if the heritability is correct."""
        return self.accuracy**2 / self.heritability


def iter_cross_validate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    folds: int = 5,
    repeats: int = 1,
    heritability: float = 0.5,
    covariates: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    seed: int = 0,
    tolerance: float = 1e-10,
    max_iterations: int = 1000,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Predict each fold of the samples by SNP-BLUP from the other folds.

    The folds of a repeat are solved together, so that they share each product of the genotypes.
    The last step has a `CrossValidation`.

    Parameters
    ----------
    genotypes, phenotype, heritability, covariates, contigs, max_iterations, backend
        As in `iter_snp_blup`. Allele frequencies, and so the centring, are those of all samples.
    folds
        Number of random parts of about equal size, with at least 3 samples each.
    repeats
        Number of random divisions.
    seed
        Random seed.
    tolerance
        As in `iter_snp_blup`; the default is looser, because only correlations are computed.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there are too few samples to learn from.
    """
    values = check_phenotype_length(phenotype, genotypes.n_samples)
    ratio = variance_ratio(heritability)
    whole = Training(values, covariates)
    _check_folds(folds, repeats, whole.n_trained)
    markers = Markers(take_autosomes(genotypes, contigs)[0], backend)
    ridge = ratio * markers.scale
    trained = np.flatnonzero(whole.is_trained)
    precondition = variant_preconditioner("diagonal", markers, trained, ridge * folds / (folds - 1))
    rng = np.random.default_rng(seed)
    found, ends = [], []
    for repeat in range(repeats):
        fold_of = _draw_folds(rng, trained, folds, len(values))
        equations = FoldEquations(markers.matrix, values, covariates, fold_of, folds, ridge)
        for step in iter_conjugate_gradient(
            equations.multiply,
            equations.right_side,
            precondition,
            tolerance=tolerance,
            max_iterations=max_iterations,
        ):
            share = _share_done(step.residuals[-1].max(), tolerance)
            yield Progress(f"repeat {repeat + 1} of {repeats}", (repeat + share) / repeats)
        found.append((fold_of, *equations.compare(step)))
        ends.append(step)
    yield Progress("cross-validation", 1.0, _summarise(found, ends, folds, heritability))


@in_one_go(iter_cross_validate)
def cross_validate(last: Progress) -> CrossValidation:
    """Return how well held-out phenotypes are predicted; see `iter_cross_validate`."""
    return last.result


def _check_folds(folds: int, repeats: int, n_trained: int) -> None:
    check_minimum("folds", folds, 2)
    check_minimum("repeats", repeats, 1)
    if n_trained < _MIN_FOLD * folds:
        raise ParameterError(
            f"{n_words(n_trained, 'sample has', 'samples have')} a phenotype and all covariates, "
            "need at least "
            f"{_MIN_FOLD * folds} for {folds} folds"
        )


def _draw_folds(rng: np.random.Generator, trained: np.ndarray, folds: int, n: int) -> np.ndarray:
    fold_of = np.full(n, -1)
    fold_of[rng.permutation(trained)] = np.arange(len(trained)) % folds
    return fold_of


def _share_done(residual: float, tolerance: float) -> float:
    """Return the share of convergence, assuming that residuals fall geometrically."""
    return float(np.clip(np.log(max(residual, 1e-300)) / np.log(tolerance), 0, 1))


def _summarise(
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    ends: list[GradientStep],
    folds: int,
    heritability: float,
) -> CrossValidation:
    shape = len(found), folds
    accuracies, slopes = np.full(shape, np.nan), np.full(shape, np.nan)
    for repeat, (fold_of, predicted, observed) in enumerate(found):
        for fold in range(folds):
            chosen = fold_of == fold
            accuracies[repeat, fold], slopes[repeat, fold] = _agreement(
                predicted[chosen], observed[chosen]
            )
    _, predicted, observed = (np.mean(values, axis=0) for values in zip(*found, strict=True))
    return CrossValidation(
        predicted,
        observed,
        found[0][0],
        accuracies,
        float(accuracies.mean()),
        float(slopes.mean()),
        heritability,
        max(float(step.residuals[-1].max()) for step in ends),
        all(step.is_converged for step in ends),
    )


def _agreement(predicted: np.ndarray, observed: np.ndarray) -> tuple[float, float]:
    """Return correlation, and slope of observed on predicted; NaN if either is constant."""
    x, y = predicted - predicted.mean(), observed - observed.mean()
    if not (x @ x > 0 and y @ y > 0):
        return np.nan, np.nan
    return float(x @ y / np.sqrt((x @ x) * (y @ y))), float(x @ y / (x @ x))
