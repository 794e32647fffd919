"""Columns of a table as traits: one rule for numbers, categories, cases and controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError, check_choice

TraitType = Literal["auto", "quantitative", "case-control"]
TRAIT_TYPES = ("auto", "quantitative", "case-control")
LEAST_SIZE = 1e-60


@dataclass(frozen=True, eq=False)
class Trait:
    """A column as it is analysed.

    Attributes
    ----------
    values
        float64, shape (n_samples,): NaN where missing.
    is_binary
        Whether there are two values, of which the higher is that of cases.
    notes
        How the column was read, one sentence each; none where numbers are just numbers.
    """

    values: np.ndarray
    is_binary: bool
    notes: tuple[str, ...] = ()


def check_size(found: str, size: float) -> None:
    """Reject a trait of a size whose square leaves float64; ``found`` says which it is."""
    if not LEAST_SIZE <= size <= 1 / LEAST_SIZE:
        raise ParameterError(
            f"{found}, needs {LEAST_SIZE:g} to {1 / LEAST_SIZE:g}, as its squares leave float64; "
            "take another unit"
        )


def category_levels(values: np.ndarray) -> np.ndarray:
    """Return the categories of a column, sorted; an empty text is none."""
    levels = np.unique(values)
    return levels[levels != ""]


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Return a column as float64; of categories, their place in the alphabet; NaN if missing.

    Examples
    --------
    >>> as_numbers(np.array(["m", "", "f"])).tolist()
    [1.0, nan, 0.0]
    """
    if values.dtype.kind == "f":
        return values
    numbers = np.searchsorted(category_levels(values), values).astype(np.float64)
    numbers[values == ""] = np.nan
    return numbers


def read_trait(values: np.ndarray, name: str = "the trait", kind: TraitType = "auto") -> Trait:
    """Return a column of numbers as a trait.

    The rule is PLINK's: a column of 0, 1 and 2 alone is of cases (2) and controls (1), and 0 is
    missing. One of 0 and 1 alone, which PLINK takes for missing and control, is of controls (0)
    and cases (1), as in PLINK told ``--1``. Of two other values, which PLINK takes for numbers,
    cases have the higher. All else is quantitative.

    Parameters
    ----------
    values
        float64, shape (n_samples,): NaN where missing, as -9 is in all tables.
    name
        What messages call it.
    kind
        ``"quantitative"``: the numbers are numbers; ``"case-control"``: there have to be two.

    Raises
    ------
    ParameterError
        If ``kind`` is unknown, or the values do not fit it.

    Examples
    --------
    >>> read_trait(np.array([1.0, 2.0, 0.0])).values.tolist()
    [1.0, 2.0, nan]
    >>> read_trait(np.array([1.0, 2.0, 0.0]), kind="quantitative").values.tolist()
    [1.0, 2.0, 0.0]
    """
    check_choice("the type", kind, TRAIT_TYPES)
    levels = np.unique(values[~np.isnan(values)])
    notes: tuple[str, ...] = ()
    if kind != "quantitative" and 2 in levels and np.isin(levels, (0, 1, 2)).all():
        is_missing = values == 0
        if is_missing.any():
            n, others = int(is_missing.sum()), "it is missing, 1 is control and 2 is case"
            times = f"{n:,} times" if n > 1 else "once"
            notes = (f"{name} is 0 {times}, else 1 or 2: {others}, unless its type is set.",)
        values = np.where(is_missing, np.nan, values)
        levels = levels[levels > 0]
    elif kind != "quantitative" and levels.tolist() == [0, 1]:
        notes = (f"{name} is 0 or 1: 0 is control and 1 is case.",)
    if kind == "case-control" and len(levels) != 2:
        found = "value" if len(levels) == 1 else "values"
        raise ParameterError(
            f"{name} has {len(levels):,} {found}, needs two: 1 for controls and 2 for cases"
        )
    return Trait(values, len(levels) == 2 and kind != "quantitative", notes)
