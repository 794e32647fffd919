"""The canvas in the browser on which the live picture is drawn, and the messages to and from it.

The browser moves the last frame about by itself and tells the view; frames make it sharp.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import param

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz_app.parts.canvas_component import (
    SHARED_SCRIPTS,
    CanvasComponent,
    Message,
    join_scripts,
)

SHARED_NAMES = ("arrays", "canvas_gestures")
SCRIPTS = Path(__file__).parent / "canvas"
SCRIPT_NAMES = (
    "view", "frame", "detail", "labels", "furniture", "gestures", "picture", "main",
)  # fmt: skip
HINT = "Open a graph, and its picture appears here"


def canvas_script() -> str:
    """Return the browser's side as one module."""
    shared = [SHARED_SCRIPTS / f"{name}.js" for name in SHARED_NAMES]
    return join_scripts([*shared, *(SCRIPTS / f"{name}.js" for name in SCRIPT_NAMES)])


class GraphCanvas(CanvasComponent):
    """A canvas that shows frames, and tells where its person looks and points.

    Kinds of messages are ``hello`` (a browser shows the canvas), ``resize``, ``view``, ``painted``,
    ``point``, ``leave``, ``click``, ``select``, ``fit`` and ``escape``.

    Attributes
    ----------
    size
        Width and height in device pixels; zeros before the browser has told them.
    viewport
        What the canvas shows, as far as it has been told; None before.
    """

    summary = param.String("Pangenome graph", doc="What a screen reader says of the picture.")
    hint = param.String(HINT, doc="What to do, where there is nothing to draw; else empty.")

    _esm = canvas_script()

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.size = (0, 0)
        self.viewport: Viewport | None = None
        self._n_moves = 0

    def send(self, message: Message) -> None:
        """Send a message to the browser; under the document lock."""
        super().send({**message, "moves": self._n_moves})

    def look_at(self, view: Viewport) -> None:
        """Move the canvas to a view, unless its person moves it at this moment."""
        self.expect(view)
        self.send({"kind": "view", "bounds": bounds_of(view)})

    def expect(self, view: Viewport) -> None:
        """Take note of a view that a frame on its way will show."""
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
        super()._handle_msg(data)


def bounds_of(view: Viewport) -> list[float]:
    """Return a view's rectangle as the browser takes it."""
    return [view.x_min, view.x_max, view.y_min, view.y_max]
