"""Compiled loops over a block of FASTA text: headers, letters, soft masking.

A block may begin and end anywhere; headers are first found in all blocks. Line lengths are not
given: each run of letters is assumed to be as long as the one before, and checked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

_TAB, _NEWLINE, _RETURN, _SPACE, _HEADER = 9, 10, 13, 32, 62
_A, _C, _G, _T, _N = 65, 67, 71, 84, 78
_TO_UPPER = 0xDF
_LOOK = 128
_VECTOR = 32
_MAX_STRETCH = 1024


@njit(nogil=True, cache=True)
def find_headers(text, first, stop):
    """Return the positions of lines that begin with ``>`` in part of the text; int64, ascending."""
    letters = borrow(text)
    n_possible = 0
    for low in range(first, stop, _LOOK):
        if low + _LOOK > stop or _has_header(letters, low):
            for k in range(low, min(low + _LOOK, stop)):
                n_possible += letters[k] == _HEADER
    found = np.empty(n_possible, np.int64)
    n = 0
    for low in range(first, stop, _LOOK):
        if low + _LOOK <= stop and not _has_header(letters, low):
            continue
        for k in range(low, min(low + _LOOK, stop)):
            if letters[k] == _HEADER and (k == 0 or letters[k - 1] == _NEWLINE):
                found[n] = k
                n += 1
    return found[:n]


@njit(nogil=True, cache=True)
def _has_header(text, first):
    found = False
    for k in range(_LOOK):
        found |= text[np.uint64(first + k)] == _HEADER
    return found


@njit(nogil=True, cache=True)
def find_line_ends(text, starts, ends):
    """Store the end of the line that begins at each start: its newline, or the end of the text."""
    for row in range(len(starts)):
        at = starts[row]
        while at < len(text) and text[at] != _NEWLINE:
            at += 1
        ends[row] = at


@njit(nogil=True, cache=True)
def count_letters(text, first, stop, starts, ends, n_before):
    """Return the number of letters in a block; headers are from starts to ends.

    ``n_before`` gets the number of letters before each header that begins in the block.
    """
    row = np.searchsorted(ends, first)
    letters = borrow(text)
    at, n = first, 0
    while at < stop:
        is_header = row < len(starts) and starts[row] < stop
        high = starts[row] if is_header else stop
        while at < high:
            if at + _LOOK <= high:
                n += _count_here(letters, at)
            else:
                for k in range(at, high):
                    n += letters[k] > _SPACE
            at += _LOOK
        at = high
        if is_header:
            if starts[row] >= first:
                n_before[row] = n
            at = ends[row]
            row += 1
    return n


@njit(nogil=True, cache=True)
def _count_here(text, first):
    """Count the letters among some bytes, in parallel within a vector."""
    n = np.uint8(0)
    for k in range(_LOOK):
        n += np.uint8(text[np.uint64(first + k)] > _SPACE)
    return n


@njit(nogil=True, cache=True)
def copy_letters(text, first, stop, starts, ends, upper_case, bases, n, bounds):
    """Copy the letters of a block in upper case to ``bases[n:]``.

    ``bounds`` has room for one more than the letters, and gets alternating starts and ends of
    soft-masked stretches. Returns the number of bounds, and the position of the first wrong letter
    in the text, or -1.
    """
    n_stop = n + len(bounds) - 1
    row = np.searchsorted(ends, first)
    at, n_bounds, width, wrong = first, 0, 0, -1
    # Borrowed references: threads that count references to the same arrays contend.
    letters, table, target, found = borrow(text), borrow(upper_case), borrow(bases), borrow(bounds)
    while at < stop and wrong < 0:
        is_header = row < len(starts) and starts[row] < stop
        high = starts[row] if is_header else stop
        if at < high:
            n, n_bounds, width, wrong = _copy_part(
                letters, at, high, table, target, n, n_stop, found, n_bounds, width
            )
        at = ends[row] if is_header else stop
        row += is_header
    if n_bounds & 1:
        bounds[n_bounds] = n
        n_bounds += 1
    return n_bounds, wrong


@njit(nogil=True, cache=True)
def _copy_part(text, at, stop, upper_case, bases, n, n_stop, bounds, n_bounds, width):
    line_start = at if at == 0 or text[at - 1] == _NEWLINE else -1
    while at < stop:
        if text[at] <= _SPACE:
            if text[at] == _NEWLINE:
                line_start = at + 1
            elif text[at] != _SPACE and not _TAB <= text[at] <= _RETURN:
                return n, n_bounds, width, at
            at += 1
            continue
        # Surplus bytes are overwritten later, as long as they are in this block's own part.
        if width >= _VECTOR and at + width <= stop and n + width <= n_stop:
            is_plain, any_case, all_case = _copy_vector(text, at, bases, n)
            for k in range(_VECTOR, width, _VECTOR):
                k = min(k, width - _VECTOR)
                plain_here, any_here, all_here = _copy_vector(text, at + k, bases, n + k)
                is_plain &= plain_here
                any_case |= any_here
                all_case &= all_here
            if is_plain and any_case == all_case:
                if (any_case >> 5) != (n_bounds & 1):
                    bounds[n_bounds] = n
                    n_bounds += 1
                at += width
                n += width
                continue
        last = min(stop, at + _MAX_STRETCH)
        while at < last and text[at] > _SPACE:
            letter = text[at]
            upper = upper_case[letter]
            if upper == 0:
                return n, n_bounds, width, at
            if ((letter >> 5) & 1) != (n_bounds & 1):
                bounds[n_bounds] = n
                n_bounds += 1
            bases[n] = upper
            n += 1
            at += 1
        if at < stop and text[at] > _SPACE:
            width = _MAX_STRETCH
        elif line_start >= 0:
            width = min(at - line_start, _MAX_STRETCH)
    return n, n_bounds, width, -1


@njit(nogil=True, cache=True)
def _copy_vector(text, at, bases, n):
    """Copy some letters; return whether all are A C G T N, and OR and AND of their case bits.

    Their number is fixed, so the loop compiles to vector code without a remainder.
    """
    is_plain = True
    any_case, all_case = np.uint8(0), np.uint8(255)
    for k in range(_VECTOR):
        letter = text[np.uint64(at + k)]
        upper = letter & np.uint8(_TO_UPPER)
        bases[np.uint64(n + k)] = upper
        is_plain &= (upper == _A) | (upper == _C) | (upper == _G) | (upper == _T) | (upper == _N)
        any_case |= letter
        all_case &= letter
    return is_plain, any_case & np.uint8(32), all_case & np.uint8(32)


# Compiled with genoviz/io/files/borrowed.py: cc1df299cd543223
