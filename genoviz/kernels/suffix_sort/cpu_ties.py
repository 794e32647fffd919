"""Ties of seeds (``cpu_seeds``): groups of seeds that the sort in blocks left equal.

They are refined by prefix doubling. The members of a group have bases in common up to another seed,
at a distance called the group's link, so the ranks of the seeds there sort them. Members that stay
tied also share the bases up to the link of that rank's group, and the sum is their new link: common
bases double each round::

    two members   |-- common --|rank 7        the seeds at the link are already ordered:
    of a group    |-- common --|rank 9        the first is smaller

    or            |-- common --|rank 7        still tied there, in a group with more common
                  |-- common --|rank 7        bases, up to its own link:
                               |-- common --|
                  |---------- common -------| so these are common too

A tandem repeat would tie its own seeds for one round per doubling of its length. There, the seeds
of a group are one period apart and form chains. A chain ends with a seed whose successor, one
period further on, is in another group. If that group is smaller, the last seed is the smallest of
its chain, else the largest, and so on along the chain. So the number of periods left and the rank
after the chain sort all seeds in one round.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import prefetch

FEW = 16  # up to so many pairs are sorted by insertion
MANY = 64  # groups of so many seeds may be tandem repeats
GROUPS, FETCHED = 64, 192  # groups, and their seeds, whose ranks are prefetched together
DIGIT_BITS = 11
DIGIT = (1 << DIGIT_BITS) - 1
ALL_HEADS = np.uint64(0x0101010101010101)  # eight times HEAD
HEAD, TIED, NEW_HEAD = 1, 0, 2


@njit(nogil=True, cache=True)
def move_to_heads(is_head, edges):
    """Move the edges of chunks to the next group heads."""
    for i in range(1, len(edges) - 1):
        edges[i] = max(edges[i], edges[i - 1])
        while edges[i] < edges[-1] and is_head[edges[i]] == TIED:
            edges[i] += 1


@njit(nogil=True, cache=True, parallel=True)
def rank_seeds(seeds, is_head, edges, ranks):
    """Store the first slot of each seed's group, at half the seed's position."""
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
    """Sort positions by keys >= 0."""
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
def _turn_descending(keys, positions, n):
    """Reverse a descending sequence, and return whether the keys are now in order."""
    ascends = descends = True
    i = 1
    while i < n and (ascends or descends):
        ascends &= keys[i] >= keys[i - 1]
        descends &= keys[i] < keys[i - 1]
        i += 1
    if descends and not ascends:
        for i in range(n // 2):
            k = n - 1 - i
            keys[i], keys[k] = keys[k], keys[i]
            positions[i], positions[k] = positions[k], positions[i]
    return ascends or descends


@njit(nogil=True, cache=True)
def _sort_many(keys, positions, n):
    """LSD radix sort by 11 bits a pass; passes in which all keys are equal are skipped."""
    if _turn_descending(keys, positions, n):
        return
    differs = np.int64(0)
    for i in range(1, n):
        differs |= keys[i] ^ keys[0]
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
    """Find the next groups, and load the ranks at their members' links.

    Return the number of groups, and the slot after them.
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
def _find_period(seeds, first, n, link, ranks, finds_gaps):
    """Return a distance at which most seeds of a group have another seed of it, or 0.

    That is the distance of neighbours if it is at most the link, or else the link.
    """
    if finds_gaps and _is_periodic(seeds, first, n, link):
        period = link
        for i in range(first + 1, first + n):
            period = min(period, abs(np.int64(seeds[i]) - np.int64(seeds[i - 1])))
        return period
    n_same = 0
    for i in range(first, first + n):
        n_same += ranks[(np.int64(seeds[i]) + link) >> 1] == first
    return link if 4 * n_same >= 3 * n else np.int64(0)


@njit(nogil=True, cache=True)
def _is_periodic(seeds, first, n, link):
    """Return whether most seeds of a group are equally far apart, at most as far as its link."""
    n_same, before = 0, np.int64(0)
    for i in range(first + 1, first + n):
        distance = abs(np.int64(seeds[i]) - np.int64(seeds[i - 1]))
        n_same += distance == before and distance <= link
        before = distance
    return 4 * n_same >= 3 * n


@njit(nogil=True, cache=True)
def _sort_chains(seeds, is_head, first, n, ranks, links, next_links, period):
    """Sort a group by the periods left of each seed's chain, and by the rank after the chain.

    Return False if the numbers do not fit in one key.
    """
    positions, repeats, keys = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        positions[i] = keys[i] = seeds[first + i]
    _sort_pairs(keys, positions, n)
    k, maximum = n - 1, np.int64(1)
    for i in range(n - 1, -1, -1):
        while positions[k] > positions[i] + period:
            k -= 1
        if k > i and positions[k] == positions[i] + period:
            repeats[i], keys[i] = repeats[k] + 1, keys[k]
            maximum = max(maximum, repeats[i] + 1)
        else:
            keys[i] = ranks[(positions[i] + period) >> 1]
    n_ranks = np.int64(len(seeds))
    if maximum > (np.int64(1) << 61) // n_ranks:
        return False
    for i in range(n):
        row = repeats[i] if keys[i] < first else 2 * maximum - repeats[i]
        keys[i] += row * n_ranks
    _sort_pairs(keys, positions, n)
    head = 0
    for i in range(n):
        seeds[first + i] = positions[i]
        if keys[i] != keys[head]:
            head = i
            is_head[first + i] = NEW_HEAD
        if i == head + 1:
            row, rank = keys[head] // n_ranks, keys[head] % n_ranks
            left = row if row < maximum else 2 * maximum - row
            next_links[(first + head) >> 1] = (left + 1) * period + np.int64(links[rank >> 1])
    return True


@njit(nogil=True, cache=True)
def _sort_group(seeds, is_head, first, n, ranks, links, next_links, keys, positions, finds_gaps):
    link = np.int64(links[first >> 1])
    if n >= MANY:
        period = _find_period(seeds, first, n, link, ranks, finds_gaps)
        if period and _sort_chains(seeds, is_head, first, n, ranks, links, next_links, period):
            return
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
def sort_groups(seeds, is_head, edges, ranks, links, next_links, finds_gaps):
    """Sort each group by the ranks at its members' links, and mark where it splits.

    ``finds_gaps`` says whether seeds at equal distances are an equal number of bases apart.
    """
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
                _sort_group(
                    seeds,
                    is_head,
                    first,
                    n,
                    ranks,
                    links,
                    next_links,
                    keys,
                    positions,
                    finds_gaps,
                )


@njit(nogil=True, cache=True, parallel=True)
def split_groups(seeds, is_head, edges, ranks, tied):
    """Rank the parts of each chunk's groups, and store the number of tied seeds."""
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


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
