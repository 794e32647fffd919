"""Linear regression on each variant in turn, by products with the packed genotypes.

With an orthonormal basis Q of the covariates, y~ = y - QQ'y, and centred dosages g that are 0 where
missing, a variant that nobody misses has::

    beta = g'y~ / s,  s = g'g - |Q'g|^2,  SE^2 = (y~'y~ / s - beta^2) / (n - c - 1)

so that one product of the genotypes with [Q, y~] does for all. Of a variant with missing genotypes
the samples that miss it are taken out of all sums, and the covariates are eliminated anew.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.log_p_values import log_p_of_t
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, load_kernel
from genoviz.model.genotypes.genotypes import Genotypes

UNVARIED = 1e-9

"""Below this share of its sum of squares, what covariates leave of a variant is rounding."""


def iter_linear_scan(
    genotypes: Genotypes, design: Design, *, weights: np.ndarray | None = None, backend: Backend
) -> Generator[float, None, Fits]:
    """Regress the phenotype on each variant; yields how much is done, returns the fits.

    Parameters
    ----------
    genotypes
        Of the samples of the design alone.
    design
        Phenotype and covariates.
    weights
        float64, shape (n_samples,): what the dosages of a sample are multiplied with; 1 if None.
    backend
        Where genotypes are counted and multiplied; sums over the samples whose genotype is missing
        are added up on the CPU.
    """
    y = design.response
    residual = y - design.basis @ (design.basis.T @ y)
    columns = np.column_stack([design.basis, residual])
    fits = Fits.empty(genotypes.n_variants)
    for block in variant_blocks(genotypes, backend=backend):
        part = genotypes.take_variants(block)
        counts = allele_counts(part, backend=backend)
        n_called = counts.sum(1) - counts[:, 1]
        fits.n_samples[block] = n_called
        fits.a1_frequency[block] = np.where(n_called, frequencies_of_counts(counts), np.nan)
        if weights is None:
            matrix = GenotypeMatrix(part, counts=counts, backend=backend)
            products = matrix.multiply_transposed(columns)
            squares = (counts * matrix.values**2).sum(1)
        else:
            matrix = GenotypeMatrix(part, centre=False, missing="zero", backend=backend)
            products = matrix.multiply_transposed(columns * weights[:, None])
            squares = _weighted_squares(part, weights, backend)
        _fit_block(part.packed, counts, columns, products, squares, fits, block)
        yield block.stop / genotypes.n_variants
    fits.log_p[:] = log_p_of_t(fits.statistic, fits.n_samples - design.basis.shape[1] - 1.0)
    return fits


def _weighted_squares(genotypes: Genotypes, weights: np.ndarray, backend: Backend) -> np.ndarray:
    """Return the sums of squared dosages times weights: float64 (n_variants,)."""
    squares = np.zeros(genotypes.n_variants)
    for weight in np.unique(weights):
        part = select_samples(genotypes, weights == weight)
        counts = allele_counts(part, backend=backend)
        squares += weight**2 * (4 * counts[:, 0] + counts[:, 2])
    return squares


def _fit_block(
    packed: np.ndarray,
    counts: np.ndarray,
    columns: np.ndarray,
    products: np.ndarray,
    squares: np.ndarray,
    fits: Fits,
    block: slice,
) -> None:
    """Fit a block from products of its dosages with the columns, and sums of their squares."""
    n_basis = columns.shape[1] - 1
    left = squares - (products[:, :-1] ** 2).sum(1)
    across = products[:, -1].copy()
    of_phenotype = np.full(len(left), columns[:, -1] @ columns[:, -1])
    holed = np.flatnonzero(counts[:, 1])
    if len(holed):
        systems = _complete_systems(packed[holed], columns, products[holed])
        systems[:, -1, -1] = squares[holed]
        rest = _eliminate(systems, n_basis)
        of_phenotype[holed], across[holed], left[holed] = (
            rest[:, 0, 0],
            rest[:, 0, 1],
            rest[:, 1, 1],
        )
    degrees = fits.n_samples[block] - n_basis - 1
    is_fit = (left > UNVARIED * squares) & (degrees > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = across / left
        error = np.sqrt(np.maximum(of_phenotype / left - beta**2, 0) / degrees)
        statistic = beta / error
    fits.beta[block] = np.where(is_fit, beta, np.nan)
    fits.standard_error[block] = np.where(is_fit, error, np.nan)
    fits.statistic[block] = np.where(is_fit, statistic, np.nan)


def _complete_systems(packed: np.ndarray, columns: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return sums of products of [Q, y~, g] over the samples that have a genotype.

    Dosages are 0 where they are missing, so that their products need no correction.
    """
    k = columns.shape[1]
    systems = np.empty((len(packed), k + 1, k + 1))
    everyone = columns.T @ columns
    missing = load_kernel("missing_products", "cpu").missing_products(packed, len(columns), columns)
    systems[:, :k, :k] = everyone - missing
    systems[:, :k, k] = systems[:, k, :k] = products
    return systems


def _eliminate(systems: np.ndarray, n: int) -> np.ndarray:
    """Return what is left of symmetric systems without their first n unknowns; NaN if singular."""
    for _ in range(n):
        pivots = np.where(systems[:, :1, 0] > UNVARIED, systems[:, :1, 0], np.nan)
        rows = systems[:, 1:, 0]
        systems = systems[:, 1:, 1:] - (rows / pivots)[:, :, None] * rows[:, None, :]
    return systems
