"""Coordinate columns: integers as int64, other numbers as float64, without rounding."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np

from genoviz.errors import ParameterError

_LIMIT = 2.0**63


def coordinate_columns(
    starts: Sequence[float] | np.ndarray, ends: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends as copies of one dtype.

    Both are int64 if all numbers are integral, otherwise both are float64.

    Raises
    ------
    ParameterError
        If a number is not finite, or cannot be represented exactly.

    Examples
    --------
    >>> [column.tolist() for column in coordinate_columns([1, 5.0], [2, 7])]
    [[1, 5], [2, 7]]
    >>> [column.tolist() for column in coordinate_columns([1, 5], [2, 7.5])]
    [[1.0, 5.0], [2.0, 7.5]]
    """
    columns = _column(starts, "starts"), _column(ends, "ends")
    if all(column.dtype == np.int64 for column in columns):
        return columns
    return as_float64(columns[0], "starts"), as_float64(columns[1], "ends")


def as_float64(values: np.ndarray, name: str) -> np.ndarray:
    """Return int64 or float64 numbers as float64.

    Raises
    ------
    ParameterError
        If a number cannot be represented exactly.
    """
    if values.dtype == np.float64:
        return values
    floats = values.astype(np.float64)
    is_exact = floats < _LIMIT
    is_exact[is_exact] = floats[is_exact].astype(np.int64) == values[is_exact]
    if not is_exact.all():
        row = int(np.argmin(is_exact))
        raise ParameterError(
            f"{name} have {values[row]:,} in row {row:,} beside real numbers, which needs more "
            "digits than a float64 has"
        )
    return floats


def _column(values: Sequence[float] | np.ndarray, name: str) -> np.ndarray:
    """Return a copy as int64, or as float64 if a number is not integral."""
    given = np.asarray(values)
    kind = given.dtype.kind
    if kind in "ib" or given.size == 0:
        return given.astype(np.int64)
    if kind == "u" and given.max() < 2**63:
        return given.astype(np.int64)
    floats = None
    try:
        if kind in "OUS":
            with contextlib.suppress(ValueError):
                return _whole(given)
        if kind in "fOUS":
            floats = given.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        kind = "u" if isinstance(error, OverflowError) else kind
    if floats is not None:
        return _whole_if_all_are(floats, name)
    if kind == "u":
        raise ParameterError(f"{name} have a number beyond 63 bits, needs 64-bit integers")
    raise ParameterError(f"{name} are {given.dtype}, needs numbers")


def _whole(given: np.ndarray) -> np.ndarray:
    """Convert texts or Python numbers to int64; raises ValueError if one is not integral."""
    if given.dtype.kind == "O":
        for value in given.tolist():
            if not math.isfinite(value) or value != int(value):
                raise ValueError
    return given.astype(np.int64)


def _whole_if_all_are(floats: np.ndarray, name: str) -> np.ndarray:
    is_finite = np.isfinite(floats)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        raise ParameterError(f"{name} have {floats[row]} in row {row:,}, needs finite numbers")
    is_whole = (floats == np.floor(floats)) & (np.abs(floats) < _LIMIT)
    return floats.astype(np.int64) if is_whole.all() else floats
