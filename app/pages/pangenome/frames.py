"""Frames of the live picture: one in flight, the next only when the browser has painted it.

Bokeh's image model gets palette indices, one byte a pixel. The viewport is read from the figure's
ranges when a frame begins, so zoom and pan need no event queue; the browser answers each frame
after painting it, so a slow one gets fewer frames and never a backlog.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJS

from app.plots.palettes import Palette
from genoviz.analyses.viewport import Viewport

log = logging.getLogger(__name__)

CLIENT_NAME = "painted-frames"
MIN_FRAME_SECONDS = 0.04
LOST_FRAME_SECONDS = 4.0
MIN_EXTENT, MAX_EXTENT = 0.1, 1e13

RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-render")
"""Draws the frames of all tabs; the kernels release the interpreter lock."""

SIZE_CODE = """
const {n} = client.data
client.data = {n, width: [figure.inner_width], height: [figure.inner_height]}
"""
PAINTED_CODE = """
requestAnimationFrame(() => requestAnimationFrame(() => {
  client.data = {n: [source.data.n[0]], width: [figure.inner_width], height: [figure.inner_height]}
}))
"""


@dataclass(frozen=True)
class Frame:
    """A drawn picture and all that the browser needs for it.

    Attributes
    ----------
    indices
        uint8, (height, width): palette indices, row 0 at the bottom.
    viewport
        What the picture shows.
    palette
        256 colours.
    facts
        Whatever the one who drew it wants back when it is shown.
    """

    indices: np.ndarray
    viewport: Viewport
    palette: Palette
    facts: dict[str, Any] = field(default_factory=dict)


Draw = Callable[[int, int, Viewport | None], Frame | None]


class FrameLoop:
    """Feeds one Bokeh figure with frames.

    Parameters
    ----------
    draw
        Called in a render thread with width and height (pixels) and the person's own viewport,
        or None while the picture follows the layout; returns the frame, or None for no picture.
    on_shown
        Called under the document lock when a frame has been handed to the browser.
    """

    def __init__(self, draw: Draw, on_shown: Callable[[Frame], None]) -> None:
        self._draw = draw
        self._on_shown = on_shown
        self._document = None
        self._client: ColumnDataSource | None = None
        self._is_wanted = False
        self._is_timed = False
        self._in_flight_since: float | None = None
        self._sent_at = 0.0
        self._n_sent = 0
        self._is_setting_ranges = False
        self.size = (0, 0)
        self.n_painted = 0
        self.follows = True

    def attach(self, figure: Any, source: Any, mapper: Any, document: Any) -> None:
        """Take the models of a figure that is about to be shown."""
        self._figure, self._source, self._mapper = figure, source, mapper
        self._document = document
        self._in_flight_since = None
        self._client = ColumnDataSource(
            name=CLIENT_NAME, data={"n": [0], "width": [0], "height": [0]}
        )
        self._client.on_change("data", self._take_answer)
        models = {"client": self._client, "figure": figure, "source": source}
        for name in ("inner_width", "inner_height"):
            figure.js_on_change(name, CustomJS(args=models, code=SIZE_CODE))
        source.js_on_change("data", CustomJS(args=models, code=PAINTED_CODE))
        for axis_range in (figure.x_range, figure.y_range):
            axis_range.update(min_interval=MIN_EXTENT, max_interval=MAX_EXTENT)
            for name in ("start", "end"):
                axis_range.on_change(name, self._take_range)
        self.request()

    def detach(self) -> None:
        """Stop: the tab is closed."""
        self._document = None

    def request(self) -> None:
        """Ask for a new frame: the layout, the colours or the view have changed."""
        self._is_wanted = True
        self.pump()

    def follow(self) -> None:
        """Let the view follow the layout again."""
        self.follows = True
        self.request()

    def show(self, viewport: Viewport) -> None:
        """Show a given view from now on."""
        self.follows = False
        self._set_ranges(viewport)
        self.request()

    @property
    def viewport(self) -> Viewport | None:
        """What the figure shows now; None before the browser has told its size."""
        if self._document is None or min(self.size) < 1:
            return None
        x, y = self._figure.x_range, self._figure.y_range
        left, right = sorted((x.start, x.end))
        bottom, top = sorted((y.start, y.end))
        return Viewport(left, right, bottom, top, *self.size)

    def pump(self) -> None:
        """Begin the next frame if one is wanted and none is in flight; call this now and then."""
        now = time.monotonic()
        if self._in_flight_since is not None and now - self._in_flight_since < LOST_FRAME_SECONDS:
            return
        if not self._is_wanted or self._document is None or min(self.size) < 1:
            return
        wait = self._sent_at + MIN_FRAME_SECONDS - now
        if wait > 0:
            self._pump_later(wait)
            return
        self._is_wanted = False
        self._in_flight_since = now
        own_view = None if self.follows else self.viewport
        future = RENDERER.submit(self._draw, *self.size, own_view)
        future.add_done_callback(partial(self._hand_over, self._document, own_view is None))

    def _pump_later(self, seconds: float) -> None:
        if not self._is_timed:
            self._is_timed = True
            self._document.add_timeout_callback(self._pump_timed, max(round(1000 * seconds), 1))

    def _pump_timed(self) -> None:
        self._is_timed = False
        self.pump()

    def _hand_over(self, document: Any, is_fitted: bool, future: Future) -> None:
        if self._document is document:
            document.add_next_tick_callback(partial(self._send, future, is_fitted))

    def _send(self, future: Future, is_fitted: bool) -> None:
        error = future.exception()
        frame = None if error else future.result()
        if error is not None:
            log.error("a frame could not be drawn", exc_info=error)
        if frame is None or self._document is None:
            self._in_flight_since = None
            return
        view = frame.viewport
        if is_fitted and self.follows:
            self._set_ranges(view)
        if tuple(self._mapper.palette) != frame.palette:
            self._mapper.palette = list(frame.palette)
        self._n_sent += 1
        self._sent_at = time.monotonic()
        self._source.data = {
            "image": [frame.indices],
            "x": [view.x_min],
            "y": [view.y_min],
            "dw": [view.x_max - view.x_min],
            "dh": [view.y_max - view.y_min],
            "n": [self._n_sent],
        }
        self._on_shown(frame)

    def _take_answer(self, _attr: str, _old: Any, new: dict[str, list]) -> None:
        if new["n"][0] == self._n_sent and self._n_sent:
            if self._in_flight_since is not None:
                self.n_painted += 1
            self._in_flight_since = None
        size = (int(new["width"][0]), int(new["height"][0]))
        if size != self.size and min(size) > 0:
            self._resize(size)
        self.pump()

    def _resize(self, size: tuple[int, int]) -> None:
        """Keep the scale of the person's own view when the figure changes its shape."""
        view = self.viewport
        self.size = size
        if view is not None and not self.follows:
            x_scale, y_scale = view.bp_per_pixel
            self._set_ranges(
                Viewport.around(
                    (view.x_min + view.x_max) / 2,
                    (view.y_min + view.y_max) / 2,
                    x_scale * size[0],
                    y_scale * size[1],
                    *size,
                )
            )
        self._is_wanted = True

    def _take_range(self, _attr: str, _old: Any, _new: Any) -> None:
        if not self._is_setting_ranges:
            self.follows = False
            self.request()

    def _set_ranges(self, view: Viewport) -> None:
        self._is_setting_ranges = True
        try:
            self._figure.x_range.update(start=view.x_min, end=view.x_max)
            self._figure.y_range.update(start=view.y_min, end=view.y_max)
        finally:
            self._is_setting_ranges = False
