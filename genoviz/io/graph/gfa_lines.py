"""Kernels that find the lines of a GFA text and measure and copy its segments.

All take the text as ``data`` (uint8, read-only) and its whole 8-byte words as ``words``
(uint64 view of the same memory), and write results into the caller's arrays. The text is not
trusted: every read is bounded, and a format error returns the position of the first byte of the
wrong line.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

NEWLINE, RETURN, TAB = 10, 13, 9
STAR, HASH, COMMA = 42, 35, 44
LETTER_J, LETTER_L, LETTER_P, LETTER_S, LETTER_W = 74, 76, 80, 83, 87
PLUS, MINUS, SEMICOLON = 43, 45, 59
PATH, WALK, PATH_WITH_JUMPS = 0, 1, 2
MAX_INTEGER_DIGITS = 18
MAX_NODE_LENGTH = 10**12
NOTHING_WRONG = -1
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_COMMAS = np.uint64(0x2C2C2C2C2C2C2C2C)
_ARROWS = np.uint64(0x3C3C3C3C3C3C3C3C)
_ARROW_BITS = np.uint64(0xFDFDFDFDFDFDFDFD)
_ONES = np.uint64(0x0101010101010101)
_BYTE_SHIFT = np.uint64(7)
_SUM_SHIFT = np.uint64(56)


@njit(nogil=True, inline="always")
def is_line_end(data, i):
    """Return whether the text or the line ends at ``i``, with or without a carriage return."""
    n = len(data)
    if i >= n or data[i] == NEWLINE:
        return True
    return data[i] == RETURN and (i + 1 == n or data[i + 1] == NEWLINE)


@njit(nogil=True, inline="always")
def _has_record_type(data, i):
    """Return whether the line at ``i`` is empty, a comment, or starts with one capital letter."""
    if is_line_end(data, i) or data[i] == HASH:
        return True
    if data[i] < 65 or data[i] > 90:
        return False
    return is_line_end(data, i + 1) or data[i + 1] == TAB


@njit(nogil=True, inline="always")
def _first_line(data):
    """Return the position of the first line, after a byte order mark."""
    return 3 if len(data) > 2 and (data[0], data[1], data[2]) == (0xEF, 0xBB, 0xBF) else 0


@njit(nogil=True, inline="always")
def _has_newline(word):
    """Return whether one of the 8 bytes of a word is a newline."""
    x = word ^ _NEWLINES
    return (((x & _LOW_BITS) + _LOW_BITS) | x | _LOW_BITS) != _ALL_BITS


@njit(nogil=True, cache=True)
def count_lines(data, words, start, stop, counts):
    """Count the lines of one block by their first byte; ``counts`` is int32, shape (256,).

    A line belongs to the block ``data[start:stop]`` with the newline before it; ``start`` is a
    multiple of 8. Returns the position of the first line without a record type, or -1.
    """
    data, words, counts = borrow(data), borrow(words), borrow(counts)
    n = len(data)
    wrong = NOTHING_WRONG
    first = _first_line(data)
    if start == 0 and n > first:
        counts[data[first]] += 1
        if not _has_record_type(data, first):
            wrong = first
    i = start
    while i < stop:
        if i + 8 <= stop and not _has_newline(words[i >> 3]):
            i += 8
            continue
        for j in range(i, min(i + 8, stop)):
            if data[j] == NEWLINE and j + 1 < n:
                counts[data[j + 1]] += 1
                if wrong < 0 and not _has_record_type(data, j + 1):
                    wrong = j + 1
        i += 8
    return wrong


@njit(nogil=True, inline="always")
def _keep_line(data, line, segments, links, paths, ranks):
    first = data[line]
    kind = -1
    if first == LETTER_S and ranks[0] < len(segments):
        segments[ranks[0]] = line
        kind = 0
    elif (first == LETTER_L or first == LETTER_J) and ranks[1] < len(links):
        links[ranks[1]] = line
        kind = 1
    elif (first == LETTER_P or first == LETTER_W) and ranks[2] < len(paths):
        paths[ranks[2]] = line
        kind = 2
    if kind >= 0:
        ranks[kind] += 1


@njit(nogil=True, cache=True)
def find_lines(data, words, start, stop, segments, links, paths, ranks):
    """Store the positions of the S lines, the L and J lines, and the P and W lines of a block.

    ``segments``, ``links`` and ``paths`` are int64; ``ranks`` (int64, shape (3,)) is the index of
    this block's first line in each. Lines beyond the number that :func:`count_lines` found are
    left out: the file may change in between.
    """
    data, words = borrow(data), borrow(words)
    n = len(data)
    if start == 0 and n > _first_line(data):
        _keep_line(data, _first_line(data), segments, links, paths, ranks)
    i = start
    while i < stop:
        if i + 8 <= stop and not _has_newline(words[i >> 3]):
            i += 8
            continue
        for j in range(i, min(i + 8, stop)):
            if data[j] == NEWLINE and j + 1 < n:
                _keep_line(data, j + 1, segments, links, paths, ranks)
        i += 8


@njit(nogil=True, inline="always")
def _read_length_tag(data, i, known):
    """Return the length of the ``LN`` tag that may be at ``i``: ``known`` if none, -1 if wrong."""
    n = len(data)
    if i + 3 > n or data[i] != LETTER_L or data[i + 1] != 78 or data[i + 2] != 58:
        return known
    if i + 5 > n or data[i + 3] != 105 or data[i + 4] != 58:
        return -1
    i += 5
    value = 0
    first = i
    while i < n and 48 <= data[i] <= 57 and i - first < MAX_INTEGER_DIGITS:
        value = value * 10 + (data[i] - 48)
        i += 1
    ends = is_line_end(data, i) or data[i] == TAB
    if i == first or not ends or value == 0 or value > MAX_NODE_LENGTH:
        return -1
    return value if known in (0, value) else -1


@njit(nogil=True, inline="always")
def _find_tag_end(data, i):
    """Return the end of the tag at ``i``."""
    while not is_line_end(data, i) and data[i] != TAB:
        i += 1
    return i


@njit(nogil=True, inline="always")
def _is_length_tag(data, i):
    return i + 3 <= len(data) and data[i] == LETTER_L and data[i + 1] == 78 and data[i + 2] == 58


@njit(nogil=True, cache=True)
def measure_segments(
    data, lines, first, last, name_lengths, node_lengths, sequence_lengths, tag_lengths
):
    """Measure the segments ``first`` to ``last`` of the S lines at ``lines``.

    Writes the bytes of each name, the bases of each node (0 if neither sequence nor ``LN`` gives
    them), the bytes of its tags without ``LN``, with tabs between them, and, unless
    ``sequence_lengths`` is empty, the bytes of each sequence (0 for ``*``), all int64. Returns the
    position of the first wrong line, or -1.
    """
    data, lines = borrow(data), borrow(lines)
    n = len(data)
    with_sequences = len(sequence_lengths) > 0
    for k in range(first, last):
        line = lines[k]
        i = line + 1
        if i >= n or data[i] != TAB:
            return line
        i += 1
        name = i
        while i < n and data[i] >= 32 and data[i] != 127:
            if data[i] == 44 and (data[i - 1] == 43 or data[i - 1] == 45):
                return line
            i += 1
        if i == name or i >= n or data[i] != TAB:
            return line
        name_lengths[k] = i - name
        i += 1
        sequence = i
        while i < n and (97 <= (data[i] | 32) <= 122 or data[i] == 61 or data[i] == 46):
            i += 1
        n_bases = i - sequence
        if n_bases == 0:
            if i >= n or data[i] != STAR:
                return line
            i += 1
        if with_sequences:
            sequence_lengths[k] = n_bases
        n_tag_bytes = -1
        while not is_line_end(data, i):
            if data[i] == TAB:
                n_bases = _read_length_tag(data, i + 1, n_bases)
                if n_bases < 0:
                    return line
                tag = i + 1
                i = _find_tag_end(data, tag)
                if i > tag and not _is_length_tag(data, tag):
                    n_tag_bytes += 1 + i - tag
            else:
                return line
        tag_lengths[k] = max(n_tag_bytes, 0)
        node_lengths[k] = n_bases
    return NOTHING_WRONG


@njit(nogil=True, cache=True)
def copy_segments(
    data,
    lines,
    first,
    last,
    name_offsets,
    names,
    node_lengths,
    sequence_offsets,
    sequences,
    tag_offsets,
    tags,
):
    """Copy names, tags without ``LN``, and sequences unless ``sequences`` is empty.

    ``node_lengths`` are the bases of each node, equal to the bytes of its sequence, if it has one.
    Whatever does not fit is left out: the file may change in between.
    """
    data, lines, names, node_lengths = (
        borrow(data),
        borrow(lines),
        borrow(names),
        borrow(node_lengths),
    )
    sequences, tags = borrow(sequences), borrow(tags)
    n = len(data)
    with_sequences = len(sequences) > 0
    for k in range(first, last):
        source = lines[k] + 2
        start = name_offsets[k]
        n_bytes = name_offsets[k + 1] - start
        for i in range(n_bytes):
            names[start + i] = data[source + i]
        source += n_bytes + 1
        if with_sequences:
            start = sequence_offsets[k]
            for i in range(sequence_offsets[k + 1] - start):
                sequences[start + i] = data[source + i]
        start, stop = tag_offsets[k], tag_offsets[k + 1]
        if stop == start:
            continue
        # The end of a sequence of maybe thousands of bases is not searched again.
        source += 1 if data[source] == STAR else node_lengths[k]
        # If there is no LN and no empty tag, the tags fill the line to its end.
        if source + stop - start < n and is_line_end(data, source + 1 + stop - start):
            for i in range(stop - start):
                tags[start + i] = data[source + 1 + i]
        else:
            _copy_tags(data, source, start, stop, tags)


@njit(nogil=True, inline="always")
def _copy_tags(data, i, place, stop, tags):
    """Copy the tags after the tab at ``i`` to ``tags[place:stop]``, with tabs between them."""
    n = place
    while not is_line_end(data, i):
        tag = i + 1
        i = _find_tag_end(data, tag)
        if i == tag or _is_length_tag(data, tag):
            continue
        if n > place and n < stop:
            tags[n] = TAB
            n += 1
        for k in range(tag, min(i, tag + stop - n)):
            tags[n] = data[k]
            n += 1


@njit(nogil=True, inline="always")
def _count_bytes(data, words, start, stop, wanted, bits):
    """Count the bytes of ``data[start:stop]`` that equal those of ``wanted`` under the mask."""
    n = 0
    i = start
    byte = np.uint8(wanted & np.uint64(0xFF))
    mask = np.uint8(bits & np.uint64(0xFF))
    while i < stop and i & 7:
        n += (data[i] & mask) == byte
        i += 1
    n_words = max(stop - i, 0) >> 3
    for k in range(i >> 3, (i >> 3) + n_words):
        x = (words[k] & bits) ^ wanted
        found = ~(((x & _LOW_BITS) + _LOW_BITS) | x | _LOW_BITS)
        n += np.int64(((found >> _BYTE_SHIFT) * _ONES) >> _SUM_SHIFT)
    for j in range(i + 8 * n_words, stop):
        n += (data[j] & mask) == byte
    return n


@njit(nogil=True, inline="always")
def _ends_step(data, i):
    """Return whether there is a comma, or a semicolon after an orientation: a jump."""
    return data[i] == COMMA or (
        data[i] == SEMICOLON and (data[i - 1] == PLUS or data[i - 1] == MINUS)
    )


@njit(nogil=True, cache=True)
def count_steps(data, words, pieces, first, last, counts):
    """Count the steps that begin in each piece of a path.

    The pieces are those of :func:`genoviz.io.graph.gfa_parser.parse_steps`; ``data`` is the text,
    ``words`` its 8-byte words; ``counts`` is int64, shape (n_pieces,).
    """
    data, words = borrow(data), borrow(words)
    for k in range(first, last):
        start, stop = pieces[k, 0], pieces[k, 1]
        if pieces[k, 4] == PATH_WITH_JUMPS:
            counts[k] = start == pieces[k, 2]
            for i in range(max(start, pieces[k, 2] + 1), stop):
                counts[k] += _ends_step(data, i - 1)
        elif pieces[k, 4] == WALK:
            counts[k] = _count_bytes(data, words, start, stop, _ARROWS, _ARROW_BITS)
        elif start == pieces[k, 2]:
            counts[k] = 1 + _count_bytes(data, words, start, stop - 1, _COMMAS, _ALL_BITS)
        else:
            counts[k] = _count_bytes(data, words, start - 1, stop - 1, _COMMAS, _ALL_BITS)


# Compiled with genoviz/io/files/borrowed.py: cc1df299cd543223
