"""Read a layout of any kind, and write it by the ending of the name."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.bandage import read_bandage_json, read_bandage_tsv
from genoviz.io.file_bytes import read_start
from genoviz.io.lay import read_lay, write_lay
from genoviz.io.layout_tsv import read_layout_tsv, write_layout_tsv
from genoviz.io.replace_file import is_open_stream
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
        If the file is none of these, is damaged, or does not fit the graph.
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
    return layout


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
