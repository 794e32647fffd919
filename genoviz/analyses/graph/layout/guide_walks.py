r"""Walks along links where no path leads, found as shortest paths.

Each of the loops adds walks to a `GuideWalks`. A node is *covered* once a walk visits it::

    reference   o-----o-----a=============b-----o-----o      covered before
                             \           /
    hung                      o---x-----o                    a and b are the anchors of x

Shortest paths are searched from many sources at once (Dijkstra 1959, doi:10.1007/BF01386390). They
are walks over handles: a walk that enters a node at one end leaves it at the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

CONTEXT = 5
"""Steps by which a walk is continued along covered nodes, so that it is placed beside them."""
UNREACHED = 1 << 62


class GuideWalks(NamedTuple):
    """The walks found so far.

    Attributes
    ----------
    steps
        uint32: handles of all walks; the first ``sizes[0]`` are used.
    ends
        int64: where each walk ends in ``steps``; the first ``sizes[1]`` are used.
    sizes
        int64, shape (2,).
    nexts
        int64, shape (2 n_nodes,): the handle that follows each on the first walk or path that
        takes it; -1 for none.
    """

    steps: np.ndarray
    ends: np.ndarray
    sizes: np.ndarray
    nexts: np.ndarray


@njit(nogil=True, cache=True)
def find_ways(offsets, targets, lengths, sources, starts, is_closed):
    """Return the distance of each handle from the sources and its predecessor; int64.

    A distance (bp) is up to the start of the handle; `UNREACHED` and -1 for unreachable handles.

    Parameters
    ----------
    offsets, targets
        The successors of each handle; see `HandleGraph`.
    sources, starts
        int64: handles, and their initial distances: 0, or minus their length to count from their
        ends.
    is_closed
        bool, shape (n_nodes,): nodes that must not be entered.
    """
    distances = np.full(len(offsets) - 1, UNREACHED, np.int64)
    parents = np.full(len(offsets) - 1, -1, np.int64)
    for k in range(len(sources)):
        distances[sources[k]] = min(distances[sources[k]], starts[k])
    # A binary heap of distances and handles; outdated entries are skipped (lazy deletion).
    keys = np.empty(len(sources) + 64, np.int64)
    handles, n = np.empty_like(keys), 0
    for k in range(len(sources)):
        n = _push(keys, handles, n, starts[k], sources[k])
    while n:
        distance, handle = keys[0], handles[0]
        n = _pop(keys, handles, n)
        if distance > distances[handle]:
            continue
        distance += lengths[handle >> 1]
        for index in range(offsets[handle], offsets[handle + 1]):
            target = np.int64(targets[index])
            if distance < distances[target] and not is_closed[target >> 1]:
                distances[target] = distance
                parents[target] = handle
                if n == len(keys):
                    keys, handles = _grown(keys), _grown(handles)
                n = _push(keys, handles, n, distance, target)
    return distances, parents


@njit(nogil=True, cache=True)
def _grown(array):
    bigger = np.empty(2 * len(array) + 1024, array.dtype)
    for k in range(len(array)):
        bigger[k] = array[k]
    return bigger


@njit(nogil=True, cache=True)
def _push(keys, handles, n, key, handle):
    place = n
    while place > 0:
        above = (place - 1) >> 1
        if (keys[above], handles[above]) <= (key, handle):
            break
        keys[place], handles[place] = keys[above], handles[above]
        place = above
    keys[place], handles[place] = key, handle
    return n + 1


@njit(nogil=True, cache=True)
def _pop(keys, handles, n):
    n -= 1
    key, handle = keys[n], handles[n]
    place = 0
    while 2 * place + 1 < n:
        below = 2 * place + 1
        if below + 1 < n and (keys[below + 1], handles[below + 1]) < (keys[below], handles[below]):
            below += 1
        if (key, handle) <= (keys[below], handles[below]):
            break
        keys[place], handles[place] = keys[below], handles[below]
        place = below
    keys[place], handles[place] = key, handle
    return n


@njit(nogil=True, cache=True)
def _add_step(walks, handle):
    steps = walks.steps
    if walks.sizes[0] == len(steps):
        steps = _grown(steps)
    steps[walks.sizes[0]] = handle
    walks.sizes[0] += 1
    return GuideWalks(steps, walks.ends, walks.sizes, walks.nexts)


@njit(nogil=True, cache=True)
def _turn(steps, first, stop):
    """Reverse a run of steps, so that it reads the other strand."""
    last = stop - 1
    while first < last:
        steps[first], steps[last] = steps[last] ^ 1, steps[first] ^ 1
        first += 1
        last -= 1
    if first == last:
        steps[first] ^= 1


@njit(nogil=True, cache=True)
def _follow(walks, first, n):
    """Extend the walk whose steps begin at ``first`` by up to ``n`` steps of earlier walks."""
    for _ in range(n):
        follower = walks.nexts[walks.steps[walks.sizes[0] - 1]]
        if follower < 0:
            break
        for k in range(max(first, walks.sizes[0] - 4 * CONTEXT), walks.sizes[0]):
            if walks.steps[k] >> 1 == follower >> 1:
                return walks
        walks = _add_step(walks, follower)
    return walks


@njit(nogil=True, cache=True)
def _end_walk(walks, first):
    """End the walk whose steps begin at ``first``; drop a walk of a single step."""
    last = walks.sizes[0] - 1
    if last <= first:
        walks.sizes[0] = first
        return walks
    note_nexts(walks.nexts, walks.steps, first, last + 1)
    ends = walks.ends
    if walks.sizes[1] == len(ends):
        ends = _grown(ends)
    ends[walks.sizes[1]] = last + 1
    walks.sizes[1] += 1
    return GuideWalks(walks.steps, ends, walks.sizes, walks.nexts)


@njit(nogil=True, cache=True)
def note_nexts(nexts, steps, first, stop):
    """Record the successor of each handle on a walk, in both directions, unless there is one."""
    for k in range(first + 1, stop):
        before, after = np.int64(steps[k - 1]), np.int64(steps[k])
        if nexts[before] < 0:
            nexts[before] = after
        if nexts[after ^ 1] < 0:
            nexts[after ^ 1] = before ^ 1


@njit(nogil=True, cache=True)
def cut_branches(walks, tips, parents, is_covered):
    """Add walks from all tips back to the sources of shortest paths, and mark them as covered.

    A walk that reaches covered nodes continues there for as many steps as it had before.

    Parameters
    ----------
    tips
        int64: handles, the farthest first; a tip that is already covered gets no walk.
    parents
        As `find_ways` returns them.
    is_covered
        bool, shape (n_nodes,): nodes with walks by these shortest paths.
    """
    for tip in tips:
        if not is_covered[tip >> 1]:
            first = walks.sizes[0]
            walks = _climb(walks, first, tip, parents, is_covered)
            walks = _end_walk(walks, first)
    return walks


@njit(nogil=True, cache=True)
def hang_nodes(walks, nodes, parents, is_covered):
    """Add walks from anchor to anchor through all nodes, or to where one of the sides ends.

    ``nodes`` are int64, those with the longest walks first; the rest is as for `cut_branches`.
    """
    for node in nodes:
        if not is_covered[node]:
            first = walks.sizes[0]
            walks = _climb(walks, first, node << 1, parents, is_covered)
            _turn(walks.steps, first, walks.sizes[0])
            walks = _climb(walks, first, parents[node << 1 | 1], parents, is_covered)
            walks = _end_walk(walks, first)
    return walks


@njit(nogil=True, cache=True)
def _climb(walks, first, handle, parents, is_covered):
    """Walk from a handle back to its source, on the other strand, and on along earlier walks."""
    n_new, n_more = 0, -1
    while handle >= 0 and n_more != 0:
        if n_more < 0 and is_covered[handle >> 1]:
            n_more = max(n_new, CONTEXT)
        n_more -= n_more > 0
        n_new += 1
        is_covered[handle >> 1] = True
        walks = _add_step(walks, handle ^ 1)
        handle = parents[handle]
    return _follow(walks, first, CONTEXT) if handle < 0 else walks


@njit(nogil=True, cache=True)
def mark_links(offsets, targets, steps, bounds, is_taken):
    """Mark the links on walks, on both strands.

    ``is_taken`` is bool, parallel to ``targets``; walk ``k`` has the steps ``bounds[k]`` to
    ``bounds[k + 1]``.
    """
    for walk in range(len(bounds) - 1):
        for k in range(bounds[walk] + 1, bounds[walk + 1]):
            before, after = np.int64(steps[k - 1]), np.int64(steps[k])
            _mark_link(offsets, targets, before, after, is_taken)
            _mark_link(offsets, targets, after ^ 1, before ^ 1, is_taken)


@njit(nogil=True, cache=True)
def _mark_link(offsets, targets, before, after, is_taken):
    for index in range(offsets[before], offsets[before + 1]):
        if targets[index] == after:
            is_taken[index] = True


@njit(nogil=True, cache=True)
def cross_links(walks, offsets, targets, is_taken, is_wanted):
    """Add a walk over each link that is on none, with some steps before and after it.

    Only links that touch a node of ``is_wanted`` (bool, shape (n_nodes,)) count. Links of a node
    with itself do not: its two ends cannot be in one place.
    """
    bounds = np.empty(2, np.int64)
    for before in range(len(offsets) - 1):
        for index in range(offsets[before], offsets[before + 1]):
            after = np.int64(targets[index])
            if is_taken[index] or before >> 1 == after >> 1:
                continue
            if not (is_wanted[before >> 1] or is_wanted[after >> 1]):
                continue
            first = walks.sizes[0]
            walks = _follow(_add_step(walks, before ^ 1), first, CONTEXT)
            _turn(walks.steps, first, walks.sizes[0])
            walks = _follow(_add_step(walks, after), first, CONTEXT)
            walks = _end_walk(walks, first)
            bounds[0], bounds[1] = first, walks.sizes[0]
            mark_links(offsets, targets, walks.steps, bounds, is_taken)
    return walks


@njit(nogil=True, cache=True)
def place_on_walks(coordinates, lengths, steps, bounds, is_placed):
    """Place nodes between the placed nodes of their walk, by bp.

    If the walk through them is longer than the distance of their neighbours, they form an arc of
    about that length. At the end of a walk they continue straight, a little to one side.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), bp; changed in place.
    steps, bounds
        As for `mark_links`.
    is_placed
        bool, shape (n_nodes,); changed in place.
    """
    for walk in range(len(bounds) - 1):
        first, stop = bounds[walk], bounds[walk + 1]
        k = first
        while k < stop:
            begin, total = k, 0
            while k < stop and not is_placed[steps[k] >> 1]:
                total += lengths[steps[k] >> 1]
                k += 1
            if k > begin and (begin > first or k < stop):
                side = 1.0 - 2.0 * (walk & 1)
                a, b = _find_bow(coordinates, steps, begin, k, first, stop, total * 1.0, side)
                _place_bow(coordinates, lengths, steps, begin, k, a, b, total * 1.0, side)
                for step in range(begin, k):
                    is_placed[steps[step] >> 1] = True
            k += k == begin


@njit(nogil=True, cache=True)
def _find_bow(coordinates, steps, begin, end, first, stop, total, side):
    """Return the points at which the steps ``begin`` to ``end`` of a walk begin and end."""
    before = steps[begin - 1] if begin > first else steps[end]
    after = steps[end] if end < stop else before
    a = coordinates[before >> 1, 1 - (before & 1)]
    b = coordinates[after >> 1, after & 1]
    if begin > first and end < stop:
        return (a[0], a[1]), (b[0], b[1])
    known = coordinates[before >> 1]
    x, y = known[1, 0] - known[0, 0], known[1, 1] - known[0, 1]
    sign = 1.0 if (begin > first) != (before & 1) else -1.0
    size = np.hypot(x, y)
    along, across = (sign * x / size, sign * y / size) if size > 0.0 else (1.0, 0.0)
    off_x = (0.8 * along - 0.6 * side * across) * total
    off_y = (0.8 * across + 0.6 * side * along) * total
    if begin > first:
        return (a[0], a[1]), (a[0] + off_x, a[1] + off_y)
    return (b[0] + off_x, b[1] + off_y), (b[0], b[1])


@njit(nogil=True, cache=True)
def _place_bow(coordinates, lengths, steps, begin, end, a, b, total, side):
    x, y = b[0] - a[0], b[1] - a[1]
    apart = np.hypot(x, y)
    # A parabola of this height over the chord has about the length of the walk.
    height = 0.45 * side * np.sqrt(max(total**2 - apart**2, 0.0))
    up_x, up_y = (-y / apart, x / apart) if apart > 0.0 else (0.0, 1.0)
    position = 0.0
    for k in range(begin, end):
        node, is_reverse = steps[k] >> 1, steps[k] & 1
        for coin in range(2):
            share = (position + coin * lengths[node]) / max(total, 1.0)
            bow = 4.0 * height * share * (1.0 - share)
            point = coordinates[node, coin ^ is_reverse]
            point[0] = a[0] + share * x + bow * up_x
            point[1] = a[1] + share * y + bow * up_y
        position += lengths[node]
