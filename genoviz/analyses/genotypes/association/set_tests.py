"""Tests of sets of variants, such as genes: burden, SKAT and their combination.

The null model has the covariates C alone. With residuals r of variance sigma^2, or of a logistic
model with fitted probabilities p::

    U = G'r / sigma,  V = 1    or    U = G'r,  V = diag(p (1 - p))
    S = G'VG - G'VC (C'VC)^-1 C'VG,  the covariance of U

where G are the dosages of minor alleles. Dosages are decoded set by set, in blocks of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import make_design
from genoviz.analyses.genotypes.association.set_scores import NullModel
from genoviz.analyses.genotypes.association.set_statistics import SetStatistics
from genoviz.analyses.genotypes.association.set_variants import Group
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import note_left_out, variants_of
from genoviz.errors import ParameterError, check_choice, check_minimum, n_words
from genoviz.generators import Progress, in_one_go
from genoviz.model.columns import distinct
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

WHAT = "Testing sets"
MODELS = ("linear", "logistic")
WEIGHTS = ("beta", "none")


@dataclass(frozen=True, eq=False)
class SetTests:
    """Tests of sets of variants; NaN for a set that cannot be tested.

    Attributes
    ----------
    names
        str, shape (n_sets,).
    n_variants
        int64, shape (n_sets,): variants that vary and are rare enough.
    n_carriers
        int64, shape (n_sets,): samples with a minor allele of any of them.
    beta, standard_error
        float64, shape (n_sets,): change of the phenotype, or of the log odds, by one unit of the
        weighted count of minor alleles, and its standard error, at the null model.
    burden_log10_p
        float64, shape (n_sets,): -log10 p of the score test of burden.
    skat_q, skat_log10_p
        float64, shape (n_sets,): statistic of SKAT, and its -log10 p.
    skat_o_rho, skat_o_log10_p
        float64, shape (n_sets,): share of burden with the lowest p, and -log10 p of SKAT-O.
    acat_log10_p
        float64, shape (n_sets,): -log10 p of burden and SKAT by the Cauchy combination.
    acat_v_log10_p
        float64, shape (n_sets,): -log10 p of ACAT-V, the Cauchy combination of the variants.
    n_samples
        Samples with the phenotype and all covariates.
    notes
        What was left out, one sentence each.
    """

    names: np.ndarray
    n_variants: np.ndarray
    n_carriers: np.ndarray
    beta: np.ndarray
    standard_error: np.ndarray
    burden_log10_p: np.ndarray
    skat_q: np.ndarray
    skat_log10_p: np.ndarray
    skat_o_rho: np.ndarray
    skat_o_log10_p: np.ndarray
    acat_log10_p: np.ndarray
    acat_v_log10_p: np.ndarray
    n_samples: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        n_variants: np.ndarray,
        n_carriers: np.ndarray,
        found: list[SetStatistics],
        n_samples: int,
        notes: tuple[str, ...],
    ) -> SetTests:
        """Return the tests of sets in one object."""
        values = {key: np.array([getattr(each, key) for each in found]) for key in vars(found[0])}
        names = np.array([*names], np.str_)
        return cls(names, n_variants, n_carriers, **values, n_samples=n_samples, notes=notes)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns."""
        return {
            "#SET": self.names, "N_VARIANTS": self.n_variants, "N_CARRIERS": self.n_carriers,
            "BURDEN_BETA": self.beta, "BURDEN_SE": self.standard_error,
            "BURDEN_NEG_LOG10_P": self.burden_log10_p, "SKAT_Q": self.skat_q,
            "SKAT_NEG_LOG10_P": self.skat_log10_p, "SKATO_RHO": self.skat_o_rho,
            "SKATO_NEG_LOG10_P": self.skat_o_log10_p, "ACAT_NEG_LOG10_P": self.acat_log10_p,
            "ACATV_NEG_LOG10_P": self.acat_v_log10_p,
        }  # fmt: skip


def iter_associate_sets(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    sets: Mapping[str, np.ndarray],
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic"] = "linear",
    max_maf: float = 0.01,
    weights: Literal["beta", "none"] = "beta",
    min_variants: int = 1,
    seed: int = 0,
) -> Iterator[Progress]:
    """Test sets of variants for association; the last step has the `SetTests`.

    All tests are score tests of the model without variants. In the linear model p values are
    asymptotic. In the logistic model burden has a saddle-point approximation, and p of SKAT and
    SKAT-O is the share of up to 1,024,000 draws of the case status of carriers that have a larger
    statistic; see `set_scores`. ACAT-V combines saddle-point p values. Missing genotypes count as
    the mean, as in the saddle-point and mixed models of `iter_associate`. Frequencies are those in
    the samples that take part. At a frequency of exactly 0.5, the counted allele is A1. Variants of
    X, Y and MT are left out, with a note.

    Parameters
    ----------
    genotypes
        The genotypes.
    phenotype, covariates, covariate_names
        As in `iter_associate`.
    sets
        Indices of the variants of each set, int64, by name; a variant may be in several sets.
    model
        ``"linear"``, or ``"logistic"`` for cases and controls.
    max_maf
        Maximum minor allele frequency of a variant, above 0 and at most 0.5.
    weights
        ``"beta"``: density of the beta distribution with parameters 1 and 25 at the minor allele
        frequency f, 25 (1 - f)^24; ``"none"``: 1.
    min_variants
        A set with fewer variants is not tested.
    seed
        Seed of the draws.

    Raises
    ------
    ParameterError
        If an option is out of range, a set has an index that is no variant, arguments do not match,
        too few samples are left, the phenotype is constant, or the covariates explain it entirely.

    References
    ----------
    Wu et al. 2011, Rare-variant association testing for sequencing data with the sequence kernel
    association test, doi:10.1016/j.ajhg.2011.05.029
    Lee et al. 2012, Optimal unified approach for rare-variant association testing with application
    to small-sample case-control whole-exome sequencing studies, doi:10.1016/j.ajhg.2012.06.007
    (SKAT-O)
    Lee et al. 2016, An efficient resampling method for calibrating single and gene-based rare
    variant association analysis in case-control studies, doi:10.1093/biostatistics/kxv033
    Zhao et al. 2020, UK Biobank whole-exome sequence binary phenome analysis with robust
    region-based rare-variant test, doi:10.1016/j.ajhg.2019.11.012 (saddle-point variances)
    Li and Leal 2008, Methods for detecting associations with rare variants for common diseases,
    doi:10.1016/j.ajhg.2008.06.024 (burden)
    Liu et al. 2019, ACAT: a fast and powerful p value combination method for rare-variant analysis
    in sequencing studies, doi:10.1016/j.ajhg.2019.01.002 (Cauchy combination, ACAT-V)
    """
    check_choice("model", model, MODELS)
    check_options(genotypes, sets, max_maf, weights, min_variants)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design = design.of_cases() if model == "logistic" else design
    design.check_unexplained()
    null = NullModel(design, is_binary=model == "logistic")
    others = variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)
    parts = [
        np.setdiff1d(distinct(np.asarray(rows, np.int64)), others, assume_unique=True)
        for rows in sets.values()
    ]
    used = distinct(np.concatenate([np.empty(0, np.int64), *parts]))
    part = genotypes.take_variants(used)
    if design.n_samples < genotypes.n_samples:
        part = select_samples(part, design.kept)
    yield Progress(WHAT, 0.0)
    counts = allele_counts(part, backend="cpu")
    found = [SetStatistics()] * len(parts)
    n_variants, n_carriers = np.zeros((2, len(parts)), np.int64)
    for k, rows in enumerate(parts):
        group = Group.of(part, counts, np.searchsorted(used, rows), max_maf)
        n_variants[k] = len(group.packed)
        n_carriers[k] = group.find_carriers(design.n_samples).sum()
        if len(group.packed) >= min_variants:
            rng = np.random.default_rng([seed, k])
            found[k] = null.test(group, group.weights(has_weights=weights == "beta"), rng)
        yield Progress(WHAT, (k + 1) / len(parts))
    notes = design.notes + note_left_out(genotypes)
    notes += describe_untested(n_variants, found, min_variants)
    tests = SetTests.of(sets, n_variants, n_carriers, found, design.n_samples, notes)
    yield Progress(WHAT, 1.0, tests)


@in_one_go(iter_associate_sets)
def associate_sets(last: Progress) -> SetTests:
    """Return the tests of sets of variants; see `iter_associate_sets`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> genotypes = simulate_genotypes(300, 20, seed=1)
    >>> noise = np.random.default_rng(1).normal(size=300)
    >>> sets = {"first": np.arange(10), "second": np.arange(10, 20)}
    >>> y = genotypes.dosages(slice(12, 13))[:, 0] + noise
    >>> found = associate_sets(genotypes, y, sets, max_maf=0.5, weights="none")
    >>> str(found.names[found.skat_log10_p.argmax()])
    'second'
    """
    return last.result


def check_options(
    genotypes: Genotypes,
    sets: Mapping[str, np.ndarray],
    max_maf: float,
    weights: str,
    min_variants: int,
) -> None:
    """Raise `ParameterError` for options out of range."""
    check_choice("weights", weights, WEIGHTS)
    if not 0 < max_maf <= 0.5:
        raise ParameterError(f"max_maf is {max_maf:g}, needs to be above 0 and at most 0.5")
    check_minimum("min_variants", min_variants, 1)
    if not sets:
        raise ParameterError("there are no sets of variants to test, needs one at least")
    for name, rows in sets.items():
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ParameterError(
                f"set {name} is {rows.dtype} of {n_words(rows.ndim, 'dimension')}, needs integers "
                "of 1"
            )
        if rows.size and not 0 <= rows.min() <= rows.max() < genotypes.n_variants:
            raise ParameterError(
                f"set {name} has an index beyond the {n_words(genotypes.n_variants, 'variant')}"
            )


def describe_untested(
    n_variants: np.ndarray, found: list[SetStatistics], min_variants: int
) -> tuple[str, ...]:
    """Return notes on the sets that are not tested."""
    n_few = int((n_variants < min_variants).sum())
    n_explained = sum(np.isnan(each.skat_q) for each in found) - n_few
    needed = f"fewer than {min_variants}" if min_variants > 1 else "no"
    notes = []
    if n_few:
        notes.append(
            f"Not tested: {n_few:,} of {n_words(len(n_variants), 'set')}, with {needed} variants "
            "that vary "
            "and are rare enough."
        )
    if n_explained:
        what = "set" if n_explained == 1 else "sets"
        notes.append(f"Not tested: {n_explained:,} {what} whose variants the covariates explain.")
    return tuple(notes)
