"""Frames where no server shows the picture: in a notebook, HoloViews draws and sends them.

A notebook tells of a zoom through HoloViews' streams alone, and does not say what it has painted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import holoviews as hv
import numpy as np

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.pages.pangenome.picture.frame import Frame
from genoviz_app.pages.pangenome.picture.frames import Draw
from genoviz_app.plots.graph_picture import empty_image, index_image, streamed_picture

SIZE = (700, 480)
N_REMEMBERED = 16


class NotebookFrames:
    """Does in a notebook what `FrameLoop` does in a server, with the same arguments.

    Attributes
    ----------
    view
        The HoloViews object to show.
    """

    def __init__(
        self,
        draw: Draw,
        *,
        has_news: Callable[[], bool],
        on_shown: Callable[[Frame], None],
        on_moved: Callable[[], None],
    ) -> None:
        self._draw, self._has_news = draw, has_news
        self._on_shown, self._on_moved = on_shown, on_moved
        self._pipe = hv.streams.Pipe(data=0)
        self._own_view: Viewport | None = None
        self._told: tuple = ()
        self._shown: deque[tuple] = deque(maxlen=N_REMEMBERED)
        self.viewport: Viewport | None = None
        self.view = streamed_picture(self._make_image, [self._pipe, hv.streams.RangeXY()])

    def pump(self) -> None:
        """Draw if there is something new."""
        if self._has_news():
            self.request()

    def request(self) -> None:
        """Draw again."""
        self._pipe.send(self._pipe.data + 1)

    def follow(self) -> None:
        """Let the view follow the layout again."""
        self._own_view = None
        self.request()

    def show(self, viewport: Viewport) -> None:
        """Show a given view from now on."""
        self._own_view = viewport
        self.request()

    def detach(self) -> None:
        """Do nothing; a notebook closes no tab."""

    def _make_image(self, data: int, x_range: Any, y_range: Any) -> hv.Image:
        del data
        if self._is_moved(x_range, y_range):
            self._own_view = Viewport(*x_range, *y_range, *SIZE)
        frame = self._draw(*SIZE, self._own_view)
        if frame is None:
            return empty_image()
        view, last = frame.viewport, self.viewport
        self.viewport = view
        self._shown.append((view.x_min, view.x_max, view.y_min, view.y_max))
        self._on_shown(frame)
        if view != last:
            self._on_moved()
        return index_image(frame.indices, frame.viewport, frame.palette)

    def _is_moved(self, x_range: Any, y_range: Any) -> bool:
        """Tell whether the ranges are a person's, rather than those of a frame shown before."""
        if x_range is None or y_range is None:
            return False
        ranges = (*x_range, *y_range)
        if ranges == self._told:
            return False
        self._told = ranges
        return not any(np.allclose(ranges, shown, rtol=1e-6, atol=0) for shown in self._shown)
