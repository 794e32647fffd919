"""The live picture of a graph: follows the layout, zooms, pans and identifies nodes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np

from genoviz.analyses.graph.picture.colouring import ColourChoice, Colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.picture.fitting import Fitting
from genoviz_app.pages.pangenome.picture.frame import Frame
from genoviz_app.pages.pangenome.picture.frame_maker import ColouringCache, FrameMaker, Shown
from genoviz_app.pages.pangenome.picture.frames import (
    RENDERER,
    FoundNode,
    Hovering,
    PictureFrames,
)
from genoviz_app.pages.pangenome.picture.graph_canvas import HINTS, GraphView, Message
from genoviz_app.pages.pangenome.picture.marks import Mark, NodeLabel, PictureNotes
from genoviz_app.pages.pangenome.picture.shapes import NodeParts, has_edge_index, plane_ends
from genoviz_app.parts.canvas_component import call_soon
from genoviz_app.parts.words import n_words
from genoviz_app.session.layout_run import LayoutRun, RunState

log = logging.getLogger(__name__)
HOVER_PIXELS = 8
SUMMARY_SECONDS = 1.0
NO_NODES = np.empty(0, np.int64)


class LivePicture:
    """The live picture of a run.

    All callbacks are called under the document lock.

    Parameters
    ----------
    run
        The layout run.
    canvas
        The canvas; by default, a new one for a page.

    Attributes
    ----------
    pane
        The canvas, to place on a page.
    choice
        The colour choice; call `refresh` after a change.
    colourings
        Computes colours; has the annotations and the table for them.
    fitting
        The shape of the whole layout; call `fit` after a change.
    shown
        The displayed content, or None.
    """

    def __init__(self, run: LayoutRun, *, canvas: GraphView | None = None) -> None:
        self.choice = ColourChoice()
        self.colourings = ColouringCache()
        self.fitting = Fitting()
        self.shown: Shown | None = None
        self.notes = PictureNotes()
        self.hovering = Hovering(self._find_node)
        self._run, self._graph = run, run.graph
        self._seen_version: tuple = ()
        self._next_summary, self._waits = 0.0, False
        self._click_callbacks: list[Callable[[int], None]] = []
        self._label_callbacks: list[Callable[[int], None]] = []
        self._select_callbacks: list[Callable[[np.ndarray], None]] = []
        self._view_callbacks: list[Callable[[], None]] = []
        self._maker = FrameMaker(
            run,
            fitting=self.fitting,
            colourings=self.colourings,
            notes=self.notes,
            hovering=self.hovering,
            get_choice=lambda: self.choice,
        )
        self.frames = PictureFrames(
            self._maker.draw,
            has_news=self._has_news,
            is_live=lambda: run.state is RunState.RUNNING,
            on_shown=self._on_shown,
            on_moved=self._on_moved,
            on_failed=run.lose_positions,
            view=canvas,
        )
        self.pane = self.frames.view
        self._listen()

    def poll(self) -> None:
        """Redraw if the run has progressed."""
        self.follow_graph()
        self.frames.pump()
        self._describe()

    def follow_graph(self) -> None:
        """Remove all marks if the run has another graph."""
        if self._run.graph is not self._graph:
            self._graph = self._run.graph
            self._maker.forget()
            self.colourings.forget()
            self.notes.clear()
            self.shown = None

    def refresh(self) -> None:
        """Redraw with new colours."""
        self.frames.request()

    def fit(self) -> None:
        """Show the whole layout, and follow it while it moves."""
        self._maker.target = None
        self.frames.follow()

    def zoom(self, factor: float) -> None:
        """Zoom around the centre."""
        view = self.viewport
        if view is not None:
            self.show(view.zoomed(factor))

    def show(self, viewport: Viewport) -> None:
        """Show a part of the picture's plane from now on."""
        self._maker.target = None
        self.frames.show(viewport)

    @property
    def viewport(self) -> Viewport | None:
        """The current view, in the plane of the picture; None before there is a picture."""
        return self.frames.viewport

    @property
    def is_own_view(self) -> bool:
        """Whether the user has chosen the view, rather than the whole layout or a set of nodes."""
        return self._maker.target is None and not self.frames.follows

    @property
    def is_moved(self) -> bool:
        """Whether the picture was shifted and needs a redraw."""
        return self._maker.is_moved

    @property
    def fold(self) -> Fold | None:
        """How the layout is folded into rows, or None; the viewport is in the folded plane."""
        return self.fitting.fold

    def look_at_nodes(self, nodes: np.ndarray) -> None:
        """Show these nodes with a margin, and follow them while the layout moves."""
        self.look_at(NodeParts(np.asarray(nodes, np.int64)))

    def look_at(self, parts: NodeParts) -> None:
        """Show parts of nodes, and follow them while the layout moves."""
        if len(parts.nodes):
            self._maker.target = parts
            self.frames.follow()

    def set_mark(self, name: str, mark: Mark | None) -> None:
        """Mark nodes with a colour under a name; None removes the mark of that name."""
        self.notes.set_mark(name, mark)
        self.refresh()

    def set_labels(self, name: str, labels: Sequence[NodeLabel]) -> None:
        """Set text labels beside nodes; they replace the labels of the same name."""
        self.notes.set_labels(name, labels)
        self.refresh()

    def draw_only(self, nodes: np.ndarray | None) -> None:
        """Hide all other nodes; None shows all again."""
        self._maker.only = None if nodes is None else np.asarray(nodes, np.int64)
        self.refresh()

    def on_click(self, callback: Callable[[int], None]) -> None:
        """Register a callback for clicked nodes."""
        self._click_callbacks.append(callback)

    def on_label(self, callback: Callable[[int], None]) -> None:
        """Register a callback for clicked labels, called with their `NodeLabel.key`."""
        self._label_callbacks.append(callback)

    def on_select(self, callback: Callable[[np.ndarray], None]) -> None:
        """Register a callback for nodes (int64, maybe none) in a box drawn with Shift held."""
        self._select_callbacks.append(callback)

    def on_view(self, callback: Callable[[], None]) -> None:
        """Register a callback for changes of the view."""
        self._view_callbacks.append(callback)

    def visible_nodes(self, limit: int) -> np.ndarray:
        """Return nodes (int64) that touch the present view, at most ``limit``."""
        view = self.viewport
        return NO_NODES if view is None else self._nodes_in(view, limit)

    def current(self) -> tuple[LayoutDrawing, Viewport, Colouring]:
        """Return the data for a picture of the present view.

        Raises
        ------
        ParameterError
            If there is no picture yet.
        """
        drawing, view = self._drawing, self.viewport
        if drawing is None or self.shown is None or view is None:
            raise ParameterError("there is no picture yet")
        return drawing, view, self.shown.colouring

    def node_at(self, x: float, y: float) -> int:
        """Return the visible node nearest to a point of the plane, within 8 pixels, or -1."""
        view, drawing = self.viewport, self._drawing
        if drawing is None or view is None:
            return -1
        return drawing.nearest(x, y, HOVER_PIXELS, viewport=view, fold=self.fold)

    @property
    def _drawing(self) -> LayoutDrawing | None:
        """The last drawing, if it shows the open graph."""
        graph, drawing = self._run.graph, self._maker.drawing
        is_right = graph is not None and drawing is not None and drawing.n_nodes == graph.n_nodes
        return drawing if is_right else None

    def _nodes_in(self, view: Viewport, limit: int) -> np.ndarray:
        drawing = self._drawing
        if drawing is None:
            return NO_NODES
        return drawing.visible_nodes(view, limit=limit, fold=self.fold)

    def _find_node(self, x: float, y: float) -> FoundNode | None:
        graph, drawing = self._run.graph, self._drawing
        node = self.node_at(x, y)
        if node < 0 or graph is None or drawing is None:
            return None
        ends = plane_ends(drawing, np.array([node]), self.fold)[0]
        return FoundNode(node, describe_node(graph, node), (tuple(ends.ravel().tolist()),))

    def _listen(self) -> None:
        for kind, handler in {
            "view": lambda _: self._forget_target(),
            "fit": lambda _: self.fit(),
            "point": lambda message: self._answer(self.hovering.point(*_place(message))),
            "leave": lambda _: self.hovering.leave(),
            "click": self._on_click,
            "label": lambda message: [tell(int(message["key"])) for tell in self._label_callbacks],
            "select": self._on_box,
            "escape": lambda _: self._tell_selected(NO_NODES),
        }.items():
            self.pane.listen(kind, handler)

    def _forget_target(self) -> None:
        self._maker.target = None

    def _answer(self, hover: dict[str, Any] | None) -> None:
        self.pane.send({"kind": "hover", "hover": hover})

    def _on_click(self, message: Message) -> None:
        node = self.node_at(*_place(message))
        if node >= 0:
            for callback in self._click_callbacks:
                callback(node)

    def _on_box(self, message: Message) -> None:
        graph, document = self._run.graph, self.frames.document
        if graph is None or document is None:
            return
        try:
            box = Viewport(*message["bounds"], 1, 1)
        except ParameterError:
            return
        future = RENDERER.submit(self._nodes_in, box, graph.n_nodes)
        future.add_done_callback(lambda done: call_soon(document, partial(self._on_selected, done)))

    def _on_selected(self, future: Future) -> None:
        error = future.exception()
        if error is not None:
            log.error("the nodes of a box were not found", exc_info=error)
        else:
            self._tell_selected(future.result())

    def _tell_selected(self, nodes: np.ndarray) -> None:
        for callback in self._select_callbacks:
            callback(nodes)

    def _on_moved(self) -> None:
        for callback in self._view_callbacks:
            callback()

    def _has_news(self) -> bool:
        """Return, once, whether the run has progressed, or newly available edges were missing."""
        self._run.poll()
        run, maker = self._run, self._maker
        has_edges = maker.waits_for_edges and run.graph is not None and has_edge_index(run.graph)
        version = (run.version, self.colourings.version, has_edges)
        has_news = version != self._seen_version or maker.must_redraw()
        self._seen_version = version
        return has_news

    def _on_shown(self, frame: Frame) -> None:
        self.shown = frame.facts["shown"]

    def _describe(self) -> None:
        """Update the description of the picture for screen readers."""
        now = time.monotonic()
        graph = self._run.graph
        hint = HINTS[self._run.state is RunState.OPENING] if graph is None else ""
        hint = hint if graph is None or graph.n_nodes else "The graph has no nodes"
        self._waits = self._run.awaits_layout or (self._waits and self.shown is None)
        hint = "The layout is being opened …" if self._waits else hint
        if self.pane.hint != hint:
            self.pane.hint = hint
        if now >= self._next_summary:
            self._next_summary = now + SUMMARY_SECONDS
            summary = describe_picture(self._run, self.viewport, self.fold)
            if self.pane.summary != summary:
                self.pane.summary = summary


def describe_picture(run: LayoutRun, view: Viewport | None, fold: Fold | None) -> str:
    """Describe a picture: number of nodes, visible part, and iteration."""
    graph, snapshot = run.graph, run.snapshot
    if graph is None:
        return "Pangenome graph: none is open"
    parts = [f"Pangenome graph of {n_words(graph.n_nodes, 'node')}"]
    if view is not None:
        plane = "" if fold is None else f", folded into {n_words(fold.n_rows, 'row')}"
        parts.append(
            f"shown from x {view.x_min:,.0f} to {view.x_max:,.0f} and "
            f"y {view.y_min:,.0f} to {view.y_max:,.0f} bp{plane}"
        )
    if snapshot is not None:
        parts.append(f"layout {run.state}, iteration {snapshot.iteration}")
    return "; ".join(parts) + ". Press ? for help."


def _place(message: Message) -> tuple[float, float]:
    return float(message["x"]), float(message["y"])


def describe_node(graph: PangenomeGraph, node: int) -> str:
    """Return name, length and depth of a node as lines."""
    length, depth = int(graph.node_lengths[node]), int(graph.node_depths[node])
    return f"Node {graph.node_names[node]}\n{length:,} bp\nDepth {n_words(depth, 'step')}"
