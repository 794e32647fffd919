"""Z Z' of decoded genotypes, from blocks of variants."""

from __future__ import annotations

import os
from collections.abc import Generator

import numpy as np
from numpy.typing import DTypeLike

from genoviz.analyses.genotypes.matrix_parts import to_host
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes import Genotypes

BLOCK_VARIANTS = 1024
STEP_PRODUCTS = {"numpy": 4e9, "cupy": 1e12}
"""Multiplications of a step: some 50 ms."""


def iter_crossproducts(
    genotypes: Genotypes, values: np.ndarray, *, dtype: DTypeLike, backend: Backend
) -> Generator[float, None, np.ndarray]:
    """Compute Z Z', with Z[i, j] = values[j, code of sample i at variant j].

    Only the lower triangle is computed, a panel of rows after the other.

    Parameters
    ----------
    genotypes
        n_samples by n_variants.
    values
        Shape (n_variants, 4).
    dtype
        float64 or float32: of Z and of products within a block; sums of blocks are float64.
    backend
        Where it runs; on a GPU the matrix has to fit into its memory.

    Yields
    ------
    float
        How much is done, 0 to 1.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_samples, n_samples).

    Raises
    ------
    ParameterError
        If the matrix takes more memory than there is.
    """
    n, m = genotypes.n_samples, genotypes.n_variants
    xp, kernel = array_module(backend), load_kernel("genotype_decode", backend)
    _check_memory(n)
    values = np.ascontiguousarray(values, dtype)
    sums = xp.zeros((n, n))
    height = int(max(64, STEP_PRODUCTS[xp.__name__] // (BLOCK_VARIANTS * n)))
    for first in range(0, m, BLOCK_VARIANTS):
        variants = slice(first, min(first + BLOCK_VARIANTS, m))
        block = kernel.decode(genotypes.packed[variants], n, values[variants])
        for top in range(0, n, height):
            bottom = min(top + height, n)
            sums[top:bottom, :bottom] += block[:, top:bottom].T @ block[:, :bottom]
            share = (bottom / n) ** 2 * (variants.stop - first)
            yield (first + share) / m
    sums = to_host(sums)
    for top in range(0, n, height):
        bottom = min(top + height, n)
        sums[top:bottom, bottom:] = sums[bottom:, top:bottom].T
        square = sums[top:bottom, top:bottom]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return sums


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
