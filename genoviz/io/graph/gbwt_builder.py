"""The GBWT of the paths of a graph, as compressed records.

References
----------
Sirén, Garrison, Novak, Paten, Durbin 2020: Haplotype-aware graph indexes.
https://doi.org/10.1093/bioinformatics/btz575
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct, iter_slices

PART_STEPS = 1 << 24
_END = 0xFFFFFFFF


class GbwtRecords(NamedTuple):
    """A GBWT: records of nodes in both orientations, as `genoviz.kernels.gbwt` takes them."""

    data: np.ndarray
    record_bytes: np.ndarray
    alphabet_offset: int


def build_gbwt(
    graph: PangenomeGraph, slots: np.ndarray, first: int, *, part_steps: int = PART_STEPS
) -> GbwtRecords:
    """Return the GBWT of all paths in both directions.

    Visits are sorted record by record. One round is enough if all paths run in one direction
    through the nodes; each place where a path turns back may require another round. Ranges of nodes
    that no path leaves, such as chromosomes, are sorted one after the other, which takes about 28
    bytes for each step of the largest.

    Parameters
    ----------
    graph
        The graph.
    slots
        int64, shape (n_nodes,), ascending: node ``i`` has the number ``first + slots[i]``.
    first
        The smallest number of a node.
    part_steps
        Neighbouring ranges are sorted together up to about this number of steps.
    """
    starts, stop = _encode_starts(graph, slots, 2 * first)
    data, record_bytes, n_bytes = [starts[:stop]], [np.zeros(1, np.int64)], stop
    for part in _iter_ranges(graph, slots, part_steps):
        encoded, bounds = _build_part(slots, *part, 2 * first - 1)
        data.append(encoded)
        record_bytes.append(bounds[:-1] + n_bytes)
        n_bytes += len(encoded)
    record_bytes.append(np.full(1, n_bytes))
    return GbwtRecords(np.concatenate(data), np.concatenate(record_bytes), 2 * first - 1)


def _iter_ranges(
    graph: PangenomeGraph, slots: np.ndarray, part_steps: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int, int]]:
    """Yield steps, offsets of paths, edges and bounds of slots of ranges that no path leaves."""
    offsets = graph.path_offsets
    lowest, highest = np.empty((2, graph.n_paths), np.int64)
    _find_spans(graph.steps, offsets, lowest, highest)
    n_steps = np.diff(offsets)
    order = np.flatnonzero(n_steps > 0)
    order = order[np.argsort(lowest[order], kind="stable")]
    reach = np.maximum.accumulate(highest[order])
    begins = np.append(True, lowest[order][1:] > reach[:-1])
    firsts = np.flatnonzero(begins)
    # Ranges are joined until they have enough steps.
    sums = np.append(0, np.cumsum(n_steps[order]))
    cuts = [0]
    for k in firsts.tolist():
        if sums[k] - sums[cuts[-1]] >= part_steps:
            cuts.append(k)
    bounds = np.append(lowest[order][cuts[1:]], graph.n_nodes)
    if len(cuts) == 1:
        yield graph.steps, offsets, graph.edges, 0, int(slots[-1]) + 1
        return
    edges = graph.edges
    owners = np.searchsorted(bounds, edges[:, 0] >> 1, side="right").astype(np.int32)
    by_part = np.argsort(owners, kind="stable")
    edge_cuts = np.searchsorted(owners[by_part], np.arange(len(cuts) + 1))
    node, slot = 0, 0
    for part, first in enumerate(cuts):
        last = cuts[part + 1] if part + 1 < len(cuts) else len(order)
        stop = int(bounds[part])
        slot_stop = int(slots[stop]) if stop < graph.n_nodes else int(slots[-1]) + 1
        paths = np.sort(order[first:last])
        own = edges[by_part[edge_cuts[part] : edge_cuts[part + 1]]]
        own = own[(own[:, 1] >> 1 >= node) & (own[:, 1] >> 1 < stop)]
        steps = np.concatenate([graph.steps[offsets[path] : offsets[path + 1]] for path in paths])
        yield steps, np.append(0, np.cumsum(n_steps[paths])), own, slot, slot_stop
        node, slot = stop, slot_stop


def _build_part(
    slots: np.ndarray,
    steps: np.ndarray,
    path_offsets: np.ndarray,
    edges: np.ndarray,
    first_slot: int,
    stop_slot: int,
    alphabet_offset: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the records of a range of slots, and the bounds of each."""
    n_slots = stop_slot - first_slot
    sizes = np.zeros(2 * n_slots, np.int64)
    walk, bounds = _double_paths(steps, path_offsets, slots, first_slot, sizes)
    froms, tos = _list_links(edges, slots - first_slot)
    edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
    taken, counts, n_missing = _find_edges(walk, bounds, edge_starts, tos)
    if n_missing:
        froms, tos = _list_taken(walk, bounds)
        edge_starts = np.searchsorted(froms, np.arange(2 * n_slots + 1))
        taken, counts, _ = _find_edges(walk, bounds, edge_starts, tos)
    record_starts = np.append(0, np.cumsum(sizes))
    firsts = walk[bounds[:-1][np.diff(bounds) > 0]]
    n_starts = np.bincount(firsts, minlength=2 * n_slots)
    # Visits of a node come from the endmarker first, then from other nodes in order.
    order = np.lexsort((froms, tos))
    before = np.cumsum(counts[order]) - counts[order]
    base = before - before[np.searchsorted(tos[order], tos[order])]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = base + n_starts[tos[order]]
    visits = np.empty(len(walk), np.uint32 if len(walk) <= _END else np.int64)
    _place_by_number(walk, bounds, taken, ranks, tos, record_starts, visits)
    handles, stale = _in_passing_order(n_slots), np.ones(2 * n_slots, np.bool_)
    while stale.any():
        _order_visits(handles, stale, taken, ranks, tos, edge_starts, record_starts, visits)
    return _encode(
        visits,
        taken,
        ranks,
        tos,
        edge_starts,
        counts,
        record_starts,
        alphabet_offset + 2 * first_slot,
    )


@njit(nogil=True, cache=True)
def _find_spans(steps, path_offsets, lowest, highest):
    """Fill the first and the last node of each path that has steps."""
    for path in range(len(lowest)):
        low, high = np.uint32(_END), np.uint32(0)
        for k in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[k] >> np.uint32(1)
            low, high = min(low, node), max(high, node)
        lowest[path], highest[path] = low, high


def _in_passing_order(n_slots: int) -> np.ndarray:
    """Return forward handles in ascending order of nodes, then reverse ones in descending order."""
    forward = 2 * np.arange(n_slots)
    return np.append(forward, forward[::-1] + 1)


def _list_links(edges: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links in both directions, sorted."""
    links = (slots[edges >> 1] << 1 | (edges & 1)).astype(np.uint64)
    pairs = np.concatenate([links, links[:, ::-1] ^ np.uint64(1)])
    return _split_keys(distinct(pairs[:, 0] << np.uint64(32) | pairs[:, 1]))


def _list_taken(walk: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all links on paths, sorted."""
    ends = np.unique(bounds[1:]) - 1
    found = np.empty(0, np.uint64)
    for part in iter_slices(max(len(walk) - 1, 0)):
        froms, tos = walk[:-1][part].astype(np.uint64), walk[1:][part]
        inner = np.ones(len(froms), np.bool_)
        low, high = np.searchsorted(ends, [part.start, part.stop])
        inner[ends[low:high] - part.start] = False
        found = distinct(np.append(found, (froms << np.uint64(32) | tos)[inner]))
    return _split_keys(found)


def _split_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(_END)).astype(np.int64)


@njit(nogil=True, cache=True)
def _double_paths(steps, path_offsets, slots, first_slot, sizes):
    """Return the handles of each path and of its reverse, and the start of each; count visits."""
    n_paths = len(path_offsets) - 1
    walk, bounds = np.empty(2 * len(steps), np.uint32), np.zeros(2 * n_paths + 1, np.int64)
    for path in range(n_paths):
        first, last = path_offsets[path], path_offsets[path + 1]
        start, middle = 2 * first, first + last
        bounds[2 * path + 1], bounds[2 * path + 2] = middle, 2 * last
        for k in range(last - first):
            step = steps[first + k]
            handle = np.uint32((slots[step >> 1] - first_slot) << 1 | (step & 1))
            walk[start + k] = handle
            walk[2 * last - 1 - k] = handle ^ np.uint32(1)
            sizes[handle] += 1
            sizes[handle ^ np.uint32(1)] += 1
    return walk, bounds


@njit(nogil=True, cache=True)
def _find_edges(walk, bounds, edge_starts, tos):
    """Return the link of each visit (-1 at an end), the visits of each link, and misses."""
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
    """Put the visits of each link, and the first visits, into their range, by number."""
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
    """Put the visits that come from each stale record into that record's order.

    A record is stale if its own order has changed since.
    """
    nexts = np.empty(len(tos), np.int64)
    for handle in handles:
        if not stale[handle]:
            continue
        stale[handle] = False
        for edge in range(edge_starts[handle], edge_starts[handle + 1]):
            nexts[edge] = record_starts[tos[edge]] + ranks[edge]
        # A copy, because a node may have a link to itself.
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
    """Return the records of all handles, and the bounds of each."""
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


def _encode_starts(graph: PangenomeGraph, slots: np.ndarray, first: int) -> tuple[np.ndarray, int]:
    """Return the endmarker's record and its length."""
    bounds = graph.path_offsets
    has_steps = np.diff(bounds) > 0
    ends = graph.steps[np.stack([bounds[:-1][has_steps], bounds[1:][has_steps] - 1])]
    ends[1] ^= 1
    nodes = np.zeros((graph.n_paths, 2), np.int64)
    nodes[has_steps] = (slots[ends >> 1] << 1 | (ends & 1)).T + first
    targets, edges = np.unique(nodes, return_inverse=True)
    edges = edges.ravel()
    out = np.empty(20 * (len(targets) + len(edges) + 1), np.uint8)
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
