"""Refinement of tied seeds by doubling.

The members of a group have bases in common up to another seed, the group's link, so that the ranks
of the seeds there sort them. What is tied still has the bases up to the link of that rank's group
in common, which becomes its new link: common bases double with each round::

    two members   |-- common --|rank 7        the seeds at the link have been told apart:
    of a group    |-- common --|rank 9        the first is smaller

    or            |-- common --|rank 7        still tied there, in a group that has more bases
                  |-- common --|rank 7        in common, up to its own link:
                               |-- common --|
                  |---------- common -------| and so have these
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import prefetch

FEW = 16
GROUPS, FETCHED = 64, 192
DIGIT_BITS = 11
DIGIT = (1 << DIGIT_BITS) - 1
ALL_HEADS = np.uint64(0x0101010101010101)
HEAD, TIED, NEW_HEAD = 1, 0, 2


@njit(nogil=True, cache=True)
def move_to_heads(is_head, edges):
    """Move the edges of chunks to the next beginnings of groups."""
    for i in range(1, len(edges) - 1):
        edges[i] = max(edges[i], edges[i - 1])
        while edges[i] < edges[-1] and is_head[edges[i]] == TIED:
            edges[i] += 1


@njit(nogil=True, cache=True, parallel=True)
def rank_seeds(seeds, is_head, edges, ranks):
    """Store for each seed, at half its position, where its group begins."""
    for chunk in prange(len(edges) - 1):
        head = edges[chunk]
        for slot in range(edges[chunk], edges[chunk + 1]):
            if is_head[slot]:
                head = slot
            ranks[seeds[slot] >> 1] = head


@njit(nogil=True, cache=True)
def _next_tied(is_head, slot, end):
    """Return the first slot from one on that belongs to the group before it, or ``end``."""
    eight = is_head.view(np.uint64)
    while slot < end and is_head[slot] == HEAD:
        slot += 1
        while slot & 7 == 0 and slot + 8 <= end and eight[slot >> 3] == ALL_HEADS:
            slot += 8
    return slot


@njit(nogil=True, cache=True)
def _sort_pairs(keys, positions, n):
    """Sort positions by their keys, which are not negative."""
    if n > FEW:
        _sort_many(keys, positions, n)
        return
    for i in range(1, n):
        key, position = keys[i], positions[i]
        k = i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            positions[k] = positions[k - 1]
            k -= 1
        keys[k] = key
        positions[k] = position


@njit(nogil=True, cache=True)
def _sort_many(keys, positions, n):
    """Sort by 11 bits of the keys at a time, the lowest ones first, where any differ."""
    differs = np.int64(0)
    for i in range(1, n):
        differs |= keys[i] ^ keys[0]
    if differs == 0:
        return
    sorted_keys, sorted_positions = np.empty(n, np.int64), np.empty(n, np.int64)
    for shift in range(0, 63, DIGIT_BITS):
        if differs >> shift & DIGIT == 0:
            continue
        ends = np.zeros(DIGIT + 2, np.int64)
        for i in range(n):
            ends[(keys[i] >> shift & DIGIT) + 1] += 1
        for digit in range(DIGIT):
            ends[digit + 1] += ends[digit]
        for i in range(n):
            digit = keys[i] >> shift & DIGIT
            sorted_keys[ends[digit]] = keys[i]
            sorted_positions[ends[digit]] = positions[i]
            ends[digit] += 1
        for i in range(n):
            keys[i], positions[i] = sorted_keys[i], sorted_positions[i]


@njit(nogil=True, cache=True)
def _find_groups(seeds, is_head, slot, end, ranks, links, firsts, lasts):
    """Find the next groups, and fetch the ranks of what their members link to.

    Return how many there are, and the slot after them.
    """
    n, fetched = 0, 0
    while n < len(firsts) and fetched < FETCHED:
        tied = _next_tied(is_head, slot, end)
        if tied == end:
            slot = end
            break
        slot = tied + 1
        while slot < end and is_head[slot] == TIED:
            slot += 1
        firsts[n], lasts[n] = tied - 1, slot
        link = np.int64(links[(tied - 1) >> 1])
        for i in range(tied - 1, min(slot, tied + FETCHED)):
            prefetch(ranks, (np.int64(seeds[i]) + link) >> 1)
        fetched += slot - tied + 1
        n += 1
    for i in range(n):
        first = firsts[i]
        target = (np.int64(seeds[first]) + np.int64(links[first >> 1])) >> 1
        prefetch(links, np.int64(ranks[target]) >> 1)
    return n, slot


@njit(nogil=True, cache=True)
def _sort_group(seeds, is_head, first, n, ranks, links, next_links, keys, positions):
    link = np.int64(links[first >> 1])
    for i in range(n):
        position = np.int64(seeds[first + i])
        positions[i] = position
        keys[i] = ranks[(position + link) >> 1]
    _sort_pairs(keys, positions, n)
    head = 0
    for i in range(n):
        seeds[first + i] = positions[i]
        if keys[i] != keys[head]:
            head = i
            is_head[first + i] = NEW_HEAD
        if i == head + 1:
            next_links[(first + head) >> 1] = link + np.int64(links[keys[head] >> 1])


@njit(nogil=True, cache=True, parallel=True)
def sort_groups(seeds, is_head, edges, ranks, links, next_links):
    """Sort each group by the ranks of what its members link to, and mark where it splits."""
    for chunk in prange(len(edges) - 1):
        firsts, lasts = np.empty(GROUPS, np.int64), np.empty(GROUPS, np.int64)
        keys, positions = np.empty(64, np.int64), np.empty(64, np.int64)
        slot, end = edges[chunk], edges[chunk + 1]
        while slot < end:
            n_groups, slot = _find_groups(seeds, is_head, slot, end, ranks, links, firsts, lasts)
            for group in range(n_groups):
                first = firsts[group]
                n = lasts[group] - first
                if n > len(keys):
                    keys, positions = np.empty(n, np.int64), np.empty(n, np.int64)
                _sort_group(seeds, is_head, first, n, ranks, links, next_links, keys, positions)


@njit(nogil=True, cache=True, parallel=True)
def split_groups(seeds, is_head, edges, ranks, tied):
    """Give the parts of the groups of each chunk their ranks, and store how many are tied."""
    for chunk in prange(len(edges) - 1):
        slot, end, n_tied = edges[chunk], edges[chunk + 1], 0
        while True:
            slot = _next_tied(is_head, slot, end)
            if slot == end:
                break
            head, n = slot - 1, 1
            while slot < end and is_head[slot] != HEAD:
                if is_head[slot] == NEW_HEAD:
                    is_head[slot] = HEAD
                    n_tied += n if n > 1 else 0
                    head, n = slot, 0
                if head != slot or n == 0:
                    ranks[seeds[slot] >> 1] = head
                n += 1
                slot += 1
            n_tied += n if n > 1 else 0
        tied[chunk] = n_tied


# Compiled with genoviz/kernels/instructions.py: 8dfe7e27c1952e34
