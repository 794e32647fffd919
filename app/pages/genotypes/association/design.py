"""The trait and the covariates of an analysis as numbers, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.genotypes.traits import Trait, read_trait
from genoviz_app.pages.genotypes.state import GenotypeState

N_COMPONENTS = 10
MOST_CATEGORIES = 50
NO_TRAIT = (
    "No trait is chosen: open a table of phenotypes at the left (CSV, TSV or PLINK's .phen), "
    "then choose one of its columns"
)


@dataclass(frozen=True, eq=False)
class Design:
    """What is explained, and what is allowed for.

    Attributes
    ----------
    trait
        Name of the trait.
    phenotype
        float64, shape (n_samples,): NaN where the trait or a covariate is missing.
    covariates
        float64, shape (n_samples, c), 0 where the phenotype is NaN; None without any.
    names
        What each column of ``covariates`` is.
    notes
        What was left out, one sentence each.
    """

    trait: str
    phenotype: np.ndarray
    covariates: np.ndarray | None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Samples that have everything."""
        return int(np.isfinite(self.phenotype).sum())

    @property
    def is_binary(self) -> bool:
        """Whether the trait has two values."""
        known = self.phenotype[np.isfinite(self.phenotype)]
        return len(np.unique(known)) == 2


def trait_names(state: GenotypeState) -> list[str]:
    """Return the columns that can be a trait: numbers, and categories of which there are two."""
    table = state.table
    if table is None:
        return []
    two = [name for name in table.category_names if len(_levels(table.columns[name])) == 2]
    return [*table.numeric_names, *two]


def covariate_names(state: GenotypeState) -> list[str]:
    """Return the columns that can be covariates, and the components that have been computed."""
    table, components = state.table, state.components
    n = 0 if components is None else min(components.scores.shape[1], N_COMPONENTS)
    names = [] if table is None else [*table.numeric_names, *table.category_names]
    return [*names, *(f"PC{number}" for number in range(1, n + 1))]


def make_design(state: GenotypeState, *, with_covariates: bool = True) -> Design:
    """Return the trait and the covariates that are chosen.

    Raises
    ------
    ParameterError
        If there is nothing to explain, or too few samples to do so; says what is needed.
    """
    if state.subject is None:
        raise ParameterError("no genotypes are open; open some at the left")
    values = state.column(state.trait) if state.trait else None
    if values is None:
        raise ParameterError(NO_TRAIT)
    trait = trait_of(state, values)
    phenotype = trait.values.copy()
    columns: list[np.ndarray] = []
    names: list[str] = []
    for name in state.covariates if with_covariates else ():
        for title, column in covariate_columns(state, name):
            columns.append(column)
            names.append(title)
    matrix = np.column_stack(columns) if columns else np.empty((len(phenotype), 0))
    phenotype[~np.isfinite(matrix).all(axis=1)] = np.nan
    is_there = np.isfinite(phenotype)
    check_trait(state.trait, trait.values, is_there)
    kept, notes = independent_columns(matrix[is_there], names)
    n_needed = len(kept) + 3
    if is_there.sum() < n_needed:
        raise ParameterError(
            f"{is_there.sum():,} samples have the trait {state.trait} and all covariates; "
            f"needs at least {n_needed:,}"
        )
    matrix = np.where(is_there[:, None], matrix[:, kept], 0.0)
    chosen = tuple(names[place] for place in kept)
    return Design(
        state.trait, phenotype, matrix if len(kept) else None, chosen, (*trait.notes, *notes)
    )


def trait_of(state: GenotypeState, values: np.ndarray) -> Trait:
    """Return a column as the trait that is chosen; see `read_trait`."""
    return read_trait(as_numbers(values), state.trait, state.trait_types.get(state.trait, "auto"))


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Return a column as float64; of categories, their place in the alphabet; NaN if missing.

    Examples
    --------
    >>> as_numbers(np.array(["m", "", "f"])).tolist()
    [1.0, nan, 0.0]
    """
    if values.dtype.kind == "f":
        return values
    levels = _levels(values)
    numbers = np.searchsorted(levels, values).astype(np.float64)
    numbers[values == ""] = np.nan
    return numbers


def covariate_columns(state: GenotypeState, name: str) -> list[tuple[str, np.ndarray]]:
    """Return the columns of a covariate: one, or an indicator for each category but the first.

    Raises
    ------
    ParameterError
        If there is no such column, or it has too many categories.
    """
    number = name.removeprefix("PC")
    if number != name and number.isdigit() and state.components is not None:
        scores = state.components.scores
        if 1 <= int(number) <= scores.shape[1]:
            return [(name, scores[:, int(number) - 1])]
    values = state.column(name)
    if values is None:
        raise ParameterError(f"there is no covariate {name}; compute components anew, or leave it")
    if values.dtype.kind == "f":
        return [(name, values)]
    levels = _levels(values)
    if len(levels) > MOST_CATEGORIES:
        raise ParameterError(
            f"{name} has {len(levels):,} categories; a covariate can have {MOST_CATEGORIES}"
        )
    is_missing = values == ""
    return [
        (f"{name}={level}", np.where(is_missing, np.nan, (values == level).astype(np.float64)))
        for level in levels[1:].tolist()
    ]


def check_trait(name: str, values: np.ndarray, is_there: np.ndarray) -> None:
    """Raise `ParameterError` if a trait has no values, or one alone, where it is looked at."""
    if not np.isfinite(values).any():
        raise ParameterError(f"no sample has a value of {name}; choose another trait")
    if not is_there.any():
        raise ParameterError(f"no sample has {name} and all covariates; leave covariates out")
    found = values[is_there]
    if (found == found[0]).all():
        raise ParameterError(
            f"{name} is {found[0]:g} for all {len(found):,} samples that have it; a trait needs "
            "at least two different values"
        )


def independent_columns(matrix: np.ndarray, names: list[str]) -> tuple[list[int], list[str]]:
    """Return which columns are not a combination of a constant and of those before; and notes."""
    n = len(matrix)
    basis = [np.full(n, 1 / np.sqrt(max(n, 1)))]
    kept, left_out = [], []
    for place in range(matrix.shape[1]):
        column = matrix[:, place]
        rest = column.copy()
        for _ in range(2):  # the second pass removes what rounding leaves
            for direction in basis:
                rest = rest - direction * (direction @ rest)
        length, whole = np.linalg.norm(rest), np.linalg.norm(column)
        if whole > 0 and length > 1e-8 * whole:
            basis.append(rest / length)
            kept.append(place)
        else:
            left_out.append(names[place])
    if not left_out:
        return kept, []
    said = ", ".join(left_out[:4]) + (f" and {len(left_out) - 4} more" * (len(left_out) > 4))
    return kept, [f"Left out, for the other covariates determine it: {said}."]


def _levels(values: np.ndarray) -> np.ndarray:
    levels = np.unique(values)
    return levels[levels != ""]
