"""What an association scan regresses on: the samples that have all of it, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError

COLLINEAR = 1e-8


@dataclass(frozen=True, eq=False)
class Design:
    """Phenotype and covariates of the samples that have them.

    Attributes
    ----------
    kept
        int64, shape (n,): numbers of these samples.
    phenotype
        float64, shape (n,); 0 and 1 for a logistic model.
    basis
        float64, shape (n, c): orthonormal columns that span the intercept and the covariates; the
        first is constant.
    """

    kept: np.ndarray
    phenotype: np.ndarray
    basis: np.ndarray


def make_design(
    n_samples: int,
    phenotype: np.ndarray,
    covariates: np.ndarray | None,
    covariate_names: tuple[str, ...] | None,
    *,
    is_binary: bool,
) -> Design:
    """Return the design of a scan.

    Raises
    ------
    ParameterError
        If shapes do not fit, too few samples are left, the phenotype does not vary or does not
        fit the model, or a covariate adds nothing to the others.
    """
    y = np.asarray(phenotype, np.float64)
    columns = np.empty((n_samples, 0)) if covariates is None else np.asarray(covariates, np.float64)
    if y.shape != (n_samples,):
        raise ParameterError(f"the phenotype has shape {y.shape}, needs ({n_samples},)")
    if columns.ndim != 2 or len(columns) != n_samples:
        raise ParameterError(f"covariates have shape {columns.shape}, need ({n_samples}, count)")
    names = covariate_names or tuple(f"number {k + 1}" for k in range(columns.shape[1]))
    if len(names) != columns.shape[1]:
        raise ParameterError(f"{len(names)} names are given for {columns.shape[1]} covariates")
    if not np.isfinite(y).any():
        raise ParameterError(f"the phenotype is missing for all {n_samples:,} samples")
    kept = np.flatnonzero(np.isfinite(y) & np.isfinite(columns).all(1))
    y, columns = y[kept], columns[kept]
    _check_count(len(kept), len(names))
    y = _check_phenotype(y, is_binary)
    basis = _orthonormal_basis(columns, names)
    residual = y - basis @ (basis.T @ y)
    if residual @ residual <= COLLINEAR**2 * (y @ y):
        raise ParameterError("the covariates explain the phenotype entirely; leave some out")
    return Design(kept, y, basis)


def _check_count(n: int, n_covariates: int) -> None:
    needed = n_covariates + 3
    if n < needed:
        have = "sample has" if n == 1 else "samples have"
        raise ParameterError(
            f"{n:,} {have} the phenotype and all covariates; "
            f"{n_covariates} covariate{'s' * (n_covariates != 1)} need at least {needed}"
        )


def _check_phenotype(y: np.ndarray, is_binary: bool) -> np.ndarray:
    """Return the phenotype, as 0 and 1 for a logistic model."""
    lowest, highest = y.min(), y.max()
    if lowest == highest:
        raise ParameterError(
            f"the phenotype is {lowest:g} for all {len(y):,} samples that have it and all "
            "covariates; it needs to vary"
        )
    if not is_binary:
        return y
    is_case = y == highest
    if not (is_case | (y == lowest)).all():
        raise ParameterError(
            f"the phenotype has {len(np.unique(y)):,} values; a logistic model needs two, such as "
            "1 for controls and 2 for cases"
        )
    return is_case.astype(np.float64)


def _orthonormal_basis(columns: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Return an orthonormal basis; each column is checked against those before it."""
    centred = columns - columns.mean(0)
    lengths = np.linalg.norm(centred, axis=0)
    for length, column, name in zip(lengths, columns.T, names, strict=True):
        if length <= COLLINEAR * np.linalg.norm(column):
            raise ParameterError(f"covariate {name} is the same for all samples; leave it out")
    ones = np.ones((len(columns), 1))
    basis, triangle = np.linalg.qr(np.hstack([ones, centred / lengths]))
    for left_over, name in zip(np.abs(np.diag(triangle))[1:], names, strict=True):
        if left_over <= COLLINEAR:
            raise ParameterError(
                f"covariate {name} is a combination of the covariates before it; leave it out"
            )
    return np.ascontiguousarray(basis)


@dataclass(frozen=True, eq=False)
class Fits:
    """Arrays of shape (n_variants,) that a scan fills; NaN where a variant cannot be tested."""

    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    log_p: np.ndarray
    a1_frequency: np.ndarray
    n_samples: np.ndarray

    @classmethod
    def empty(cls, n_variants: int) -> Fits:
        """Return fits of which nothing is known."""
        floats = [np.full(n_variants, np.nan) for _ in range(5)]
        return cls(*floats, np.zeros(n_variants, np.int64))

    def put(self, variants: slice | np.ndarray, found: Fits) -> None:
        """Take the fits of some variants."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[variants] = getattr(found, name)
