"""Read a layout of any kind, and write it by the ending of the name."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.file_bytes import read_start
from genoviz.io.files.replace_file import is_open_stream
from genoviz.io.graph.bandage import read_bandage_json, read_bandage_tsv
from genoviz.io.graph.lay import read_lay, write_lay
from genoviz.io.graph.layout_tsv import read_layout_tsv, write_layout_tsv
from genoviz.model import GraphLayout, PangenomeGraph

LAYOUT_ENDINGS = (".lay", ".tsv", ".tsv.gz")


def read_layout(path: str | PathLike[str], graph: PangenomeGraph | None = None) -> GraphLayout:
    """Return a layout from odgi's ``.lay`` or TSV, or from Bandage's JSON or TSV.

    The kind is told from what the file holds. Text may be gzipped.

    Parameters
    ----------
    path
        The file.
    graph
        The graph that is laid out. Bandage's files need it, for they go by node names; with the
        others it is checked that the number of nodes is the same.

    Raises
    ------
    FileFormatError
        If the file is none of these, is damaged, or does not fit the graph: it has another number
        of nodes, or places a thousand times farther apart than any layout of the graph.
    """
    path = Path(path)
    start = read_start(path, 64)
    if not start:
        raise FileFormatError(path, "is empty, needs a layout (.lay or TSV of odgi, or Bandage's)")
    # The second field of a .lay is a number below 2**56, so that its highest byte is zero.
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
            f"lays out {layout.n_nodes:,} nodes, but the graph has {graph.n_nodes:,}; "
            "it belongs to another graph",
        )
    return layout if graph is None else _check_places(path, layout, graph)


def _check_places(path: Path, layout: GraphLayout, graph: PangenomeGraph) -> GraphLayout:
    """Refuse places that no layout of the graph has; note a node that alone spans the layout.

    Layouts lie within the bp of their graph, whatever their start; odgi stacks components with
    1000 bp between them. A thousand times that is damage, as of a bit of an exponent.
    """
    low, high = layout.points.min(axis=0, initial=0.0), layout.points.max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        extent = float((high - low).max())
    most = 1000.0 * (graph.total_length + 1000.0 * (graph.n_nodes + 1))
    if extent > most:
        node = int(np.abs(layout.points).max(axis=1).argmax()) // 2
        raise FileFormatError(
            path,
            f"has node {graph.node_names[node]!r} at {layout.coordinates[node].tolist()}, which"
            f" no layout of {graph.total_length:,} bp comes to; the file is damaged, or belongs to"
            " another graph",
        )
    drawn = np.hypot(*(layout.coordinates[:, 1] - layout.coordinates[:, 0]).T)
    is_torn = (drawn > 0.9 * extent) & (drawn > 100.0 * graph.node_lengths)
    if not is_torn.any() or is_torn.sum() > 0.01 * graph.n_nodes:
        return layout
    node = int(np.argmax(is_torn))
    note = (
        f"Node {graph.node_names[node]!r} of {graph.node_lengths[node]:,} bp is drawn"
        f" {drawn[node]:,.0f} bp long, across the whole layout: {path.name} may be damaged."
    )
    return replace(layout, note=f"{layout.note} {note}".strip())


def write_layout(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as odgi's ``.lay``, ``.tsv`` or ``.tsv.gz``, by the ending of ``path``.

    A stream such as ``/dev/stdout`` gets a ``.lay``.

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
