"""Logistic regression on each variant in turn, by Newton's method on blocks of variants.

For a block, weights w and residuals are matrices of variants by samples, so that all sums over
samples are matrix products: those of w with the pairwise products of the covariates give their part
of every Hessian at once. Samples that miss a genotype have weight 0.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association_design import Design
from genoviz.analyses.genotypes.association_fits import Fits
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.log_p_values import log_p_of_z
from genoviz.analyses.genotypes.matrix_parts import to_host
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.statistics import IS_CALLED
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes import Genotypes

BLOCK_GENOTYPES = {"numpy": 1 << 21, "cupy": 1 << 26}
MOST_STEPS = 25
CONVERGED = 1e-6
"""Largest last step, in units of columns of variance 1: the next would be its square."""
LARGEST_LOGIT = 40.0


def iter_logistic_scan(
    genotypes: Genotypes, design: Design, *, backend: Backend
) -> Generator[float, None, Fits]:
    """Fit cases and controls on each variant; yields how much is done, returns the fits.

    A fit that does not converge, as where a genotype tells cases and controls apart, is NaN.

    Parameters
    ----------
    genotypes
        Of the samples of the design alone.
    design
        Phenotype and covariates.
    backend
        Where it runs.
    """
    xp, kernel = array_module(backend), load_kernel("genotype_decode", backend)
    model = _Model(xp, design)
    fits = Fits.empty(genotypes.n_variants)
    n_values = BLOCK_GENOTYPES[xp.__name__]
    for block in variant_blocks(genotypes, n_values=n_values, backend=backend):
        part = genotypes.take_variants(block)
        counts = allele_counts(part, backend=backend)
        n_called, frequencies = counts.sum(1) - counts[:, 1], frequencies_of_counts(counts)
        fits.n_samples[block] = n_called
        fits.a1_frequency[block] = np.where(n_called, frequencies, np.nan)
        of_codes = values_of_codes(frequencies)
        squares = (counts * of_codes**2).sum(1)
        varied = np.flatnonzero((squares > 0) & (n_called > design.basis.shape[1] + 1))
        if len(varied):
            packed = part.packed[varied]
            dosages = kernel.decode(packed, part.n_samples, of_codes[varied])
            called = None
            if counts[varied, 1].any():
                called = kernel.decode(packed, part.n_samples, np.tile(IS_CALLED, (len(varied), 1)))
            scales = np.sqrt(squares[varied] / n_called[varied])
            beta, error = model.fit(dosages, called, xp.asarray(scales))
            fits.beta[block.start + varied] = to_host(beta)
            fits.standard_error[block.start + varied] = to_host(error)
        yield block.stop / genotypes.n_variants
    fits.statistic[:] = fits.beta / fits.standard_error
    fits.log_p[:] = log_p_of_z(fits.statistic)
    return fits


class _Model:
    """A phenotype and covariates, with which variants are fitted.

    Arrays named by ``c`` covariates, ``n`` samples and ``m`` variants of a block.
    """

    def __init__(self, xp: Any, design: Design) -> None:
        self.xp = xp
        self.phenotype = xp.asarray(design.phenotype)
        self.columns = xp.asarray(design.basis * np.sqrt(len(design.basis)))
        self.first, self.second = np.triu_indices(design.basis.shape[1])
        self.pairs = self.columns[:, self.first] * self.columns[:, self.second]
        null = _fit_without_variant(design)
        self.start = xp.asarray([[*null, 0.0]])

    def fit(self, dosages: Any, called: Any, scales: Any) -> tuple[Any, Any]:
        """Return coefficients of dosages (m, n) and their standard errors, (m,) each."""
        scaled = dosages / scales[:, None]
        start = self.xp.repeat(self.start, len(scaled), 0)
        found, hessians, is_done = self._converge(start, scaled, called)
        hessians[~is_done] = self.xp.eye(hessians.shape[1])
        variances = self.xp.linalg.inv(hessians)[:, -1, -1]
        is_fit = is_done & (variances > 0)
        beta = self.xp.where(is_fit, found[:, -1] / scales, np.nan)
        error = self.xp.sqrt(self.xp.where(is_fit, variances, np.nan)) / scales
        return beta, error

    def _converge(self, found: Any, dosages: Any, called: Any) -> tuple[Any, Any, Any]:
        """Return coefficients (m, c + 1), Hessians (m, c + 1, c + 1) and which converged."""
        xp, m = self.xp, len(found)
        hessians = xp.empty((m, found.shape[1], found.shape[1]))
        is_done = xp.zeros(m, bool)
        active = xp.arange(m)
        for _ in range(MOST_STEPS):
            here = None if called is None else called[active]
            gradient, hessian = self._derivatives(found[active], dosages[active], here)
            is_whole = xp.linalg.det(hessian) > 0
            hessian[~is_whole] = xp.eye(hessian.shape[1])
            step = xp.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            found[active] += step
            hessians[active] = hessian
            is_last = xp.abs(step).max(1) < CONVERGED
            is_done[active] = is_last & is_whole
            active = active[~is_last & is_whole]
            if not len(active):
                break
        return found, hessians, is_done

    def _derivatives(self, found: Any, dosages: Any, called: Any) -> tuple[Any, Any]:
        """Return the gradients and negative Hessians of the log likelihood."""
        xp, c = self.xp, self.columns.shape[1]
        logits = found[:, :c] @ self.columns.T
        logits += found[:, c:] * dosages
        weights = _fitted(xp, logits)
        residuals = self.phenotype - weights
        weights *= 1 - weights
        if called is not None:
            residuals *= called
            weights *= called
        gradient = xp.empty((len(found), c + 1))
        gradient[:, :c] = residuals @ self.columns
        gradient[:, c] = xp.einsum("mn,mn->m", residuals, dosages)
        hessian = xp.empty((len(found), c + 1, c + 1))
        hessian[:, self.first, self.second] = weights @ self.pairs
        hessian[:, self.second, self.first] = hessian[:, self.first, self.second]
        weights *= dosages
        hessian[:, :c, c] = hessian[:, c, :c] = weights @ self.columns
        hessian[:, c, c] = xp.einsum("mn,mn->m", weights, dosages)
        return gradient, hessian


def _fitted(xp: Any, logits: Any) -> Any:
    """Return probabilities, in the place of the logits."""
    xp.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT, out=logits)
    xp.exp(xp.negative(logits, out=logits), out=logits)
    logits += 1
    return xp.reciprocal(logits, out=logits)


def _fit_without_variant(design: Design) -> np.ndarray:
    """Return the coefficients of the covariates alone, in columns of variance 1."""
    columns = design.basis * np.sqrt(len(design.basis))
    found = np.zeros(columns.shape[1])
    for _ in range(MOST_STEPS):
        fitted = _fitted(np, columns @ found)
        weights = fitted * (1 - fitted)
        if weights.max() < CONVERGED:
            break
        step = np.linalg.lstsq(
            (columns * weights[:, None]).T @ columns, columns.T @ (design.phenotype - fitted)
        )[0]
        found += step
        if np.abs(step).max() < CONVERGED:
            return found
    raise ParameterError("the covariates tell cases from controls entirely; leave some out")
