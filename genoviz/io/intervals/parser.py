"""Rows of BED, bedGraph and GFF as numbers, in compiled loops over the bytes of a file.

A loop stops at the first unusual row. Python then reports the error, or allocates more room and
continues. A contig is compared with that of the previous row, and then looked up in a hash table of
the part's own contigs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

DONE, WRONG_ROW, TABLE_FULL = 0, 1, 2
MAX_DIGITS = 18
MAX_COLUMNS = 16

_NEWLINE, _RETURN, _TAB, _SPACE = 10, 13, 9, 32
_HASH, _PLUS, _MINUS, _POINT, _ZERO = 35, 43, 45, 46, 48
_LETTER_I, _LETTER_N = 105, 110
_TRACK = np.frombuffer(b"track", np.uint8)
_BROWSER = np.frombuffer(b"browser", np.uint8)
_HASH_START = np.uint64(0xCBF29CE484222325)
_HASH_FACTOR = np.uint64(0x00000100000001B3)
_HASH_MIX = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(32)
_POWERS = np.array([float(10**k) for k in range(23)])
_MAX_EXACT = 1 << 53


class Columns(NamedTuple):
    """The column of each item, from 0 on; -1 for none."""

    start: int
    end: int
    name: int
    score: int
    strand: int
    feature: int
    blocks: int
    first_base: int
    n_needed: int
    any_blank: bool


class Rows(NamedTuple):
    """The arrays filled by a loop; each of shape (n,), or empty if not wanted.

    ``score_at`` is the position in the text of a score that Python must parse, -1 for none, and -2
    minus the position of an invalid number.
    """

    contig_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    strands: np.ndarray
    scores: np.ndarray
    score_at: np.ndarray
    name_at: np.ndarray
    name_lengths: np.ndarray
    block_at: np.ndarray
    line_at: np.ndarray


class ContigTable(NamedTuple):
    """Contigs by hash: ``slots`` hold number + 1 or 0; their number is a power of two.

    ``name_at`` and ``name_lengths`` are the first occurrence of each contig's name in the text;
    ``count`` has the number of contigs, and of rows with an invalid strand.
    """

    slots: np.ndarray
    hashes: np.ndarray
    name_at: np.ndarray
    name_lengths: np.ndarray
    count: np.ndarray


@njit(nogil=True, inline="always")
def _begins_with(data, start, stop, word):
    """Return whether a line begins with a word."""
    if stop - start < len(word):
        return False
    for i in range(len(word)):
        if data[start + i] != word[i]:
            return False
    after = start + len(word)
    return after == stop or data[after] == _SPACE or data[after] == _TAB


@njit(nogil=True, inline="always")
def _is_left_out(data, start, stop):
    """Return whether a line is a comment, a browser header, or blank."""
    first = data[start] if start < stop else _HASH
    if first == _HASH:
        return True
    if first == _TRACK[0] or first == _BROWSER[0]:
        return _begins_with(data, start, stop, _TRACK) or _begins_with(data, start, stop, _BROWSER)
    if first == _SPACE or first == _TAB:
        for i in range(start, stop):
            if data[i] != _SPACE and data[i] != _TAB:
                return False
        return True
    return False


@njit(nogil=True, inline="always")
def _read_integer(data, start, stop):
    """Return the integer in a field, or -1."""
    if start == stop or stop - start > MAX_DIGITS:
        return -1
    value = 0
    for i in range(start, stop):
        digit = np.int64(data[i]) - _ZERO
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@njit(nogil=True, inline="always")
def _read_decimal(data, start, stop):
    """Return the number in a field, and whether it can be parsed here.

    If it can, the number is the nearest double.
    """
    i = start
    is_negative = i < stop and data[i] == _MINUS
    i += is_negative
    value, n_digits, exponent, seen_point = 0, 0, 0, False
    while i < stop:
        digit = np.int64(data[i]) - _ZERO
        if 0 <= digit <= 9:
            value = value * 10 + digit
            n_digits += 1
            exponent -= seen_point
        elif data[i] == _POINT and not seen_point:
            seen_point = True
        else:
            return np.nan, False
        i += 1
    if n_digits == 0 or n_digits > MAX_DIGITS or value > _MAX_EXACT:
        return np.nan, False
    number = np.float64(value) / _POWERS[-exponent]
    return -number if is_negative else number, True


@njit(nogil=True, inline="always")
def _may_be_number(data, start, stop):
    """Return whether Python may parse a field as a number: digits, an exponent, nan, inf."""
    byte = data[start]
    if (byte == _PLUS or byte == _MINUS or byte == _POINT) and start + 1 < stop:
        byte = data[start + 1]
    is_digit = 0 <= np.int64(byte) - _ZERO <= 9
    return is_digit or byte == _POINT or (byte | 32) == _LETTER_I or (byte | 32) == _LETTER_N


@njit(nogil=True, inline="always")
def _is_same(data, at, other, length):
    """Return whether two stretches are equal; compares from the end, where contigs differ."""
    for k in range(length - 1, -1, -1):
        if data[at + k] != data[other + k]:
            return False
    return True


@njit(nogil=True, inline="always")
def _find_contig(data, start, stop, table):
    """Return the number of a contig, adding it if it is new; -1 if the table is full."""
    value = _HASH_START
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _HASH_FACTOR
    value = (value ^ (value >> _HASH_SHIFT)) * _HASH_MIX
    value ^= value >> _HASH_SHIFT
    mask = len(table.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while table.slots[slot]:
        contig = table.slots[slot] - 1
        is_likely = table.hashes[contig] == value and table.name_lengths[contig] == stop - start
        if is_likely and _is_same(data, table.name_at[contig], start, stop - start):
            return contig
        slot = (slot + 1) & mask
    contig = table.count[0]
    if contig == len(table.name_at):
        return -1
    table.slots[slot] = contig + 1
    table.hashes[contig] = value
    table.name_at[contig] = start
    table.name_lengths[contig] = stop - start
    table.count[0] = contig + 1
    return contig


@njit(nogil=True, cache=True)
def refill_slots(table):
    """Insert the contigs of an enlarged table by their hashes."""
    mask = len(table.slots) - 1
    for contig in range(table.count[0]):
        slot = np.int64(table.hashes[contig] & np.uint64(mask))
        while table.slots[slot]:
            slot = (slot + 1) & mask
        table.slots[slot] = contig + 1


@njit(nogil=True, inline="always")
def _is_wanted(data, start, stop, features, feature_offsets):
    for k in range(len(feature_offsets) - 1):
        first = feature_offsets[k]
        if feature_offsets[k + 1] - first == stop - start:
            same = True
            for i in range(stop - start):
                if features[first + i] != data[start + i]:
                    same = False
                    break
            if same:
                return True
    return len(feature_offsets) == 1


@njit(nogil=True, inline="always")
def _split_line(data, position, stop, any_blank, last_column, bounds):
    """Fill in the bounds of the fields up to ``last_column``.

    Return their number, the end of the line without carriage return, and its newline.
    """
    n_fields, first, i = 0, position, position
    while i < stop and data[i] != _NEWLINE:
        if data[i] == _TAB or (any_blank and data[i] == _SPACE):
            if not (any_blank and i == first):
                bounds[n_fields, 0], bounds[n_fields, 1] = first, i
                n_fields += 1
            first = i + 1
            if n_fields > last_column:
                break
        i += 1
    while i < stop and data[i] != _NEWLINE:
        i += 1
    line_end = i - (i > position and data[i - 1] == _RETURN)
    if n_fields <= last_column and (not any_blank or first < line_end):
        bounds[n_fields, 0], bounds[n_fields, 1] = first, max(first, line_end)
        n_fields += 1
    return n_fields, line_end, i


@njit(nogil=True, inline="always")
def _store_strand(data, bounds, n_fields, column, row, strands, count):
    strands[row] = 0
    if column >= n_fields or bounds[column, 0] == bounds[column, 1]:
        return
    byte = data[bounds[column, 0]] if bounds[column, 1] - bounds[column, 0] == 1 else _ZERO
    if byte == _PLUS:
        strands[row] = 1
    elif byte == _MINUS:
        strands[row] = -1
    elif byte != _POINT:
        count[1] += 1


@njit(nogil=True, inline="always")
def _store_score(data, bounds, n_fields, column, row, scores, score_at):
    scores[row], score_at[row] = np.nan, -1
    if column >= n_fields:
        return
    at, after = bounds[column, 0], bounds[column, 1]
    if after == at or (after == at + 1 and data[at] == _POINT):
        return
    scores[row], is_certain = _read_decimal(data, at, after)
    if not is_certain:
        score_at[row] = at if _may_be_number(data, at, after) else -2 - at


@njit(nogil=True, cache=True)
def parse_rows(text, position, stop, row, columns, features, feature_offsets, into, table, bounds):
    """Parse rows from ``position`` to ``stop``; return status, position and the next row.

    Parameters
    ----------
    text
        uint8.
    position, stop
        Start of a line, and the end of the last.
    row
        Where in ``into`` the first row goes.
    features, feature_offsets
        Names of the features that are wanted; all if there is none.
    bounds
        int64, shape (MAX_COLUMNS, 2): room for the bounds of a line's fields.
    """
    data, bounds = borrow(text), borrow(bounds)
    strands, scores, score_at = borrow(into.strands), borrow(into.scores), borrow(into.score_at)
    counts = borrow(table.count)
    last = max(columns.end, columns.name, columns.score, columns.strand)
    last = max(last, columns.feature, columns.blocks)
    contig, contig_at, contig_length = -1, 0, -1
    while position < stop:
        n_fields, line_end, newline = _split_line(
            data, position, stop, columns.any_blank, last, bounds
        )
        if _is_left_out(data, position, line_end):
            position = newline + 1
            continue
        if n_fields < min(columns.n_needed, last + 1):
            return WRONG_ROW, position, row
        start = _read_integer(data, bounds[columns.start, 0], bounds[columns.start, 1])
        end = _read_integer(data, bounds[columns.end, 0], bounds[columns.end, 1])
        at, length = bounds[0, 0], bounds[0, 1] - bounds[0, 0]
        if start < columns.first_base or end < start or length == 0:
            return WRONG_ROW, position, row
        if columns.feature >= 0 and not _is_wanted(
            data, bounds[columns.feature, 0], bounds[columns.feature, 1], features, feature_offsets
        ):
            position = newline + 1
            continue
        if length != contig_length or not _is_same(data, contig_at, at, length):
            contig = _find_contig(data, at, at + length, table)
            if contig < 0:
                return TABLE_FULL, position, row
            contig_at, contig_length = at, length
        into.contig_ids[row] = contig
        into.starts[row], into.ends[row] = start - columns.first_base, end
        if len(into.line_at):
            into.line_at[row] = position
        if columns.strand >= 0:
            _store_strand(data, bounds, n_fields, columns.strand, row, strands, counts)
        if columns.score >= 0:
            _store_score(data, bounds, n_fields, columns.score, row, scores, score_at)
        if columns.name >= 0:
            has_name = columns.name < n_fields
            into.name_at[row] = bounds[columns.name, 0] if has_name else position
            length = bounds[columns.name, 1] - bounds[columns.name, 0]
            into.name_lengths[row] = length if has_name else 0
        if columns.blocks >= 0:
            into.block_at[row] = bounds[columns.blocks, 0] if columns.blocks < n_fields else -1
        row += 1
        position = newline + 1
    return DONE, position, row


# Compiled with genoviz/io/files/borrowed.py: cc1df299cd543223
