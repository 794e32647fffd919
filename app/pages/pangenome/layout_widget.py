"""The live layout of one graph as a Jupyter widget: the canvas of the page, without a server.

Picture, frames and run are those of the page. Messages go through the kernel, which handles them in
a thread of its own. A lock therefore serializes changes by cells and by the user. The layout runs
in the common layout thread, even while a cell is executed.
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
from genoviz_app.pages.pangenome.layout_traits import LayoutTraits, NodeNumbers, progress_text
from genoviz_app.pages.pangenome.picture.colour_bar import strip_html
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
from genoviz_app.parts.words import n_words
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import LayoutSettings

POLL_SECONDS, REST_SECONDS, LOOK_SECONDS = 0.04, 0.25, 0.25
WAIT_SECONDS = 0.02


class LayoutWidget(LayoutTraits):
    """A graph in a notebook, with its running layout and the page's zoom, selection and colours.

    Parameters
    ----------
    graph
        The graph, or None.
    layout
        The layout; without one, small graphs are laid out at once, and large ones wait for `run`.
    colour_by, shape, height
        See the attributes.
    run
        A layout that is controlled elsewhere, instead of ``graph`` and ``layout``.
    **options
        Layout options: ``method``, ``quality``, ``seed`` and all other settings of the page.

    Attributes
    ----------
    graph
        The graph, or None.
    colour_by
        Colour mode of the nodes, such as ``"density"``, ``"depth"``, ``"position"`` or
        ``"stress"``; `colour` takes further details.
    shape
        ``"true"``, ``"stretched"`` or ``"folded"``.
    height
        Height of the picture, px; the user can also drag its lower edge.
    selected
        int64, indices of the selected nodes. They can be selected by a click, by drawing a box with
        Shift held, or by assignment.
    region
        A path interval to mark and show: a `PathRegion`, or ``"path:start-end"``, 0-based and
        half-open; or None.
    view
        x_min, x_max, y_min, y_max of the view, bp; None before there is a picture.
    state
        State of the layout, such as ``"running"`` or ``"finished"``.

    All attributes are traits, which can be observed with ``observe``.

    Raises
    ------
    ParameterError
        If an argument is invalid.

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
        """The current layout; None before the nodes have positions."""
        with self._at_hand():
            return self._run.layout

    def run(self) -> None:
        """Start or resume the layout; returns immediately."""
        with self._at_hand():
            if self._run.state.can_resume:
                self._run.resume()
            elif self.graph is not None and not self._run.state.is_active:
                self._run.run()

    def pause(self) -> None:
        """Pause the layout after the current slice; `run` resumes it."""
        with self._at_hand():
            self._run.pause()

    def stop(self) -> None:
        """End the layout; the nodes keep their positions."""
        with self._at_hand():
            self._run.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the layout ends or is paused; return whether it did so within the time limit.

        Raises
        ------
        Exception
            The error that ended the layout.
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
        """Show the whole layout, and follow it while it moves."""
        with self._at_hand():
            self._picture.fit()

    def look_at(self, nodes: Sequence[int] | np.ndarray) -> None:
        """Show the nodes with these indices, and follow them while the layout moves."""
        numbers = NodeNumbers().validate(self, nodes)
        with self._at_hand():
            self._picture.look_at_nodes(numbers)

    def colour(self, mode: str, **choice: Any) -> None:
        """Set the colour mode, with details of a `ColourChoice` such as ``paths``."""
        made = ColourChoice(mode, **choice)
        with self._at_hand():
            self._choice = made
            self.colour_by = mode
            self._follow_choice()

    def light_up(self, nodes: Sequence[int] | np.ndarray, colour: str = "#56b4e9") -> None:
        """Highlight nodes by index, wide enough to be visible in the whole layout."""
        numbers = NodeNumbers().validate(self, nodes)
        with self._at_hand():
            self._picture.set_mark("lit", Mark(numbers, colour, is_lit=True))

    def close(self) -> None:
        """Remove the widget, and end the layout that it started."""
        if self._picture is not None:
            with self.lock:
                self._round += 1
                self._picture.frames.detach()
                if self._is_own_run:
                    self._run.stop()
        super().close()

    @contextmanager
    def _at_hand(self) -> Any:
        """Hold the lock, update from the run before and after, and show the changes."""
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
        """Context in which traits report the state without changing it."""
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
        """Start to poll in the thread that handles this browser's messages."""
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
        """Show state, statistics and legend."""
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
    """Create and start the run of a graph."""
    if graph is not None and not isinstance(graph, PangenomeGraph):
        raise ParameterError(
            f"graph is {graph!r}, needs a PangenomeGraph, as genoviz.read_gfa(path) returns it"
        )
    run = LayoutRun(LayoutSettings.of(options), KERNELS.submit)
    if layout is not None and (graph is None or len(layout.coordinates) != graph.n_nodes):
        n_nodes = 0 if graph is None else graph.n_nodes
        raise ParameterError(
            f"the layout has {n_words(len(layout.coordinates), 'node')}, needs the {n_nodes:,} of "
            "the graph"
        )
    run.set_graph(graph)
    if layout is not None:
        run.load(layout)
    else:
        run.unfold()
    return run
