"""Genotypes as predictions take them: centred, counted once, with the scale of their variance."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.genotypes import Genotypes


class Markers:
    """Genotypes, and what equations need of them.

    Parameters
    ----------
    genotypes, backend
        What is multiplied, and where.
    is_halved
        Whether dosages are centred as if all frequencies were 1/2, as metafounders need it.
    frequencies
        float64, shape (n_variants,): p, by default from the called genotypes.

    Attributes
    ----------
    genotypes, backend
        What was given.
    counts
        int64, shape (n_variants, 4): samples of each 2-bit code.
    matrix
        Z, the centred dosages; missing genotypes are replaced by the mean.
    scale
        2 sum p(1 - p), which makes ZZ' over it a relationship matrix (VanRaden); half of the number
        of variants where all frequencies are taken for 1/2.

    Raises
    ------
    ParameterError
        If no variant differs between the samples.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        backend: Backend,
        *,
        is_halved: bool = False,
        frequencies: np.ndarray | None = None,
    ) -> None:
        self.genotypes = genotypes
        self.backend = backend
        self.counts = allele_counts(genotypes, backend=backend)
        if frequencies is None:
            frequencies = frequencies_of_counts(self.counts)
        self.scale = float(2 * (frequencies * (1 - frequencies)).sum())
        if self.scale == 0:
            raise ParameterError(
                f"none of the {n_words(genotypes.n_variants, 'variant')} differs between the "
                "samples: there "
                "is nothing to predict from"
            )
        if is_halved:
            self.scale = genotypes.n_variants / 2
        centre = "half" if is_halved else True
        self.matrix = GenotypeMatrix(
            genotypes, centre=centre, counts=self.counts, frequencies=frequencies, backend=backend
        )
