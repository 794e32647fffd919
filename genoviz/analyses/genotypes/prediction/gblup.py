"""GBLUP: breeding values from genomic relationships, without building their matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot, iter_blup, spread_effects
from genoviz.analyses.genotypes.prediction.blup_training import (
    Training,
    check_phenotype_length,
    variance_ratio,
)
from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.preconditioners import (
    Precondition,
    Preconditioner,
    check_preconditioner,
    sample_preconditioner,
)
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes


def iter_gblup(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    preconditioner: Preconditioner = "diagonal",
    tolerance: float = 1e-13,
    max_iterations: int = 1000,
    backend: Backend = "auto",
) -> Iterator[BlupSnapshot]:
    """Predict breeding values by conjugate gradients on samples, and yield snapshots.

    The model is y = Xb + u + e, u ~ N(0, G vg) with VanRaden's G = ZZ' / s, s = 2 sum p(1 - p). It
    is equivalent to that of `iter_snp_blup`; this function solves its dual form::

        P (ZZ' + l I) P a = P y,    g = Z'a,    u = Zg,    l = s (1 - heritability) / heritability

    There are as many unknowns as samples. An iteration is one product with Z' and one with Z and
    also gives effects and breeding values. G is neither built nor inverted.

    Parameters
    ----------
    genotypes, phenotype, covariates, contigs, heritability, tolerance, max_iterations, backend
        As in `iter_snp_blup`, with one value for each sample. With ``preconditioner="block"``, a
        block is 64 consecutive samples.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the data allow no prediction.

    References
    ----------
    VanRaden 2008, Efficient methods to compute genomic predictions, doi:10.3168/jds.2007-0980
    Strandén and Garrick 2009, Derivation of equivalent computing algorithms for genomic
    predictions and reliabilities of animal merit, doi:10.3168/jds.2008-1929
    """
    check_preconditioner(preconditioner)
    ratio = variance_ratio(heritability)
    training = Training(check_phenotype_length(phenotype, genotypes.n_samples), covariates)
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    markers = Markers(genotypes, backend)
    ridge = ratio * markers.scale
    precondition = sample_preconditioner(preconditioner, markers, ridge)
    equations = GenomicEquations(markers.matrix, training, ridge, precondition)
    steps = iter_blup(equations, tolerance=tolerance, max_iterations=max_iterations)
    yield from spread_effects(steps, kept, n_variants)


@in_one_go(iter_gblup)
def gblup(last: BlupSnapshot) -> BlupSnapshot:
    """Return the last snapshot of `iter_gblup`."""
    return last


class GenomicEquations:
    """P (ZZ' + ridge I) P a = P y."""

    def __init__(
        self, matrix: GenotypeMatrix, training: Training, ridge: float, precondition: Precondition
    ) -> None:
        self.training = training
        self._matrix = matrix
        self._ridge = ridge
        self._precondition = precondition
        self.right_side = training.right_side

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times weights of samples, and their effects and breeding values."""
        effects = self._matrix.multiply_transposed(direction)
        values = self._matrix.multiply(effects)
        return self.training.project(values) + self._ridge * direction, effects, values

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return approximate weights for a right side, within the range of P."""
        return self.training.project(self._precondition(residual))

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        if not step.images:
            return np.zeros(self._matrix.shape[1]), np.zeros(self._matrix.shape[0])
        effects, values = step.images
        return effects, values
