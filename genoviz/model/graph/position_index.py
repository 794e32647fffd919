"""Where steps begin on their paths, without a position for each of them in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

BLOCK_BITS = 5


@dataclass(frozen=True, eq=False, repr=False)
class PositionIndex:
    """Positions of steps, from a checkpoint at every 32nd step.

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
        checkpoints = np.empty((len(steps) >> BLOCK_BITS) + 1, np.int64)
        _fill_checkpoints(steps, node_lengths, checkpoints)
        return cls(steps, node_lengths, path_offsets, checkpoints)

    @property
    def path_lengths(self) -> np.ndarray:
        """Length of each path; int64, shape (n_paths,), bp."""
        return np.diff(self._measure(self.path_offsets))

    def positions_of(self, steps: np.ndarray) -> np.ndarray:
        """Return the offset of each step's first base in its path; int64, bp.

        ``steps`` are global step numbers of any order.
        """
        steps = np.asarray(steps, np.int64)
        paths = np.searchsorted(self.path_offsets, steps, side="right") - 1
        return self._measure(steps) - self._measure(self.path_offsets)[paths]

    def steps_at(self, paths: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the global numbers of the steps that hold positions of paths; int64.

        Each position is at least 0 and less than the length of its path.
        """
        starts = self._measure(self.path_offsets[np.asarray(paths, np.int64)])
        found = np.empty(len(starts), np.int64)
        targets = starts + np.asarray(positions, np.int64)
        blocks = np.searchsorted(self.checkpoints, targets, side="right") - 1
        _find_steps(self.steps, self.node_lengths, self.checkpoints, blocks, targets, found)
        return found

    def _measure(self, steps: np.ndarray) -> np.ndarray:
        """Return the bp before each step, all paths end to end."""
        measured = np.empty(len(steps), np.int64)
        _measure_steps(self.steps, self.node_lengths, self.checkpoints, steps, measured)
        return measured


@njit(nogil=True, cache=True)
def _fill_checkpoints(steps, node_lengths, checkpoints):
    total = 0
    for step in range(len(steps)):
        if step & ((1 << BLOCK_BITS) - 1) == 0:
            checkpoints[step >> BLOCK_BITS] = total
        total += node_lengths[steps[step] >> 1]
    if len(steps) & ((1 << BLOCK_BITS) - 1) == 0:
        checkpoints[len(steps) >> BLOCK_BITS] = total


@njit(nogil=True, cache=True)
def _measure_steps(steps, node_lengths, checkpoints, wanted, measured):
    for k in range(len(wanted)):
        block = wanted[k] >> BLOCK_BITS
        total = checkpoints[block]
        for step in range(block << BLOCK_BITS, wanted[k]):
            total += node_lengths[steps[step] >> 1]
        measured[k] = total


@njit(nogil=True, cache=True)
def _find_steps(steps, node_lengths, checkpoints, blocks, targets, found):
    for k in range(len(targets)):
        step = blocks[k] << BLOCK_BITS
        end = checkpoints[blocks[k]] + node_lengths[steps[step] >> 1]
        while end <= targets[k]:
            step += 1
            end += node_lengths[steps[step] >> 1]
        found[k] = step
