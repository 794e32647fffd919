"""Compiled loops that turn links, paths and walks into handles.

As in :mod:`genoviz.io.graph.gfa_lines`, ``data`` is the text and ``words`` its 8-byte words; an
error returns the position of the wrong line or step in the text.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow
from genoviz.io.graph.gfa_lines import is_line_end
from genoviz.io.graph.gfa_name_loops import (
    MAX_INTEGER_DIGITS,
    NOTHING_WRONG,
    ZERO,
    find_named,
    find_near,
)
from genoviz.io.graph.gfa_name_loops import NodeTable as NodeTable  # stored code names it here

NEWLINE, RETURN, TAB = 10, 13, 9
STAR, COMMA, PLUS, MINUS, SEMICOLON = 42, 44, 43, 45, 59
WALK, PATH_WITH_JUMPS = 1, 2
LINK_FIELDS = 5
LEFT, RIGHT = 60, 62
LETTER_J, LETTER_M, LETTER_W = 74, 77, 87

_HIGH_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_TABS = np.uint64(0x0909090909090909)


@njit(nogil=True, inline="always")
def _find_field_end(data, words, i):
    """Return the position of the next tab or newline, or of the end of the text."""
    n = len(data)
    while i < n:
        if i & 7 == 0 and i + 8 <= n:
            x = words[i >> 3] ^ _TABS
            y = words[i >> 3] ^ _NEWLINES
            if (((x - _ONES) & ~x) | ((y - _ONES) & ~y)) & _HIGH_BITS == 0:
                i += 8
                continue
        if data[i] == TAB or data[i] == NEWLINE:
            return i
        i += 1
    return n


@njit(nogil=True, inline="always")
def _leave_out_return(data, start, end):
    """Return the end of a field without the carriage return at the end of a line."""
    if (end == len(data) or data[end] == NEWLINE) and end > start and data[end - 1] == RETURN:
        return end - 1
    return end


@njit(nogil=True, cache=True)
def parse_links(data, words, lines, first, last, table, edges):
    """Write the edges (uint32, shape (n, 2)) of links ``first`` to ``last`` of those at ``lines``.

    Jumps are links whose distance is ignored. Returns the position of the first wrong line, or -1,
    the number of links with an overlap other than ``*`` and ``0M`` (a link without the field has
    none), and the number of links with tags.
    """
    data, words = borrow(data), borrow(words)
    lines, edges = borrow(lines), borrow(edges)
    prefix, ranks, slots = borrow(table.prefix), borrow(table.ranks), borrow(table.slots)
    names, offsets = borrow(table.names), borrow(table.name_offsets)
    first_number = table.first_number
    n = len(data)
    n_overlaps, n_tagged = 0, 0
    node = 0
    for k in range(first, last):
        line = lines[k]
        i = line + 1
        for side in range(2):
            if i >= n or data[i] != TAB:
                return line, n_overlaps, n_tagged
            end = _find_field_end(data, words, i + 1)
            if end + 1 >= n or data[end] != TAB:
                return line, n_overlaps, n_tagged
            is_bare = side == 1 and is_line_end(data, end + 2)
            if not is_bare and (end + 2 >= n or data[end + 2] != TAB):
                return line, n_overlaps, n_tagged
            node = find_named(
                data, i + 1, end, node, prefix, first_number, ranks, slots, names, offsets
            )
            sign = data[end + 1]
            if node < 0 or (sign != PLUS and sign != MINUS):
                return line, n_overlaps, n_tagged
            edges[k, side] = node << 1 | (sign == MINUS)
            i = end + 2
        if is_line_end(data, i):
            continue
        field_end = _find_field_end(data, words, i + 1)
        n_tagged += field_end < n and data[field_end] == TAB
        end = _leave_out_return(data, i + 1, field_end)
        n_bytes = end - i - 1
        if n_bytes == 0:
            return line, n_overlaps, n_tagged
        is_blunt = (n_bytes == 1 and data[i + 1] == STAR) or (
            n_bytes == 2 and data[i + 1] == ZERO and data[i + 2] == LETTER_M
        )
        n_overlaps += not is_blunt and data[line] != LETTER_J
    return NOTHING_WRONG, n_overlaps, n_tagged


@njit(nogil=True, cache=True)
def find_link_tags(data, words, lines, first, last, starts, sizes):
    """Store where the tags of valid links ``first`` to ``last`` begin, and their bytes; int64."""
    data, words = borrow(data), borrow(words)
    n = len(data)
    for k in range(first, last):
        i, n_fields = lines[k] + 1, 0
        while n_fields < LINK_FIELDS and i < n and data[i] == TAB:
            i = _find_field_end(data, words, i + 1)
            n_fields += 1
        start, end = i + 1, i
        while end < n and data[end] == TAB:
            end = _find_field_end(data, words, end + 1)
        starts[k] = start
        sizes[k] = max(_leave_out_return(data, start, end) - start, 0)


@njit(nogil=True, cache=True)
def copy_link_tags(data, starts, first, last, offsets, tags):
    """Copy the tags of links ``first`` to ``last`` to their places."""
    data = borrow(data)
    for k in range(first, last):
        begin = offsets[k]
        for i in range(offsets[k + 1] - begin):
            tags[begin + i] = data[starts[k] + i]


@njit(nogil=True, inline="always")
def _all_blunt(data, start, stop):
    """Return whether an overlaps field has only ``*`` and ``0M``, or nothing."""
    if stop == start:
        return True
    i = start
    while i < stop:
        if data[i] == STAR:
            i += 1
        elif i + 1 < stop and data[i] == ZERO and data[i + 1] == LETTER_M:
            i += 2
        else:
            return False
        if i < stop:
            if data[i] != COMMA or i + 1 == stop:
                return False
            i += 1
    return True


@njit(nogil=True, cache=True)
def find_path_fields(data, words, lines, first, last, fields, has_overlaps):
    """Find the steps of the P and W lines ``first`` to ``last`` of those at ``lines``.

    Writes where the steps begin and end to ``fields`` (int64, shape (n, 2)) and whether a path
    has overlaps other than ``*`` and ``0M`` to ``has_overlaps`` (bool). ``*`` is no step.
    Returns the position of the first wrong line, or -1.
    """
    data, words = borrow(data), borrow(words)
    for k in range(first, last):
        line = lines[k]
        is_walk = data[line] == LETTER_W
        i = line + 1
        for _ in range(5 if is_walk else 1):
            if i >= len(data) or data[i] != TAB:
                return line
            i = _find_field_end(data, words, i + 1)
        if i >= len(data) or data[i] != TAB:
            return line
        end = _find_field_end(data, words, i + 1)
        if not is_walk:
            if end < len(data) and data[end] == TAB:
                after = _find_field_end(data, words, end + 1)
                after = _leave_out_return(data, end + 1, after)
                has_overlaps[k] = not _all_blunt(data, end + 1, after)
        end = _leave_out_return(data, i + 1, end)
        is_empty = end == i + 2 and data[i + 1] == STAR
        fields[k, 0] = i + 1
        fields[k, 1] = i + 1 if is_empty else end
    return NOTHING_WRONG


@njit(nogil=True, inline="always")
def _ends_step(data, i, has_jumps):
    """Return whether there is a comma or, with jumps, a semicolon after an orientation."""
    if data[i] == COMMA:
        return True
    return has_jumps and data[i] == SEMICOLON and (data[i - 1] == PLUS or data[i - 1] == MINUS)


@njit(nogil=True, inline="always")
def _find_first_step(data, piece):
    """Return the position of the first step that begins in a piece."""
    i, stop = piece[0], piece[1]
    if i > piece[2]:
        if piece[4] == WALK:
            while i < stop and data[i] != LEFT and data[i] != RIGHT:
                i += 1
        else:
            while i < stop and not _ends_step(data, i - 1, piece[4] == PATH_WITH_JUMPS):
                i += 1
    return i


@njit(nogil=True, cache=True)
def _parse_numbered(data, piece, prefix, first_number, ranks, steps, k, k_stop):
    stop, end, is_walk = piece[1], piece[3], piece[4] == WALK
    has_jumps = piece[4] == PATH_WITH_JUMPS
    forward, reverse = (RIGHT, LEFT) if is_walk else (PLUS, MINUS)
    i = _find_first_step(data, piece)
    while i < stop:
        step = i
        i += is_walk
        for j in range(len(prefix)):
            if i >= end or data[i] != prefix[j]:
                return step
            i += 1
        digits = i
        value = 0
        while i < end:
            digit = np.int64(data[i]) - ZERO
            if digit < 0 or digit > 9:
                break
            value = value * 10 + digit
            i += 1
        value -= first_number
        n_digits = i - digits
        sign_at = step if is_walk else i
        if value < 0 or value >= len(ranks) or n_digits == 0 or sign_at >= end or k >= k_stop:
            return step
        if n_digits > MAX_INTEGER_DIGITS or (data[digits] == ZERO and n_digits != 1):
            return step
        node = np.int64(ranks[value]) - 1
        sign = data[sign_at]
        if node < 0 or (sign != forward and sign != reverse):
            return step
        steps[k] = node << 1 | (sign == reverse)
        k += 1
        if is_walk:
            if i < end and data[i] != LEFT and data[i] != RIGHT:
                return step
        else:
            i += 1
            if i < end and (not _ends_step(data, i, has_jumps) or i + 1 == end):
                return step
            i += 1
    return NOTHING_WRONG if k == k_stop else stop


@njit(nogil=True, cache=True)
def _parse_hashed(data, piece, slots, names, name_offsets, steps, k, k_stop):
    stop, end, is_walk = piece[1], piece[3], piece[4] == WALK
    has_jumps = piece[4] == PATH_WITH_JUMPS
    forward, reverse = (RIGHT, LEFT) if is_walk else (PLUS, MINUS)
    i = _find_first_step(data, piece)
    node = 0
    while i < stop:
        step = i
        i += is_walk
        name = i
        if is_walk:
            while i < end and data[i] != LEFT and data[i] != RIGHT:
                i += 1
        else:
            while i < end and not _ends_step(data, i, has_jumps):
                i += 1
        name_end = i if is_walk else i - 1
        sign = data[step if is_walk else name_end]
        if name_end <= name or k >= k_stop or (sign != forward and sign != reverse):
            return step
        node = find_near(data, name, name_end, node, slots, names, name_offsets)
        if node < 0 or (not is_walk and i + 1 == end):
            return step
        steps[k] = node << 1 | (sign == reverse)
        k += 1
        i += not is_walk
    return NOTHING_WRONG if k == k_stop else stop


@njit(nogil=True, cache=True)
def parse_steps(data, pieces, first, last, table, step_offsets, steps):
    """Write the handles of all steps that begin in the pieces ``first`` to ``last``.

    A row of ``pieces`` (int64, shape (n, 5)) has the bytes ``start`` to ``stop`` of the steps of a
    path, the bounds of all its steps, and its kind: path (0), walk (1), or path of a file with
    jumps (2), which separates steps by commas and semicolons. The steps of piece ``k`` go to
    ``steps[step_offsets[k]:step_offsets[k + 1]]``. Returns the position of the first wrong step, or
    -1.
    """
    data, pieces, steps = borrow(data), borrow(pieces), borrow(steps)
    prefix, ranks, slots = borrow(table.prefix), borrow(table.ranks), borrow(table.slots)
    names, name_offsets = borrow(table.names), borrow(table.name_offsets)
    first_number = table.first_number
    is_numbered = len(ranks) > 0
    for p in range(first, last):
        k, k_stop = step_offsets[p], step_offsets[p + 1]
        piece = pieces[p]
        if is_numbered:
            wrong = _parse_numbered(data, piece, prefix, first_number, ranks, steps, k, k_stop)
        else:
            wrong = _parse_hashed(data, piece, slots, names, name_offsets, steps, k, k_stop)
        if wrong >= 0:
            return wrong
    return NOTHING_WRONG


# Compiled with borrowed.py, gfa_lines.py, gfa_name_loops.py: 6991f431eaed8ee7
