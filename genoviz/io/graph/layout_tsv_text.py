"""Rows of layout TSV files as text and as numbers, in compiled loops.

Both loops stop at the first row that is out of the ordinary (a number with 19 digits, an exponent
of 30, bad input); Python does that row, or names what is wrong with it, and starts the loop again.

Numbers are exact both ways. A decimal ``m * 10**e`` with an integer ``m`` below 10**18 and
``|e| <= 22`` is computed in double-double arithmetic, whose 106 bits decide every rounding in that
range. A double is written with the fewest of 15, 16 or 17 digits that read back as the same double.

References
----------
Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18
(1971), doi:10.1007/BF01397083; Clinger, How to read floating point numbers accurately, PLDI 1990,
doi:10.1145/93542.93557
"""

from __future__ import annotations

import numpy as np
from numba import njit

MAX_ROW_BYTES = 100
_POWERS = np.array([float(10**k) for k in range(23)])
_TAB, _NEWLINE, _RETURN, _PLUS, _MINUS, _POINT, _ZERO = 9, 10, 13, 43, 45, 46, 48
_MAX_INTEGER = 10**17


@njit(nogil=True, cache=True)
def _multiply(a, b):
    """Return ``a * b`` as the nearest double and the exact rest."""
    product = a * b
    wide = 134217729.0 * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = 134217729.0 * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


@njit(nogil=True, cache=True)
def _scale(integer, exponent):
    """Return ``integer * 10**exponent`` and whether it is certain to be the nearest double."""
    high = np.float64(integer)
    if exponent == 0:
        return high, True
    if exponent > 0:
        return high * _POWERS[min(exponent, 22)], exponent <= 22 and integer <= 1 << 53
    if exponent < -22:
        return 0.0, integer == 0
    low = np.float64(integer - np.int64(high))
    power = _POWERS[-exponent]
    quotient = high / power
    product, rest = _multiply(quotient, power)
    return quotient + (((high - product) - rest) + low) / power, True


@njit(nogil=True, cache=True)
def _read_integer(text, position, stop):
    """Return the integer of at most 18 digits at ``position`` and where it ends, or a negative."""
    value = 0
    first = position
    while position < stop and 0 <= np.int64(text[position]) - _ZERO <= 9:
        value = value * 10 + np.int64(text[position]) - _ZERO
        position += 1
        if position - first > 18:
            return 0, -1
    return value, position if position > first else -1


@njit(nogil=True, cache=True)
def _read_decimal(text, position, stop):
    """Return the number at ``position`` and where it ends, or a negative when that is not easy."""
    is_negative = position < stop and text[position] == _MINUS
    if position < stop and (text[position] == _MINUS or text[position] == _PLUS):
        position += 1
    integer, exponent, n_digits, seen_point = 0, 0, 0, False
    while position < stop:
        byte = np.int64(text[position])
        if 0 <= byte - _ZERO <= 9:
            if integer >= _MAX_INTEGER:
                return 0.0, -1
            integer = integer * 10 + byte - _ZERO
            exponent -= seen_point
            n_digits += 1
        elif byte == _POINT and not seen_point:
            seen_point = True
        else:
            break
        position += 1
    if n_digits == 0:
        return 0.0, -1
    if position < stop and (text[position] | 32) == 101:
        position += 1
        is_small = position < stop and text[position] == _MINUS
        if position < stop and (text[position] == _MINUS or text[position] == _PLUS):
            position += 1
        power, position = _read_integer(text, position, stop)
        if position < 0 or power > 999:
            return 0.0, -1
        exponent += -power if is_small else power
    value, is_certain = _scale(integer, exponent)
    return -value if is_negative else value, position if is_certain else -1


@njit(nogil=True, cache=True)
def count_rows(text, position):
    """Return the number of lines from ``position`` on."""
    n_rows = 0
    for index in range(position, len(text)):
        n_rows += text[index] == _NEWLINE
    return n_rows + (len(text) > position and text[len(text) - 1] != _NEWLINE)


@njit(nogil=True, cache=True)
def parse_rows(text, position, row, has_components, indices, points, components):
    """Read rows from ``position`` on; return where it stopped and the number of rows by then.

    Parameters
    ----------
    text
        uint8.
    position, row
        Start of a line, and the row that it is.
    has_components
        Whether rows have a fourth column.
    indices, points, components
        int64 (n,), float64 (n, 2) and int32 (n,): are filled from ``row`` on.
    """
    stop = len(text)
    while position < stop:
        index, at = _read_integer(text, position, stop)
        if at < 0 or at >= stop or text[at] != _TAB:
            return position, row
        x, at = _read_decimal(text, at + 1, stop)
        if at < 0 or at >= stop or text[at] != _TAB:
            return position, row
        y, at = _read_decimal(text, at + 1, stop)
        if at < 0:
            return position, row
        component = 0
        if has_components:
            if at >= stop or text[at] != _TAB:
                return position, row
            component, at = _read_integer(text, at + 1, stop)
            if at < 0 or component > 0x7FFFFFFF:
                return position, row
        if at < stop and text[at] == _RETURN:
            at += 1
        if at < stop and text[at] != _NEWLINE:
            return position, row
        indices[row] = index
        points[row, 0] = x
        points[row, 1] = y
        components[row] = component
        row += 1
        position = at + 1
    return stop, row


@njit(nogil=True, cache=True)
def _write_integer(text, position, integer, n_digits):
    """Write ``integer`` with ``n_digits`` digits; return where it ends."""
    for index in range(n_digits - 1, -1, -1):
        text[position + index] = _ZERO + integer % 10
        integer //= 10
    return position + n_digits


@njit(nogil=True, cache=True)
def _count_digits(integer):
    n_digits = 1
    while integer >= 10:
        integer //= 10
        n_digits += 1
    return n_digits


@njit(nogil=True, cache=True)
def _shorten(value):
    """Return ``integer, n_decimals`` with value = integer / 10**n_decimals, or a negative.

    ``value`` is between 1e-5 and 1e17 and no integer.
    """
    n_decimals = 16
    for power in range(1, 17):
        n_decimals -= value >= _POWERS[power]
    for power in range(5):
        n_decimals += value * _POWERS[power] < 1.0
    product, rest = _multiply(value, _POWERS[n_decimals])
    digits = np.int64(product) + np.int64(np.floor(rest + 0.5))
    for n_dropped in (2, 1, 0):
        divisor = np.int64(10) ** n_dropped
        integer = (digits + divisor // 2) // divisor
        exponent = n_decimals - n_dropped
        if _scale(integer, -exponent)[0] == value:
            while integer % 10 == 0:
                integer //= 10
                exponent -= 1
            return integer, exponent
    return -1, 0


@njit(nogil=True, cache=True)
def _write_decimal(text, position, value):
    """Write ``value``; return where it ends, or a negative when that is not easy."""
    if value < 0:
        text[position] = _MINUS
        position += 1
        value = -value
    if value <= 1 << 53 and value == np.floor(value):
        return _write_integer(text, position, np.int64(value), _count_digits(np.int64(value)))
    if not 1e-5 <= value < 1e15:
        return -1
    integer, n_decimals = _shorten(value)
    if integer < 0 or n_decimals < 1:
        return -1
    unit = np.int64(10) ** min(n_decimals, 18)
    whole = integer // unit
    position = _write_integer(text, position, whole, _count_digits(whole))
    text[position] = _POINT
    return _write_integer(text, position + 1, integer - whole * unit, n_decimals)


@njit(nogil=True, cache=True)
def format_rows(points, components, has_components, row, last_row, text):
    """Write rows ``row`` to ``last_row``; return the row at which it stopped and the bytes written.

    Parameters
    ----------
    points, components
        float64 (n, 2) of finite numbers, and int32 (n,).
    has_components
        Whether rows get a fourth column.
    text
        uint8 with ``MAX_ROW_BYTES`` for each row.
    """
    position = 0
    while row < last_row:
        at = _write_integer(text, position, row, _count_digits(row))
        text[at] = _TAB
        at = _write_decimal(text, at + 1, points[row, 0])
        if at < 0:
            return row, position
        text[at] = _TAB
        at = _write_decimal(text, at + 1, points[row, 1])
        if at < 0:
            return row, position
        if has_components:
            text[at] = _TAB
            component = np.int64(components[row])
            at = _write_integer(text, at + 1, component, _count_digits(component))
        text[at] = _NEWLINE
        position = at + 1
        row += 1
    return row, position
