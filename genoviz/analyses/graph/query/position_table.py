"""Questions about positions as people write them, answered in the rows of one table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from genoviz.analyses.graph.query.path_positions import find_node_visits, locate_position
from genoviz.analyses.graph.query.position_lift import lift_positions
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

_NODE_PLACE = re.compile(r"^(?P<name>.+?)(?::(?P<offset>\d{1,18}))?(?P<strand>[+-])?$")


@dataclass(frozen=True)
class PositionRow:
    """One base of a path, and the base of the node that it is.

    Attributes
    ----------
    query
        The question.
    path, position
        Name of the path, and bp from its first base, 0-based.
    contig, contig_position
        The path's contig, and the position there, 0-based.
    node, offset
        Name of the node, and the base on its forward strand, 0-based.
    strand
        ``+`` where the path visits the node forward, ``-`` where in reverse.
    to_path, to_position, to_contig_position, to_strand, distance
        The position on another path, as
        :class:`genoviz.analyses.graph.query.position_lift.LiftedPosition` has it, ``-`` where that
        runs in the opposite direction; None when not asked for, or when the paths share no node.
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
    """Return the nodes at ``PATH:POSITION``, each as `resolve_region` reads it.

    Raises
    ------
    ParameterError
        If a query is no position of a path of the graph.
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
    """Return where paths visit bases of nodes, written ``NODE[:OFFSET][+-]``.

    The 0-based offset counts on the strand that is given after it, the forward one by default.

    Raises
    ------
    ParameterError
        If the graph has no such node, or the node no such base.
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
    """Return the rows with their positions on another path.

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
