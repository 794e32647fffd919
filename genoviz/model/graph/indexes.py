"""Indexes of a graph: steps and edges of each node, and positions of steps on their paths.

To save memory, only every 32nd step has a stored position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError, n_words

BLOCK_BITS = 5
FEW_STEPS, FEW_PLACES = 1 << 21, 1 << 10
"""Below these numbers of steps and of queries, pure NumPy is used instead of compiled code."""
SCANNED_TOGETHER = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    """Items of each node, ascending, in two arrays.

    Parameters
    ----------
    offsets
        int64, shape (n_nodes + 1,): node ``i`` has ``items[offsets[i]:offsets[i + 1]]``.
    items
        uint32, shape (n,), or int64 if numbers exceed 2^32. Use `of` or `gather`, which return
        int64, for arithmetic.

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
        return f"Incidence({len(self.items):,} items of {n_words(len(self), 'node')})"

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


def _index(n_nodes: int, values: np.ndarray, count, place) -> Incidence:
    offsets = np.zeros(n_nodes + 1, np.int64)
    count(values, offsets)
    np.cumsum(offsets, out=offsets)
    items = np.empty(offsets[-1], np.uint32 if len(values) <= 2**32 else np.int64)
    place(values, offsets[:-1].copy(), items)
    return Incidence(offsets, items)


def count_steps(n_nodes: int, steps: np.ndarray) -> np.ndarray:
    """Return the number of steps on each node; int64, shape (n_nodes,)."""
    from genoviz.model import graph_loops

    ends = np.zeros(n_nodes + 1, np.int64)
    graph_loops.count_steps(steps, ends)
    return ends[1:]


def index_steps(n_nodes: int, steps: np.ndarray) -> Incidence:
    """Return the numbers of the steps on each node; ``steps`` are handles."""
    from genoviz.model import graph_loops

    return _index(n_nodes, steps, graph_loops.count_steps, graph_loops.place_steps)


def scan_steps(n_nodes: int, steps: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the steps on a few nodes, and how many each has, without an index.

    As `Incidence.gather`, for nodes that are ascending and distinct. One pass over 3.5e8 steps
    takes a twentieth of the time and none of the memory (1.4 GB) of their index.
    """
    is_wanted = np.zeros(n_nodes, bool)
    is_wanted[nodes] = True
    found = [
        first + np.flatnonzero(is_wanted[steps[first : first + SCANNED_TOGETHER] >> 1])
        for first in range(0, len(steps), SCANNED_TOGETHER)
    ]
    numbers = np.concatenate([np.empty(0, np.int64), *found])
    order = np.argsort(steps[numbers] >> 1, kind="stable")
    numbers = numbers[order]
    ends = np.searchsorted(steps[numbers] >> 1, nodes, side="right")
    return numbers, np.diff(ends, prepend=0)


def index_edges(n_nodes: int, edges: np.ndarray) -> Incidence:
    """Return the numbers of the edges that touch each node, a loop once; ``edges`` are handles."""
    from genoviz.model import graph_loops

    return _index(n_nodes, edges, graph_loops.count_edges, graph_loops.place_edges)


def find_links(edges: np.ndarray) -> np.ndarray:
    """Return each edge once, ascending; uint32, shape (n, 2).

    Of the two mirror images of an edge (a+ to b+, b- to a-), the smaller counts.
    """
    half, both = np.uint64(32), np.uint64(1 << 32 | 1)
    pairs = np.ascontiguousarray(edges, "<u4").reshape(-1).view("<u8")  # target << 32 | origin
    keys = pairs << half
    keys |= pairs >> half
    np.minimum(keys, pairs ^ both, out=keys)
    if (keys[1:] < keys[:-1]).any():  # edges of GBZ are sorted
        keys.sort()
    is_new = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    keys = keys[is_new]
    return (keys << half | keys >> half).view("<u4").reshape(-1, 2)


@dataclass(frozen=True, eq=False, repr=False)
class PositionIndex:
    """Positions of steps, computed from checkpoints at every 32nd step.

    Parameters
    ----------
    steps
        uint32, shape (n_steps,): the handles of all paths.
    node_lengths
        int64, shape (n_nodes,), bp.
    path_offsets
        int64, shape (n_paths + 1,): the first step of each path.
    checkpoints
        int64, shape (n_steps // 32 + 1,): bp before every 32nd step, all paths end to end.
    """

    steps: np.ndarray
    node_lengths: np.ndarray
    path_offsets: np.ndarray
    checkpoints: np.ndarray

    @classmethod
    def build(
        cls, steps: np.ndarray, node_lengths: np.ndarray, path_offsets: np.ndarray
    ) -> PositionIndex:
        """Return the index of the paths of a graph."""
        checkpoints = np.zeros((len(steps) >> BLOCK_BITS) + 1, np.int64)
        if len(steps) <= FEW_STEPS:
            n_whole = len(checkpoints) - 1 << BLOCK_BITS
            lengths = node_lengths[steps[:n_whole] >> 1].reshape(-1, 1 << BLOCK_BITS)
            np.cumsum(lengths.sum(axis=1), out=checkpoints[1:])
        else:
            from genoviz.model import graph_loops

            graph_loops.fill_checkpoints(steps, node_lengths, checkpoints)
        return cls(steps, node_lengths, path_offsets, checkpoints)

    @property
    def path_lengths(self) -> np.ndarray:
        """Length of each path; int64, shape (n_paths,), bp."""
        return np.diff(self._measure(self.path_offsets))

    def positions_of(self, steps: np.ndarray) -> np.ndarray:
        """Return the offset of each step's first base in its path; int64, bp.

        ``steps`` are global step numbers in any order.
        """
        steps = np.asarray(steps, np.int64)
        paths = np.searchsorted(self.path_offsets, steps, side="right") - 1
        if len(steps) > len(self.path_offsets):
            return self._measure(steps) - self._measure(self.path_offsets)[paths]
        # Few steps in a graph of many paths: only their paths, in the same call.
        before = self._measure(np.concatenate([steps, self.path_offsets[paths]]))
        return before[: len(steps)] - before[len(steps) :]

    def steps_at(self, paths: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the global numbers of the steps at given positions of paths; int64.

        Each position is at least 0 and less than the length of its path.
        """
        starts = self._measure(self.path_offsets[np.asarray(paths, np.int64)])
        found = np.empty(len(starts), np.int64)
        targets = starts + np.asarray(positions, np.int64)
        blocks = np.searchsorted(self.checkpoints, targets, side="right") - 1
        if len(targets) <= FEW_PLACES:
            ends = self.checkpoints[blocks, None] + np.cumsum(self._lengths_of(blocks), axis=1)
            return (blocks << BLOCK_BITS) + (ends <= targets[:, None]).sum(axis=1)
        from genoviz.model import graph_loops

        graph_loops.find_steps(
            self.steps, self.node_lengths, self.checkpoints, blocks, targets, found
        )
        return found

    def locate(self, path: int, position: int) -> tuple[int, int]:
        """Return the global number of the step at a position of a path, and the offset in the step.

        The position is at least 0 and less than the length of its path.
        """
        start = int(self.path_offsets[path])
        block = start >> BLOCK_BITS
        before = self.node_lengths[self.steps[block << BLOCK_BITS : start] >> 1]
        target = int(self.checkpoints[block]) + int(before.sum()) + position
        block = int(np.searchsorted(self.checkpoints, target, side="right")) - 1
        first = block << BLOCK_BITS
        steps = self.steps[first : first + (1 << BLOCK_BITS)]
        ends = np.cumsum(self.node_lengths[steps >> 1]) + self.checkpoints[block]
        n_before = int(np.searchsorted(ends, target, side="right"))
        begin = ends[n_before - 1] if n_before else self.checkpoints[block]
        return first + n_before, target - int(begin)

    def _lengths_of(self, blocks: np.ndarray) -> np.ndarray:
        """Return the node lengths of blocks of steps, 0 past the end; (n, 32)."""
        steps = (blocks << BLOCK_BITS)[:, None] + np.arange(1 << BLOCK_BITS)
        lengths = np.zeros(steps.shape, np.int64)
        is_step = steps < len(self.steps)
        lengths[is_step] = self.node_lengths[self.steps[steps[is_step]] >> 1]
        return lengths

    def _measure(self, steps: np.ndarray) -> np.ndarray:
        """Return the bp before each step in the concatenated paths."""
        if len(steps) <= FEW_PLACES:
            blocks = steps >> BLOCK_BITS
            is_before = np.arange(1 << BLOCK_BITS) < (steps & (1 << BLOCK_BITS) - 1)[:, None]
            inside = (self._lengths_of(blocks) * is_before).sum(axis=1)
            return self.checkpoints[blocks] + inside
        from genoviz.model import graph_loops

        measured = np.empty(len(steps), np.int64)
        graph_loops.measure_steps(self.steps, self.node_lengths, self.checkpoints, steps, measured)
        return measured
