"""A graph read with a progress bar, and what ``genoviz draw`` shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from genoviz.cli.common_options import BackendName
from genoviz.cli.results import ProgressBar, is_copy, print_notes
from genoviz.io.files.file_source import file_at

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.figures import FigureLabel, FigureMark
    from genoviz.analyses.graph.picture.drawing import LayoutDrawing
    from genoviz.analyses.graph.query.annotate import PlacedAnnotations
    from genoviz.model import PangenomeGraph, PathRegion
    from genoviz.model.graph.node_table import NodeTable

MAX_LABELS = 60
MARK_COLOUR = "#ff3b6b"


def is_file(text: str) -> bool:
    """Return whether a text names a file; one with many names is longer than any file's name."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def listed_names(text: str) -> list[str]:
    """Return the names of a file, one a line, or those that commas part."""
    if not is_file(text):
        return [name for name in text.split(",") if name]
    from genoviz.io.graph.node_list import read_names

    return [name for _, name in read_names(text)]


def read_graph(
    path: Path, bar: ProgressBar, *, cache: bool, sequences: bool = False
) -> PangenomeGraph:
    """Return the graph of a file, by default without sequences; notes go to standard error.

    ``genome.gbz/chr6`` is chromosome chr6 of that file.
    """
    from genoviz.collection.members import GraphMember
    from genoviz.collection.reading import iter_read_member

    cache = cache and not is_copy(path)
    for progress in iter_read_member(GraphMember.at(path), sequences=sequences, cache=cache):
        bar.update(progress.stage, progress.n_bytes_done, progress.n_bytes_total, "B")
    print_notes(*progress.graph.notes)
    return progress.graph


def is_graph(path: Path) -> bool:
    """Return whether a file, or the file of a chromosome, is a graph, by name or first bytes."""
    path = file_at(path)
    if path.name.lower().removesuffix(".gz").endswith((".gfa", ".gbz", ".gbz.db")):
        return True
    if not path.is_file() or path.stat().st_size == 0:
        return False
    from genoviz.io.sequences.gvfm_file import MAGIC

    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            return False
    from genoviz.io.text.text_file import read_start

    return read_start(path, 2)[:2] in (b"H\t", b"S\t", b"L\t", b"P\t", b"W\t", b"GB")


def is_large_base(path: Path) -> bool:
    """Return whether a file is a database of which a part is read better than all."""
    from genoviz.io.graph import gbz_base

    return gbz_base.is_large_base(path)


def find_indexed_regions(indexed: PangenomeGraph, texts: list[str]) -> list[PathRegion]:
    """Return the regions that texts name on the indexed paths of a database."""
    from genoviz.analyses.graph.query.regions import resolve_region
    from genoviz.errors import ParameterError

    try:
        return [region for text in texts for region in resolve_region(indexed, text)]
    except ParameterError as error:
        raise ParameterError(
            f"{error} (of a database this large only indexed paths can be asked for: generic ones "
            "and those of reference samples)"
        ) from error


class ColourBy(StrEnum):
    """Colour mode of nodes."""

    density = "density"
    depth = "depth"
    path_depth = "path-depth"
    copies = "copies"
    strand = "strand"
    length = "length"
    gc = "gc"
    component = "component"
    position = "position"
    paths = "paths"
    sharing = "sharing"
    class_ = "class"
    stress = "stress"
    annotation = "annotation"
    table = "table"


class GroupBy(StrEnum):
    """What paths are grouped by."""

    path = "path"
    sample = "sample"
    haplotype = "haplotype"
    contig = "contig"


class AnnotateBy(StrEnum):
    """Colour mode of annotations."""

    name = "name"
    type = "type"
    colour = "colour"


@dataclass(frozen=True)
class Wish:
    """What is to be shown."""

    paths: list[str]
    region: str | None
    nodes: list[str]
    only_paths: bool
    labels: bool


def read_drawing(
    layout: Path, graph: PangenomeGraph, wish: Wish, group_by: GroupBy, backend: BackendName
) -> tuple[LayoutDrawing, str]:
    """Return a drawing of the layout, of chosen paths alone if so wished, and its note."""
    from genoviz.analyses.graph.picture.drawing import LayoutDrawing
    from genoviz.io.graph.layout_files import read_layout

    placed = read_layout(layout, graph)
    chosen = None
    if wish.only_paths:
        if not wish.paths:
            raise typer.BadParameter("--only-paths needs --path")
        from genoviz.analyses.graph.query.path_groups import find_group_nodes

        chosen = find_group_nodes(graph, group_by.value, wish.paths)
    return LayoutDrawing(placed.coordinates, nodes=chosen, backend=backend.value), placed.note


def read_annotations(path: Path | None, graph: PangenomeGraph) -> PlacedAnnotations | None:
    """Return annotations placed on the graph, or None without a file."""
    if path is None:
        return None
    from genoviz.analyses.graph.query.annotate import place_annotations
    from genoviz.io.intervals.annotations import read_annotations

    found = read_annotations(path)
    if not len(found):
        print_notes(f"{path.name} has no annotations")
    return place_annotations(graph, found)


def read_table(path: Path | None, graph: PangenomeGraph) -> NodeTable | None:
    """Return a table of nodes, or None without a file."""
    if path is None:
        return None
    from genoviz.io.graph.node_table import read_node_table

    return read_node_table(path, graph)


def region_box(
    graph: PangenomeGraph, drawing: LayoutDrawing, region: str | None
) -> tuple[float, float, float, float] | None:
    """Return the box around the nodes of a region."""
    if region is None:
        return None
    import numpy as np

    from genoviz.analyses.graph.query.path_positions import find_region_steps
    from genoviz.analyses.graph.query.regions import resolve_region
    from genoviz.model.columns import distinct

    parts = resolve_region(graph, region)
    found: list[np.ndarray] = [find_region_steps(graph, part).nodes for part in parts]
    ends = drawing.node_ends(distinct(np.concatenate(found))).reshape(-1, 2)
    ends = ends[np.isfinite(ends).all(axis=1)]
    return (*ends.min(axis=0).tolist(), *ends.max(axis=0).tolist())


def make_marks(graph: PangenomeGraph, wish: Wish) -> list[FigureMark]:
    """Return the mark of the nodes to point out."""
    if not wish.nodes:
        return []
    from genoviz.analyses.figures import FigureMark
    from genoviz.errors import ParameterError
    from genoviz.io.graph.node_list import find_nodes

    found = find_nodes(graph, wish.nodes)
    for name, node in zip(wish.nodes, found.tolist(), strict=True):
        if node < 0:
            raise ParameterError(f"the graph has no node {name!r}")
    named = wish.nodes[0] if len(wish.nodes) == 1 else f"{len(wish.nodes)} marked nodes"
    return [FigureMark(found, MARK_COLOUR, f"node {named}" if len(found) == 1 else named)]


def make_labels(graph: PangenomeGraph, placed: PlacedAnnotations) -> list[FigureLabel]:
    """Return a label at the middle of each annotation, once a name, the longest first."""
    import numpy as np

    from genoviz.analyses.figures import FigureLabel

    found: dict[str, FigureLabel] = {}
    for place in np.argsort(placed.starts - placed.ends, kind="stable").tolist():
        name = placed.annotations.names[int(placed.rows[place])]
        first, stop = placed.step_ranges[place].tolist()
        if name and name not in found and stop > first:
            node = int(graph.steps[(first + stop) // 2] >> 1)
            found[name] = FigureLabel(node, name)
        if len(found) == MAX_LABELS:
            break
    return list(found.values())
