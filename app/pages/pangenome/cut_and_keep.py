"""Extracts a subgraph: of the region, the selected nodes, the view, or an annotation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.extract import extract_nodes
from genoviz.analyses.graph.query.neighbourhood import find_detours, find_neighbourhood
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.analyses.graph.query.sequences import iter_node_records, iter_region_records
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.graph.node_list import write_node_list
from genoviz.io.sequences.fasta import write_fasta
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.opening.served_files import GRAPH_ENDING
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.nodes.facts import FACTS, empty_html
from genoviz_app.pages.pangenome.paths.annotations import annotation_name
from genoviz_app.pages.pangenome.picture.shared_marks import region_nodes
from genoviz_app.parts.file_button import Writer, file_button, file_stem
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.words import n_words
from genoviz_app.session.session import Session

MAX_COUNTED_VISITS = 5_000_000
REGION, PICKED, SEEN, ANNOTATION = "region", "picked", "seen", "annotation"
SOURCES = {
    "The region": REGION,
    "The picked nodes": PICKED,
    "Visible nodes": SEEN,
    "An annotation": ANNOTATION,
}
LACKING = {
    REGION: "No region is set. Drag one in the Path tab, click a row of a table, or "
    "search for one.",
    PICKED: "No node is picked. Click one in the picture, or hold Shift and drag a box.",
    SEEN: "There is no picture yet.",
    ANNOTATION: "No annotations are open. Add a file in the Annotations tab.",
}
NO_GRAPH = "Open a graph first."
MAX_SEEN_NODES, MAX_LISTED_PLACES = 2_000_000, 2_000
LOOK_SECONDS = 0.5
FIELD: dict[str, Any] = {"size": "small", "margin": (8, 10, 0, 0)}
Find = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Around:
    """The surroundings to keep.

    Attributes
    ----------
    detour_bp
        Other alleles: path segments that leave the nodes and return within this many bp.
    steps, bp
        Nodes within this many edges, and nodes with a base within this many bp.
    """

    detour_bp: int = 0
    steps: int = 0
    bp: int = 0


@dataclass(frozen=True, eq=False)
class KeptPart:
    """Nodes to keep, with their statistics.

    Attributes
    ----------
    graph
        Their graph.
    nodes
        int64, ascending.
    length
        Total length, bp.
    n_paths
        Number of paths that visit them; None if counting would be slow.
    """

    graph: PangenomeGraph
    nodes: np.ndarray
    length: int
    n_paths: int | None

    def __str__(self) -> str:
        paths = "" if self.n_paths is None else f", of {n_words(self.n_paths, 'path')}"
        return f"{n_words(len(self.nodes), 'node')}, {self.length:,} bp{paths}"


def measure_part(
    graph: PangenomeGraph, find_nodes: Callable[[], np.ndarray], around: Around
) -> KeptPart:
    """Return the nodes that ``find`` returns, with their surroundings.

    Raises
    ------
    ParameterError
        If there are no nodes.
    """
    nodes = find_detours(graph, distinct(find_nodes()), max_bp=around.detour_bp)
    nodes = find_neighbourhood(graph, nodes, steps=around.steps, bp=around.bp)
    if not len(nodes):
        raise ParameterError("there are no nodes to keep")
    n_paths = None
    if int(graph.node_depths[nodes].sum()) <= MAX_COUNTED_VISITS:
        n_paths = len(distinct(find_node_visits(graph, nodes).paths))
    return KeptPart(graph, nodes, int(graph.node_lengths[nodes].sum()), n_paths)


def _write_graph(part: KeptPart, path: Path) -> None:
    write_gfa(extract_nodes(part.graph, part.nodes), path)


def _write_nodes(part: KeptPart, path: Path) -> None:
    write_fasta(iter_node_records(part.graph, part.nodes), path)


def _write_paths(part: KeptPart, path: Path) -> None:
    graph = extract_nodes(part.graph, part.nodes)
    pieces = [
        PathRegion(name, 0, length)
        for name, length in zip(graph.path_names, graph.path_lengths.tolist(), strict=True)
    ]
    write_fasta(iter_region_records(graph, pieces), path)


def _write_names(part: KeptPart, path: Path) -> None:
    write_node_list(part.graph, part.nodes, path)


FORMATS: dict[str, tuple[str, bool, Callable[[KeptPart, Path], None]]] = {
    "Graph, GFA": (".gfa", False, _write_graph),
    "Graph, GFA in gzip": (".gfa.gz", False, _write_graph),
    "Bases of the nodes, FASTA": (".nodes.fa", True, _write_nodes),
    "Bases of the paths' pieces, FASTA": (".paths.fa", True, _write_paths),
    "Names of the nodes, text": (".txt", False, _write_names),
}
"""By display name: file extension, whether sequences are needed, and the writer."""


def writer_of(part: KeptPart, kind: str) -> tuple[str, Callable[[Path], None]]:
    """Return file extension and writer of a format.

    Raises
    ------
    ParameterError
        If sequences are requested and the graph has none.
    """
    ending, needs_bases, write = FORMATS[kind]
    if needs_bases and part.graph.node_sequences is None:
        raise ParameterError("the graph has no sequences")
    return ending, partial(write, part)


class CutAndKeep:
    """Fields for what to keep, its surroundings, and the format.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    part
        The current part, or None.
    """

    title = "Cut & keep"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._graph: PangenomeGraph | None = None
        self._seen: tuple = ()
        self._next_look = 0.0
        self.part: KeptPart | None = None
        self.source = pmui.Select(label="Keep", options=SOURCES, value=REGION, width=210, **FIELD)
        self.place = pmui.Select(
            label="Annotation", options={}, searchable=True, visible=False, width=230, **FIELD
        )
        self.detour = _number(
            "Alleles up to (bp)",
            "Include detours of paths that leave the nodes and return within this many bp",
        )
        self.steps = _number("Edges around", "Include nodes within this number of edges")
        self.bp = _number("Around (bp)", "Include nodes within this distance in bp")
        self.kind = pmui.Select(
            label="As", options=list(FORMATS), value=next(iter(FORMATS)), width=270, **FIELD
        )
        self.size = pn.pane.HTML("", stylesheets=[FACTS], sizing_mode="stretch_width", margin=0)
        self.pick_button = pmui.Button(
            label="Pick these nodes",
            size="small",
            variant="outlined",
            description="Pick these nodes: mark them on the layout, and inspect them",
            margin=(12, 10, 0, 0),
        )
        self.pick_button.on_click(lambda _: self.pick())
        self.download = file_button(
            session, "Download", self._prepare, margin=(12, 0, 0, 0), width=150,
            description="Download: these nodes in the chosen format",
        )  # fmt: skip
        self.panel = self._arrange()
        self._question = Question(session, "size of a part of the graph", self._on_part)
        for field in (self.source, self.place, self.detour, self.steps, self.bp):
            field.param.watch(lambda _: self._look(), "value")
        session.param.watch(lambda _: self._offer_places(), "annotation_files")
        session.param.watch(self._suggest, ["region", "picked"])
        self.set_graph(None)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph, without a part."""
        self._graph, self._seen = graph, ()
        self._show(None, "")
        self._suggest()
        self._offer_places()
        self._look()

    def poll(self) -> None:
        """Update the part periodically; called while the panel is shown."""
        now = time.monotonic()
        if now >= self._next_look and not self._question.is_open:
            self._next_look = now + LOOK_SECONDS
            self._look()

    def pick(self) -> None:
        """Select the nodes of the part."""
        if self.part is not None:
            self._session.picked = self.part.nodes

    def _arrange(self) -> pmui.Column:
        row: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        return pmui.Column(
            pn.FlexBox(self.source, self.place, self.detour, self.steps, self.bp, **row),
            self.size,
            pn.FlexBox(self.kind, self.pick_button, self.download, **row),
            sizing_mode="stretch_both",
            styles={"overflow-y": "auto"},
            margin=(2, 12),
        )

    def _suggest(self, *_events: Any) -> None:
        """Switch to an available source if the selected one is empty."""
        has = {REGION: self._session.region is not None, PICKED: len(self._session.picked) > 0}
        if not has.get(self.source.value, True):
            self.source.value = next((s for s, is_there in has.items() if is_there), REGION)

    def _offer_places(self) -> None:
        placed = self._session.annotation_files.placed
        places = range(min(len(placed), MAX_LISTED_PLACES)) if placed is not None else ()
        options = {_place_title(placed, place): place for place in places}
        self.place.param.update(options=options, value=next(iter(options.values()), None))

    def _look(self) -> None:
        """Measure the part again if its inputs have changed."""
        source = self.source.value
        around = Around(self.detour.value or 0, self.steps.value or 0, self.bp.value or 0)
        subject, find = self._find_source(source)
        seen = (id(self._graph), source, around, subject)
        if seen == self._seen:
            return
        self._seen = seen
        self.place.visible = source == ANNOTATION
        self._question.drop()
        if find is None or self._graph is None:
            no_graph = self._session.without_graph(NO_GRAPH)
            self._show(None, no_graph if self._graph is None else LACKING[source])
        else:
            self._question.ask(_measure, self._graph, find, around)

    def _find_source(self, source: str) -> tuple[Any, Find | None]:
        """Return a value that identifies the source, and a function that finds its nodes."""
        graph, picture, session = self._graph, self._view.picture, self._session
        if source == REGION:
            region = session.region
            return region, region and (lambda: region_nodes(graph, region))
        if source == PICKED:
            nodes = session.picked
            return id(nodes), (lambda: nodes) if len(nodes) else None
        if source == SEEN:
            subject = (picture.viewport, self._view.run.version)
            return subject, picture.viewport and (lambda: _seen_nodes(picture))
        placed, place = session.annotation_files.placed, self.place.value
        if placed is None or place is None:
            return None, None
        return (id(placed), place), lambda: placed.nodes(place)

    def _on_part(self, answer: KeptPart | str) -> None:
        if isinstance(answer, KeptPart):
            self._show(answer, f"{answer} would be kept.")
        else:
            self._show(None, answer)

    def _show(self, part: KeptPart | None, text: str) -> None:
        self.part = part
        with pn.io.hold():
            self.size.object = empty_html(text)
            for button in (self.pick_button, self.download):
                allow(button, "" if part is not None else "nothing to keep; see above")

    def _prepare(self) -> tuple[str, Writer]:
        """Return name and writer of the file."""
        if self.part is None:
            raise ParameterError("there is nothing to keep")
        ending, write = writer_of(self.part, self.kind.value)
        return f"{file_stem(self._stem())}{ending}", write

    def _stem(self) -> str:
        opened, region = self._session.opened, self._session.region
        name = opened.title if opened is not None else "graph"
        what = str(region) if self.source.value == REGION and region else self.source.value
        return f"{GRAPH_ENDING.sub('', name)}_{what}"


def _place_title(placed: PlacedAnnotations, place: int) -> str:
    path, start = placed.graph.path_names[placed.paths[place]], placed.starts[place]
    return f"{annotation_name(placed, placed.rows[place])} ({path}, {start + 1:,})"


def _measure(graph: PangenomeGraph, find: Find, around: Around) -> KeptPart | str:
    """Return the part, or a message on why there is none."""
    try:
        return measure_part(graph, find, around)
    except ParameterError as error:
        return f"Nothing can be kept: {error}."


def _seen_nodes(picture: Any) -> np.ndarray:
    nodes = picture.visible_nodes(MAX_SEEN_NODES)
    if len(nodes) == MAX_SEEN_NODES:
        raise ParameterError(
            f"the picture shows {MAX_SEEN_NODES:,} nodes or more, zoom in to keep fewer"
        )
    return nodes


def _number(label: str, description: str) -> pmui.IntInput:
    return pmui.IntInput(label=label, value=0, start=0, width=170, description=description, **FIELD)
