"""K-mers from sets of bases into words and onto the other strand; on the host, for any backend."""

import numpy as np
from numba import njit

PAIRS, NIBBLES = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)


@njit(nogil=True, cache=True)
def mark_ambiguous(sets, offsets, is_ambiguous):
    """Tell of each k-mer whether one of its sets has several bases."""
    for i in range(len(is_ambiguous)):
        several = np.uint8(0)
        for at in range(offsets[i], offsets[i + 1]):
            several |= sets[at] & (sets[at] - np.uint8(1))
        is_ambiguous[i] = several != 0


@njit(nogil=True, cache=True)
def pack_kmers(sets, offsets, numbers, words):
    """Pack some k-mers of single bases."""
    words[:] = 0
    for i in range(len(numbers)):
        end = offsets[numbers[i] + 1]
        for j in range(end - offsets[numbers[i]]):
            base = sets[end - 1 - j]
            symbol = np.uint64((base >> 1) - (base >> 3))
            words[i, j >> 5] |= symbol << np.uint64(2 * (j & 31))


@njit(nogil=True, cache=True)
def reverse_complement_words(words, lengths, turned):
    """Turn k-mers to the other strand."""
    n_words = words.shape[1]
    for i in range(len(words)):
        n_empty = 64 * n_words - 2 * np.int64(lengths[i])
        skipped, shift = n_empty >> 6, np.uint64(n_empty & 63)
        for w in range(n_words):
            turned[i, w] = 0
        for w in range(skipped, n_words):
            word = ~words[i, n_words - 1 - w]
            word = (word >> np.uint64(2) & PAIRS) | (word & PAIRS) << np.uint64(2)
            word = (word >> np.uint64(4) & NIBBLES) | (word & NIBBLES) << np.uint64(4)
            swapped = np.uint64(0)
            for _ in range(8):
                swapped = swapped << np.uint64(8) | (word & np.uint64(255))
                word >>= np.uint64(8)
            to = w - skipped
            turned[i, to] |= swapped >> shift
            if to > 0 and shift > 0:
                turned[i, to - 1] |= swapped << (np.uint64(64) - shift)
