"""Stretches of paths, each stored once although many paths read it.

A *window* is ``max_k`` bases of a path, or fewer at the path's end. The first node of a window and
the nodes after it determine its bases. So each step of a path is split into two units. One has the
places whose window stays within the node. The windows of the other places are determined by the
nodes that follow, until ``max_k - 1`` more bases are read. A known unit is not stored again; it
lists its paths and steps. Units that are consecutive on a path form a stretch, which is spelled
with the ``max_k - 1`` bases that follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.model import PangenomeGraph
from genoviz.model.sequences.pangenome_index import SharedStretches

STEPS_PER_SLICE = 1 << 18
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))


def find_turned_paths(graph: PangenomeGraph) -> np.ndarray:
    """Return the paths that read most of their bases in reverse; bool, shape (n_paths,)."""
    lengths = graph.node_lengths[graph.steps >> 1]
    signed = np.append(0, np.cumsum(np.where(graph.steps & 1, lengths, -lengths)))
    return signed[graph.path_offsets[1:]] > signed[graph.path_offsets[:-1]]


def walk_order(graph: PangenomeGraph, is_turned: np.ndarray) -> np.ndarray:
    """Return the steps of the graph in walking order; int64, (n_steps,)."""
    order = np.arange(graph.n_steps)
    for path in np.flatnonzero(is_turned).tolist():
        first, stop = graph.path_offsets[path : path + 2]
        order[first:stop] = order[first:stop][::-1]
    return order


def walk_handles(graph: PangenomeGraph, is_turned: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the handles in walking order, flipped for turned paths; uint32."""
    n_steps = np.diff(graph.path_offsets)
    return graph.steps[order] ^ np.repeat(is_turned, n_steps).astype(np.uint32)


def iter_shared_stretches(
    graph: PangenomeGraph, max_k: int
) -> Iterator[tuple[int, SharedStretches | None]]:
    """Find the units of all paths; yield the steps done, and finally the stretches."""
    is_turned = find_turned_paths(graph)
    order = walk_order(graph, is_turned)
    handles = walk_handles(graph, is_turned, order)
    table = _UnitTable(graph, handles, max_k)
    for first in range(0, graph.n_steps, STEPS_PER_SLICE):
        yield first, None
        table.add(first, min(first + STEPS_PER_SLICE, graph.n_steps))
    yield graph.n_steps, table.finish(is_turned, order)


class _Units(NamedTuple):
    """Arrays of a `_UnitTable` to be filled."""

    slots: np.ndarray
    hashes: np.ndarray
    units: np.ndarray
    whole_units: np.ndarray
    end_units: np.ndarray


class _UnitTable:
    """A hash table of known units; the key is the handles that determine their bases."""

    def __init__(self, graph: PangenomeGraph, handles: np.ndarray, max_k: int) -> None:
        self.graph, self.handles, self.max_k = graph, handles, max_k
        self.whole_units = np.full(2 * graph.n_nodes, -1, np.int64)
        self.end_units = np.full(len(handles), -1, np.int64)
        self.slots = np.full(1 << 10, -1, np.int64)
        self.hashes = np.empty(0, np.uint64)
        # Of each unit: step, shift, length, number of determining handles, whether it begins a
        # stretch.
        self.units = np.empty((0, 5), np.int64)
        self.n_units = 0
        # The path, the end of the window, its bases, whether the last unit was new.
        self.state = np.array([-1, 0, 0, 0], np.int64)
        self.hash_state = np.array([0, 1], np.uint64)

    def add(self, first: int, stop: int) -> None:
        """Add steps."""
        self._make_room(self.n_units + 2 * (stop - first))
        found = _Units(self.slots, self.hashes, self.units, self.whole_units, self.end_units)
        self.n_units = _add_units(
            first, stop, self.handles, self.graph.node_lengths, self.graph.path_offsets, self.max_k,
            found, self.n_units, self.state, self.hash_state,
        )  # fmt: skip

    def _make_room(self, n: int) -> None:
        if n > len(self.units):
            more = max(n, 2 * self.n_units) - self.n_units
            self.units = np.concatenate([self.units[: self.n_units], np.empty((more, 5), np.int64)])
            self.hashes = np.concatenate([self.hashes[: self.n_units], np.empty(more, np.uint64)])
        if 2 * n > len(self.slots):
            self.slots = np.full(1 << int(2 * n).bit_length(), -1, np.int64)
            _fill_slots(self.slots, self.hashes, self.units, self.n_units)

    def finish(self, is_turned: np.ndarray, order: np.ndarray) -> SharedStretches:
        """Return the units, with the steps at which each occurs."""
        units = self.units[: self.n_units]
        wholes = self.whole_units[self.handles]
        has_ends = self.end_units >= 0
        owners = np.concatenate([wholes[wholes >= 0], self.end_units[has_ends]])
        steps = np.concatenate([order[wholes >= 0], order[has_ends]])
        sorting = np.lexsort([steps, owners])
        offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=len(units))))
        return SharedStretches(
            self.max_k,
            is_turned,
            *(units[:, column].copy() for column in range(3)),
            units[:, 4].astype(bool),
            offsets.astype(np.int64),
            steps[sorting],
        )


@njit(nogil=True, cache=True)
def _fill_slots(slots, hashes, units, n_units):
    mask = len(slots) - 1
    for unit in range(n_units):
        if units[unit, 3] > 0:
            slot = np.int64(hashes[unit] >> np.uint64(20)) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = unit


@njit(nogil=True, cache=True)
def _add_unit(units, unit, step, shift, length, n_handles, follows_new):
    units[unit, 0] = step
    units[unit, 1] = shift
    units[unit, 2] = length
    units[unit, 3] = n_handles
    units[unit, 4] = not follows_new


@njit(nogil=True, cache=True)
def _add_units(
    first, stop, handles, node_lengths, path_offsets, max_k, found, n_units, state, hash_state
):
    """Slide a window over steps; it ends ``max_k - 1`` bases after each, or with the path."""
    slots, hashes, units, whole_units, end_units = found
    mask = len(slots) - 1
    path, window_stop, n_bases, is_new = state
    window_hash, power = hash_state
    for step in range(first, stop):
        if path < 0 or step == path_offsets[path + 1]:
            path += 1
            while path_offsets[path + 1] == step:
                path += 1
            window_stop, n_bases, is_new = step, 0, 0
            window_hash, power = np.uint64(0), np.uint64(1)
        length = node_lengths[handles[step] >> 1]
        while window_stop < path_offsets[path + 1] and (
            window_stop <= step or n_bases < length + max_k - 1
        ):
            window_hash += power * np.uint64(handles[window_stop] + 1)
            power *= _MULTIPLIER
            n_bases += node_lengths[handles[window_stop] >> 1]
            window_stop += 1
        shift = 0
        if length >= max_k:
            shift = length - max_k + 1
            handle = handles[step]
            if whole_units[handle] < 0:
                whole_units[handle] = n_units
                _add_unit(units, n_units, step, 0, shift, 0, is_new == 1)
                n_units += 1
                is_new = 1
            else:
                is_new = 0
        if length > shift:
            n_handles = window_stop - step
            hashed = (window_hash ^ (window_hash >> np.uint64(29))) * _MULTIPLIER
            slot = np.int64(hashed >> np.uint64(20)) & mask
            while slots[slot] >= 0:
                unit = slots[slot]
                if hashes[unit] == hashed and units[unit, 3] == n_handles:
                    other = units[unit, 0]
                    k = 0
                    while k < n_handles and handles[other + k] == handles[step + k]:
                        k += 1
                    if k == n_handles:
                        break
                slot = (slot + 1) & mask
            if slots[slot] < 0:
                slots[slot] = n_units
                hashes[n_units] = hashed
                _add_unit(units, n_units, step, shift, length - shift, n_handles, is_new == 1)
                n_units += 1
                is_new = 1
            else:
                is_new = 0
            end_units[step] = slots[slot]
        window_hash = (window_hash - np.uint64(handles[step] + 1)) * _INVERSE
        power *= _INVERSE
        n_bases -= length
    state[0], state[1], state[2], state[3] = path, window_stop, n_bases, is_new
    hash_state[0], hash_state[1] = window_hash, power
    return n_units
