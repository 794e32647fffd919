"""The canvas in the browser on which tracks are drawn, and what is sent to it.

The browser moves what it has about by itself and tells the view; frames bring what is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import param

from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.parts.canvas_component import (
    SHARED_SCRIPTS,
    CanvasComponent,
    Message,
    join_scripts,
)

SHARED_NAMES = ("arrays", "canvas_gestures", "help")
SCRIPTS = Path(__file__).parent / "canvas"
SCRIPT_NAMES = (
    "span", "theme", "axis", "values", "features", "overview", "margin", "tip", "gestures",
    "picture", "main",
)  # fmt: skip
NO_WIDTH = 900


def canvas_script() -> str:
    """Return the browser's side as one module."""
    shared = [SHARED_SCRIPTS / f"{name}.js" for name in SHARED_NAMES]
    return join_scripts([*shared, *(SCRIPTS / f"{name}.js" for name in SCRIPT_NAMES)])


class TrackCanvas(CanvasComponent):
    """A canvas of tracks with their names, an overview, and what its person does.

    Kinds of messages are ``hello`` (a browser shows the canvas), ``resize``, ``view``, ``painted``,
    ``point``, ``leave``, ``click``, ``choose``, ``place``, ``height``, ``hide``, ``remove`` and
    ``go``.

    Attributes
    ----------
    contig, length
        What the canvas is to show, and its length in bp; "" for nothing.
    start, end
        The stretch, 0-based, bp: the person's own, as far as it has been told.
    width
        CSS pixels.
    is_moved
        Whether its person has moved it.
    """

    summary = param.String("Tracks", doc="What a screen reader says of the picture.")

    _esm = canvas_script()

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.contig, self.length = "", 1
        self.start, self.end = 0.0, 1.0
        self.width = NO_WIDTH
        self.is_moved = False
        self._n_moves = 0

    @property
    def view(self) -> View:
        """What the canvas shows."""
        return View(self.contig, self.start, self.end, self.width)

    @property
    def place(self) -> Message:
        """What the browser is told of where to be."""
        return {
            "contig": self.contig,
            "length": self.length,
            "bounds": [self.start, self.end],
            "moves": self._n_moves,
        }

    def look_at(self, contig: str, length: int, start: float, end: float) -> None:
        """Go to a stretch; the browser is told by `send_place`."""
        self.contig, self.length, self.start, self.end = contig, length, start, end

    def send_place(self) -> None:
        """Tell the browser where to be; it stays if its person moves at this moment."""
        self.send({"kind": "view", **self.place})

    def _handle_msg(self, data: Message) -> None:
        kind = data.get("kind", "")
        if "bounds" in data and kind in ("hello", "resize", "view"):
            self.width = max(int(data["width"]), 1)
            start, end = map(float, data["bounds"])
            is_own = kind == "view" and data.get("contig") == self.contig and bool(self.contig)
            if is_own and 0 <= start < end <= self.length:
                self.start, self.end, self.is_moved = start, end, True
        if "moves" in data:
            self._n_moves = int(data["moves"])
        super()._handle_msg(data)
