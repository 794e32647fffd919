"""Sequences as FASTA, and names of nodes as lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os import PathLike

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.text.writer import write_text
from genoviz.model import PangenomeGraph

LINE_WIDTH = 60
_SLICE = 1 << 20
_NOT_IN_NAMES = re.compile(r"[\x00-\x08\x0a-\x1f]")


def write_fasta(
    records: Iterable[tuple[str, np.ndarray]],
    path: str | PathLike[str],
    *,
    line_width: int = LINE_WIDTH,
) -> None:
    """Write named sequences as FASTA, gzipped where ``path`` ends in ``.gz``.

    Parameters
    ----------
    records
        Name and uint8 letters of each sequence.
    line_width
        Bases on a line; 0 for all on one.

    Raises
    ------
    ParameterError
        If a name cannot stand on one line, or ``line_width`` is negative.
    FileFormatError
        If the file cannot be written.
    """
    if line_width < 0:
        raise ParameterError(f"line_width is {line_width}, needs to be 0 or more")
    write_text(path, _render(records, line_width))


def _render(records: Iterable[tuple[str, np.ndarray]], line_width: int) -> Iterator[bytes]:
    for name, bases in records:
        if not name or _NOT_IN_NAMES.search(name):
            raise ParameterError(f"a sequence is named {name!r}, needs a name on one line")
        yield f">{name}\n".encode()
        yield from _wrap(bases, line_width)


def _wrap(bases: np.ndarray, line_width: int) -> Iterator[bytes]:
    """Yield the lines of a sequence, about a megabyte at a time."""
    width = line_width or max(len(bases), 1)
    n_bases = width * max(1, _SLICE // width)
    for start in range(0, len(bases), n_bases):
        part = bases[start : start + n_bases]
        n_full = len(part) // width
        lines = np.full((n_full, width + 1), ord("\n"), np.uint8)
        lines[:, :width] = part[: n_full * width].reshape(n_full, width)
        yield lines.tobytes()
        if n_full * width < len(part):
            yield part[n_full * width :].tobytes() + b"\n"


def write_node_list(
    graph: PangenomeGraph, nodes: Iterable[int] | np.ndarray, path: str | PathLike[str]
) -> None:
    """Write the names of nodes, one a line, gzipped where ``path`` ends in ``.gz``.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    write_text(path, (f"{graph.node_names[int(node)]}\n".encode() for node in nodes))


def read_node_list(graph: PangenomeGraph, path: str | PathLike[str]) -> np.ndarray:
    """Return the nodes that a file names, one a line, in its order; int64.

    Only the first column counts; empty lines and those that begin with ``#`` are passed over.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or names a node that is not in the graph.
    """
    nodes = []
    for number, line in enumerate(read_bytes(path).tobytes().splitlines(), start=1):
        name = line.split(b"\t")[0].strip()
        if not name or line.startswith(b"#"):
            continue
        node = graph.node_names.find(name)
        if node < 0:
            shown = name[:40].decode("utf-8", "backslashreplace")
            raise FileFormatError(path, f"the graph has no node {shown!r}", line=number)
        nodes.append(node)
    return np.array(nodes, np.int64)
