"""Genome-wide association: each variant tested on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits, make_design
from genoviz.analyses.genotypes.association.groups import X_MODELS, XModel, variant_groups
from genoviz.analyses.genotypes.association.log_p_values import inflation_factor
from genoviz.analyses.genotypes.association.regressions import iter_linear_scan, iter_logistic_scan
from genoviz.analyses.genotypes.progress import Progress, report_steps
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes

SCANS = {"linear": iter_linear_scan, "logistic": iter_logistic_scan}
WHAT = "Association"


@dataclass(frozen=True, eq=False)
class AssociationScan:
    """Tests of all variants; NaN where a variant cannot be tested, as one that does not vary.

    Attributes
    ----------
    beta
        float64, shape (n_variants,): change of the phenotype, or of the log odds, with each
        further A1.
    standard_error, statistic
        float64, shape (n_variants,): of beta, and the ratio of both: t, or Wald's z.
    p, minus_log10_p
        float64, shape (n_variants,): two-sided; where p is too small for a float and 0, its
        logarithm is still right.
    n_samples
        int64, shape (n_variants,): that have the genotype, the phenotype and all covariates.
    a1_frequency
        float64, shape (n_variants,): among these.
    lambda_gc
        Median chi-square of the p values over that by chance.
    model
        ``"linear"`` or ``"logistic"``.
    sentence
        What was tested.
    notes
        Which covariates were left out, and what was done with variants of X, Y and mitochondria, a
        sentence each.
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


def associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic"] = "linear",
    x_model: XModel = "diploid",
    backend: Backend = "auto",
) -> AssociationScan:
    """Return the tests of all variants; see `iter_associate`."""
    steps = iter_associate(
        genotypes,
        phenotype,
        covariates=covariates,
        covariate_names=covariate_names,
        model=model,
        x_model=x_model,
        backend=backend,
    )
    *_, last = steps
    return last.result


def iter_associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic"] = "linear",
    x_model: XModel = "diploid",
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant for association; the last step has the `AssociationScan`.

    The phenotype is regressed on an intercept, the covariates, and the dosage of A1. Each variant
    is tested with the samples that have its genotype, as ``plink2 --glm`` does.

    So are sex chromosomes: at X sex is a further covariate where there are males and females, so
    that samples of unknown sex are left out; Y is tested with males alone. One copy of A1 at Y and
    MT counts as 1. Of the covariates those are left out there that say nothing new, as sex at Y.

    Parameters
    ----------
    genotypes
        The genotypes.
    phenotype
        Numbers, shape (n_samples,); NaN is missing. For ``"logistic"`` there are two values, of
        which the higher is that of cases.
    covariates
        Numbers, shape (n_samples, count); NaN is missing. The intercept is added. One that is
        constant, or a combination of those before it, is left out, and a note says so.
    covariate_names
        What messages call them.
    model
        ``"linear"``: tested by t; ``"logistic"``: maximum likelihood, tested by Wald's z.
    x_model
        What the one A1 of a male counts as at X: ``"diploid"`` 2, as two of a female, of whose X
        one is inactivated; ``"haploid"`` 1. ``"skip"``: X is not tested. These are 2, 1 and 0 of
        ``--xchr-model``.
    backend
        Where it runs.

    Raises
    ------
    ParameterError
        If a model is unknown, a contig is no chromosome of the species, arguments do not fit each
        other, too few samples are left, the phenotype does not vary, or the covariates explain it
        entirely.

    References
    ----------
    Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
    """
    if model not in SCANS:
        raise ParameterError(f"model is {model!r}, needs one of {', '.join(SCANS)}")
    if x_model not in X_MODELS:
        raise ParameterError(f"x_model is {x_model!r}, needs one of {', '.join(X_MODELS)}")
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    is_binary = model == "logistic"
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
        part = genotypes.take_variants(group.variants)
        end = done + part.n_variants / genotypes.n_variants
        if len(group.design.kept) < part.n_samples:
            part = select_samples(part, group.design.kept)
        steps = SCANS[model](part, group.design, weights=group.weights, backend=backend)
        found = yield from report_steps(steps, WHAT, done, min(end, 1.0))
        fits.put(group.variants, found)
        if group.is_haploid:
            of_part = variant_statistics(part, nonfounders=True, backend=backend)
            fits.a1_frequency[group.variants] = of_part.a1_frequency
        done = min(end, 1.0)
    scan = _scan_of(fits, design, model, genotypes.n_samples, tuple(notes))
    yield Progress(WHAT, 1.0, scan)


def _scan_of(
    fits: Fits, design: Design, model: str, n_samples: int, notes: tuple[str, ...]
) -> AssociationScan:
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
