"""Frames of the tracks: one in flight, and the next drawn in the meantime.

The browser answers each frame after painting it, and only then gets the next, always of the view
as it is by then. So a slow browser gets fewer frames and never a backlog.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import panel as pn

from genoviz_app.pages.tracks.drawing.track_canvas import TrackCanvas
from genoviz_app.pages.tracks.drawing.track_drawer import Drawing
from genoviz_app.parts.canvas_component import Message
from genoviz_app.server.right_of_way import CORES

log = logging.getLogger(__name__)
LOST_FRAME_SECONDS = 4.0
RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-tracks")
"""Draws the tracks of all tabs; the kernels release the interpreter lock."""

Made = tuple[Drawing, Message]


class FrameLoop:
    """Feeds one canvas with frames.

    Parameters
    ----------
    canvas
        The canvas.
    make
        Called in a render thread; returns the drawing of the present view and its message.
    on_made
        Called with each drawing, under the document lock.
    on_hello
        Called under the document lock when a browser shows the canvas, and has nothing yet.

    Attributes
    ----------
    document
        Bokeh's document of the tab; None before a browser shows the canvas.
    n_painted
        Frames that the browser has painted.
    """

    def __init__(
        self,
        canvas: TrackCanvas,
        make: Callable[[], Made],
        *,
        on_made: Callable[[Drawing], None],
        on_hello: Callable[[], None],
    ) -> None:
        self.canvas, self._make = canvas, make
        self._call_made, self._call_hello = on_made, on_hello
        self.document: Any = None
        self.n_painted = 0
        self._round = self._n_sent = 0
        self._is_wanted = self._is_drawing = False
        self._ready: Message | None = None
        self._in_flight_since: float | None = None
        canvas.listen("hello", self._on_hello)
        canvas.listen("painted", self._on_painted)
        for kind in ("resize", "view"):
            canvas.listen(kind, lambda _message: self.request())

    def request(self) -> None:
        """Ask for a new frame."""
        self._is_wanted = True
        self.pump()

    def pump(self) -> None:
        """Send and draw what can be sent and drawn; called now and then, and when painted."""
        now = time.monotonic()
        if self.document is None:
            return
        since = self._in_flight_since
        if since is not None and now - since > LOST_FRAME_SECONDS:
            self._in_flight_since = None
        if self._ready is not None and self._in_flight_since is None:
            message, self._ready = self._ready, None
            self._in_flight_since = now
            self._n_sent += 1
            self.canvas.send({**message, "n": self._n_sent})
        if self._is_wanted and not self._is_drawing and self._ready is None:
            self._is_wanted, self._is_drawing = False, True
            future = RENDERER.submit(self._draw)
            future.add_done_callback(partial(self._hand_over, self._round))

    def detach(self) -> None:
        """Stop: the tab is closed."""
        self.document = None
        self._round += 1

    def _draw(self) -> Made:
        with CORES.short():
            return self._make()

    def _hand_over(self, round_: int, future: Future) -> None:
        """Go from the render thread to the document's."""
        document = self.document
        if document is not None and self._round == round_:
            document.add_next_tick_callback(partial(self._on_made, round_, future))

    def _on_made(self, round_: int, future: Future) -> None:
        if self._round != round_:
            return
        self._is_drawing = False
        error = future.exception()
        if error is not None:
            log.error("tracks could not be drawn", exc_info=error)
        else:
            drawing, self._ready = future.result()
            self._call_made(drawing)
        self.pump()

    def _on_hello(self, _message: Message) -> None:
        self._is_drawing, self._ready, self._in_flight_since = False, None, None
        self.document = pn.state.curdoc
        self._round += 1
        self._call_hello()
        self.request()

    def _on_painted(self, message: Message) -> None:
        if message["n"] == self._n_sent:
            if self._in_flight_since is not None:
                self.n_painted += 1
            self._in_flight_since = None
            self.pump()
