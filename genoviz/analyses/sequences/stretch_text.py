"""The bases of shared stretches, and the unit of each base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.sequences.shared_stretches import walk_handles, walk_order
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.bases import COMPLEMENTS
from genoviz.model.sequences.pangenome_index import SharedStretches
from genoviz.model.sequences.sequences import UPPER_CASE, Sequences


@dataclass(frozen=True, eq=False)
class StretchText:
    """Stretches as sequences, each with the ``max_k - 1`` bases that follow on its path.

    Attributes
    ----------
    sequences
        The stretches.
    unit_starts
        int64, shape (n_units,), ascending: first base of each unit in ``sequences.bases``. Bases
        between the end of a unit and the next unit belong to other units, and are not counted.
    """

    sequences: Sequences
    unit_starts: np.ndarray


def spell_stretches(graph: PangenomeGraph, shared: SharedStretches) -> StretchText:
    """Return the bases of stretches; nodes without sequence (``*``) read as N.

    Raises
    ------
    ParameterError
        If the graph was read without sequences.
    """
    if graph.node_sequences is None:
        raise ParameterError("the graph was opened without its sequences, which are needed here")
    order = walk_order(graph, shared.is_turned)
    handles = walk_handles(graph, shared.is_turned, order)
    heads = np.flatnonzero(shared.is_head)
    lasts = np.append(heads, shared.n_units)[1:] - 1
    owned = np.add.reduceat(shared.lengths, heads) if len(heads) else np.empty(0, np.int64)
    stops = graph.path_offsets[
        np.searchsorted(graph.path_offsets, shared.steps[lasts], side="right")
    ]
    behind = np.empty(len(heads), np.int64)
    _measure_behind(handles, graph.node_lengths, shared.steps[lasts], stops, behind)
    behind -= shared.shifts[lasts] + shared.lengths[lasts]
    behind = np.minimum(behind, shared.max_k - 1)
    offsets = np.append(0, np.cumsum(owned + behind)).astype(np.int64)
    bases = np.empty(offsets[-1], np.uint8)
    names = graph.node_sequences
    _spell(
        names.data, names.offsets, graph.node_lengths, handles, shared.steps[heads],
        shared.shifts[heads], COMPLEMENTS, offsets, bases,
    )  # fmt: skip
    letters = UPPER_CASE[bases]
    letters[letters == 0] = ord("N")
    before = np.cumsum(shared.lengths) - shared.lengths
    stretches = np.cumsum(shared.is_head) - 1
    unit_starts = before + (offsets[:-1] - before[heads])[stretches] if len(heads) else before
    sequences = Sequences(
        tuple(map(str, range(len(heads)))), offsets, letters, np.empty((0, 2), np.int64)
    )
    return StretchText(sequences, unit_starts)


def spell_path(graph: PangenomeGraph, path: int) -> np.ndarray:
    """Return the bases of a path; upper-case letters, uint8; N for nodes without sequence."""
    offsets = np.array([0, graph.path_lengths[path]], np.int64)
    bases = np.empty(offsets[-1], np.uint8)
    names, none = graph.node_sequences, np.zeros(1, np.int64)
    steps = graph.path_offsets[path : path + 1]
    _spell(
        names.data, names.offsets, graph.node_lengths, graph.steps, steps, none, COMPLEMENTS,
        offsets, bases,
    )  # fmt: skip
    letters = UPPER_CASE[bases]
    letters[letters == 0] = ord("N")
    return letters


@njit(nogil=True, cache=True)
def _measure_behind(handles, node_lengths, steps, stops, measured):
    """Store the bases from the beginning of each step to its path's end."""
    total = 0
    previous_stop = 0
    for i in range(len(steps) - 1, -1, -1):
        end = stops[i]
        if i + 1 < len(steps) and stops[i] == previous_stop:
            end = steps[i + 1]
        else:
            total = 0
        for step in range(steps[i], end):
            total += node_lengths[handles[step] >> 1]
        measured[i] = total
        previous_stop = stops[i]


@njit(nogil=True, cache=True)
def _spell(data, data_offsets, node_lengths, handles, steps, shifts, complements, offsets, bases):
    for stretch in range(len(steps)):
        step, skipped = steps[stretch], shifts[stretch]
        n, stop = offsets[stretch], offsets[stretch + 1]
        while n < stop:
            node = handles[step] >> 1
            first, last = data_offsets[node], data_offsets[node + 1]
            length = node_lengths[node]
            for k in range(skipped, min(length, skipped + stop - n)):
                if last - first != length:
                    bases[n] = 78
                elif handles[step] & 1:
                    bases[n] = complements[data[last - 1 - k]]
                else:
                    bases[n] = data[first + k]
                n += 1
            step += 1
            skipped = 0
