"""Layouts that tabs have computed: those of small graphs for other tabs, and those of links.

A link has ``layout=kept:KEY`` and reopens a layout from the cache after a reload. The key is
random, so nobody can guess that of another person, and the entry has checksums of the graph, so it
is never shown on another one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from genoviz.analyses.graph.layout.run import LayoutSnapshot
from genoviz.errors import GenovizError
from genoviz.generators import report
from genoviz.io.files.array_cache import Entry, find_checksum, load_entry, store_entry
from genoviz.io.files.file_source import cache_folder
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.opening.companions import OpenLayout
from genoviz_app.opening.files import OpeningProgress

FORMAT, VERSION, GROUP = "genoviz layout of a tab", 1, "layouts"
LINK = re.compile(r"kept:[0-9a-f]{24}")
TITLE = "The layout of an earlier run"
GONE = "The layout of this link is not kept any longer, or is of another graph; press Run"
UNFOLDED: WeakKeyDictionary[PangenomeGraph, tuple[LayoutSnapshot, list]] = WeakKeyDictionary()
"""Finished layouts of small graphs that any tab has open, with their stress."""


def iter_keep_unfolded(
    steps: Iterator[LayoutSnapshot | None], graph: PangenomeGraph, history: list
) -> Iterator[LayoutSnapshot | None]:
    """Yield the snapshots of a layout, and store the last one for all tabs."""
    for snapshot in steps:
        if snapshot is not None and snapshot.is_final:
            UNFOLDED[graph] = snapshot, history
        yield snapshot


def is_kept_layout(source: str) -> bool:
    """Return whether a source names a kept layout and not a file."""
    return LINK.fullmatch(source) is not None


def new_source() -> str:
    """Return what a link calls the next layout that is kept."""
    return f"kept:{secrets.token_hex(12)}"


def iter_keep_layout(
    source: str, graph: PangenomeGraph, layout: GraphLayout
) -> Iterator[bool | None]:
    """Keep a layout under its source; the last step is whether that succeeded."""
    facts = yield from _iter_facts(graph)
    arrays = {"coordinates": layout.coordinates}
    if layout.components is not None:
        arrays["components"] = layout.components
    entry = Entry({**facts, "note": layout.note}, arrays)
    yield (yield from report(store_entry(_folder(source), entry), lambda _: None))


def iter_open_kept(source: str, graph: PangenomeGraph) -> Iterator[OpeningProgress | None]:
    """Open a kept layout of a graph; the last progress has it.

    Raises
    ------
    GenovizError
        If it was removed from the cache, is damaged, or is of another graph.
    """
    yield OpeningProgress("Reading the layout")
    facts = yield from _iter_facts(graph)
    entry = yield from report(load_entry(_folder(source), facts), lambda _: None)
    if entry is None or entry.arrays["coordinates"].shape != (graph.n_nodes, 2, 2):
        raise GenovizError(GONE)
    arrays = entry.arrays
    layout = GraphLayout(arrays["coordinates"], arrays.get("components"), entry.facts["note"])
    yield OpeningProgress("Ready", 1.0, OpenLayout(source, TITLE, layout))


def _folder(source: str) -> Path:
    return cache_folder(GROUP) / source.removeprefix("kept:")


def _iter_facts(graph: PangenomeGraph) -> Generator[None, None, dict[str, Any]]:
    """Return what an entry says of itself and its graph."""
    facts: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for name in ("node_lengths", "edges", "path_offsets", "steps"):
        facts[name] = yield from find_checksum(getattr(graph, name), None)
    return facts
