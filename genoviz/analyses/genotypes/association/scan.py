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

from genoviz.analyses.genotypes.association.design import (
    X_MODELS,
    Design,
    Fits,
    VariantGroup,
    XModel,
    choose_model,
    make_design,
    variant_groups,
)
from genoviz.analyses.genotypes.association.logistic import iter_logistic_scan
from genoviz.analyses.genotypes.association.p_values import inflation_factor
from genoviz.analyses.genotypes.association.regressions import iter_linear_scan
from genoviz.analyses.genotypes.association.terms import GeneticModel, Terms, TermTests
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.analyses.genotypes.variant_blocks import iter_tasks
from genoviz.backend import Backend, Scheduler
from genoviz.errors import check_choice, n_words
from genoviz.generators import Progress, finish, in_one_go, report_steps
from genoviz.model.genotypes.genotypes import Genotypes

Model = Literal["auto", "linear", "logistic", "firth", "firth-fallback", "saddle-point"]
CASE_MODELS = ("logistic", "firth", "firth-fallback", "saddle-point")  # for case-control traits
SCANS: dict[str, Callable[..., Generator[float, None, Fits]]] = {
    "linear": iter_linear_scan,
    **{name: partial(iter_logistic_scan, model=name) for name in CASE_MODELS},
}
TASK_GENOTYPES = {"linear": 1 << 30, **dict.fromkeys(CASE_MODELS, 1 << 26)}
"""Genotypes per remote task, which then takes some seconds."""
WHAT = "Association"


@dataclass(frozen=True, eq=False)
class AssociationScan:
    """Tests of all variants; NaN for a variant that cannot be tested, such as a constant one.

    Attributes
    ----------
    beta
        float64, shape (n_variants,): change of the phenotype, or of the log odds, per copy of A1,
        or between the groups of a genetic model. Of several columns, that of the first tested one.
    standard_error, statistic
        float64, shape (n_variants,): standard error of beta, and their ratio: t, or Wald's z. In
        Firth's model the statistic is the signed root of the likelihood ratio chi-square. A test
        of several columns has F, or Firth's likelihood ratio chi-square.
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
        That of the tests, as for `iter_associate`, ``"mixed"`` or ``"mixed-logistic"``.
    sentence
        Description of the scan.
    coding
        The columns of each variant; None for the dosage alone.
    terms
        With several columns, the tests of each; p is that of the interactions, or of all columns
        if there are none.
    joint_statistic, joint_p
        float64, shape (n_variants,): with interactions, the test of all columns; otherwise None.
    notes
        Covariates left out, why ``"auto"`` chose its model, and the treatment of X, Y and MT.
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
    coding: Terms | None = None
    terms: tuple[TermTests, ...] = ()
    joint_statistic: np.ndarray | None = None
    joint_p: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns of the tests, with PLINK's names."""
        columns = {"A1_FREQ": self.a1_frequency, "OBS_CT": self.n_samples}
        if not self.terms:
            columns |= {"BETA": self.beta, "SE": self.standard_error}
        for term in self.terms:
            columns |= term.columns
        if self.joint_p is not None:
            columns |= {"JOINT_STAT": self.joint_statistic, "JOINT_P": self.joint_p}
        return columns | {
            "STAT": self.statistic, "P": self.p, "NEG_LOG10_P": self.minus_log10_p
        }  # fmt: skip


def iter_associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Model = "auto",
    genetic_model: GeneticModel = "additive",
    interactions: Sequence[str] = (),
    x_model: XModel = "diploid",
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant for association; the last step has the `AssociationScan`.

    The phenotype is regressed on an intercept, the covariates, and the dosage of A1, or columns
    that a genetic model and interactions make of it. Each variant is tested with the samples that
    have its genotype, as ``plink2 --glm omit-ref`` does.

    Sex chromosomes are treated as in PLINK too. At X, sex is an additional covariate if both occur,
    and samples of unknown sex are left out. Y is tested in males only. One copy of A1 at Y and MT
    counts as 1. Covariates that become redundant, such as sex at Y, are dropped.

    Parameters
    ----------
    genotypes
        The genotypes; stored dosages are tested as they are.
    phenotype
        Numbers, shape (n_samples,); NaN is missing. Logistic models need two values, of which
        cases have the higher. `read_trait` makes them from 0 (missing), 1 and 2.
    covariates
        Numbers, shape (n_samples, count); NaN is missing. The intercept is added. One that is
        constant or a linear combination of earlier ones is dropped, with a note.
    covariate_names
        Names for messages.
    model
        ``"auto"``: as PLINK 2, ``"firth-fallback"`` for two values, otherwise ``"linear"``.
        ``"linear"``: t test. ``"logistic"``: maximum likelihood with Wald's z. For few cases:
        ``"firth"``, Firth's penalised likelihood with its likelihood ratio test, as R's logistf;
        ``"firth-fallback"``, logistic, or Firth if that fails or if all cases or all controls have
        the same genotype; ``"saddle-point"``, the score test of the model without the variant with
        a saddle-point p: beta is one Newton step, the standard error matches p, and a missing
        genotype counts as the mean.
    genetic_model
        What a copy of A1 does, with PLINK's names; x is the dosage. ``"additive"``: x.
        ``"dominant"``: min(x, 1). ``"recessive"``: max(x - 1, 0). ``"hetonly"``: 1 - abs(x - 1).
        Two columns, tested together: ``"genotypic"``, x and 1 - abs(x - 1), which is the deviation
        from additivity; ``"hethom"``, max(x - 1, 0) and 1 - abs(x - 1). All but the additive model
        are of autosomes only. With dependent columns, such as without homozygotes, the test is NaN.
    interactions
        Names of covariates. The products of the columns with each are added to the model; p is of
        these products. Not with ``"saddle-point"``, nor with two columns there.
    x_model
        Dosage of the single A1 of a male at X. ``"diploid"``: 2, as one of a female's two is
        inactivated; ``"haploid"``: 1; ``"skip"``: X is not tested.
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
        If a model is unknown, an interaction is with none of the covariates, a contig is not a
        chromosome of the species, arguments do not match, too few samples are left, the phenotype
        is constant, or the covariates explain it entirely.

    References
    ----------
    Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
    Heinze and Schemper 2002, A solution to the problem of separation in logistic regression,
    doi:10.1002/sim.1047 (Firth's model)
    Dey et al. 2017, A fast and accurate algorithm to test for binary phenotypes and its application
    to PheWAS, doi:10.1016/j.ajhg.2017.05.014 (saddle point)
    Kraft et al. 2007, Exploiting gene-environment interaction to detect genetic associations,
    doi:10.1159/000099183 (joint test of effect and interaction)
    """
    check_choice("model", model, ("auto", *SCANS))
    check_choice("x_model", x_model, X_MODELS)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    model, chosen = choose_model(phenotype, design) if model == "auto" else (model, ())
    is_binary = model in CASE_MODELS
    if is_binary:
        design.of_cases()
    design.check_unexplained()
    terms = _terms_of(genetic_model, interactions)
    if terms is not None:
        terms.check(design, model)
    yield Progress(WHAT, 0.0)
    groups = variant_groups(
        genotypes, design, is_binary=is_binary, x_model=x_model,
        is_additive=genetic_model == "additive",
    )  # fmt: skip
    fits, notes, done = _empty_fits(genotypes, terms), [*design.notes, *chosen], 0.0
    for group in groups:
        lacked = [] if terms is None or group.design is None else terms.lacked_by(group.design)
        if lacked:
            who = group.note.split(" is tested")[0]
            notes.append(f"{who} is not tested: {lacked[0]} does not vary in its samples.")
            continue
        notes += [f"{group.note}."] if group.note else []
        if group.design is None:
            continue
        for variants in genotypes.split_by_dosages(group.variants):
            part = genotypes.take_variants(variants)
            end = min(done + part.n_variants / genotypes.n_variants, 1.0)
            # Workers have packed genotypes alone.
            if scheduler is None or part.stored_dosages is not None:
                part = _of_design(part, group.design)
                steps = _scan(part, group.design, group.weights, model, terms, backend)
            else:
                steps = _scan_on_cluster(part, group, model, terms, scheduler, backend)
            found = yield from report_steps(steps, WHAT, done, end)
            fits.put(variants, found)
            if group.is_haploid:
                part = _of_design(part, group.design)
                where = backend if scheduler is None else "cpu"
                of_part = variant_statistics(part, nonfounders=True, backend=where)
                fits.a1_frequency[variants] = of_part.a1_frequency
            done = end
    scan = scan_of(fits, design, model, genotypes.n_samples, tuple(notes), terms)
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


def _terms_of(genetic_model: GeneticModel, interactions: Sequence[str]) -> Terms | None:
    """Return the columns of a variant, None if the dosage is the only one."""
    if genetic_model == "additive" and not interactions:
        return None
    return Terms(genetic_model, tuple(interactions))


def _empty_fits(genotypes: Genotypes, terms: Terms | None) -> Fits:
    return Fits.empty(genotypes.n_variants, 0 if terms is None else len(terms.names))


def _scan(
    genotypes: Genotypes,
    design: Design,
    weights: np.ndarray | None,
    model: str,
    terms: Terms | None,
    backend: Backend,
) -> Generator[float, None, Fits]:
    """Return the scan of the genotypes of a design, by the dosage or by several columns."""
    if terms is None:
        return SCANS[model](genotypes, design, weights=weights, backend=backend)
    from genoviz.analyses.genotypes.association.term_regressions import iter_terms_scan

    options = {"weights": weights, "backend": backend, "model": model, "terms": terms}
    return iter_terms_scan(genotypes, design, **options)


def _scan_on_cluster(
    genotypes: Genotypes,
    group: VariantGroup,
    model: str,
    terms: Terms | None,
    scheduler: Scheduler,
    backend: Backend,
) -> Generator[float, None, Fits]:
    """Return the fits of a group, computed by the workers of a scheduler."""
    common = genotypes.n_samples, group.design, group.weights, model, terms, backend
    n_values = TASK_GENOTYPES[model if terms is None else "logistic"]
    options = {"common": common, "scheduler": scheduler, "n_values": n_values}
    fits = _empty_fits(genotypes, terms)
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
    terms: Terms | None,
    backend: Backend,
) -> Fits:
    """Return the fits of a block of variants; runs on a worker."""
    part = _of_design(Genotypes.unnamed(packed, np.zeros(n_samples, np.uint8)), design)
    return finish(_scan(part, design, weights, model, terms, backend))


def scan_of(
    fits: Fits,
    design: Design,
    model: str,
    n_samples: int,
    notes: tuple[str, ...],
    terms: Terms | None = None,
) -> AssociationScan:
    """Return the fits of all variants as an `AssociationScan`."""
    p = np.exp(fits.log_p)
    each, joint = ((), (None, None)) if terms is None else terms.tests_of(fits)
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
            f"{n_words(n_samples, 'sample')} and {n_words(n_covariates, 'covariate')}."
        ),
        coding=terms,
        terms=each,
        joint_statistic=joint[0],
        joint_p=joint[1],
        notes=notes,
    )
