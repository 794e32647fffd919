"""Products with a matrix of genotypes, one block of variants at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.progress import Progress
from genoviz.analyses.genotypes.variant_blocks import product_blocks, variant_blocks
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes


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


def iter_product(
    genotypes: Genotypes,
    dense: np.ndarray,
    *,
    transpose: bool = False,
    centre: bool = True,
    standardise: bool = False,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Multiply once with a matrix of genotypes; the last step has the product.

    It is that of `GenotypeMatrix`, except for the order in which blocks of variants are added up. A
    block goes to a GPU once, and takes it less than a second.

    Parameters
    ----------
    genotypes
        The packed genotypes; missing ones count as the mean.
    dense
        Numbers, shape (n_variants,) or (n_variants, k); of samples for the transpose.
    transpose
        Whether the transpose is multiplied.
    centre, standardise, backend
        As in `GenotypeMatrix`.

    Raises
    ------
    ParameterError
        If the dense matrix has another shape.
    """
    n_samples, n_variants = genotypes.n_samples, genotypes.n_variants
    n_rows, what = (n_samples, "samples") if transpose else (n_variants, "variants")
    if dense.ndim not in (1, 2) or len(dense) != n_rows:
        raise ParameterError(
            f"the dense matrix has shape {dense.shape}, needs ({n_rows},) or ({n_rows}, k) for "
            f"{n_rows:,} {what}"
        )
    options = {"centre": centre, "standardise": standardise, "backend": backend}
    n_out = n_variants if transpose else n_samples
    product = np.zeros((n_out, *dense.shape[1:]))
    for block in product_blocks(genotypes, backend=backend):
        matrix = GenotypeMatrix(genotypes.take_variants(block), **options)
        if transpose:
            product[block] = matrix.multiply_transposed(dense)
        else:
            product += matrix.multiply(dense[block])
        yield Progress("multiplying", block.stop / n_variants)
    yield Progress("multiplying", 1.0, product)
