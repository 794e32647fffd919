"""Columns of text and integers, joined to lines in compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

_MAX_DIGITS = 20
_MANY = 1 << 12
_MINUS, _ZERO, _NEWLINE = 45, 48, 10


@dataclass(frozen=True, eq=False)
class TextColumn:
    """One text for each row.

    Parameters
    ----------
    data
        uint8: the texts, in any order; several rows may share one.
    starts, ends
        int64, shape (n,): row ``i`` has ``data[starts[i]:ends[i]]``.
    """

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


def text_column(
    texts: Sequence[Any], rows: np.ndarray, change: Callable[[Any], str] | None = None
) -> TextColumn:
    """Return the texts whose numbers are in rows (integers, shape (n,)), converted if wanted."""
    if len(texts) > _MANY:
        named, rows = np.unique(rows, return_inverse=True)
        texts = [texts[row] for row in named.tolist()]
    shown = texts if change is None else map(change, texts)
    encoded = [text.encode("utf-8", "surrogateescape") for text in shown]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]
    return TextColumn(np.frombuffer(b"".join(encoded), np.uint8), starts[rows], ends[rows])


def plain_column(texts: np.ndarray) -> TextColumn:
    """Return an array of texts as a column."""
    if texts.dtype.kind == "U" and len(texts) and texts.dtype.itemsize:
        letters = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
        if letters.max() < 128:
            return letter_column(letters.astype(np.uint8), np.strings.str_len(texts))
    return text_column(texts.tolist(), np.arange(len(texts)))


def letter_column(letters: np.ndarray, lengths: np.ndarray) -> TextColumn:
    """Return the first ``lengths`` letters of each row of a matrix."""
    n, width = letters.shape
    starts = np.arange(n, dtype=np.int64) * width
    return TextColumn(np.ascontiguousarray(letters).reshape(-1), starts, starts + lengths)


def integer_column(values: np.ndarray) -> TextColumn:
    """Return whole numbers as decimal text."""
    digits = np.empty(len(values) * _MAX_DIGITS, np.uint8)
    starts = np.empty(len(values), np.int64)
    _write_integers(values.astype(np.int64), digits, starts)
    return TextColumn(digits, starts, np.arange(1, len(values) + 1) * _MAX_DIGITS)


def join_columns(columns: Sequence[TextColumn], separator: str = "\t") -> bytes:
    r"""Return the rows of columns as lines, each with a newline.

    Examples
    --------
    >>> rows = np.array([1, 0])
    >>> join_columns([text_column(["a", "bb"], rows), integer_column(np.array([-7, 10]))], ",")
    b'bb,-7\na,10\n'
    """
    widths = len(columns) + sum(column.ends - column.starts for column in columns)
    places = np.cumsum(widths)
    text = np.empty(places[-1] if len(places) else 0, np.uint8)
    places -= widths
    for number, column in enumerate(columns, start=1):
        mark = _NEWLINE if number == len(columns) else ord(separator)
        _place(column.data, column.starts, column.ends, text, places, mark)
    return text.tobytes()


@njit(nogil=True, cache=True)
def _write_integers(values, digits, starts):
    """Write numbers right-aligned to their places."""
    for row in range(len(values)):
        value, at = values[row], (row + 1) * _MAX_DIGITS
        is_negative = value < 0
        if is_negative:
            value = -value
        while True:
            at -= 1
            digits[at] = _ZERO + value % 10
            value //= 10
            if value == 0:
                break
        if is_negative:
            at -= 1
            digits[at] = _MINUS
        starts[row] = at


@njit(nogil=True, cache=True)
def _place(data, starts, ends, text, places, mark):
    """Write a column, and a mark after each of its texts; advance the places."""
    for row in range(len(starts)):
        at = places[row]
        for k in range(starts[row], ends[row]):
            text[at] = data[k]
            at += 1
        text[at] = mark
        places[row] = at + 1
