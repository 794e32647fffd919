"""Frames of the live picture, of the user's view or the moving layout, and hovering."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.backend import explain_gpu_failure
from genoviz.errors import BackendError
from genoviz_app.pages.pangenome.picture.frame import Frame, Palette, frame_message
from genoviz_app.pages.pangenome.picture.graph_canvas import GraphCanvas, GraphView
from genoviz_app.parts.canvas_component import FrameLoop, Message

RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-render")
"""Draws the frames of all tabs; the kernels release the interpreter lock."""
Draw = Callable[[int, int, Viewport | None], Frame | None]
Ready = tuple[tuple[Frame, bool], Message]
Line = tuple[float, float, float, float]


class PictureFrames(FrameLoop):
    """Supplies the canvas of a graph with frames of its layout.

    Parameters
    ----------
    draw
        Called in a render thread with width and height (pixels) and the user's own viewport, or
        None while the picture follows the layout. Returns the frame, or None for no picture.
    has_news
        Returns whether a redraw is necessary.
    is_live
        Returns whether the layout is moving, so that a frame may be sent ahead.
    on_shown
        Called under the document lock when a frame was sent to the browser.
    on_moved
        Called under the document lock when the view has changed.
    on_failed
        Called under the document lock with the error of a failed frame.
    view
        The canvas; by default, one of a page.

    Attributes
    ----------
    view
        The canvas.
    follows
        Whether the view follows the layout, instead of being the user's own.
    """

    def __init__(
        self,
        draw: Draw,
        *,
        has_news: Callable[[], bool] = lambda: False,
        is_live: Callable[[], bool] = lambda: False,
        on_shown: Callable[[Frame], None] = lambda _frame: None,
        on_moved: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda _error: None,
        view: GraphView | None = None,
    ) -> None:
        self._draw, self._has_news, self._is_live = draw, has_news, is_live
        self._on_shown, self._on_moved = on_shown, on_moved
        self.view = view or GraphCanvas(sizing_mode="stretch_both", min_height=110, margin=0)
        super().__init__(
            self.view,
            RENDERER,
            self._draw_frame,
            on_hello=self._forget_palette,
            on_failed=on_failed,
        )
        self.view.listen("view", self._on_view)
        self.view.listen("fit", lambda _: self.follow())
        self._sent_palette: Palette | None = None
        self.follows = True

    @property
    def viewport(self) -> Viewport | None:
        """The current view of the canvas; None before the browser has reported its size."""
        return self.view.viewport

    def follow(self) -> None:
        """Make the view follow the layout again."""
        self.follows = True
        self.request()

    def show(self, viewport: Viewport) -> None:
        """Show a given view from now on."""
        self.follows = False
        if self.document is not None:
            self.view.look_at(viewport)
            self._on_moved()
        self.request()

    def pump(self) -> None:
        """Send and draw pending frames; called periodically, and after each painted frame."""
        if self.document is None or min(self.view.size) < 1:
            return
        if self._has_news():
            self._is_wanted = True
        super().pump()

    def _max_in_flight(self) -> int:
        return 2 if self._is_live() else 1

    def _next(self) -> Callable[[], Ready | None]:
        own_view = None if self.follows else self.view.viewport
        return partial(self._make, *self.view.size, own_view)

    def _draw_frame(self, width: int, height: int, own_view: Viewport | None) -> Ready | None:
        """Draw a frame and create its message; runs in a render thread."""
        try:
            frame = self._draw(width, height, own_view)
        except Exception as error:
            if failure := explain_gpu_failure(error):
                raise BackendError(failure) from error
            raise
        if frame is None:
            return None
        message = frame_message(frame, with_palette=frame.palette != self._sent_palette)
        return (frame, own_view is None), message

    def _send(self, drawn: tuple[Frame, bool], message: Message) -> None:
        frame, is_fitted = drawn
        follows = is_fitted and self.follows
        has_moved = frame.viewport != self.view.viewport
        if follows:
            self.view.expect(frame.viewport)
        elif has_moved:
            self._is_wanted = True
        self._sent_palette = frame.palette
        super()._send(frame, {**message, "follows": follows})
        self._on_shown(frame)
        if follows and has_moved:
            self._on_moved()

    def _forget_palette(self) -> None:
        self._sent_palette = None

    def _on_view(self, _message: Message) -> None:
        self.follows = False
        self._on_moved()
        self.request()


@dataclass(frozen=True)
class FoundNode:
    """The node under the pointer.

    Attributes
    ----------
    node
        Its index.
    text
        Description, in lines.
    lines
        Its visible position: ``(x0, y0, x1, y1)`` in the plane of the picture.
    """

    node: int
    text: str
    lines: tuple[Line, ...]

    @property
    def message(self) -> dict[str, Any]:
        """The message that shows it in the browser."""
        return {"text": self.text, "lines": [list(line) for line in self.lines]}


class Hovering:
    """Remembers the position of the pointer, and finds the node there.

    Parameters
    ----------
    find_node
        Takes x and y in the plane of the picture; returns the node there or None.
    """

    def __init__(self, find_node: Callable[[float, float], FoundNode | None]) -> None:
        self._find_node = find_node
        self._place: tuple[float, float] | None = None

    def point(self, x: float, y: float) -> dict[str, Any] | None:
        """Set the position; return the message on the node there, or None."""
        self._place = (x, y)
        return self.look()

    def leave(self) -> None:
        """Forget the pointer."""
        self._place = None

    def look(self) -> dict[str, Any] | None:
        """Return the message on the node that is under the pointer now, or None."""
        place = self._place
        found = None if place is None else self._find_node(*place)
        return None if found is None else found.message
