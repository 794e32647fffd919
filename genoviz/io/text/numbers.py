"""Columns of numbers, and of tables with them, as text in compiled loops."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from genoviz.io.text.columns import TextColumn, integer_column, plain_column, text_column

_MINUS, _ZERO, _PLUS, _POINT, _EXPONENT = 45, 48, 43, 46, 101
_FAST_DIGITS, _FLOAT_WIDTH, _MAX_POWER = 9, 32, 340
_SPECIAL = np.frombuffer(b'\t\n\r"', np.uint8)


def table_column(values: np.ndarray, missing: str = "NA") -> TextColumn:
    r"""Return a column of a table separated by tabs: text, integers, numbers or truth.

    Texts with tabs, quotes or line ends are quoted, and so are empty ones.

    Examples
    --------
    >>> from genoviz.io.text.columns import join_columns
    >>> columns = [np.array(["a", "b\tc"]), np.array([True, False]), np.array([0.1, np.nan])]
    >>> join_columns([table_column(values) for values in columns], ",")
    b'a,true,0.1\n"b\tc",false,NA\n'
    """
    if values.dtype.kind == "b":
        return text_column(("false", "true"), values.astype(np.int64))
    if values.dtype.kind in "iu":
        return integer_column(values)
    if values.dtype.kind == "f":
        if values.dtype != np.float64:  # as many digits as their own type needs
            values = values.astype(np.str_).astype(np.float64)
        return shortest_column(values, missing)
    column = plain_column(values)
    if (column.starts < column.ends).all() and not np.isin(column.data, _SPECIAL).any():
        return column
    return text_column(values, np.arange(len(values)), quoted)


def quoted(text: str) -> str:
    """Return a text as a field of a table: in quotes if it has a tab, a quote or a line end."""
    if text and not any(each in text for each in '\t\n\r"'):
        return text
    return '"' + text.replace('"', '""') + '"'


def float_column(values: np.ndarray, digits: int = 6) -> TextColumn:
    """Return numbers as text with ``digits`` digits, as by ``%g``; empty for NaN."""
    values = np.ascontiguousarray(values, np.float64)
    text = np.empty(len(values) * _FLOAT_WIDTH, np.uint8)
    lengths = np.empty(len(values), np.int64)
    powers, shifts = _powers_of_ten()
    _write_floats(values.view(np.uint64), digits, powers, shifts, text, lengths)
    starts = np.arange(len(values), dtype=np.int64) * _FLOAT_WIDTH
    rows = np.flatnonzero(lengths < 0)
    undecided, kinds = np.unique(values[rows].view(np.uint64), return_inverse=True)  # -0.0 and 0.0
    shown = [f"{value:.{digits}g}".encode() for value in undecided.view(np.float64).tolist()]
    padded = np.array(shown, f"S{_FLOAT_WIDTH}").view(np.uint8).reshape(-1, _FLOAT_WIDTH)
    text.reshape(-1, _FLOAT_WIDTH)[rows] = padded[kinds]
    lengths[rows] = np.array([len(each) for each in shown], np.int64)[kinds]
    return TextColumn(text, starts, starts + lengths)


def shortest_column(values: np.ndarray, missing: str = "", zero: str = ".0") -> TextColumn:
    """Return numbers with the fewest digits that tell each from its neighbours, as polars does.

    The digits are those of ``repr``; exponents are written below 1e-5 and from 1e16 on.
    Those without decimals end in ``zero``: ".0" or "".

    References
    ----------
    Giulietti 2021, The Schubfach way to render doubles.
    """
    values = np.array(values, np.float64)  # a type of its own is compiled for read-only arrays
    bits = values.view(np.uint64)
    kinds = (bits >> np.uint64(51)).view(np.int64) & 0xFFE
    kinds |= (bits & np.uint64((1 << 52) - 1)) == 0
    scales = np.zeros((2 << 11, 4), np.uint64)
    for kind in np.flatnonzero(np.bincount(kinds, minlength=len(scales))).tolist():
        scales[kind] = _scale_of(kind)
    text = np.empty(len(values) * _FLOAT_WIDTH, np.uint8)
    lengths = np.empty(len(values), np.int64)
    _write_shortest(bits, kinds, scales, len(zero), text, lengths)
    starts = np.arange(len(values), dtype=np.int64) * _FLOAT_WIDTH
    for row in np.flatnonzero(lengths < 0).tolist():
        shown = missing if np.isnan(values[row]) else repr(float(values[row]))
        text[starts[row] : starts[row] + len(shown)] = np.frombuffer(shown.encode(), np.uint8)
        lengths[row] = len(shown)
    return TextColumn(text, starts, starts + lengths)


@lru_cache(maxsize=2 << 11)
def _scale_of(kind: int) -> tuple[int, int, int, int]:
    """Return what takes numbers c 2^q to decimals: k + 1024, a shift, and 10^-k in 63-bit halves.

    ``kind`` is twice the exponent's bits, and 1 more for a power of two, whose lower neighbour is
    nearer.
    """
    q = max(kind >> 1, 1) - 1075
    k = (q * 661971961083 - 274743187321 * (kind & 1)) >> 41  # 10^k <= 2^q, or 3/4 of it
    length = (-k * 913124641741) >> 38  # floor of log2 of 10^-k
    shift = length - 125
    above, below = 10 ** max(-k, 0), 10 ** max(k, 0)
    scale = (above << max(-shift, 0)) // (below << max(shift, 0)) + 1
    return k + 1024, q + length + 2, scale >> 63, scale & ((1 << 63) - 1)


@lru_cache(maxsize=1)
def _powers_of_ten() -> tuple[np.ndarray, np.ndarray]:
    """Return 10^-340 to 10^340 as 64-bit mantissas, rounded down, and their binary exponents."""
    powers, shifts = [], []
    for power in range(-_MAX_POWER, _MAX_POWER + 1):
        above, below = 10 ** max(power, 0), 10 ** max(-power, 0)
        shift = above.bit_length() - below.bit_length() - 64
        bits = (above << max(-shift, 0)) // (below << max(shift, 0))
        if bits >> 63 == 0:
            shift -= 1
            bits = (above << max(-shift, 0)) // (below << max(shift, 0))
        elif bits >> 64:
            shift += 1
            bits >>= 1
        powers.append(bits)
        shifts.append(shift)
    return np.array(powers, np.uint64), np.array(shifts, np.int64)


@njit(nogil=True, cache=True)
def _write_floats(values, n_digits, powers, shifts, text, lengths):
    """Write the bits of numbers as ``%g`` does, left-aligned to their places.

    A number is its 53-bit mantissa times a 64-bit power of ten, whose error is at most 2 in 2^62.
    ``lengths`` is -1 if the nearest decimal is then undecided, as halfway between two, for infinite
    numbers, and for those below 2.3e-308.
    """
    limit = np.uint64(1)
    for _ in range(n_digits):
        limit *= np.uint64(10)
    for row in range(len(values)):
        bits, at = values[row], row * _FLOAT_WIDTH
        first = at
        exponent = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF))
        fraction = bits & np.uint64(0xFFFFFFFFFFFFF)
        lengths[row] = -1
        if exponent == 0x7FF and fraction != 0:
            lengths[row] = 0
            continue
        if exponent == 0x7FF or (exponent == 0 and fraction != 0) or n_digits > _FAST_DIGITS:
            continue
        if bits >> np.uint64(63):
            text[at] = _MINUS
            at += 1
        if exponent == 0:
            text[at] = _ZERO
            lengths[row] = at + 1 - first
            continue
        # The number is m 2^(e - 63), and m has 64 bits.
        m = (fraction | np.uint64(1 << 52)) << np.uint64(11)
        e = exponent - 1023
        power = np.int64(np.floor(e * 0.30102999566398119521))
        whole, is_known = np.uint64(0), False
        for _ in range(2):
            place = n_digits - 1 - power + _MAX_POWER
            p, shift = powers[place], -(e + 1 + shifts[place])
            high = _times(m, p)
            whole = high >> np.uint64(shift)
            if whole >= limit:
                power += 1
                continue
            rest = high & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1))
            half = np.uint64(1) << np.uint64(shift - 1)
            is_known = rest > half or rest + np.uint64(3) < half
            if rest > half:
                whole += np.uint64(1)
            if whole == limit:
                whole //= np.uint64(10)
                power += 1
            break
        if not is_known or whole * np.uint64(10) < limit:
            continue
        n_left = n_digits
        while n_left > 1 and whole % np.uint64(10) == 0:
            whole //= np.uint64(10)
            n_left -= 1
        is_fixed = -4 <= power < n_digits
        if is_fixed and power < 0:
            for k in range(1 - power):
                text[at + k] = _POINT if k == 1 else _ZERO
            at += 1 - power
            point = -1
        else:
            point = power + 1 if is_fixed else 1
        stop = at + n_left + (0 <= point < n_left)
        for k in range(n_left - 1, -1, -1):
            text[at + k + (0 <= point <= k)] = _ZERO + np.uint8(whole % np.uint64(10))
            whole //= np.uint64(10)
        if 0 <= point < n_left:
            text[at + point] = _POINT
        at = stop
        if is_fixed:
            for _ in range(n_left, power + 1):
                text[at] = _ZERO
                at += 1
        else:
            text[at] = _EXPONENT
            text[at + 1] = _MINUS if power < 0 else _PLUS
            at += 2
            power = abs(power)
            if power >= 100:
                text[at] = _ZERO + power // 100
                at += 1
            text[at] = _ZERO + power // 10 % 10
            text[at + 1] = _ZERO + power % 10
            at += 2
        lengths[row] = at - first


@njit(nogil=True, cache=True)
def _times(a, b):
    """Return the upper 64 bits of a product."""
    low32, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & low32, b >> half, b & low32
    cross = ((a0 * b0) >> half) + ((a1 * b0) & low32) + a0 * b1
    return a1 * b1 + ((a1 * b0) >> half) + (cross >> half)


@njit(nogil=True, cache=True)
def _scaled(high, low, number):
    """Return a number times a scale, whose last bit says too whether anything is cut off."""
    mask = np.uint64((1 << 63) - 1)
    z = ((high * number) >> np.uint64(1)) + _times(low, number)
    whole = _times(high, number) + (z >> np.uint64(63))
    return whole | (((z & mask) + mask) >> np.uint64(63))


@njit(nogil=True, cache=True)
def _write_shortest(values, kinds, scales, n_zero, text, lengths):
    """Write the bits of numbers, left-aligned; a length is -1 for what is not a normal number."""
    one, two, ten = np.uint64(1), np.uint64(2), np.uint64(10)
    for row in range(len(values)):
        bits, kind, at = values[row], kinds[row], row * _FLOAT_WIDTH
        first, exponent = at, kind >> 1
        lengths[row] = -1
        if exponent == 0x7FF or (exponent == 0 and kind & 1 == 0):
            continue
        if bits >> np.uint64(63):
            text[at] = _MINUS
            at += 1
        if exponent == 0:
            text[at], text[at + 1], text[at + 2] = _ZERO, _POINT, _ZERO
            lengths[row] = at + 1 + n_zero - first
            continue
        c = (bits & np.uint64(0xFFFFFFFFFFFFF)) | np.uint64(1 << 52)
        odd, c = c & one, c << two
        power = np.int64(scales[kind, 0]) - 1024
        shift, high, low = scales[kind, 1], scales[kind, 2], scales[kind, 3]
        number = _scaled(high, low, c << shift)
        lower = _scaled(high, low, (c - (one if kind & 1 else two)) << shift) + odd
        upper = _scaled(high, low, (c + two) << shift)
        digits = number >> two
        tens = digits // ten * ten
        low_is_in, high_is_in = lower <= tens << two, ((tens + ten) << two) + odd <= upper
        if low_is_in != high_is_in:
            digits = tens if low_is_in else tens + ten
        else:
            low_is_in = lower <= digits << two
            high_is_in = ((digits + one) << two) + odd <= upper
            if low_is_in != high_is_in:
                digits += np.uint64(high_is_in)
            else:
                middle = (digits + digits + one) << one
                digits += np.uint64(number > middle or (number == middle and digits & one == one))
        while digits % ten == 0:
            digits //= ten
            power += 1
        n_digits, limit = 1, ten
        while n_digits < 18 and digits >= limit:
            limit *= ten
            n_digits += 1
        point = n_digits + power  # digits before the point
        is_fixed = -5 < point <= 16
        if is_fixed and point <= 0:
            text[at], text[at + 1] = _ZERO, _POINT
            at += 2
            for _ in range(-point):
                text[at] = _ZERO
                at += 1
            before = n_digits
        else:
            before = min(point, n_digits) if is_fixed else 1
        has_point = before < n_digits
        for k in range(n_digits - 1, -1, -1):
            text[at + k + (k >= before)] = _ZERO + np.uint8(digits % ten)
            digits //= ten
        if has_point:
            text[at + before] = _POINT
        at += n_digits + has_point
        if is_fixed and power >= 0:
            for _ in range(power):
                text[at] = _ZERO
                at += 1
            text[at], text[at + 1] = _POINT, _ZERO
            at += n_zero
        if not is_fixed:
            power = point - 1
            text[at], text[at + 1] = _EXPONENT, (_MINUS if power < 0 else _PLUS)
            at += 2
            power = abs(power)
            if power >= 100:
                text[at] = _ZERO + power // 100
                at += 1
            if power >= 10:
                text[at] = _ZERO + power // 10 % 10
                at += 1
            text[at] = _ZERO + power % 10
            at += 1
        lengths[row] = at - first
