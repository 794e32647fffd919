"""Reading and writing of node lists, and lookup of nodes by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.graph import gfa_name_loops
from genoviz.io.graph.gfa_names import build_node_table
from genoviz.io.text.text_file import read_bytes, write_text
from genoviz.model import ByteStrings, PangenomeGraph


def write_node_list(
    graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray, path: str | PathLike[str]
) -> None:
    """Write node names, one per line; gzipped if ``path`` ends in ``.gz``.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    write_text(path, (f"{graph.node_names[int(node)]}\n".encode() for node in nodes))


def read_node_list(graph: PangenomeGraph, path: str | PathLike[str]) -> np.ndarray:
    """Return the nodes named in a file, one per line, in file order; int64.

    Only the first column is used; empty lines and lines that begin with ``#`` are skipped.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or names a node that is not in the graph.
    """
    nodes = []
    for number, name in read_names(path):
        node = graph.node_names.find(name)
        if node < 0:
            raise FileFormatError(path, f"the graph has no node {name[:40]!r}", line=number)
        nodes.append(node)
    return np.array(nodes, np.int64)


def read_names(path: str | PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield 1-based line numbers and node names from a file, as `read_node_list`.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    """
    for number, line in enumerate(read_bytes(path).tobytes().splitlines(), start=1):
        name = line.split(b"\t")[0].strip()
        if name and not line.startswith(b"#"):
            yield number, name.decode("utf-8", "backslashreplace")


def find_nodes(graph: PangenomeGraph, names: Sequence[str]) -> np.ndarray:
    """Return the node of each name, -1 if there is none; int64, shape (n_names,)."""
    if graph.n_nodes == 0 or len(names) == 0:
        return np.full(len(names), -1, np.int64)
    table = finish(build_node_table(graph.node_names))
    texts = ByteStrings.from_texts(names)
    return gfa_name_loops.find_names(texts.data, texts.offsets, table)
