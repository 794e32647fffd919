"""Conversion between positions on paths and nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz.model.graph.indexes import scan_steps

MAX_INDEXED_STEPS = 1 << 26
"""In a graph with more, visits are found by a scan unless all steps are indexed already."""


@dataclass(frozen=True)
class NodePosition:
    """One base of a node.

    Attributes
    ----------
    node
        Number of the node.
    offset
        0-based position on the node's forward strand, bp.
    is_reverse
        Whether the path visits the node in reverse.
    step
        Global number of the step.
    """

    node: int
    offset: int
    is_reverse: bool
    step: int


@dataclass(frozen=True, eq=False)
class PathSlice:
    """The steps of a path that overlap a region.

    Attributes
    ----------
    path
        Index of the path.
    first_step, stop_step
        Global numbers of the steps, half-open.
    nodes
        int64, shape (n,): the nodes in the order of the path; repeats are kept.
    is_reverse
        bool, shape (n,).
    positions
        int64, shape (n,): start of each step, bp from the path's first base; the first step may
        start before the region.
    """

    path: int
    first_step: int
    stop_step: int
    nodes: np.ndarray
    is_reverse: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True, eq=False)
class NodeVisits:
    """All steps on some nodes, sorted by node, then path, then position.

    Attributes
    ----------
    nodes, paths, steps
        int64, shape (n,): the node, the index of the path, the global number of the step.
    positions
        int64, shape (n,): start of the step, bp from the path's first base.
    is_reverse
        bool, shape (n,): whether the node is visited in reverse.
    """

    nodes: np.ndarray
    paths: np.ndarray
    steps: np.ndarray
    positions: np.ndarray
    is_reverse: np.ndarray


def locate_position(graph: PangenomeGraph, path: str | int, position: int) -> NodePosition:
    """Return the node and offset at a position of a path.

    Parameters
    ----------
    path
        Name or index of the path.
    position
        bp from the path's first base, 0-based.

    Raises
    ------
    ParameterError
        If there is no such path, or the position is beyond it.
    """
    index = _path_index(graph, path)
    length = int(graph.path_lengths[index])
    if not 0 <= position < length:
        raise ParameterError(
            f"position {position:,} is not on path {graph.path_names[index]!r}, "
            f"needs one from 0 to {length - 1:,}"
            if length
            else f"path {graph.path_names[index]!r} has no bases, so no position {position:,}"
        )
    step, offset = graph.position_index.locate(index, position)
    handle = int(graph.steps[step])
    if handle & 1:
        offset = int(graph.node_lengths[handle >> 1]) - 1 - offset
    return NodePosition(handle >> 1, offset, bool(handle & 1), step)


def find_region_steps(graph: PangenomeGraph, region: PathRegion) -> PathSlice:
    """Return the steps of a path that overlap a region.

    An empty region has the step at its position, or the last step at the path's end.

    Raises
    ------
    ParameterError
        If there is no such path, or the region exceeds it.
    """
    path = graph.find_path(region.path)
    length = int(graph.path_lengths[path])
    if not 0 <= region.start <= region.end <= length:
        raise ParameterError(
            f"region {str(region)!r} is not on its path, which has {length:,} bp, counted from 0"
        )
    first = stop = int(graph.path_offsets[path])
    if length:
        ends = np.array([region.start, max(region.end - 1, region.start)])
        ends = np.minimum(ends, length - 1)
        first, last = graph.position_index.steps_at(np.array([path, path]), ends).tolist()
        stop = last + 1
    handles = graph.steps[first:stop]
    nodes = (handles >> 1).astype(np.int64)
    lengths = graph.node_lengths[nodes]
    positions = np.cumsum(lengths) - lengths
    if len(positions):
        positions += graph.position_index.positions_of(np.array([first]))
    return PathSlice(path, first, stop, nodes, (handles & 1).astype(bool), positions)


def find_node_visits(graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray) -> NodeVisits:
    """Return every step of every path on the given nodes.

    Parameters
    ----------
    nodes
        Numbers of nodes; repeats count once.

    Raises
    ------
    ParameterError
        If the graph has no such node.
    """
    wanted = check_nodes(graph, nodes)
    if graph.n_steps > MAX_INDEXED_STEPS and "node_step_index" not in vars(graph):
        steps, counts = scan_steps(graph.n_nodes, graph.steps, wanted)
    else:
        steps, counts = graph.node_step_index.gather(wanted)
    return NodeVisits(
        nodes=np.repeat(wanted, counts),
        paths=np.searchsorted(graph.path_offsets, steps, side="right") - 1,
        steps=steps,
        positions=graph.position_index.positions_of(steps),
        is_reverse=(graph.steps[steps] & 1).astype(bool),
    )


def check_nodes(graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray) -> np.ndarray:
    """Return node numbers sorted and without duplicates; int64.

    Raises
    ------
    ParameterError
        If the graph has no such node.
    """
    wanted = nodes if isinstance(nodes, np.ndarray) else np.array(list(nodes), np.int64)
    wanted = distinct(wanted.astype(np.int64))
    wrong = wanted[(wanted < 0) | (wanted >= graph.n_nodes)]
    if len(wrong):
        raise ParameterError(f"node {wrong[0]} is not one of the graph's {graph.n_nodes:,}")
    return wanted


def _path_index(graph: PangenomeGraph, path: str | int) -> int:
    return int(graph.path_indices([path])[0])
