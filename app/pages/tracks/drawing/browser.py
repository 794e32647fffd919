"""All tracks over one stretch of a contig: moved by mouse and keys, drawn anew as it moves."""

from __future__ import annotations

from collections.abc import Callable

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.drawing import Drawing, TrackDrawer
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.frame_message import frame_message
from genoviz_app.pages.tracks.drawing.frames import FrameLoop
from genoviz_app.pages.tracks.drawing.lanes import TrackRow
from genoviz_app.pages.tracks.drawing.margin import row_at
from genoviz_app.pages.tracks.drawing.overview import OverviewStrip
from genoviz_app.pages.tracks.drawing.pointing import Pointing
from genoviz_app.pages.tracks.drawing.rearranging import Rearranging
from genoviz_app.pages.tracks.drawing.track_canvas import TrackCanvas
from genoviz_app.pages.tracks.track import Track
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.canvas_component import Message

SMALLEST_VIEW = 20
LEAST_HEIGHT = 240


class TrackBrowser:
    """The canvas of all tracks, and what it shows.

    What is set is drawn by the next `flush`: at once, or while a browser shows the canvas, in a
    render thread.

    Attributes
    ----------
    chosen
        The track that a person has chosen, or None.
    drawing
        What was drawn last.
    n_drawn
        How often the tracks were drawn.
    on_choose
        Set by the owner: called when a person chooses a track, or changes its look on the canvas.
    canvas, panel
        The Panel object.
    frames
        What feeds the canvas.
    """

    def __init__(self, tracks: TrackList) -> None:
        self._tracks, self._drawer, self._overview = tracks, TrackDrawer(), OverviewStrip()
        self.on_choose: Callable[[Track], None] = lambda _track: None
        self.chosen: Track | None = None
        self.drawing: Drawing | None = None
        self.n_drawn = 0
        self._is_stale = self._has_moved = False
        self.canvas = self.panel = TrackCanvas(
            sizing_mode="stretch_both", min_height=LEAST_HEIGHT, margin=0
        )
        self.frames = FrameLoop(
            self.canvas, self._make, on_made=self._take_drawing, on_hello=self._send_all
        )
        self.pointing = Pointing(self)
        self.rearranging = Rearranging(self, tracks)

    @property
    def contig(self) -> str:
        """The contig that is shown; "" for none."""
        return self.canvas.contig

    @property
    def length(self) -> int:
        """Its length in bp."""
        return self.canvas.length

    @property
    def shown(self) -> tuple[float, float]:
        """The stretch that is shown; 0-based, bp."""
        return self.canvas.start, self.canvas.end

    @property
    def region(self) -> PathRegion | None:
        """The stretch that is shown, in whole bases; None without a contig."""
        if not self.contig:
            return None
        start, end = self.shown
        first = min(max(round(start), 0), self.length - 1)
        return PathRegion(self.contig, first, min(max(round(end), first + 1), self.length))

    @property
    def view(self) -> View:
        """What the canvas shows."""
        return self.canvas.view

    def look_at(self, region: PathRegion, length: int) -> None:
        """Show a region of a contig of that length."""
        length = max(length, 1)
        least = min(SMALLEST_VIEW, length)
        start, end = float(region.start), float(region.end)
        if end - start < least:
            middle = (start + end) / 2
            start = min(max(middle - least / 2, 0.0), length - least)
            end = start + least
        self._go(region.path, length, max(start, 0.0), min(end, float(length)))

    def zoom(self, factor: float) -> None:
        """Show ``factor`` times as much, around the same middle."""
        start, end = self.shown
        middle, half = (start + end) / 2, max((end - start) * factor, SMALLEST_VIEW) / 2
        first, last = max(middle - half, 0.0), min(middle + half, float(self.length))
        self._go(self.contig, self.length, first, last)

    def clear(self) -> None:
        """Show no contig."""
        self._go("", 1, 0.0, 1.0)

    def refresh(self) -> None:
        """Draw anew: tracks or their looks are others."""
        self._is_stale = True

    def choose(self, track: Track | None) -> None:
        """Mark a track as chosen."""
        self.chosen, self._is_stale = track, True

    def flush(self) -> None:
        """Draw what has changed; under the lock of the document that shows the canvas."""
        if self.frames.document is None:
            if self._is_stale:
                self._is_stale = self._has_moved = False
                self._take_drawing(self._draw())
            return
        if self._has_moved:
            self._has_moved = False
            self.canvas.send_place()
        if self._is_stale:
            self._is_stale = False
            self.frames.request()
        self.frames.pump()

    def close(self) -> None:
        """Draw no more; the tab is closed."""
        self.frames.detach()

    def row_at(self, y: float) -> TrackRow | None:
        """Return the first track of the lane at a height of the canvas, or None."""
        return row_at(self.drawing, y)

    def _go(self, contig: str, length: int, start: float, end: float) -> None:
        self.canvas.look_at(contig, length, start, end)
        self._is_stale = self._has_moved = True

    def _draw(self) -> Drawing:
        tracks = list(self._tracks) if self.contig else []
        return self._drawer.draw(tracks, self.view, self.length)

    def _make(self) -> tuple[Drawing, Message]:
        """Draw, and say so to the browser; runs in a render thread."""
        drawing = self._draw()
        tracks = list(self._tracks)
        shown, view = [row.track for row in drawing.rows], drawing.view
        news = self._overview.news(shown, view.contig, self.length, view.width)
        hidden = [track for track in tracks if track.look.is_hidden]
        return drawing, frame_message(drawing, chosen=self.chosen, hidden=hidden, overview=news)

    def _take_drawing(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.n_drawn += 1

    def _send_all(self) -> None:
        self._overview.forget()
        self.canvas.send_place()
