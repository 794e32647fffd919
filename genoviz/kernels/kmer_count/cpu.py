"""Canonical k-mers counted on the CPU; the contract is in this folder's ``__init__``.

Keys are collected, sorted by hash to as many groups as there are hash tables, and counted group by
group: a table then fits in a cache, and few keys wait for memory. Tables are searched by linear
probing (Knuth 1998, 6.4). When three quarters of one are taken, all are doubled, or keep only the
keys of a part. Threads share pieces of the letters, and tables; the result does not depend on their
number.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.kmer_count import CODES, HASH_FACTOR, HASH_SHIFT

_CODES = np.frombuffer(CODES, np.uint8)
_FEW, _TALLIED = 1 << 12, 1 << 18
_PIECES = 32
_CHUNK = 1 << 22
_TABLES_BITS, _FIRST_BITS = 10, 10
_BLOCK_BITS, _DIGIT_BITS = 10, 11
# The first 40 bits of a hash as a fraction of 1: times the tables, they are a table and a slot.
_PLACE_SHIFT, _PLACE_BITS = np.uint64(24), np.uint64(40)
_PLACE_MASK = (np.uint64(1) << _PLACE_BITS) - np.uint64(1)


class Room:
    """Letters, keys of some of them, collected keys, and tables of keys and counts.

    ``slots`` is uint64, (n, 2): a key and its count, 0 if the slot is free. Each of the tables has
    ``1 << bits`` of them at present, one table after the other.
    """

    def __init__(self, n_letters, k, max_keys):
        self.k, self.letters = k, np.empty(n_letters, np.uint8)
        self.keys = np.empty(min(n_letters, _CHUNK), np.uint64)
        self.collected = np.empty(max(max_keys // 2, len(self.keys)), np.uint64)
        self.n_collected, self.firsts, self.stops = 0, [], []
        n_bits = max(max_keys * 4 // 3, 4).bit_length() - 1
        self.max_bits = min(max(n_bits - _TABLES_BITS, _TABLES_BITS), n_bits)
        n_tables = max(max_keys * 4 // 3, 4) >> self.max_bits
        self.bits = min(self.max_bits, _FIRST_BITS)
        self.slots = np.empty((n_tables << self.max_bits, 2), np.uint64)
        self.slots[: n_tables << self.bits] = 0
        self.n_keys = np.zeros(n_tables, np.int64)


def make_room(n_letters, k, max_keys):
    """Return room for so many letters at a time, and so many keys."""
    return Room(n_letters, k, max_keys)


def collect_kmers(room, n_letters, part, n_parts):
    """Collect the canonical k-mers of the first letters; return the number of parts reached."""
    for first in range(0, n_letters, _CHUNK):
        last = min(first + _CHUNK, n_letters)
        if room.n_collected + last - first > len(room.collected):
            n_parts = count_collected(room, part, n_parts)
        bounds = np.arange(_PIECES + 1) * (last - first) // _PIECES
        sizes = np.zeros((_PIECES, len(room.n_keys)), np.int64)
        wanted = np.uint64(part), np.uint64(n_parts - 1)
        _take_keys(room.letters, first, _CODES, room.k, *wanted, bounds, room.keys, sizes)
        stops = np.cumsum(sizes.T).reshape(sizes.T.shape).T + room.n_collected
        places = np.ascontiguousarray(stops - sizes)
        room.firsts.append(places[0].copy())
        room.stops.append(stops[-1].copy())
        room.n_collected = int(stops[-1, -1])
        _group_keys(room.keys, bounds, sizes.sum(axis=1), places, room.collected)
    return n_parts


def count_collected(room, part, n_parts):
    """Count the collected k-mers; return the number of parts reached."""
    firsts = np.array(room.firsts, np.int64).reshape(-1, len(room.n_keys))
    stops = np.array(room.stops, np.int64).reshape(firsts.shape)
    groups = room.collected, firsts, stops
    while True:
        wanted = np.uint64(part), np.uint64(n_parts - 1)
        if _add_keys(*groups, *wanted, room.slots, room.bits, room.n_keys):
            break
        if room.bits < room.max_bits:
            _move_keys(room.slots, room.bits, room.bits + 1, *wanted, room.n_keys)
            room.bits += 1
        else:
            n_parts *= 2
            keep_part(room, part, n_parts)
    room.n_collected, room.firsts, room.stops = 0, [], []
    return n_parts


def keep_part(room, part, n_parts):
    """Keep only the keys of a part."""
    wanted = np.uint64(part), np.uint64(n_parts - 1)
    _move_keys(room.slots, room.bits, room.bits, *wanted, room.n_keys)


def list_counts(room):
    """Return the count of each key, in any order; empties the room."""
    slots, ends = _take_slots(room), np.cumsum(room.n_keys)
    counts = np.empty(ends[-1], np.int64)
    _list_counts(slots, room.bits, ends - room.n_keys, counts)
    return counts


def sort_counts(room):
    """Return all keys, ascending, and their counts; empties the room."""
    slots, n = _take_slots(room), int(room.n_keys.sum())
    keys, counts = np.empty(n, np.uint64), np.empty(n, np.int64)
    _sort_counts(slots, 2 * room.k, keys, counts, slots.reshape(-1)[: 2 * n].reshape(2, n))
    return keys, counts


def tally_counts(counts):
    """Return the distinct counts, ascending, and the number of keys with each."""
    few, many = np.zeros(_FEW, np.int64), [np.empty(0, np.int64)]
    for first in range(0, len(counts), _TALLIED):
        some = counts[first : first + _TALLIED]
        is_few = some < _FEW
        few += np.bincount(some[is_few], minlength=_FEW)
        many.append(some[~is_few])
    few_values = np.flatnonzero(few)
    many_values, n_many = np.unique(np.concatenate(many), return_counts=True)
    return np.concatenate([few_values, many_values]), np.concatenate([few[few_values], n_many])


def _take_slots(room):
    """Return the slots in use, and free all memory of the room."""
    slots = room.slots[: len(room.n_keys) << room.bits]
    room.letters = room.keys = room.collected = room.slots = None
    return slots


@njit(nogil=True, cache=True, parallel=True)
def _take_keys(letters, offset, codes, k, part, mask, bounds, keys, sizes):
    """Store the canonical k-mers of a part at the bound of each piece, and their numbers.

    A key is stored at the index of its last letter, less the offset; then those of a piece are
    moved to its beginning.
    """
    top = np.uint64(2 * (k - 1))
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    n_tables = np.uint64(sizes.shape[1])
    for piece in prange(len(sizes)):
        forward = reverse = np.uint64(0)
        n_bases = 0
        n = first = bounds[piece]
        for i in range(max(first + offset - k + 1, 0), bounds[piece + 1] + offset):
            code = np.uint64(codes[letters[i]])
            if code > np.uint64(3):
                n_bases = 0
                continue
            forward = (forward << np.uint64(2) | code) & of_k
            reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
            n_bases += 1
            if n_bases >= k and i >= first + offset:
                key = min(forward, reverse)
                value = key * HASH_FACTOR
                if (value >> HASH_SHIFT) & mask == part:
                    keys[n] = key
                    n += 1
                    sizes[piece, (value >> _PLACE_SHIFT) * n_tables >> _PLACE_BITS] += 1


@njit(nogil=True, cache=True, parallel=True)
def _group_keys(keys, bounds, lengths, places, to):
    """Distribute the keys of pieces to places by piece and table."""
    n_tables = np.uint64(places.shape[1])
    for piece in prange(len(places)):
        for i in range(bounds[piece], bounds[piece] + lengths[piece]):
            table = (keys[i] * HASH_FACTOR >> _PLACE_SHIFT) * n_tables >> _PLACE_BITS
            to[places[piece, table]] = keys[i]
            places[piece, table] += 1


@njit(nogil=True, cache=True, parallel=True)
def _add_keys(keys, firsts, stops, part, mask, slots, bits, n_keys):
    """Count the keys of a part in groups of each table, until it is full; return if all are.

    ``firsts`` moves on, and has a row for each time that keys were collected.
    """
    n_tables, n_slots = np.uint64(len(n_keys)), np.uint64(1) << np.uint64(bits)
    limit = (np.int64(3) << bits) >> 2
    by = _PLACE_BITS - np.uint64(bits)
    for table in prange(len(n_keys)):
        own = slots[table << bits : (table + 1) << bits]
        n = n_keys[table]
        for row in range(len(firsts)):
            i, stop = firsts[row, table], stops[row, table]
            while i < stop and n < limit:
                key = keys[i]
                value = key * HASH_FACTOR
                if (value >> HASH_SHIFT) & mask == part:
                    slot = ((value >> _PLACE_SHIFT) * n_tables & _PLACE_MASK) >> by
                    while own[slot, 0] != key and own[slot, 1] != 0:
                        slot = (slot + np.uint64(1)) & (n_slots - np.uint64(1))
                    if own[slot, 1] == 0:
                        own[slot, 0] = key
                        n += 1
                    own[slot, 1] += np.uint64(1)
                i += 1
            firsts[row, table] = i
        n_keys[table] = n
    return (firsts == stops).all()


@njit(nogil=True, cache=True, parallel=True)
def _move_keys(slots, bits, to_bits, part, mask, n_keys):
    """Move the keys of a part to tables of the same size, or twice the size."""
    n_tables, n_slots = np.uint64(len(n_keys)), np.uint64(1) << np.uint64(to_bits)
    by = _PLACE_BITS - np.uint64(to_bits)
    last = len(n_keys)
    while last > 0:
        # Tables that double take the places of others, which have moved before.
        first = (last + 1) // 2 if to_bits > bits and last > 1 else 0
        n_pieces = min(_PIECES, last - first)
        for piece in prange(n_pieces):
            old = np.empty((1 << bits, 2), np.uint64)
            for table in range(
                first + (last - first) * piece // n_pieces,
                first + (last - first) * (piece + 1) // n_pieces,
            ):
                old[:] = slots[table << bits : (table + 1) << bits]
                own = slots[table << to_bits : (table + 1) << to_bits]
                own[:] = 0
                n = 0
                for i in range(len(old)):
                    value = old[i, 0] * HASH_FACTOR
                    if old[i, 1] != 0 and (value >> HASH_SHIFT) & mask == part:
                        slot = ((value >> _PLACE_SHIFT) * n_tables & _PLACE_MASK) >> by
                        while own[slot, 1] != 0:
                            slot = (slot + np.uint64(1)) & (n_slots - np.uint64(1))
                        own[slot, 0], own[slot, 1] = old[i, 0], old[i, 1]
                        n += 1
                n_keys[table] = n
        last = first


@njit(nogil=True, cache=True, parallel=True)
def _list_counts(slots, bits, places, counts):
    for table in prange(len(places)):
        n = places[table]
        for i in range(table << bits, (table + 1) << bits):
            if slots[i, 1] != 0:
                counts[n] = np.int64(slots[i, 1])
                n += 1


@njit(nogil=True, cache=True, parallel=True)
def _sort_counts(slots, n_bits, keys, counts, spare):
    """Sort the keys of slots and their counts; the spare arrays may have the slots' memory.

    MSD pass to blocks that fit in a cache, then LSD radix sort (Knuth 1998, 5.2.5).
    """
    first_bits = min(_BLOCK_BITS, n_bits)
    n_blocks = 1 << first_bits
    n_left = n_bits - first_bits
    by = np.uint64(n_left)
    places = np.zeros((_PIECES + 1, n_blocks), np.int64)
    for piece in prange(_PIECES):
        for i in range(len(slots) * piece // _PIECES, len(slots) * (piece + 1) // _PIECES):
            if slots[i, 1] != 0:
                places[piece + 1, slots[i, 0] >> by] += 1
    starts = np.zeros(n_blocks + 1, np.int64)
    for block in range(n_blocks):
        places[0, block] = starts[block]
        for piece in range(_PIECES):
            places[piece + 1, block] += places[piece, block]
        starts[block + 1] = places[_PIECES, block]
    for piece in prange(_PIECES):
        for i in range(len(slots) * piece // _PIECES, len(slots) * (piece + 1) // _PIECES):
            if slots[i, 1] != 0:
                place = places[piece, slots[i, 0] >> by]
                keys[place], counts[place] = slots[i, 0], np.int64(slots[i, 1])
                places[piece, slots[i, 0] >> by] = place + 1
    for block in prange(n_blocks):
        start, stop = starts[block], starts[block + 1]
        own, own_counts = keys[start:stop], counts[start:stop]
        other, other_counts = spare[0, start:stop], spare[1, start:stop].view(np.int64)
        # Passes in pairs: the last one writes back to `keys`.
        for shift in range(0, n_left, 2 * _DIGIT_BITS):
            _scatter(own, own_counts, other, other_counts, shift)
            _scatter(other, other_counts, own, own_counts, shift + _DIGIT_BITS)


@njit(nogil=True, cache=True)
def _scatter(keys, counts, to, to_counts, shift):
    """Stable scatter of keys and counts by some of the keys' bits."""
    places = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    by = np.uint64(min(shift, 63))
    for key in keys:
        places[np.int64((key >> by) & mask) + 1] += 1
    for digit in range(1 << _DIGIT_BITS):
        places[digit + 1] += places[digit]
    for i in range(len(keys)):
        digit = np.int64((keys[i] >> by) & mask)
        to[places[digit]], to_counts[places[digit]] = keys[i], counts[i]
        places[digit] += 1
