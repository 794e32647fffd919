"""The picture of all nodes, alive: it follows the layout, zooms, pans and names nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn

from app.pages.pangenome.browser_figure import Frame
from app.pages.pangenome.colouring import ColouringCache
from app.pages.pangenome.fitting import Fitting
from app.pages.pangenome.frames import FrameLoop
from app.pages.pangenome.hovering import FoundNode, Hovering, pixels_away
from app.pages.pangenome.layout_run import LayoutRun
from app.pages.pangenome.marks import Mark, NodeLabel, PictureNotes
from app.pages.pangenome.notebook_frames import NotebookFrames
from app.plots.graph_picture import live_picture
from app.right_of_way import CORES
from genoviz.analyses.colouring import ColourChoice, Colouring
from genoviz.analyses.drawing import LayoutDrawing, Picture
from genoviz.analyses.legend import Legend
from genoviz.analyses.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

HOVER_PIXELS = 8
LIVE_PIXELS, STILL_PIXELS = 3e7, 2e8
NODES_MARGIN = 0.2


@dataclass(frozen=True)
class Shown:
    """What is on the screen: for the legend, the notices and the downloads."""

    picture: Picture
    colouring: Colouring
    n_nodes: int

    @property
    def legend(self) -> Legend:
        """The legend of the picture."""
        return self.colouring.legend(self.picture)


class LivePicture:
    """The picture of a run.

    Attributes
    ----------
    pane
        The Panel object to place on a page.
    choice
        What to colour by; call `refresh` after a change.
    colourings
        Makes the colours; has the annotations and the table that they may need.
    fitting
        Whether the fitted view is stretched; call `fit` after a change.
    shown
        What is on the screen, or None.
    """

    def __init__(self, run: LayoutRun) -> None:
        self.choice = ColourChoice()
        self.fitting = Fitting()
        self.shown: Shown | None = None
        self.notes = PictureNotes()
        self._click_callbacks: list[Callable[[int], None]] = []
        self._select_callbacks: list[Callable[[np.ndarray], None]] = []
        self._view_callbacks: list[Callable[[], None]] = []
        self._only: np.ndarray | None = None
        self._run = run
        self._seen_version: tuple = ()
        self.colourings = ColouringCache()
        self._drawing: LayoutDrawing | None = None
        self._drawn_colouring: Colouring | None = None
        self.hovering = Hovering(self._find_node)
        makes_frames = FrameLoop if is_served() else NotebookFrames
        self.frames = makes_frames(self._draw, has_news=self._has_news, on_shown=self._take_shown)
        self.pane = pn.pane.HoloViews(
            live_picture(self._take_figure) if is_served() else self.frames.view,
            sizing_mode="stretch_both",
            min_height=240,
            linked_axes=False,
            margin=0,
        )

    def poll(self) -> None:
        """Draw again if the run has moved on."""
        self.frames.pump()

    def refresh(self) -> None:
        """Draw again: the colours have changed."""
        self.frames.request()

    def fit(self) -> None:
        """Show everything, and go on doing so while the layout moves."""
        self.frames.follow()

    def zoom(self, factor: float) -> None:
        """Magnify around the centre."""
        view = self.frames.viewport
        if view is not None:
            self.frames.show(view.zoomed(factor))

    @property
    def viewport(self) -> Viewport | None:
        """What is shown now, in the plane of the picture; None before there is a picture."""
        return self.frames.viewport

    def look_at_nodes(self, nodes: np.ndarray) -> None:
        """Show these nodes with a margin around them, and follow them while the layout moves."""
        snapshot, view = self._run.latest, self.frames.viewport
        if snapshot is None or view is None or len(nodes) == 0:
            return
        ends = snapshot.coordinates[nodes].reshape(-1, 2)
        ends = ends if isinstance(ends, np.ndarray) else ends.get()
        bounds = (*ends.min(axis=0).tolist(), *ends.max(axis=0).tolist())
        self.frames.show(Viewport.fit(bounds, view.width, view.height, margin=NODES_MARGIN))

    def set_mark(self, name: str, mark: Mark | None) -> None:
        """Point out nodes in a colour, under a name; None takes the mark of that name away."""
        self.notes.set_mark(name, mark)
        self.refresh()

    def set_labels(self, name: str, labels: Sequence[NodeLabel]) -> None:
        """Write words beside nodes; they replace the words of the same name."""
        self.notes.set_labels(name, labels)
        self.refresh()

    def draw_only(self, nodes: np.ndarray | None) -> None:
        """Hide all other nodes; None shows all again."""
        self._only = nodes
        self.refresh()

    def on_click(self, callback: Callable[[int], None]) -> None:
        """Call back with the node that is clicked."""
        self._click_callbacks.append(callback)

    def on_select(self, callback: Callable[[np.ndarray], None]) -> None:
        """Call back with the nodes (int64) in the box that is drawn with shift held; maybe none."""
        self._select_callbacks.append(callback)

    def on_view(self, callback: Callable[[], None]) -> None:
        """Call back when another part is looked at."""
        self._view_callbacks.append(callback)

    def visible_nodes(self, limit: int) -> np.ndarray:
        """Return nodes (int64) that touch the present view, at most ``limit``."""
        view = self.frames.viewport
        if self._drawing is None or view is None:
            return np.empty(0, np.int64)
        return self._drawing.visible_nodes(view, limit=limit)

    def current(self) -> tuple[LayoutDrawing, Viewport, Colouring]:
        """Return what a picture of the present view is made from.

        Raises
        ------
        ParameterError
            If there is no picture yet.
        """
        view = self.frames.viewport
        if self._drawing is None or self.shown is None or view is None:
            raise ParameterError("there is no picture yet")
        return self._drawing, view, self.shown.colouring

    def node_at(self, x: float, y: float) -> int:
        """Return the node nearest to a point of the layout, within a few pixels, or -1."""
        view, graph = self.frames.viewport, self._run.graph
        if self._drawing is None or view is None or graph is None:
            return -1
        if self._drawing.n_nodes != graph.n_nodes:
            return -1
        return self._drawing.nearest(x, y, HOVER_PIXELS * max(view.bp_per_pixel))

    def _find_node(self, x: float, y: float) -> FoundNode | None:
        graph, snapshot = self._run.graph, self._run.snapshot
        node = self.node_at(x, y)
        if node < 0 or graph is None or snapshot is None:
            return None
        ends = tuple(float(value) for value in snapshot.coordinates[node].ravel())
        if pixels_away(x, y, ends, self.frames.viewport) > HOVER_PIXELS:
            return None
        return FoundNode(describe_node(graph, node), ends)

    def _take_figure(self, plot: Any) -> None:
        document = pn.state.curdoc or plot.document
        figure = plot.state
        self.frames.attach(figure, plot.handles["source"], plot.handles["color_mapper"], document)
        self.hovering.attach(figure)

    def _has_news(self) -> bool:
        """Tell, once, whether the run has moved on."""
        self._run.poll()
        version = (self._run.version, self.colourings.version)
        has_news = version != self._seen_version
        self._seen_version = version
        return has_news

    def _draw(self, width: int, height: int, own_view: Viewport | None) -> Frame | None:
        """Draw one frame; runs in a render thread."""
        graph = self._run.graph
        if graph is None or not graph.n_nodes:
            return None
        colouring = self.colourings.get(graph, self.choice)
        with CORES.short():
            snapshot = self._run.latest
            if snapshot is None or len(snapshot.coordinates) != graph.n_nodes:
                return None
            drawing = self._drawing_of(snapshot.coordinates, colouring)
            view = own_view
            if view is None:
                last = self.shown.picture.viewport if self.shown else None
                view = self.fitting.fit(drawing.bounds, width, height, last)
            budget = LIVE_PIXELS if self._run.state.is_active else STILL_PIXELS
            picture = drawing.draw(view, **colouring.options, line_width=None, pixel_budget=budget)
        facts = {"shown": Shown(picture, colouring, graph.n_nodes)}
        return Frame(picture.indices, picture.viewport, colouring.palette, facts)

    def _drawing_of(self, coordinates: Any, colouring: Colouring) -> LayoutDrawing:
        """Return a drawing of these positions in these colours, from the last one if it can be."""
        drawing, last = self._drawing, self._drawn_colouring
        backend = "cpu" if isinstance(coordinates, np.ndarray) else "cuda"
        is_same_kind = drawing is not None and drawing.backend == backend
        if not is_same_kind or drawing.coordinates.shape != coordinates.shape:
            drawing, last = LayoutDrawing(coordinates, backend=backend), None
        elif drawing.coordinates is not coordinates:
            drawing = drawing.with_coordinates(coordinates)
        if last is not colouring:
            drawing = drawing.with_node_values(colouring.node_values)
        self._drawing, self._drawn_colouring = drawing, colouring
        return drawing

    def _take_shown(self, frame: Frame) -> None:
        self.shown = frame.facts["shown"]
        self.hovering.refresh()


def is_served() -> bool:
    """Tell whether a server's browser tab is being made, rather than a notebook's output."""
    document = pn.state.curdoc
    return document is not None and document.session_context is not None


def describe_node(graph: PangenomeGraph, node: int) -> str:
    """Return name, length and depth of a node, in lines."""
    length, depth = int(graph.node_lengths[node]), int(graph.node_depths[node])
    steps = "step" if depth == 1 else "steps"
    return f"Node {graph.node_names[node]}\n{length:,} bp\nDepth {depth:,} {steps}"
