"""Off-target sites on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import count_ones, lowest_bit
from genoviz.kernels.offtarget import ANY
from genoviz.kernels.offtarget.cpu_planes import (
    LANES,
    search_blocks,
    search_densely,
    search_pam_first,
)
from genoviz.kernels.offtarget.plan import find_span, pack_masks, pattern_letters, plan_rows

_N_BASES = np.array([bin(mask).count("1") for mask in range(16)])
ZERO, ONE = np.uint64(0), np.uint64(1)
LAST_BIT, WORD_SHIFT = np.uint64(63), np.uint64(6)


def find_sites_popcount(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by AND and popcount, four bits a base."""
    planes, packed = tuple(planes), (pack_masks(pattern[None]), pack_masks(guides))
    _find_by_popcount(planes, first_word, block_words, len(pattern), *packed, max_mismatches, *hits)


def find_sites_dense(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of all positions."""
    planes, rows = tuple(planes), plan_rows(pattern, guides).rows(LANES)
    letters = pattern_letters(pattern)
    where = planes, first_word, block_words, len(pattern)
    search_blocks(search_densely, *where, rows, letters, max_mismatches, tuple(hits))


def find_sites_pam_first(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of the windows that match the pattern."""
    span = find_span(guides)
    rows = plan_rows(np.full_like(pattern[span], ANY), guides[:, span]).rows(LANES)
    planes, letters = tuple(planes), pattern_letters(pattern)
    window = span.start, span.stop - span.start, _usual_fours(pattern)
    where = planes, first_word, block_words, window
    search_blocks(search_pam_first, *where, rows, letters, max_mismatches, tuple(hits))


def _usual_fours(pattern):
    """Return a quarter of the matching starts that few words exceed."""
    chance = float(np.prod(_N_BASES[pattern] / 4))
    mean, spread = 64 * chance, (64 * chance * (1 - chance)) ** 0.5
    return int(-(-(mean + spread) // 4))


@njit(nogil=True, cache=True, parallel=True)
def _find_by_popcount(
    planes, first_word, block_words, length, packed_pattern, packed_guides, max_mismatches,
    positions, guide_ids, mismatches, n_found, counts,
):  # fmt: skip
    """Search each window for each guide."""
    low, high, other, valid = planes
    pattern_plain, pattern_out, pattern_total = packed_pattern
    guide_plain, guide_out, guide_totals = packed_guides
    n_nibble_words = guide_plain.shape[1]
    for block in prange(len(n_found)):
        first = np.uint64(first_word + block * block_words)
        stop = min(first + np.uint64(block_words), np.uint64(len(valid)))
        window = np.empty(n_nibble_words, np.uint64)
        n = 0
        for word in range(first, stop):
            starts = valid[word]
            while starts:
                bit = lowest_bit(starts)
                starts &= starts - ONE
                start = (np.uint64(word) << WORD_SHIFT) | bit
                _read_window(low, high, other, start, length, window)
                if _count_misfits(window, pattern_plain[0], pattern_out[0], pattern_total[0]):
                    continue
                for guide in range(len(guide_plain)):
                    total = _count_misfits(
                        window, guide_plain[guide], guide_out[guide], guide_totals[guide]
                    )
                    if total <= max_mismatches[guide]:
                        if n < positions.shape[1]:
                            positions[block, n] = start
                            guide_ids[block, n] = guide
                            mismatches[block, n] = total
                        n += 1
                        if counts.size:
                            counts[block, guide, total] += 1
        n_found[block] = n


@njit(nogil=True, cache=True)
def _read_window(low, high, other, start, length, window):
    """Fill a window with its bases, four bits each: 1 2 4 8 for A C G T, 0 for other letters."""
    window[:] = ZERO
    for k in range(length):
        place = start + np.uint64(k)
        word, bit = place >> WORD_SHIFT, place & LAST_BIT
        base = (low[word] >> bit & ONE) | (high[word] >> bit & ONE) << ONE
        nibble = (ONE << base) * (ONE ^ (other[word] >> bit & ONE))
        window[k >> 4] |= nibble << np.uint64(4 * (k & 15))


@njit(nogil=True, cache=True)
def _count_misfits(window, plain, out, n_plain):
    """Return the number of letters of a mask that mismatch a window."""
    total = np.int64(n_plain)
    for k in range(len(window)):
        total -= np.int64(count_ones(window[k] & plain[k]))
        total += np.int64(count_ones(window[k] & out[k]))
    return total


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
