"""Layouts that Bandage and Bandage-NG write: JSON (``.layout``) and TSV.

Both name a node with its strand (``17+``). The JSON maps it to the points of the line that is
drawn for the node; its first and last point are the node's ends here. The TSV has one row
``name x y`` for each node, without a header: both ends of the node come to lie on that point.

References
----------
Bandage-NG, https://github.com/asl/BandageNG
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.model import GraphLayout, PangenomeGraph

_JSON_NOTE = "The layout is Bandage's; its distances are not in bp."
_TSV_NOTE = _JSON_NOTE[:-1] + ", and each node is one point."


def read_bandage_json(path: str | PathLike[str], graph: PangenomeGraph) -> GraphLayout:
    """Return the layout of a Bandage ``.layout`` file for the nodes of ``graph``.

    Raises
    ------
    FileFormatError
        If the file is no such JSON, or has other nodes than the graph.
    """
    path = Path(path)
    try:
        lines = json.loads(read_bytes(path).tobytes())
    except json.JSONDecodeError as error:
        raise FileFormatError(path, f"is no JSON: {error.msg}", line=error.lineno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(path, "is no JSON text") from error
    except ValueError as error:
        found = "has a number of thousands of digits, needs places in the layout"
        raise FileFormatError(path, found) from error
    if not isinstance(lines, dict):
        raise FileFormatError(path, "is no object of node names, as Bandage writes it")
    return _place_nodes(path, graph, _iter_json(path, lines), _JSON_NOTE)


def read_bandage_tsv(path: str | PathLike[str], graph: PangenomeGraph) -> GraphLayout:
    """Return the layout of a Bandage TSV file for the nodes of ``graph``.

    Raises
    ------
    FileFormatError
        If a row has not a name and two numbers, or the nodes are not those of the graph.
    """
    path = Path(path)
    return _place_nodes(path, graph, _iter_tsv(path), _TSV_NOTE)


def _iter_json(path: Path, lines: dict) -> Iterator[tuple[str, list[list[float]], None]]:
    for name, points in lines.items():
        is_line = isinstance(points, list) and len(points) > 0
        for point in points if is_line else ():
            is_pair = isinstance(point, list) and len(point) == 2
            is_line &= is_pair and all(type(value) in (int, float) for value in point)
        if not is_line:
            raise FileFormatError(
                path, f"node {name!r} has no list of points [x, y]: {str(points)[:60]}"
            )
        yield name, [points[0], points[-1]], None


def _iter_tsv(path: Path) -> Iterator[tuple[str, list[list[float]], int]]:
    rows = read_bytes(path).tobytes().decode(errors="replace").splitlines()
    for line, row in enumerate(rows, 1):
        fields = row.split("\t")
        if len(fields) != 3:
            needs = "3 (name, x, y), or an odgi header 'idx X Y' in line 1"
            raise FileFormatError(path, f"has {len(fields)} columns, needs {needs}", line=line)
        try:
            point = [float(fields[1]), float(fields[2])]
        except ValueError:
            found = f"x and y are {fields[1][:40]!r} and {fields[2][:40]!r}, need numbers"
            raise FileFormatError(path, found, line=line) from None
        yield fields[0], [point, point], line


def _place_nodes(
    path: Path,
    graph: PangenomeGraph,
    named_ends: Iterator[tuple[str, list[list[float]], int | None]],
    note: str,
) -> GraphLayout:
    """Return the layout from ``(name, [start, end], line)`` of each node."""
    ranks = {name: rank for rank, name in enumerate(graph.node_names)}
    coordinates = np.full((graph.n_nodes, 2, 2), np.nan)
    strands = np.zeros(graph.n_nodes, "U1")
    for name, ends, line in named_ends:
        node, strand = _find_node(ranks, name)
        if node is None:
            raise FileFormatError(path, f"the graph has no node {name!r}", line=line)
        if strands[node] == strand:
            raise FileFormatError(path, f"node {name!r} is given twice", line=line)
        try:
            is_finite = bool(np.isfinite(np.array(ends, np.float64)).all())
        except OverflowError:
            is_finite = False
        if not is_finite:
            raise FileFormatError(path, f"node {name!r} has a point that is not finite", line=line)
        if strands[node] != "+":
            coordinates[node] = ends if strand == "+" else ends[::-1]
            strands[node] = strand
    is_missing = strands == ""
    if is_missing.any():
        name = graph.node_names[int(np.argmax(is_missing))]
        raise FileFormatError(
            path,
            f"lays out {graph.n_nodes - is_missing.sum():,} of the graph's {graph.n_nodes:,} nodes,"
            f" needs all; {name!r} is missing",
        )
    return GraphLayout(coordinates, note=note)


def _find_node(ranks: dict[str, int], name: str) -> tuple[int | None, str]:
    """Return a node's rank, or None, and its strand; a name without a strand is forward."""
    if name[-1:] in ("+", "-") and name[:-1] in ranks:
        return ranks[name[:-1]], name[-1]
    return ranks.get(name), "+"
