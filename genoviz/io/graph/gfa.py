"""Pangenome graphs from GFA files, versions 1.0 and 1.1, and kept parsed for the next time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from genoviz.generators import report
from genoviz.io.files.array_cache import Entry, load_entry, store_entry
from genoviz.io.files.file_source import Source, entry_folder, find_source
from genoviz.io.graph.gfa_reader import parse_gfa
from genoviz.io.text.text_file import open_text
from genoviz.model import ByteStrings, PangenomeGraph

T = TypeVar("T")
FORMAT, VERSION, GROUP = "genoviz graph", 3, "graphs"
Progress = tuple[int, int]


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

    S lines have a sequence of letters, or ``*`` and an ``LN`` tag, without which 1 bp is taken;
    their tags are kept. L lines, with or without overlap, are all kept, in the order of the file,
    those that say the same too, and J lines as if they were L lines. Paths are P and W
    lines in the order of the file; a walk is named ``sample#haplotype#contig:start-end``, without
    the range where it is ``*``. Overlaps are not used: where they are not ``0M`` or ``*``, the
    graph's ``notes`` say how many, as they do of C and other lines, which are left out.

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
    named = () if stage is None else (stage,)
    return report(steps, lambda step: GfaProgress(*named, *step))


def load_graph(
    source: Source, *, sequences: bool
) -> Generator[Progress, None, PangenomeGraph | None]:
    """Return the cached graph of a file, memory-mapped, or None; yields bytes done and in all."""
    facts = _facts(source)
    if sequences:
        facts["has_sequences"] = True
    entry = yield from load_entry(
        entry_folder(GROUP, source.path),
        facts,
        wants=lambda name: sequences or not name.startswith("sequence_"),
    )
    try:
        return entry and _to_graph(entry, sequences)
    # As of any entry that is damaged, another one takes its place.
    except Exception:
        return None


def store_graph(source: Source, graph: PangenomeGraph) -> Generator[Progress, None, bool]:
    """Keep the graph of a file, and tell whether that went well; yields bytes done and in all."""
    try:
        if Source.of(Path(source.path)) != source:
            return False
    except OSError:
        return False
    more = {"has_sequences": graph.node_sequences is not None, "notes": list(graph.notes)}
    entry = Entry(_facts(source) | more, _to_arrays(graph))
    return (yield from store_entry(entry_folder(GROUP, source.path), entry))


def _facts(source: Source) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "source": asdict(source)}


def _to_arrays(graph: PangenomeGraph) -> dict[str, np.ndarray]:
    path_names = ByteStrings.from_texts(graph.path_names)
    arrays = {
        "name_data": graph.node_names.data,
        "name_offsets": graph.node_names.offsets,
        "node_lengths": graph.node_lengths,
        "edges": graph.edges,
        "path_name_data": path_names.data,
        "path_name_offsets": path_names.offsets,
        "path_offsets": graph.path_offsets,
        "steps": graph.steps,
    }
    if graph.node_sequences is not None:
        arrays["sequence_data"] = graph.node_sequences.data
        arrays["sequence_offsets"] = graph.node_sequences.offsets
    if graph.walks is not None:
        arrays["walks"] = graph.walks
    if graph.node_tags is not None:
        arrays["tag_data"] = graph.node_tags.data
        arrays["tag_offsets"] = graph.node_tags.offsets
    return arrays


def _to_graph(entry: Entry, sequences: bool) -> PangenomeGraph:
    arrays = entry.arrays
    return PangenomeGraph(
        ByteStrings(arrays["name_data"], arrays["name_offsets"]),
        arrays["node_lengths"],
        arrays["edges"],
        tuple(ByteStrings(arrays["path_name_data"], arrays["path_name_offsets"])),
        arrays["path_offsets"],
        arrays["steps"],
        ByteStrings(arrays["sequence_data"], arrays["sequence_offsets"]) if sequences else None,
        tuple(entry.facts["notes"]),
        ByteStrings(arrays["tag_data"], arrays["tag_offsets"]) if "tag_data" in arrays else None,
        arrays.get("walks"),
    )
