"""Linear and logistic regression on each variant in turn.

Linear: let Q be an orthonormal basis of the covariates, y~ = y - QQ'y, and g centred dosages that
are 0 where missing. For a variant without missing genotypes::

    beta = g'y~ / s,  s = g'g - |Q'g|^2,  SE^2 = (y~'y~ / s - beta^2) / (n - c - 1)

One product of the packed genotypes with [Q, y~] therefore serves all variants. For a variant with
missing genotypes, the samples without one are subtracted from all sums, and the covariates are
eliminated again.

Logistic: Newton's method on blocks of variants. All variants of a block take steps together, from
derivatives that a kernel sums over samples; converged variants drop out.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.p_values import log_p_of_t, log_p_of_z
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.kernels.logistic_derivatives import MAX_LOGIT
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.few_cases import Fitted

UNVARIED = 1e-9
"""Below this share of its sum of squares, the residual of a variant is rounding error."""
BLOCK_GENOTYPES = {"numpy": 1 << 21, "cupy": 1 << 26}
MAX_STEPS = 30
MAX_CHANGE = 5.0
"""Maximum change of a logit per step; otherwise first steps at rare genotypes may diverge."""
CONVERGED = 1e-6
"""Largest last step, in units of standardised columns; the next would be about its square."""


def iter_linear_scan(
    genotypes: Genotypes, design: Design, *, weights: np.ndarray | None = None, backend: Backend
) -> Generator[float, None, Fits]:
    """Regress the phenotype on each variant; yields the share done, returns the fits.

    Parameters
    ----------
    genotypes
        Genotypes of the samples of the design.
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
    """Fit a block from the products of its dosages with the columns, and sums of squares."""
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
    """Return sums of products of [Q, y~, g] over the samples with a genotype.

    Missing dosages are 0, so their products need no correction.
    """
    k = columns.shape[1]
    systems = np.empty((len(packed), k + 1, k + 1))
    everyone = columns.T @ columns
    missing = load_kernel("missing_products", "cpu").missing_products(packed, len(columns), columns)
    systems[:, :k, :k] = everyone - missing
    systems[:, :k, k] = systems[:, k, :k] = products
    return systems


def _eliminate(systems: np.ndarray, n: int) -> np.ndarray:
    """Eliminate the first n unknowns of symmetric systems; NaN if singular."""
    for _ in range(n):
        pivots = np.where(systems[:, :1, 0] > UNVARIED, systems[:, :1, 0], np.nan)
        rows = systems[:, 1:, 0]
        systems = systems[:, 1:, 1:] - (rows / pivots)[:, :, None] * rows[:, None, :]
    return systems


def iter_logistic_scan(
    genotypes: Genotypes,
    design: Design,
    *,
    weights: np.ndarray | None = None,
    backend: Backend,
    model: str = "logistic",
) -> Generator[float, None, Fits]:
    """Fit a case-control model for each variant; yields the share done, returns the fits.

    A fit that does not converge, for example because of complete separation, is NaN.

    Parameters
    ----------
    genotypes
        Genotypes of the samples of the design.
    design
        Phenotype (0 and 1) and covariates.
    weights
        float64, shape (n_samples,): factor for the dosages of each sample; 1 if None.
    backend
        Where to compute.
    model
        ``"logistic"``, ``"firth"``, ``"firth-fallback"`` or ``"saddle-point"``.
    """
    decode = load_kernel("genotype_decode", backend).decode
    fitted = _make_model(model, design, backend)
    fits = Fits.empty(genotypes.n_variants)
    n_values = BLOCK_GENOTYPES[array_module(backend).__name__]
    for block in variant_blocks(genotypes, n_values=n_values, backend=backend):
        part = genotypes.take_variants(block)
        counts = allele_counts(part, backend=backend)
        n_called = counts.sum(1) - counts[:, MISSING_CODE]
        frequencies = frequencies_of_counts(counts)
        fits.n_samples[block] = n_called
        fits.a1_frequency[block] = np.where(n_called, frequencies, np.nan)
        of_codes = values_of_codes(frequencies)
        squares = (counts * of_codes**2).sum(1)
        varied = np.flatnonzero((squares > 0) & (n_called > design.basis.shape[1] + 1))
        if len(varied):
            scales = np.sqrt(squares[varied] / n_called[varied])
            of_codes = of_codes[varied] / scales[:, None]
            of_codes[:, MISSING_CODE] = np.nan
            dosages = decode(part.packed[varied], part.n_samples, of_codes)
            if weights is not None:
                dosages = _weighted(dosages, 2 * frequencies[varied] / scales, weights)
            rows = block.start + varied
            beta, error, fits.statistic[rows], fits.log_p[rows] = fitted.fit(dosages)
            fits.beta[rows], fits.standard_error[rows] = beta / scales, error / scales
        yield block.stop / genotypes.n_variants
    return fits


def _make_model(name: str, design: Design, backend: Backend) -> Any:
    """Return a model that fits dosages (m, n)."""
    if name == "logistic":
        return _Model(design, backend)
    from genoviz.analyses.genotypes.association.few_cases import FirthModel, SaddlePointModel

    if name == "firth":
        return FirthModel(design, backend)
    if name == "saddle-point":
        columns = design.basis * np.sqrt(len(design.basis))
        start = fit_without_variant(columns, design.response)
        return SaddlePointModel(design, start, backend)
    return _Fallback(_Model(design, backend), FirthModel(design, backend), design, backend)


def _weighted(dosages: Any, means: np.ndarray, weights: np.ndarray) -> Any:
    """Return centred dosages (m, n), weighted by sample."""
    xp = module_of(dosages)
    means, weights = xp.asarray(means)[:, None], xp.asarray(weights)
    return (dosages + means) * weights - means * weights.mean()


class _Model:
    """A phenotype and covariates for logistic fits of variants: c columns, m variants."""

    def __init__(self, design: Design, backend: Backend) -> None:
        xp = array_module(backend)
        columns = design.basis * np.sqrt(len(design.basis))
        self._derivatives = load_kernel("logistic_derivatives", backend).derivatives
        self._phenotype = xp.asarray(design.response)
        self._columns = xp.asarray(np.ascontiguousarray(columns.T))
        self._start = np.append(fit_without_variant(columns, design.response), 0.0)

    def fit(self, dosages: Any) -> Fitted:
        """Return coefficients of dosages (m, n), standard errors, Wald's z, and log p."""
        found, hessians, is_done = self._converge(dosages)
        hessians[~is_done] = np.eye(hessians.shape[1])
        variances = np.linalg.inv(hessians)[:, -1, -1]
        is_fit = is_done & (variances > 0)
        error = np.sqrt(np.where(is_fit, variances, np.nan))
        beta = np.where(is_fit, found[:, -1], np.nan)
        return beta, error, beta / error, log_p_of_z(beta / error)

    def _converge(self, dosages: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients (m, c + 1), Hessians (m, c + 1, c + 1) and a convergence mask."""
        m, k = len(dosages), len(self._start)
        found = np.tile(self._start, (m, 1))
        hessians = np.empty((m, k, k))
        is_done = np.zeros(m, bool)
        active = np.arange(m)
        xp = module_of(dosages)
        reach = to_host(xp.where(xp.isnan(dosages), 0.0, xp.abs(dosages)).max(1))
        for _ in range(MAX_STEPS):
            gradient, hessian = self._derivatives(
                dosages, active, self._phenotype, self._columns, found[active]
            )
            is_whole = np.linalg.det(hessian) > 0
            hessian[~is_whole] = np.eye(k)
            step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            change = np.abs(step[:, :-1]).sum(1) + np.abs(step[:, -1]) * reach[active]
            step *= np.minimum(1, MAX_CHANGE / np.maximum(change, MAX_CHANGE))[:, None]
            found[active] += step
            hessians[active] = hessian
            is_last = np.abs(step).max(1) < CONVERGED
            is_done[active] = is_last & is_whole
            active = active[~is_last & is_whole]
            if not len(active):
                break
        return found, hessians, is_done


class _Fallback:
    """The logistic model, with Firth's where it fails."""

    def __init__(self, plain: Any, firth: Any, design: Design, backend: Backend) -> None:
        self._plain, self._firth = plain, firth
        self._is_case = array_module(backend).asarray(design.response == 1)

    def fit(self, dosages: Any) -> Fitted:
        """Return the fits; Firth's also if all cases or all controls have the same genotype."""
        xp = module_of(dosages)
        found = self._plain.fit(dosages)
        is_alike = np.zeros(len(dosages), bool)
        for who in (self._is_case, ~self._is_case):
            part = dosages[:, who]
            high = xp.where(xp.isnan(part), -xp.inf, part).max(1)
            low = xp.where(xp.isnan(part), xp.inf, part).min(1)
            is_alike |= to_host(high <= low)
        again = np.flatnonzero(np.isnan(found[0]) | is_alike)
        if len(again):
            of_firth = self._firth.fit(dosages[xp.asarray(again)])
            for values, other in zip(found, of_firth, strict=True):
                values[again] = other
        return found


def fit_without_variant(columns: np.ndarray, phenotype: np.ndarray) -> np.ndarray:
    """Return the coefficients of the covariates alone."""
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
        found += step
        if np.abs(step).max() < CONVERGED:
            return found
    raise ParameterError("the covariates tell cases from controls entirely; leave some out")
