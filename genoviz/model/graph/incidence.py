"""What belongs to each node: the steps on it, the edges that touch it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    """Items of each node, ascending, in two arrays.

    Parameters
    ----------
    offsets
        int64, shape (n_nodes + 1,): node ``i`` has ``items[offsets[i]:offsets[i + 1]]``.
    items
        uint32, shape (n,), or int64 where numbers pass 2^32. Subtract from what `of` or `gather`
        return, which is int64.

    Examples
    --------
    >>> Incidence(np.array([0, 2, 2, 3]), np.array([4, 7, 5], np.uint32)).of(0)
    array([4, 7])
    """

    offsets: np.ndarray
    items: np.ndarray

    def __post_init__(self) -> None:
        self.offsets.flags.writeable = False
        self.items.flags.writeable = False
        if len(self.offsets) == 0 or self.offsets[-1] != len(self.items):
            raise ParameterError("an Incidence needs offsets from 0 to the number of items")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Incidence({len(self.items):,} items of {len(self):,} nodes)"

    @property
    def counts(self) -> np.ndarray:
        """Number of items of each node; int64, shape (n_nodes,)."""
        return np.diff(self.offsets)

    def of(self, node: int) -> np.ndarray:
        """Return the items of one node; int64, ascending."""
        return self.items[self.offsets[node] : self.offsets[node + 1]].astype(np.int64)

    def gather(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the items of several nodes, and how many each has; int64 both."""
        nodes = np.asarray(nodes, np.int64)
        counts = self.offsets[nodes + 1] - self.offsets[nodes]
        first = self.offsets[nodes] - (np.cumsum(counts) - counts)
        picked = np.repeat(first, counts) + np.arange(counts.sum())
        return self.items[picked].astype(np.int64), counts


@njit(nogil=True, cache=True)
def _count_steps(steps, ends):
    for step in range(len(steps)):
        ends[(steps[step] >> 1) + 1] += 1


@njit(nogil=True, cache=True)
def _place_steps(steps, offsets, items):
    """Sort by counting; ``offsets`` end up moved by one node."""
    for step in range(len(steps)):
        node = steps[step] >> 1
        items[offsets[node]] = step
        offsets[node] += 1


@njit(nogil=True, cache=True)
def _count_edges(edges, ends):
    for edge in range(len(edges)):
        ends[(edges[edge, 0] >> 1) + 1] += 1
        if edges[edge, 0] >> 1 != edges[edge, 1] >> 1:
            ends[(edges[edge, 1] >> 1) + 1] += 1


@njit(nogil=True, cache=True)
def _place_edges(edges, offsets, items):
    for edge in range(len(edges)):
        for side in range(2):
            node = edges[edge, side] >> 1
            if side == 1 and node == edges[edge, 0] >> 1:
                continue
            items[offsets[node]] = edge
            offsets[node] += 1


def _index(n_nodes: int, values: np.ndarray, count, place) -> Incidence:
    offsets = np.zeros(n_nodes + 1, np.int64)
    count(values, offsets)
    np.cumsum(offsets, out=offsets)
    items = np.empty(offsets[-1], np.uint32 if len(values) <= 2**32 else np.int64)
    place(values, offsets[:-1].copy(), items)
    return Incidence(offsets, items)


def count_steps(n_nodes: int, steps: np.ndarray) -> np.ndarray:
    """Return the number of steps on each node; int64, shape (n_nodes,)."""
    ends = np.zeros(n_nodes + 1, np.int64)
    _count_steps(steps, ends)
    return ends[1:]


def index_steps(n_nodes: int, steps: np.ndarray) -> Incidence:
    """Return the numbers of the steps on each node; ``steps`` are handles."""
    return _index(n_nodes, steps, _count_steps, _place_steps)


def index_edges(n_nodes: int, edges: np.ndarray) -> Incidence:
    """Return the numbers of the edges that touch each node, a loop once; ``edges`` are handles."""
    return _index(n_nodes, edges, _count_edges, _place_edges)
