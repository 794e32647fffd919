"""Fields whose places are known from the rows, read or copied in compiled loops."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow
from genoviz.io.intervals.parser import MAX_DIGITS

_NEWLINE, _RETURN, _TAB, _SPACE, _COMMA, _ZERO = 10, 13, 9, 32, 44, 48


@njit(nogil=True, cache=True)
def copy_fields(text, at, offsets, into):
    """Copy the fields that begin at ``at`` into one buffer, each to its offset."""
    data, into = borrow(text), borrow(into)
    for k in range(len(at)):
        for i in range(offsets[k + 1] - offsets[k]):
            into[offsets[k] + i] = data[at[k] + i]


@njit(nogil=True, cache=True)
def copy_words(text, at, into):
    """Copy the words that begin at ``at`` into rows that are filled with zeros behind them."""
    data, into = borrow(text), borrow(into)
    for k in range(len(at)):
        i = at[k]
        for column in range(into.shape[1]):
            is_end = i == len(data) or data[i] == _TAB or data[i] == _SPACE
            if is_end or data[i] == _NEWLINE or data[i] == _RETURN:
                into[k, column:] = 0
                break
            into[k, column] = data[i]
            i += 1


@njit(nogil=True, inline="always")
def _next_integer(data, position):
    """Return the number at ``position`` and where its digits end, or -1."""
    value, i = 0, position
    while i < len(data) and 0 <= np.int64(data[i]) - _ZERO <= 9 and i - position < MAX_DIGITS:
        value = value * 10 + np.int64(data[i]) - _ZERO
        i += 1
    return value if i > position else -1, i


@njit(nogil=True, cache=True)
def count_blocks(text, block_at, any_blank, counts):
    """Fill in the number of blocks of each row, 1 for rows without; return a wrong row or -1."""
    for row in range(len(block_at)):
        counts[row] = 1
        if block_at[row] >= 0:
            count, after = _next_integer(text, block_at[row])
            if count < 1 or after >= len(text):
                return row
            if text[after] != _TAB and not (any_blank and text[after] == _SPACE):
                return row
            counts[row] = count
    return -1


@njit(nogil=True, cache=True)
def fill_blocks(text, block_at, any_blank, counts, row_starts, row_ends, starts, ends):
    """Fill in the blocks of each row (BED12: sizes, then starts); return a wrong row or -1."""
    data = borrow(text)
    first = 0
    for row in range(len(block_at)):
        if block_at[row] < 0:
            starts[first], ends[first] = row_starts[row], row_ends[row]
            first += 1
            continue
        _, i = _next_integer(data, block_at[row])
        for part in range(2):
            i += 1
            while any_blank and i < len(data) and (data[i] == _SPACE or data[i] == _TAB):
                i += 1
            for k in range(counts[row]):
                value, i = _next_integer(data, i)
                if value < 0:
                    return row
                if part == 0:
                    ends[first + k] = value
                else:
                    starts[first + k] = row_starts[row] + value
                    ends[first + k] += starts[first + k]
                    if ends[first + k] > row_ends[row]:
                        return row
                if i < len(data) and data[i] == _COMMA:
                    i += 1
                elif k + 1 < counts[row]:
                    return row
            if part == 0 and (i >= len(data) or (data[i] != _TAB and data[i] != _SPACE)):
                return row
        first += counts[row]
    return -1
