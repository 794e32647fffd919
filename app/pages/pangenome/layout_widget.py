"""The live layout of one graph as a Jupyter widget: the canvas of the page, without a server.

The picture, its frames and its run are those of a page. Their messages go through the kernel, whose
own thread answers them, so what a cell sets and what a person does meet under one lock; the layout
itself runs in the thread of all layouts, and goes on while a cell computes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import traitlets as t

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.pages.pangenome.layout_traits import LayoutTraits, NodeNumbers
from genoviz_app.pages.pangenome.layout_view import progress_text, strip_html
from genoviz_app.pages.pangenome.picture.fitting import Shape
from genoviz_app.pages.pangenome.picture.graph_canvas import (
    KernelLoop,
    Message,
    WidgetCanvas,
    bounds_of,
)
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.pages.pangenome.picture.marks import Mark
from genoviz_app.pages.pangenome.picture.shared_marks import (
    PICKED_COLOUR,
    PICKED_MARK,
    REGION_COLOUR,
    REGION_MARK,
    region_nodes,
    region_parts,
)
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import LayoutSettings

POLL_SECONDS, REST_SECONDS, LOOK_SECONDS = 0.04, 0.25, 0.25
WAIT_SECONDS = 0.02


class LayoutWidget(LayoutTraits):
    """A graph in a notebook: its layout runs, and one zooms, picks and colours as on the page.

    Parameters
    ----------
    graph
        The graph, or None.
    layout
        Where its nodes are; without it, a graph that takes a moment is laid out at once, and others
        wait for `run`.
    colour_by, shape, height
        See below.
    run
        A layout that something else drives, in place of ``graph`` and ``layout``.
    **options
        Of the layout: ``method``, ``quality``, ``seed`` and all others of the page's settings.

    Attributes
    ----------
    graph
        The graph, or None.
    colour_by
        What the nodes are coloured by, such as ``"density"``, ``"depth"``, ``"position"`` or
        ``"stress"``; `colour` says more.
    shape
        ``"true"``, ``"stretched"`` or ``"folded"``.
    height
        Of the picture, pixels; its lower edge can be dragged too.
    selected
        int64, the numbers of nodes that are picked, by a click, by a box that is drawn with Shift
        held, or by setting them.
    region
        A stretch of a path that is pointed out and looked at: a `PathRegion`, or
        ``"path:start-end"``, 0-based and half-open; or None.
    view
        x_min, x_max, y_min, y_max, bp, of what is in sight; None before there is a picture.
    state
        Such as ``"running"`` or ``"finished"``.

    All of them are traits, which ``observe`` follows.

    Raises
    ------
    ParameterError
        If an argument is not what it should be.

    Examples
    --------
    >>> from genoviz_app import LayoutWidget                         # doctest: +SKIP
    >>> widget = LayoutWidget(genoviz.read_gfa("graph.gfa"))        # doctest: +SKIP
    >>> widget                                                      # doctest: +SKIP
    >>> widget.selected                                             # doctest: +SKIP
    """

    def __init__(
        self,
        graph: PangenomeGraph | None = None,
        layout: GraphLayout | None = None,
        *,
        colour_by: str = "density",
        shape: str | None = None,
        height: int = 480,
        run: LayoutRun | None = None,
        **options: Any,
    ) -> None:
        self.lock = threading.RLock()
        self._is_own_run = run is None
        self._run = run or _make_run(graph, layout, options)
        self._canvas = WidgetCanvas(self)
        self._picture = LivePicture(self._run, canvas=self._canvas)
        self._loop: KernelLoop | None = None
        self._round = 0
        self._next_look = 0.0
        self._choice = ColourChoice()
        super().__init__(height=height)
        self._offer_modes()
        self.colour_by = colour_by
        if shape is not None:
            self.shape = shape
        self._picture.on_click(lambda node: self._pick([node]))
        self._picture.on_select(self._pick)
        self._picture.on_view(self._tell_view)
        for kind in ("run", "stop"):
            self._canvas.listen(kind, self._on_button)
        self._canvas.listen("hello", self._on_hello)
        self.on_msg(self._on_message)
        self._show()

    @property
    def graph_layout(self) -> GraphLayout | None:
        """Where the nodes are now; None before they have places."""
        with self._at_hand():
            return self._run.layout

    def run(self) -> None:
        """Lay out the graph, or go on after a pause; returns at once."""
        with self._at_hand():
            if self._run.state.can_resume:
                self._run.resume()
            elif self.graph is not None and not self._run.state.is_active:
                self._run.run()

    def pause(self) -> None:
        """Hold the layout after its present slice; `run` goes on."""
        with self._at_hand():
            self._run.pause()

    def stop(self) -> None:
        """End the layout; the nodes stay where they are."""
        with self._at_hand():
            self._run.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the layout has ended, or is paused; return whether it has, within seconds.

        Raises
        ------
        Exception
            What stopped the layout.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._at_hand():
                state, error = self._run.state, self._run.error
            if error is not None:
                raise error
            if state not in (RunState.RUNNING, RunState.PAUSING):
                return True
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(WAIT_SECONDS)

    def fit(self) -> None:
        """Show everything, and follow the layout while it moves."""
        with self._at_hand():
            self._picture.fit()

    def look_at(self, nodes: Sequence[int] | np.ndarray) -> None:
        """Show these nodes (their numbers), and follow them while the layout moves."""
        numbers = NodeNumbers().validate(self, nodes)
        with self._at_hand():
            self._picture.look_at_nodes(numbers)

    def colour(self, mode: str, **choice: Any) -> None:
        """Colour by a mode, with the details of a `ColourChoice`, such as ``paths``."""
        made = ColourChoice(mode, **choice)
        with self._at_hand():
            self._choice = made
            self.colour_by = mode
            self._follow_choice()

    def light_up(self, nodes: Sequence[int] | np.ndarray, colour: str = "#56b4e9") -> None:
        """Point out nodes (their numbers) so wide that each is seen in the whole layout."""
        numbers = NodeNumbers().validate(self, nodes)
        with self._at_hand():
            self._picture.set_mark("lit", Mark(numbers, colour, is_lit=True))

    def close(self) -> None:
        """Take the widget away, and end the layout that it has begun."""
        if self._picture is not None:
            with self.lock:
                self._round += 1
                self._picture.frames.detach()
                if self._is_own_run:
                    self._run.stop()
        super().close()

    @contextmanager
    def _at_hand(self) -> Any:
        """Hold the lock, see what the run has come to, and show what became of it."""
        with self.lock:
            self._run.poll()
            yield
            self._run.poll()
            self._show()

    @t.observe("colour_by")
    def _on_colour_by(self, change: Any) -> None:
        with self.lock:
            if self._choice.mode != change.new:
                self._choice = ColourChoice(change.new)
            self._follow_choice()

    def _follow_choice(self) -> None:
        self._picture.choice = self._choice
        self._picture.refresh()

    @t.observe("shape")
    def _on_shape(self, change: Any) -> None:
        with self.lock:
            if not self._is_told:
                self._picture.fitting.wish = Shape(change.new)
                self._picture.fit()

    @t.observe("selected")
    def _on_selected(self, change: Any) -> None:
        with self.lock:
            self._picture.set_mark(PICKED_MARK, Mark(change.new, PICKED_COLOUR))

    @t.observe("region")
    def _on_region(self, change: Any) -> None:
        with self.lock:
            if change.new is None:
                self._picture.set_mark(REGION_MARK, None)
                return
            nodes = region_nodes(self.graph, change.new)
            self._picture.set_mark(REGION_MARK, Mark(nodes, REGION_COLOUR))
            self._picture.look_at(region_parts(self.graph, change.new))

    @t.observe("view")
    def _on_view(self, change: Any) -> None:
        with self.lock:
            if not self._is_told and change.new is not None:
                size = [max(length, 1) for length in self._canvas.size]
                self._picture.show(Viewport(*change.new, *size))

    def _pick(self, nodes: Any) -> None:
        self.selected = nodes

    def _tell_view(self) -> None:
        viewport = self._picture.viewport
        with self._telling():
            self.view = None if viewport is None else tuple(bounds_of(viewport))

    @contextmanager
    def _telling(self) -> Any:
        """While this is held, traits say what is so, and change nothing."""
        before, self._is_told = self._is_told, True
        try:
            yield
        finally:
            self._is_told = before

    def _on_message(self, _widget: Any, message: Message, _buffers: Any) -> None:
        with self.lock:
            self._canvas._handle_msg(message)

    def _on_button(self, message: Message) -> None:
        if message["kind"] == "stop":
            self.stop()
        elif self._run.state is RunState.RUNNING:
            self.pause()
        else:
            self.run()

    def _on_hello(self, _message: Message) -> None:
        """Look for news from now on, in the thread that answers this browser."""
        self._round += 1
        self._loop = KernelLoop(self.lock)
        self._tick(self._round)

    def _tick(self, round_: int) -> None:
        if round_ != self._round:
            return
        self._run.poll()
        self._picture.poll()
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_SECONDS
            self._show()
        is_moving = self._run.state.is_active or self._picture.colourings.is_making
        seconds = POLL_SECONDS if is_moving else REST_SECONDS
        self._loop.call_later(seconds, lambda: self._tick(round_))

    def _show(self) -> None:
        """Show state, numbers and legend."""
        run, shown = self._run, self._picture.shown
        self.set_trait("state", str(run.state))
        progress = run.progress
        self._fraction = round(progress.fraction, 3) if progress else 0.0
        self._numbers = progress_text(run)
        if shown is not None:
            self._legend = strip_html(shown, self._picture.colourings.problem)
            with self._telling():
                self.shape = str(self._picture.fitting.shape)


def _make_run(
    graph: PangenomeGraph | None, layout: GraphLayout | None, options: dict[str, Any]
) -> LayoutRun:
    """Return the run of a graph, which begins."""
    if graph is not None and not isinstance(graph, PangenomeGraph):
        raise ParameterError(
            f"graph is {graph!r}, needs a PangenomeGraph, as genoviz.read_gfa(path) returns it"
        )
    run = LayoutRun(LayoutSettings.of(options), KERNELS.submit)
    if layout is not None and (graph is None or len(layout.coordinates) != graph.n_nodes):
        n_nodes = 0 if graph is None else graph.n_nodes
        raise ParameterError(
            f"the layout has {len(layout.coordinates):,} nodes, needs the {n_nodes:,} of the graph"
        )
    run.set_graph(graph)
    if layout is not None:
        run.load(layout)
    else:
        run.unfold()
    return run
