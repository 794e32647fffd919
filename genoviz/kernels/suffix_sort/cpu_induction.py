"""The places of all suffixes, from the order of the seeds.

Rows are gone through from the first to the last; the suffix a base before a row's, if it is
falling, comes next in the rows of its first base. Then rows are gone through from the last to the
first, and the rising suffixes come next from the end of the rows of theirs.
"""

import numpy as np
from numba import njit

from genoviz.kernels.instructions import prefetch

AHEAD = 32
THREE = np.uint64(3)


@njit(nogil=True, cache=True)
def _base(packed, position):
    return np.int64(packed[position >> 5] >> np.uint64(62 - 2 * (position & 31)) & THREE)


@njit(nogil=True, cache=True)
def _is_exception(marks, near, position):
    word = position >> 5
    if not near[word >> 6] >> np.uint64(word & 63) & np.uint64(1):
        return False
    return (marks[word] >> np.uint64(63 - (position & 31)) & np.uint64(1)) != 0


@njit(nogil=True, cache=True)
def place_before_exceptions(packed, exceptions, rows, heads):
    """Fill the rows of exceptions, and place the bases before them."""
    n = len(exceptions)
    for i in range(n):
        position = exceptions[n - 1 - i]
        rows[i] = position
        before = position - 1
        if before >= 0 and (i + 1 == n or exceptions[n - 2 - i] != before):
            base = _base(packed, before)
            rows[heads[base]] = before
            heads[base] += 1


@njit(nogil=True, cache=True)
def place_before_falling(packed, marks, near, base, first, n_rows, rows, heads):
    """Place the falling suffixes a base before the falling ones of a base, from a row on.

    Return the next row; it is ``heads[base]`` when this base is done.
    """
    row = first
    while row < heads[base] and row < first + n_rows:
        prefetch(packed, (np.int64(rows[min(row + AHEAD, len(rows) - 1)]) - 1) >> 5)
        position = np.int64(rows[row])
        row += 1
        if position == 0:
            continue
        before = position - 1
        other = _base(packed, before)
        is_placed = other >= base
        if base == 0 and other == 0 and _is_exception(marks, near, before):
            is_placed = False
        target = heads[other] if is_placed else row - 1
        rows[target] = before if is_placed else position
        heads[other] += is_placed
    return row


@njit(nogil=True, cache=True)
def place_before_seeds(packed, seeds, first, last, rows, heads):
    """Place the suffixes a base before seeds, which are all falling."""
    for i in range(first, last):
        prefetch(packed, (np.int64(seeds[min(i + AHEAD, len(seeds) - 1)]) - 1) >> 5)
        before = np.int64(seeds[i]) - 1
        base = _base(packed, before)
        rows[heads[base]] = before
        heads[base] += 1


@njit(nogil=True, cache=True)
def place_before_all(packed, marks, near, base, is_rising, last, first, n_rows, rows, tails):
    """Place the rising suffixes a base before those of a base, from a row down.

    ``first`` is the first row of the falling ones of this base; the rising ones go down to
    ``tails[base]``. Return the row after the next one.
    """
    row = last
    lowest = max(first, last - n_rows)
    most = base if is_rising else base - 1
    while row > lowest and (not is_rising or row > tails[base]):
        row -= 1
        prefetch(packed, (np.int64(rows[max(row - AHEAD, 0)]) - 1) >> 5)
        position = np.int64(rows[row])
        if position == 0:
            continue
        before = position - 1
        other = _base(packed, before)
        is_placed = other <= most
        if other == 0 and is_placed and _is_exception(marks, near, before):
            is_placed = False
        target = tails[other] - 1 if is_placed else row
        rows[target] = before if is_placed else position
        tails[other] -= is_placed
    return row


# Compiled with genoviz/kernels/instructions.py: 8dfe7e27c1952e34
