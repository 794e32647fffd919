"""Logistic regression on each variant in turn, by Newton's method on blocks of variants.

All variants of a block take steps together, from derivatives that a kernel sums over samples;
converged variants drop out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.regressions import UNVARIED, iter_centred
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.errors import ParameterError, n_words
from genoviz.kernels.logistic_derivatives import MAX_LOGIT
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.few_cases import Fitted

BLOCK_GENOTYPES = {"numpy": 1 << 21, "cupy": 1 << 26}
MAX_STEPS = 60  # half are enough but near separation, where the first ones are short
MAX_CHANGE = 5.0
"""Maximum change of a logit per step; otherwise first steps at rare genotypes may diverge."""
FEW_SHARE, FEW_ALLELES = 0.1, 20
"""Cases are few below this share of the samples, and minor alleles in them below this number."""
CONVERGED = 1e-6
"""Largest last step, in units of standardised columns; the next would be about its square."""
ALIKE = 1e-9  # in units of the standard deviation; below are rounding, and no samples: -inf


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
    fitted = _make_model(model, design, backend)
    fits = Fits.empty(genotypes.n_variants)
    standardise = _standard_calls if genotypes.stored_dosages is None else _standard_dosages
    for block, scales, dosages in standardise(genotypes, weights, backend, fits):
        varied = np.flatnonzero((scales > 0) & (fits.n_samples[block] > design.basis.shape[1] + 1))
        if len(varied):
            rows, scales = block.start + varied, scales[varied]
            tile = dosages(varied)
            if weights is not None and model == "firth-fallback":
                # Centred at one mean: all with the same dosage have the same value.
                shifts = np.outer(2 * fits.a1_frequency[rows] / scales, weights - 1)
                tile += array_module(backend).asarray(shifts)
            beta, error, fits.statistic[rows], fits.log_p[rows] = fitted.fit(tile)
            fits.beta[rows], fits.standard_error[rows] = beta / scales, error / scales
        yield block.stop / genotypes.n_variants
    return fits


Standard = Iterator[tuple[slice, np.ndarray, Callable[[np.ndarray], Any]]]
"""Blocks of variants, the standard deviations of their dosages, 0 if constant, and a function that
returns the dosages (m, n) of some, centred, over these, and times the weights; NaN if missing.

Weights differ by sex alone, which is then a covariate. So 0, for which a missing dosage may be
taken, is the mean of each sex, and centring both sexes at one mean would change no fit."""


def _standard_calls(
    genotypes: Genotypes, weights: np.ndarray | None, backend: Backend, fits: Fits
) -> Standard:
    xp, decode = array_module(backend), load_kernel("genotype_decode", backend).decode
    n_values = BLOCK_GENOTYPES[xp.__name__]
    for block in variant_blocks(genotypes, n_values=n_values, backend=backend):
        part = genotypes.take_variants(block)
        counts = allele_counts(part, backend=backend)
        n_called = counts.sum(1) - counts[:, MISSING_CODE]
        frequencies = frequencies_of_counts(counts)
        fits.count(block, n_called, frequencies)
        of_codes = values_of_codes(frequencies)
        scales = np.sqrt((counts * of_codes**2).sum(1) / np.maximum(n_called, 1))

        def take(varied, part=part, of_codes=of_codes, scales=scales):
            values = of_codes[varied] / scales[varied, None]
            values[:, MISSING_CODE] = np.nan
            dosages = decode(part.packed[varied], part.n_samples, values)
            return dosages if weights is None else dosages * xp.asarray(weights)

        yield block, scales, take


def _standard_dosages(
    genotypes: Genotypes, weights: np.ndarray | None, backend: Backend, fits: Fits
) -> Standard:
    xp = array_module(backend)
    for block, _, found in iter_centred(genotypes, backend, fits):
        scales = np.sqrt(found.squares / np.maximum(found.n_called, 1))
        found.values[found.is_missing] = np.nan

        def take(varied, found=found, scales=scales):
            values = found.values[xp.asarray(varied)] / xp.asarray(scales[varied])[:, None]
            return values if weights is None else values * xp.asarray(weights)

        yield block, scales, take


def _make_model(name: str, design: Design, backend: Backend) -> Any:
    """Return a model that fits dosages (m, n)."""
    if name == "logistic":
        return LogisticModel(design, backend)
    from genoviz.analyses.genotypes.association.few_cases import FirthModel, SaddlePointModel

    if name == "firth" or (name == "firth-fallback" and is_separated(design)):
        return FirthModel(design, backend)
    if name == "saddle-point":
        return SaddlePointModel(design, backend)
    return _Fallback(LogisticModel(design, backend), FirthModel(design, backend), design, backend)


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


class _Fallback:
    """The logistic model, with Firth's where it fails."""

    def __init__(self, plain: Any, firth: Any, design: Design, backend: Backend) -> None:
        self._plain, self._firth = plain, firth
        self._is_case = array_module(backend).asarray(design.response == 1)

    def fit(self, dosages: Any) -> Fitted:
        """Return the fits; Firth's also if all cases or all controls have the same genotype."""
        xp = module_of(dosages)
        found = self._plain.fit(dosages)
        is_alike = are_alike(dosages, self._is_case)
        again = np.flatnonzero(np.isnan(found[0]) | is_alike)
        if len(again):
            of_firth = self._firth.fit(dosages[xp.asarray(again)])
            for values, other in zip(found, of_firth, strict=True):
                values[again] = other
        return found


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


def is_separated(design: Design) -> bool:
    """Return whether the covariates tell cases from controls, so that only Firth's model fits."""
    try:
        fit_without_variant(design)
    except ParameterError:
        return True
    return False


def note_few_cases(
    design: Design, remedy: str, frequencies: np.ndarray | None = None
) -> tuple[str, ...]:
    """Return a note on a linear model of few cases, or of few controls.

    The distribution of a score is then skewed where few minor alleles are expected in these, and
    its normal approximation is too small (Zhou et al. 2018, doi:10.1038/s41588-018-0184-y).

    Parameters
    ----------
    design
        Phenotype and covariates.
    remedy
        Models that allow for few cases.
    frequencies
        float64: of A1, by variant. There is no note if none is concerned; None: of sets.
    """
    if not design.is_binary:
        return ()
    is_case = design.response == design.response.max()
    n, n_cases = design.n_samples, int(is_case.sum())
    few, who = min((n_cases, "case"), (n - n_cases, "control"))
    if few >= FEW_SHARE * n:
        return ()
    concerned = ""
    if frequencies is not None:
        minor = np.minimum(frequencies, 1 - frequencies)
        n_rare = int(((minor > 0) & (2 * few * minor < FEW_ALLELES)).sum())
        if not n_rare:
            return ()
        concerned = f" (at {n_rare:,} of {n_words(len(frequencies), 'variant')})"
    return (
        f"The trait has {n_words(few, who)} among {n_words(n, 'sample')} and is tested as a "
        f"number: p can be far too small where fewer than {FEW_ALLELES} minor alleles are expected "
        f"in {who}s{concerned}. {remedy} for few cases, but not for related samples.",
    )


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
