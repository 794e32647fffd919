"""A part of the graph to take away: the region, the picked nodes, what is seen, an annotation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.kept_part import FORMATS, Around, KeptPart, measure_part, writer_of
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.nodes.node_text import FACTS, empty_html
from genoviz_app.pages.pangenome.paths.annotation_boxes import annotation_name
from genoviz_app.pages.pangenome.picture.shared_marks import region_nodes
from genoviz_app.parts.file_button import Writer, file_button, file_stem
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

REGION, PICKED, SEEN, ANNOTATION = "region", "picked", "seen", "annotation"
SOURCES = {
    "The region": REGION,
    "The picked nodes": PICKED,
    "What the picture shows": SEEN,
    "An annotation": ANNOTATION,
}
LACKING = {
    REGION: "No region is set: drag one in the tab Path, click a row of a table, or search one.",
    PICKED: "No node is picked: click one in the picture, or draw a box with Shift held.",
    SEEN: "There is no picture yet.",
    ANNOTATION: "No annotation is open: add a file in the tab Annotations.",
}
MAX_SEEN_NODES, MAX_LISTED_PLACES = 2_000_000, 2_000
LOOK_SECONDS = 0.5
FIELD: dict[str, Any] = {"size": "small", "margin": (8, 10, 0, 0)}

Find = Callable[[], np.ndarray]


class CutAndKeep:
    """What to keep, what of its surroundings, and as which file.

    Attributes
    ----------
    title, panel
        Name and Panel object of the tab.
    part
        What would be kept, or None.
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
            "Also stretches by which a path leaves the nodes and comes back within so many bp",
        )
        self.steps = _number("Edges around", "Also nodes at most so many edges away")
        self.bp = _number("Around (bp)", "Also nodes with a base at most so many bp away")
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
            session, "Download", self._prepare, margin=(12, 0, 0, 0), width=150
        )
        self.panel = self._arrange()
        self._question = Question(session, "size of a part of the graph", self._take_part)
        for field in (self.source, self.place, self.detour, self.steps, self.bp):
            field.param.watch(lambda _: self._look(), "value")
        session.param.watch(lambda _: self._offer_places(), "annotation_files")
        session.param.watch(self._suggest, ["region", "picked"])
        self.set_graph(None)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Take another graph, of which nothing is kept yet."""
        self._graph = graph
        self._offer_places()
        self._look()

    def poll(self) -> None:
        """Say how large the part is, once that is known."""
        self._question.poll()
        now = time.monotonic()
        if now >= self._next_look and not self._question.is_open:
            self._next_look = now + LOOK_SECONDS
            self._look()

    def pick(self) -> None:
        """Pick the nodes that would be kept."""
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
        """Turn to what there is, where there is nothing of what is chosen."""
        has = {REGION: self._session.region is not None, PICKED: len(self._session.picked) > 0}
        if not has.get(self.source.value, True):
            self.source.value = next((s for s, is_there in has.items() if is_there), REGION)

    def _offer_places(self) -> None:
        placed = self._session.annotations
        places = range(min(len(placed), MAX_LISTED_PLACES)) if placed is not None else ()
        options = {_place_title(placed, place): place for place in places}
        self.place.param.update(options=options, value=next(iter(options.values()), None))

    def _look(self) -> None:
        """Measure the part again if what it is made from has changed."""
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
            self._show(None, LACKING[source] if self._graph is not None else "Open a graph first.")
        else:
            self._question.ask(_measure, self._graph, find, around)

    def _find_source(self, source: str) -> tuple[Any, Find | None]:
        """Return what tells that the source has changed, and what finds its nodes."""
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
        placed, place = session.annotations, self.place.value
        if placed is None or place is None:
            return None, None
        return (id(placed), place), lambda: placed.nodes(place)

    def _take_part(self, answer: KeptPart | str) -> None:
        if isinstance(answer, KeptPart):
            self._show(answer, f"{answer} would be kept.")
        else:
            self._show(None, answer)

    def _show(self, part: KeptPart | None, text: str) -> None:
        self.part = part
        with pn.io.hold():
            self.size.object = empty_html(text)
            self.pick_button.disabled = self.download.disabled = part is None

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
        return f"{name.removesuffix('.gz').removesuffix('.gfa')}_{what}"


def _place_title(placed: PlacedAnnotations, place: int) -> str:
    path, start = placed.graph.path_names[placed.paths[place]], placed.starts[place]
    return f"{annotation_name(placed, placed.rows[place])} ({path}, {start:,})"


def _measure(graph: PangenomeGraph, find: Find, around: Around) -> KeptPart | str:
    """Return the part, or in a sentence why there is none."""
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
