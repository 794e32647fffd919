"""GBLUP: breeding values from genomic relationships, which are never built."""

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
    """Predict breeding values by conjugate gradients on samples, and yield how they come about.

    The model is y = Xb + u + e, u ~ N(0, G vg) with VanRaden's G = ZZ' / s, s = 2 sum p(1 - p): the
    same as that of `iter_snp_blup`, whose dual is solved::

        P (ZZ' + l I) P a = P y,    g = Z'a,    u = Zg,    l = s (1 - heritability) / heritability

    There are as many unknowns as samples; an iteration is one product with Z' and one with Z, and
    gives effects and breeding values as it goes. G is neither built nor inverted.

    Parameters
    ----------
    genotypes, phenotype, covariates, contigs, heritability, tolerance, max_iterations, backend
        As in `iter_snp_blup`, one value for each sample; the blocks of ``preconditioner="block"``
        are 64 consecutive samples.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there is nothing to learn from.

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
        self.right_side = training.project(training.phenotype)

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times weights of the samples, their effects and breeding values."""
        effects = self._matrix.multiply_transposed(direction)
        values = self._matrix.multiply(effects)
        return self.training.project(values) + self._ridge * direction, effects, values

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the weights for a right side; they stay where P keeps them."""
        return self.training.project(self._precondition(residual))

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        if not step.images:
            return np.zeros(self._matrix.shape[1]), np.zeros(self._matrix.shape[0])
        effects, values = step.images
        return effects, values
