"""What paths do at variation sites: which they traverse, and by which alleles.

A path traverses a site from its source to its sink, or the other way round on the other strand.
``gates`` says what begins and ends where: int32, shape (2 * n_nodes, 2), the site that is entered
after a handle and the one that is left at it, or -1. Sites are nested or apart, so those that a
path is in are a stack.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SITE, HASH, COUNT, N_PATHS, LAST_PATH, LENGTH, FIRST_STEP = range(7)
N_COLUMNS = 8
"""Columns of an allele table, int64.

An allele is known by its site and the sum of the hashes of its handles: a site has no cycle, so a
set of handles can be walked in one order only. FIRST_STEP is the step at which its first traversal
enters, or ``~step`` where that is on the other strand. A row of eight columns is a cache line.
"""


@njit(nogil=True, cache=True)
def follow_reference(steps, gates, n_bubbles):
    """Return first and last step of the first traversal of each bubble, and their number.

    The traversals are on the strand of the reference; int64, shape (n_bubbles, 3), -1 and 0 for
    none.
    """
    found = np.full((n_bubbles, 3), -1, np.int64)
    found[:, 2] = 0
    inside = np.empty((len(steps), 2), np.int64)
    depth = 0
    for step in range(len(steps)):
        enters, leaves = gates[steps[step]]
        if leaves >= 0 and depth and inside[depth - 1, 0] == leaves:
            depth -= 1
            if found[leaves, 2] == 0:
                found[leaves, 0] = inside[depth, 1]
                found[leaves, 1] = step
            found[leaves, 2] += 1
        if enters >= 0:
            inside[depth, 0] = enters
            inside[depth, 1] = step
            depth += 1
    return found


@njit(nogil=True, cache=True)
def nest_sites(steps, gates, n_sites):
    """Return the innermost site around each site, or -1, and where the reference traverses sites.

    The second array, shape (n_steps,), is how many complete traversals begin at a step less those
    that end there.
    """
    parents = np.full(n_sites, -1, np.int64)
    covers = np.zeros(len(steps), np.int64)
    inside = np.empty((len(steps), 2), np.int64)
    depth = 0
    for step in range(len(steps)):
        enters, leaves = gates[steps[step]]
        if leaves >= 0 and depth and inside[depth - 1, 0] == leaves:
            depth -= 1
            covers[inside[depth, 1]] += 1
            covers[step] -= 1
        if enters >= 0:
            if depth:
                parents[enters] = inside[depth - 1, 0]
            inside[depth, 0] = enters
            inside[depth, 1] = step
            depth += 1
    return parents, covers


@njit(nogil=True, cache=True)
def count_levels(parents):
    """Return how many sites lie around each site; each link to a parent is followed once."""
    levels = np.full(len(parents), -1, np.int64)
    for start in range(len(parents)):
        site, n_new = start, 0
        while site >= 0 and levels[site] < 0:
            n_new += 1
            site = parents[site]
        level = n_new if site < 0 else levels[site] + 1 + n_new
        site = start
        for _ in range(n_new):
            level -= 1
            levels[site] = level
            site = parents[site]
    return levels


@njit(nogil=True, cache=True)
def find_plain_steps(steps, offsets, targets):
    """Tell for each step whether the graph leaves no choice between it and the next."""
    is_plain = np.ones(len(steps), np.bool_)
    for step in range(len(steps) - 1):
        origin, target = np.int64(steps[step]), np.int64(steps[step + 1])
        for index in range(offsets[origin], offsets[origin + 1]):
            is_plain[step] &= targets[index] == target
        for index in range(offsets[target ^ 1], offsets[(target ^ 1) + 1]):
            is_plain[step] &= targets[index] == origin ^ 1
    return is_plain


@njit(nogil=True, cache=True)
def _mix(value):
    """Return 64 random-looking bits for a number (the finaliser of SplitMix64)."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True, cache=True)
def _slot_of(site, allele_hash, slots, alleles):
    """Return the slot that holds an allele, or the free one where it belongs."""
    mask = np.int64(len(slots) - 1)
    slot = np.int64(_mix(np.uint64(allele_hash) + _mix(site)) & np.uint64(mask))
    while slots[slot] >= 0:
        row = slots[slot]
        if alleles[row, SITE] == site and alleles[row, HASH] == allele_hash:
            break
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True, cache=True)
def _find_row(site, allele_hash, slots, alleles, n_rows):
    """Return the row of an allele, which is ``n_rows`` or a row with COUNT 0 if it is new."""
    for row in range(2 * site, 2 * site + 2):
        if alleles[row, COUNT] == 0 or alleles[row, HASH] == allele_hash:
            return row
    slot = _slot_of(site, allele_hash, slots, alleles)
    if slots[slot] < 0:
        slots[slot] = n_rows
    return slots[slot]


@njit(nogil=True, cache=True)
def _grow(slots, alleles):
    """Return tables of twice the size with the same alleles."""
    more = np.zeros((2 * len(alleles), alleles.shape[1]), np.int64)
    for row in range(len(alleles)):  # assigning slices takes Numba ten seconds to compile
        for column in range(alleles.shape[1]):
            more[row, column] = alleles[row, column]
    more_slots = np.full(2 * len(slots), -1, np.int64)
    for slot in range(len(slots)):
        row = slots[slot]
        if row >= 0:
            more_slots[_slot_of(alleles[row, SITE], alleles[row, HASH], more_slots, more)] = row
    return more_slots, more


@njit(nogil=True, cache=True)
def _deepen(inside, room):
    """Return a stack with more room and the same entries."""
    deeper = np.empty((room, inside.shape[1]), np.int64)
    for entry in range(len(inside)):
        for column in range(inside.shape[1]):
            deeper[entry, column] = inside[entry, column]
    return deeper


@njit(nogil=True, cache=True)
def count_alleles(
    paths, steps, path_offsets, gates, sources, node_lengths, slots, alleles, n_rows, visits
):
    """Count the traversals of some paths into an allele table; all sites in one pass.

    Parameters
    ----------
    paths
        int64: the paths; no path may come twice.
    gates, sources
        What sites begin and end where, and the first handle of each site.
    alleles, n_rows
        The table, zeros at first, and how many of its rows are in use or kept free: the first two
        alleles of site ``i`` have rows ``2 * i`` and ``2 * i + 1``, so that a path finds most of
        them next to each other in memory; the others follow.
    slots
        Hash table of those others; int64, a power of two long, at least twice as long as
        ``alleles``. It and ``alleles`` may be replaced by larger ones.
    visits
        int64, shape (n_sites, 2): number of paths that traverse a site, and the last of them.

    Returns
    -------
    slots, alleles, n_rows
    """
    room = 64
    inside = np.empty((room, 6), np.int64)
    for path in paths:
        depth = 0
        forward, backward, length = np.int64(0), np.int64(0), np.int64(0)
        for step in range(path_offsets[path], path_offsets[path + 1]):
            handle = np.int64(steps[step])
            enters, leaves = gates[handle, 0], gates[handle, 1]
            if leaves >= 0 and depth and inside[depth - 1, SITE] == leaves:
                depth -= 1
                allele_hash = forward - inside[depth, 2]
                if inside[depth, 5]:
                    allele_hash = backward - inside[depth, 3]
                if n_rows == len(alleles):
                    slots, alleles = _grow(slots, alleles)
                row = _find_row(np.int64(leaves), allele_hash, slots, alleles, n_rows)
                if alleles[row, COUNT] == 0:
                    entry = inside[depth, 1]
                    alleles[row, SITE] = leaves
                    alleles[row, HASH] = allele_hash
                    alleles[row, LAST_PATH] = -1
                    alleles[row, LENGTH] = length - inside[depth, 4]
                    alleles[row, FIRST_STEP] = ~entry if inside[depth, 5] else entry
                    n_rows += row == n_rows
                alleles[row, COUNT] += 1
                alleles[row, N_PATHS] += alleles[row, LAST_PATH] != path
                alleles[row, LAST_PATH] = path
                visits[leaves, 0] += visits[leaves, 1] != path
                visits[leaves, 1] = path
            if depth:
                forward += np.int64(_mix(handle))
                backward += np.int64(_mix(handle ^ 1))
                length += node_lengths[handle >> 1]
            if enters >= 0:
                if depth == room:
                    room *= 2
                    inside = _deepen(inside, room)
                inside[depth, 0] = enters
                inside[depth, 1] = step
                inside[depth, 2] = forward
                inside[depth, 3] = backward
                inside[depth, 4] = length
                inside[depth, 5] = handle != sources[enters]
                depth += 1
    return slots, alleles, n_rows


@njit(nogil=True, cache=True)
def _rows_by_site(alleles, n_sites):
    """Return the used rows of an allele table sorted by site, and where each site's begin."""
    offsets = np.zeros(n_sites + 1, np.int64)
    for row in range(len(alleles)):
        if alleles[row, COUNT]:
            offsets[alleles[row, SITE] + 1] += 1
    for site in range(n_sites):
        offsets[site + 1] += offsets[site]
    rows = np.empty(offsets[-1], np.int64)
    ends = offsets[:-1].copy()
    for row in range(len(alleles)):
        if alleles[row, COUNT]:
            site = alleles[row, SITE]
            rows[ends[site]] = row
            ends[site] += 1
    return rows, offsets


def sort_alleles(alleles: np.ndarray, n_sites: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the used rows of an allele table sorted by site, and where each site's begin.

    The first allele that was met stays first; the others follow by falling number of traversals,
    then as they were met.
    """
    rows, offsets = _rows_by_site(alleles, n_sites)
    counts = np.diff(offsets)
    is_open = np.repeat(counts > 2, counts)
    is_open[offsets[:-1]] = False
    others = rows[is_open]
    order = np.lexsort((-alleles[others, COUNT], alleles[others, SITE]))
    rows[is_open] = others[order]
    return alleles[rows], offsets
