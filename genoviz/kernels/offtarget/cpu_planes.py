"""Search by bit planes of mismatches, in all windows or in those that match the pattern.

A word compares 64 windows at once, one a bit (bit slicing). The mismatches of a letter form a
plane, one bit a position. Shifted by the letter's place in the guide, it is a row of mismatches.
Full adders sum the rows of a guide, so that the count of each window stands in a column::

    position         0 1 2 3 4 5
    genome           A C G T T G
    plane, not G     1 1 0 1 1 0
    plane, not T     1 1 1 0 0 1

    guide GT         window at position
                     0 1 2 3 4
    row of G         1 1 0 1 1     the plane as it is: G is at place 0
    row of T         1 1 0 0 1     the plane shifted by one: T is at place 1
    ones (xor)       0 0 0 1 0
    twos (and)       1 1 0 0 1     2 mismatches at 0, 1 and 4; 1 at 3; none at 2

Of three rows, ``a ^ b ^ c`` is the sum bit and the majority the carry. A count is above the limit
if it overflows when ``2^n - 1 - limit`` is added. If the pattern matches few windows, only those
are gathered: 64 windows of 64 bits are transposed, so that row ``k`` has base ``k`` of each.

Rows of mismatches, ``LANES`` words each, are contiguous in one array. A guide is the list of its
letters' rows, padded with a row of zeros to a multiple of ``GROUP``. Indices are unsigned, so that
loops vectorise, and rows begin at cache lines.

Blocks are shared among Python's threads, not by ``prange``: around a parallel loop, Numba makes
four functions, and optimises the whole search in each of them, which took most of a first search.
Tuples of arguments are plain, because Numba's cache index names the classes of arguments: a version
without such a class could not read it.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numba import get_num_threads, njit

from genoviz.kernels.instructions import count_ones, lowest_bit
from genoviz.kernels.offtarget.cpu_adders import (
    VECTOR_WORDS,
    load_bits,
    make_finder,
    make_shifter,
    make_swapper,
)
from genoviz.kernels.offtarget.plan import GROUP

MAX_GROUPS = 5
LANES = 32
STARTS_AT_ONCE = LANES * 64
ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
LAST_BIT, WORD_SHIFT = np.uint64(63), np.uint64(6)
LOW_HALF, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
N_LANES, N_VECTOR_WORDS = np.uint64(LANES), np.uint64(VECTOR_WORDS)

_find_1, _find_2, _find_3, _find_4, _find_5 = (
    make_finder(GROUP * n_groups, LANES) for n_groups in range(1, MAX_GROUPS + 1)
)
_shift_row = make_shifter(LANES)
_swap_far, _swap_near = make_swapper(8, LANES), make_swapper(1, LANES)


def search_blocks(search, *arguments):
    """Call ``search(*arguments, block)`` for all blocks, in all threads."""
    _, _, _, n_found, _ = arguments[-1]
    with ThreadPoolExecutor(get_num_threads()) as pool:  # starts no more threads than blocks
        list(pool.map(partial(search, *arguments), range(len(n_found))))


@njit(nogil=True, cache=True)
def search_densely(
    planes, first_word, block_words, length, rows_of_guides, pattern, max_mismatches, hits, block
):
    """Search all windows of a block."""
    positions, guide_ids, mismatches, n_found, counts = hits
    low, high, other, valid = planes
    masks, row_keys, letters, n_groups = rows_of_guides
    pattern_masks, pattern_places = pattern
    n_wide = LANES + length // 64 + 1
    first = first_word + block * block_words
    stop = min(first + block_words, len(valid))
    misfits = np.empty(len(masks) * n_wide, np.uint64)
    rows = _aligned_zeros((len(row_keys) + 1) * LANES)
    fits, few = _aligned_zeros(LANES), _aligned_zeros(LANES)
    no_list = np.empty(0, np.uint64)
    room = positions[block], guide_ids[block], mismatches[block], counts[block]
    n = np.int64(0)
    for word in range(first, stop, LANES):
        _read_valid(valid, word, stop, fits)
        if not _any_bit(fits):
            continue
        _require_pattern(low, high, other, word, pattern_masks, pattern_places, fits)
        if not _any_bit(fits):
            continue
        _fill_planes(low, high, other, word, masks, n_wide, misfits)
        _shift_rows(misfits, n_wide, length, row_keys, rows)
        n = _search_rows(
            rows, letters, n_groups, fits, few, max_mismatches, room, n, word << 6, no_list
        )
    n_found[block] = n


@njit(nogil=True, cache=True)
def search_pam_first(
    planes, first_word, block_words, window, rows_of_guides, pattern, max_mismatches, hits, block
):
    """Search the windows that match the pattern; most words have at most ``4 n_fours`` of their 64.

    ``window`` is a tuple: the first place with a letter that counts in any guide, the number of
    places up to the last one, and ``n_fours``.
    """
    positions, guide_ids, mismatches, n_found, counts = hits
    low, high, other, valid = planes
    span_start, span, n_fours = window
    masks, row_keys, letters, n_groups = rows_of_guides
    pattern_masks, pattern_places = pattern
    first = first_word + block * block_words
    stop = min(first + block_words, len(valid))
    rows = _aligned_zeros((len(row_keys) + 1) * LANES)
    fits, few = _aligned_zeros(LANES), _aligned_zeros(LANES)
    is_listed = _aligned_zeros(LANES)
    starts = np.zeros(STARTS_AT_ONCE + 4 * n_fours + 64, np.uint64)
    windows, others = _aligned_zeros(64 * LANES), _aligned_zeros(64 * LANES)
    room = positions[block], guide_ids[block], mismatches[block], counts[block]
    n = n_starts = np.int64(0)
    has_others = False
    for word in range(first, stop, LANES):
        _read_valid(valid, word, stop, fits)
        _require_pattern(low, high, other, word, pattern_masks, pattern_places, fits)
        has_others |= _has_others(other, word, span_start)
        for k in range(min(LANES, stop - word)):
            n_starts = _list_starts(fits[k], word + k, n_fours, starts, n_starts)
            if n_starts + 64 <= STARTS_AT_ONCE and word + k + 1 < stop:
                continue
            _gather_windows(low, high, starts, n_starts, span_start, windows)
            if has_others:
                _gather_others(other, starts, n_starts, span_start, others)
            _fill_rows(windows, others, has_others, span, masks, row_keys, rows)
            _mark_first(n_starts, is_listed)
            n = _search_rows(
                rows, letters, n_groups, is_listed, few, max_mismatches, room, n, np.int64(0),
                starts,
            )  # fmt: skip
            n_starts = 0
            has_others = _has_others(other, word, span_start)
    n_found[block] = n


# Planes and rows ----------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _aligned_zeros(n):
    """Return zeroed words that begin at a cache line."""
    words = np.zeros(n + VECTOR_WORDS, np.uint64)
    skip = -(words.ctypes.data >> 3) & (VECTOR_WORDS - 1)
    return words[skip : skip + n]


@njit(nogil=True, cache=True)
def _read_valid(valid, word, stop, fits):
    """Fill the valid starts from a word on."""
    n_words = min(LANES, stop - word)
    for k in range(n_words):
        fits[k] = valid[word + k]
    for k in range(n_words, LANES):
        fits[k] = ZERO


@njit(nogil=True, cache=True)
def _any_bit(words):
    found = ZERO
    for word in words:
        found |= word
    return found != ZERO


@njit(nogil=True, cache=True)
def _spread_mask(mask):
    """Return all ones or zeros for mismatches of a mask: with A, C, G, T, and other letters."""
    n_bases = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
    return (
        ZERO if mask & 1 else ALL,
        ZERO if mask & 2 else ALL,
        ZERO if mask & 4 else ALL,
        ZERO if mask & 8 else ALL,
        ALL if n_bases == 1 else ZERO,
    )


@njit(nogil=True, cache=True)
def _find_misfits(a, b, c, out):
    """Return the mismatches, from the bits of bases and of other letters."""
    not_a, not_c, not_g, not_t, not_other = out
    plain = ~(a | b | c) & not_a | a & ~b & not_c | b & ~a & not_g | a & b & not_t
    return plain | c & not_other


@njit(nogil=True, cache=True)
def _require_pattern(low, high, other, word, pattern_masks, pattern_places, fits):
    """Clear the starts at which a letter of the pattern mismatches."""
    for letter in range(len(pattern_masks)):
        out = _spread_mask(pattern_masks[letter])
        place = np.uint64(pattern_places[letter])
        shift, first = place & LAST_BIT, np.uint64(word) + (place >> WORD_SHIFT)
        rest = LAST_BIT - shift
        for k in range(N_LANES):
            here, after = first + k, first + k + ONE
            a = low[here] >> shift | low[after] << ONE << rest
            b = high[here] >> shift | high[after] << ONE << rest
            c = other[here] >> shift | other[after] << ONE << rest
            fits[k] &= ~_find_misfits(a, b, c, out)


@njit(nogil=True, cache=True)
def _fill_planes(low, high, other, word, masks, n_wide, planes):
    """Fill the plane of mismatches of each mask."""
    first = np.uint64(word)
    for slot in range(len(masks)):
        out = _spread_mask(masks[slot])
        start = np.uint64(slot * n_wide)
        for k in range(np.uint64(n_wide)):
            misfits = _find_misfits(low[first + k], high[first + k], other[first + k], out)
            planes[start + k] = misfits


@njit(nogil=True, cache=True)
def _shift_rows(planes, n_wide, length, row_keys, rows):
    """Fill the rows: bit ``i`` says whether the letter mismatches in the window at ``i``."""
    for row in range(len(row_keys)):
        slot, place = row_keys[row] // length, np.uint64(row_keys[row] % length)
        start = np.uint64(slot * n_wide) + (place >> WORD_SHIFT)
        _shift_row(planes, start, place & LAST_BIT, rows, np.uint64(row) * N_LANES)


# Windows at which the pattern fits ----------------------------------------------------------------


@njit(nogil=True, cache=True)
def _has_others(other, word, skip):
    """Return whether windows that begin in some words contain other letters."""
    found = ZERO
    for k in range(N_LANES + np.uint64((skip >> 6) + 2)):
        found |= other[np.uint64(word) + k]
    return found != ZERO


@njit(nogil=True, cache=True)
def _list_starts(marks, word, n_fours, starts, n):
    """Append the positions of the bits of a word, and return the new number.

    Always writes as many as most words have, which avoids branch mispredictions.
    """
    base = np.uint64(word) << WORD_SHIFT
    place = np.uint64(n)
    n += np.int64(count_ones(marks))
    for _ in range(n_fours):
        marks = _list_four(marks, base, starts, place)
        place += np.uint64(4)
    while marks:
        marks = _list_four(marks, base, starts, place)
        place += np.uint64(4)
    return n


@njit(nogil=True, cache=True)
def _list_four(marks, base, starts, place):
    for k in range(np.uint64(4)):
        starts[place + k] = base + lowest_bit(marks)
        marks &= marks - ONE
    return marks


@njit(nogil=True, cache=True)
def _mark_first(n, marks):
    for k in range(LANES):
        rest = n - 64 * k
        marks[k] = ALL if rest >= 64 else (ONE << np.uint64(max(rest, 0))) - ONE


@njit(nogil=True, cache=True)
def _gather_windows(low, high, starts, n, skip, windows):
    """Fill word ``i // 64`` of row ``i % 64`` with window ``i``: low bits, then high bits."""
    skip = np.uint64(skip)
    for lane in range(np.uint64((n + 63) >> 6)):
        for row in range(np.uint64(64)):
            place = starts[(lane << WORD_SHIFT) + row] + skip
            window = load_bits(low, place) & LOW_HALF | load_bits(high, place) << HALF
            windows[row * N_LANES + lane] = window


@njit(nogil=True, cache=True)
def _gather_others(other, starts, n, skip, others):
    """Likewise for other letters."""
    skip = np.uint64(skip)
    for lane in range(np.uint64((n + 63) >> 6)):
        for row in range(np.uint64(64)):
            place = starts[(lane << WORD_SHIFT) + row] + skip
            others[row * N_LANES + lane] = load_bits(other, place) & LOW_HALF


@njit(nogil=True, cache=True)
def _transpose(words):
    """Transpose the 64 x 64 bits in each column of 64 rows."""
    for column in range(ZERO, N_LANES, N_VECTOR_WORDS):
        for first in range(np.uint64(8)):
            _swap_far(words, first, column)
        for first in range(ZERO, np.uint64(64), np.uint64(8)):
            _swap_near(words, first, column)


@njit(nogil=True, cache=True)
def _fill_rows(windows, others, has_others, span, masks, row_keys, rows):
    """Fill the rows of windows: bit ``i`` says whether the letter mismatches window ``i``."""
    _transpose(windows)
    if has_others:
        _transpose(others)
    for row in range(len(row_keys)):
        mask, place = masks[row_keys[row] // span], np.uint64(row_keys[row] % span)
        target, lows = np.uint64(row) * N_LANES, place * N_LANES
        highs = lows + (N_LANES << np.uint64(5))
        out = _spread_mask(mask)
        if has_others:
            for k in range(N_LANES):
                a, b, c = windows[lows + k], windows[highs + k], others[lows + k]
                rows[target + k] = _find_misfits(a, b, c, out)
        else:
            for k in range(N_LANES):
                a, b = windows[lows + k], windows[highs + k]
                rows[target + k] = _find_misfits(a, b, ZERO, out)


# Guides -------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _find_few(rows, letters, n_groups, first, fits, hits, limit):
    """Mark windows with at most ``limit`` mismatches, and return whether there are any."""
    if n_groups == 1:
        return _find_1(rows, letters, first, fits, hits, limit)
    if n_groups == 2:
        return _find_2(rows, letters, first, fits, hits, limit)
    if n_groups == 3:
        return _find_3(rows, letters, first, fits, hits, limit)
    if n_groups == 4:
        return _find_4(rows, letters, first, fits, hits, limit)
    if n_groups == MAX_GROUPS:
        return _find_5(rows, letters, first, fits, hits, limit)
    found = ZERO
    for k in range(LANES):
        hits[k] = ZERO
        starts = fits[k]
        while starts:
            bit = lowest_bit(starts)
            starts &= starts - ONE
            total = _count_letters(rows, letters, first, n_groups * GROUP, k, bit)
            if np.uint64(total) <= limit:
                hits[k] |= ONE << bit
        found |= hits[k]
    return found


@njit(nogil=True, cache=True)
def _count_letters(rows, letters, first, n_letters, k, bit):
    """Return the mismatches of one window."""
    total = 0
    for letter in range(n_letters):
        total += (rows[letters[first + np.uint64(letter)] + np.uint64(k)] >> bit) & ONE
    return total


@njit(nogil=True, cache=True)
def _search_rows(rows, letters, n_groups, fits, few, max_mismatches, room, n, start, starts):
    """Append the hits of all guides in LANES words, and return the new number.

    The windows are contiguous from ``start`` on, or the listed ones.
    """
    positions, guide_ids, mismatches, counts = room
    n_letters = n_groups * GROUP
    for guide in range(len(max_mismatches)):
        first = np.uint64(guide * n_letters)
        limit = np.uint64(min(max_mismatches[guide], n_letters))
        if not _find_few(rows, letters, n_groups, first, fits, few, limit):
            continue
        for k in range(LANES):
            marks = few[k]
            while marks:
                bit = lowest_bit(marks)
                marks &= marks - ONE
                total = _count_letters(rows, letters, first, n_letters, k, bit)
                if n < len(positions):
                    window = (k << 6) + np.int64(bit)
                    positions[n] = starts[window] if len(starts) else start + window
                    guide_ids[n] = guide
                    mismatches[n] = total
                n += 1
                if counts.size:
                    counts[guide, total] += 1
    return n


# Compiled with instructions.py, cpu_adders.py: 08e36ec3284fdd4e
