"""Draws frames of the live picture and computes colourings, independent of browsers."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.graph.picture.colour_modes import by_density
from genoviz.analyses.graph.picture.colouring import ColourChoice, Colouring, make_colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, Picture
from genoviz.analyses.graph.picture.drawn_nodes import MarkLayer
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.legend import Legend
from genoviz.analyses.graph.picture.viewport import LastImage, Viewport
from genoviz.errors import GenovizError
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz.model.graph.node_table import NodeTable
from genoviz_app.pages.pangenome.picture.fitting import Fitting, will_do
from genoviz_app.pages.pangenome.picture.frame import Frame, Overview
from genoviz_app.pages.pangenome.picture.frames import Hovering
from genoviz_app.pages.pangenome.picture.marks import Mark, PictureNotes, make_layers
from genoviz_app.pages.pangenome.picture.shapes import (
    NodeParts,
    find_shapes,
    make_shapes,
    node_colours,
    place_labels,
)
from genoviz_app.server.right_of_way import CORES
from genoviz_app.session.layout_run import LayoutRun, RunState

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.annotate import PlacedAnnotations

PATIENCE = 0.1
MAKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-colour")
"""Computes the colourings of all tabs."""

log = logging.getLogger(__name__)
LIVE_PIXELS = 2.5e5 * max(os.cpu_count() or 1, 2)
LIVE_GPU_PIXELS = STILL_PIXELS = 2e8
OVERVIEW_PIXELS, OVERVIEW_WIDTH, OVERVIEW_SECONDS = 4e5, 264, 0.8
STRESS_SECONDS = 2.0
RESTING_SECONDS, RESTING_REDRAWS, MAX_RESTING_SECONDS = 0.1, 4, 1.0
"""Rest before a shifted picture is redrawn: a long redraw would delay the next move."""


class ColouringCache:
    """Computes the colouring of a graph on demand, and caches it until it changes.

    Attributes
    ----------
    annotations, table
        Annotations and node table of the graph, or None.
    problem
        Why the choice could not be applied, as one sentence; empty on success.
    version
        Incremented when a colouring is ready that a picture did not wait for.
    """

    def __init__(self) -> None:
        self.annotations: PlacedAnnotations | None = None
        self.table: NodeTable | None = None
        self.problem, self.version = "", 0
        self._lock = threading.Lock()
        self._wish: tuple = ()
        self._made: Colouring | None = None
        self._making: Future | None = None

    @property
    def is_making(self) -> bool:
        """Whether a colouring is being computed."""
        return self._making is not None and not self._making.done()

    def forget(self) -> None:
        """Drop the data of a graph that was closed."""
        with self._lock:
            self._wish, self._made, self._making = (), None, None

    def get(
        self, graph: PangenomeGraph, choice: ColourChoice, layout: GraphLayout | None = None
    ) -> Colouring:
        """Return the colouring of a choice, or the previous one of the graph while it is computed.

        ``layout`` is used for colours by stress. If the choice cannot be applied, density is shown,
        and `problem` has the reason.
        """
        with self._lock:
            wish = (graph, choice, self.annotations, self.table, layout)
            is_new = wish != self._wish
            if is_new:
                if not self._wish or self._wish[0] is not graph:
                    self._made = None
                self._wish = wish
                self._making = MAKER.submit(self._make, wish)
            making = self._making
        try:
            return making.result(PATIENCE if is_new else 0)
        except NotYet:
            with self._lock:
                if self._made is None:
                    self._made = by_density()
                return self._made

    def _make(self, wish: tuple) -> Colouring:
        graph, choice, annotations, table, layout = wish
        problem = ""
        try:
            made = make_colouring(
                graph, choice, annotations=annotations, table=table, layout=layout
            )
        except GenovizError as error:
            made, problem = by_density(), f"Not coloured so: {error}."
        except Exception:
            log.exception("a colouring could not be made")
            made, problem = by_density(), "This colouring failed; the server's log has the details."
        with self._lock:
            if wish == self._wish:
                self._made, self.problem = made, problem
                self.version += 1
        return made


@dataclass(frozen=True)
class Shown:
    """The displayed picture, for the legend, messages and downloads."""

    picture: Picture
    colouring: Colouring
    n_nodes: int

    @property
    def legend(self) -> Legend:
        """The legend of the picture."""
        return self.colouring.legend(self.picture)


class FrameMaker:
    """Draws the current state of a run in the requested view.

    Attributes
    ----------
    get_choice
        Returns the colour choice.
    target
        The nodes that the view follows, with their parts; None to follow the whole layout.
    only
        int64, the nodes to draw; None for all.
    drawing
        The last drawing, or None.
    waits_for_edges
        Whether the last frame lacks edges that are not indexed yet.
    """

    def __init__(
        self,
        run: LayoutRun,
        *,
        fitting: Fitting,
        colourings: ColouringCache,
        notes: PictureNotes,
        hovering: Hovering,
        get_choice: Callable[[], ColourChoice],
    ) -> None:
        self._run, self._fitting, self._colourings = run, fitting, colourings
        self._notes, self._hovering, self._get_choice = notes, hovering, get_choice
        self.target: NodeParts | None = None
        self.only: np.ndarray | None = None
        self.drawing: LayoutDrawing | None = None
        self._drawn: tuple = (None, None, None)
        self._fitted: tuple[NodeParts | None, Viewport | None] = (None, None)
        self._measured: tuple[Any, GraphLayout | None, float] = (None, None, 0.0)
        self._last_image, self._drawn_view, self.waits_for_edges = LastImage(), None, False
        self._overview_due, self._redraw_at, self._drawing_seconds = 0.0, math.inf, 0.0
        self._overview_version: tuple = ()
        self._marks: tuple[Mark, ...] = ()
        self._layers: tuple[tuple[str, ...], tuple[MarkLayer, ...]] = ((), ())

    def forget(self) -> None:
        """Reset targets and filters, because another graph is open."""
        self.target = self.only = self.drawing = None
        self._last_image.forget()
        self._fitted, self._drawn = (None, None), (None, None, None)
        self._measured, self._overview_version = (None, None, 0.0), ()

    @property
    def is_moved(self) -> bool:
        """Whether the last picture was drawn by shifting the previous one."""
        return self._last_image.is_moved

    def must_redraw(self) -> bool:
        """Return, once, whether the last picture was shifted and has rested for long enough."""
        is_due = time.monotonic() >= self._redraw_at
        self._redraw_at = math.inf if is_due else self._redraw_at
        return is_due

    def _mark_layers(self) -> tuple[tuple[str, ...], tuple[MarkLayer, ...]]:
        """Return colours and layers of the marks; cached, so that equal marks share layers."""
        marks = self._notes.marks
        if marks != self._marks:
            self._marks, self._layers = marks, make_layers(marks)
        return self._layers

    def draw(self, width: int, height: int, own_view: Viewport | None) -> Frame | None:
        """Draw a frame of the user's own view, or of what the view follows."""
        run, graph, last = self._run, self._run.graph, self._last_image
        if graph is None or not graph.n_nodes:
            return None
        choice = self._get_choice()
        colouring = self._colourings.get(graph, choice, self._measured_layout(choice))
        mark_colours, layers = self._mark_layers()
        labels = () if run.state is RunState.READY else self._notes.labels  # no layout yet
        with CORES.short():
            snapshot = run.latest
            if snapshot is None or len(snapshot.coordinates) != graph.n_nodes:
                return None
            drawing = self._drawing_of(snapshot, colouring)
            view = own_view or self._fit(drawing, width, height)
            fold = self._fitting.fold
            last.may_move = own_view != self._drawn_view
            began = time.monotonic()
            picture = drawing.draw(
                view,
                **colouring.options,
                line_width=None,
                pixel_budget=_pixel_budget(drawing),
                marks=layers,
                fold=fold,
                last=last,
            )
            self._drawn_view = own_view
            self._plan_redraw(began)
            detail, self.waits_for_edges = find_shapes(graph, drawing, view, fold)
            overview = self._overview(drawing, view, colouring.options, (snapshot, colouring, fold))
        shapes = None
        if detail is not None:
            colours = node_colours(colouring, picture, detail.nodes, layers)
            shapes = make_shapes(graph, drawing, detail, colours, view, fold)
        return Frame(
            picture.indices,
            view,
            colouring.palette_with(mark_colours),
            {"shown": Shown(picture, colouring, graph.n_nodes)},
            shapes=shapes,
            labels=place_labels(labels, drawing, view, fold),
            overview=overview,
            shows_overview=not _holds_all(view, drawing, fold),
            is_folded=fold is not None,
            hover=self._hovering.look(),
        )

    def _plan_redraw(self, began: float) -> None:
        """Redraw a shifted picture later; remember how long any other took."""
        now, self._redraw_at = time.monotonic(), math.inf
        if self._last_image.is_moved:
            rest = max(RESTING_SECONDS, RESTING_REDRAWS * self._drawing_seconds)
            self._redraw_at = now + min(rest, MAX_RESTING_SECONDS)
        else:
            self._drawing_seconds = now - began

    def _measured_layout(self, choice: ColourChoice) -> GraphLayout | None:
        """Return the layout for colours by stress; while it moves, it is updated periodically."""
        if choice.mode != "stress":
            self._measured = (None, None, 0.0)
            return None
        snapshot, (measured, layout, due) = self._run.latest, self._measured
        is_early = self._run.state is RunState.RUNNING and time.monotonic() < due
        if snapshot is None or snapshot is measured or is_early or self._colourings.is_making:
            return layout
        layout = snapshot.layout
        self._measured = (snapshot, layout, time.monotonic() + STRESS_SECONDS)
        return layout

    def _drawing_of(self, snapshot: Any, colouring: Colouring) -> LayoutDrawing:
        """Return a drawing of these positions and colours, based on the last one if possible."""
        drawing, coordinates = self.drawing, snapshot.coordinates
        last_snapshot, last_colouring, last_only = self._drawn
        backend = "cpu" if isinstance(coordinates, np.ndarray) else "cuda"
        is_live = self._run.state is RunState.RUNNING
        if (
            drawing is None
            or drawing.backend != backend
            or drawing.coordinates.shape != coordinates.shape
        ):
            drawing = LayoutDrawing(coordinates, backend=backend)
            last_colouring = last_only = None
        elif is_live or drawing.is_live or last_snapshot is not snapshot:
            drawing = drawing.with_coordinates(coordinates, live=is_live)
        if last_only is not self.only:
            drawing = drawing.with_nodes(self.only)
        if last_colouring is not colouring:
            drawing = drawing.with_node_values(colouring.node_values)
        self.drawing, self._drawn = drawing, (snapshot, colouring, self.only)
        return drawing

    def _fit(self, drawing: LayoutDrawing, width: int, height: int) -> Viewport:
        """Return the view of the followed nodes; the last one as long as it fits."""
        target, (last_target, last) = self.target, self._fitted
        last = last if last_target is target else None
        if target is None:
            view = self._fitting.fit(drawing.bounds, width, height, last)
        else:
            bounds = target.bounds(drawing, self._fitting.fold)
            view = Viewport.fit(bounds, width, height, margin=target.margin)
            if last is not None and will_do(last, view, bounds):
                view = last
        self._fitted = (target, view)
        return view

    def _overview(
        self, drawing: LayoutDrawing, view: Viewport, options: dict[str, Any], version: tuple
    ) -> Overview | None:
        """Return a small picture of the whole layout if one is due and useful, else None."""
        now, fold = time.monotonic(), self._fitting.fold
        if version == self._overview_version or _holds_all(view, drawing, fold):
            return None
        has_other_look = version[1:] != self._overview_version[1:]
        if now < self._overview_due and not has_other_look:
            return None
        self._overview_due, self._overview_version = now + OVERVIEW_SECONDS, version
        height = max(round(OVERVIEW_WIDTH * view.height / view.width), 1)
        small = self._fitting.overview(drawing.bounds, OVERVIEW_WIDTH, height)
        picture = drawing.draw(
            small, **options, line_width=None, pixel_budget=OVERVIEW_PIXELS, fold=fold
        )
        return Overview(picture.indices, small)


def _pixel_budget(drawing: LayoutDrawing) -> float:
    """Return how many pixels may be drawn: fewer while a layout runs on the same cores."""
    if not drawing.is_live:
        return STILL_PIXELS
    return LIVE_PIXELS if drawing.backend == "cpu" else LIVE_GPU_PIXELS


def _holds_all(view: Viewport, drawing: LayoutDrawing, fold: Fold | None) -> bool:
    x_min, y_min, x_max, y_max = drawing.bounds if fold is None else fold.bounds
    return (
        view.x_min <= x_min and view.y_min <= y_min and view.x_max >= x_max and view.y_max >= y_max
    )
