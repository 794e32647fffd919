"""All tracks over one stretch of a contig: moved by mouse, drawn anew as it moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove, Tap

from app.pages.tracks.drawing import Drawing, TrackDrawer, TrackRow
from app.pages.tracks.feature_lane import View
from app.pages.tracks.margin import MARGIN_STYLE, margin_html
from app.pages.tracks.summaries import choose_edges
from app.pages.tracks.track import Track
from app.pages.tracks.track_list import TrackList
from app.plots.lane_data import FIRST_BASE
from app.plots.track_lanes import (
    BOX_COLUMNS,
    OVERVIEW_COLUMNS,
    OVERVIEW_PIXELS,
    TrackLanes,
    make_overview,
    no_steps,
)
from app.track_data import TrackKind
from genoviz.model import PathRegion

SMALLEST_VIEW = 20
PAUSE_SECONDS = 0.03
MARGIN_PIXELS, NO_WIDTH = 210, 900
SCROLL = {"overflow-y": "auto", "overflow-x": "hidden", "min-height": "0"}
NO_BOXES = {name: [] for name in BOX_COLUMNS}
NO_STEMS: dict[str, list] = {"x0": [], "x1": [], "y": [], "colour": []}
NO_NAMES: dict[str, list] = {"x": [], "y": [], "text": []}
NO_CLIPS: dict[str, list] = {"left": [], "right": [], "top": [], "bottom": []}


class TrackBrowser:
    """The figure of all tracks with its margin and its overview.

    All that is set is drawn by the next `flush`.

    Attributes
    ----------
    contig, length
        The contig that is shown and its length in bp; "" for none.
    chosen
        The track that a person has chosen, or None.
    drawing
        What was drawn last.
    n_drawn
        How often the tracks were drawn.
    on_choose
        Set by the owner: called when a person chooses a track.
    panel
        The Panel object.
    """

    def __init__(self, tracks: TrackList) -> None:
        self._tracks, self._drawer = tracks, TrackDrawer()
        self.on_choose: Callable[[Track], None] = lambda _track: None
        self.contig, self.length = "", 1
        self.chosen: Track | None = None
        self.drawing: Drawing | None = None
        self.n_drawn = 0
        self._width = NO_WIDTH
        self._pointer: int | None = None
        self._wanted: tuple[float, float] | None = None
        self._is_new = self._is_stale = self._is_hovering = self._is_drawing = False
        self._overview_of: tuple = ()
        self._next_draw = 0.0
        self.lanes = TrackLanes()
        self.overview, self._overview_source = make_overview(self.lanes.figure.x_range)
        self.margin = pn.pane.HTML("", stylesheets=[MARGIN_STYLE], width=MARGIN_PIXELS, margin=0)
        self.panel = self._arrange()
        self._listen()

    def _arrange(self) -> pmui.Column:
        title = pn.pane.HTML(
            "Whole contig", stylesheets=[MARGIN_STYLE], width=MARGIN_PIXELS,
            styles={"padding": "28px 0 0 13px", "box-sizing": "border-box"}, margin=0,
        )  # fmt: skip
        overview = pn.pane.Bokeh(self.overview, sizing_mode="stretch_width", margin=0)
        figure = pn.pane.Bokeh(self.lanes.figure, sizing_mode="stretch_width", margin=0)
        # Without a height: a row of pmui keeps the one that it is given first.
        strips = pmui.Row(
            self.margin, figure, sizing_mode="stretch_width", styles={"flex": "0 0 auto"}, margin=0
        )
        return pmui.Column(
            pmui.Row(
                title, overview, sizing_mode="stretch_width", height=OVERVIEW_PIXELS, margin=0
            ),
            pmui.Column(strips, sizing_mode="stretch_both", styles=SCROLL, margin=(4, 0, 0, 0)),
            sizing_mode="stretch_both",
            styles={"min-height": "0"},
            margin=0,
        )

    def _listen(self) -> None:
        figure = self.lanes.figure
        for name in ("start", "end"):
            figure.x_range.on_change(name, self._take_change)
        figure.on_change("inner_width", self._take_width)
        figure.on_event(MouseMove, self._take_pointer)
        figure.on_event(MouseLeave, self._take_leave)
        figure.on_event(Tap, self._take_tap)

    @property
    def shown(self) -> tuple[float, float]:
        """The stretch that is shown; 0-based, bp."""
        x_range = self.lanes.figure.x_range
        return self._wanted or (
            float(x_range.start) - FIRST_BASE,
            float(x_range.end) - FIRST_BASE,
        )

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
        """What the figure shows."""
        return View(self.contig, *self.shown, self._width)

    def look_at(self, region: PathRegion, length: int) -> None:
        """Show a region of a contig of that length."""
        if (region.path, length) != (self.contig, self.length):
            self.contig, self.length, self._is_new = region.path, max(length, 1), True
        least = min(SMALLEST_VIEW, self.length)
        start, end = float(region.start), float(region.end)
        if end - start < least:
            middle = (start + end) / 2
            start = min(max(middle - least / 2, 0.0), self.length - least)
            end = start + least
        self._wanted = (max(start, 0.0), min(end, float(self.length)))
        self._is_stale = True

    def zoom(self, factor: float) -> None:
        """Show ``factor`` times as much, around the same middle."""
        start, end = self.shown
        middle, half = (start + end) / 2, max((end - start) * factor, SMALLEST_VIEW) / 2
        first, last = max(middle - half, 0.0), min(middle + half, float(self.length))
        self._wanted, self._is_stale = (first, last), True

    def clear(self) -> None:
        """Show no contig."""
        self.contig, self.length, self._is_new, self._is_stale = "", 1, True, True
        self._wanted = (0.0, 1.0)

    def refresh(self) -> None:
        """Draw anew: tracks or their looks are others."""
        self._is_stale = True

    def flush(self) -> None:
        """Draw what has changed, under the lock of the document that shows the figure."""
        if self._is_drawing or not (self._is_stale or self._is_hovering):
            return
        document = self.lanes.figure.document
        if document is None or document.session_context is None:
            self._draw_next()
        else:
            self._is_drawing = True
            document.add_next_tick_callback(self._draw_next)

    def _draw_next(self) -> None:
        self._is_drawing = False
        self._next_draw = time.monotonic() + PAUSE_SECONDS
        self._move()
        with pn.io.hold():
            if self._is_stale:
                self._is_stale = False
                self.draw()
            self._is_hovering = False
            self._show_margin()

    def draw(self) -> None:
        """Bring the figure up to date."""
        self._move()
        start, end = self.shown
        if not start < end:
            return  # one end of the range has come, and the other not yet
        tracks = list(self._tracks) if self.contig else []
        drawing = self._drawer.draw(tracks, self.view, self.length)
        lanes = self.lanes
        if self.drawing is None or drawing.height != self.drawing.height:
            lanes.set_height(max(drawing.height, 1))
        self.drawing = drawing
        self.n_drawn += 1
        lanes.show_areas(drawing.areas)
        for source, columns, empty in (
            (lanes.boxes, drawing.boxes, NO_BOXES),
            (lanes.stems, drawing.stems, NO_STEMS),
            (lanes.names, drawing.names, NO_NAMES),
            (lanes.clips, drawing.clips, NO_CLIPS),
        ):
            if columns or len(next(iter(source.data.values()))):
                source.data = columns or empty
        borders = [float(row.bottom) for row in drawing.rows]
        if borders != list(lanes.borders.data["y"]):
            lanes.borders.data = {"y": borders}
        self._draw_overview(tracks)

    def _move(self) -> None:
        """Show the wanted stretch, and after a change of contig its limits."""
        x_range, overview = self.lanes.figure.x_range, self.overview.x_range
        if self._wanted is None:
            return
        (start, end), self._wanted = self._wanted, None
        if self._is_new:
            x_range.update(bounds=None, min_interval=None)
        x_range.update(start=start + FIRST_BASE, end=end + FIRST_BASE)
        if self._is_new:
            self._is_new = False
            bounds = (FIRST_BASE, self.length + FIRST_BASE)
            x_range.update(bounds=bounds, min_interval=min(SMALLEST_VIEW, self.length))
            overview.update(start=bounds[0], end=bounds[1])

    def _draw_overview(self, tracks: list[Track]) -> None:
        """Draw the first reads, signal or features over the whole contig."""
        first = next((t for t in tracks if t.find_contig(self.contig) is not None), None)
        key = (self.contig, self.length, id(first.data) if first else 0, self._width)
        if key == self._overview_of:
            return
        self._overview_of = key
        if first is None:
            self._overview_source.data = no_steps(OVERVIEW_COLUMNS)
            return
        contig, shift = first.find_contig(self.contig)
        edges = choose_edges(0, self.length, self._width)
        index = first.data.signal if first.data.kind is TrackKind.SIGNAL else first.data.coverage
        means = np.nan_to_num(index.bins(contig, edges + shift).means.astype(float))
        heights = np.log1p(np.maximum(means, 0) / max(means.mean(), 1e-12))
        heights /= max(float(heights.max(initial=0)), 1e-12)
        self._overview_source.data = {
            "x": edges + FIRST_BASE,
            "base": np.zeros(len(edges), np.float32),
            "mean": np.append(heights, heights[-1:]).astype(np.float32),
        }

    def _show_margin(self) -> None:
        drawing = self.drawing
        rows: list[TrackRow] = drawing.rows if drawing is not None else []
        places = [place for place, row in enumerate(rows) if row.track is self.chosen]
        self.margin.object = margin_html(
            rows,
            chosen=places[0] if places else -1,
            contig=self.contig,
            position=self._pointer,
            height=drawing.height if drawing is not None else 0,
        )

    def row_at(self, y: float) -> TrackRow | None:
        """Return the track at a height of the figure, or None."""
        rows = self.drawing.rows if self.drawing is not None else []
        return next((row for row in rows if row.top <= y < row.bottom), None)

    def choose(self, track: Track | None) -> None:
        """Mark a track as chosen."""
        self.chosen, self._is_hovering = track, True

    def _take_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._is_stale = True
        if time.monotonic() >= self._next_draw:
            self.flush()

    def _take_width(self, _attr: str, _old: Any, new: int) -> None:
        if new and new > 0:
            self._width, self._is_stale = int(new), True

    def _take_pointer(self, event: Any) -> None:
        is_inside = event.x is not None and 0 <= event.x - FIRST_BASE < self.length
        self._pointer = int(event.x - FIRST_BASE) if is_inside else None
        self._is_hovering = True

    def _take_leave(self, _event: Any) -> None:
        self._pointer, self._is_hovering = None, True

    def _take_tap(self, event: Any) -> None:
        row = self.row_at(event.y)
        if row is not None:
            self.choose(row.track)
            self.on_choose(row.track)
