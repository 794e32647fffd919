"""Cache of parsed graphs, for fast reopening."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from genoviz.io.files.array_cache import Entry, load_entry, load_facts, store_entry
from genoviz.io.files.file_source import Source, entry_folder, find_source
from genoviz.model import ByteStrings, PangenomeGraph

FORMAT, VERSION, GROUP = "genoviz graph", 5, "graphs"
LIST = "/"
"""In place of a part, the list of them."""
Progress = tuple[int, int]


class CachedPart(NamedTuple):
    """A chromosome of a file: its name, its sizes, and its ranges of node IDs in the file."""

    name: str
    n_nodes: int
    n_steps: int
    length: int
    ranges: list[tuple[int, int]]


def load_graph(
    source: Source, *, sequences: bool, part: str = ""
) -> Generator[Progress, None, PangenomeGraph | None]:
    """Return the cached graph of a file, memory-mapped, or None; yields bytes done and total.

    With ``part``, the graph of one of its chromosomes.
    """
    facts = _facts(source, part)
    if sequences:
        facts["has_sequences"] = True
    entry = yield from load_entry(
        _folder(source, part),
        facts,
        wants=lambda name: sequences or not name.startswith("sequence_"),
    )
    try:
        return entry and _to_graph(entry, sequences)
    # As with any damaged cache entry, a new one replaces it.
    except Exception:
        return None


def store_graph(
    source: Source, graph: PangenomeGraph, part: str = ""
) -> Generator[Progress, None, bool]:
    """Cache the graph of a file or of its part; return whether that succeeded.

    Yields bytes done and total.
    """
    try:
        if Source.of(Path(source.path)) != source:
            return False
    except OSError:
        return False
    more = {
        "has_sequences": graph.node_sequences is not None,
        "notes": list(graph.notes),
        "sizes": [graph.n_nodes, graph.n_steps, graph.total_length],
    }
    entry = Entry(_facts(source, part) | more, _to_arrays(graph))
    return (yield from store_entry(_folder(source, part), entry))


def load_parts(source: Source) -> list[CachedPart] | None:
    """Return the chromosomes of a file, if they are cached."""
    facts = load_facts(_folder(source, LIST), _facts(source, LIST))
    try:
        return facts and [
            CachedPart(*row[:-1], [(a, b) for a, b in row[-1]]) for row in facts["parts"]
        ]
    # As with any damaged cache entry, a new one replaces it.
    except Exception:
        return None


def store_parts(source: Source, parts: list[CachedPart]) -> Generator[Progress, None, bool]:
    """Cache which chromosomes a file has; return whether that succeeded."""
    entry = Entry(_facts(source, LIST) | {"parts": [list(part) for part in parts]}, {})
    return (yield from store_entry(_folder(source, LIST), entry))


def estimate_cached(path: Path, part: str = "") -> int:
    """Return the approximate memory of a graph that is cached with its sequences, or 0.

    With ``part``, of one of the chromosomes of a file. Arrays are mapped, but the layout and the
    indexes of nodes and steps are in memory.
    """
    source = find_source(path)
    sizes = peek_sizes(source, sequences=True, part=part) if source else None
    if sizes is None:
        return 0
    n_nodes, n_steps, _ = sizes
    return 100 * n_nodes + (5 if n_steps < 1 << 32 else 9) * n_steps


def peek_sizes(
    source: Source, *, sequences: bool = False, part: str = ""
) -> tuple[int, int, int] | None:
    """Return nodes, steps and bp of a file's cached graph, or None, without reading arrays.

    With ``sequences``, a graph that was cached without them does not count.
    """
    wanted = _facts(source, part) | ({"has_sequences": True} if sequences else {})
    facts = load_facts(_folder(source, part), wanted)
    return tuple(facts["sizes"]) if facts and "sizes" in facts else None


def _facts(source: Source, part: str = "") -> dict[str, Any]:
    facts = {"format": FORMAT, "version": VERSION, "source": asdict(source)}
    return facts | {"part": part} if part else facts


def _folder(source: Source, part: str) -> Path:
    return entry_folder(GROUP, f"{source.path}//{part}" if part else source.path)


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
    for tags, name in ((graph.node_tags, "tag"), (graph.link_tags, "link_tag")):
        if tags is not None:
            arrays[f"{name}_data"] = tags.data
            arrays[f"{name}_offsets"] = tags.offsets
    return arrays


def _to_graph(entry: Entry, sequences: bool) -> PangenomeGraph:
    arrays = entry.arrays
    node_tags, link_tags = (
        ByteStrings(arrays[f"{name}_data"], arrays[f"{name}_offsets"])
        if f"{name}_data" in arrays
        else None
        for name in ("tag", "link_tag")
    )
    return PangenomeGraph(
        ByteStrings(arrays["name_data"], arrays["name_offsets"]),
        arrays["node_lengths"],
        arrays["edges"],
        tuple(ByteStrings(arrays["path_name_data"], arrays["path_name_offsets"])),
        arrays["path_offsets"],
        arrays["steps"],
        ByteStrings(arrays["sequence_data"], arrays["sequence_offsets"]) if sequences else None,
        tuple(entry.facts["notes"]),
        node_tags,
        arrays.get("walks"),
        link_tags,
    )
