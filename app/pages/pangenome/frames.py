"""Frames of the live picture: one in flight, and the next drawn in the meantime.

The browser answers each frame after painting it, and only then gets the next, always the newest
that there is. So a slow browser gets fewer frames and never a backlog.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from app.pages.pangenome.browser_figure import BrowserFigure, Frame
from genoviz.analyses.viewport import Viewport

log = logging.getLogger(__name__)

LOST_FRAME_SECONDS = 4.0

RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-render")
"""Draws the frames of all tabs; the kernels release the interpreter lock."""

Draw = Callable[[int, int, Viewport | None], Frame | None]


class FrameLoop:
    """Feeds one figure with frames.

    Parameters
    ----------
    draw
        Called in a render thread with width and height (pixels) and the person's own viewport,
        or None while the picture follows the layout; returns the frame, or None for no picture.
    has_news
        Tells whether there is something new to draw.
    on_shown
        Called under the document lock when a frame has been handed to the browser.

    Attributes
    ----------
    follows
        Whether the view follows the layout, rather than being the person's own.
    n_painted
        Frames that the browser has painted.
    """

    def __init__(
        self,
        draw: Draw,
        *,
        has_news: Callable[[], bool] = lambda: False,
        on_shown: Callable[[Frame], None] = lambda _frame: None,
    ) -> None:
        self._draw, self._has_news, self._on_shown = draw, has_news, on_shown
        self._browser: BrowserFigure | None = None
        self._is_wanted = False
        self._is_drawing = False
        self._ready: tuple[Frame, bool] | None = None
        self._in_flight_since: float | None = None
        self.follows = True
        self.n_painted = 0

    def attach(self, figure: Any, source: Any, mapper: Any, document: Any) -> None:
        """Take the models of a figure that is about to be shown."""
        self._is_drawing, self._ready, self._in_flight_since = False, None, None
        self._browser = BrowserFigure(
            figure,
            source,
            mapper,
            document,
            on_painted=self._take_painted,
            on_moved=self._take_moved,
            on_resized=self.request,
        )
        self.request()

    def detach(self) -> None:
        """Stop: the tab is closed."""
        self._browser = None

    @property
    def viewport(self) -> Viewport | None:
        """What the figure shows now; None before the browser has told its size."""
        return None if self._browser is None else self._browser.viewport

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
        if self._browser is not None:
            self._browser.look_at(viewport)
        self.request()

    def pump(self) -> None:
        """Send and draw what can be sent and drawn; called now and then, and when painted."""
        browser, now = self._browser, time.monotonic()
        if browser is None or min(browser.size) < 1:
            return
        since = self._in_flight_since
        if since is not None and now - since > LOST_FRAME_SECONDS:
            self._in_flight_since = None
        if self._ready is not None and self._in_flight_since is None:
            frame, is_fitted = self._ready
            self._ready = None
            self._in_flight_since = now
            self._send(browser, frame, is_fitted)
        if self._has_news():
            self._is_wanted = True
        if self._is_wanted and not self._is_drawing and self._ready is None:
            self._is_wanted, self._is_drawing = False, True
            own_view = None if self.follows else browser.viewport
            future = RENDERER.submit(self._draw, *browser.size, own_view)
            future.add_done_callback(partial(self._hand_over, browser, own_view is None))

    def _hand_over(self, browser: BrowserFigure, is_fitted: bool, future: Future) -> None:
        """Go from the render thread to the document's."""
        if self._browser is browser:
            browser.document.add_next_tick_callback(
                partial(self._take_drawn, browser, is_fitted, future)
            )

    def _take_drawn(self, browser: BrowserFigure, is_fitted: bool, future: Future) -> None:
        if self._browser is not browser:
            return
        self._is_drawing = False
        error = future.exception()
        if error is not None:
            log.error("a frame could not be drawn", exc_info=error)
        elif future.result() is not None:
            self._ready = (future.result(), is_fitted)
        self.pump()

    def _send(self, browser: BrowserFigure, frame: Frame, is_fitted: bool) -> None:
        if is_fitted and self.follows:
            browser.look_at(frame.viewport)
        elif frame.viewport != browser.viewport:
            self._is_wanted = True
        browser.put(frame)
        self._on_shown(frame)

    def _take_painted(self) -> None:
        if self._in_flight_since is not None:
            self.n_painted += 1
        self._in_flight_since = None
        self.pump()

    def _take_moved(self) -> None:
        self.follows = False
        self.request()
