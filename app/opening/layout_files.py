"""Opening the layout of a graph from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from genoviz.io.graph.layout_files import read_layout
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.opening.files import OpeningProgress


@dataclass(frozen=True)
class OpenLayout:
    """A layout that was read from a file.

    Attributes
    ----------
    source
        The path that opens it again; "" for an upload.
    title
        What people call it.
    layout
        The layout itself.
    """

    source: str
    title: str
    layout: GraphLayout


def iter_open_layout(
    path: Path, graph: PangenomeGraph, *, source: str = "", title: str
) -> Iterator[OpeningProgress]:
    """Open the layout of a graph; the last progress has it."""
    yield OpeningProgress(f"Reading the layout {title}")
    yield OpeningProgress("Ready", 1.0, OpenLayout(source, title, read_layout(path, graph)))
