"""Canonical k-mers counted on the CPU; the contract is in this folder's ``__init__``.

A key times an odd number, modulo 4^k, is a hash from which the key can be computed again. Its
highest bits are the number of a hash table, and only the rest is stored::

    hash of 2 k bits     | table |        rest        |
    slot of 64 bits              |        rest        | count |

Keys are collected, grouped by table, and counted group by group: a table then fits in a cache, and
few keys wait for memory. Tables are searched by linear probing (Knuth 1998, 6.4). When seven
eighths of one are taken, all are doubled, or keep only the keys of a part. Threads share pieces of
the letters, and tables; the result does not depend on their number.

For k = 32, a count has 10 bits. One that becomes too large for its bits begins again at 1, and the
occurrences that it had are kept beside the tables.
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
# Another factor than that of parts: the keys of a part are in all tables. Steele and Vigna 2022,
# doi:10.1002/spe.3030.
_TABLE_FACTOR = np.uint64(0xD1342543DE82EF95)
_INVERSE = np.uint64(pow(0xD1342543DE82EF95, -1, 1 << 64))


class Room:
    """Letters, collected rests of hashes, and tables.

    ``slots`` is uint64: the rest of a hash and a count, 0 if the slot is free. Each of the
    ``1 << table_bits`` tables has ``1 << bits`` of them at present, one table after the other.
    ``often`` has hashes, ascending, of counts that became too large, and ``n_often`` how often.
    """

    def __init__(self, n_letters, k, max_keys):
        self.k, self.letters = k, np.empty(n_letters, np.uint8)
        # If tables are small, one is full long before the others. A rest has one bit or more.
        self.table_bits = min(_TABLES_BITS, 2 * k - 1, max(max_keys.bit_length() - 10, 1))
        self.rest_bits = 2 * k - self.table_bits
        self.max_count = (1 << (64 - self.rest_bits)) - 1
        rest = np.dtype(np.uint32 if self.rest_bits <= 32 else np.uint64)
        n_collected = max(max_keys * 2 // rest.itemsize, min(n_letters, _CHUNK))
        self.collected = np.empty(n_collected, rest)
        self.n_collected, self.firsts, self.stops = 0, [], []
        self.max_in_table = max(max_keys >> self.table_bits, 1)
        self.max_bits = max(self.max_in_table * 8 // 7, 1).bit_length()
        self.bits = min(self.max_bits, _FIRST_BITS)
        self.slots = np.empty(1 << self.max_bits + self.table_bits, np.uint64)
        self.slots[: 1 << self.bits + self.table_bits] = 0
        self.n_keys = np.zeros(1 << self.table_bits, np.int64)
        self.often, self.n_often = np.empty(0, np.uint64), np.empty(0, np.int64)


def make_room(n_letters, k, max_keys):
    """Return room for so many letters at a time, and so many keys."""
    return Room(n_letters, k, max_keys)


def collect_kmers(room, n_letters, part, n_parts):
    """Collect the canonical k-mers of the first letters; return the number of parts reached."""
    for first in range(0, n_letters, _CHUNK):
        last = min(first + _CHUNK, n_letters)
        if room.n_collected + last - first > len(room.collected):
            n_parts = count_collected(room, part, n_parts)
        wanted = room.k, room.rest_bits, np.uint64(part), np.uint64(n_parts - 1)
        sizes = np.zeros((_PIECES, len(room.n_keys)), np.int64)
        _take_keys(room.letters, first, last, _CODES, *wanted, sizes, room.collected[:0])
        stops = np.cumsum(sizes.T).reshape(sizes.T.shape).T + room.n_collected
        places = np.ascontiguousarray(stops - sizes)
        room.firsts.append(places[0].copy())
        room.stops.append(stops[-1].copy())
        room.n_collected = int(stops[-1, -1])
        _take_keys(room.letters, first, last, _CODES, *wanted, places, room.collected)
    return n_parts


def count_collected(room, part, n_parts):
    """Count the collected k-mers; return the number of parts reached."""
    firsts = np.array(room.firsts, np.int64).reshape(-1, len(room.n_keys))
    stops = np.array(room.stops, np.int64).reshape(firsts.shape)
    n_full = np.zeros(firsts.shape, np.int64)
    while True:
        wanted = room.k, room.rest_bits, np.uint64(part), np.uint64(n_parts - 1)
        limit = room.max_in_table if room.bits == room.max_bits else 7 << room.bits >> 3
        starts = firsts.copy()
        tables = room.slots, room.bits, room.n_keys
        is_done = _add_keys(room.collected, firsts, stops, *wanted, limit, n_full, *tables)
        if n_full.any():
            _note_often(room, starts, n_full)
        if is_done:
            break
        if room.bits < room.max_bits:
            _move_keys(*wanted, *tables, room.bits + 1)
            room.bits += 1
        else:
            n_parts *= 2
            keep_part(room, part, n_parts)
    room.n_collected, room.firsts, room.stops = 0, [], []
    return n_parts


def keep_part(room, part, n_parts):
    """Keep only the keys of a part."""
    wanted = np.uint64(part), np.uint64(n_parts - 1)
    _move_keys(room.k, room.rest_bits, *wanted, room.slots, room.bits, room.n_keys, room.bits)
    is_kept = (_to_keys(room, room.often) * HASH_FACTOR >> HASH_SHIFT) & wanted[1] == wanted[0]
    room.often, room.n_often = room.often[is_kept], room.n_often[is_kept]


def list_counts(room):
    """Return the count of each key, in any order; empties the room."""
    slots, ends = room.slots[: len(room.n_keys) << room.bits], np.cumsum(room.n_keys)
    room.letters = room.collected = room.slots = None
    counts, places = np.empty(ends[-1], np.int64), np.empty(len(room.often), np.int64)
    starts = ends - room.n_keys
    _list_counts(slots, room.bits, room.rest_bits, starts, counts, room.often, places)
    counts[places] += room.n_often * room.max_count
    return counts


def sort_counts(room):
    """Return all keys, ascending, and their counts; empties the room."""
    slots, n = room.slots[: len(room.n_keys) << room.bits], int(room.n_keys.sum())
    room.letters = room.collected = room.slots = None
    keys, counts = np.empty(n, np.uint64), np.empty(n, np.int64)
    _sort_counts(slots, room.bits, room.k, room.rest_bits, keys, counts)
    places = np.searchsorted(keys, _to_keys(room, room.often))
    counts[places] += room.n_often * room.max_count
    return keys, counts


def tally_counts(counts):
    """Return the distinct counts, ascending, and the number of keys with each."""
    pieces = np.array_split(counts, len(counts) // _TALLIED + 1)
    few = sum(np.bincount(some[some < _FEW], minlength=_FEW) for some in pieces)
    values = np.flatnonzero(few)
    many, n_many = np.unique(counts[counts >= _FEW], return_counts=True)
    return np.concatenate([values, many]), np.concatenate([few[values], n_many])


def _to_keys(room, hashes):
    return hashes * _INVERSE & np.uint64((1 << 2 * room.k) - 1)


def _note_often(room, starts, n_full):
    """Note the keys whose counts began again; they are where collected keys had been."""
    found = [room.often]
    for row, table in np.argwhere(n_full).tolist():
        start = starts[row, table]
        rests = room.collected[start : start + n_full[row, table]].astype(np.uint64)
        found.append(rests | np.uint64(table << room.rest_bits))
    times = np.ones(sum(map(len, found)), np.int64)
    times[: len(room.often)] = room.n_often
    room.often, numbers = np.unique(np.concatenate(found), return_inverse=True)
    room.n_often = np.zeros(len(room.often), np.int64)
    np.add.at(room.n_often, numbers, times)


@njit(nogil=True, cache=True, parallel=True)
def _take_keys(letters, first, last, codes, k, rest_bits, part, mask, places, rests):
    """Store the rests of k-mers' hashes at places by piece and table, or only count them.

    A k-mer belongs to the piece of its last letter. Without room for rests, places are counts.
    """
    top, by = np.uint64(2 * (k - 1)), np.uint64(rest_bits)
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    of_rest = (np.uint64(1) << by) - np.uint64(1)
    for piece in prange(_PIECES):
        forward = reverse = np.uint64(0)
        n_bases = 0
        start = first + (last - first) * piece // _PIECES
        for i in range(max(start - k + 1, 0), first + (last - first) * (piece + 1) // _PIECES):
            code = np.uint64(codes[letters[i]])
            if code > np.uint64(3):
                n_bases = 0
                continue
            forward = (forward << np.uint64(2) | code) & of_k
            reverse = reverse >> np.uint64(2) | (np.uint64(3) - code) << top
            n_bases += 1
            if n_bases >= k and i >= start:
                key = min(forward, reverse)
                if (key * HASH_FACTOR >> HASH_SHIFT) & mask == part:
                    value = key * _TABLE_FACTOR & of_k
                    if len(rests) > 0:
                        rests[places[piece, value >> by]] = value & of_rest
                    places[piece, value >> by] += 1


@njit(nogil=True, cache=True, parallel=True)
def _add_keys(rests, firsts, stops, k, rest_bits, part, mask, limit, n_full, slots, bits, n_keys):
    """Count the keys of a part in groups of each table, until it is full; return if all are.

    ``firsts`` moves on, and has a row for each time that keys were collected. The rests of keys
    whose counts began again replace the first ones of a group; ``n_full`` is their number.
    """
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    count_bits = np.uint64(64 - rest_bits)
    max_count = (np.uint64(1) << count_bits) - np.uint64(1)
    n_slots, by = np.uint64(1) << np.uint64(bits), np.uint64(64 - bits)
    for table in prange(len(n_keys)):
        own = slots[table << bits : (table + 1) << bits]
        of_table = np.uint64(table) << np.uint64(rest_bits)
        n = n_keys[table]
        for row in range(len(firsts)):
            first, stop = firsts[row, table], stops[row, table]
            i, n_again = first, 0
            while i < stop:
                rest = np.uint64(rests[i])
                if mask != 0:
                    key = (of_table | rest) * _INVERSE & of_k
                    if (key * HASH_FACTOR >> HASH_SHIFT) & mask != part:
                        i += 1
                        continue
                word = rest << count_bits
                slot = word * HASH_FACTOR >> by
                while own[slot] != 0 and (own[slot] ^ word) > max_count:
                    slot = (slot + np.uint64(1)) & (n_slots - np.uint64(1))
                if own[slot] == 0:
                    if n == limit:
                        break
                    own[slot] = word
                    n += 1
                elif own[slot] & max_count == max_count:
                    own[slot] = word
                    rests[first + n_again] = rests[i]
                    n_again += 1
                own[slot] += np.uint64(1)
                i += 1
            firsts[row, table], n_full[row, table] = i, n_again
        n_keys[table] = n
    return (firsts == stops).all()


@njit(nogil=True, cache=True, parallel=True)
def _move_keys(k, rest_bits, part, mask, slots, bits, n_keys, to_bits):
    """Move the keys of a part to tables of the same size, or twice the size."""
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    count_bits = np.uint64(64 - rest_bits)
    n_slots, by = np.uint64(1) << np.uint64(to_bits), np.uint64(64 - to_bits)
    last = len(n_keys)
    while last > 0:
        # Tables that double take the places of others, which have moved before.
        first = (last + 1) // 2 if to_bits > bits and last > 1 else 0
        n_pieces = min(_PIECES, last - first)
        for piece in prange(n_pieces):
            old = np.empty(1 << bits, np.uint64)
            for table in range(
                first + (last - first) * piece // n_pieces,
                first + (last - first) * (piece + 1) // n_pieces,
            ):
                old[:] = slots[table << bits : (table + 1) << bits]
                own = slots[table << to_bits : (table + 1) << to_bits]
                own[:] = 0
                n = 0
                for word in old:
                    rest = word >> count_bits
                    key = (np.uint64(table) << np.uint64(rest_bits) | rest) * _INVERSE & of_k
                    if word != 0 and (key * HASH_FACTOR >> HASH_SHIFT) & mask == part:
                        slot = (rest << count_bits) * HASH_FACTOR >> by
                        while own[slot] != 0:
                            slot = (slot + np.uint64(1)) & (n_slots - np.uint64(1))
                        own[slot] = word
                        n += 1
                n_keys[table] = n
        last = first


@njit(nogil=True, cache=True, parallel=True)
def _list_counts(slots, bits, rest_bits, starts, counts, often, places):
    """List the counts of each table, and find the places of those of some hashes, ascending."""
    count_bits = np.uint64(64 - rest_bits)
    max_count = (np.uint64(1) << count_bits) - np.uint64(1)
    for table in prange(len(starts)):
        of_table = np.uint64(table) << np.uint64(rest_bits)
        n = starts[table]
        for i in range(table << bits, (table + 1) << bits):
            if slots[i] != 0:
                counts[n] = np.int64(slots[i] & max_count)
                if len(often) > 0:
                    value = of_table | slots[i] >> count_bits
                    at = np.searchsorted(often, value)
                    if at < len(often) and often[at] == value:
                        places[at] = n
                n += 1


@njit(nogil=True, cache=True, parallel=True)
def _sort_counts(slots, bits, k, rest_bits, keys, counts):
    """Sort the keys of slots and their counts.

    MSD pass to blocks that fit in a cache, then LSD radix sort (Knuth 1998, 5.2.5).
    """
    of_k = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 2 * k)
    count_bits = np.uint64(64 - rest_bits)
    max_count = (np.uint64(1) << count_bits) - np.uint64(1)
    first_bits = min(_BLOCK_BITS, 2 * k)
    n_blocks, n_left = 1 << first_bits, 2 * k - first_bits
    by = np.uint64(n_left)
    places = np.zeros((_PIECES + 1, n_blocks), np.int64)
    for piece in prange(_PIECES):
        for i in range(len(slots) * piece // _PIECES, len(slots) * (piece + 1) // _PIECES):
            if slots[i] != 0:
                value = np.uint64(i >> bits) << np.uint64(rest_bits) | slots[i] >> count_bits
                places[piece + 1, (value * _INVERSE & of_k) >> by] += 1
    starts = np.zeros(n_blocks + 1, np.int64)
    for block in range(n_blocks):
        places[0, block] = starts[block]
        for piece in range(_PIECES):
            places[piece + 1, block] += places[piece, block]
        starts[block + 1] = places[_PIECES, block]
    for piece in prange(_PIECES):
        for i in range(len(slots) * piece // _PIECES, len(slots) * (piece + 1) // _PIECES):
            if slots[i] != 0:
                value = np.uint64(i >> bits) << np.uint64(rest_bits) | slots[i] >> count_bits
                key = value * _INVERSE & of_k
                place = places[piece, key >> by]
                keys[place], counts[place] = key, np.int64(slots[i] & max_count)
                places[piece, key >> by] = place + 1
    for block in prange(n_blocks):
        start, stop = starts[block], starts[block + 1]
        own, own_counts = keys[start:stop], counts[start:stop]
        other, other_counts = np.empty(stop - start, np.uint64), np.empty(stop - start, np.int64)
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
