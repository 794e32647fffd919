"""Compiled loops over the bytes of interval files: fields, blocks, lines, and bins of an index."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow
from genoviz.io.intervals.parser import MAX_DIGITS

_NEWLINE, _RETURN, _TAB, _SPACE = 10, 13, 9, 32
_COMMA, _MINUS, _POINT, _ZERO = 44, 45, 46, 48
MAX_NUMBER_BYTES = 22


@njit(nogil=True, cache=True)
def copy_fields(text, at, offsets, into):
    """Copy the fields that begin at ``at`` into one buffer, each to its offset."""
    data, into = borrow(text), borrow(into)
    for k in range(len(at)):
        for i in range(offsets[k + 1] - offsets[k]):
            into[offsets[k] + i] = data[at[k] + i]


@njit(nogil=True, cache=True)
def copy_words(text, at, into):
    """Copy the words that begin at ``at`` into rows, padded with zeros."""
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
    """Return the number at ``position`` and the end of its digits, or -1."""
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


@njit(nogil=True, inline="always")
def _read(data, position, n_bytes):
    """Return a little-endian integer of ``n_bytes``; one of 8 bytes may be negative."""
    value = np.int64(0)
    for k in range(n_bytes):
        value |= np.int64(data[position + k]) << np.int64(8 * k)
    return value


@njit(nogil=True, inline="always")
def _is_place(offset, n_bytes):
    """Return whether a virtual offset lies within a file."""
    return 0 <= offset >> 16 <= n_bytes


@njit(nogil=True, cache=True)
def find_damage(text, position, n_contigs, n_bins, has_lines, n_bytes):
    """Return the position at which an index is invalid, or -1.

    Parameters
    ----------
    text
        uint8: the index, decompressed.
    position
        Where the first contig's bins begin.
    n_contigs
        Number of contigs.
    n_bins
        Number of bins of a contig; bin ``n_bins + 1`` has counts of reads instead of offsets.
    has_lines
        Whether each contig has a linear index after its bins (BAI, TBI); otherwise each bin has
        an offset (CSI).
    n_bytes
        Size of the file that the offsets point into.
    """
    data, stop = borrow(text), len(text)
    head = 8 if has_lines else 16
    for _ in range(n_contigs):
        if position + 4 > stop:
            return position
        n_filled = _read(data, position, 4)
        if n_filled > n_bins + 1 or n_filled * head > stop - position:
            return position
        position += 4
        found = np.empty(n_filled, np.int64)
        for k in range(n_filled):
            if position + head > stop:
                return position
            number = found[k] = _read(data, position, 4)
            n_chunks = _read(data, position + head - 4, 4)
            is_count = number == n_bins + 1
            if (number >= n_bins and not is_count) or (is_count and n_chunks != 2):
                return position
            if not has_lines and not _is_place(_read(data, position + 4, 8), n_bytes):
                return position
            if n_chunks * 16 > stop - position - head:
                return position
            position += head
            for _chunk in range(n_chunks):
                begin, end = _read(data, position, 8), _read(data, position + 8, 8)
                is_right = _is_place(begin, n_bytes) and _is_place(end, n_bytes) and begin <= end
                if not is_count and not is_right:
                    return position
                position += 16
        found.sort()
        if (found[1:] == found[:-1]).any():
            return position
        if has_lines:
            if position + 4 > stop:
                return position
            n_lines = _read(data, position, 4)
            if n_lines * 8 > stop - position - 4:
                return position
            position += 4
            for _line in range(n_lines):
                if not _is_place(_read(data, position, 8), n_bytes):
                    return position
                position += 8
    return -1 if n_contigs >= 0 and stop - position in (0, 8) else position


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
    """Write lines, each followed by the numbers of its row after tabs; return the bytes written.

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


# Compiled with genoviz/io/files/borrowed.py: cc1df299cd543223
