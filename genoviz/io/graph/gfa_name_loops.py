"""Compiled loops that look up node ranks by segment names in a table.

The table is indexed by number if all names are a prefix and a number, else it is a hash table. A
loop returns the place of the first wrong name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.io.files.borrowed import borrow

ZERO, NINE = 48, 57

MAX_INTEGER_DIGITS = 18
NOTHING_WRONG = -1
_HASH_START = np.uint64(0xCBF29CE484222325)
_HASH_FACTOR = np.uint64(0x00000100000001B3)
_HASH_MIX = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


class NodeTable(NamedTuple):
    """The map from segment names to node ranks.

    If all names are ``prefix`` and a number without leading zeros, ``ranks`` is used: rank + 1 of
    the node numbered ``first_number + i``, or 0; uint32. Otherwise ``ranks`` is empty, and
    ``slots`` is an open-addressing hash table: 32 bits of the hash, then rank + 1; uint64, its size
    a power of two, never full.
    """

    prefix: np.ndarray
    first_number: int
    ranks: np.ndarray
    slots: np.ndarray
    names: np.ndarray
    name_offsets: np.ndarray


@njit(nogil=True, inline="always")
def _read_number(data, i, stop):
    """Return the number without leading zeros at ``i`` (-1 if none), and the end of its digits."""
    start = i
    value = 0
    while i < stop and ZERO <= data[i] <= NINE:
        value = value * 10 + (data[i] - ZERO)
        i += 1
    n_digits = i - start
    if n_digits == 0 or n_digits > MAX_INTEGER_DIGITS or (data[start] == ZERO and n_digits > 1):
        return -1, i
    return value, i


@njit(nogil=True, cache=True)
def find_number_range(names, offsets, first, last, prefix):
    """Return minimum and maximum number of names ``prefix<number>``; (-1, -1) if one differs."""
    names, offsets, prefix = borrow(names), borrow(offsets), borrow(prefix)
    minimum, maximum = -1, -1
    for k in range(first, last):
        i, stop = offsets[k], offsets[k + 1]
        if stop - i <= len(prefix):
            return -1, -1
        for j in range(len(prefix)):
            if names[i] != prefix[j]:
                return -1, -1
            i += 1
        value, i = _read_number(names, i, stop)
        if value < 0 or i != stop:
            return -1, -1
        minimum = value if minimum < 0 else min(minimum, value)
        maximum = max(maximum, value)
    return minimum, maximum


@njit(nogil=True, cache=True)
def fill_ranks(table, first, last):
    """Enter nodes ``first`` to ``last`` into ``table.ranks``; return the first repeated or -1."""
    names, offsets, ranks = borrow(table.names), borrow(table.name_offsets), borrow(table.ranks)
    n_prefix = len(table.prefix)
    first_number = table.first_number
    for k in range(first, last):
        value, _ = _read_number(names, offsets[k] + n_prefix, offsets[k + 1])
        if ranks[value - first_number]:
            return k
        ranks[value - first_number] = k + 1
    return NOTHING_WRONG


@njit(nogil=True, inline="always")
def _hash(data, start, stop):
    value = _HASH_START
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _HASH_FACTOR
    value = (value ^ (value >> _HASH_SHIFT)) * _HASH_MIX
    return value ^ (value >> _HASH_SHIFT)


@njit(nogil=True, inline="always")
def _is_name(data, start, n_bytes, node, names, name_offsets):
    """Return whether ``data[start:start + n_bytes]`` is the name of ``node``.

    Compares from the end, because neighbouring names differ there.
    """
    name = name_offsets[node]
    if name_offsets[node + 1] - name != n_bytes:
        return False
    i = n_bytes - 1
    while i >= 0 and names[name + i] == data[start + i]:
        i -= 1
    return i < 0


@njit(nogil=True, inline="always")
def _find_slot(data, start, stop, slots, names, name_offsets):
    """Return the slot of the name ``data[start:stop]``, or the empty slot for it, and its hash."""
    value = _hash(data, start, stop)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    tag = value >> _HASH_SHIFT
    n_bytes = stop - start
    while slots[slot] != 0:
        if slots[slot] >> _HASH_SHIFT == tag:
            node = np.int64(slots[slot] & _LOW_HALF) - 1
            if _is_name(data, start, n_bytes, node, names, name_offsets):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot, value


@njit(nogil=True, cache=True)
def fill_slots(table, first, last):
    """Enter nodes ``first`` to ``last`` into ``table.slots``; return the first repeated or -1."""
    names, offsets, slots = borrow(table.names), borrow(table.name_offsets), borrow(table.slots)
    for k in range(first, last):
        slot, value = _find_slot(names, offsets[k], offsets[k + 1], slots, names, offsets)
        if slots[slot] != 0:
            return k
        slots[slot] = ((value >> _HASH_SHIFT) << _HASH_SHIFT) | np.uint64(k + 1)
    return NOTHING_WRONG


@njit(nogil=True, inline="always")
def find_near(data, start, stop, node, slots, names, name_offsets):
    """Return the node named ``data[start:stop]``, or -1; tries the neighbours of ``node`` first.

    Paths mostly step to a nearby node, which avoids the cache miss of the hash table.
    """
    n_nodes = len(name_offsets) - 1
    for k in range(max(node - 2, 0), min(node + 4, n_nodes)):
        if _is_name(data, start, stop - start, k, names, name_offsets):
            return k
    slot, _ = _find_slot(data, start, stop, slots, names, name_offsets)
    return np.int64(slots[slot] & _LOW_HALF) - 1


@njit(nogil=True, inline="always")
def find_named(data, start, stop, near, prefix, first, ranks, slots, names, name_offsets):
    """Return the node named ``data[start:stop]``, or -1."""
    if stop <= start:
        return -1
    if len(ranks) == 0:
        return find_near(data, start, stop, near, slots, names, name_offsets)
    i = start
    for k in range(len(prefix)):
        if i >= stop or data[i] != prefix[k]:
            return -1
        i += 1
    value, i = _read_number(data, i, stop)
    if value < first or value - first >= len(ranks) or i != stop:
        return -1
    return np.int64(ranks[value - first]) - 1


@njit(nogil=True, cache=True)
def find_names(data, offsets, table):
    """Return the node of each name ``data[offsets[k]:offsets[k + 1]]``, or -1; int64."""
    data, offsets = borrow(data), borrow(offsets)
    prefix, ranks, slots = borrow(table.prefix), borrow(table.ranks), borrow(table.slots)
    names, name_offsets = borrow(table.names), borrow(table.name_offsets)
    first_number = table.first_number
    nodes = np.empty(len(offsets) - 1, np.int64)
    node = 0
    for k in range(len(nodes)):
        start, stop = offsets[k], offsets[k + 1]
        node = find_named(
            data, start, stop, node, prefix, first_number, ranks, slots, names, name_offsets
        )
        nodes[k] = node
    return nodes


# Compiled with genoviz/io/files/borrowed.py: cc1df299cd543223
