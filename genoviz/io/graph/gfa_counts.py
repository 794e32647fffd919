"""Counting the steps of paths and walks, eight bytes at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

_COMMAS = np.uint64(0x2C2C2C2C2C2C2C2C)
_ARROWS = np.uint64(0x3C3C3C3C3C3C3C3C)
_ARROW_BITS = np.uint64(0xFDFDFDFDFDFDFDFD)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_BYTE_SHIFT = np.uint64(7)
_SUM_SHIFT = np.uint64(56)


@njit(nogil=True, inline="always")
def _count_bytes(data, words, start, stop, wanted, bits):
    """Count the bytes of ``data[start:stop]`` that, masked by ``bits``, are those of ``wanted``."""
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


@njit(nogil=True, cache=True)
def count_steps(data, words, pieces, first, last, counts):
    """Count the steps that begin in each piece of a path.

    The pieces are those of :func:`genoviz.io.graph.gfa_parser.parse_steps`; ``data`` is the text,
    ``words`` its 8-byte words; ``counts`` is int64, shape (n_pieces,).
    """
    data, words = borrow(data), borrow(words)
    for k in range(first, last):
        start, stop = pieces[k, 0], pieces[k, 1]
        if pieces[k, 4]:
            counts[k] = _count_bytes(data, words, start, stop, _ARROWS, _ARROW_BITS)
        elif start == pieces[k, 2]:
            counts[k] = 1 + _count_bytes(data, words, start, stop - 1, _COMMAS, _ALL_BITS)
        else:
            counts[k] = _count_bytes(data, words, start - 1, stop - 1, _COMMAS, _ALL_BITS)
