"""All tracks over one interval of a contig: drawing, and user actions on the canvas.

The user moves the view, hovers over bases, clicks tracks and features, and moves, resizes, hides
and removes tracks. The canvas sends a message for each action, which one method handles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import TrackRow
from genoviz_app.pages.tracks.drawing.margin import describe_value, feature_card, row_at
from genoviz_app.pages.tracks.drawing.summaries import OverviewStrip
from genoviz_app.pages.tracks.drawing.track_canvas import TrackCanvas, frame_message, track_id
from genoviz_app.pages.tracks.drawing.track_drawer import Drawing, TrackDrawer
from genoviz_app.pages.tracks.track import MAX_HEIGHT, MIN_HEIGHT, Track
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.canvas_component import FrameLoop, Message
from genoviz_app.plots.lit_stretches import LitAlong
from genoviz_app.server.right_of_way import CORES

SMALLEST_VIEW = 20
MIN_CANVAS_HEIGHT = 240
RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-tracks")
"""Draws the tracks of all tabs; the kernels release the interpreter lock."""


class TrackBrowser:
    """The canvas of all tracks and its view.

    The next `flush` draws all changes: immediately, or in a render thread while a browser shows the
    canvas.

    Attributes
    ----------
    chosen
        The selected track, or None.
    drawing
        The latest drawing.
    feature
        Name and position of the last clicked feature, or None.
    on_choose
        Set by the owner: called when the user selects a track, or changes its style on the canvas.
    canvas, panel
        The Panel object.
    frames
        The loop that sends frames to the canvas.
    """

    def __init__(self, tracks: TrackList) -> None:
        self._tracks, self._drawer, self._overview = tracks, TrackDrawer(), OverviewStrip()
        self.on_choose: Callable[[Track], None] = lambda _track: None
        self.chosen: Track | None = None
        self.drawing: Drawing | None = None
        self.feature: tuple[str, PathRegion] | None = None
        self._lit: tuple[LitAlong, ...] = ()
        self._is_stale = self._has_moved = False
        self.canvas = self.panel = TrackCanvas(
            sizing_mode="stretch_both", min_height=MIN_CANVAS_HEIGHT, margin=0
        )
        self.frames = FrameLoop(
            self.canvas, RENDERER, self._make, on_made=self._on_drawing, on_hello=self._on_hello
        )
        self.canvas.listen("view", lambda _message: self.frames.request())
        self._listen()

    @property
    def contig(self) -> str:
        """The displayed contig; "" for none."""
        return self.canvas.contig

    @property
    def length(self) -> int:
        """Length of the contig, bp."""
        return self.canvas.length

    @property
    def shown(self) -> tuple[float, float]:
        """The visible interval; 0-based, bp."""
        return self.canvas.start, self.canvas.end

    @property
    def region(self) -> PathRegion | None:
        """The visible region, rounded to whole bases; None without a contig."""
        if not self.contig:
            return None
        start, end = self.shown
        first = min(max(round(start), 0), self.length - 1)
        return PathRegion(self.contig, first, min(max(round(end), first + 1), self.length))

    @property
    def view(self) -> View:
        """The current view of the canvas."""
        return self.canvas.view

    def look_at(self, region: PathRegion, length: int) -> None:
        """Show a region of a contig of this length."""
        length = max(length, 1)
        smallest = min(SMALLEST_VIEW, length)
        start, end = float(region.start), float(region.end)
        if end - start < smallest:
            middle = (start + end) / 2
            start = min(max(middle - smallest / 2, 0.0), length - smallest)
            end = start + smallest
        self._go(region.path, length, max(start, 0.0), min(end, float(length)))

    def zoom(self, factor: float) -> None:
        """Change the visible length by ``factor`` around the same centre."""
        start, end = self.shown
        middle, half = (start + end) / 2, max((end - start) * factor, SMALLEST_VIEW) / 2
        first, last = max(middle - half, 0.0), min(middle + half, float(self.length))
        self._go(self.contig, self.length, first, last)

    def clear(self) -> None:
        """Show no contig."""
        self._go("", 1, 0.0, 1.0)

    def refresh(self) -> None:
        """Redraw because tracks or styles have changed."""
        self._is_stale = True

    def choose(self, track: Track | None) -> None:
        """Mark a track as selected."""
        self.chosen, self._is_stale = track, True

    def show_lit(self, lit: Sequence[LitAlong]) -> None:
        """Draw the highlights of the displayed contig."""
        self._lit, self._is_stale = tuple(lit), True

    def flush(self) -> None:
        """Draw pending changes; needs the lock of the canvas's document."""
        if self.frames.document is None:
            if self._is_stale:
                self._is_stale = self._has_moved = False
                self._on_drawing(self._draw())
            return
        if self._has_moved:
            self._has_moved = False
            self.canvas.send_place()
        if self._is_stale:
            self._is_stale = False
            self.frames.request()
        self.frames.pump()

    def close(self) -> None:
        """Stop drawing, because the tab was closed."""
        self.frames.detach()

    def row_at(self, y: float) -> TrackRow | None:
        """Return the first track of the lane at a height on the canvas, or None."""
        return row_at(self.drawing, y)

    def _go(self, contig: str, length: int, start: float, end: float) -> None:
        self.canvas.look_at(contig, length, start, end)
        self._is_stale = self._has_moved = True

    def _draw(self) -> Drawing:
        tracks = list(self._tracks) if self.contig else []
        return self._drawer.draw(tracks, self.view, self.length)

    def _make(self) -> tuple[Drawing, Message]:
        """Draw, and return the message to the browser; runs in a render thread."""
        with CORES.short():
            return self._make_frame()

    def _make_frame(self) -> tuple[Drawing, Message]:
        drawing = self._draw()
        tracks = list(self._tracks)
        shown, view = [row.track for row in drawing.rows], drawing.view
        news = self._overview.news(shown, view.contig, self.length, view.width)
        hidden = [track for track in tracks if track.look.is_hidden]
        return drawing, frame_message(
            drawing, chosen=self.chosen, hidden=hidden, overview=news, lit=self._lit
        )

    def _on_drawing(self, drawing: Drawing) -> None:
        self.drawing = drawing

    def _on_hello(self) -> None:
        self._overview.forget()
        self.canvas.send_place()

    def _listen(self) -> None:
        self.canvas.listen("point", self._on_point)
        self.canvas.listen("click", self._on_click)
        self.canvas.listen("go", self._on_go)
        on_track = {
            "choose": lambda _track, _message: None,
            "place": self._on_place,
            "height": self._on_height,
            "hide": self._on_hide,
            "remove": lambda track, _message: self._tracks.remove(track),
        }
        for kind, act in on_track.items():
            self.canvas.listen(kind, partial(self._on_track, act))

    def values_at(self, position: int) -> dict[str, str]:
        """Return the value of each track at a base, keyed by the track's name in messages."""
        if self.drawing is None or not 0 <= position < self.length:
            return {}
        rows = self.drawing.rows
        return {track_id(row.track): describe_value(row, self.contig, position) for row in rows}

    def _on_point(self, message: Message) -> None:
        position, y = float(message["position"]), float(message["y"])
        tip = feature_card(self.drawing, position, y)
        self.canvas.send({"kind": "values", "values": self.values_at(int(position)), "tip": tip})

    def _on_click(self, message: Message) -> None:
        position, y = float(message["position"]), float(message["y"])
        row = self.row_at(y)
        if row is not None:
            self.choose(row.track)
            self.on_choose(row.track)
        tip = feature_card(self.drawing, position, y)
        self.feature = None
        if tip is not None:
            self.feature = tip["title"], PathRegion(self.contig, *tip["bounds"])
        self.canvas.send({"kind": "card", "tip": tip, "position": position, "y": y})
        self.flush()

    def _on_go(self, message: Message) -> None:
        """Show a whole feature with a margin."""
        start, end = map(int, message["bounds"])
        room = max((end - start) // 10, 1)
        region = PathRegion(self.contig, max(start - room, 0), min(end + room, self.length))
        self.look_at(region, self.length)
        self.flush()

    def _on_track(self, act: Callable[[Track, Message], None], message: Message) -> None:
        """Apply an action to the track of a message, and select it if it still exists."""
        track = self._find(message["track"])
        if track is None:
            return
        act(track, message)
        if track in self._tracks.tracks:
            self.choose(track)
            self.on_choose(track)
        self.flush()

    def _find(self, name: str | None) -> Track | None:
        return next((track for track in self._tracks if track_id(track) == name), None)

    def _on_place(self, track: Track, message: Message) -> None:
        onto = self._find(message.get("onto"))
        if onto is not None:
            self._tracks.overlay(track, onto)
        else:
            self._tracks.place(track, self._find(message.get("before")))

    def _on_height(self, track: Track, message: Message) -> None:
        track.look.height = min(max(int(message["height"]), MIN_HEIGHT), MAX_HEIGHT)

    def _on_hide(self, track: Track, message: Message) -> None:
        track.look.is_hidden = bool(message["is_hidden"])
