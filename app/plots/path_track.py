"""Figure of one path: depth, strand, annotations, and the region and view as bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.events import SelectionGeometry, Tap
from bokeh.models import BoxAnnotation, FixedTicker

from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz_app.plots.annotation_rows import (
    LETTER_PIXELS,
    NO_BOXES,
    AnnotationBoxes,
    PackedBoxes,
    pack_boxes,
)
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.legend import short_number
from genoviz_app.plots.lit_stretches import LitAlong
from genoviz_app.plots.track_figure import (
    STRAND_PIXELS,
    Places,
    add_contig_axis,
    add_glyphs,
    add_tools,
    box_data,
    curve_data,
    depth_data,
    lit_data,
    make_figure,
    max_rows,
    strand_data,
    view_data,
)

REGION_COLOUR = "#ffb454"
SMALLEST_VIEW = 10.0
PIXELS_PER_BIN, MARGIN = 2, 0.25
CONTIG_LETTERS = 12
NO_SIZE = (600, 110)


@dataclass(frozen=True, eq=False)
class TrackContent:
    """The displayed data of one path.

    Attributes
    ----------
    profile, boxes
        Depth and strand along the path, and its annotations.
    contig, contig_start
        The path's contig, and the path's start on it, bp; "" for no second axis.
    """

    profile: PathProfile
    boxes: AnnotationBoxes = NO_BOXES
    contig: str = ""
    contig_start: int = 0


class PathTrack:
    """A Bokeh figure of one path; its y axis is in pixels from the bottom.

    The next `flush` draws all changes.

    Attributes
    ----------
    figure, note
        The figure, and its note while no path is shown.
    size
        Width and height of the drawing, px, as reported by the browser.
    content
        The displayed data, or None.
    packed
        The placed annotations.
    on_click, on_box, on_select
        Set by the owner. Called, in this order, with a position, with the index of an annotation,
        and with both ends of a drawn interval; bp of the path.
    """

    def __init__(self) -> None:
        self.on_click: Callable[[float], None] = lambda _position: None
        self.on_box: Callable[[int], None] = lambda _box: None
        self.on_select: Callable[[float, float], None] = lambda _start, _end: None
        self.size = NO_SIZE
        self.content: TrackContent | None = None
        self.packed: PackedBoxes | None = None
        self.figure = make_figure()
        self._pan, self._select = add_tools(self.figure)
        self._contig_axis, self._contig_range = add_contig_axis(self.figure)
        self._sources = add_glyphs(self.figure)
        self.note = EmptyNote(self.figure)
        self._nothing = ""
        self._ticker = FixedTicker(ticks=[])
        self.figure.yaxis[0].ticker = self._ticker
        self._band = BoxAnnotation(
            fill_color=REGION_COLOUR, fill_alpha=0.16, line_color=REGION_COLOUR, visible=False
        )
        self.figure.add_layout(self._band)
        self._region: tuple[float, float] | None = None
        self._stretches = np.empty((0, 2), np.int64)
        self._lit: tuple[LitAlong, ...] = ()
        self._wanted_view: tuple[float, float] | None = None
        self._is_new, self._is_stale = False, False
        self._listen()

    def _listen(self) -> None:
        figure = self.figure
        figure.on_event(Tap, self._on_tap)
        figure.on_event(SelectionGeometry, self._on_selection)
        for name in ("start", "end"):
            figure.x_range.on_change(name, self._on_change)
        for name in ("inner_width", "inner_height"):
            figure.on_change(name, self._on_size)

    @property
    def shown(self) -> tuple[float, float]:
        """The visible interval, bp of the path."""
        x_range = self.figure.x_range
        return self._wanted_view or (float(x_range.start), float(x_range.end))

    def show(self, content: TrackContent | None) -> None:
        """Show another path in full, or nothing."""
        self.content, self._is_new = content, True
        self._region, self._stretches, self._lit = None, self._stretches[:0], ()
        length = content.profile.length if content is not None else 1
        self.look_at(0.0, max(float(length), 1.0))

    def say(self, nothing: str) -> None:
        """Say why no path is shown, in place of the empty axes."""
        if nothing != self._nothing:
            self._nothing, self._is_stale = nothing, True

    def look_at(self, start: float, end: float) -> None:
        """Show an interval of the path."""
        self._wanted_view = (start, end)
        self._is_stale = True

    def show_region(self, start: float | None, end: float | None) -> None:
        """Draw the region as a band; None removes it."""
        self._region = None if start is None or end is None else (start, end)
        self._is_stale = True

    def show_lit(self, lit: Sequence[LitAlong]) -> None:
        """Draw highlights on the path; a new path starts without any."""
        self._lit, self._is_stale = tuple(lit), True

    def show_stretches(self, stretches: np.ndarray) -> None:
        """Shade the intervals (shape (n, 2), bp) that are visible in the picture."""
        if not np.array_equal(stretches, self._stretches):
            self._stretches, self._is_stale = stretches, True

    def drag_selects(self, selects: bool) -> None:
        """Make dragging draw an interval, or pan."""
        self.figure.toolbar.active_drag = self._select if selects else self._pan

    def flush(self) -> None:
        """Draw pending changes; needs the lock of the figure's document."""
        if not self._is_stale:
            return
        self._is_stale = False
        document = self.figure.document
        if document is None or document.session_context is None:
            self.draw()
        else:
            document.add_next_tick_callback(self.draw)

    def draw(self) -> None:
        """Update the figure."""
        content = self.content
        self._move()
        self.note.show("" if content is not None else self._nothing)
        if content is None:
            for source in self._sources.values():
                source.data = {name: [] for name in source.data}
            self._band.visible = False
            return
        start, end = self.shown
        width, height = self.size
        margin = (end - start) * MARGIN
        n_bins = max(int(width * (1 + 2 * MARGIN) / PIXELS_PER_BIN), 1)
        bins = content.profile.bins(start - margin, end + margin, n_bins=n_bins)
        packed = pack_boxes(content.boxes, start, end, width=width, n_rows=max_rows(height))
        places = Places.in_height(height, packed.n_rows)
        scale = places.depth_scale(bins)
        self.packed = packed
        sources = self._sources
        sources["bins"].data = depth_data(bins, places)
        sources["curve"].data = curve_data(bins, places, scale)
        sources["strand"].data = strand_data(bins, places)
        sources["boxes"].data = box_data(content.boxes, packed, places)
        sources["lit"].data = lit_data(self._lit, places, (start, end), width)
        sources["view"].data = view_data(self._stretches, places, (start, end), width)
        self._show_band()
        self._label(places, scale)

    def _move(self) -> None:
        """Apply the requested interval and, after a change of path, new limits."""
        content, x_range, is_new = self.content, self.figure.x_range, self._is_new
        if self._wanted_view is None:
            return
        (start, end), self._wanted_view = self._wanted_view, None
        self._is_new = False
        first = content.contig_start if content is not None else 0
        if is_new:
            x_range.update(bounds=None, min_interval=None)  # or the browser keeps the old limits
        x_range.update(start=start, end=end)
        self._contig_range.update(start=start + first, end=end + first)
        if is_new:
            length = max(float(content.profile.length), 1.0) if content is not None else 1.0
            x_range.update(bounds=(0.0, length), min_interval=min(SMALLEST_VIEW, length))
            self._contig_axis.visible = content is not None and bool(content.contig)

    def _show_band(self) -> None:
        if self._region is None:
            self._band.visible = False
        else:
            left, right = self._region
            self._band.update(left=left, right=right, visible=True)

    def _label(self, places: Places, scale: float) -> None:
        """Label the margin: scales, strand and maximum depth."""
        ticks = {
            0.0: "path bp",
            places.floor + STRAND_PIXELS / 2: "strand",
            (places.base + places.top) / 2: "depth",
            places.top: short_number((places.top - places.base) / scale),
        }
        if self.content.contig:
            ticks[places.height] = f"{self.content.contig[:CONTIG_LETTERS]} bp"
        axis = self.figure.yaxis[0]
        if ticks == axis.major_label_overrides:
            return  # a new ticker would make Bokeh traverse all models
        axis.ticker = FixedTicker(ticks=sorted(ticks))
        axis.major_label_overrides = ticks
        self.figure.y_range.update(start=0, end=places.height)

    def _on_size(self, attr: str, _old: Any, new: int) -> None:
        width, height = self.size
        if new and new > 0:
            self.size = (new, height) if attr == "inner_width" else (width, new)
            self._is_stale = True

    def _on_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._is_stale = True

    def _on_tap(self, event: Any) -> None:
        box = self._box_at(event.x, event.y)
        if box >= 0:
            self.on_box(box)
        else:
            self.on_click(event.x)

    def _box_at(self, x: float, y: float) -> int:
        data, packed = self._sources["boxes"].data, self.packed
        if packed is None or not len(packed.boxes):
            return -1
        start, end = self.shown
        letter = LETTER_PIXELS * (end - start) / max(self.size[0], 1)
        names = letter * np.array([len(name) for name in data["name"]])
        right = np.maximum(data["right"], data["label_x"] + names)
        left = np.minimum(data["left"], data["label_x"])
        is_hit = (left <= x) & (x < right) & (data["bottom"] <= y) & (y <= data["top"])
        return int(packed.boxes[np.argmax(is_hit)]) if is_hit.any() else -1

    def _on_selection(self, event: Any) -> None:
        geometry = event.geometry
        if event.final and geometry.get("type") == "rect":
            self.on_select(*sorted((geometry["x0"], geometry["x1"])))
