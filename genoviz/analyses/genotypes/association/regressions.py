"""Linear regression on each variant in turn, and logistic regression of blocks of variants.

Let Q be an orthonormal basis of the covariates, y~ = y - QQ'y, and g centred dosages that
are 0 where missing. For a variant without missing genotypes::

    beta = g'y~ / s,  s = g'g - |Q'g|^2,  SE^2 = (y~'y~ / s - beta^2) / (n - c - 1)

One product of the packed genotypes with [Q, y~] therefore serves all variants. For a variant with
missing genotypes, the samples without one are subtracted from all sums, and the covariates are
eliminated again.

Dosages that are not whole (`iter_dosage_blocks`) are dense in blocks, and enter the same equations.

Logistic regressions take Newton's steps for all variants of a block together, from derivatives that
a kernel sums over samples; converged variants drop out.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.p_values import log_p_of_t, log_p_of_z
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.dosage_blocks import CentredDosages, iter_dosage_blocks
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.kernels.logistic_derivatives import MAX_LOGIT
from genoviz.model.genotypes.genotypes import Genotypes

UNVARIED = 1e-9
"""Below this share of its sum of squares, the residual of a variant is rounding error."""
EXPLAINED = 1e-14
"""Share of the phenotype's sum of squares that is rounding: no smaller residual is taken.

Otherwise a perfect fit has an error of 0 or of chance, and no finite p, or any."""
MAX_STEPS = 60  # half are enough but near separation, where the first ones are short
MAX_CHANGE = 5.0
"""Maximum change of a logit per step; otherwise first steps at rare genotypes may diverge."""
CONVERGED = 1e-6
"""Largest last step, in units of standardised columns; the next would be about its square."""
ALIKE = 1e-9  # in units of the standard deviation; below are rounding, and no samples: -inf
Fitted = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


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
    columns = np.column_stack([design.basis, design.unexplained])
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


class CaseModel:
    """A phenotype and covariates for fits of variants, from the fit without a variant.

    Parameters
    ----------
    design
        Phenotype (0 and 1) and covariates.
    backend
        Where to compute.
    n_terms, kernel
        Columns of each variant, and the functions of `logistic_derivatives` for these.
    """

    def __init__(
        self, design: Design, backend: Backend, n_terms: int = 1, kernel: Any = None
    ) -> None:
        xp = array_module(backend)
        self._kernel = kernel or load_kernel("logistic_derivatives", backend)
        self._phenotype = xp.asarray(design.response)
        self._columns = xp.asarray(np.ascontiguousarray(design.standard_columns.T))
        self._n_columns = len(self._columns)
        self._start = np.append(self._without_variant(design), np.zeros(n_terms))

    def _without_variant(self, design: Design) -> np.ndarray:
        """Return the first coefficients of the covariates."""
        return fit_without_variant(design)


class LogisticModel(CaseModel):
    """Maximum likelihood: c columns of covariates, m variants."""

    def fit(self, dosages: Any) -> Fitted:
        """Return coefficients of dosages (m, n), standard errors, Wald's z, and log p."""
        found, covariances = self.fit_terms(dosages)
        beta, error = found[:, 0], np.sqrt(covariances[:, 0, 0])
        return beta, error, beta / error, log_p_of_z(beta / error)

    def fit_terms(self, dosages: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (m, t), and their covariances (m, t, t); NaN without a fit.

        The dosages have shape (m, n), or (m, t, n) for the kernel of several terms.
        """
        c = self._n_columns
        found, hessians, is_done = self._converge(dosages)
        hessians[~is_done] = np.eye(hessians.shape[1])
        inverses = np.linalg.inv(hessians)
        is_fit = is_done & are_independent(hessians, inverses)
        found, covariances = found[:, c:], inverses[:, c:, c:]
        found[~is_fit], covariances[~is_fit] = np.nan, np.nan
        return found, covariances

    def _converge(self, dosages: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients (m, k), Hessians (m, k, k) and a convergence mask; k = c + t."""
        m, k, c = len(dosages), len(self._start), self._n_columns
        found = np.tile(self._start, (m, 1))
        hessians = np.empty((m, k, k))
        is_done = np.zeros(m, bool)
        active = np.arange(m)
        xp = module_of(dosages)
        reach = to_host(xp.where(xp.isnan(dosages), 0.0, xp.abs(dosages)).max(-1))
        reach = reach.reshape(m, k - c)
        limits, last = np.full(m, MAX_CHANGE), np.zeros((m, k))
        for _ in range(MAX_STEPS):
            gradient, hessian = self._kernel.derivatives(
                dosages, active, self._phenotype, self._columns, found[active]
            )
            is_whole = np.linalg.det(hessian) > 0
            hessian[~is_whole] = np.eye(k)
            step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            is_last = np.abs(step).max(1) < CONVERGED
            change = np.abs(step[:, :c]).sum(1) + (np.abs(step[:, c:]) * reach[active]).sum(1)
            # Steps across the maximum become shorter; they could alternate for ever.
            is_back = (step * last[active]).sum(1) < 0
            limit = np.minimum(limits[active] * np.where(is_back, 0.5, 2.0), MAX_CHANGE)
            step *= np.minimum(1, limit / np.maximum(change, limit))[:, None]
            limits[active] = np.where(is_back, np.minimum(limit, change), limit)
            last[active] = step
            found[active] += step
            hessians[active] = hessian
            is_done[active] = is_last & is_whole
            active = active[~is_last & is_whole]
            if not len(active):
                break
        return found, hessians, is_done


def are_alike(dosages: Any, is_case: Any) -> np.ndarray:
    """Return at which variants all cases or all controls have the same value: bool (m,).

    Parameters
    ----------
    dosages
        float64, shape (m, n), or (m, t, n) for several values; NaN where missing.
    is_case
        bool, shape (n,), in the same memory.
    """
    xp = module_of(dosages)
    found = np.zeros(len(dosages), bool)
    for who in (is_case, ~is_case):
        part = dosages[..., who]
        high = xp.where(xp.isnan(part), -xp.inf, part).max(-1)
        low = xp.where(xp.isnan(part), xp.inf, part).min(-1)
        found |= to_host(high - low < ALIKE).reshape(len(found), -1).any(1)
    return found


def are_independent(information: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Return at which variants no column is a linear combination of the others: bool (m,).

    The information has shape (m, c + t, c + t). The covariances, (m, t, t), are its inverse, or the
    last rows and columns of that; the product of the diagonals is the inflation of the variance.
    """
    t = covariances.shape[1]
    inflation = np.diagonal(covariances, axis1=1, axis2=2)
    inflation = inflation * np.diagonal(information, axis1=1, axis2=2)[:, -t:]
    return ((inflation > 0) & (inflation < 1 / UNVARIED)).all(1)


def fit_without_variant(design: Design) -> np.ndarray:
    """Return the coefficients of the design's standard columns alone."""
    columns, phenotype = design.standard_columns, design.response

    def likelihood(coefficients: np.ndarray) -> float:
        logits = columns @ coefficients
        return float(phenotype @ logits - np.logaddexp(0, logits).sum())

    found = np.zeros(columns.shape[1])
    for _ in range(MAX_STEPS):
        logits = np.clip(columns @ found, -MAX_LOGIT, MAX_LOGIT)
        fitted = 1 / (1 + np.exp(-logits))
        weights = fitted * (1 - fitted)
        if weights.max() < CONVERGED:
            break
        step = np.linalg.lstsq(
            (columns * weights[:, None]).T @ columns, columns.T @ (phenotype - fitted)
        )[0]
        while np.abs(step).max() > CONVERGED and likelihood(found + step) < likelihood(found):
            step /= 2  # it leads beyond the maximum, perhaps further each time
        found += step
        if np.abs(step).max() < CONVERGED:
            return found
    raise ParameterError("the covariates tell cases from controls entirely; leave some out")
