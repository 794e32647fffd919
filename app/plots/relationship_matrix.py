"""The heat map of a relationship matrix: means of bins of samples, redrawn when it is zoomed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.events import RangesUpdate, Reset, Tap
from bokeh.models import (
    BoxZoomTool,
    ColorBar,
    ColumnDataSource,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    ResetTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, SMALL_TEXT, style_figure
from genoviz_app.plots.palettes import DEPTH, GROUND, ramp_palette

MAX_CELLS = 480
NOTHING = "Press Compute matrix: relatives stand side by side."


class MatrixFigure:
    """An image of which each cell is the mean of some pairs.

    Parameters
    ----------
    on_view
        Called with x and y ends, in samples, when another part is looked at.
    on_pair
        Called with the two samples that are clicked, as places on the axes.

    Attributes
    ----------
    plot, note, source
        The figure, what it says while it is empty, and the image that it draws.
    """

    def __init__(
        self,
        on_view: Callable[[tuple[float, float, float, float]], None],
        on_pair: Callable[[int, int], None],
    ) -> None:
        self._on_view, self._on_pair = on_view, on_pair
        self._n = 1
        self.plot = figure(
            name="genotype-relationships", sizing_mode="stretch_both", min_height=150,
            x_range=Range1d(0, 1), y_range=Range1d(1, 0), toolbar_location="above", tools=[],
            output_backend="canvas", match_aspect=False,
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.grid.visible = False
        self.plot.min_border_left, self.plot.min_border_right = 56, 4
        self.plot.toolbar.logo = None
        self.plot.xaxis[0].axis_label = "Samples, relatives side by side"
        for axis in self.plot.axis:
            axis.formatter = NumeralTickFormatter(format="0,0")
            axis.ticker.desired_num_ticks = 4
        self.source = ColumnDataSource(data={"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self.colours = LinearColorMapper(
            palette=list(ramp_palette(DEPTH)[1:]), low=0, high=1, nan_color=GROUND
        )
        image = self.plot.image(
            image="image", x="x", y="y", dw="dw", dh="dh", source=self.source,
            color_mapper=self.colours,
        )  # fmt: skip
        self.note = EmptyNote(self.plot, self._add_colour_bar())
        self.note.show(NOTHING)
        zoom, box = WheelZoomTool(), BoxZoomTool()
        self.plot.add_tools(
            box, PanTool(), zoom, ResetTool(),
            HoverTool(
                renderers=[image], point_policy="follow_mouse",
                tooltips=[("Relationship", "@image{0.000}"), ("Places", "$x{0,0}, $y{0,0}")],
            ),
        )  # fmt: skip
        self.plot.toolbar.active_drag, self.plot.toolbar.active_scroll = box, zoom
        self.plot.on_event(RangesUpdate, self._on_ranges)
        self.plot.on_event(Reset, lambda _: self._on_view((0, self._n, 0, self._n)))
        self.plot.on_event(Tap, self._on_tap)

    def _add_colour_bar(self) -> ColorBar:
        bar = ColorBar(
            color_mapper=self.colours, width=10, padding=6, border_line_color=None,
            background_fill_color=GROUND, major_label_text_color=FAINT,
            major_label_text_font_size=SMALL_TEXT, major_tick_line_color=None,
            title="Relationship", title_text_color=FAINT, title_text_font_size=SMALL_TEXT,
            title_text_font_style="normal",
        )  # fmt: skip
        self.plot.add_layout(bar, "right")
        return bar

    def show(self, n: int, ends: tuple[float, float]) -> None:
        """Look at a matrix of ``n`` samples anew, coloured from one relationship to another."""
        self._n = n
        self.colours.update(low=ends[0], high=ends[1])
        self.plot.x_range.update(start=0, end=n, reset_start=0, reset_end=n, bounds=(0, n))
        self.plot.y_range.update(start=n, end=0, reset_start=n, reset_end=0, bounds=(0, n))

    def draw(self, cells: np.ndarray, bounds: tuple[int, int, int, int]) -> None:
        """Draw means of bins, float32, the first row at the smallest y.

        Parameters
        ----------
        cells
            shape (rows, columns).
        bounds
            Where they begin and end: x, then y, in samples.
        """
        x_low, x_high, y_low, y_high = bounds
        self.note.show("" if cells.size else NOTHING)
        self.source.data = {
            "image": [cells] if cells.size else [],
            "x": [x_low] if cells.size else [],
            "y": [y_low] if cells.size else [],
            "dw": [x_high - x_low] if cells.size else [],
            "dh": [y_high - y_low] if cells.size else [],
        }

    def _on_ranges(self, event: Any) -> None:
        x_low, x_high = sorted((event.x0, event.x1))
        y_low, y_high = sorted((event.y0, event.y1))
        self._on_view((x_low, x_high, y_low, y_high))

    def _on_tap(self, event: Any) -> None:
        if event.x is not None and 0 <= event.x < self._n and 0 <= event.y < self._n:
            self._on_pair(int(event.x), int(event.y))
