"""Training data of predictions: phenotypes, and covariates with fixed effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.covariates import (
    check_spread,
    check_unexplained,
    describe_left_out,
    independent_columns,
)
from genoviz.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Records:
    """Owners and weights of records, if some individuals have several or weights differ.

    A record is y = u + p + e. e has variance ve / weight, and the permanent effect p, with
    variance vp, is shared by all records of an individual in addition to its breeding value u.

    Attributes
    ----------
    owners
        int64, shape (n_records,): individual of each record, from 0 to n - 1.
    n
        Number of individuals, with or without records.
    weights
        float64, shape (n_records,): NaN excludes a record.
    permanence
        vp / ve.
    """

    owners: np.ndarray
    n: int
    weights: np.ndarray
    permanence: float = 0.0


class Training:
    """Phenotypes of some individuals, with fixed effects projected out.

    Let R be the covariance of records given their breeding values, in units of ve, W the incidence
    matrix of records and individuals, and M = R^-1 - R^-1 X (X'R^-1 X)^-1 X'R^-1. Equations for the
    random effects only, with left side W'MW and right side W'My, have the same solution as the
    joint equations. With one value of weight 1 each, M is the projection I - X (X'X)^-1 X'.

    Parameters
    ----------
    phenotype
        float64, shape (n,) or (n_records,): NaN if there is none.
    covariates
        float64, shape (n,) or (n, c), as many rows: columns of X after the intercept; rows with NaN
        are not used for training.
    what
        What the rows are, for messages.
    covariate_names
        What messages call the covariates; by default their numbers.
    records
        Whose the values are; None if there is one for each of the n.

    Attributes
    ----------
    phenotype
        float64, of the shape given: 0 where it is not trained on.
    is_trained
        bool, shape (n,).
    diagonal
        float64, shape (n,): of W'R^-1 W, which is diagonal; 1 or 0 without records.
    basis
        float64, shape (n, fixed effects): B in W'MW = diagonal - BB'; without records orthonormal
        columns that span the fixed effects. 0 for those who are not trained on.
    right_side
        float64, shape (n,): W'My.
    notes
        Which covariates are left out, as they are constant or combinations of those before them.

    Raises
    ------
    ParameterError
        If arguments do not match, or there is nothing to learn from.
    """

    def __init__(
        self,
        phenotype: np.ndarray,
        covariates: np.ndarray | None,
        what: str = "samples",
        *,
        covariate_names: Sequence[str] | None = None,
        records: Records | None = None,
    ) -> None:
        values = np.asarray(phenotype, np.float64)
        columns = as_columns(covariates, len(values), what)
        is_used = ~np.isnan(values) & ~np.isnan(columns).any(axis=1)
        if records is not None:
            is_used &= ~np.isnan(records.weights)
        trained = values[is_used]
        _check_some(len(trained), columns.shape[1], what)
        self._kept, _ = independent_columns(columns[is_used])
        _check_phenotype(trained, len(self._kept), what)
        self.phenotype = np.where(is_used, values, 0.0)
        # Large means would take digits: all is in differences from the first record.
        self._origin = np.append(trained[0], columns[is_used][0, self._kept])
        design = np.column_stack([np.ones(len(values)), columns[:, self._kept] - self._origin[1:]])
        design[~is_used] = 0.0
        root = _Root(is_used, records)
        of_phenotype = root.multiply(np.where(is_used, values - trained[0], 0.0))
        basis, self._triangle = np.linalg.qr(root.multiply(design))
        self._explained = basis.T @ of_phenotype
        check_unexplained(of_phenotype, basis, "the phenotype")
        self.basis = root.gather(basis)
        self._root, self._inner_basis = root, basis
        self.diagonal = root.squares
        self.is_trained = self.diagonal > 0
        self.right_side = root.gather(of_phenotype - basis @ self._explained)
        self._of_phenotype = root.gather(of_phenotype)
        self._permanence = 0.0 if records is None else records.permanence
        self._n_covariates = columns.shape[1]
        names = covariate_names or [f"number {k + 1}" for k in range(columns.shape[1])]
        self.notes = describe_left_out([n for k, n in enumerate(names) if k not in {*self._kept}])

    @property
    def n_trained(self) -> int:
        """How many are trained on."""
        return int(np.count_nonzero(self.is_trained))

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return W'MW @ values, shape (n,) or (n, k), which is 0 for those not trained on."""
        return (self.diagonal * values.T).T - self.basis @ (self.basis.T @ values)

    def draw_residuals(self, generator: np.random.Generator, k: int) -> np.ndarray:
        """Return k columns of what residuals alone say of the n: drawn with covariance W'MW."""
        noise = generator.standard_normal((len(self._inner_basis), k))
        noise -= self._inner_basis @ (self._inner_basis.T @ noise)
        return self._root.gather(noise)

    def fixed_effects(self, breeding_values: np.ndarray) -> np.ndarray:
        """Return intercept and effects of covariates, given the random effects.

        Those that are left out have no effect: 0.
        """
        effects = np.zeros(1 + self._n_covariates)
        places = [0, *(1 + k for k in self._kept)]
        effects[places] = self._solve(breeding_values)
        effects[0] += self._origin[0] - effects[places[1:]] @ self._origin[1:]
        return effects

    def permanent_effects(self, breeding_values: np.ndarray) -> np.ndarray | None:
        """Return p of each of the n, given their breeding values; None if it has no variance."""
        if not self._permanence:
            return None
        fixed = self.basis @ (self._triangle @ self._solve(breeding_values))
        return self._permanence * (self._of_phenotype - fixed - self.diagonal * breeding_values)

    def _solve(self, breeding_values: np.ndarray) -> np.ndarray:
        rest = self._explained - self.basis.T @ breeding_values
        return np.linalg.solve(self._triangle, rest)


class _Root:
    """T with T'T = R^-1, and what it makes of records.

    Of the records of one animal R is D^-1 + k 11', D their weights, and T is
    (I - t ss') D^(1/2), with s = D^(1/2) 1 and t so that (I - t ss')^2 = (I + k ss')^-1.
    """

    def __init__(self, is_used: np.ndarray, records: Records | None) -> None:
        self._records = records
        self.squares = is_used.astype(np.float64)
        if records is None:
            return
        from scipy.sparse import csr_array

        owners, n = records.owners, records.n
        weights = np.where(is_used, records.weights, 0.0)
        self._roots = np.sqrt(weights)
        rows = np.arange(len(owners))
        self._sum = csr_array((self._roots, (owners, rows)), shape=(n, len(owners)))
        totals = np.bincount(owners, weights, n)
        self._lengths = np.sqrt(1 + records.permanence * totals)
        self._shares = np.divide(1 - 1 / self._lengths, totals, out=np.zeros(n), where=totals > 0)
        self.squares = totals / self._lengths**2

    def multiply(self, values: np.ndarray) -> np.ndarray:
        """Return T @ values, shape (n_records,) or (n_records, c)."""
        if self._records is None:
            return values
        weighted = (self._roots * values.T).T
        of_owners = (self._shares * (self._sum @ weighted).T)[..., self._records.owners]
        return weighted - (self._roots * of_owners).T

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Return W'T' @ values."""
        if self._records is None:
            return (self.squares * values.T).T
        return ((self._sum @ values).T / self._lengths).T


def make_records(
    phenotype: np.ndarray,
    n: int,
    *,
    animals: np.ndarray | None,
    weights: np.ndarray | None,
    heritability: float,
    repeatability: float | None,
    what: str = "animals",
) -> tuple[np.ndarray, Records | None, float]:
    """Return the values of records, whose they are, and ve / vg.

    Raises
    ------
    ParameterError
        If one does not fit the others, or is out of range.
    """
    ratio = variance_ratio(heritability)
    if animals is None:
        values, owners = check_phenotype_length(phenotype, n, what), np.arange(n)
        if weights is None and repeatability is None:
            return values, None, ratio
    else:
        owners = np.asarray(animals)
        values = check_phenotype_length(phenotype, len(owners), "records")
        if owners.ndim != 1 or owners.dtype.kind not in "iu":
            raise ParameterError(
                f"{what} are {owners.dtype} of shape {owners.shape}, need integers, one a record"
            )
        wrong = np.flatnonzero((owners < 0) | (owners >= n))
        if len(wrong):
            raise ParameterError(
                f"record {wrong[0]:,} is of number {owners[wrong[0]]:,} of the {what}, needs one "
                f"from 0 to "
                f"{n - 1:,}"
            )
    common = heritability if repeatability is None else repeatability
    if not heritability <= common < 1:
        raise ParameterError(
            f"repeatability is {common}, needs at least the heritability, {heritability}, and "
            "less than 1"
        )
    checked = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    if checked.shape != values.shape:
        raise ParameterError(f"weights have shape {checked.shape}, need {values.shape}")
    wrong = np.flatnonzero((checked <= 0) | np.isinf(checked))
    if len(wrong):
        raise ParameterError(
            f"weight {wrong[0]:,} is {checked[wrong[0]]:g}, needs more than 0, or NaN for a record "
            "that is left out"
        )
    permanence = (common - heritability) / (1 - common)
    records = Records(owners.astype(np.int64), n, checked, permanence)
    return values, records, (1 - common) / heritability


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


def as_columns(covariates: np.ndarray | None, n: int, what: str) -> np.ndarray:
    """Return covariates as float64 of shape (n, c)."""
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
    if len(trained) == 1:
        raise ParameterError(
            f"one of the {what} has a phenotype, needs more: there is nothing to learn"
        )
    if np.ptp(trained) == 0:
        raise ParameterError(
            f"the phenotype is {trained[0]:g} in all {len(trained):,} {what} that have one: there "
            "is nothing to learn"
        )
    check_spread(trained, "the phenotype")
    if len(trained) <= 1 + n_covariates:
        raise ParameterError(
            f"{len(trained)} {what} have a phenotype and all covariates, need more than the "
            f"{1 + n_covariates} fixed effects"
        )
