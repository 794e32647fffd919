"""Linear regression on each variant in turn.

Let Q be an orthonormal basis of the covariates, y~ = y - QQ'y, and g centred dosages that
are 0 where missing. For a variant without missing genotypes::

    beta = g'y~ / s,  s = g'g - |Q'g|^2,  SE^2 = (y~'y~ / s - beta^2) / (n - c - 1)

One product of the packed genotypes with [Q, y~] therefore serves all variants. For a variant with
missing genotypes, the samples without one are subtracted from all sums, and the covariates are
eliminated again.

Dosages that are not whole (`iter_dosage_blocks`) are dense in blocks, and enter the same equations.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.p_values import log_p_of_t
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.dosage_blocks import CentredDosages, iter_dosage_blocks
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.model.genotypes.genotypes import Genotypes

UNVARIED = 1e-9
"""Below this share of its sum of squares, the residual of a variant is rounding error."""
EXPLAINED = 1e-14
"""Share of the phenotype's sum of squares that is rounding: no smaller residual is taken.

Otherwise a perfect fit has an error of 0 or of chance, and no finite p, or any."""


def iter_linear_scan(
    genotypes: Genotypes, design: Design, *, weights: np.ndarray | None = None, backend: Backend
) -> Generator[float, None, Fits]:
    """Regress the phenotype on each variant; yields the share done, returns the fits.

    Parameters
    ----------
    genotypes
        Genotypes of the samples of the design; either all variants have stored dosages, or none.
    design
        Phenotype and covariates.
    weights
        float64, shape (n_samples,): factor for the dosages of each sample; 1 if None.
    backend
        Where genotypes are counted and multiplied; sums over samples with missing genotypes run on
        the CPU.
    """
    y = design.response
    residual = y - design.basis @ (design.basis.T @ y)
    columns = np.column_stack([design.basis, residual])
    fits = Fits.empty(genotypes.n_variants)
    scan = _scan_calls if genotypes.stored_dosages is None else _scan_dosages
    for block in scan(genotypes, columns, weights, backend, fits):
        yield block.stop / genotypes.n_variants
    fits.log_p[:] = log_p_of_t(fits.statistic, fits.n_samples - design.basis.shape[1] - 1.0)
    return fits


def _scan_calls(
    genotypes: Genotypes,
    columns: np.ndarray,
    weights: np.ndarray | None,
    backend: Backend,
    fits: Fits,
) -> Iterator[slice]:
    """Fit all variants from hard calls; yield the blocks that are done."""
    for block in variant_blocks(genotypes, backend=backend):
        part = genotypes.take_variants(block)
        counts = allele_counts(part, backend=backend)
        n_called = counts.sum(1) - counts[:, 1]
        fits.count(block, n_called, frequencies_of_counts(counts))
        if weights is None:
            matrix = GenotypeMatrix(part, counts=counts, backend=backend)
            products = matrix.multiply_transposed(columns)
            squares = (counts * matrix.values**2).sum(1)
        else:
            matrix = GenotypeMatrix(part, centre=False, missing="zero", backend=backend)
            products = matrix.multiply_transposed(columns * weights[:, None])
            squares = _weighted_squares(part, weights, backend)
        holed = np.flatnonzero(counts[:, 1])
        kernel = load_kernel("missing_products", "cpu")
        rows = part.packed[holed] if len(holed) else np.empty((0, part.packed.shape[1]), np.uint8)
        missing = kernel.missing_products(to_host(rows), len(columns), columns)
        _fit_block(columns, products, squares, (holed, missing), fits, block)
        yield block


def _scan_dosages(
    genotypes: Genotypes,
    columns: np.ndarray,
    weights: np.ndarray | None,
    backend: Backend,
    fits: Fits,
) -> Iterator[slice]:
    """Fit all variants from stored dosages; yield the blocks that are done."""
    xp = array_module(backend)
    on_device = xp.asarray(columns)
    for block, dosages, found in iter_centred(genotypes, backend, fits):
        if weights is not None:
            found = CentredDosages.of(dosages, weights)
        products, squares = to_host(found.values @ on_device), found.squares
        holed = np.flatnonzero(found.n_called < len(columns))
        is_missing = to_host(found.is_missing[xp.asarray(holed)])
        parts = [columns.take(np.flatnonzero(rows), axis=0) for rows in is_missing]
        shape = (len(holed), columns.shape[1], columns.shape[1])
        missing = np.array([part.T @ part for part in parts]).reshape(shape)
        _fit_block(columns, products, squares, (holed, missing), fits, block)
        yield block


def iter_centred(
    genotypes: Genotypes, backend: Backend, fits: Fits
) -> Iterator[tuple[slice, Any, CentredDosages]]:
    """Yield blocks of variants, and their stored dosages (m, n), as they are and centred."""
    for variants, dosages in iter_dosage_blocks(genotypes, backend=backend):
        block = slice(int(variants[0]), int(variants[-1]) + 1)
        found = CentredDosages.of(dosages)
        fits.count(block, found.n_called, found.means / 2)
        yield block, dosages, found


def _weighted_squares(genotypes: Genotypes, weights: np.ndarray, backend: Backend) -> np.ndarray:
    """Return the sums of squared dosages times weights: float64 (n_variants,)."""
    squares = np.zeros(genotypes.n_variants)
    for weight in np.unique(weights):
        part = select_samples(genotypes, weights == weight)
        counts = allele_counts(part, backend=backend)
        squares += weight**2 * (4 * counts[:, 0] + counts[:, 2])
    return squares


def _fit_block(
    columns: np.ndarray,
    products: np.ndarray,
    squares: np.ndarray,
    missing: tuple[np.ndarray, np.ndarray],
    fits: Fits,
    block: slice,
) -> None:
    """Fit a block from the products of its dosages with the columns, and sums of squares.

    ``missing`` has the variants with missing dosages, and the sums of products of the columns over
    the samples that lack them. These dosages are 0, so that their products need no correction.
    """
    n_basis = columns.shape[1] - 1
    left = squares - (products[:, :-1] ** 2).sum(1)
    across = products[:, -1].copy()
    of_phenotype = np.full(len(left), columns[:, -1] @ columns[:, -1])
    holed, sums = missing
    if len(holed):
        k = n_basis + 1
        systems = np.empty((len(holed), k + 1, k + 1))
        systems[:, :k, :k] = columns.T @ columns - sums
        systems[:, :k, k] = systems[:, k, :k] = products[holed]
        systems[:, -1, -1] = squares[holed]
        rest = eliminate(systems, n_basis)
        of_phenotype[holed], across[holed], left[holed] = (
            rest[:, 0, 0],
            rest[:, 0, 1],
            rest[:, 1, 1],
        )
    degrees = fits.n_samples[block] - n_basis - 1
    # Without the samples that lack the genotype, covariates may explain the phenotype entirely.
    is_open = of_phenotype > EXPLAINED * (columns[:, -1] @ columns[:, -1])
    is_fit = (left > UNVARIED * squares) & (degrees > 0) & is_open
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = across / left
        of_phenotype /= left
        error = np.sqrt(np.maximum(of_phenotype - beta**2, EXPLAINED * of_phenotype) / degrees)
        statistic = beta / error
    fits.beta[block] = np.where(is_fit, beta, np.nan)
    fits.standard_error[block] = np.where(is_fit, error, np.nan)
    fits.statistic[block] = np.where(is_fit, statistic, np.nan)


def eliminate(systems: np.ndarray, n: int) -> np.ndarray:
    """Eliminate the first n unknowns of symmetric systems; NaN if singular."""
    for _ in range(n):
        pivots = np.where(systems[:, :1, 0] > UNVARIED, systems[:, :1, 0], np.nan)
        rows = systems[:, 1:, 0]
        systems = systems[:, 1:, 1:] - (rows / pivots)[:, :, None] * rows[:, None, :]
    return systems
