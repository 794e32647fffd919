"""Fields between blanks, found and read in compiled loops over the bytes of a text."""

from __future__ import annotations

import numpy as np
from numba import njit

_NEWLINE, _RETURN, _SPACE, _TAB = 10, 13, 32, 9
_MINUS, _PLUS, _ZERO, _POINT = 45, 43, 48, 46
_MAX_DIGITS = 18
_POWERS = 10.0 ** np.arange(_MAX_DIGITS + 1)


@njit(nogil=True, cache=True)
def count_lines(data):
    """Return how many lines are not blank."""
    n_lines = 0
    has_text = False
    for byte in data:
        if byte == _NEWLINE:
            n_lines += has_text
            has_text = False
        elif byte != _SPACE and byte != _TAB and byte != _RETURN:
            has_text = True
    return n_lines + has_text


@njit(nogil=True, cache=True)
def find_fields(data, starts, lengths):
    """Find all fields; return where the first line of another number of them is, and its number."""
    n_bytes, n_fields = len(data), starts.shape[1]
    row = n_found = at = line_at = 0
    while at <= n_bytes:
        byte = data[at] if at < n_bytes else np.uint8(_NEWLINE)
        if byte == _NEWLINE:
            if n_found != 0 and n_found != n_fields:
                return line_at, n_found
            row += n_found != 0
            n_found = 0
            line_at = at + 1
        elif byte != _SPACE and byte != _TAB and byte != _RETURN:
            start = at
            while at + 1 < n_bytes and data[at + 1] > _SPACE:
                at += 1
            if n_found < n_fields:
                starts[row, n_found] = start
                lengths[row, n_found] = at + 1 - start
            n_found += 1
        at += 1
    return -1, 0


@njit(nogil=True, cache=True)
def copy_ascii(data, starts, lengths, letters):
    """Copy texts to their code points; return whether all were ASCII."""
    highest = np.uint8(0)
    for row in range(len(starts)):
        for k in range(lengths[row]):
            byte = data[starts[row] + k]
            highest |= byte
            letters[row, k] = byte
    return highest < 128


@njit(nogil=True, cache=True)
def parse_integers(data, starts, lengths, numbers):
    """Parse whole numbers; return the first row that has none, or -1."""
    for row in range(len(starts)):
        start, stop = starts[row], starts[row] + lengths[row]
        is_negative = data[start] == _MINUS
        start += is_negative
        if start == stop or stop - start > _MAX_DIGITS:
            return row
        number = np.int64(0)
        for k in range(start, stop):
            digit = np.int64(data[k]) - _ZERO
            if digit < 0 or digit > 9:
                return row
            number = 10 * number + digit
        numbers[row] = -number if is_negative else number
    return -1


@njit(nogil=True, cache=True)
def parse_decimals(data, starts, lengths, values, first):
    """Parse short decimals from a row on; return the first row that Python has to read.

    Up to 15 digits and a power of ten below 10^22 are exact, so the quotient is rounded once.
    """
    for row in range(first, len(starts)):
        start, stop = starts[row], starts[row] + lengths[row]
        is_negative = data[start] == _MINUS
        start += is_negative
        number = np.int64(0)
        n_digits = n_decimals = 0
        has_point = False
        for k in range(start, stop):
            digit = np.int64(data[k]) - _ZERO
            if 0 <= digit <= 9:
                number = 10 * number + digit
                n_digits += 1
                n_decimals += has_point
                if n_digits > 15:
                    return row
            elif data[k] == _POINT and not has_point:
                has_point = True
            else:
                return row
        if n_digits == 0:
            return row
        value = number / _POWERS[n_decimals]
        values[row] = -value if is_negative else value
    return len(starts)


@njit(nogil=True, cache=True)
def find_changes(data, starts, lengths):
    """Return which fields differ from those of the row before."""
    changes = np.ones(len(starts), np.bool_)
    for row in range(1, len(starts)):
        if lengths[row] == lengths[row - 1]:
            k = 0
            while k < lengths[row] and data[starts[row] + k] == data[starts[row - 1] + k]:
                k += 1
            changes[row] = k < lengths[row]
    return changes
