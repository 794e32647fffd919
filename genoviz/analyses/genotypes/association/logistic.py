"""Logistic regression on each variant in turn, by Newton's method on blocks of variants.

All variants of a block take a step together, from derivatives that a kernel sums up over samples;
those that have converged are left out of the next.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.log_p_values import log_p_of_z
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError
from genoviz.kernels.logistic_derivatives import LARGEST_LOGIT
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

BLOCK_GENOTYPES = {"numpy": 1 << 21, "cupy": 1 << 26}
MOST_STEPS = 25
CONVERGED = 1e-6
"""Largest last step, in units of columns of variance 1: the next would be its square."""


def iter_logistic_scan(
    genotypes: Genotypes, design: Design, *, weights: np.ndarray | None = None, backend: Backend
) -> Generator[float, None, Fits]:
    """Fit cases and controls on each variant; yields how much is done, returns the fits.

    A fit that does not converge, as where a genotype tells cases and controls apart, is NaN.

    Parameters
    ----------
    genotypes
        Of the samples of the design alone.
    design
        Phenotype, 0 and 1, and covariates.
    weights
        float64, shape (n_samples,): what the dosages of a sample are multiplied with; 1 if None.
    backend
        Where it runs.
    """
    decode = load_kernel("genotype_decode", backend).decode
    model = _Model(design, backend)
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
            beta, error = model.fit(dosages)
            fits.beta[block.start + varied] = beta / scales
            fits.standard_error[block.start + varied] = error / scales
        yield block.stop / genotypes.n_variants
    fits.statistic[:] = fits.beta / fits.standard_error
    fits.log_p[:] = log_p_of_z(fits.statistic)
    return fits


def _weighted(dosages: Any, means: np.ndarray, weights: np.ndarray) -> Any:
    """Return dosages (m, n), that are less their means, with each sample's times its weight."""
    xp = module_of(dosages)
    means, weights = xp.asarray(means)[:, None], xp.asarray(weights)
    return (dosages + means) * weights - means * weights.mean()


class _Model:
    """A phenotype and covariates, with which variants are fitted: c columns, m variants."""

    def __init__(self, design: Design, backend: Backend) -> None:
        xp = array_module(backend)
        columns = design.basis * np.sqrt(len(design.basis))
        self._derivatives = load_kernel("logistic_derivatives", backend).derivatives
        self._phenotype = xp.asarray(design.response)
        self._columns = xp.asarray(np.ascontiguousarray(columns.T))
        self._start = np.append(_fit_without_variant(columns, design.response), 0.0)

    def fit(self, dosages: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients of dosages (m, n) and their standard errors, (m,) each."""
        found, hessians, is_done = self._converge(dosages)
        hessians[~is_done] = np.eye(hessians.shape[1])
        variances = np.linalg.inv(hessians)[:, -1, -1]
        is_fit = is_done & (variances > 0)
        error = np.sqrt(np.where(is_fit, variances, np.nan))
        return np.where(is_fit, found[:, -1], np.nan), error

    def _converge(self, dosages: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients (m, c + 1), Hessians (m, c + 1, c + 1) and which converged."""
        m, k = len(dosages), len(self._start)
        found = np.tile(self._start, (m, 1))
        hessians = np.empty((m, k, k))
        is_done = np.zeros(m, bool)
        active = np.arange(m)
        for _ in range(MOST_STEPS):
            gradient, hessian = self._derivatives(
                dosages, active, self._phenotype, self._columns, found[active]
            )
            is_whole = np.linalg.det(hessian) > 0
            hessian[~is_whole] = np.eye(k)
            step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            found[active] += step
            hessians[active] = hessian
            is_last = np.abs(step).max(1) < CONVERGED
            is_done[active] = is_last & is_whole
            active = active[~is_last & is_whole]
            if not len(active):
                break
        return found, hessians, is_done


def _fit_without_variant(columns: np.ndarray, phenotype: np.ndarray) -> np.ndarray:
    """Return the coefficients of the covariates alone."""
    found = np.zeros(columns.shape[1])
    for _ in range(MOST_STEPS):
        logits = np.clip(columns @ found, -LARGEST_LOGIT, LARGEST_LOGIT)
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
