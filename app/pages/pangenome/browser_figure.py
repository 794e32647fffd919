"""A Bokeh figure as the frames see it: where it looks, how large it is, what it has painted.

Everything here runs under the document lock. The viewport is read from the figure's ranges, so
zoom and pan go through no event queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJS

from app.plots.palettes import Palette
from genoviz.analyses.viewport import Viewport

CLIENT_NAME = "painted-frames"
MIN_EXTENT, MAX_EXTENT = 0.1, 1e13

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


class BrowserFigure:
    """The models of one figure in one browser tab.

    Parameters
    ----------
    figure, source, mapper
        Bokeh's figure, the source of its image and the colour mapper.
    document
        The document that they belong to.
    on_painted, on_moved, on_resized
        Called when the browser has painted the last frame, when a person has zoomed or panned,
        and when the figure has another size.
    """

    def __init__(
        self,
        figure: Any,
        source: Any,
        mapper: Any,
        document: Any,
        *,
        on_painted: Callable[[], None],
        on_moved: Callable[[], None],
        on_resized: Callable[[], None],
    ) -> None:
        self.document = document
        self.size = (0, 0)
        self._figure, self._source, self._mapper = figure, source, mapper
        self._on_painted, self._on_moved, self._on_resized = on_painted, on_moved, on_resized
        self._n_sent = 0
        self._is_moving = False
        self.client = ColumnDataSource(
            name=CLIENT_NAME, data={"n": [0], "width": [0], "height": [0]}
        )
        self.client.on_change("data", self._take_answer)
        models = {"client": self.client, "figure": figure, "source": source}
        for name in ("inner_width", "inner_height"):
            figure.js_on_change(name, CustomJS(args=models, code=SIZE_CODE))
        source.js_on_change("data", CustomJS(args=models, code=PAINTED_CODE))
        for axis_range in (figure.x_range, figure.y_range):
            axis_range.update(min_interval=MIN_EXTENT, max_interval=MAX_EXTENT)
            for name in ("start", "end"):
                axis_range.on_change(name, self._take_move)

    @property
    def viewport(self) -> Viewport | None:
        """What the figure shows now; None before the browser has told its size."""
        if min(self.size) < 1:
            return None
        x, y = self._figure.x_range, self._figure.y_range
        left, right = sorted((x.start, x.end))
        bottom, top = sorted((y.start, y.end))
        return Viewport(left, right, bottom, top, *self.size)

    def look_at(self, view: Viewport) -> None:
        """Move the figure's ranges to a view."""
        self._is_moving = True
        try:
            self._figure.x_range.update(start=view.x_min, end=view.x_max)
            self._figure.y_range.update(start=view.y_min, end=view.y_max)
        finally:
            self._is_moving = False

    def put(self, frame: Frame) -> None:
        """Hand a frame to the browser; it stands where it belongs, whatever the ranges are."""
        view = frame.viewport
        if tuple(self._mapper.palette) != frame.palette:
            self._mapper.palette = list(frame.palette)
        self._n_sent += 1
        self._source.data = {
            "image": [frame.indices],
            "x": [view.x_min],
            "y": [view.y_min],
            "dw": [view.x_max - view.x_min],
            "dh": [view.y_max - view.y_min],
            "n": [self._n_sent],
        }

    def _take_answer(self, _attr: str, _old: Any, new: dict[str, list]) -> None:
        size = (int(new["width"][0]), int(new["height"][0]))
        if size != self.size and min(size) > 0:
            self._resize(size)
        if self._n_sent and new["n"][0] == self._n_sent:
            self._on_painted()

    def _resize(self, size: tuple[int, int]) -> None:
        """Take another size, and keep the scale of what is shown."""
        view = self.viewport
        self.size = size
        if view is not None:
            x_scale, y_scale = view.bp_per_pixel
            x, y = (view.x_min + view.x_max) / 2, (view.y_min + view.y_max) / 2
            self.look_at(Viewport.around(x, y, x_scale * size[0], y_scale * size[1], *size))
        self._on_resized()

    def _take_move(self, _attr: str, _old: Any, _new: Any) -> None:
        if not self._is_moving:
            self._on_moved()
