"""Compiled loops over the steps and the names of graphs, imported only for large work.

Importing Numba takes nearly half a second, too long for a look-up from the shell.
"""

import numpy as np
from numba import njit

BLOCK_BITS = 5
"""A position is stored for every 32nd step."""


@njit(nogil=True, cache=True)
def count_steps(steps, ends):
    """Count the steps on each node, into ``ends`` from its second item on."""
    for step in range(len(steps)):
        ends[(steps[step] >> 1) + 1] += 1


@njit(nogil=True, cache=True)
def place_steps(steps, offsets, items):
    """Sort by counting; on return, ``offsets`` are shifted by one node."""
    for step in range(len(steps)):
        node = steps[step] >> 1
        items[offsets[node]] = step
        offsets[node] += 1


@njit(nogil=True, cache=True)
def count_edges(edges, ends):
    """Count the edges that touch each node, into ``ends`` from its second item on."""
    for edge in range(len(edges)):
        ends[(edges[edge, 0] >> 1) + 1] += 1
        if edges[edge, 0] >> 1 != edges[edge, 1] >> 1:
            ends[(edges[edge, 1] >> 1) + 1] += 1


@njit(nogil=True, cache=True)
def place_edges(edges, offsets, items):
    """Sort by counting, as `place_steps` does."""
    for edge in range(len(edges)):
        for side in range(2):
            node = edges[edge, side] >> 1
            if side == 1 and node == edges[edge, 0] >> 1:
                continue
            items[offsets[node]] = edge
            offsets[node] += 1


@njit(nogil=True, cache=True)
def fill_checkpoints(steps, node_lengths, checkpoints):
    """Store the bp before every 32nd step."""
    total = 0
    for step in range(len(steps)):
        if step & ((1 << BLOCK_BITS) - 1) == 0:
            checkpoints[step >> BLOCK_BITS] = total
        total += node_lengths[steps[step] >> 1]
    if len(steps) & ((1 << BLOCK_BITS) - 1) == 0:
        checkpoints[len(steps) >> BLOCK_BITS] = total


@njit(nogil=True, cache=True)
def measure_steps(steps, node_lengths, checkpoints, wanted, measured):
    """Store the bp before the wanted steps."""
    for k in range(len(wanted)):
        block = wanted[k] >> BLOCK_BITS
        total = checkpoints[block]
        for step in range(block << BLOCK_BITS, wanted[k]):
            total += node_lengths[steps[step] >> 1]
        measured[k] = total


@njit(nogil=True, cache=True)
def find_steps(steps, node_lengths, checkpoints, blocks, targets, found):
    """Store the steps that contain bases, each searched in its block of 32 steps."""
    for k in range(len(targets)):
        step = blocks[k] << BLOCK_BITS
        end = checkpoints[blocks[k]] + node_lengths[steps[step] >> 1]
        while end <= targets[k]:
            step += 1
            end += node_lengths[steps[step] >> 1]
        found[k] = step


@njit(nogil=True, cache=True)
def copy_strings(data, starts, stops, taken):
    """Concatenate stretches of bytes."""
    n = 0
    for string in range(len(starts)):
        for k in range(starts[string], stops[string]):
            taken[n] = data[k]
            n += 1


@njit(nogil=True, cache=True)
def count_nodes(steps, node_lengths, firsts, n_bases, offsets):
    """Count the nodes under the bases of each hit, from its first step on."""
    for i in range(len(firsts)):
        step, n_left = firsts[i], n_bases[i]
        while n_left > 0:
            length = node_lengths[steps[step] >> 1]
            offsets[i + 1] += length > 0
            n_left -= length
            step += 1


@njit(nogil=True, cache=True)
def fill_handles(steps, node_lengths, firsts, offsets, handles):
    """Store the handles of hits; skip nodes without bases."""
    for i in range(len(firsts)):
        step = firsts[i]
        n = offsets[i]
        while n < offsets[i + 1]:
            if node_lengths[steps[step] >> 1] > 0:
                handles[n] = steps[step]
                n += 1
            step += 1


@njit(nogil=True, cache=True)
def count_groups(steps, path_offsets, order, of_path, n_nodes):
    """Return the number of groups on each node, and the first; paths are sorted by group."""
    counts = np.zeros(n_nodes, np.int32)
    first = np.full(n_nodes, -1, np.int32)
    last = np.full(n_nodes, -1, np.int32)
    for path in order:
        group = of_path[path]
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            if last[node] != group:
                if last[node] < 0:
                    first[node] = group
                last[node] = group
                counts[node] += 1
    return counts, first
