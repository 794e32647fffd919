"""Canonical k-mers counted on the CPU; the contract is in this folder's ``__init__``.

The sort goes by the first bits of the keys to blocks that a cache holds, then within each by
digits, from the last: some three times as fast as a comparison sort.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.kernels.kmer_count import CODES, HASH_FACTOR, HASH_SHIFT

_CODES = np.frombuffer(CODES, np.uint8)
_FEW = 1 << 12
_FIRST_BITS, _DIGIT_BITS = 10, 11


class Room(NamedTuple):
    """Letters, and their keys and counts, which the sort goes back and forth between."""

    letters: np.ndarray
    keys: np.ndarray
    counts: np.ndarray


def make_room(n_letters):
    """Return room for so many letters; what a part does not fill is not taken from memory."""
    shape = (n_letters,)
    return Room(np.empty(shape, np.uint8), np.empty(shape, np.uint64), np.empty(shape, np.int64))


def count_kmers(room, n_letters, k, part, n_parts):
    """Return the canonical k-mers of the first letters, ascending, and how often each is there."""
    letters, mask = room.letters[:n_letters], np.uint64(n_parts - 1)
    n = _take_keys(letters, _CODES, k, mask, np.uint64(part), room.keys)
    keys = room.keys[:n]
    if n < _FEW:
        keys.sort()
    else:
        _sort(keys, room.counts.view(np.uint64), 2 * k)
    n = _collapse(keys, room.counts)
    return keys[:n].copy(), room.counts[:n].copy()


def merge_counts(keys, counts, other_keys, other_counts):
    """Return the keys of two runs, and the sums of their counts."""
    runs = keys, counts, other_keys, other_counts
    n = _merge(*runs, np.empty(0, np.uint64), np.empty(0, np.int64))
    merged, sums = np.empty(n, np.uint64), np.empty(n, np.int64)
    _merge(*runs, merged, sums)
    return merged, sums


def keep_part(keys, counts, part, n_parts):
    """Return the keys of a part, and their counts."""
    is_kept = (keys * HASH_FACTOR >> HASH_SHIFT) & np.uint64(n_parts - 1) == np.uint64(part)
    return keys[is_kept], counts[is_kept]


def tally_counts(counts):
    """Return the different counts, ascending, and how many keys have each."""
    few = np.bincount(counts[counts < _FEW], minlength=1)
    few_values = np.flatnonzero(few)
    many_values, many = np.unique(counts[counts >= _FEW], return_counts=True)
    return np.concatenate([few_values, many_values]), np.concatenate([few[few_values], many])


@njit(nogil=True, cache=True)
def _take_keys(letters, codes, k, mask, part, keys):
    """Store the canonical k-mers of a part; return how many."""
    top = np.uint64(2 * (k - 1))
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    forward = reverse = np.uint64(0)
    n = n_bases = 0
    for i in range(len(letters)):
        code = np.uint64(codes[letters[i]])
        if code > np.uint64(3):
            n_bases = 0
            continue
        forward = (forward << np.uint64(2) | code) & of_k
        reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
        n_bases += 1
        if n_bases >= k:
            key = min(forward, reverse)
            if (key * HASH_FACTOR >> HASH_SHIFT) & mask == part:
                keys[n] = key
                n += 1
    return n


@njit(nogil=True, cache=True)
def _sort(keys, spare, n_bits):
    """Sort keys of so many bits: by the first ones to blocks that a cache holds, then by digits."""
    first_bits = min(_FIRST_BITS, n_bits)
    n_left = n_bits - first_bits
    # An odd number of digits, so that the last one brings keys back from the spare room.
    n_digits = -(-n_left // _DIGIT_BITS)
    n_digits += 1 - (n_digits & 1)
    _scatter(keys, spare[: len(keys)], n_left, first_bits)
    start = 0
    for block in range(1 << first_bits):
        stop = start
        while stop < len(keys) and np.int64(spare[stop] >> np.uint64(n_left)) == block:
            stop += 1
        if stop > start:
            for digit in range(n_digits):
                if digit & 1 == 0:
                    _scatter(spare[start:stop], keys[start:stop], digit * _DIGIT_BITS, _DIGIT_BITS)
                else:
                    _scatter(keys[start:stop], spare[start:stop], digit * _DIGIT_BITS, _DIGIT_BITS)
        start = stop


@njit(nogil=True, cache=True)
def _scatter(keys, to, shift, n_bits):
    """Copy keys in the order of some of their bits, those of the same bits as they stood."""
    places = np.zeros((1 << n_bits) + 1, np.int64)
    mask = (np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)
    by = np.uint64(shift)
    for key in keys:
        places[np.int64((key >> by) & mask) + 1] += 1
    for digit in range(1 << n_bits):
        places[digit + 1] += places[digit]
    for key in keys:
        digit = np.int64((key >> by) & mask)
        to[places[digit]] = key
        places[digit] += 1


@njit(nogil=True, cache=True)
def _collapse(keys, counts):
    """Keep one of equal sorted keys, and count them; return how many differ."""
    n = 0
    i = 0
    while i < len(keys):
        key = keys[i]
        start = i
        while i < len(keys) and keys[i] == key:
            i += 1
        keys[n] = key
        counts[n] = i - start
        n += 1
    return n


@njit(nogil=True, cache=True)
def _merge(keys, counts, other_keys, other_counts, merged, sums):
    """Merge two runs if there is room; return how many different keys they have."""
    has_room = len(merged) > 0
    i = j = n = 0
    while i < len(keys) or j < len(other_keys):
        takes = j == len(other_keys) or (i < len(keys) and keys[i] <= other_keys[j])
        takes_other = i == len(keys) or (j < len(other_keys) and other_keys[j] <= keys[i])
        count = 0
        if has_room:
            merged[n] = keys[i] if takes else other_keys[j]
        if takes:
            count += counts[i]
            i += 1
        if takes_other:
            count += other_counts[j]
            j += 1
        if has_room:
            sums[n] = count
        n += 1
    return n
