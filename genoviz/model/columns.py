"""Helpers of data classes over arrays: read-only views, shape checks, and columns on disk."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.temporary_file import TemporaryFile

ROWS_AT_ONCE = 1 << 20
"""Rows for which long columns are computed at once."""
IN_MEMORY_BYTES = 1 << 22
"""Shorter columns are always in memory."""


def iter_row_slices(n: int) -> Iterator[slice]:
    """Yield slices of `ROWS_AT_ONCE` rows that cover n rows."""
    for first in range(0, n, ROWS_AT_ONCE):
        yield slice(first, min(first + ROWS_AT_ONCE, n))


def column_on_disk(n: int, dtype: Any) -> np.ndarray:
    """Return an array to be filled, shape (n,), in an unnamed temporary file if it is long.

    The system keeps in memory what fits there. The file vanishes with the array.

    Raises
    ------
    GenovizError
        If the file does not fit into the temporary folder.
    """
    n_bytes = n * np.dtype(dtype).itemsize
    if n_bytes <= IN_MEMORY_BYTES:
        return np.empty(n, dtype)
    with TemporaryFile(n_bytes) as file:
        return file.map(dtype, mmap.ACCESS_WRITE)


def is_on_disk(column: np.ndarray) -> bool:
    """Return whether an array is, or is part of, one that `column_on_disk` put into a file."""
    while isinstance(column, np.ndarray):
        column = column.base
    return isinstance(getattr(column, "obj", column), mmap.mmap)


def fill_column(
    n: int, dtype: Any, find: Callable[[slice], np.ndarray], *, on_disk: bool
) -> np.ndarray:
    """Return a column of n rows, computed slice by slice."""
    column = column_on_disk(n, dtype) if on_disk else np.empty(n, dtype)
    for part in iter_row_slices(n):
        column[part] = find(part)
    return column


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


def distinct(values: Any) -> np.ndarray:
    """Return the different integers of an array of any shape, in rising order, by sorting.

    Since version 2.3, ``np.unique`` puts integers into a hash table, which takes a hundred times
    as long for 20 million different ones and much more memory.
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


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
