"""All paths as rows along the nodes, like ``odgi viz``, linked to the other views."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.figures.paths import shade_cells
from genoviz.analyses.graph.picture.palettes import DARK
from genoviz.analyses.graph.query.path_rows import PathRows
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.choice import GROUP_LABELS
from genoviz_app.pages.pangenome.paths.sharing import (
    WORDS,
    Place,
    Plan,
    cell_html,
    find_marks,
    find_place,
    iter_plan,
    iter_view,
    write_presence,
    write_rows,
)
from genoviz_app.parts.file_button import ExportMenu, Writer, file_stem
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.legend import ramp_html
from genoviz_app.plots.lit_stretches import LitAlong
from genoviz_app.plots.path_rows import RowsFigure
from genoviz_app.session.session import Session

SHADES = {
    "Presence": "presence", "Strand": "strand", "Depth": "depth", "Place on the path": "position",
}  # fmt: skip
ORDERS = {"File order": "file", "By name": "name", "By similarity": "similarity"}
AXES = {"File order": "graph", "Most shared first": "shared"}
MARGIN, PATIENCE_SECONDS, FIGURE_BINS = 0.25, 0.4, 1200
MAX_PICKED, MAX_TABLE_CELLS = 100, 50_000_000
MOVE, SELECT = "Move", "Select"
EMPTY = "Open a graph to see which paths visit which nodes."
NO_PATHS = "The graph has no paths."
WAIT = "Reading paths …"
SMALL: dict[str, Any] = {"size": "small", "margin": (0, 8, 0, 0)}


class RowsPanel:
    """A row per path or group, along all nodes.

    Attributes
    ----------
    title, panel
        Title and Panel object of the view.
    by, order, shade, axis, drag
        The fields.
    figure
        The drawing.
    plan, rows
        The rows and axis, and the cells of the visible part; None before the first drawing.
    """

    title = "Nodes"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._picture = session, view.picture
        self._graph: PangenomeGraph | None = None
        self._seen: tuple = ()
        self._own_region: PathRegion | None = None
        self._pointer: tuple[int, float] | None = None
        self._says = ""
        self._marks: tuple[tuple[LitAlong, ...], int | None] = ((), None)
        self._goes_there = False
        self._drawn: tuple = (None, None, "")
        self._legend = ""
        self.plan: Plan | None = None
        self.rows: PathRows | None = None
        self.figure = RowsFigure("path-rows", session.without_graph(EMPTY))
        self._turn = Turn(self.figure.plot, self._draw)
        self._plans = Question(session, "order of paths", self._on_plan)
        self._views = Question(session, "paths on nodes", self._on_rows)
        self._places = Question(session, "a place on nodes", self._on_place)
        self._finds = Question(session, "what is pointed out on nodes", self._on_marks)
        self.figure.on_view = lambda: self._turn.ask()
        self.figure.on_point = self._on_point
        self.figure.on_click = self._on_click
        self.figure.on_select = self._go
        self._make_controls()
        self.panel = self._arrange()
        for name in ("region", "picked"):
            session.param.watch(self._follow, name)
        session.highlights.param.watch(self._follow, "sets")

    def _make_controls(self) -> None:
        self.by = pmui.Select(label="Rows", options=GROUP_LABELS, value="path", width=112, **SMALL)
        self.order = pmui.Select(
            label="Order of rows", options=ORDERS, value="file", width=138, **SMALL
        )
        self.shade = pmui.Select(label="Colour", options=SHADES, value="depth", width=154, **SMALL)
        self.axis = pmui.Select(
            label="Order of nodes", options=AXES, value="graph", width=162, **SMALL
        )
        self.drag = pmui.RadioButtonGroup(
            label="", options=[MOVE, SELECT], value=MOVE, size="small", margin=(4, 4, 0, 0),
            description="Effect of dragging: move the picture, or select a part of a row",
        )  # fmt: skip
        self.words = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", min_width=400, margin=(3, 4, 0, 4)
        )
        files = {
            "Picture (PNG)": partial(self._prepare, ".png"),
            "Picture (SVG)": partial(self._prepare, ".svg"),
            "Visible part, by bins (TSV)": partial(self._prepare, ".tsv"),
            "Presence of all nodes (TSV)": self._prepare_presence,
        }
        self.exports = ExportMenu(
            self._session, files, margin=(4, 0, 0, 4),
            description="Export: the visible part as a picture or table, or all nodes",
        )  # fmt: skip
        for widget in (self.by, self.order, self.axis):
            widget.param.watch(self._ask_plan, "value")
        self.shade.param.watch(lambda _: self._turn.ask(), "value")
        self.drag.param.watch(lambda event: self.figure.drag_selects(event.new == SELECT), "value")

    def _arrange(self) -> pmui.Column:
        buttons = [
            _icon_button("unfold_more", "Fewer, higher rows", self._stretch(0.5)),
            _icon_button("unfold_less", "More, lower rows", self._stretch(2.0)),
            _icon_button("zoom_out_map", "Show all rows and all nodes", self.show_whole),
        ]
        return pmui.Column(
            pmui.FlexBox(
                self.by, self.order, self.shade, self.axis, self.drag, *buttons, self.exports,
                self.words, sizing_mode="stretch_width", margin=(4, 4, 0, 4),
            ),
            TaskBar(self._plans).panel,
            TaskBar(self._views, after_seconds=PATIENCE_SECONDS).panel,
            pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
        )  # fmt: skip

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Show the rows of another graph."""
        for question in (self._plans, self._views, self._places, self._finds):
            question.drop()  # they refer to the previous graph
        self._graph = graph if graph is not None and graph.n_paths and graph.n_nodes else None
        self.plan = self.rows = None
        if self._graph is None:
            self._says = self._session.without_graph(EMPTY) if graph is None else NO_PATHS
            self._turn.ask()
        else:
            self._says = WAIT
            self._ask_plan()

    def poll(self) -> None:
        """Request the cells of the visible part; called some twenty times per second."""
        plan = self.plan
        if plan is None or self._views.is_open or self._plans.is_open:
            return
        wanted = self._wanted()
        if wanted != self._seen:
            self._seen = wanted
            _, *stretch = wanted
            self._views.ask(iter_view, plan, *stretch)

    def show_whole(self) -> None:
        """Show all rows and all nodes."""
        self.figure.look_at(-np.inf, np.inf)
        self.figure.stretch_rows(np.inf)

    def _wanted(self) -> tuple:
        """Return plan, start, end and number of bins to draw."""
        start, end = self.figure.shown
        margin, width = (end - start) * MARGIN, max(end - start, 1e-9)
        first = max(int(np.floor(start - margin)), 0)
        stop = min(max(int(np.ceil(end + margin)), first + 1), self.plan.axis.length)
        n_bins = max(int(self.figure.size[0] * (stop - first) / width), 1)
        return self.plan, first, stop, n_bins

    def _stretch(self, factor: float) -> Callable[[], None]:
        return lambda: self.figure.stretch_rows(factor)

    def _ask_plan(self, *_events: Any) -> None:
        if self._graph is not None:
            self._plans.ask(
                iter_plan, self._graph, self.by.value, self.order.value, self.axis.value
            )

    def _on_plan(self, plan: Plan) -> None:
        self.plan, self.rows, self._seen = plan, None, ()
        self._turn.ask()
        self._follow()

    def _on_rows(self, rows: PathRows) -> None:
        self.rows = rows
        self._turn.ask()

    def _draw(self) -> None:
        """Draw the available data; needs the document lock."""
        plan, rows, shade, figure = self.plan, self.rows, self.shade.value, self.figure
        drawn_plan, *drawn_cells = self._drawn
        with pn.io.hold():
            figure.note.show(self._says if plan is None else "")
            if plan is not drawn_plan or plan is None:
                names, length = ((), 1) if plan is None else (plan.groups.names, plan.axis.length)
                figure.set_rows(names, float(length))
            if rows is not None and [rows, shade] != drawn_cells:
                cells = shade_cells(rows, shade, DARK)
                self._legend = ramp_html(cells.stops, *cells.words) if cells.words else ""
                figure.show_cells(
                    cells.indices, cells.colours, (float(rows.bounds[0]), float(rows.bounds[-1]))
                )
            elif rows is not None:
                figure.draw_rows()
            self._drawn = plan, rows, shade
            if self._goes_there and plan is not None:
                self._goes_there = False
                self._bring_into_sight()
            figure.show_marks(*self._marks)
            self._say()

    def _bring_into_sight(self) -> None:
        """Move to the region unless it is at least partly visible."""
        marks, _ = self._marks
        stretches = marks[0].stretches if marks and marks[0].title == "Region" else []
        start, end = self.figure.shown
        if len(stretches) and not len(marks[0].between(start, end, 0.0)):
            first, stop = float(stretches[0, 0]), float(stretches[-1, 1])
            margin = max(stop - first, 10.0) / 2
            self.figure.look_at(first - margin, stop + margin)

    def _follow(self, *events: Any) -> None:
        """Mark the region, selection and highlights that all pages share."""
        if self.plan is None:
            return
        session = self._session
        is_region = any(event.name == "region" for event in events)
        self._goes_there = is_region and session.region is not self._own_region
        lit = tuple(session.highlights.shown)
        self._finds.ask(find_marks, self.plan, session.region, session.picked, lit)

    def _on_marks(self, marks: tuple[tuple[LitAlong, ...], int | None]) -> None:
        self._marks = marks
        self._turn.ask()

    def _on_point(self, place: tuple[int, float] | None) -> None:
        if place != self._pointer:
            self._pointer = place
            self._say()

    def _say(self) -> None:
        plan, rows = self.plan, self.rows
        if plan is None or rows is None:
            self.words.object = "<p></p>"
            return
        if self._pointer is not None and rows.bounds[0] <= self._pointer[1] < rows.bounds[-1]:
            self.words.object = cell_html(plan, rows, *self._pointer)
            return
        n, n_rows = plan.n_groups, len(plan.groups.names)
        first = "" if n == n_rows else f"the first {n_rows:,} of "
        unit = "bp" if plan.is_by_base else "nodes"
        words = f"{first}{n_words(n, plan.groups.by)}, {plan.axis.length:,} {unit}"
        legend = f" · {self._legend}" if self._legend else ""
        self.words.object = f"<p>{words}{legend}</p>"

    def _on_click(self, row: int, x: float) -> None:
        rows = self.rows
        if rows is not None and rows.bounds[0] <= x < rows.bounds[-1]:
            k = int(np.searchsorted(rows.bounds, x, "right")) - 1
            self._go(row, float(rows.bounds[k]), float(rows.bounds[k + 1]))

    def _go(self, row: int, start: float, end: float) -> None:
        """Show an interval of a row in the layout and in the path view."""
        if self.plan is not None:
            self._places.ask(find_place, self.plan, row, start, end)

    def _on_place(self, place: Place) -> None:
        if not len(place.nodes):
            return
        if len(place.nodes) <= MAX_PICKED:
            self._session.picked = place.nodes
        self._picture.look_at_nodes(place.nodes)
        if place.region is not None:
            self._own_region = self._session.region = place.region

    def _current(self) -> tuple[Plan, int, int]:
        if self.plan is None:
            raise ParameterError("no paths are drawn yet; open a graph with paths first")
        start, end = self.figure.shown
        first = max(int(np.floor(start)), 0)
        return self.plan, first, max(min(int(np.ceil(end)), self.plan.axis.length), first + 1)

    def _stem(self) -> str:
        opened = self._session.opened
        return file_stem("graph" if opened is None else opened.title.split(".")[0])

    def _prepare(self, ending: str) -> tuple[str, Writer]:
        plan, *stretch = self._current()
        n_bins = FIGURE_BINS if ending != ".tsv" else max(int(self.figure.size[0]), 1)
        write = partial(
            write_rows, plan, tuple(stretch), n_bins, self.shade.value, self._session.opened.title
        )
        return f"{self._stem()}.paths{ending}", write

    def _prepare_presence(self) -> tuple[str, Writer]:
        plan, _, _ = self._current()
        n_cells = plan.graph.n_nodes * plan.n_groups
        if n_cells > MAX_TABLE_CELLS:
            raise ParameterError(
                f"a table of {n_words(plan.graph.n_nodes, 'node')} and "
                f"{n_words(plan.n_groups, 'column')} is too "
                "large for a browser; `genoviz presence` writes it on the server"
            )
        return f"{self._stem()}.presence.tsv", partial(write_presence, plan.graph, self.by.value)


def _icon_button(icon: str, description: str, act: Callable[[], None]) -> pmui.IconButton:
    button = pmui.IconButton(icon=icon, description=description, size="20px", margin=(4, 0, 0, 0))
    button.on_click(lambda _: act())
    return button
