"""Where the sites of a reference path are, how they are nested, and where it has no choice.

``gates`` are those of `genoviz.analyses.graph.sites.walks`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


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
