"""The browser's canvas for the live picture, and the messages in both directions.

The browser moves the last frame by itself and reports the view; new frames make it sharp.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import param

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz_app.parts.canvas_component import (
    CanvasComponent,
    Listening,
    Message,
    join_canvas,
)

SCRIPTS = Path(__file__).parent / "canvas"
SCRIPT_NAMES = (
    "view", "frame", "detail", "labels", "furniture", "gestures", "picture", "main",
)  # fmt: skip
HINTS = ("Open a graph to see its picture here", "The graph is being opened …")
NO_GRAPH = "LayoutWidget(graph) shows a graph"


def canvas_script(*, is_widget: bool = False) -> str:
    """Return the browser code as a single module, for a page or for a notebook widget."""
    names = (*SCRIPT_NAMES, "widget") if is_widget else SCRIPT_NAMES
    return join_canvas(SCRIPTS, names, is_default=is_widget)


class GraphView(Listening):
    """The messages from and to a graph's canvas, on a page or in a notebook.

    Kinds of messages are ``hello`` (a browser shows the canvas), ``resize``, ``view``, ``painted``,
    ``point``, ``leave``, ``click``, ``label`` (a label was clicked), ``select``, ``fit`` and
    ``escape``.

    Attributes
    ----------
    size
        Width and height in device pixels; zeros before the browser has reported them.
    viewport
        The last reported view of the canvas; None before the first.
    """

    size: tuple[int, int] = (0, 0)
    viewport: Viewport | None = None
    _n_moves = _n_sizes = 0

    def send(self, message: Message) -> None:
        """Send a message to the browser; needs the document lock."""
        super().send({**message, "moves": self._n_moves, "sizes": self._n_sizes})

    def look_at(self, view: Viewport) -> None:
        """Move the canvas to a view, unless the user is moving it."""
        self.expect(view)
        size = {"width": view.width, "height": view.height}
        self.send({"kind": "view", "bounds": bounds_of(view), **size})

    def expect(self, view: Viewport) -> None:
        """Note the view of a frame in flight."""
        self.viewport = view

    def _handle_msg(self, data: Message) -> None:
        kind = data.get("kind", "")
        if "bounds" in data and kind in ("hello", "resize", "view"):
            self.size = (int(data["width"]), int(data["height"]))
            try:
                self.viewport = Viewport(*data["bounds"], *self.size)
            except ParameterError:
                return
        if "moves" in data:
            self._n_moves = int(data["moves"])
        self._n_sizes = int(data.get("sizes", self._n_sizes))
        super()._handle_msg(data)


class GraphCanvas(GraphView, CanvasComponent):
    """A canvas on a page that shows frames, and reports view and pointer."""

    summary = param.String("Pangenome graph", doc="What a screen reader says of the picture.")
    hint = param.String(doc="What to do, where there is nothing to draw; else empty.")

    _esm = canvas_script()


class KernelLoop:
    """Schedules callbacks in the thread that handles the widget's messages, like a document."""

    def __init__(self, lock: threading.RLock) -> None:
        self._loop, self._lock = asyncio.get_running_loop(), lock

    def add_next_tick_callback(self, callback: Callable[[], None]) -> None:
        """Schedule a callback; thread-safe."""
        try:
            self._loop.call_soon_threadsafe(self._call, callback)
        except RuntimeError:  # the browser's page and its loop are closed
            return

    def call_later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Schedule a delayed callback; only in the thread of the loop."""
        self._loop.call_later(seconds, self._call, callback)

    def _call(self, callback: Callable[[], None]) -> None:
        with self._lock:
            callback()


class WidgetCanvas(GraphView):
    """The canvas of a `LayoutWidget`, whose messages go through the kernel."""

    def __init__(self, widget: Any) -> None:
        self._widget = widget

    @property
    def document(self) -> KernelLoop:
        """The scheduler of callbacks in this thread."""
        return KernelLoop(self._widget.lock)

    @property
    def hint(self) -> str:
        """Instructions while there is nothing to draw."""
        return self._widget._hint

    @hint.setter
    def hint(self, text: str) -> None:
        self._widget._hint = NO_GRAPH if self._widget.graph is None else text

    @property
    def summary(self) -> str:
        """Description of the picture for screen readers."""
        return self._widget._summary

    @summary.setter
    def summary(self, text: str) -> None:
        self._widget._summary = text

    def _send_msg(self, message: Message) -> None:
        content = {name: value for name, value in message.items() if name != "data"}
        self._widget.send(content, [message["data"]] if "data" in message else None)


def bounds_of(view: Viewport) -> list[float]:
    """Return the rectangle of a view as a message."""
    return [view.x_min, view.x_max, view.y_min, view.y_max]
