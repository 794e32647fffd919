"""The counts behind `genoviz.analyses.graph.query.statistics` that go over all steps or edges."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from genoviz.model.sequences.bases import COMPLEMENTS


def first_bases(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the first base that each handle reads; uint8, shape (2 * n_nodes,), 0 for none."""
    bases = np.zeros((len(offsets) - 1, 2), np.uint8)
    has_bases = offsets[1:] > offsets[:-1]
    bases[has_bases, 0] = data[offsets[:-1][has_bases]]
    bases[has_bases, 1] = COMPLEMENTS[data[offsets[1:][has_bases] - 1]]
    return bases.ravel()


@njit(nogil=True, cache=True)
def count_nondeterministic(offsets, targets, bases):
    """Return how many successors of handles begin with the base of another of the same handle."""
    count = 0
    for handle in range(len(offsets) - 1):
        for index in range(offsets[handle], offsets[handle + 1]):
            base = bases[targets[index]]
            for other in range(offsets[handle], offsets[handle + 1]):
                if other != index and base and bases[targets[other]] == base:
                    count += 1
                    break
    return count


@njit(nogil=True, cache=True)
def count_node_samples(steps, path_offsets, order, path_samples, n_nodes):
    """Return how many samples visit each node; ``order`` has the paths of a sample together."""
    counts = np.zeros(n_nodes, np.int32)
    last = np.full(n_nodes, -1, np.int32)
    for path in order:
        sample = path_samples[path]
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            if last[node] != sample:
                last[node] = sample
                counts[node] += 1
    return counts


@njit(nogil=True, cache=True, parallel=True)
def sum_step_distances(steps, path_offsets, coordinates):
    """Return the sum of distances from the beginning of each step to that of the next, by path."""
    sums = np.zeros(len(path_offsets) - 1, np.float64)
    for path in prange(len(sums)):
        total = 0.0
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            a, b = steps[step - 1], steps[step]
            x = coordinates[a >> 1, a & 1, 0] - coordinates[b >> 1, b & 1, 0]
            y = coordinates[a >> 1, a & 1, 1] - coordinates[b >> 1, b & 1, 1]
            total += math.sqrt(x * x + y * y)
        sums[path] = total
    return sums


@njit(nogil=True, cache=True, parallel=True)
def sum_row_distances(steps, path_offsets, left_ends):
    """Return sums over the links of each path when the nodes stand in a row; int64, (n_paths, 5).

    ``left_ends`` are the positions of the nodes and, as its last, the length of the row. The sums:
    gaps in nodes, gaps in bp, weighted distances in nodes, weighted distances in bp, and how many
    links go to the left, which weigh three. The weighted distances end behind the last step.
    """
    sums = np.zeros((len(path_offsets) - 1, 5), np.int64)
    for path in prange(len(sums)):
        for step in range(path_offsets[path] + 1, path_offsets[path + 1]):
            before, after = np.int64(steps[step - 1]), np.int64(steps[step])
            here, there = before >> 1, after >> 1
            leaves, enters = here + 1 - (before & 1), there + (after & 1)
            weight = 3 if there < here else 1
            sums[path, 0] += abs(enters - leaves)
            sums[path, 1] += abs(left_ends[enters] - left_ends[leaves])
            sums[path, 2] += weight * abs(there - here)
            sums[path, 3] += weight * abs(left_ends[there] - left_ends[here])
            sums[path, 4] += there < here
        if path_offsets[path + 1] > path_offsets[path]:
            last = np.int64(steps[path_offsets[path + 1] - 1]) >> 1
            sums[path, 2] += 1
            sums[path, 3] += left_ends[last + 1] - left_ends[last]
    return sums
