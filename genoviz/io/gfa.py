"""Pangenome graphs from GFA files, versions 1.0 and 1.1, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.io.gfa_reader import parse_gfa
from genoviz.io.gfa_text import open_text
from genoviz.io.gfa_writer import write_gfa
from genoviz.model import PangenomeGraph

__all__ = ["GfaProgress", "iter_read_gfa", "read_gfa", "write_gfa"]


@dataclass(frozen=True)
class GfaProgress:
    """How far the reading of a file is.

    Attributes
    ----------
    stage
        What is being done, e.g. ``"Reading paths"``.
    n_bytes_done, n_bytes_total
        Bytes of the text (or of the compressed file, while it is decompressed) that this stage
        has behind it, and has in all.
    graph
        The graph, in the last report only.
    """

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    graph: PangenomeGraph | None = None


def read_gfa(
    path: str | PathLike[str], *, sequences: bool = True, cache: bool = True
) -> PangenomeGraph:
    """Return the graph of a GFA file; see :func:`iter_read_gfa`."""
    for progress in iter_read_gfa(path, sequences=sequences, cache=cache):
        graph = progress.graph
    return graph


def iter_read_gfa(
    path: str | PathLike[str], *, sequences: bool = True, cache: bool = True
) -> Iterator[GfaProgress]:
    """Yield how far the reading of a GFA file is; the last report has the graph.

    Lines may come in any order. The file may be plain or gzip-compressed, whatever its name.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte a base.
    cache
        Whether to keep the parsed graph in the user's cache folder, and to use it when the file
        has not changed.

    Raises
    ------
    FileFormatError
        If the file cannot be read or does not follow the format; says where and why.

    References
    ----------
    GFA specification, https://gfa-spec.github.io/GFA-spec/GFA1.html
    """
    del cache
    path = Path(path)
    decompressing = open_text(path)
    try:
        while True:
            done, total = next(decompressing)
            yield GfaProgress("Decompressing", done, total)
    except StopIteration as stop:
        data = stop.value
    parsing = parse_gfa(path, data, sequences=sequences)
    try:
        while True:
            yield GfaProgress(*next(parsing))
    except StopIteration as stop:
        yield GfaProgress("Done", len(data), len(data), stop.value)
