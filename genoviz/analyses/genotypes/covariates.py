"""Covariates as linearly independent numeric columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.traits import category_levels, check_size

COLLINEAR = 1e-8
"""Relative length below which the residual of a column is rounding error."""
_CONSTANT = 1e-13
"""Relative length below which the deviations of a column from its mean are rounding errors."""
_MAX_NAMED = 4
FEW_SAMPLES = 50
"""With fewer, even a correlation of 0.28 has p > 0.05, so estimates tell next to nothing."""


def check_spread(values: np.ndarray, trait: str) -> None:
    """Reject a trait of which the squares leave float64; finite numbers, at least one."""
    spread = float(values.max()) - float(values.min())
    check_size(f"{trait} has a range of {spread:g}", spread)


def covariate_columns(
    name: str, values: np.ndarray, *, max_categories: int | None = None
) -> dict[str, np.ndarray]:
    """Encode a column of a table as covariates.

    Numbers are one covariate. Categories become one indicator each, except for the first in
    alphabetical order, which is the reference level. A single category is a constant, so that
    samples without it count as incomplete, as everywhere.

    Parameters
    ----------
    name
        Name of the column.
    values
        float64 or str, shape (n_samples,): NaN or empty where missing.
    max_categories
        Maximum number of categories; no limit if None.

    Returns
    -------
    dict
        float64, shape (n_samples,), by name: ``"farm=y"``, ``"farm=z"``.

    Raises
    ------
    ParameterError
        If there are too many categories.

    Examples
    --------
    >>> found = covariate_columns("farm", np.array(["y", "", "x"]))
    >>> {name: column.tolist() for name, column in found.items()}
    {'farm=y': [1.0, nan, 0.0]}
    """
    if values.dtype.kind == "f":
        return {name: values}
    levels = category_levels(values)
    if max_categories is not None and len(levels) > max_categories:
        raise ParameterError(
            f"{name} has {n_words(len(levels), 'category', 'categories')}; a covariate can have "
            f"{max_categories}"
        )
    is_missing = values == ""
    if len(levels) < 2:
        return {name: np.where(is_missing, np.nan, 1.0)}
    return {
        f"{name}={level}": np.where(is_missing, np.nan, (values == level).astype(np.float64))
        for level in levels[1:].tolist()
    }


def columns_of_covariate(name: str, columns: Sequence[str]) -> list[str]:
    """Return the names of the columns of a covariate, of those that `covariate_columns` makes.

    Examples
    --------
    >>> columns_of_covariate("farm", ["age", "farm=y", "farm=z"])
    ['farm=y', 'farm=z']
    """
    return [each for each in columns if each == name or each.startswith(f"{name}=")]


def independent_columns(columns: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the columns that are independent of a constant and the columns before them.

    Parameters
    ----------
    columns
        float64, shape (n, c), finite; n > 0.

    Returns
    -------
    kept : list of int
        Their indices.
    basis : numpy.ndarray
        float64, shape (n, len(kept) + 1): orthonormal basis of a constant and these columns; the
        first is constant.

    Examples
    --------
    >>> age = np.array([1.0, 2.0, 4.0, 3.0])
    >>> independent_columns(np.column_stack([age, np.ones(4), 5 - age, age**2]))[0]
    [0, 3]
    """
    centred = deviations(columns)
    lengths = np.linalg.norm(centred, axis=0)
    sizes = np.linalg.norm(columns, axis=0)
    kept = np.flatnonzero(lengths > _CONSTANT * sizes).tolist()
    ones = np.ones((len(columns), 1))
    while True:
        basis, triangle = np.linalg.qr(np.hstack([ones, centred[:, kept] / lengths[kept]]))
        left_over = np.zeros(1 + len(kept))
        diagonal = np.abs(np.diagonal(triangle))
        left_over[: len(diagonal)] = diagonal
        rounding = 4 * np.finfo(float).eps * sizes[kept] / lengths[kept]
        dependent = np.flatnonzero(left_over[1:] <= np.maximum(COLLINEAR, rounding))
        if not len(dependent):
            return kept, np.ascontiguousarray(basis)
        del kept[dependent[0]]  # later columns were compared with rounding errors; try again


def deviations(values: np.ndarray) -> np.ndarray:
    """Return deviations from the mean, without the rounding errors that a large mean brings.

    The differences from the first value are exact if the mean is large; their mean is taken away
    twice, as the first value may be far from the others.

    Parameters
    ----------
    values
        float64, shape (n,) or (n, c), finite; n > 0.

    Examples
    --------
    >>> deviations(2.0**50 + np.array([0.0, 0.25, 0.5, 0.25])).tolist()
    [-0.25, 0.0, 0.25, 0.0]
    """
    found = np.ascontiguousarray((values - values[0]).T)  # each column is summed in pairs
    for _ in range(2):
        found -= found.mean(-1, keepdims=True)
    return found.T


def unexplained(values: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return what is left of values, shape (n,), after regression on a basis.

    Parameters
    ----------
    values
        float64, shape (n,), finite.
    basis
        float64, shape (n, c): orthonormal, spans the intercept and the covariates.
    """
    left = deviations(values)
    for _ in range(2):  # the second time takes the rounding errors of the first away
        left -= basis @ (basis.T @ left)
    return left


def check_unexplained(phenotype: np.ndarray, basis: np.ndarray, trait: str) -> None:
    """Raise `ParameterError` if the fixed effects explain a phenotype up to rounding.

    Parameters
    ----------
    phenotype
        float64, shape (n,).
    basis
        float64, shape (n, c): its columns span the fixed effects, the first is the intercept.
    trait
        Name of the phenotype.
    """

    def left_by(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        return values - columns @ np.linalg.lstsq(columns.T @ columns, columns.T @ values)[0]

    phenotype = phenotype / (np.abs(phenotype).max() or 1.0)  # squares of large numbers overflow
    deviations = left_by(basis[:, :1], phenotype)
    rounding = 4 * np.finfo(float).eps * np.linalg.norm(phenotype)
    minimum = max(COLLINEAR * np.linalg.norm(deviations), rounding)
    if np.linalg.norm(left_by(basis, deviations)) <= minimum:
        raise ParameterError(f"the covariates explain {trait} entirely; leave some out")


def describe_left_out(names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on the covariates that are left out; empty if there are none.

    Examples
    --------
    >>> describe_left_out(["farm=z"])
    ('Covariate farm=z is left out: it is constant, or a combination of those before it.',)
    """
    if not names:
        return ()
    if len(names) == 1:
        return (
            f"Covariate {names[0]} is left out: it is constant, or a combination of those before "
            "it.",
        )
    n_more = len(names) - _MAX_NAMED
    said = ", ".join(names[:_MAX_NAMED]) + (f" and {n_more} more" if n_more > 0 else "")
    return (
        f"Covariates {said} are left out: each is constant, or a combination of those before it.",
    )


def note_few_samples(n: int) -> tuple[str, ...]:
    """Return a sentence if n samples, fewer than `FEW_SAMPLES`, are too few for an estimate."""
    if n >= FEW_SAMPLES:
        return ()
    have = "sample is" if n == 1 else "samples are"
    return (f"{n:,} {have} too few for a meaningful estimate; use at least {FEW_SAMPLES}.",)
