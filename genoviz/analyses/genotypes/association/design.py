"""Validated phenotype and covariates of an association scan, and its fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.genotypes.covariates import (
    check_unexplained,
    describe_left_out,
    independent_columns,
)
from genoviz.errors import ParameterError


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
                f"{self.trait} has {len(np.unique(self.response)):,} values; a logistic model "
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
        If shapes do not match, too few samples are left, or the phenotype is constant.
    """
    y = np.asarray(phenotype, np.float64)
    columns = np.empty((n_samples, 0)) if covariates is None else np.asarray(covariates, np.float64)
    if y.shape != (n_samples,):
        raise ParameterError(f"{trait} has shape {y.shape}, needs ({n_samples},)")
    if columns.ndim != 2 or len(columns) != n_samples:
        raise ParameterError(f"covariates have shape {columns.shape}, need ({n_samples}, count)")
    names = _names(covariate_names, columns.shape[1])
    if not np.isfinite(y).any():
        raise ParameterError(f"{trait} is missing for all {n_samples:,} samples")
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
        raise ParameterError(f"{len(names)} names are given for {n} covariates")
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
            f"{trait} is {y[0]:g} for all {n:,} samples that have it and all covariates; needs at "
            "least two different values"
        )


@dataclass(frozen=True, eq=False)
class Fits:
    """Results of a scan, shape (n_variants,); NaN where a variant cannot be tested."""

    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    log_p: np.ndarray
    a1_frequency: np.ndarray
    n_samples: np.ndarray

    @classmethod
    def empty(cls, n_variants: int) -> Fits:
        """Return fits filled with NaN."""
        floats = [np.full(n_variants, np.nan) for _ in range(5)]
        return cls(*floats, np.zeros(n_variants, np.int64))

    def put(self, variants: slice | np.ndarray, found: Fits) -> None:
        """Store the fits of some variants."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[variants] = getattr(found, name)
