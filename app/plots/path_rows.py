"""Bokeh figures of paths: cells in rows along an axis, and pangenome growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.events import MouseLeave, MouseMove, SelectionGeometry, Tap
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)

from genoviz.analyses.graph.query.sharing import PangenomeGrowth
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, SMALL_TEXT, plain_figure
from genoviz_app.plots.kmer_matrix import shorten
from genoviz_app.plots.lit_stretches import LitAlong
from genoviz_app.plots.palettes import GROUND

N_COLOURS = 256
NAMES_WIDTH, MIN_ROW = 158, 11
NO_SIZE = (900, 140)
MAX_IMAGE_ROWS = 600
"""If more rows are visible, several share a line of pixels, which shows their maximum."""
SMALLEST_VIEW = 10.0
EXPECTED_COLOUR, CORE_COLOUR, BAND_COLOUR = "#4fb3e8", "#ffb454", "#8fe3b0"
GROWTH_COLUMNS = ("groups", "expected", "core", "median", "low", "high")


class RowsFigure:
    """Cells in rows, from top to bottom; row ``i`` spans ``-i`` to ``-i - 1``.

    Attributes
    ----------
    plot
        The figure.
    size
        Width and height of the drawing, px, as reported by the browser.
    on_point, on_click, on_select
        Set by the owner. Called, in this order, with the row and position under the pointer or
        None; with those of a click; and with a row and both ends of a drawn interval.
    on_view
        Called when the visible range or the size has changed.
    """

    def __init__(self, name: str, nothing: str, *, grows: bool = True) -> None:
        self.on_point: Callable[[tuple[int, float] | None], None] = lambda _place: None
        self.on_click: Callable[[int, float], None] = lambda _row, _x: None
        self.on_select: Callable[[int, float, float], None] = lambda _row, _start, _end: None
        self.on_view: Callable[[], None] = lambda: None
        self.size = NO_SIZE
        self.plot = plain_figure(
            name, left=NAMES_WIDTH, right=14, grid="", min_height=90,
            x_range=Range1d(0, 1), y_range=Range1d(-1, 0),
        )  # fmt: skip
        self.plot.min_border_top, self.plot.min_border_bottom = 6, 4
        self.plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.plot.xaxis[0].visible = grows
        self.plot.yaxis[0].update(major_tick_line_color=None, axis_line_color=None)
        self._drawn: tuple[int, int] | None = None
        self._names: Sequence[str] = ()
        self._indices = np.zeros((1, 1), np.uint8)
        self._stretch = (0.0, 1.0)
        self._mapper = LinearColorMapper(palette=[GROUND] * N_COLOURS, low=-0.5, high=255.5)
        self._add_glyphs()
        self.note = EmptyNote(self.plot)
        self.note.show(nothing)
        self._add_tools("width" if grows else "both")

    def _add_glyphs(self) -> None:
        self._cells = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self.plot.image(
            "image", x="x", y="y", dw="dw", dh="dh", source=self._cells,
            color_mapper=self._mapper, origin="top_left", anchor="top_left",
        )  # fmt: skip
        self._marks = ColumnDataSource({"x0": [], "x1": [], "colour": []})
        self._own = ColumnDataSource({"left": [], "right": [], "top": [], "bottom": []})
        self.plot.vstrip(
            x0="x0", x1="x1", source=self._marks, fill_color="colour", fill_alpha=0.12,
            line_color="colour", line_alpha=0.75,
        )  # fmt: skip
        self.plot.quad(
            left="left", right="right", top="top", bottom="bottom", source=self._own,
            fill_color=None, line_color="#ffffff", line_width=1.5,
        )  # fmt: skip

    def _add_tools(self, dimensions: str) -> None:
        plot = self.plot
        self._pan, zoom = PanTool(), WheelZoomTool(dimensions=dimensions)
        self._select = BoxSelectTool(renderers=[])
        plot.add_tools(self._pan, zoom, self._select)
        plot.toolbar.active_drag, plot.toolbar.active_scroll = self._pan, zoom
        for event, act in (
            (MouseMove, self._on_pointer),
            (MouseLeave, lambda _event: self.on_point(None)),
            (Tap, self._on_tap),
            (SelectionGeometry, self._on_selection),
        ):
            plot.on_event(event, act)
        for axis in (plot.x_range, plot.y_range):
            for name in ("start", "end"):
                axis.on_change(name, self._on_range)
        for name in ("inner_width", "inner_height"):
            plot.on_change(name, self._on_size)

    @property
    def shown(self) -> tuple[float, float]:
        """The visible range of the axis."""
        return float(self.plot.x_range.start), float(self.plot.x_range.end)

    @property
    def rows_in_sight(self) -> tuple[int, int]:
        """First visible row, and one past the last."""
        low, high = self.plot.y_range.start, self.plot.y_range.end
        first = min(max(int(np.floor(-high)), 0), max(len(self._names) - 1, 0))
        return first, min(max(int(np.ceil(-low)), first + 1), max(len(self._names), 1))

    def set_rows(self, names: Sequence[str], length: float) -> None:
        """Replace all rows, on an axis of a new length; their cells are drawn later."""
        self._names = names
        n, x_range, y_range = max(len(names), 1), self.plot.x_range, self.plot.y_range
        for each in (x_range, y_range):
            each.update(bounds=None, min_interval=None)  # or the browser keeps the old limits
        x_range.update(start=0.0, end=max(length, 1.0))
        y_range.update(start=-n, end=0)
        minimum = min(SMALLEST_VIEW, max(length, 1.0))
        x_range.update(bounds=(0.0, max(length, 1.0)), min_interval=minimum)
        y_range.update(bounds=(-n, 0), min_interval=min(2, n))
        self._cells.data, self._drawn = {name: [] for name in self._cells.data}, None
        self.show_marks((), None)
        self._label()

    def look_at(self, start: float, end: float) -> None:
        """Show a range of the axis, clipped to its limits."""
        low, high = self.plot.x_range.bounds or (0.0, 1.0)
        self.plot.x_range.update(start=max(start, low), end=min(end, high))

    def stretch_rows(self, factor: float) -> None:
        """Scale the row height; a factor below 1 shows fewer, higher rows."""
        n, y_range = max(len(self._names), 1), self.plot.y_range
        height = min(max((y_range.end - y_range.start) * factor, min(2, n)), n)
        top = min(max((y_range.end + y_range.start + height) / 2, height - n), 0)
        y_range.update(start=top - height, end=top)

    def drag_selects(self, selects: bool) -> None:
        """Make dragging draw an interval of a row, or pan."""
        self.plot.toolbar.active_drag = self._select if selects else self._pan

    def show_cells(
        self, indices: np.ndarray, colours: Sequence[str], stretch: tuple[float, float]
    ) -> None:
        """Draw cells, uint8 of shape (n_rows, n_bins), over a range of the axis."""
        self._indices, self._stretch, self._drawn = indices, stretch, None
        self._mapper.palette = [*colours, *[GROUND] * (N_COLOURS - len(colours))]
        self.draw_rows()

    def draw_rows(self) -> None:
        """Draw the visible rows."""
        (first, stop), (start, end) = self.rows_in_sight, self._stretch
        if len(self._indices) <= MAX_IMAGE_ROWS:
            first, stop = 0, len(self._indices)
        self._label()
        if (first, stop) == self._drawn:
            return  # the browser has them
        self._drawn = first, stop
        part = self._indices[first:stop]
        stride = -(-len(part) // MAX_IMAGE_ROWS)
        if stride > 1:
            part = np.maximum.reduceat(part, np.arange(0, len(part), stride), axis=0)
        self._cells.data = {
            "image": [part], "x": [start], "y": [-first], "dw": [end - start],
            "dh": [len(part) * max(stride, 1)],
        }  # fmt: skip

    def show_marks(self, marks: Sequence[LitAlong], own: int | None) -> None:
        """Shade intervals across all rows; the first is framed in the row ``own``."""
        start, end = self.shown
        gap = (end - start) / max(self.size[0], 1)
        found = [mark.between(start, end, 2 * gap) for mark in marks]
        rows = np.concatenate([np.empty((0, 3), np.int64), *found])
        counts = [len(each) for each in found]
        self._marks.data = {
            "x0": rows[:, 0].astype(float),
            "x1": rows[:, 1].astype(float),
            "colour": np.repeat([mark.colour for mark in marks], counts).tolist(),
        }
        framed = found[0] if own is not None and found else np.empty((0, 3), np.int64)
        row = own or 0
        self._own.data = {
            "left": framed[:, 0].astype(float), "right": framed[:, 1].astype(float),
            "top": [-row] * len(framed), "bottom": [-row - 1] * len(framed),
        }  # fmt: skip

    def _label(self) -> None:
        """Label the rows, as far as there is room."""
        first, stop = self.rows_in_sight
        room = self.size[1] / max(stop - first, 1)
        stride = max(int(np.ceil(MIN_ROW / max(room, 1e-9))), 1)
        labels = {
            -row - 0.5: shorten(self._names[row])
            for row in range(first, min(stop, len(self._names)))
            if row % stride == 0
        }
        axis = self.plot.yaxis[0]
        if labels != axis.major_label_overrides:
            axis.ticker = FixedTicker(ticks=sorted(labels))
            axis.major_label_overrides = labels

    def _place(self, event: Any) -> tuple[int, float] | None:
        x, y = getattr(event, "x", None), getattr(event, "y", None)
        if x is None or y is None or self.note.words:
            return None
        row, (low, high) = int(np.floor(-y)), self.plot.x_range.bounds or (0.0, 1.0)
        return (row, float(x)) if 0 <= row < len(self._names) and low <= x < high else None

    def _on_pointer(self, event: Any) -> None:
        self.on_point(self._place(event))

    def _on_tap(self, event: Any) -> None:
        place = self._place(event)
        if place is not None:
            self.on_click(*place)

    def _on_selection(self, event: Any) -> None:
        found = event.geometry
        if event.final and found.get("type") == "rect" and self._names:
            row = int(np.floor(-(found["y0"] + found["y1"]) / 2))
            ends = sorted((found["x0"], found["x1"]))
            self.on_select(min(max(row, 0), len(self._names) - 1), *ends)

    def _on_range(self, _attr: str, _old: Any, _new: Any) -> None:
        self.on_view()

    def _on_size(self, attr: str, _old: Any, new: int) -> None:
        width, height = self.size
        if new and new > 0:
            self.size = (new, height) if attr == "inner_width" else (width, new)
            self.on_view()


class GrowthFigure:
    """Pangenome growth and core size by number of paths or groups.

    Attributes
    ----------
    plot, note
        The figure, and its note while empty.
    """

    def __init__(self, nothing: str) -> None:
        self.plot = plain_figure(
            "pangenome-growth", left=76, min_height=90, x_range=Range1d(0, 1), y_range=Range1d(0, 1)
        )
        self.plot.min_border_top, self.plot.min_border_bottom = 8, 4
        self._source = ColumnDataSource({name: [] for name in GROWTH_COLUMNS})
        self.plot.yaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.plot.xaxis[0].ticker.min_interval = 1
        band = {"color": BAND_COLOUR, "source": self._source}
        self.plot.varea("groups", "low", "high", fill_alpha=0.22, **band)
        drawn = [
            self.plot.line(
                "groups", name, source=self._source, line_color=colour, line_width=2, name=name
            )
            for name, colour in (
                ("median", BAND_COLOUR), ("expected", EXPECTED_COLOUR), ("core", CORE_COLOUR)
            )
        ]  # fmt: skip
        self.plot.add_tools(
            HoverTool(
                renderers=drawn[1:2], mode="vline", line_policy="nearest",
                tooltips=[("", "@groups{0,0}"), ("Some have", "@expected{0,0}"),
                          ("All have", "@core{0,0}"),
                          ("5 to 95 % of orders", "@low{0,0} to @high{0,0}")],
            )
        )  # fmt: skip
        self.note = EmptyNote(self.plot)
        self.note.show(nothing)

    def show(self, growth: PangenomeGrowth | None, plural: str, nothing: str) -> None:
        """Draw a growth curve of the named groups; without data, say what is missing."""
        self.note.show(nothing if growth is None else "")
        if growth is None:
            self._source.data = {name: [] for name in GROWTH_COLUMNS}
            return
        n = len(growth.expected)
        columns = {name: getattr(growth, name) for name in GROWTH_COLUMNS[1:]}
        self._source.data = {"groups": np.arange(1, n + 1), **columns}
        high = float(np.nanmax([growth.expected[-1], np.nanmax(growth.high), 1.0]))
        self.plot.x_range.update(start=1 if n > 1 else 0, end=max(n, 2))
        self.plot.y_range.update(start=0, end=1.06 * high)
        self.plot.xaxis[0].update(
            axis_label=f"Number of {plural}", axis_label_text_color=FAINT,
            axis_label_text_font_size=SMALL_TEXT,
        )  # fmt: skip
