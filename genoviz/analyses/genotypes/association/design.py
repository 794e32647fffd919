"""Validated phenotype and covariates of the groups of variants of a scan, and its fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.covariates import (
    check_spread,
    check_unexplained,
    describe_left_out,
    independent_columns,
    unexplained,
)
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples, take_autosomes, variants_of
from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

XModel = Literal["skip", "haploid", "diploid"]
X_MODELS = ("skip", "haploid", "diploid")
"""Index is the number of PLINK's ``--xchr-model``."""
SEX = "sex"


@dataclass(frozen=True, eq=False)
class Design:
    """Phenotype and covariates of the samples with complete data.

    Attributes
    ----------
    trait
        Name of the phenotype in messages.
    phenotype
        float64, shape (n_samples,): NaN where the phenotype or a covariate is missing.
    covariates
        float64, shape (n_samples, c): independent columns; 0 where the phenotype is NaN.
    names
        Names of these columns.
    basis
        float64, shape (n, c + 1): orthonormal columns that span the intercept and the covariates
        of the n complete samples; the first is constant.
    notes
        Covariates that were left out, one sentence each.
    """

    trait: str
    phenotype: np.ndarray
    covariates: np.ndarray
    names: tuple[str, ...]
    basis: np.ndarray
    notes: tuple[str, ...] = ()

    @cached_property
    def kept(self) -> np.ndarray:
        """int64, shape (n,): the complete samples."""
        return np.flatnonzero(np.isfinite(self.phenotype))

    @cached_property
    def response(self) -> np.ndarray:
        """float64, shape (n,): the phenotype of these samples."""
        return self.phenotype[self.kept]

    @cached_property
    def unexplained(self) -> np.ndarray:
        """float64, shape (n,): what the covariates leave of the phenotype of these samples."""
        return unexplained(self.response, self.basis)

    @cached_property
    def standard_columns(self) -> np.ndarray:
        """float64, shape (n, c + 1): the basis, with a mean square of 1 for each column."""
        return self.basis * np.sqrt(len(self.basis))

    @property
    def n_samples(self) -> int:
        """Number of complete samples."""
        return len(self.kept)

    @property
    def is_binary(self) -> bool:
        """Whether the phenotype has two values."""
        return len(np.unique(self.response)) == 2

    def of_cases(self) -> Design:
        """Return the design of a logistic model, with phenotype 0 in controls and 1 in cases.

        Raises
        ------
        ParameterError
            If there are more than two values; cases have the higher one.
        """
        if not self.is_binary:
            raise ParameterError(
                f"{self.trait} has {n_words(len(np.unique(self.response)), 'value')}; a logistic "
                "model "
                "needs two, such as 1 for controls and 2 for cases"
            )
        is_case = (self.phenotype == self.response.max()).astype(np.float64)
        return replace(self, phenotype=np.where(np.isnan(self.phenotype), np.nan, is_case))

    def check_unexplained(self) -> None:
        """Raise `ParameterError` if the covariates explain the phenotype entirely."""
        check_unexplained(self.response, self.basis, self.trait)


def make_design(
    n_samples: int,
    phenotype: np.ndarray,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    *,
    trait: str = "the phenotype",
) -> Design:
    """Return the design of a phenotype and covariates.

    Constant covariates, and those that are linear combinations of earlier ones, are left out with a
    note; they would not change the results.

    Raises
    ------
    ParameterError
        If shapes do not match, too few samples are left, or the phenotype is constant, or of a
        range below 1e-60 or above 1e60.
    """
    y = np.asarray(phenotype, np.float64)
    columns = np.empty((n_samples, 0)) if covariates is None else np.asarray(covariates, np.float64)
    if y.shape != (n_samples,):
        raise ParameterError(f"{trait} has shape {y.shape}, needs ({n_samples},)")
    if columns.ndim != 2 or len(columns) != n_samples:
        raise ParameterError(f"covariates have shape {columns.shape}, need ({n_samples}, count)")
    names = _names(covariate_names, columns.shape[1])
    if not np.isfinite(y).any():
        what = f"all {n_words(n_samples, 'sample')}" if n_samples > 1 else "the only sample"
        raise ParameterError(f"{trait} is missing for {what}")
    is_there = np.isfinite(y) & np.isfinite(columns).all(1)
    if not is_there.any():
        raise ParameterError(f"no sample has {trait} and all covariates; leave covariates out")
    places, basis = independent_columns(columns[is_there])
    _check_samples(y[is_there], len(places), trait)
    return Design(
        trait=trait,
        phenotype=np.where(is_there, y, np.nan),
        covariates=np.where(is_there[:, None], columns[:, places], 0.0),
        names=tuple(names[place] for place in places),
        basis=basis,
        notes=describe_left_out([name for k, name in enumerate(names) if k not in {*places}]),
    )


def _names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"number {k + 1}" for k in range(n))
    if len(names) != n:
        raise ParameterError(
            f"{n_words(len(names), 'name is', 'names are')} given for {n_words(n, 'covariate')}"
        )
    return tuple(names)


def _check_samples(y: np.ndarray, n_covariates: int, trait: str) -> None:
    n, needed = len(y), n_covariates + 3
    if n < needed:
        have = "sample has" if n == 1 else "samples have"
        raise ParameterError(
            f"{n:,} {have} {trait} and all covariates; "
            f"{n_covariates} covariate{'s' * (n_covariates != 1)} need at least {needed}"
        )
    if (y == y[0]).all():
        raise ParameterError(
            f"{trait} is {y[0]:g} for all {n_words(n, 'sample')} that have it and all covariates; "
            "needs at "
            "least two different values"
        )
    check_spread(y, trait)


def choose_model(phenotype: np.ndarray, design: Design) -> tuple[str, tuple[str, ...]]:
    """Return the model of a scan for which none is chosen, and a note on cases and controls.

    A phenotype of two values, of which cases have the higher, is tested by ``"firth-fallback"``;
    all others are tested by ``"linear"``. Values of samples without all covariates count too.
    """
    values = np.asarray(phenotype, np.float64)
    levels = np.unique(values[np.isfinite(values)])
    if len(levels) != 2:
        return "linear", ()
    n_cases = int(design.of_cases().response.sum())
    cases = f"{n_words(n_cases, 'case')} ({levels[1]:g})"
    controls = f"{n_words(design.n_samples - n_cases, 'control')} ({levels[0]:g})"
    return "firth-fallback", (
        f"The phenotype has two values, {cases} and {controls}: it is tested by logistic "
        "regression, or Firth's where that fails (model firth-fallback).",
    )


@dataclass(frozen=True, eq=False)
class Fits:
    """Results of a scan, shape (n_variants,); NaN where a variant cannot be tested.

    ``terms`` has beta, standard error, statistic and log p of each of t columns of a variant, shape
    (n_variants, t, 4), and ``joint`` the statistic and log p of their test; none if t is 0.
    """

    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    log_p: np.ndarray
    a1_frequency: np.ndarray
    n_samples: np.ndarray
    terms: np.ndarray
    joint: np.ndarray

    @classmethod
    def empty(cls, n_variants: int, n_terms: int = 0) -> Fits:
        """Return fits filled with NaN."""
        floats = [np.full(n_variants, np.nan) for _ in range(5)]
        shapes = (n_variants, n_terms, 4), (n_variants, 2 * (n_terms > 0))
        counts = np.zeros(n_variants, np.int64)
        return cls(*floats, counts, *(np.full(shape, np.nan) for shape in shapes))

    def put(self, variants: slice | np.ndarray, found: Fits) -> None:
        """Store the fits of some variants."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[variants] = getattr(found, name)

    def count(self, variants: slice, n_called: np.ndarray, frequencies: np.ndarray) -> None:
        """Store the samples with a genotype, and the frequency of A1 among them."""
        self.n_samples[variants] = n_called
        self.a1_frequency[variants] = np.where(n_called, frequencies, np.nan)


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
    genotypes: Genotypes,
    design: Design,
    *,
    is_binary: bool,
    x_model: XModel,
    is_additive: bool = True,
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
    is_additive
        Whether one copy of A1 instead of two has a meaning; otherwise X, Y and MT are not tested.
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
        if not is_additive:
            note = f"{kind.name} is not tested: dominance is of two copies"
            yield VariantGroup(variants, None, note=note)
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
        return (
            f"X is tested with {n_words(n, 'sample')}, where males have 0 or {highest} of A1{sex}"
        )
    who = "males" if kind == Kind.Y else "samples"
    return f"{kind.name} is tested with {n:,} {who}, who have 0 or 1 of A1"
