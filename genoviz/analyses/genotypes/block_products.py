"""Products with a standardised matrix of genotypes, a block of variants after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend
from genoviz.model.genotypes import Genotypes


class BlockProducts:
    """The standardised matrix Z, missing genotypes 0, in blocks that take a moment each.

    Parameters
    ----------
    genotypes
        The packed genotypes.
    counts
        int64, shape (n_variants, 4): what `allele_counts` returns.
    backend
        Where products run; a GPU keeps the blocks.

    Attributes
    ----------
    values
        float64, shape (n_variants, 4): what each 2-bit code counts as.
    """

    def __init__(self, genotypes: Genotypes, counts: np.ndarray, backend: Backend) -> None:
        blocks = variant_blocks(genotypes, backend=backend)
        self._ends = [block.stop / genotypes.n_variants for block in blocks]
        self._matrices = [
            GenotypeMatrix(
                genotypes.take_variants(block),
                standardise=True,
                counts=counts[block],
                backend=backend,
            )
            for block in blocks
        ]
        self.values = np.concatenate([matrix.values for matrix in self._matrices])

    def iter_squared(self, columns: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield how much is done, and the blocks' shares of Z @ (Z.T @ columns)."""
        for done, matrix in zip(self._ends, self._matrices, strict=True):
            yield done, matrix.multiply(matrix.multiply_transposed(columns))

    def iter_transposed(self, columns: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield how much is done, and the blocks' rows of Z.T @ columns."""
        for done, matrix in zip(self._ends, self._matrices, strict=True):
            yield done, matrix.multiply_transposed(columns)
