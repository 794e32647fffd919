"""Sample-by-sample crossproducts Z Z' of genotypes, with any values of the 2-bit codes.

Only the lower triangle is computed. With a matrix unit, panels of 64 samples are decoded and
multiplied by the packed genotypes in integers. Otherwise, blocks of 1,024 variants are decoded for
NumPy or CuPy.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from genoviz.analyses.genotypes.variant_blocks import task_blocks
from genoviz.backend import (
    Backend,
    Scheduler,
    array_module,
    load_kernel,
    resolve_backend,
    size_of_task,
    to_host,
)
from genoviz.errors import ParameterError
from genoviz.generators import finish
from genoviz.model.genotypes.genotypes import (
    HETEROZYGOUS_CODE,
    MISSING_CODE,
    Genotypes,
)

BLOCK_VARIANTS = 1024
PANEL_SAMPLES, PANEL_VARIANTS = 64, 1 << 16
STRIP_PANELS = 8
"""Panels after which the completed samples are dropped from the packed genotypes."""
STEP_PRODUCTS = {"numpy": 4e9, "cupy": 1e12}
"""Multiplications per step: some 50 ms."""
TASK_PRODUCTS, MAX_TASKS = 400_000_000_000, 64
"""Multiplications per remote task, some seconds, and the maximum number of tasks."""


def iter_crossproducts(
    genotypes: Genotypes,
    values: np.ndarray,
    *,
    dtype: DTypeLike,
    scheduler: Scheduler = None,
    backend: Backend,
) -> Generator[float, None, np.ndarray]:
    """Compute Z Z', with Z[i, j] = values[j, code of sample i at variant j].

    Only the lower triangle is computed, in panels of rows. Blocks of variants are decoded and
    multiplied. If the CPU has a matrix unit and no genotype is missing, only panels of samples are
    decoded, and multiplied by the packed genotypes.

    Parameters
    ----------
    genotypes
        n_samples by n_variants.
    values
        Shape (n_variants, 4).
    dtype
        float64 or float32: of Z and of products within a block; sums of blocks are float64.
    scheduler
        Scheduler whose workers process blocks of variants and sum their matrices; rounding then
        differs.
    backend
        Where to compute; on a GPU the matrix must fit into its memory.

    Yields
    ------
    float
        Share done, 0 to 1.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_samples, n_samples).

    Raises
    ------
    ParameterError
        If the matrix exceeds the memory.
    """
    n = genotypes.n_samples
    _check_memory(n)
    values = np.ascontiguousarray(values, dtype)
    if scheduler is not None:
        from genoviz.cluster.sums import iter_sum

        tasks = _blocks_of_tasks(genotypes, backend)
        blocks = [(genotypes.packed[rows], values[rows]) for rows in tasks]
        common = n, np.dtype(dtype).str, backend
        return (yield from iter_sum(_multiply_block, blocks, scheduler=scheduler, common=common))
    sums = array_module(backend).zeros((n, n))
    if _panels_are_faster(values, backend):
        yield from _add_panels(genotypes, values, sums)
    else:
        yield from _add_blocks(genotypes, values, sums, backend)
    sums = to_host(sums)
    for top in range(0, n, BLOCK_VARIANTS):
        bottom = min(top + BLOCK_VARIANTS, n)
        sums[top:bottom, bottom:] = sums[bottom:, top:bottom].T
        square = sums[top:bottom, top:bottom]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return sums


def _blocks_of_tasks(genotypes: Genotypes, backend: Backend) -> list[slice]:
    """Return the variants of each task; few tasks of some seconds, because each sends a matrix."""
    n, m = genotypes.n_samples, genotypes.n_variants
    step = max(size_of_task(TASK_PRODUCTS, backend) // max(n, 1) ** 2, -(-m // MAX_TASKS))
    return task_blocks(genotypes, n * -(-step // BLOCK_VARIANTS) * BLOCK_VARIANTS)


def _multiply_block(
    packed: np.ndarray, values: np.ndarray, n_samples: int, dtype: str, backend: Backend
) -> np.ndarray:
    """Return the crossproducts of a block of variants."""
    genotypes = Genotypes.unnamed(packed, np.zeros(n_samples, np.uint8))
    return finish(iter_crossproducts(genotypes, values, dtype=dtype, backend=backend))


def _panels_are_faster(values: np.ndarray, backend: Backend) -> bool:
    """Return whether the matrix unit with panels is faster than NumPy with blocks.

    The unit needs an extra product if missing genotypes differ in value from heterozygous ones, and
    it gains less from float32.
    """
    has_no_missing = (values[:, MISSING_CODE] == values[:, HETEROZYGOUS_CODE]).all()
    if resolve_backend(backend) != "cpu" or values.dtype != np.float64 or not has_no_missing:
        return False
    return load_kernel("genotype_product", "cpu").has_amx()


def _add_blocks(
    genotypes: Genotypes, values: np.ndarray, sums: Any, backend: Backend
) -> Iterator[float]:
    """Add products of decoded blocks of variants to the lower triangle; yield the share done."""
    n, m = genotypes.n_samples, genotypes.n_variants
    xp, kernel = array_module(backend), load_kernel("genotype_decode", backend)
    height = int(max(64, STEP_PRODUCTS[xp.__name__] // (BLOCK_VARIANTS * n)))
    for first in range(0, m, BLOCK_VARIANTS):
        variants = slice(first, min(first + BLOCK_VARIANTS, m))
        block = kernel.decode(genotypes.packed[variants], n, values[variants])
        for top in range(0, n, height):
            bottom = min(top + height, n)
            sums[top:bottom, :bottom] += block[:, top:bottom].T @ block[:, :bottom]
            share = (bottom / n) ** 2 * (variants.stop - first)
            yield (first + share) / m


def _add_panels(genotypes: Genotypes, values: np.ndarray, sums: np.ndarray) -> Iterator[float]:
    """Add products with decoded panels of samples to the lower triangle; yield the share done."""
    n, m = genotypes.n_samples, genotypes.n_variants
    decode = load_kernel("genotype_decode", "cpu").decode
    multiply = load_kernel("genotype_product", "cpu").multiply
    for first in range(0, m, PANEL_VARIANTS):
        variants = slice(first, min(first + PANEL_VARIANTS, m))
        for start in range(0, n, STRIP_PANELS * PANEL_SAMPLES):
            packed = np.ascontiguousarray(genotypes.packed[variants, start // 4 :])
            stop = min(start + STRIP_PANELS * PANEL_SAMPLES, n)
            for top in range(start, stop, PANEL_SAMPLES):
                width = min(PANEL_SAMPLES, n - top)
                place = (top - start) // 4
                codes = np.ascontiguousarray(packed[:, place : place + PANEL_SAMPLES // 4])
                panel = decode(codes, width, values[variants])
                product = multiply(packed, n - start, values[variants], panel)
                sums[start:, top : top + width] += product
                share = (1 - (1 - (top + width) / n) ** 2) * (variants.stop - first)
                yield (first + share) / m


def _check_memory(n_samples: int) -> None:
    needed = 8 * n_samples**2
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return
    if needed > 0.8 * there:
        raise ParameterError(
            f"a matrix of {n_samples:,} samples takes {needed / 1e9:,.0f} GB, and this machine has "
            f"{there / 1e9:,.0f} GB; choose fewer samples"
        )
