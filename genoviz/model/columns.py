"""Helpers of data classes over arrays: read-only views, and shape checks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from genoviz.errors import ParameterError


def freeze_arrays(record: Any) -> None:
    """Replace each array of a frozen data class by a read-only view."""
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            view = np.asarray(value).view()
            view.flags.writeable = False
            object.__setattr__(record, field.name, view)


def expand_counts(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for rows with given numbers of items, each item's row and its rank in it; int64.

    Examples
    --------
    >>> [each.tolist() for each in expand_counts(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)


def check_arrays(record: Any, expected: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Check dtypes and shapes of arrays, by name.

    Raises
    ------
    ParameterError
        If a dtype or shape differs.
    """
    for name, (dtype, shape) in expected.items():
        array = getattr(record, name)
        if array.dtype != dtype or array.shape != shape:
            raise ParameterError(
                f"{name} is {array.dtype} {array.shape}, needs {np.dtype(dtype)} {shape}"
            )
