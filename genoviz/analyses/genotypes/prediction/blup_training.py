"""What a prediction learns from: phenotypes, and covariates whose effects are fixed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.analyses.genotypes.covariates import describe_left_out, independent_columns
from genoviz.errors import ParameterError


class Training:
    """Phenotypes of some of the samples, from which fixed effects are projected out.

    With the projection P = I - X (X'X)^-1 X', equations for random effects alone have the same
    solution as those for random and fixed effects together.

    Parameters
    ----------
    phenotype
        float64, shape (n,): NaN where there is none.
    covariates
        float64, shape (n,) or (n, c): columns of X after the intercept; a sample with a NaN is
        not trained on.
    what
        What the n are, for messages.
    covariate_names
        What messages call the covariates; by default their numbers.

    Attributes
    ----------
    phenotype
        float64, shape (n,): 0 for those who are not trained on.
    is_trained
        bool, shape (n,).
    basis
        float64, shape (n, fixed effects): orthonormal columns that span these; 0 for those who
        are not trained on.
    notes
        Which covariates are left out, as they are constant or combinations of those before them.

    Raises
    ------
    ParameterError
        If arguments do not fit each other, or there is nothing to learn from.
    """

    def __init__(
        self,
        phenotype: np.ndarray,
        covariates: np.ndarray | None,
        what: str = "samples",
        *,
        covariate_names: Sequence[str] | None = None,
    ) -> None:
        values = np.asarray(phenotype, np.float64)
        columns = _as_columns(covariates, len(values), what)
        self.is_trained = ~np.isnan(values) & ~np.isnan(columns).any(axis=1)
        trained = values[self.is_trained]
        _check_some(len(trained), columns.shape[1], what)
        self._kept, _ = independent_columns(columns[self.is_trained])
        _check_phenotype(trained, len(self._kept), what)
        self.phenotype = np.where(self.is_trained, values, 0.0)
        design = np.column_stack([np.ones(len(values)), columns[:, self._kept]])
        design[~self.is_trained] = 0.0
        self.basis, self._triangle = np.linalg.qr(design)
        self._n_covariates = columns.shape[1]
        names = covariate_names or [f"number {k + 1}" for k in range(columns.shape[1])]
        self.notes = describe_left_out([n for k, n in enumerate(names) if k not in {*self._kept}])

    @property
    def n_trained(self) -> int:
        """How many are trained on."""
        return int(np.count_nonzero(self.is_trained))

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return P @ values, which is 0 for those who are not trained on."""
        return values * self.is_trained - self.basis @ (self.basis.T @ values)

    def fixed_effects(self, breeding_values: np.ndarray) -> np.ndarray:
        """Return intercept and effects of covariates, given the random effects.

        Those that are left out have no effect: 0.
        """
        rest = self.phenotype - breeding_values
        effects = np.zeros(1 + self._n_covariates)
        places = [0, *(1 + k for k in self._kept)]
        effects[places] = np.linalg.solve(self._triangle, self.basis.T @ rest)
        return effects


def check_phenotype_length(phenotype: np.ndarray, n: int, what: str = "samples") -> np.ndarray:
    """Return a phenotype as float64 of shape (n,)."""
    values = np.asarray(phenotype, np.float64)
    if values.shape != (n,):
        found = f"phenotype has shape {values.shape}, needs ({n},)"
        raise ParameterError(f"{found}, a value or NaN for each of the {what}")
    return values


def variance_ratio(heritability: float) -> float:
    """Return the residual variance over the genetic one."""
    if not 0 < heritability < 1:
        raise ParameterError(
            f"heritability is {heritability}, needs more than 0 and less than 1: the genetic "
            "share of the variance"
        )
    return (1 - heritability) / heritability


def _as_columns(covariates: np.ndarray | None, n: int, what: str) -> np.ndarray:
    if covariates is None:
        return np.empty((n, 0))
    columns = np.asarray(covariates, np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != n:
        raise ParameterError(
            f"covariates have shape {columns.shape}, need ({n}, c), a row for each of the {what}"
        )
    return columns


def _check_some(n_trained: int, n_covariates: int, what: str) -> None:
    if n_trained == 0:
        having = "a phenotype and all covariates" if n_covariates else "a phenotype"
        raise ParameterError(f"none of the {what} has {having}: there is nothing to learn from")


def _check_phenotype(trained: np.ndarray, n_covariates: int, what: str) -> None:
    if not np.isfinite(trained).all():
        raise ParameterError("the phenotype has an infinite value, needs numbers, or NaN for none")
    if np.ptp(trained) == 0:
        raise ParameterError(
            f"the phenotype is {trained[0]:g} in all {len(trained):,} {what} that have one: there "
            "is nothing to learn"
        )
    if len(trained) <= 1 + n_covariates:
        raise ParameterError(
            f"{len(trained)} {what} have a phenotype and all covariates, need more than the "
            f"{1 + n_covariates} fixed effects"
        )
