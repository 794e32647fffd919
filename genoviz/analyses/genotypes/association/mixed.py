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
from dataclasses import dataclass, replace
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
    check_residual,
    describe_model,
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
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

Tests = Literal["auto", "exact", "calibrated"]
TESTS = ("auto", "exact", "calibrated")
FEW_CASES = (
    "A logistic mixed model (mixed-logistic, GLMM) allows for few cases and for related samples"
)
HARD_CALLS = "Hard calls are tested, not dosages."
REFINE_BELOW = 1e-5
MAX_RETESTED, RETESTED_AT_ONCE = 64, 32
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
    check_options(leave_out, tests, refine_below)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design.check_unexplained()
    yield Progress(FITTING, 0.0)
    task = ScanTask.of(genotypes, design, leave_out, backend)
    scan = _iter_exact if takes_exact(tests, design) else _iter_calibrated
    steps = scan(task, leave_out == "none", seed, refine_below, backend)
    notes = (*task.notes, *note_few_cases(design, FEW_CASES, task.fits.a1_frequency))
    task, result = replace(task, notes=notes), None
    for step in steps:
        result = result if step.result is None else task.make_scan(step.result, "mixed")
        yield Progress(step.what, step.fraction, result)


@in_one_go(iter_mixed_associate)
def mixed_associate(last: Progress) -> MixedScan:
    """Return the tests of all variants; see `iter_mixed_associate`."""
    return last.result


def check_options(leave_out: str, tests: str, refine_below: float) -> None:
    """Refuse what is not an option of a mixed model."""
    check_choice("leave_out", leave_out, LEAVE_OUT)
    check_choice("tests", tests, TESTS)
    if not 0 <= refine_below <= 1:
        raise ParameterError(f"refine_below is {refine_below}, needs a p from 0 to 1")


def takes_exact(tests: Tests, design: Design) -> bool:
    """Return whether a choice of tests means exact ones for a design."""
    return tests == "exact" or (tests == "auto" and design.n_samples <= MAX_EXACT)


@dataclass(frozen=True, eq=False)
class Known:
    """Models of the chromosomes tested so far, gamma, and the exactly tested variants, int64."""

    variances: np.ndarray
    errors: np.ndarray
    gamma: float
    exact: np.ndarray


@dataclass(frozen=True, eq=False)
class ScanTask:
    """What a mixed model tests: a design, its chromosomes, and the fits that are filled in.

    ``kept`` are the variants of the fits among those of the genotypes, int64.
    """

    design: Design
    chromosomes: list[Chromosome]
    fits: Fits
    kept: np.ndarray
    n_variants: int
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, genotypes: Genotypes, design: Design, leave_out: LeaveOut, backend: Backend
    ) -> ScanTask:
        """Return the task of the autosomes."""
        taken, kept = take_autosomes(genotypes)
        if design.n_samples < genotypes.n_samples:
            taken = select_samples(taken, design.kept)
        counts = allele_counts(taken, backend=backend)
        chromosomes = split_chromosomes(taken, counts, leave_out, backend)
        notes = () if genotypes.stored_dosages is None else (HARD_CALLS,)
        if taken.n_variants < genotypes.n_variants:
            notes += ("Variants of X, Y or MT are not tested.",)
        kept = np.arange(genotypes.n_variants)[kept]
        return cls(design, chromosomes, _empty_fits(counts), kept, genotypes.n_variants, notes)

    def make_scan(self, known: Known, model: str, scale: str = "") -> MixedScan:
        """Return the scan with what is known so far; ``scale`` is that of heritabilities."""
        everywhere, is_exact = Fits.empty(self.n_variants), np.zeros(self.n_variants, bool)
        everywhere.put(self.kept, self.fits)
        is_exact[self.kept[known.exact]] = True
        shares = known.variances[:, 0] / known.variances.sum(1)
        said = describe_model(shares, known.errors, known.gamma, len(known.exact), scale)
        notes = (*self.design.notes, said, *self.notes)
        return MixedScan(
            **vars(scan_of(everywhere, self.design, model, len(self.design.phenotype), notes)),
            chromosomes=tuple(each.name for each in self.chromosomes[: len(shares)]),
            variances=known.variances,
            heritabilities=shares,
            heritability_errors=known.errors,
            calibration=known.gamma,
            is_exact=is_exact & np.isfinite(everywhere.beta),
        )


def _iter_exact(
    task: ScanTask,
    takes_all: bool,
    _seed: int,
    _refine_below: float,
    backend: Backend,
) -> Iterator[Progress]:
    """Test each variant by generalised least squares; yield `Known` after each chromosome."""
    chromosomes, design, fits = task.chromosomes, task.design, task.fits
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
        yield Progress(TESTING, (k + 1) / n_all, Known(variances, errors, np.nan, exact))


def _iter_calibrated(
    task: ScanTask,
    takes_all: bool,
    seed: int,
    refine_below: float,
    backend: Backend,
) -> Iterator[Progress]:
    """Test each variant by its score, and those with p below a limit by generalised least squares.

    Yields `Known` after each chromosome and each retested block.
    """
    chromosomes, design, fits = task.chromosomes, task.design, task.fits
    model = yield from iter_calibrated_model(chromosomes, design, takes_all, seed, backend=backend)
    check_residual(model.variances)

    def known(n_chromosomes: int, n_exact: int = 0) -> Known:
        variances = np.tile(model.variances, (n_chromosomes, 1))
        errors = np.full(n_chromosomes, model.heritability_error)
        return Known(variances, errors, model.gamma, strongest[:n_exact])

    n_all, strongest = len(chromosomes), np.empty(0, np.int64)
    for k, each in enumerate(chromosomes):
        both = np.column_stack([design.basis, model.solution[:, k]])
        products = each.matrix.multiply_transposed(both)
        left = each.squares - (products[:, :-1] ** 2).sum(1)
        is_varied = find_varied(left, each.squares)
        _put(fits, each.rows, products[:, -1], model.gamma * np.maximum(left, 0), is_varied)
        yield Progress(TESTING, 0.8 + 0.05 * (k + 1) / n_all, known(k + 1))
    strongest = find_strongest(fits, refine_below)
    for first in range(0, len(strongest), RETESTED_AT_ONCE):
        rows = strongest[first : first + RETESTED_AT_ONCE]
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
    found["log_p"] = log_p_of_z(found["statistic"])
    for name, values in found.items():
        getattr(fits, name)[rows] = np.where(is_varied, values, np.nan)


def find_strongest(fits: Fits, refine_below: float) -> np.ndarray:
    """Return up to 64 variants with the lowest p below a limit: int64."""
    strength = np.where(np.isfinite(fits.statistic), np.abs(fits.statistic), 0.0)
    is_strong = np.exp(log_p_of_z(strength)) < refine_below
    return np.sort(np.argsort(-strength, kind="stable")[: min(is_strong.sum(), MAX_RETESTED)])


def _empty_fits(counts: np.ndarray) -> Fits:
    fits = Fits.empty(len(counts))
    fits.n_samples[:] = counts.sum(1) - counts[:, MISSING_CODE]
    fits.a1_frequency[:] = np.where(fits.n_samples, frequencies_of_counts(counts), np.nan)
    return fits
