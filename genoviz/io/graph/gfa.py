"""Pangenome graphs from GFA files, versions 1.0 and 1.1, and back."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

from genoviz.io.files.file_source import find_source
from genoviz.io.graph.gfa_cache import load_graph, store_graph
from genoviz.io.graph.gfa_reader import parse_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.text.text_file import open_text
from genoviz.model import PangenomeGraph

__all__ = ["GfaProgress", "iter_read_gfa", "read_gfa", "write_gfa"]

T = TypeVar("T")


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

    The file may be plain or gzip-compressed (also in several members), whatever its name; lines
    may come in any order, with or without carriage returns.

    S lines need a sequence of letters, or ``*`` and an ``LN`` tag; other tags are not kept. L
    lines are all kept, in the order of the file, those that say the same too. Paths are P and W
    lines in the order of the file; a walk is named ``sample#haplotype#contig:start-end``, without
    the range where it is ``*``. Overlaps are not used: where they are not ``0M`` or ``*``, the
    graph's ``notes`` say how many, as they do of J, C and other lines, which are left out.

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
    path = Path(path)
    source = find_source(path) if cache else None
    if source:
        stage = "Opening the saved graph"
        graph = yield from _report(stage, load_graph(source, sequences=sequences))
        if graph:
            yield GfaProgress("Done", source.size, source.size, graph)
            return
    data = yield from _report("Decompressing", open_text(path))
    graph = yield from _report(None, parse_gfa(path, data, sequences=sequences))
    n_bytes = len(data)
    del data
    if source:
        yield from _report("Saving the graph for next time", store_graph(source, graph))
    yield GfaProgress("Done", n_bytes, n_bytes, graph)


def _report(stage: str | None, steps: Generator[tuple, None, T]) -> Generator[GfaProgress, None, T]:
    """Yield the progress of ``steps`` under the name of their stage, and return their result."""
    while True:
        try:
            progress = next(steps)
        except StopIteration as stop:
            return stop.value
        yield GfaProgress(stage, *progress) if stage else GfaProgress(*progress)
