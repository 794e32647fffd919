"""Lookup of positions on paths and nodes, and liftover to another path."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.graph.query.path_positions import find_node_visits, locate_position
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

_NODE_PLACE = re.compile(r"^(?P<name>.+?)(?::(?P<offset>\d{1,18}))?(?P<strand>[+-])?$")


@dataclass(frozen=True)
class LiftedPosition:
    """A position of one path lifted to another.

    Attributes
    ----------
    path
        Index of the other path.
    position
        bp from the first base of the other path.
    is_reverse
        Whether the two paths traverse the shared node in opposite directions.
    distance
        bp along the first path to the shared node; 0 if the position is on it.
    node
        The shared node.
    n_visits
        Number of visits of that node by the other path; above 1 the position is ambiguous.
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
    """Lift a position of ``path`` to ``to_path``; see :func:`lift_positions`."""
    return lift_positions(graph, path, [position], to_path)[0]


def lift_positions(
    graph: PangenomeGraph, path: str | int, positions: Iterable[int], to_path: str | int
) -> list[LiftedPosition | None]:
    """Lift positions of ``path`` to ``to_path``; None if they share no node.

    From each position, the path is searched in both directions for the nearest base on a node that
    the other path visits too; ties take the earlier one. The lifted position is that base on the
    other path. If the other path visits the node several times, the k-th visit of the path is
    matched with its k-th visit, or with its last.

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
    """Return the step of ``shared`` nearest to each position, and its nearest base."""
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
    """Map the base of a step on a shared node to the other path."""
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


@dataclass(frozen=True)
class PositionRow:
    """A base of a path with its node, offset and contig position.

    Attributes
    ----------
    query
        The query text.
    path, position
        Name of the path, and bp from its first base, 0-based.
    contig, contig_position
        The path's contig, and the position there, 0-based.
    node, offset
        Name of the node, and the 0-based position on its forward strand.
    strand
        ``+`` if the path visits the node forward, ``-`` if in reverse.
    to_path, to_position, to_contig_position, to_strand, distance
        The lifted position on another path, see
        :class:`genoviz.analyses.graph.query.position_lift.LiftedPosition`; the strand is ``-`` if
        that path runs in the opposite direction. None if not requested, or no node is shared.
    """

    query: str
    path: str
    position: int
    contig: str
    contig_position: int
    node: str
    offset: int
    strand: str
    to_path: str | None = None
    to_position: int | None = None
    to_contig_position: int | None = None
    to_strand: str | None = None
    distance: int | None = None


def locate_path_positions(graph: PangenomeGraph, queries: Iterable[str]) -> list[PositionRow]:
    """Return the nodes at ``PATH:POSITION`` queries, parsed by `resolve_region`.

    Raises
    ------
    ParameterError
        If a query is not a position of a path of the graph.
    """
    rows = []
    for query in queries:
        for region in resolve_region(graph, query):
            if region.length != 1:
                raise ParameterError(f"position is {query!r}, needs one as path:position")
            path = graph.find_path(region.path)
            found = locate_position(graph, path, region.start)
            rows.append(
                _row(graph, query, path, region.start, found.node, found.offset, found.is_reverse)
            )
    return rows


def locate_node_positions(graph: PangenomeGraph, queries: Iterable[str]) -> list[PositionRow]:
    """Return the path positions of node bases, given as ``NODE[:OFFSET][+-]``.

    The 0-based offset counts on the given strand, the forward strand by default.

    Raises
    ------
    ParameterError
        If the graph has no such node, or the offset is beyond the node.
    """
    rows = []
    for query in queries:
        node, offset = _parse_node(graph, query)
        length = int(graph.node_lengths[node])
        visits = find_node_visits(graph, [node])
        for path, position, is_reverse in zip(
            visits.paths.tolist(),
            visits.positions.tolist(),
            visits.is_reverse.tolist(),
            strict=True,
        ):
            position += length - 1 - offset if is_reverse else offset
            rows.append(_row(graph, query, path, position, node, offset, is_reverse))
    return rows


def add_lifted(
    graph: PangenomeGraph, rows: Iterable[PositionRow], to_path: str
) -> list[PositionRow]:
    """Return the rows with their positions lifted to another path.

    Raises
    ------
    ParameterError
        If the graph has no such path, or several sub-paths of that contig.
    """
    target = _one_path(graph, to_path)
    name, first = graph.path_names[target], int(graph.path_starts[target])
    rows = list(rows)
    numbers = defaultdict(list)
    for number, row in enumerate(rows):
        numbers[row.path].append(number)
    for path, group in numbers.items():
        found = lift_positions(graph, path, [rows[k].position for k in group], target)
        for number, lifted in zip(group, found, strict=True):
            if lifted is None:
                continue
            rows[number] = replace(
                rows[number],
                to_path=name,
                to_position=lifted.position,
                to_contig_position=first + lifted.position,
                to_strand="-" if lifted.is_reverse else "+",
                distance=lifted.distance,
            )
    return rows


def _one_path(graph: PangenomeGraph, name: str) -> int:
    paths = graph.path_directory.exact(name) or graph.path_directory.sub_paths(name)
    if not paths:
        raise graph.path_directory.unknown(name)
    if len(paths) > 1:
        names = ", ".join(graph.path_names[path] for path in paths[:3])
        raise ParameterError(f"{name!r} has {len(paths):,} sub-paths, needs one of {names}")
    return paths[0]


def _parse_node(graph: PangenomeGraph, query: str) -> tuple[int, int]:
    """Return a node and an offset on its forward strand."""
    node, offset, strand = graph.node_names.find(query), 0, "+"
    if node < 0 and query.endswith(("+", "-")):
        # Names may end like an offset: x:3- is a strand of node x:3 if there is one.
        node, strand = graph.node_names.find(query[:-1]), query[-1]
    if node < 0:
        match = _NODE_PLACE.match(query)
        if match:
            node = graph.node_names.find(match["name"])
            offset, strand = int(match["offset"] or 0), match["strand"]
    if node < 0:
        raise ParameterError(f"no node is named {query!r}, needs node, node:offset or node:offset-")
    length = int(graph.node_lengths[node])
    if offset >= length:
        raise ParameterError(
            f"node place {query!r} is beyond its {length:,} bp, needs an offset below that"
        )
    return node, length - 1 - offset if strand == "-" else offset


def _row(
    graph: PangenomeGraph,
    query: str,
    path: int,
    position: int,
    node: int,
    offset: int,
    is_reverse: bool,
) -> PositionRow:
    return PositionRow(
        query=query,
        path=graph.path_names[path],
        position=position,
        contig=graph.parsed_path_names[path].whole,
        contig_position=int(graph.path_starts[path]) + position,
        node=graph.node_names[node],
        offset=offset,
        strand="-" if is_reverse else "+",
    )
