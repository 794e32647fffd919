"""Canonical k-mers counted on the CPU; the contract is in this folder's ``__init__``.

An MSD pass distributes the keys by their first bits to blocks that fit in a cache; an LSD radix
sort then sorts each block. This is about three times as fast as a comparison sort. Threads share
pieces of the letters, blocks, and pieces of merged runs; the result does not depend on their
number.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from genoviz.kernels.kmer_count import CODES, HASH_FACTOR, HASH_SHIFT

_CODES = np.frombuffer(CODES, np.uint8)
_FEW = 1 << 12
_FIRST_BITS, _DIGIT_BITS = 10, 11
_PIECES = 32


class Room(NamedTuple):
    """Letters, and two buffers of keys and counts between which the sort alternates."""

    letters: np.ndarray
    keys: np.ndarray
    counts: np.ndarray


def make_room(n_letters):
    """Return room for so many letters; pages that a part does not touch take no memory."""
    shape = (n_letters,)
    return Room(np.empty(shape, np.uint8), np.empty(shape, np.uint64), np.empty(shape, np.int64))


def count_kmers(room, n_letters, k, part, n_parts):
    """Return the canonical k-mers of the first letters, ascending, and the occurrences of each."""
    letters, mask = room.letters[:n_letters], np.uint64(n_parts - 1)
    # A key is stored at the index of its last letter; those of a piece are moved to its beginning.
    bounds = np.arange(_PIECES + 1) * n_letters // _PIECES
    lengths = np.empty(_PIECES, np.int64)
    _take_keys(letters, _CODES, k, mask, np.uint64(part), room.keys, bounds, lengths)
    if lengths.sum() >= _FEW:
        return _sort_and_count(room.keys, bounds, lengths, room.counts, 2 * k)
    pieces = zip(bounds[:-1].tolist(), lengths.tolist(), strict=True)
    keys = np.concatenate([room.keys[start : start + n] for start, n in pieces])
    keys.sort()
    n = _collapse(keys, room.counts)
    return keys[:n].copy(), room.counts[:n].copy()


def merge_counts(keys, counts, other_keys, other_counts):
    """Return the keys of two runs, and the sums of their counts."""
    longer = keys if len(keys) >= len(other_keys) else other_keys
    pivots = longer[np.arange(1, _PIECES) * len(longer) // _PIECES] if len(longer) else longer
    bounds = [
        np.concatenate([[0], np.searchsorted(run, pivots), [len(run)]])
        for run in (keys, other_keys)
    ]
    lengths = np.empty(len(pivots) + 1, np.int64)
    runs = keys, counts, other_keys, other_counts, *bounds
    _merge(*runs, lengths, np.empty(0, np.uint64), np.empty(0, np.int64))
    ends = np.cumsum(lengths)
    merged, sums = np.empty(ends[-1], np.uint64), np.empty(ends[-1], np.int64)
    _merge(*runs, ends - lengths, merged, sums)
    return merged, sums


def keep_part(keys, counts, part, n_parts):
    """Return the keys of a part, and their counts."""
    is_kept = (keys * HASH_FACTOR >> HASH_SHIFT) & np.uint64(n_parts - 1) == np.uint64(part)
    return keys[is_kept], counts[is_kept]


def tally_counts(counts):
    """Return the distinct counts, ascending, and the number of keys with each."""
    few = np.bincount(counts[counts < _FEW], minlength=1)
    few_values = np.flatnonzero(few)
    many_values, many = np.unique(counts[counts >= _FEW], return_counts=True)
    return np.concatenate([few_values, many_values]), np.concatenate([few[few_values], many])


@njit(nogil=True, cache=True, parallel=True)
def _take_keys(letters, codes, k, mask, part, keys, bounds, lengths):
    """Store the canonical k-mers of a part at the bound of each piece, and their number."""
    top = np.uint64(2 * (k - 1))
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    for piece in prange(len(lengths)):
        forward = reverse = np.uint64(0)
        n_bases = 0
        n = first = bounds[piece]
        for i in range(max(first - k + 1, 0), bounds[piece + 1]):
            code = np.uint64(codes[letters[i]])
            if code > np.uint64(3):
                n_bases = 0
                continue
            forward = (forward << np.uint64(2) | code) & of_k
            reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
            n_bases += 1
            if n_bases >= k and i >= first:
                key = min(forward, reverse)
                if (key * HASH_FACTOR >> HASH_SHIFT) & mask == part:
                    keys[n] = key
                    n += 1
        lengths[piece] = n - first


@njit(nogil=True, cache=True, parallel=True)
def _sort_and_count(keys, bounds, lengths, counts, n_bits):
    """Return the distinct keys of pieces, ascending, and their counts; keys have ``n_bits``.

    MSD pass to blocks that fit in a cache, then LSD radix sort; both arrays are workspace.
    """
    first_bits = min(_FIRST_BITS, n_bits)
    n_blocks = 1 << first_bits
    n_left = n_bits - first_bits
    by = np.uint64(n_left)
    spare = counts.view(np.uint64)
    places = np.zeros((len(lengths) + 1, n_blocks), np.int64)
    for piece in prange(len(lengths)):
        for i in range(bounds[piece], bounds[piece] + lengths[piece]):
            places[piece + 1, np.int64(keys[i] >> by)] += 1
    starts = np.zeros(n_blocks + 1, np.int64)
    for block in range(n_blocks):
        places[0, block] = starts[block]
        for piece in range(len(lengths)):
            places[piece + 1, block] += places[piece, block]
        starts[block + 1] = places[len(lengths), block]
    for piece in prange(len(lengths)):
        for i in range(bounds[piece], bounds[piece] + lengths[piece]):
            block = np.int64(keys[i] >> by)
            spare[places[piece, block]] = keys[i]
            places[piece, block] += 1
    # An odd number of passes: the last one then writes back to `keys`.
    n_digits = -(-n_left // _DIGIT_BITS)
    n_digits += 1 - (n_digits & 1)
    n_different = np.zeros(n_blocks + 1, np.int64)
    for block in prange(n_blocks):
        start, stop = starts[block], starts[block + 1]
        own, other = keys[start:stop], spare[start:stop]
        for digit in range(n_digits):
            if digit & 1 == 0:
                _scatter(other, own, digit * _DIGIT_BITS, _DIGIT_BITS)
            else:
                _scatter(own, other, digit * _DIGIT_BITS, _DIGIT_BITS)
        n_different[block + 1] = _collapse(own, counts[start:stop])
    for block in range(n_blocks):
        n_different[block + 1] += n_different[block]
    found, found_counts = np.empty(n_different[-1], np.uint64), np.empty(n_different[-1], np.int64)
    for block in prange(n_blocks):
        first, last = n_different[block], n_different[block + 1]
        found[first:last] = keys[starts[block] : starts[block] + last - first]
        found_counts[first:last] = counts[starts[block] : starts[block] + last - first]
    return found, found_counts


@njit(nogil=True, cache=True)
def _scatter(keys, to, shift, n_bits):
    """Stable scatter of keys by some of their bits."""
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
    """Collapse equal sorted keys, and count them; return the number of distinct keys."""
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


@njit(nogil=True, cache=True, parallel=True)
def _merge(keys, counts, other_keys, other_counts, bounds, other_bounds, places, merged, sums):
    """Merge pieces of two runs to their places; without room, only return the merged lengths."""
    has_room = len(merged) > 0
    for piece in prange(len(places)):
        i, j = bounds[piece], other_bounds[piece]
        stop, other_stop = bounds[piece + 1], other_bounds[piece + 1]
        n = places[piece] if has_room else 0
        while i < stop or j < other_stop:
            takes = j == other_stop or (i < stop and keys[i] <= other_keys[j])
            takes_other = i == stop or (j < other_stop and other_keys[j] <= keys[i])
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
        if not has_room:
            places[piece] = n
