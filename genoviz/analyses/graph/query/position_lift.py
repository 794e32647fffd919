"""Positions carried from one path to another over the nodes that both visit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph


@dataclass(frozen=True)
class LiftedPosition:
    """Where a position of one path is on another.

    Attributes
    ----------
    path
        Index of the other path.
    position
        bp from the first base of the other path.
    is_reverse
        Whether the two paths run through the shared node in opposite directions.
    distance
        bp walked along the first path to the shared node; 0 when the position is on it.
    node
        The shared node.
    n_visits
        How often the other path visits that node; above 1 the position is one of several.
    """

    path: int
    position: int
    is_reverse: bool
    distance: int
    node: int
    n_visits: int


def lift_position(
    graph: PangenomeGraph, path: str | int, position: int, to_path: str | int
) -> LiftedPosition | None:
    """Return where a position of ``path`` is on ``to_path``; see :func:`lift_positions`."""
    return lift_positions(graph, path, [position], to_path)[0]


def lift_positions(
    graph: PangenomeGraph, path: str | int, positions: Iterable[int], to_path: str | int
) -> list[LiftedPosition | None]:
    """Return where positions of ``path`` are on ``to_path``; None where they share no node.

    From each position the path is walked in both directions, base by base, to the nearest base
    on a node that the other path visits too; of two at the same distance the earlier is taken.
    The lifted position is that base on the other path. Where the other path visits the node more
    often, the k-th visit of the path goes with the k-th of the other path, or with its last.

    Raises
    ------
    ParameterError
        If there is no such path, or a position is not on it.
    """
    source, target = (int(graph.path_indices([name])[0]) for name in (path, to_path))
    places = np.array(list(positions), np.int64)
    length = int(graph.path_lengths[source])
    wrong = places[(places < 0) | (places >= length)]
    if len(wrong):
        raise ParameterError(
            f"position {wrong[0]:,} is not on path {graph.path_names[source]!r}, "
            f"which has {length:,} bp, counted from 0"
        )
    is_shared = np.zeros(graph.n_nodes, bool)
    is_shared[graph.path_steps(target) >> 1] = True
    first = int(graph.path_offsets[source])
    shared = np.flatnonzero(is_shared[graph.path_steps(source) >> 1]) + first
    if len(shared) == 0:
        return [None] * len(places)
    steps, bases = _nearest_bases(graph, source, places, shared)
    return [
        _carry(graph, source, target, int(place), int(step), int(base))
        for place, step, base in zip(places, steps, bases, strict=True)
    ]


def _nearest_bases(
    graph: PangenomeGraph, source: int, places: np.ndarray, shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest step of ``shared`` to each place, and its base nearest to the place."""
    index = graph.position_index
    steps = index.steps_at(np.full(len(places), source), places)
    after = np.searchsorted(shared, steps)
    right = shared[np.minimum(after, len(shared) - 1)]
    left = shared[np.maximum(after - 1, 0)]
    last_of_left = index.positions_of(left) + graph.node_lengths[graph.steps[left] >> 1] - 1
    first_of_right = index.positions_of(right)
    is_left = (after == len(shared)) | (
        (after > 0) & (places - last_of_left <= first_of_right - places)
    )
    is_here = right == steps
    chosen = np.where(is_here | ~is_left, right, left)
    bases = np.where(is_here, places, np.where(is_left, last_of_left, first_of_right))
    return chosen, bases


def _carry(
    graph: PangenomeGraph, source: int, target: int, place: int, step: int, base: int
) -> LiftedPosition:
    """Carry the base of a step on a shared node over to the other path."""
    index = graph.position_index
    handle = int(graph.steps[step])
    visits = graph.node_step_index.of(handle >> 1)
    first, stop = np.searchsorted(visits, graph.path_offsets[[source, source + 1]])
    rank = int(np.searchsorted(visits[first:stop], step))
    first, stop = np.searchsorted(visits, graph.path_offsets[[target, target + 1]])
    others = visits[first:stop]
    other = int(others[min(rank, len(others) - 1)])
    start, other_start = index.positions_of(np.array([step, other])).tolist()
    is_reverse = bool((handle ^ int(graph.steps[other])) & 1)
    offset = base - start
    if is_reverse:
        offset = int(graph.node_lengths[handle >> 1]) - 1 - offset
    return LiftedPosition(
        path=target,
        position=other_start + offset,
        is_reverse=is_reverse,
        distance=abs(place - base),
        node=handle >> 1,
        n_visits=len(others),
    )
