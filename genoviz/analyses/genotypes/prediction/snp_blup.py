"""SNP-BLUP: effects of all variants at once, and the breeding values that they add up to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot, iter_blup, spread_effects
from genoviz.analyses.genotypes.prediction.blup_training import (
    Training,
    make_records,
)
from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.preconditioners import (
    Precondition,
    Preconditioner,
    check_preconditioner,
    variant_preconditioner,
)
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes


def iter_snp_blup(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    samples: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    repeatability: float | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    preconditioner: Preconditioner = "diagonal",
    tolerance: float = 1e-13,
    max_iterations: int = 1000,
    backend: Backend = "auto",
) -> Iterator[BlupSnapshot]:
    """Estimate the effects of all variants by conjugate gradients, and yield how they come about.

    The model is y = Xb + Zg + e, with Z the centred dosages, g of variance vg / s, s = 2 sum
    p(1 - p), and e of variance ve. Fixed effects b are projected out (P), which leaves::

        (Z'PZ + l I) g = Z'Py,    l = s ve / vg = s (1 - heritability) / heritability

    An iteration is one product with Z and one with Z'. Records may be repeated and have weights, as
    in `iter_single_step`: P is W'MW of a `Training` then.

    Parameters
    ----------
    genotypes
        Of all samples; a missing genotype counts as the mean.
    phenotype
        float64, shape (n_samples,) or (n_records,). A sample with NaN is predicted, and not
        trained on.
    covariates
        float64, shape (n,) or (n, c), a row for each value: X after the intercept; what has a NaN
        is not trained on.
    samples
        int64, shape (n_records,): the number of the sample of each value, any number of times.
    weights, repeatability
        As in `iter_single_step`.
    contigs
        ``"autosomes"``: variants of X, Y and mitochondria are left out; ``"all"``: they are taken
        as they are in the file, with two copies in males too. Effects of what is left out are 0.
    heritability
        vg / (vg + ve), between 0 and 1.
    preconditioner
        ``"diagonal"``, ``"block"`` (64 consecutive variants) or ``"none"``.
    tolerance
        Squared norm of the residual over that of the right side at which to stop.
    max_iterations
        When to stop at the latest.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there is nothing to learn from.

    References
    ----------
    Meuwissen, Hayes and Goddard 2001, Prediction of total genetic value using genome-wide dense
    marker maps, doi:10.1093/genetics/157.4.1819
    Strandén and Garrick 2009, Derivation of equivalent computing algorithms for genomic
    predictions and reliabilities of animal merit, doi:10.3168/jds.2008-1929
    """
    check_preconditioner(preconditioner)
    values, records, ratio = make_records(
        phenotype, genotypes.n_samples, animals=samples, weights=weights,
        heritability=heritability, repeatability=repeatability, what="samples",
    )  # fmt: skip
    what = "samples" if samples is None else "records"
    training = Training(values, covariates, what, records=records)
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    markers = Markers(genotypes, backend)
    ridge = ratio * markers.scale
    trained = np.flatnonzero(training.is_trained)
    precondition = variant_preconditioner(
        preconditioner, markers, trained, ridge, scale=training.diagonal[trained].mean()
    )
    equations = SnpEquations(markers.matrix, training, ridge, precondition)
    steps = iter_blup(equations, tolerance=tolerance, max_iterations=max_iterations)
    yield from spread_effects(steps, kept, n_variants)


@in_one_go(iter_snp_blup)
def snp_blup(last: BlupSnapshot) -> BlupSnapshot:
    """Return the last snapshot of `iter_snp_blup`."""
    return last


class SnpEquations:
    """(Z'PZ + ridge I) g = Z'Py."""

    def __init__(
        self, matrix: GenotypeMatrix, training: Training, ridge: float, precondition: Precondition
    ) -> None:
        self.training = training
        self.precondition = precondition
        self._matrix = matrix
        self._ridge = ridge
        self.right_side = matrix.multiply_transposed(training.right_side)

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times effects, and the breeding values of these."""
        values = self._matrix.multiply(direction)
        image = self._matrix.multiply_transposed(self.training.project(values))
        return image + self._ridge * direction, values

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        values = step.images[0] if step.images else np.zeros(self._matrix.shape[0])
        return step.solution, values
