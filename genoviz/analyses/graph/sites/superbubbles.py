"""Superbubbles: parts of a graph with one way in, one way out and no cycle.

Also their traversals by a reference path, their nesting, and the steps without a choice. ``gates``
are those of `genoviz.analyses.graph.sites.walks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.graph.sites.handle_graph import HandleGraph

SLICE_EDGES = 3_000_000
_FAR = np.int32(2**31 - 1)


@dataclass(frozen=True, eq=False)
class Superbubbles:
    """The superbubbles that can be reached from one handle.

    Attributes
    ----------
    sources, sinks
        uint32, shape (n,): first and last handle of each. No two have the same source or the same
        sink.
    first_places, last_places
        int32, shape (n,): places of source and sink in a reverse postorder of the handles; those
        of a superbubble are consecutive there.
    places
        int32, shape (2 * n_nodes,): place of each handle, -1 where it is not reached.
    """

    sources: np.ndarray
    sinks: np.ndarray
    first_places: np.ndarray
    last_places: np.ndarray
    places: np.ndarray


def iter_find_superbubbles(handles: HandleGraph, root: int) -> Iterator[int | Superbubbles]:
    """Yield the number of handles searched; the last item is what ``root`` reaches.

    Handles ``s`` (source) and ``t`` (sink) bound a superbubble with the set of handles U if

    - t can be reached from s, and the handles that can be reached from s without going through t
      are those from which t can be reached without going through s: U, with s and t;
    - the edges within U make no cycle (so none leads from t to s either);
    - no other handle of U is a sink for s, or a source for t, in this sense.

    Superbubbles without a handle between s and t are left out, as are those with t = s reversed,
    and those that contain ``root`` elsewhere than as s. No node is in U on both strands: an
    inverted stretch lets a walk turn round and leave by s reversed.

    Notes
    -----
    In a depth-first search that begins outside, U is entered only through s and left only through
    t, so U is the interval from s to t in reverse postorder. An interval is a superbubble if all
    predecessors of all but its first handle are earlier in the interval, and all successors of all
    but its last are later in it. One sweep from the end, with a stack of the sinks still possible,
    finds all of them. Time and memory are linear in handles and edges, regardless of the depth of
    nesting, of cycles, tips and several sources.

    References
    ----------
    Onodera, Sadakane and Shibuya 2013, https://doi.org/10.1007/978-3-642-40453-5_26 (definition);
    Gärtner and Stadler 2019, https://doi.org/10.3390/a12040081 (intervals of a depth-first search
    in graphs with cycles, without an auxiliary acyclic graph); Dabbaghie, Ebler and Marschall
    2022, https://doi.org/10.1093/bioinformatics/btac448 (superbubbles of bidirected graphs).
    """
    n_handles = len(handles.offsets) - 1
    places = np.full(n_handles, -1, np.int32)
    postorder = np.empty(n_handles, np.uint32)
    stack = np.empty(n_handles, np.uint32)
    cursors = np.empty(n_handles, np.int32)
    sizes = np.zeros(2, np.int64)
    _enter(root, places, stack, cursors, sizes)
    while sizes[0]:
        _search(handles.offsets, handles.targets, places, postorder, stack, cursors, sizes)
        yield int(sizes[1])
    order = postorder[: sizes[1]][::-1].copy()
    places[order] = np.arange(len(order), dtype=np.int32)
    pairs = _sweep(handles.offsets, handles.targets, places, order)
    first, last = pairs[::-1].T
    yield Superbubbles(order[first], order[last], first.copy(), last.copy(), places)


@njit(nogil=True, cache=True)
def _enter(handle, places, stack, cursors, sizes):
    places[handle] = 0
    stack[sizes[0]] = handle
    cursors[sizes[0]] = 0
    sizes[0] += 1


@njit(nogil=True, cache=True)
def _search(offsets, targets, places, postorder, stack, cursors, sizes):
    """Continue a depth-first search for a while; ``sizes`` are those of stack and postorder."""
    n_left = SLICE_EDGES
    while sizes[0] and n_left:
        n_left -= 1
        top = sizes[0] - 1
        handle = np.int64(stack[top])
        index = offsets[handle] + cursors[top]
        if index == offsets[handle + 1]:
            postorder[sizes[1]] = handle
            sizes[1] += 1
            sizes[0] = top
            continue
        cursors[top] += 1
        target = targets[index]
        if places[target] < 0:
            _enter(target, places, stack, cursors, sizes)


@njit(nogil=True, cache=True)
def _furthest_child(handle, place, offsets, targets, places):
    """Return the last place of a handle's successors; _FAR for a tip or a back edge."""
    furthest = np.int32(-1)
    for index in range(offsets[handle], offsets[handle + 1]):
        child = places[targets[index]]
        if child <= place:
            return _FAR
        furthest = max(furthest, child)
    return furthest if furthest >= 0 else _FAR


@njit(nogil=True, cache=True)
def _furthest_parent(handle, place, offsets, targets, places):
    """Return the first place of a handle's predecessors; -1 for none, or for a back edge."""
    furthest = _FAR
    for index in range(offsets[handle ^ 1], offsets[(handle ^ 1) + 1]):
        parent = places[targets[index] ^ 1]
        if parent < 0 or parent >= place:
            return np.int32(-1)
        furthest = min(furthest, parent)
    return furthest if furthest < _FAR else np.int32(-1)


@njit(nogil=True, cache=True)
def _follows(origin, target, offsets, targets):
    for index in range(offsets[origin], offsets[origin + 1]):
        if targets[index] == target:
            return True
    return False


@njit(nogil=True, cache=True)
def _sweep(offsets, targets, places, order):
    """Return the places of sources and sinks, from the last source to the first; (n, 2).

    ``sinks`` is the stack of places that can end an interval which begins here, the nearest on top.
    ``parents`` of a sink is the first place of all predecessors of the handles from the sink above
    it (or from here) to itself.
    """
    n = len(order)
    sinks = np.empty(n, np.int32)
    parents = np.empty(n, np.int32)
    pairs = np.empty((n, 2), np.int32)
    n_pairs = 0
    size = 0
    for place in range(n - 1, -1, -1):
        handle = np.int64(order[place])
        child = _furthest_child(handle, place, offsets, targets, places)
        while size and sinks[size - 1] < child:
            size -= 1
            if size:
                parents[size - 1] = min(parents[size - 1], parents[size])
        if size and parents[size - 1] >= place and sinks[size - 1] > place + 1:
            last = np.int64(order[sinks[size - 1]])
            if last != handle ^ 1 and not _follows(last, handle, offsets, targets):
                pairs[n_pairs, 0] = place
                pairs[n_pairs, 1] = sinks[size - 1]
                n_pairs += 1
        parent = _furthest_parent(handle, place, offsets, targets, places)
        if parent < 0:
            size = 0
        else:
            sinks[size] = place
            parents[size] = parent
            size += 1
    return pairs[:n_pairs].copy()


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
    """Return the innermost site around each site, or -1, and the reference's traversals.

    The second array, shape (n_steps,), is the number of complete traversals that begin at a step
    minus those that end there.
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
    """Return the nesting depth of each site; each link to a parent is followed once."""
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
    """Return for each step whether the graph has no branch between it and the next one."""
    is_plain = np.ones(len(steps), np.bool_)
    for step in range(len(steps) - 1):
        origin, target = np.int64(steps[step]), np.int64(steps[step + 1])
        for index in range(offsets[origin], offsets[origin + 1]):
            is_plain[step] &= targets[index] == target
        for index in range(offsets[target ^ 1], offsets[(target ^ 1) + 1]):
            is_plain[step] &= targets[index] == origin ^ 1
    return is_plain
