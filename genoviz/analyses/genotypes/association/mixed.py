"""Association tests in a mixed model with the variants of all other chromosomes as random effect.

For a variant x of chromosome c, y = Xb + x beta + u + e, u ~ N(0, G v_g), where G is the
relationship matrix from all chromosomes except c (LOCO). With P of the model without x::

    beta = x'Py / x'Px,    SE = 1 / sqrt(x'Px)

- Exact: G is built and decomposed for each chromosome, v_g and v_e are estimated in its null model,
  and Px is computed for every variant. This is generalised least squares.
- Calibrated: G is never built. The variances come from one model with all variants. Py is computed
  by conjugate gradients, with all chromosomes as columns of the same products. x'Px is
  approximated by gamma times x'x after projecting out fixed effects, where gamma is a mean over
  some variants (GRAMMAR-gamma). For the variants with the lowest p, Px is computed too, so their
  tests are exact given the variances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits, make_design
from genoviz.analyses.genotypes.association.left_out import (
    LEAVE_OUT,
    Chromosome,
    LeaveOut,
    split_chromosomes,
)
from genoviz.analyses.genotypes.association.logistic import note_few_cases
from genoviz.analyses.genotypes.association.mixed_models import (
    FITTING,
    TESTING,
    ExactModels,
    find_varied,
    iter_calibrated_model,
)
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.scan import AssociationScan, scan_of
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

Tests = Literal["auto", "exact", "calibrated"]
MIN_RESIDUAL = 1e-4
"""Least residual share of the variance for calibrated tests."""
TESTS = ("auto", "exact", "calibrated")
FEW_CASES = "The models saddle-point and firth-fallback allow"
HARD_CALLS = "Hard calls are tested, not dosages."
REFINE_BELOW = 1e-5
MAX_RETESTED, _RETESTED_AT_ONCE = 64, 32
_BLOCK_VALUES = 1 << 23
MAX_EXACT = 3000
"""Maximum number of samples whose relationship matrix is decomposed per chromosome."""


@dataclass(frozen=True, eq=False)
class MixedScan(AssociationScan):
    """Tests of all variants by a mixed model.

    Attributes
    ----------
    chromosomes
        Chromosomes left out in turn; ``("",)`` if none is.
    variances, heritabilities, heritability_errors
        float64, shape (n_chromosomes, 2), (n_chromosomes,) and (n_chromosomes,): genetic and
        residual variance in the model of each chromosome, the genetic share and its standard error,
        NaN if it is at a bound.
    calibration
        gamma; NaN if all tests are exact.
    is_exact
        bool, shape (n_variants,): whether beta and error are from generalised least squares.
    """

    chromosomes: tuple[str, ...] = ()
    variances: np.ndarray | None = None
    heritabilities: np.ndarray | None = None
    heritability_errors: np.ndarray | None = None
    calibration: float = np.nan
    is_exact: np.ndarray | None = None


def iter_mixed_associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    leave_out: LeaveOut = "chromosome",
    tests: Tests = "auto",
    refine_below: float = REFINE_BELOW,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant in a mixed model; the last step has the `MixedScan`.

    Earlier steps have that of the chromosomes tested so far; other variants are NaN there.

    Parameters
    ----------
    genotypes
        The genotypes; missing ones are replaced by the mean. Variants of X, Y and mitochondria are
        neither tested nor used for relationships.
    phenotype
        Numbers, shape (n_samples,); NaN is missing.
    covariates, covariate_names
        As in `iter_associate`.
    leave_out
        ``"chromosome"``: relationships exclude the chromosome of the tested variant, so that the
        random effect does not absorb the variant's effect. Contigs ``1`` and ``chr1`` are the same
        chromosome. ``"none"``: use all variants.
    tests
        ``"exact"``: memory n_samples² and time n_samples³ for each chromosome; ``"calibrated"``;
        ``"auto"``: exact up to 3,000 samples. See the module.
    refine_below
        Variants with a calibrated p below this, at most the 64 lowest, are retested exactly.
    seed
        Seed of the random columns and of the choice of calibration variants.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If an option is unknown, arguments do not match, too few samples are left, no variant is
        left for relationships, or the null model does not converge.

    References
    ----------
    Kang et al. 2010, Variance component model to account for sample structure in genome-wide
    association studies, doi:10.1038/ng.548
    Svishcheva et al. 2012, Rapid variance components-based method for whole-genome association
    analysis, doi:10.1038/ng.2410 (GRAMMAR-gamma)
    Yang et al. 2014, Advantages and pitfalls in the application of mixed-model association
    methods, doi:10.1038/ng.2876
    Loh et al. 2015, Efficient Bayesian mixed-model analysis increases association power in large
    cohorts, doi:10.1038/ng.3190
    """
    check_choice("leave_out", leave_out, LEAVE_OUT)
    check_choice("tests", tests, TESTS)
    if not 0 <= refine_below <= 1:
        raise ParameterError(f"refine_below is {refine_below}, needs a p from 0 to 1")
    n_samples, n_variants = genotypes.n_samples, genotypes.n_variants
    design = make_design(n_samples, phenotype, covariates, covariate_names)
    design.check_unexplained()
    yield Progress(FITTING, 0.0)
    taken, kept = take_autosomes(genotypes)
    if design.n_samples < n_samples:
        taken = select_samples(taken, design.kept)
    counts = allele_counts(taken, backend=backend)
    chromosomes = split_chromosomes(taken, counts, leave_out, backend)
    fits = _empty_fits(counts)
    takes_exact = tests == "exact" or (tests == "auto" and design.n_samples <= MAX_EXACT)
    scan = _iter_exact if takes_exact else _iter_calibrated
    steps = scan(chromosomes, design, fits, leave_out == "none", seed, refine_below, backend)
    notes = () if genotypes.stored_dosages is None else (HARD_CALLS,)
    if taken.n_variants < n_variants:
        notes += ("Variants of X, Y or MT are not tested.",)
    notes += note_few_cases(design, FEW_CASES, fits.a1_frequency)
    kept, result = np.arange(n_variants)[kept], None
    for step in steps:
        if step.result is not None:
            result = _make_scan(step.result, chromosomes, fits, kept, n_variants, design, notes)
        yield Progress(step.what, step.fraction, result)


def _make_scan(
    known: _Known,
    chromosomes: list[Chromosome],
    fits: Fits,
    kept: np.ndarray,
    n_variants: int,
    design: Design,
    notes: tuple[str, ...],
) -> MixedScan:
    """Return the scan with what is known so far; kept are the variants of the fits, int64."""
    everywhere, is_exact = Fits.empty(n_variants), np.zeros(n_variants, bool)
    everywhere.put(kept, fits)
    is_exact[kept[known.exact]] = True
    everywhere.log_p[:] = log_p_of_z(everywhere.statistic)
    shares = known.variances[:, 0] / known.variances.sum(1)
    model = describe_model(shares, known.errors, known.gamma, len(known.exact))
    notes = (*design.notes, model, *notes)
    return MixedScan(
        **vars(scan_of(everywhere, design, "mixed", len(design.phenotype), notes)),
        chromosomes=tuple(each.name for each in chromosomes[: len(shares)]),
        variances=known.variances,
        heritabilities=shares,
        heritability_errors=known.errors,
        calibration=known.gamma,
        is_exact=is_exact & np.isfinite(everywhere.beta),
    )


@in_one_go(iter_mixed_associate)
def mixed_associate(last: Progress) -> MixedScan:
    """Return the tests of all variants; see `iter_mixed_associate`."""
    return last.result


@dataclass(frozen=True, eq=False)
class _Known:
    """Models of the chromosomes tested so far, gamma, and the exactly tested variants, int64."""

    variances: np.ndarray
    errors: np.ndarray
    gamma: float
    exact: np.ndarray


def _iter_exact(
    chromosomes: list[Chromosome],
    design: Design,
    fits: Fits,
    takes_all: bool,
    _seed: int,
    _refine_below: float,
    backend: Backend,
) -> Iterator[Progress]:
    """Test each variant by generalised least squares; yield `_Known` after each chromosome."""
    models, n_all = ExactModels(chromosomes, design, takes_all, backend), len(chromosomes)
    for k, each in enumerate(chromosomes):
        start, part = k / n_all, 1 / n_all
        model = yield from models.fit(k, start, 0.6 * part)
        step = max(1, _BLOCK_VALUES // design.n_samples)
        for first in range(0, len(each.rows), step):
            block = slice(first, min(first + step, len(each.rows)))
            rotated = each.take(block, backend).multiply_transposed(model.vectors)
            squares = rotated * rotated
            is_varied = find_varied(squares.sum(1), each.squares[block])
            left = squares @ model.weights
            _put(fits, each.rows[block], rotated @ model.response, left, is_varied)
            yield Progress(TESTING, start + part * (0.6 + 0.4 * block.stop / len(each.rows)))
        exact = np.concatenate([other.rows for other in chromosomes[: k + 1]])
        variances, errors = models.variances[: k + 1].copy(), models.errors[: k + 1].copy()
        yield Progress(TESTING, (k + 1) / n_all, _Known(variances, errors, np.nan, exact))


def _iter_calibrated(
    chromosomes: list[Chromosome],
    design: Design,
    fits: Fits,
    takes_all: bool,
    seed: int,
    refine_below: float,
    backend: Backend,
) -> Iterator[Progress]:
    """Test each variant by its score, and those with p below a limit by generalised least squares.

    Yields `_Known` after each chromosome and each retested block.
    """
    model = yield from iter_calibrated_model(chromosomes, design, takes_all, seed, backend=backend)
    check_residual(model.variances)

    def known(n_chromosomes: int, n_exact: int = 0) -> _Known:
        variances = np.tile(model.variances, (n_chromosomes, 1))
        errors = np.full(n_chromosomes, model.heritability_error)
        return _Known(variances, errors, model.gamma, strongest[:n_exact])

    n_all, strongest = len(chromosomes), np.empty(0, np.int64)
    for k, each in enumerate(chromosomes):
        both = np.column_stack([design.basis, model.solution[:, k]])
        products = each.matrix.multiply_transposed(both)
        left = each.squares - (products[:, :-1] ** 2).sum(1)
        is_varied = find_varied(left, each.squares)
        _put(fits, each.rows, products[:, -1], model.gamma * np.maximum(left, 0), is_varied)
        yield Progress(TESTING, 0.8 + 0.05 * (k + 1) / n_all, known(k + 1))
    strongest = _strongest(fits, refine_below)
    for first in range(0, len(strongest), _RETESTED_AT_ONCE):
        rows = strongest[first : first + _RETESTED_AT_ONCE]
        share = 0.15 / len(strongest)
        across, left = yield from model.test_exactly(
            rows, "Strongest variants", 0.85 + share * first, share * len(rows)
        )
        _put(fits, rows, across, np.diagonal(left), np.ones(len(rows), bool))
        done = first + len(rows)
        yield Progress("Strongest variants", 0.85 + share * done, known(n_all, done))
    yield Progress(TESTING, 1.0, known(n_all, len(strongest)))


def _put(
    fits: Fits, rows: np.ndarray, across: np.ndarray, left: np.ndarray, is_varied: np.ndarray
) -> None:
    """Fill in the fits of variants from x'Py and x'Px."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "beta": across / left,
            "standard_error": 1 / np.sqrt(left),
            "statistic": across / np.sqrt(left),
        }
    for name, values in found.items():
        getattr(fits, name)[rows] = np.where(is_varied, values, np.nan)


def _strongest(fits: Fits, refine_below: float) -> np.ndarray:
    """Return up to 64 variants with the lowest p below a limit: int64."""
    strength = np.where(np.isfinite(fits.statistic), np.abs(fits.statistic), 0.0)
    is_strong = np.exp(log_p_of_z(strength)) < refine_below
    return np.sort(np.argsort(-strength, kind="stable")[: min(is_strong.sum(), MAX_RETESTED)])


def _empty_fits(counts: np.ndarray) -> Fits:
    fits = Fits.empty(len(counts))
    fits.n_samples[:] = counts.sum(1) - counts[:, MISSING_CODE]
    fits.a1_frequency[:] = np.where(fits.n_samples, frequencies_of_counts(counts), np.nan)
    return fits


def check_residual(variances: np.ndarray) -> None:
    """Raise `ParameterError` if one model of all variants explains the trait entirely.

    A chromosome that is left out of it then has nothing but its own effects as residual.
    """
    if variances[1] < MIN_RESIDUAL * variances.sum():
        raise ParameterError(
            "the variants explain the trait entirely (heritability 1), so that calibrated tests "
            "have no residual to compare with; needs exact tests (--tests exact, tests='exact')"
        )


def describe_model(shares: np.ndarray, errors: np.ndarray, gamma: float, n_exact: int) -> str:
    """Return a sentence on the models without variants and their tests."""
    found = _range_of(shares)
    error = _range_of(errors[~np.isnan(errors)]) or "not known, at a bound"
    if np.isnan(errors).any() and not np.isnan(errors).all():
        n_unknown = int(np.isnan(errors).sum())
        error += f", not known for {n_words(n_unknown, 'chromosome')} at a bound"
    how = "exact" if np.isnan(gamma) else f"calibrated by {gamma:.4g}"
    if n_exact and not np.isnan(gamma):
        how += f", but exact for the {n_exact:,} of lowest p"
    return f"The heritability of models without variants is {found} (SE {error}); tests are {how}."


def _range_of(values: np.ndarray) -> str:
    ends = np.sort(values)[[0, -1]] if len(values) else ()
    return " to ".join(dict.fromkeys(f"{end:.4f}" for end in ends))
