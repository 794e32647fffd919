"""Opening of a graph's companions: its layout, and one or more files of annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary, ref

from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.query.annotate import PlacedAnnotations, place_annotations
from genoviz.io.graph.layout_files import read_layout
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import Annotations, GraphLayout, PangenomeGraph
from genoviz.model.intervals.annotations import join_annotations
from genoviz_app.opening.apart import iter_apart
from genoviz_app.opening.files import OpeningProgress, file_key
from genoviz_app.opening.memory import MEMORY


@dataclass(frozen=True, eq=False)
class AnnotationFile:
    """Annotations read from a file.

    Attributes
    ----------
    source
        Path for reopening it; "" for an upload.
    title
        Name shown to users.
    annotations
        Its rows.
    """

    source: str
    title: str
    annotations: Annotations


@dataclass(frozen=True, eq=False)
class OpenAnnotations:
    """The annotations of a graph.

    Attributes
    ----------
    files
        Their files, in the order of opening.
    placed
        All of them, on the paths of the graph; None without a file.
    """

    files: tuple[AnnotationFile, ...] = ()
    placed: PlacedAnnotations | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths that open them again."""
        return tuple(file.source for file in self.files if file.source)


def iter_open_annotations(
    path: Path,
    graph: PangenomeGraph,
    others: Sequence[AnnotationFile] = (),
    *,
    source: str = "",
    title: str,
) -> Iterator[OpeningProgress | None]:
    """Open annotations in addition to others; an open file is reread.

    The last progress has all of them.
    """
    yield OpeningProgress(f"Reading the annotations {title}")
    for progress in iter_apart(_iter_annotations, path, max_bytes=MEMORY.max_file):
        if progress is None:
            yield None
        else:
            annotations = progress.opened
    file = AnnotationFile(source, title, annotations)
    kept = [other for other in others if (other.source, other.title) != (source, title)]
    yield from iter_place_annotations(graph, (*kept, file))


def _iter_annotations(path: Path) -> Iterator[OpeningProgress]:
    yield OpeningProgress("Ready", 1.0, read_annotations(path))


def iter_place_annotations(
    graph: PangenomeGraph, files: tuple[AnnotationFile, ...]
) -> Iterator[OpeningProgress]:
    """Place the annotations of some files together; the last progress has them."""
    placed = None
    if files:
        yield OpeningProgress("Placing annotations on the paths")
        joined = join_annotations([file.annotations for file in files])
        placed = place_annotations(graph, joined)
    yield OpeningProgress("Ready", 1.0, OpenAnnotations(files, placed))


_LAYOUTS: WeakKeyDictionary[PangenomeGraph, tuple[tuple, ref[GraphLayout]]] = WeakKeyDictionary()
"""The last layout that was read for each graph, as long as a tab has it."""


@dataclass(frozen=True)
class OpenLayout:
    """A layout read from a file.

    Attributes
    ----------
    source
        Path for reopening it; "" for an upload.
    title
        Name shown to users.
    layout
        The layout.
    stress
        Its path stress if it is known, from the record of `genoviz layout --all`.
    """

    source: str
    title: str
    layout: GraphLayout
    stress: PathStress | None = None


def iter_open_layout(
    path: Path,
    graph: PangenomeGraph,
    *,
    source: str = "",
    title: str,
    stress: PathStress | None = None,
) -> Iterator[OpeningProgress]:
    """Open the layout of a graph; the last progress has it."""
    key, (last, kept) = file_key(path), _LAYOUTS.get(graph, ((), None))
    layout = kept() if key == last else None
    if layout is None:
        yield OpeningProgress(f"Reading the layout {title}")
        layout = read_layout(path, graph)
        _LAYOUTS[graph] = key, ref(layout)
    yield OpeningProgress("Ready", 1.0, OpenLayout(source, title, layout, stress))
