"""Columns of text and numbers, joined to lines in compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit

_MAX_DIGITS = 20
_MANY = 1 << 12
_MINUS, _ZERO, _NEWLINE = 45, 48, 10
_PLUS, _POINT, _EXPONENT = 43, 46, 101
_FAST_DIGITS, _FLOAT_WIDTH, _MAX_POWER = 9, 32, 340


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


def float_column(values: np.ndarray, digits: int = 6) -> TextColumn:
    """Return numbers as text with ``digits`` digits, as by ``%g``; empty for NaN."""
    values = np.ascontiguousarray(values, np.float64)
    text = np.empty(len(values) * _FLOAT_WIDTH, np.uint8)
    lengths = np.empty(len(values), np.int64)
    powers, shifts = _powers_of_ten()
    _write_floats(values.view(np.uint64), digits, powers, shifts, text, lengths)
    starts = np.arange(len(values), dtype=np.int64) * _FLOAT_WIDTH
    for row in np.flatnonzero(lengths < 0).tolist():
        shown = f"{values[row]:.{digits}g}".encode()
        text[starts[row] : starts[row] + len(shown)] = np.frombuffer(shown, np.uint8)
        lengths[row] = len(shown)
    return TextColumn(text, starts, starts + lengths)


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


@njit(nogil=True, cache=True)
def _write_floats(values, n_digits, powers, shifts, text, lengths):
    """Write the bits of numbers as ``%g`` does, left-aligned to their places.

    A number is its 53-bit mantissa times a 64-bit power of ten, whose error is at most 2 in 2^62.
    ``lengths`` is -1 if the nearest decimal is then undecided, as halfway between two, for infinite
    numbers, and for those below 2.3e-308.
    """
    low32 = np.uint64(0xFFFFFFFF)
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
            m1, m0, p1, p0 = m >> np.uint64(32), m & low32, p >> np.uint64(32), p & low32
            cross = ((m0 * p0) >> np.uint64(32)) + ((m1 * p0) & low32) + m0 * p1
            high = m1 * p1 + ((m1 * p0) >> np.uint64(32)) + (cross >> np.uint64(32))
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
