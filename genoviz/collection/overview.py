"""What is said of each graph of a collection at a glance: its facts, and a small picture.

Both are kept in the user's cache folder, so that a graph is read once for them, or not at all if
the record of its layout has its facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.collection.members import GraphMember, natural_order
from genoviz.collection.reading import iter_read_member
from genoviz.generators import finish
from genoviz.io.files.array_cache import Entry, load_entry, store_entry
from genoviz.io.files.file_source import Source, entry_folder
from genoviz.io.graph.lay import read_lay
from genoviz.model import GraphLayout, PangenomeGraph, PathName

FORMAT, VERSION, GROUP = "genoviz overview of a graph", 3, "overviews"
WIDTH, HEIGHT = 320, 56
"""Of the small picture, in pixels: twice those on the screen, for those that have more."""

MAX_DRAWN = 50_000
STRETCH_ABOVE = 12.0
_SEXES = ("x", "y", "z", "w", "m", "mt")


@dataclass(frozen=True)
class GraphFacts:
    """What a graph is in numbers.

    Attributes
    ----------
    n_nodes, n_steps, n_paths
        How many it has.
    length
        Of all nodes, bp.
    depth
        Mean number of path steps over a base.
    reference
        Sample of the reference path: of the first path of haplotype 0 in PanSN, or the first of
        all; "" without one.
    reference_length
        How far the reference goes, bp from the start of its contig; 0 without one.
    names
        Of the paths, without the ranges that some have; a line for each.
    """

    n_nodes: int
    n_steps: int
    n_paths: int
    length: int
    depth: float
    reference: str
    reference_length: int
    names: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all is known; an older record lacks the names."""
        return bool(self.names) or not self.n_paths

    def has_path(self, name: str) -> bool:
        """Return whether a path, or the contig of one, is called so."""
        whole = PathName.parse(name).whole
        lines = f"\n{self.names}\n"
        is_name = bool(whole) and "\n" not in whole
        return is_name and (f"\n{whole}\n" in lines or f"#{whole}\n" in lines)

    def find_paths(self, text: str, limit: int) -> list[str]:
        """Return names of paths that have a text in them, in either case."""
        lines, text = self.names.lower(), text.lower()
        found: list[str] = []
        at = lines.find(text) if text else -1
        while at >= 0 and len(found) < limit:
            first, end = lines.rfind("\n", 0, at) + 1, lines.find("\n", at)
            end = len(lines) if end < 0 else end
            found.append(self.names[first:end])
            at = lines.find(text, end)
        return found


@dataclass(frozen=True)
class GraphOverview:
    """What is shown of a graph that is not open.

    Attributes
    ----------
    facts
        Its numbers.
    picture
        uint8, shape (`HEIGHT`, `WIDTH`): indices of a palette by the order of nodes, 0 where
        nothing is, row 0 at the bottom; None where there is no layout.
    """

    facts: GraphFacts
    picture: np.ndarray | None = None


@dataclass(frozen=True)
class OverviewProgress:
    """How far the making of an overview is; the last one has it.

    Attributes
    ----------
    stage
        Current stage.
    share
        How much of it is done, 0 to 1.
    overview
        The result.
    """

    stage: str
    share: float
    overview: GraphOverview | None = None


def measure_graph(graph: PangenomeGraph) -> GraphFacts:
    """Return what a graph is in numbers."""
    lengths = graph.path_lengths
    reference, end = _find_reference(graph)
    return GraphFacts(
        graph.n_nodes,
        graph.n_steps,
        graph.n_paths,
        graph.total_length,
        float(lengths.sum()) / graph.total_length if graph.total_length else 0.0,
        reference,
        end,
        "\n".join(dict.fromkeys(name.whole for name in graph.parsed_path_names)),
    )


def _find_reference(graph: PangenomeGraph) -> tuple[str, int]:
    """Return the sample of the reference path, and how far its parts go on the contig, bp."""
    names = graph.parsed_path_names
    if not names:
        return "", 0
    first = next((name for name in names if name.haplotype == "0"), names[0])
    ends = (
        start + length
        for name, start, length in zip(
            names, graph.path_starts.tolist(), graph.path_lengths.tolist(), strict=True
        )
        if name.whole == first.whole
    )
    return first.sample or first.contig, max(ends)


def draw_small(layout: GraphLayout) -> np.ndarray:
    """Return a small picture of a layout, as `GraphOverview` has it.

    At most `MAX_DRAWN` nodes are drawn, evenly. A layout that is much longer than high is
    stretched, as on the page.
    """
    every = max(1, math.ceil(layout.n_nodes / MAX_DRAWN))
    coordinates = np.ascontiguousarray(layout.coordinates[::every])
    if not len(coordinates):
        return np.zeros((HEIGHT, WIDTH), np.uint8)
    x_min, y_min, x_max, y_max = layout.bounds
    extents = max(x_max - x_min, 1e-9) / WIDTH, max(y_max - y_min, 1e-9) / HEIGHT
    keeps = max(extents) <= STRETCH_ABOVE * min(extents)
    view = Viewport.fit((x_min, y_min, x_max, y_max), WIDTH, HEIGHT, keep_aspect=keeps)
    values = np.arange(len(coordinates), dtype=np.float32)
    drawing = LayoutDrawing(coordinates, node_values=values, backend="cpu")
    return drawing.palette_indices(view, by="mean", how="linear", line_width=2)


def iter_overview(
    member: GraphMember, layout: Path | None = None, facts: GraphFacts | None = None
) -> Iterator[OverviewProgress]:
    """Yield how far the overview of a graph is; the last progress has it.

    Parameters
    ----------
    member
        The graph. It is read if neither ``facts`` are given nor the cache has them.
    layout
        Its layout (``.lay``), or None for no picture.
    facts
        What is known of it already; not all, where an older version has written it down.

    Raises
    ------
    FileFormatError
        If one of the files cannot be read.
    """
    yield OverviewProgress("Looking into the cache", 0.0)
    known = load_overview(member, layout)
    if known is not None:
        yield OverviewProgress("Done", 1.0, known)
        return
    kept, picture = _wanted(member, layout), None
    if layout is not None:
        yield OverviewProgress("Drawing its layout", 0.0)
        picture = draw_small(read_lay(layout))
    if facts is None or not facts.is_whole:
        graph = None
        for progress in iter_read_member(member):  # with sequences, so that it opens from the cache
            graph = progress.graph
            share = progress.n_bytes_done / max(progress.n_bytes_total, 1)
            yield OverviewProgress(progress.stage, share)
        facts = measure_graph(graph)
    if _wanted(member, layout) == kept:  # nobody has changed the files meanwhile
        _store(member, kept, facts, picture)
    yield OverviewProgress("Done", 1.0, GraphOverview(facts, picture))


def keep_overview(
    member: GraphMember, layout: Path, facts: GraphFacts, placed: GraphLayout
) -> None:
    """Store the overview of a graph whose layout was just written, if the cache has room."""
    _store(member, _wanted(member, layout), facts, draw_small(placed))


def _store(
    member: GraphMember, wanted: dict[str, Any], facts: GraphFacts, picture: np.ndarray | None
) -> None:
    arrays = {} if picture is None else {"picture": picture}
    folder = entry_folder(GROUP, member.address.resolve())
    finish(store_entry(folder, Entry(wanted | {"facts": asdict(facts)}, arrays)))


def load_overview(member: GraphMember, layout: Path | None = None) -> GraphOverview | None:
    """Return what the cache has of a graph and its layout, if these are as they were, or None."""
    folder = entry_folder(GROUP, member.address.resolve())
    entry = finish(load_entry(folder, _wanted(member, layout)))
    if entry is None:
        return None
    return GraphOverview(GraphFacts(**entry.facts["facts"]), entry.arrays.get("picture"))


def _wanted(member: GraphMember, layout: Path | None) -> dict[str, Any]:
    """Return what an entry of the cache has to say of itself to count."""
    sources = [asdict(Source.of(each)) for each in (member.path, layout) if each is not None]
    return {"format": FORMAT, "version": VERSION, "sources": sources, "part": member.part}


def karyotype_order(name: str) -> tuple:
    """Return what sorts chromosomes by their numbers, then X, Y, Z, W and M, then all else.

    Examples
    --------
    >>> sorted(["chrM", "chrX", "chr10", "Un_2", "chr2", "Un_10"], key=karyotype_order)
    ['chr2', 'chr10', 'chrX', 'chrM', 'Un_2', 'Un_10']
    """
    plain = name.lower().removeprefix("chr")
    if plain.isascii() and plain.isdigit():
        return 0, int(plain), name
    if plain in _SEXES:
        return 1, _SEXES.index(plain), name
    return 2, natural_order(name), name
