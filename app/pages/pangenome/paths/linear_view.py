"""The linear view of one path below the picture, linked to the picture in both directions."""

from __future__ import annotations

import time
from html import escape
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.path_positions import NodePosition, locate_position
from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathName, PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.annotations import boxes_on_path
from genoviz_app.pages.pangenome.paths.choice import listed_paths
from genoviz_app.pages.pangenome.picture.shared_marks import (
    find_seen,
    region_parts,
    region_title,
)
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question
from genoviz_app.parts.styles import PATH_READOUT, WORDS_BELOW
from genoviz_app.parts.words import n_words, write_stretch
from genoviz_app.plots.annotation_rows import NO_BOXES
from genoviz_app.plots.lit_stretches import lit_along
from genoviz_app.plots.path_track import PathTrack, TrackContent
from genoviz_app.session.layout_run import RunState
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

REGION_MARGIN, SMALLEST_SHARE = 0.5, 0.01
MOVE, SELECT = "Move", "Select"
LOOK_SECONDS = 0.25
LIVE_LOOK_SECONDS = 2.0
NO_PATHS = "This graph has no paths to show."
NOTHING_OPEN = "Open a graph to see one of its paths from left to right."


class PathView:
    """A linear view of one path.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    path
        The menu of paths.
    track
        The figure.
    """

    title = "Path"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._graph: PangenomeGraph | None = None
        self._seen_view: tuple = ()
        self._seen_text: tuple = ()
        self._next_look = self._next_live_look = 0.0
        self.track = PathTrack()
        self.path = pmui.Select(
            label="Path", options=[], searchable=True, size="small", width=230, margin=(2, 10, 0, 0)
        )
        self.drag = pmui.RadioButtonGroup(
            label="",
            options=[MOVE, SELECT],
            value=MOVE,
            size="small",
            description="Effect of dragging: move along the path, or select a region",
            margin=(4, 8, 0, 8),
        )
        self.readout = pn.pane.HTML("", stylesheets=[PATH_READOUT], sizing_mode="stretch_width")
        self.panel = self._arrange()
        self.track.on_click = self._pick_node
        self.track.on_box = self._on_box
        self.track.on_select = self._select
        self._contents = Question(session, "a path from left to right", self._on_content)
        self._nodes = Question(session, "nodes of a region", view.picture.look_at)
        self._positions = Question(session, "node at a position", self._on_node)
        self._views = Question(session, "what the picture shows of a path", self._on_view)
        self.path.param.watch(self._on_path, "value")
        self.drag.param.watch(self._on_drag, "value")
        self._lit_along = Question(session, "highlights on a path", self.track.show_lit)
        session.highlights.param.watch(self._show_lit, "sets")
        session.param.watch(self._follow_region, "region")
        session.param.watch(self._on_annotations, "annotation_files")

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the paths of another graph, and show the first."""
        for question in (self._contents, self._nodes, self._positions, self._lit_along):
            question.drop()  # they refer to the previous graph
        self.track.show(None)
        names = listed_paths(graph)
        region = self._session.region
        chosen = region.path if region is not None and region.path in names else None
        self._graph = graph
        self.path.param.update(options=names, value=chosen or next(iter(names), None))
        self._on_path()  # both graphs may have a path of this name

    def poll(self) -> None:
        """Update the figure; called some twenty times per second while it is shown."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._look_at_view()
            self._say()
        self.track.flush()

    def _arrange(self) -> pmui.Column:
        small: dict[str, Any] = {"size": "22px", "margin": (3, 0, 0, 0)}
        zoom = pmui.IconButton(
            icon="center_focus_strong",
            description="Show the region on the layout, or the visible part of the path if "
            "there is none",
            **small,
        )
        whole = pmui.IconButton(icon="width_full", description="Show the whole path", **small)
        zoom.on_click(lambda _: self.zoom_picture())
        whole.on_click(lambda _: self.show_whole())
        light = light_button(
            self._session, self._lit, "the region, or the visible part of the path", icon=None,
            margin=(6, 6, 0, 0),
        )  # fmt: skip
        bar = pmui.Row(
            self.path,
            self.readout,
            self.drag,
            light,
            zoom,
            whole,
            sizing_mode="stretch_width",
            margin=(6, 10, 0, 10),
            sx=WORDS_BELOW,
        )
        return pmui.Column(
            bar,
            pn.pane.Bokeh(self.track.figure, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
        )

    def zoom_picture(self) -> None:
        """Show the region, or the visible interval, in the layout."""
        region = self._region or self._region_of(*self.track.shown)
        if region is not None and self._graph is not None:
            self._nodes.ask(region_parts, self._graph, region)

    def _lit(self) -> Highlight:
        """Return the region, or the visible interval, as a highlight."""
        region = self._region or self._region_of(*self.track.shown)
        if region is None or self._graph is None:
            raise ParameterError("no path is shown")
        return Highlight.of_region(region, region_title(self._graph, region))

    def _show_lit(self, *_events: Any) -> None:
        """Draw the highlights of the displayed path."""
        lit = self._session.highlights.shown if self._profile is not None else ()
        self._lit_along.ask(lit_along, lit, self.path.value)

    def show_whole(self) -> None:
        """Show the whole path."""
        if self._profile is not None:
            self.track.look_at(0.0, max(float(self._profile.length), 1.0))

    @property
    def _profile(self) -> PathProfile | None:
        content = self.track.content
        return None if content is None else content.profile

    @property
    def _region(self) -> PathRegion | None:
        """The region, if it is on the displayed path."""
        region = self._session.region
        return region if region is not None and region.path == self.path.value else None

    def _region_of(self, start: float, end: float) -> PathRegion | None:
        """Return an interval of the displayed path, in whole bases and within the path."""
        if self._profile is None or not self._profile.length:
            return None
        first = min(max(int(start), 0), self._profile.length - 1)
        last = min(max(int(np.ceil(end)), first + 1), self._profile.length)
        return PathRegion(self.path.value, first, last)

    def _on_path(self, *_events: Any) -> None:
        name, graph = self.path.value, self._graph
        self._seen_view, self._seen_text = (), ()
        if name is None or graph is None:
            self._contents.drop()
            self.track.show(None)
            self._say()
        else:
            self._contents.ask(read_path, graph, name, self._session.annotation_files.placed)

    def _on_annotations(self, _event: Any) -> None:
        """Show new annotations; if this path has none, switch to the path with the most."""
        placed, name = self._session.annotation_files.placed, self.path.value
        if placed is not None and len(placed) and self._session.region is None and name:
            counts = np.bincount(placed.paths, minlength=self._graph.n_paths)
            if counts[self._graph.find_path(name)] == 0:
                self._choose_path(self._graph.path_names[int(np.argmax(counts))])
                return
        self._on_path()

    def _choose_path(self, name: str) -> None:
        if name not in self.path.options:
            self.path.options = [*self.path.options, name]
        self.path.value = name

    def _on_content(self, content: TrackContent) -> None:
        last = self.track.content
        is_same = last is not None and last.profile.path == content.profile.path
        shown = self.track.shown
        self.track.show(content)
        if is_same:
            self.track.look_at(*shown)
        self._show_region()
        self._show_lit()

    def _follow_region(self, *_events: Any) -> None:
        """Show the path of the region, and its band."""
        region, graph = self._session.region, self._graph
        is_here = region is not None and graph is not None and region.path in graph.path_names
        if is_here and region.path != self.path.value:
            self._choose_path(region.path)
        else:
            self._show_region()

    def _show_region(self) -> None:
        """Draw the band of the region, and move there unless it is visible."""
        region = self._region
        self._seen_text = ()
        if region is None or self._profile is None:
            self.track.show_region(None, None)
            return
        self.track.show_region(region.start, region.end)
        start, end = self.track.shown
        is_seen = start <= region.start and region.end <= end
        if not is_seen or region.length < SMALLEST_SHARE * (end - start):
            margin = max(region.length, 10) * REGION_MARGIN
            length = float(self._profile.length)
            self.track.look_at(max(region.start - margin, 0.0), min(region.end + margin, length))

    def _look_at_view(self) -> None:
        """Look up the intervals that the picture shows, if it has moved."""
        viewport, run = self._view.picture.viewport, self._view.run
        seen = (id(self._profile), viewport, run.version)
        if self._profile is None or viewport is None or seen == self._seen_view:
            return
        now = time.monotonic()
        if run.state is RunState.RUNNING and now < self._next_live_look:
            return
        if not self._views.is_open:
            self._seen_view = seen
            self._next_live_look = now + LIVE_LOOK_SECONDS
            self._views.ask(find_seen, self._profile, self._view.picture, self._graph.n_nodes)

    def _on_view(self, answer: tuple[PathProfile, np.ndarray]) -> None:
        profile, stretches = answer
        if profile is self._profile:
            self.track.show_stretches(stretches)

    def _say(self) -> None:
        if self._profile is None:
            words = NO_PATHS if self.path.value is None else "Reading the path …"
            if self._graph is None:
                words = self._session.without_graph(NOTHING_OPEN)
            self.readout.object = ""
            self.track.say(words)
            return
        packed = self.track.packed
        n_hidden = packed.n_in_view - len(packed.boxes) if packed is not None else 0
        note = f"{n_hidden:,} more annotations than fit" if n_hidden else ""
        seen = (self._profile, self.track.shown, self._region, note)
        if seen != self._seen_text:
            self._seen_text = seen
            name = self._graph.placed_name(self._profile.path)
            self.readout.object = readout_html(
                name, self._profile, self.track.shown, self._region, note=note
            )

    def _pick_node(self, position: float) -> None:
        if self._profile is not None and 0 <= position < self._profile.length:
            self._positions.ask(locate_position, self._graph, self.path.value, int(position))

    def _on_node(self, found: NodePosition) -> None:
        self._session.picked = np.array([found.node], np.int64)

    def _on_box(self, box: int) -> None:
        boxes = self.track.content.boxes
        self._select(float(boxes.starts[box]), float(boxes.ends[box]))

    def _select(self, start: float, end: float) -> None:
        region = self._region_of(start, end)
        if region is not None:
            self._session.region = region

    def _on_drag(self, event: Any) -> None:
        self.track.drag_selects(event.new == SELECT)


def read_path(
    graph: PangenomeGraph, name: str, annotations: PlacedAnnotations | None
) -> TrackContent:
    """Return depth, strand and annotations of a path."""
    profile = PathProfile.of(graph, name)
    parts = graph.placed_name(profile.path)
    boxes = NO_BOXES if annotations is None else boxes_on_path(annotations, profile.path)
    return TrackContent(profile, boxes, parts.contig if parts.start else "", parts.start)


def readout_html(
    name: PathName,
    profile: PathProfile,
    shown: tuple[float, float],
    region: PathRegion | None,
    *,
    note: str = "",
) -> str:
    """Return the readout of the path view, three short lines.

    Parameters
    ----------
    shown
        The visible interval, bp of the path.
    region
        The region, if it is on this path.
    note
        Further remarks, e.g. on annotations without a place.
    """
    start, end = shown
    seen = f"{start + 1:,.0f} to {end:,.0f} ({end - start:,.0f} bp)"
    if start <= 0 and end >= profile.length:
        seen = f"all {profile.length:,} bp, {n_words(profile.n_steps, 'step')}"
    rows = [("Shown", f"{seen}{f'; {note}' if note else ''}")]
    if region is None:
        rows.append(("Region", "none; drag with Select, or search for one"))
    else:
        rows.append(("Region", write_stretch(name, region)))
    cells = "".join(f"<dt>{key}</dt><dd>{escape(text)}</dd>" for key, text in rows)
    return f'<dl class="readout">{cells}</dl>'
