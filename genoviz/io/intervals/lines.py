"""Lines of interval files with further columns, written in compiled loops."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

MAX_NUMBER_BYTES = 22
_NEWLINE, _RETURN, _TAB, _MINUS, _POINT, _ZERO = 10, 13, 9, 45, 46, 48


@njit(nogil=True, cache=True)
def find_line_ends(text, starts, ends):
    """Fill in where each line ends, without its line break."""
    data = borrow(text)
    for row in range(len(starts)):
        i = starts[row]
        while i < len(data) and data[i] != _NEWLINE:
            i += 1
        ends[row] = i - (i > starts[row] and data[i - 1] == _RETURN)


@njit(nogil=True, cache=True)
def write_lines(text, starts, ends, values, decimals, into):
    """Write lines, each with the numbers of its row behind tabs; return the bytes written.

    Parameters
    ----------
    text
        uint8: the text that has the lines.
    starts, ends
        int64, shape (n,): where each line begins and ends.
    values
        int64, shape (n, k): numbers, as multiples of ``10**-decimals``.
    decimals
        int64, shape (k,).
    into
        uint8 with room for all.
    """
    data, out = borrow(text), borrow(into)
    position = 0
    digits = np.empty(20, np.uint8)
    for row in range(len(starts)):
        for i in range(starts[row], ends[row]):
            out[position] = data[i]
            position += 1
        for column in range(values.shape[1]):
            out[position] = _TAB
            position += 1
            value = values[row, column]
            if value < 0:
                out[position] = _MINUS
                position += 1
                value = -value
            n_digits = 0
            while value > 0 or n_digits <= decimals[column]:
                digits[n_digits] = _ZERO + value % 10
                value //= 10
                n_digits += 1
            for k in range(n_digits - 1, -1, -1):
                out[position] = digits[k]
                position += 1
                if k == decimals[column] and k > 0:
                    out[position] = _POINT
                    position += 1
        out[position] = _NEWLINE
        position += 1
    return position
