"""Genome-wide association: each variant tested on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association_design import Design, make_design
from genoviz.analyses.genotypes.association_fits import Fits
from genoviz.analyses.genotypes.linear_scan import iter_linear_scan
from genoviz.analyses.genotypes.log_p_values import inflation_factor
from genoviz.analyses.genotypes.logistic import iter_logistic_scan
from genoviz.analyses.genotypes.progress import Progress, report_steps
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes import Genotypes

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


def associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic"] = "linear",
    backend: Backend = "auto",
) -> AssociationScan:
    """Return the tests of all variants; see `iter_associate`."""
    steps = iter_associate(
        genotypes,
        phenotype,
        covariates=covariates,
        covariate_names=covariate_names,
        model=model,
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
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant for association; the last step has the `AssociationScan`.

    The phenotype is regressed on an intercept, the covariates, and the dosage of A1. Each variant
    is tested with the samples that have its genotype, as ``plink2 --glm`` does.

    Parameters
    ----------
    genotypes
        The genotypes.
    phenotype
        Numbers, shape (n_samples,); NaN is missing. For ``"logistic"`` there are two values, of
        which the higher is that of cases.
    covariates
        Numbers, shape (n_samples, count); NaN is missing. The intercept is added.
    covariate_names
        What messages call them.
    model
        ``"linear"``: tested by t; ``"logistic"``: maximum likelihood, tested by Wald's z.
    backend
        Where it runs.

    Raises
    ------
    ParameterError
        If the model is unknown, arguments do not fit each other, too few samples are left, the
        phenotype does not vary, or covariates are collinear.

    References
    ----------
    Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
    """
    if model not in SCANS:
        raise ParameterError(f"model is {model!r}, needs one of {', '.join(SCANS)}")
    names = tuple(covariate_names) if covariate_names is not None else None
    design = make_design(
        genotypes.n_samples, phenotype, covariates, names, is_binary=model == "logistic"
    )
    yield Progress(WHAT, 0.0)
    subject = genotypes
    if len(design.kept) < genotypes.n_samples:
        subject = select_samples(genotypes, design.kept)
    fits = Fits.empty(0)
    if genotypes.n_variants:
        steps = SCANS[model](subject, design, backend=backend)
        fits = yield from report_steps(steps, WHAT)
    yield Progress(WHAT, 1.0, _scan_of(fits, design, model, genotypes.n_samples))


def _scan_of(fits: Fits, design: Design, model: str, n_samples: int) -> AssociationScan:
    p = np.exp(fits.log_p)
    n_tested, n_covariates = int(np.isfinite(fits.beta).sum()), design.basis.shape[1] - 1
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
    )
