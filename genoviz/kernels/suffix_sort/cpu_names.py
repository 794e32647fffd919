"""Names of seeds (``cpu_seeds``), for a text of few different substrings between seeds.

Each substring gets a name, and the names form a shorter text whose suffixes have the order of the
seeds. They are sorted by induction, as the whole text is, and by recursion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.kernels.instructions import leading_zeros

ONE, HALF = np.uint64(1), np.uint64(32)
SLOT_BITS = 16  # of the hash table of names
MANY_NAMES, SEEDS_PER_NAME = 1024, 16  # with more names, and fewer seeds each, naming is slower
FACTOR, HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - SLOT_BITS)
STEP_NAMES = 1 << 23  # names induced between two chances to cancel


@njit(nogil=True, cache=True)
def name_seeds(packed, marks, n_symbols, exceptions, first, stop, state, table, names, known):
    """Name the bases from each seed up to the first one of the next seed, at most 32.

    ``names`` (uint16, one for each seed in text order) holds indices into the columns of ``known``,
    whose rows are: window, length, seeds before an exception, seeds of the name, and the name that
    came next the last time. Bases after the length are T. A seed before an exception has no next
    seed: its bases end at the exception, with A after the length, and it has a name of its own.

    Reads words from ``first`` to ``stop``. ``state`` holds the number of names, of named seeds, the
    last seed, its next exception and the last name; ``table`` is a hash table from windows to
    names. Return False if there are too many names, or a name is longer.
    """
    windows, lengths, ended, counts, followers = known
    n_names, n, before, next_exception, last = state
    for word in range(first, stop):
        is_end = word == len(marks) - 1
        bits = np.uint64(0) if is_end else marks[word] << HALF
        while bits or (is_end and before >= 0):
            position = n_symbols
            if bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
            if before >= 0:
                while exceptions[next_exception] < before:
                    next_exception += 1
                end = exceptions[next_exception]
                has_ended = end < position
                length = end - before if has_ended else position - before + 1
                if length > 32:
                    return False
                at, shift = before >> 5, np.uint64(2 * (before & 31))
                window = packed[at] << shift | packed[at + 1] >> ONE >> (np.uint64(63) - shift)
                rest = ~np.uint64(0) >> ONE >> np.uint64(2 * length - 1)
                window = window & ~rest if has_ended else window | rest
                name = followers[last]
                is_known = windows[name] == np.int64(window) and lengths[name] == length
                if has_ended or not is_known or ended[name] >= 0:
                    name = np.int64(-1)
                    slot = np.int64((window ^ window >> np.uint64(29)) * FACTOR >> HASH_SHIFT)
                    while not has_ended and table[slot] >= 0 and name < 0:
                        other = table[slot]
                        if windows[other] == np.int64(window) and lengths[other] == length:
                            name = other
                        slot = (slot + 1) & (len(table) - 1)
                    if name < 0:
                        is_many = n_names > MANY_NAMES and SEEDS_PER_NAME * n_names > n
                        if is_many or n_names == known.shape[1]:
                            return False
                        name = n_names
                        windows[name], lengths[name] = np.int64(window), length
                        ended[name] = before if has_ended else -1
                        if not has_ended:
                            table[slot] = name
                        n_names += 1
                    followers[last] = name
                last = name
                names[n] = name
                counts[name] += 1
                n += 1
            before = position if position < n_symbols else np.int64(-1)
    state[0], state[1], state[2], state[3], state[4] = n_names, n, before, next_exception, last
    return True


@njit(nogil=True, cache=True)
def rename(names, new_names):
    """Replace each name by its new one."""
    for i in range(len(names)):
        names[i] = new_names[names[i]]


@njit(nogil=True, cache=True)
def list_seeds(marks, rows, order, seeds):
    """Store the positions of the seeds in the given order; ``rows`` has room for all of them."""
    n = 0
    for word in range(len(marks)):
        bits = marks[word] << HALF
        while bits:
            offset = leading_zeros(bits)
            bits ^= np.uint64(1 << 63) >> offset
            rows[n] = (word << 5) + np.int64(offset) + 1
            n += 1
    for i in range(n):
        seeds[i] = rows[order[i]]


def iter_sort_named(names, n_names, marks, suffix_array):
    """Return the positions of the seeds in the order of their names; yield progress.

    The memory of the suffix array is workspace: the order is at its end, positions at its start.
    """
    n_seeds = len(names)
    order = suffix_array.view(np.int32)[-n_seeds:]
    for _ in iter_sort_names(names, n_names, order):
        yield "blocks", 0, n_seeds, 0
    seeds = np.empty(n_seeds, suffix_array.dtype)
    list_seeds(marks, suffix_array, order, seeds)
    yield "blocks", n_seeds, n_seeds, 0
    return seeds


def iter_sort_names(names, n_names, order):
    """Fill ``order`` with the sorted suffixes of names (int32), by induction and recursion.

    After Nong, Zhang, Chan 2011 (SA-IS). The end is smaller than any name. Yields at intervals.
    """
    if len(names) > 1 and _is_run(names):
        _order_run(names, order)
        return
    rising, starts, n_lowest = _type_names(names, n_names)
    yield
    lowest = np.empty(n_lowest, np.int32)
    if n_lowest:
        _find_lowest(rising, lowest)
        yield from _induce_names(names, rising, starts, lowest, order)
        reduced = np.empty(n_lowest, np.int32)
        n_reduced = _name_lowest(names, rising, order, lowest, reduced)
        yield
        inner = order[:n_lowest]
        if n_reduced == n_lowest:
            inner[reduced] = np.arange(n_lowest, dtype=np.int32)
        else:
            yield from iter_sort_names(reduced, n_reduced, inner)
        del reduced
        lowest = lowest[inner]
        yield
    yield from _induce_names(names, rising, starts, lowest, order)


@njit(nogil=True, cache=True)
def _is_run(names):
    """Return whether all names but the last one are equal."""
    for i in range(1, len(names) - 1):
        if names[i] != names[0]:
            return False
    return True


@njit(nogil=True, cache=True)
def _order_run(names, order):
    """Fill the order of a run of one name, followed by any name or the end."""
    n = len(names)
    if names[n - 1] <= names[0]:
        for i in range(n):
            order[i] = n - 1 - i
    else:
        for i in range(n):
            order[i] = i


@njit(nogil=True, cache=True)
def _type_names(names, n_names):
    """Return which suffixes are rising, the first falling and rising row of each name, and a count.

    The count is the number of rising suffixes after falling ones.
    """
    n = len(names)
    rising = np.zeros(n, np.bool_)
    counts = np.zeros((2, n_names + 1), np.int64)
    counts[0, names[n - 1]] += 1
    n_lowest, rises, following = 0, False, names[n - 1]
    for i in range(n - 2, -1, -1):
        name = names[i]
        rises_before = rises if name == following else name < following
        n_lowest += rises and not rises_before
        rises, following = rises_before, name
        rising[i] = rises
        counts[np.int64(rises), name] += 1
    starts = np.zeros((2, n_names + 1), np.int64)
    total = 0
    for name in range(n_names + 1):
        starts[0, name] = total
        starts[1, name] = total + counts[0, name]
        total += counts[0, name] + counts[1, name]
    return rising, starts, n_lowest


@njit(nogil=True, cache=True)
def _find_lowest(rising, lowest):
    """Store the rising suffixes after falling ones."""
    n = 0
    for i in range(1, len(rising)):
        if rising[i] and not rising[i - 1]:
            lowest[n] = i
            n += 1


def _induce_names(names, rising, starts, lowest, order):
    """Induce the order of all suffixes from that of the rising ones after falling ones."""
    n = len(names)
    order[:] = -1
    _place_lowest(names, starts[1].copy(), lowest, order)
    slots = starts[0].copy()
    for first in range(0, n, STEP_NAMES):
        _induce_falling(names, rising, slots, first, min(first + STEP_NAMES, n), order)
        yield
    slots = starts[0].copy()
    for stop in range(n, 0, -STEP_NAMES):
        _induce_rising(names, rising, slots, max(stop - STEP_NAMES, 0), stop, order)
        yield


@njit(nogil=True, cache=True)
def _place_lowest(names, slots, lowest, order):
    for position in lowest:
        order[slots[names[position]]] = position
        slots[names[position]] += 1


@njit(nogil=True, cache=True)
def _induce_falling(names, rising, slots, first, stop, order):
    """Place the falling suffixes one name before some rows; before the first row comes the end."""
    n = len(names)
    if first == 0:
        order[slots[names[n - 1]]] = n - 1
        slots[names[n - 1]] += 1
    for i in range(first, stop):
        before = np.int64(order[i]) - 1
        if before >= 0 and not rising[before]:
            order[slots[names[before]]] = before
            slots[names[before]] += 1


@njit(nogil=True, cache=True)
def _induce_rising(names, rising, slots, first, stop, order):
    """Place the rising suffixes one name before some rows, from the last row down."""
    for i in range(stop - 1, first - 1, -1):
        before = np.int64(order[i]) - 1
        if before >= 0 and rising[before]:
            name = np.int64(names[before]) + 1
            slots[name] -= 1
            order[slots[name]] = before


@njit(nogil=True, cache=True)
def _name_lowest(names, rising, order, lowest, reduced):
    """Name the substrings from each of the lowest suffixes to the next; return the number of names.

    The order holds the lowest suffixes at its beginning; the names are stored after them.
    """
    n, n_lowest = len(names), len(lowest)
    n_sorted = 0
    for i in range(n):
        position = np.int64(order[i])
        if position > 0 and rising[position] and not rising[position - 1]:
            order[n_sorted] = position
            n_sorted += 1
    of_half = order[n - (n + 1) // 2 :]
    before, name = np.int64(-1), np.int64(-1)
    for i in range(n_lowest):
        position = np.int64(order[i])
        is_same, k = before >= 0, 0
        while is_same:
            first, second = position + k, before + k
            if first == n or second == n or names[first] != names[second]:
                is_same = False
            elif k and rising[first] and not rising[first - 1]:
                is_same = rising[second] and not rising[second - 1]
                break
            elif k and rising[second] and not rising[second - 1]:
                is_same = False
            k += 1
        name += not is_same
        of_half[position >> 1] = name
        before = position
    for i in range(n_lowest):
        reduced[i] = of_half[lowest[i] >> 1]
    return name + 1


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
