"""The GBWT of a graph's paths: the order of visits, and records of runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.model import PangenomeGraph

_END = 0xFFFFFFFF


class GbwtRecords(NamedTuple):
    """A GBWT: records of nodes in both orientations, as `genoviz.kernels.gbwt` takes them."""

    data: np.ndarray
    record_bytes: np.ndarray
    alphabet_offset: int


def build_gbwt(graph: PangenomeGraph, slots: np.ndarray, first: int) -> GbwtRecords:
    """Return the GBWT of all paths in both directions.

    Visits are put in order record by record. Where all paths run one way through the nodes, once
    is enough; each place where a path turns back may take another round.

    Parameters
    ----------
    graph
        The graph.
    slots
        int64, shape (n_nodes,), rising: node ``i`` has the number ``first + slots[i]``.
    first
        The smallest number of a node.
    """
    n_slots = int(slots[-1]) + 1
    walk, bounds = _double_paths(graph.steps, graph.path_offsets, slots)
    froms, tos = _list_links(graph.edges, slots)
    edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
    taken, counts, n_missing = _find_edges(walk, bounds, edge_starts, tos)
    if n_missing:
        froms, tos = _list_taken(walk, bounds)
        edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
        taken, counts, _ = _find_edges(walk, bounds, edge_starts, tos)
    sizes = np.bincount(walk, minlength=2 * n_slots).astype(np.int64)
    record_starts = np.append(0, np.cumsum(sizes))
    firsts = walk[bounds[:-1][np.diff(bounds) > 0]]
    n_starts = np.bincount(firsts, minlength=2 * n_slots)
    # Visits of a node come from the endmarker first, and then from other nodes in their order.
    order = np.lexsort((froms, tos))
    before = np.cumsum(counts[order]) - counts[order]
    base = before - before[np.searchsorted(tos[order], tos[order])]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = base + n_starts[tos[order]]
    visits = np.empty(len(walk), np.int64)
    _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits)
    handles, stale = _in_passing_order(n_slots), np.ones(2 * n_slots, np.bool_)
    while stale.any():
        _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits)
    data, record_bytes = _encode(
        visits, taken, ranks, tos, edge_starts, counts, record_starts, 2 * first - 1
    )
    start, stop = _encode_starts(walk, bounds, 2 * first)
    data = np.concatenate([start[:stop], data])
    return GbwtRecords(data, np.append(0, record_bytes + stop), 2 * first - 1)


def _in_passing_order(n_slots: int) -> np.ndarray:
    """Return forward handles by rising nodes, then reverse ones by falling nodes."""
    forward = 2 * np.arange(n_slots)
    return np.append(forward, forward[::-1] + 1)


def _list_links(edges: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return from and to of all links in both directions, in order."""
    links = (slots[edges >> 1] << 1 | (edges & 1)).astype(np.uint64)
    pairs = np.concatenate([links, links[:, ::-1] ^ np.uint64(1)])
    return _split_keys(np.unique(pairs[:, 0] << np.uint64(32) | pairs[:, 1]))


def _list_taken(walk: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return from and to of all that paths take, in order."""
    steps = walk.astype(np.uint64)
    is_last = np.zeros(len(walk), np.bool_)
    is_last[bounds[1:][np.diff(bounds) > 0] - 1] = True
    return _split_keys(np.unique((steps[:-1] << np.uint64(32) | steps[1:])[~is_last[:-1]]))


def _split_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(_END)).astype(np.int64)


@njit(nogil=True, cache=True)
def _double_paths(steps, path_offsets, slots):
    """Return the handles of each path and of its reverse, and where each begins."""
    n_paths = len(path_offsets) - 1
    walk, bounds = np.empty(2 * len(steps), np.uint32), np.zeros(2 * n_paths + 1, np.int64)
    for path in range(n_paths):
        first, last = path_offsets[path], path_offsets[path + 1]
        start, middle = 2 * first, first + last
        bounds[2 * path + 1], bounds[2 * path + 2] = middle, 2 * last
        for k in range(last - first):
            step = steps[first + k]
            handle = np.uint32(slots[step >> 1] << 1 | (step & 1))
            walk[start + k] = handle
            walk[2 * last - 1 - k] = handle ^ np.uint32(1)
    return walk, bounds


@njit(nogil=True, cache=True)
def _find_edges(walk, bounds, edge_starts, tos):
    """Return the link that each visit takes (-1 at an end), how often each is taken, and misses."""
    taken, counts = np.full(len(walk), -1, np.int32), np.zeros(len(tos), np.int64)
    n_missing = 0
    for sequence in range(len(bounds) - 1):
        for i in range(bounds[sequence], bounds[sequence + 1] - 1):
            low, stop = edge_starts[walk[i]], edge_starts[walk[i] + 1]
            high, to = stop, walk[i + 1]
            while low < high:
                middle = (low + high) >> 1
                if tos[middle] < to:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and tos[low] == to:
                taken[i] = low
                counts[low] += 1
            else:
                n_missing += 1
    return taken, counts, n_missing


@njit(nogil=True, cache=True)
def _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits):
    """Put the visits that come by each link, and the first ones, in their range, by number."""
    n_starts = np.zeros(len(record_starts) - 1, np.int64)
    n_taken = np.zeros(len(tos), np.int64)
    for sequence in range(len(bounds) - 1):
        for visit in range(bounds[sequence], bounds[sequence + 1]):
            handle = walk[visit]
            if visit == bounds[sequence]:
                rank = n_starts[handle]
                n_starts[handle] += 1
            else:
                edge = taken[visit - 1]
                rank = ranks[edge] + n_taken[edge]
                n_taken[edge] += 1
            visits[record_starts[handle] + rank] = visit


@njit(nogil=True, cache=True)
def _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits):
    """Put the visits that come from each stale record in the order that they have there.

    A record is stale if its own order has changed since.
    """
    nexts = np.empty(len(tos), np.int64)
    for handle in handles:
        if not stale[handle]:
            continue
        stale[handle] = False
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            nexts[edge] = record_starts[tos[edge]] + ranks[edge]
        # A copy, for a node may lead to itself.
        for visit in visits[record_starts[handle] : record_starts[handle + 1]].copy():
            edge = taken[visit]
            if edge >= 0:
                if visits[nexts[edge]] != visit + 1:
                    visits[nexts[edge]] = visit + 1
                    stale[tos[edge]] = True
                nexts[edge] += 1


@njit(nogil=True, cache=True, inline="always")
def _put_code(value, out, n):
    while value >= 128:
        out[n] = (value & 127) | 128
        value >>= 7
        n += 1
    out[n] = value
    return n + 1


@njit(nogil=True, cache=True, inline="always")
def _put_run(edge, length, sigma, out, n):
    if sigma >= 255:
        return _put_code(length - 1, out, _put_code(edge, out, n))
    threshold = 256 // sigma
    if length < threshold:
        out[n] = edge + sigma * (length - 1)
        return n + 1
    out[n] = edge + sigma * (threshold - 1)
    return _put_code(length - threshold, out, n + 1)


@njit(nogil=True, cache=True)
def _grown(out, n, n_more):
    if n + n_more <= len(out):
        return out
    larger = np.empty(2 * len(out) + n_more, np.uint8)
    for k in range(n):
        larger[k] = out[k]
    return larger


@njit(nogil=True, cache=True)
def _encode(visits, taken, ranks, tos, edge_starts, counts, record_starts, alphabet_offset):
    """Return the records of all handles, and where each begins, with the end of all."""
    n_handles = len(record_starts) - 1
    out, n = np.empty(1 << 16, np.uint8), 0
    record_bytes = np.empty(n_handles + 1, np.int64)
    outranks = np.empty(len(tos), np.int64)
    for handle in range(n_handles):
        record_bytes[handle] = n
        first, last = record_starts[handle], record_starts[handle + 1]
        sigma = 0
        for place in range(first, last):
            if taken[visits[place]] < 0:
                sigma = 1
                break
        ends_here = sigma
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            outranks[edge] = sigma
            sigma += counts[edge] > 0
        out = _grown(out, n, 20 * sigma + 20)
        n = _put_code(sigma, out, n)
        if ends_here:
            out[n] = out[n + 1] = 0
            n += 2
        node = 0
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            if counts[edge] > 0:
                to = tos[edge] + 1 + alphabet_offset
                n = _put_code(ranks[edge], out, _put_code(to - node, out, n))
                node = to
        place = first
        while place < last:
            edge = taken[visits[place]]
            stop = place + 1
            while stop < last and taken[visits[stop]] == edge:
                stop += 1
            out = _grown(out, n, 20)
            n = _put_run(0 if edge < 0 else outranks[edge], stop - place, sigma, out, n)
            place = stop
    record_bytes[n_handles] = n
    return out[:n].copy(), record_bytes


def _encode_starts(walk: np.ndarray, bounds: np.ndarray, first: int) -> tuple[np.ndarray, int]:
    """Return the endmarker's record and its length."""
    is_empty = np.diff(bounds) == 0
    nodes = np.zeros(len(bounds) - 1, np.int64)
    nodes[~is_empty] = walk[bounds[:-1][~is_empty]].astype(np.int64) + first
    targets, edges = np.unique(nodes, return_inverse=True)
    out = np.empty(20 * (len(targets) + len(nodes) + 1), np.uint8)
    return out, _put_starts(targets, edges, out)


@njit(nogil=True, cache=True)
def _put_starts(targets, edges, out):
    n = _put_code(len(targets), out, 0)
    node = 0
    for target in targets:
        n = _put_code(target - node, out, n)
        n = _put_code(0, out, n)
        node = target
    k = 0
    while k < len(edges):
        stop = k + 1
        while stop < len(edges) and edges[stop] == edges[k]:
            stop += 1
        n = _put_run(edges[k], stop - k, len(targets), out, n)
        k = stop
    return n
