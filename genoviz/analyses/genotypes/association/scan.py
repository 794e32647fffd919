"""Genome-wide association scans: each variant is tested separately.

Variants are tested in groups: autosomes, X, Y and mitochondria. As in ``plink2 --glm``, each group
has its own samples, covariates and A1 dosages.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits, make_design
from genoviz.analyses.genotypes.association.logistic import iter_logistic_scan
from genoviz.analyses.genotypes.association.p_values import inflation_factor
from genoviz.analyses.genotypes.association.regressions import iter_linear_scan
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples, take_autosomes, variants_of
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.analyses.genotypes.variant_blocks import iter_tasks
from genoviz.backend import Backend, Scheduler
from genoviz.errors import ParameterError
from genoviz.generators import Progress, finish, in_one_go, report_steps
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

XModel = Literal["skip", "haploid", "diploid"]
X_MODELS = ("skip", "haploid", "diploid")
"""Index is the number of PLINK's ``--xchr-model``."""
SEX = "sex"
CASE_MODELS = ("logistic", "firth", "firth-fallback", "saddle-point")  # for case-control traits
SCANS: dict[str, Callable[..., Generator[float, None, Fits]]] = {
    "linear": iter_linear_scan,
    **{name: partial(iter_logistic_scan, model=name) for name in CASE_MODELS},
}
TASK_GENOTYPES = {"linear": 1 << 30, **dict.fromkeys(CASE_MODELS, 1 << 26)}
"""Genotypes per remote task, which then takes some seconds."""
WHAT = "Association"


@dataclass(frozen=True, eq=False)
class VariantGroup:
    """Variants of some chromosome types, and their regression model.

    Attributes
    ----------
    variants
        Indices of the variants.
    design
        Phenotype and covariates of the samples that take part; None if nothing can be tested.
    weights
        float64, shape (n of the design,): factor for the dosages of each sample: 0.5 if one copy
        counts as 1 instead of 2. None if all are 1.
    is_haploid
        Whether some samples have one copy.
    note
        How they are tested, or why they are not; empty for autosomes.
    """

    variants: slice | np.ndarray
    design: Design | None
    weights: np.ndarray | None = None
    is_haploid: bool = False
    note: str = ""


def variant_groups(
    genotypes: Genotypes, design: Design, *, is_binary: bool, x_model: XModel
) -> Iterator[VariantGroup]:
    """Yield the non-empty groups of variants.

    Parameters
    ----------
    genotypes
        The genotypes.
    design
        Design for autosomes with all samples; the phenotype is as given.
    is_binary, x_model
        Whether the model is logistic; see `iter_associate`.
    """
    others = variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)
    if len(others) < genotypes.n_variants:
        own = design.of_cases() if is_binary else design
        yield VariantGroup(take_autosomes(genotypes)[1], own)
    for kind in (Kind.X, Kind.Y, Kind.MT):
        variants = variants_of(genotypes, kind)
        if not len(variants):
            continue
        if kind == Kind.X and x_model == "skip":
            yield VariantGroup(variants, None, note="X is not tested, as asked")
            continue
        yield _group_of(genotypes, kind, variants, design, is_binary, x_model)


def _group_of(
    genotypes: Genotypes,
    kind: Kind,
    variants: np.ndarray,
    design: Design,
    is_binary: bool,
    x_model: XModel,
) -> VariantGroup:
    samples = genotypes.samples
    y, columns, names = design.phenotype, design.covariates, design.names
    if kind == Kind.Y:
        y = np.where(samples.is_male, y, np.nan)
    elif kind == Kind.X and {1, 2} <= set(samples.sexes[design.kept].tolist()):
        sexes = np.where(samples.sexes > 0, samples.sexes, np.nan).astype(np.float64)
        columns, names = np.column_stack([columns, sexes]), (*names, SEX)
    try:
        own = make_design(len(y), y, columns, names)
        own = own.of_cases() if is_binary else own
        own.check_unexplained()
    except ParameterError as error:
        return VariantGroup(variants, None, note=f"{kind.name} is not tested: {error}")
    is_haploid = haploid_samples(genotypes, kind)[own.kept]
    is_halved = is_haploid & (kind != Kind.X or x_model == "haploid")
    weights = np.where(is_halved, 0.5, 1.0) if is_halved.any() else None
    has_sex = len(names) > len(design.names) and own.names[-1:] == (SEX,)
    return VariantGroup(variants, own, weights, True, _note(kind, own.n_samples, x_model, has_sex))


def _note(kind: Kind, n: int, x_model: XModel, has_sex: bool) -> str:
    if kind == Kind.X:
        highest = "2" if x_model == "diploid" else "1"
        sex = " and sex is a covariate" if has_sex else ""
        return f"X is tested with {n:,} samples, where males have 0 or {highest} of A1{sex}"
    who = "males" if kind == Kind.Y else "samples"
    return f"{kind.name} is tested with {n:,} {who}, who have 0 or 1 of A1"


@dataclass(frozen=True, eq=False)
class AssociationScan:
    """Tests of all variants; NaN for a variant that cannot be tested, such as a constant one.

    Attributes
    ----------
    beta
        float64, shape (n_variants,): change of the phenotype, or of the log odds, per copy of A1.
    standard_error, statistic
        float64, shape (n_variants,): standard error of beta, and their ratio: t, or Wald's z. In
        Firth's model the statistic is the signed root of the likelihood ratio chi-square.
    p, minus_log10_p
        float64, shape (n_variants,): two-sided p; the logarithm stays accurate where p underflows
        to 0.
    n_samples
        int64, shape (n_variants,): samples with the genotype, the phenotype and all covariates.
    a1_frequency
        float64, shape (n_variants,): frequency of A1 among these samples.
    lambda_gc
        Genomic inflation factor: median chi-square of the p values over its null expectation.
    model
        As for `iter_associate`, or ``"mixed"``.
    sentence
        Description of the scan.
    notes
        Covariates that were left out, and the treatment of X, Y and mitochondria, one sentence
        each.
    """

    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    p: np.ndarray
    minus_log10_p: np.ndarray
    n_samples: np.ndarray
    a1_frequency: np.ndarray
    lambda_gc: float
    model: str
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns of the tests, with PLINK's names."""
        return {
            "A1_FREQ": self.a1_frequency, "OBS_CT": self.n_samples, "BETA": self.beta,
            "SE": self.standard_error, "STAT": self.statistic, "P": self.p,
            "NEG_LOG10_P": self.minus_log10_p,
        }  # fmt: skip


def iter_associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic", "firth", "firth-fallback", "saddle-point"] = "linear",
    x_model: XModel = "diploid",
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant for association; the last step has the `AssociationScan`.

    The phenotype is regressed on an intercept, the covariates, and the dosage of A1. Each variant
    is tested with the samples that have its genotype, as ``plink2 --glm`` does.

    Sex chromosomes are treated as in PLINK too. At X, sex is an additional covariate if there are
    males and females, and samples of unknown sex are left out. Y is tested in males only. One copy
    of A1 at Y and MT counts as 1. Covariates that become redundant, such as sex at Y, are dropped.

    Parameters
    ----------
    genotypes
        The genotypes; stored dosages are tested as they are.
    phenotype
        Numbers, shape (n_samples,); NaN is missing. All models except ``"linear"`` need two
        values, of which cases have the higher.
    covariates
        Numbers, shape (n_samples, count); NaN is missing. The intercept is added. A covariate that
        is constant or a linear combination of earlier ones is dropped, with a note.
    covariate_names
        Names for messages.
    model
        ``"linear"``: t test. ``"logistic"``: maximum likelihood with Wald's z. For few cases:
        ``"firth"``, Firth's penalised likelihood with its likelihood ratio test, as R's logistf;
        ``"firth-fallback"``, logistic, or Firth if that fails or if all cases or all controls have
        the same genotype; ``"saddle-point"``, the score test of the model without the variant with
        a saddle-point p. There beta is one Newton step, the standard error is chosen to match p,
        and missing genotypes are replaced by the mean.
    x_model
        Dosage of the single A1 of a male at X. ``"diploid"``: 2, as two copies in a female, one of
        which is inactivated; ``"haploid"``: 1; ``"skip"``: X is not tested. These are 2, 1 and 0
        of ``--xchr-model``.
    scheduler
        Address of a Dask scheduler, or a ``distributed`` client, whose workers test blocks of
        variants; None uses this process only. The results are the same.
    backend
        Where to compute.

    Raises
    ------
    ClusterError
        If the scheduler or its workers cannot be used.
    ParameterError
        If a model is unknown, a contig is not a chromosome of the species, arguments do not match,
        too few samples are left, the phenotype is constant, or the covariates explain it entirely.

    References
    ----------
    Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
    Heinze and Schemper 2002, A solution to the problem of separation in logistic regression,
    doi:10.1002/sim.1047 (Firth's model)
    Dey et al. 2017, A fast and accurate algorithm to test for binary phenotypes and its application
    to PheWAS, doi:10.1016/j.ajhg.2017.05.014 (saddle point)
    """
    if model not in SCANS:
        raise ParameterError(f"model is {model!r}, needs one of {', '.join(SCANS)}")
    if x_model not in X_MODELS:
        raise ParameterError(f"x_model is {x_model!r}, needs one of {', '.join(X_MODELS)}")
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    is_binary = model in CASE_MODELS
    if is_binary:
        design.of_cases()
    design.check_unexplained()
    yield Progress(WHAT, 0.0)
    groups = variant_groups(genotypes, design, is_binary=is_binary, x_model=x_model)
    fits, notes, done = Fits.empty(genotypes.n_variants), [*design.notes], 0.0
    for group in groups:
        notes += [f"{group.note}."] if group.note else []
        if group.design is None:
            continue
        for variants in genotypes.split_by_dosages(group.variants):
            part = genotypes.take_variants(variants)
            end = min(done + part.n_variants / genotypes.n_variants, 1.0)
            # Workers have packed genotypes alone.
            if scheduler is None or part.stored_dosages is not None:
                part = _of_design(part, group.design)
                steps = SCANS[model](part, group.design, weights=group.weights, backend=backend)
            else:
                steps = _scan_on_cluster(part, group, model, scheduler, backend)
            found = yield from report_steps(steps, WHAT, done, end)
            fits.put(variants, found)
            if group.is_haploid:
                part = _of_design(part, group.design)
                where = backend if scheduler is None else "cpu"
                of_part = variant_statistics(part, nonfounders=True, backend=where)
                fits.a1_frequency[variants] = of_part.a1_frequency
            done = end
    scan = scan_of(fits, design, model, genotypes.n_samples, tuple(notes))
    yield Progress(WHAT, 1.0, scan)


@in_one_go(iter_associate)
def associate(last: Progress) -> AssociationScan:
    """Return the tests of all variants; see `iter_associate`."""
    return last.result


def _of_design(genotypes: Genotypes, design: Design) -> Genotypes:
    """Return the genotypes of the samples of a design."""
    if genotypes.n_samples == len(design.kept):
        return genotypes
    return select_samples(genotypes, design.kept)


def _scan_on_cluster(
    genotypes: Genotypes, group: VariantGroup, model: str, scheduler: Scheduler, backend: Backend
) -> Generator[float, None, Fits]:
    """Return the fits of a group, computed by the workers of a scheduler."""
    common = genotypes.n_samples, group.design, group.weights, model, backend
    options = {"common": common, "scheduler": scheduler, "n_values": TASK_GENOTYPES[model]}
    fits = Fits.empty(genotypes.n_variants)
    for done, block, found in iter_tasks(_scan_block, genotypes, **options):
        fits.put(block, found)
        yield done
    return fits


def _scan_block(
    packed: np.ndarray,
    n_samples: int,
    design: Design,
    weights: np.ndarray | None,
    model: str,
    backend: Backend,
) -> Fits:
    """Return the fits of a block of variants; runs on a worker."""
    part = _of_design(Genotypes.unnamed(packed, np.zeros(n_samples, np.uint8)), design)
    return finish(SCANS[model](part, design, weights=weights, backend=backend))


def scan_of(
    fits: Fits, design: Design, model: str, n_samples: int, notes: tuple[str, ...]
) -> AssociationScan:
    """Return the fits of all variants as an `AssociationScan`."""
    p = np.exp(fits.log_p)
    n_tested, n_covariates = int(np.isfinite(fits.beta).sum()), len(design.names)
    return AssociationScan(
        beta=fits.beta,
        standard_error=fits.standard_error,
        statistic=fits.statistic,
        p=p,
        minus_log10_p=np.abs(fits.log_p) / np.log(10),
        n_samples=fits.n_samples,
        a1_frequency=fits.a1_frequency,
        lambda_gc=inflation_factor(p),
        model=model,
        sentence=(
            f"{n_tested:,} of {len(p):,} variant{'s are' if len(p) != 1 else ' is'} "
            f"tested with {len(design.kept):,} of "
            f"{n_samples:,} samples and {n_covariates} covariate{'s' * (n_covariates != 1)}."
        ),
        notes=notes,
    )
