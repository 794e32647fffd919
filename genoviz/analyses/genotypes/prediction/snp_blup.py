"""SNP-BLUP: joint estimation of all variant effects, and the resulting breeding values."""

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
    """Estimate all variant effects by conjugate gradients, and yield snapshots.

    The model is y = Xb + Zg + e, with Z the centred dosages, g of variance vg / s, s = 2 sum
    p(1 - p), and e of variance ve. Fixed effects b are projected out (P), which leaves::

        (Z'PZ + l I) g = Z'Py,    l = s ve / vg = s (1 - heritability) / heritability

    An iteration is one product with Z and one with Z'. Repeated and weighted records are allowed,
    as in `iter_single_step`; P is then W'MW of a `Training`.

    Parameters
    ----------
    genotypes
        Genotypes of all samples; missing ones are replaced by the mean.
    phenotype
        float64, shape (n_samples,) or (n_records,). Samples with NaN are predicted but not used
        for training.
    covariates
        float64, shape (n,) or (n, c), a row for each value: X after the intercept; rows with NaN
        are not used for training.
    samples
        int64, shape (n_records,): sample index of each value, any number of times.
    weights, repeatability
        As in `iter_single_step`.
    contigs
        ``"autosomes"``: leave out variants of X, Y and mitochondria, with effects 0; ``"all"``: use
        them as they are in the file, with two copies in males too.
    heritability
        vg / (vg + ve), between 0 and 1.
    preconditioner
        ``"diagonal"``, ``"block"`` (64 consecutive variants) or ``"none"``.
    tolerance
        Stop at this squared residual norm relative to that of the right side.
    max_iterations
        Maximum number of iterations.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the data allow no prediction.

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
        """Return the left side times effects, and the resulting breeding values."""
        values = self._matrix.multiply(direction)
        image = self._matrix.multiply_transposed(self.training.project(values))
        return image + self._ridge * direction, values

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        values = step.images[0] if step.images else np.zeros(self._matrix.shape[0])
        return step.solution, values
