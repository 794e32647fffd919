"""Layout files: the format is detected from the content, and chosen by the ending for writing.

Bandage and Bandage-NG write JSON (``.layout``) and TSV. Both name a node with its strand (``17+``).
The JSON maps it to the polyline of the node, whose first and last point are the node's ends here.
The TSV has a row ``name x y`` for each node, without a header; both ends of the node are placed at
that point.

References
----------
Bandage-NG, https://github.com/asl/BandageNG
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.replace_file import is_open_stream
from genoviz.io.graph.lay import read_lay, write_lay
from genoviz.io.graph.layout_tsv import read_layout_tsv, write_layout_tsv
from genoviz.io.text.encoding import read_utf8
from genoviz.io.text.text_file import read_bytes, read_start
from genoviz.model import GraphLayout, PangenomeGraph

LAYOUT_ENDINGS = (".lay", ".tsv", ".tsv.gz")
_JSON_NOTE = "The layout is Bandage's; its distances are not in bp."
_TSV_NOTE = _JSON_NOTE[:-1] + ", and each node is one point."
# Share of the layout's extent by which a node is longer than its bp if it is noted. In finished
# layouts it is at most 0.16: ours, odgi's, and a published one of HLA-DRB1 with a stress of 141.
_TORN = 0.25


def read_layout(path: str | PathLike[str], graph: PangenomeGraph | None = None) -> GraphLayout:
    """Return a layout from odgi's ``.lay`` or TSV, or from Bandage's JSON or TSV.

    The format is detected from the content. Text may be gzipped.

    Parameters
    ----------
    path
        The file.
    graph
        The graph that is laid out. Bandage's files need it because they use node names. For other
        formats only the number of nodes is compared.

    Raises
    ------
    FileFormatError
        If the file has another format, is damaged, or does not match the graph: the numbers of
        nodes differ, or positions are a thousand times farther apart than in any layout of it.
    """
    path = Path(path)
    start = read_start(path, 64)
    if not start:
        raise FileFormatError(path, "is empty, needs a layout (.lay or TSV of odgi, or Bandage's)")
    # The second field of a .lay file is below 2**56, so its highest byte is zero.
    if b"\0" in start[8:16] or (path.suffix == ".lay" and len(start) < 16):
        layout = read_lay(path)
    elif start.lower().startswith(b"idx"):
        layout = read_layout_tsv(path)
    elif graph is None:
        raise FileFormatError(
            path, "is neither odgi's .lay nor its TSV; if it is Bandage's, it needs the graph"
        )
    elif start.lstrip().startswith((b"{", b"[")):
        layout = read_bandage_json(path, graph)
    else:
        layout = read_bandage_tsv(path, graph)
    if graph is not None and layout.n_nodes != graph.n_nodes:
        raise FileFormatError(
            path,
            f"lays out {n_words(layout.n_nodes, 'node')}, but the graph has {graph.n_nodes:,}; "
            "it belongs to another graph",
        )
    return layout if graph is None else _check_places(path, layout, graph)


def _check_places(path: Path, layout: GraphLayout, graph: PangenomeGraph) -> GraphLayout:
    """Reject implausible positions; note a node that is far longer than its bp.

    A layout's extent is at most the bp of its graph, and odgi stacks components 1000 bp apart. A
    thousand times that extent is a sign of damage, such as a flipped exponent bit.
    """
    x_min, y_min, x_max, y_max = layout.bounds
    extent = max(max(x_max, 0.0) - min(x_min, 0.0), max(y_max, 0.0) - min(y_min, 0.0))
    maximum = 1000.0 * (graph.total_length + 1000.0 * (graph.n_nodes + 1))
    if extent > maximum:
        node = int(np.abs(layout.points).max(axis=1).argmax()) // 2
        raise FileFormatError(
            path,
            f"has node {graph.node_names[node]!r} at {layout.coordinates[node].tolist()}, too far"
            f" for a layout of {graph.total_length:,} bp; the file is damaged, or belongs to"
            " another graph",
        )
    drawn = np.hypot(*(layout.coordinates[:, 1] - layout.coordinates[:, 0]).T)
    is_torn = drawn - graph.node_lengths > _TORN * extent
    if not is_torn.any() or is_torn.sum() > 0.01 * graph.n_nodes:
        return layout
    node = int(np.argmax(is_torn))
    note = (
        f"Node {graph.node_names[node]!r} of {graph.node_lengths[node]:,} bp is drawn"
        f" {drawn[node]:,.0f} bp long, {drawn[node] / extent:.0%} of the layout's extent:"
        f" {path.name} may be damaged, or its layout unfinished."
    )
    return replace(layout, note=f"{layout.note} {note}".strip())


def write_layout(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as odgi's ``.lay``, ``.tsv`` or ``.tsv.gz``, by the ending of ``path``.

    A stream such as ``/dev/stdout`` is written as ``.lay``.

    Raises
    ------
    ParameterError
        If the name has another ending, or a coordinate is not finite.
    """
    name = Path(path).name.lower()
    if name.endswith(".lay") or is_open_stream(path):
        write_lay(layout, path)
    elif name.endswith((".tsv", ".tsv.gz")):
        write_layout_tsv(layout, path)
    else:
        raise ParameterError(f"{Path(path).name} needs the ending {', '.join(LAYOUT_ENDINGS)}")


def read_bandage_json(path: str | PathLike[str], graph: PangenomeGraph) -> GraphLayout:
    """Return the layout of a Bandage ``.layout`` file for the nodes of ``graph``.

    Raises
    ------
    FileFormatError
        If the file is not such a JSON, or its nodes differ from the graph's.
    """
    path = Path(path)
    try:
        lines = json.loads(read_bytes(path).tobytes())
    except json.JSONDecodeError as error:
        raise FileFormatError(path, f"is not JSON: {error.msg}", line=error.lineno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(path, "is not JSON text") from error
    except ValueError as error:
        found = "has a number of thousands of digits, needs places in the layout"
        raise FileFormatError(path, found) from error
    if not isinstance(lines, dict):
        raise FileFormatError(path, "is not an object of node names, as Bandage writes it")
    return _place_nodes(path, graph, _iter_json(path, lines), _JSON_NOTE)


def read_bandage_tsv(path: str | PathLike[str], graph: PangenomeGraph) -> GraphLayout:
    """Return the layout of a Bandage TSV file for the nodes of ``graph``.

    Raises
    ------
    FileFormatError
        If a row is not a name and two numbers, or the nodes differ from the graph's.
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
    rows = read_utf8(path).splitlines()
    for line, row in enumerate(rows, 1):
        fields = row.split("\t")
        if len(fields) != 3:
            needs = "3 (name, x, y), or an odgi header 'idx X Y' in line 1"
            raise FileFormatError(
                path, f"has {n_words(len(fields), 'column')}, needs {needs}", line=line
            )
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
            f"lays out {graph.n_nodes - is_missing.sum():,} of the graph's "
            f"{n_words(graph.n_nodes, 'node')},"
            f" needs all; {name!r} is missing",
        )
    return GraphLayout(coordinates, note=note)


def _find_node(ranks: dict[str, int], name: str) -> tuple[int | None, str]:
    """Return a node's rank, or None, and its strand; a name without a strand is forward."""
    if name[-1:] in ("+", "-") and name[:-1] in ranks:
        return ranks[name[:-1]], name[-1]
    return ranks.get(name), "+"
