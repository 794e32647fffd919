"""The bins of an index of BAM or text, gone through in a compiled loop."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow


@njit(nogil=True, inline="always")
def _read(data, position, n_bytes):
    """Return an integer of so many bytes, the least first; one of 8 bytes may be negative."""
    value = np.int64(0)
    for k in range(n_bytes):
        value |= np.int64(data[position + k]) << np.int64(8 * k)
    return value


@njit(nogil=True, inline="always")
def _is_place(offset, n_bytes):
    """Tell whether a virtual offset lies within a file."""
    return 0 <= offset >> 16 <= n_bytes


@njit(nogil=True, cache=True)
def find_damage(text, position, n_contigs, n_bins, has_lines, n_bytes):
    """Return where an index is not as it has to be, or -1.

    Parameters
    ----------
    text
        uint8: the index, decompressed.
    position
        Where the first contig's bins begin.
    n_contigs
        Number of contigs.
    n_bins
        Number of bins of a contig; bin ``n_bins + 1`` has counts of reads in place of offsets.
    has_lines
        Whether each contig has a linear index behind its bins (BAI, TBI); else each bin has an
        offset (CSI).
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
