"""Scans of variants with models of cases and controls, block by block."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.firth import FirthModel
from genoviz.analyses.genotypes.association.regressions import (
    Fitted,
    LogisticModel,
    are_alike,
    fit_without_variant,
    iter_centred,
)
from genoviz.analyses.genotypes.association.saddle_point import SaddlePointModel
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

BLOCK_GENOTYPES = {"numpy": 1 << 21, "cupy": 1 << 26}
FEW_SHARE, FEW_ALLELES = 0.1, 20
"""Cases are few below this share of the samples, and minor alleles in them below this number."""


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
    if name == "firth" or (name == "firth-fallback" and is_separated(design)):
        return FirthModel(design, backend)
    if name == "saddle-point":
        return SaddlePointModel(design, backend)
    return _Fallback(LogisticModel(design, backend), FirthModel(design, backend), design, backend)


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
        Which models allow for few cases: a sentence without its full stop.
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
        f"in {who}s{concerned}. {remedy}.",
    )
