"""Seeds: the suffixes that are sorted by bases; found, and bucketed.

A suffix is rising if it is smaller than the suffix one base later, and falling otherwise (type S
and L of SA-IS). A seed is a rising suffix after a falling one; the order of all others is induced
from the seeds (``cpu``). At most every second suffix is a seed, in genomes less than a third.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import count_ones, leading_zeros

LOW_BITS = np.uint64(0x5555555555555555)
LOW_HALF = np.uint64(0xFFFFFFFF)
ONE, TWO, HALF = np.uint64(1), np.uint64(2), np.uint64(32)
COUNTS = 8  # columns of what `find_seeds` counts


@njit(nogil=True, cache=True)
def mark_exceptions(exceptions, marks, near):
    """Set the bits of exceptions.

    A word of ``marks`` is for 32 symbols, the first one in the highest bit of each half: exceptions
    in the upper half, symbols before a seed in the lower half. A bit of ``near`` is set if its word
    or the next one has an exception.
    """
    for i in range(len(exceptions)):
        position = exceptions[i]
        word = position >> 5
        marks[word] |= ONE << np.uint64(63 - (position & 31))
        near[word >> 6] |= ONE << np.uint64(word & 63)
        word = max(word - 1, 0)
        near[word >> 6] |= ONE << np.uint64(word & 63)


@njit(nogil=True, cache=True)
def _spread(half):
    """Return 32 bits, each with a zero bit before it."""
    half = (half | half << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    half = (half | half << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    half = (half | half << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    half = (half | half << TWO) & np.uint64(0x3333333333333333)
    return (half | half << ONE) & LOW_BITS


@njit(nogil=True, cache=True)
def _gather(word):
    """Compact every second bit of a word, those of ``LOW_BITS``."""
    word &= LOW_BITS
    word = (word | word >> ONE) & np.uint64(0x3333333333333333)
    word = (word | word >> TWO) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word | word >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
    word = (word | word >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return (word | word >> np.uint64(16)) & LOW_HALF


@njit(nogil=True, cache=True)
def _less_and_equal(packed, marks, word):
    """Return which of 32 symbols are less than the next one, and which are equal to it.

    Neither is set at an exception.
    """
    here = packed[word]
    following = here << TWO | packed[word + 1] >> np.uint64(62)
    differs = here ^ following
    high, low = differs >> ONE & LOW_BITS, differs & LOW_BITS
    less = (following >> ONE & high) | (following & low & ~high)
    equal = ~(high | low) & LOW_BITS
    if marks[word] >> HALF:
        kept = ~_spread(marks[word] >> HALF)
        less &= kept
        equal &= kept
    return less, equal


@njit(nogil=True, cache=True)
def _is_rising(packed, marks, word):
    """Return whether the first symbol of a word begins a rising suffix."""
    while word < len(marks) - 1:
        less, equal = _less_and_equal(packed, marks, word)
        unequal = ~equal & LOW_BITS
        if unequal:
            first = ONE << (np.uint64(63) - leading_zeros(unequal))
            return less & first != 0
        word += 1
    return False


@njit(nogil=True, cache=True, parallel=True)
def find_seeds(packed, marks, edges, first_chunk, last_chunk, counts):
    """Mark the symbols before seeds in chunks of words.

    Each row of ``counts`` gets the chunk's rising suffixes of each base, and its number of C, G, T
    and seeds.
    """
    for chunk in prange(first_chunk, last_chunk):
        rising_after = _is_rising(packed, marks, edges[chunk + 1])
        row = np.zeros(COUNTS, np.uint64)
        for word in range(edges[chunk + 1] - 1, edges[chunk] - 1, -1):
            less, equal = _less_and_equal(packed, marks, word)
            # The carry of this sum runs from a symbol to the one before it while they are equal.
            carries = (less | equal) * np.uint64(3)
            generators = less * np.uint64(3)
            total = carries + generators + np.uint64(rising_after)
            next_rises = (total ^ carries ^ generators) & LOW_BITS
            rising = less | (equal & next_rises)
            before_seeds = _gather(next_rises & ~rising) & ~(marks[word] >> HALF)
            marks[word] |= before_seeds
            rising_after = rising >> np.uint64(62) != 0
            high, low = packed[word] >> ONE & LOW_BITS, packed[word] & LOW_BITS
            row[0] += count_ones(rising & ~(high | low))
            row[1] += count_ones(rising & low & ~high)
            row[2] += count_ones(rising & high & ~low)
            row[3] += count_ones(rising & high & low)
            row[4] += count_ones(low & ~high)
            row[5] += count_ones(high & ~low)
            row[6] += count_ones(high & low)
            row[7] += count_ones(before_seeds)
        for k in range(COUNTS):
            counts[chunk, k] = row[k]


@njit(nogil=True, cache=True)
def _padded_window(packed, marks, position):
    """Return 32 symbols from a position on, with A after an exception."""
    word, offset = position >> 5, position & 31
    shift = np.uint64(2 * offset)
    window = packed[word] << shift | packed[word + 1] >> ONE >> (np.uint64(63) - shift)
    exceptions = (marks[word] >> HALF << HALF) | marks[word + 1] >> HALF
    exceptions = exceptions << np.uint64(offset) >> HALF
    if exceptions:
        distance = leading_zeros(exceptions << HALF)
        window &= ~(~np.uint64(0) >> (TWO * distance))
    return window


@njit(nogil=True, cache=True, parallel=True)
def count_seeds(packed, marks, edges, first_chunk, last_chunk, prefix_bases, tallies):
    """Count the seeds of each chunk by their prefix."""
    shift = np.uint64(64 - 2 * prefix_bases)
    for chunk in prange(first_chunk, last_chunk):
        tally = tallies[chunk]
        for word in range(edges[chunk], edges[chunk + 1]):
            bits = marks[word] << HALF
            while bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
                window = _padded_window(packed, marks, position)
                tally[np.int64(window >> shift)] += 1


@njit(nogil=True, cache=True, parallel=True)
def part_seeds(
    packed, marks, edges, first_chunk, last_chunk, prefix_bases, position_bits, slots, words
):
    """Put each seed in its block, as the bases after the prefix and the position.

    ``slots`` holds the next slot of each chunk in each block.
    """
    shift = np.uint64(64 - 2 * prefix_bases)
    key_shift = np.uint64((position_bits + 1) // 2 * 2)
    for chunk in prange(first_chunk, last_chunk):
        slot = slots[chunk]
        for word in range(edges[chunk], edges[chunk + 1]):
            bits = marks[word] << HALF
            while bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
                window = _padded_window(packed, marks, position)
                block = np.int64(window >> shift)
                key = window << (np.uint64(64) - shift) >> key_shift << key_shift
                words[slot[block]] = key | np.uint64(position)
                slot[block] += 1


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
