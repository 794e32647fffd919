"""Products with a matrix of genotypes, one block of variants at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.variant_blocks import (
    product_blocks,
    task_blocks,
    variant_blocks,
)
from genoviz.backend import Backend, Scheduler
from genoviz.errors import ParameterError
from genoviz.generators import Progress, last_of, report_steps
from genoviz.model.genotypes.genotypes import Genotypes


class BlockProducts:
    """The standardised matrix Z, missing genotypes 0, in blocks that take a moment each.

    Parameters
    ----------
    genotypes
        The packed genotypes.
    counts
        int64, shape (n_variants, 4): result of `allele_counts`.
    backend
        Where to compute; a GPU keeps the blocks in memory.

    Attributes
    ----------
    values
        float64, shape (n_variants, 4): value of each 2-bit code.
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
        """Yield the share done, and each block's contribution to Z @ (Z.T @ columns)."""
        for done, matrix in zip(self._ends, self._matrices, strict=True):
            yield done, matrix.multiply(matrix.multiply_transposed(columns))

    def iter_transposed(self, columns: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the share done, and each block's rows of Z.T @ columns."""
        for done, matrix in zip(self._ends, self._matrices, strict=True):
            yield done, matrix.multiply_transposed(columns)


def iter_product(
    genotypes: Genotypes,
    dense: np.ndarray,
    *,
    transpose: bool = False,
    centre: bool = True,
    standardise: bool = False,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Multiply once with a matrix of genotypes; the last step has the product.

    The result is that of `GenotypeMatrix`, up to the order in which blocks of variants are summed.
    Each block is transferred to a GPU once, and takes it less than a second.

    Parameters
    ----------
    genotypes
        The packed genotypes; missing ones are replaced by the mean.
    dense
        Numbers, shape (n_variants,) or (n_variants, k); n_samples rows for the transpose.
    transpose
        Whether to multiply by the transpose.
    centre, standardise, backend
        As in `GenotypeMatrix`.
    scheduler
        As for `iter_associate`; products over variants are then summed in another order.

    Raises
    ------
    ParameterError
        If the dense matrix has the wrong shape.
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
    if scheduler is not None:
        options |= {"transpose": transpose}
        steps = _multiply_on_cluster(genotypes, dense, options, scheduler)
        product = yield from report_steps(steps, "multiplying")
        yield Progress("multiplying", 1.0, product)
        return
    product = np.zeros((n_out, *dense.shape[1:]))
    for block in product_blocks(genotypes, backend=backend):
        matrix = GenotypeMatrix(genotypes.take_variants(block), **options)
        if transpose:
            product[block] = matrix.multiply_transposed(dense)
        else:
            product += matrix.multiply(dense[block])
        yield Progress("multiplying", block.stop / n_variants)
    yield Progress("multiplying", 1.0, product)


def _multiply_on_cluster(
    genotypes: Genotypes, dense: np.ndarray, options: dict[str, Any], scheduler: Scheduler
) -> Generator[float, None, np.ndarray]:
    """Return the product computed by a scheduler's workers, each for some variants."""
    from genoviz.cluster.blocks import iter_results
    from genoviz.cluster.sums import iter_sum

    common, blocks = (genotypes.n_samples, options), task_blocks(genotypes)
    if not options["transpose"]:
        tasks = [(genotypes.packed[block], dense[block]) for block in blocks]
        return (yield from iter_sum(_multiply_block, tasks, scheduler=scheduler, common=common))
    product = np.zeros((genotypes.n_variants, *dense.shape[1:]))
    tasks, common = [(genotypes.packed[block],) for block in blocks], (dense, *common)
    results = iter_results(_multiply_block, tasks, scheduler=scheduler, common=common)
    for n_done, (k, found) in enumerate(results, 1):
        product[blocks[k]] = found
        yield n_done / len(blocks)
    return product


def _multiply_block(
    packed: np.ndarray, dense: np.ndarray, n_samples: int, options: dict[str, Any]
) -> np.ndarray:
    """Return the product of a block of variants; runs on a worker."""
    part = Genotypes.unnamed(packed, np.zeros(n_samples, np.uint8))
    return last_of(iter_product(part, dense, **options)).result
