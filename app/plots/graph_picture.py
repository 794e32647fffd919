"""A drawn layout: an image of palette indices on axes in bp, and curves of its path stress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource, NoOverlap, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from genoviz_app.plots.palettes import GROUND

if TYPE_CHECKING:
    from genoviz.analyses.graph.layout.stress import PathStress

SMALL_TEXT = "11px"
ITERATIONS = "0,0.[0]"
"""Format of ticks of iterations, which Bokeh writes as 1.000e+5 otherwise."""
FAINT = "#8fa1b8"
LINES = "#243041"
LINE = "#ffb454"
BAND = "#ffb454"
EMPTY_LIMITS = (0.01, 1000.0)


def style_figure(figure: Any) -> None:
    """Apply the dark theme of the picture area to a Bokeh figure."""
    figure.background_fill_color = GROUND
    figure.border_fill_color = GROUND
    figure.outline_line_color = LINES
    figure.min_border = 4
    figure.min_border_left = 64
    figure.min_border_right = 24
    for axis in figure.axis:
        axis.axis_line_color = LINES
        axis.major_tick_line_color = LINES
        axis.minor_tick_line_color = None
        axis.major_tick_in, axis.major_tick_out = 0, 4
        axis.major_label_text_color = FAINT
        axis.major_label_text_font_size = SMALL_TEXT
        axis.axis_label_text_color = FAINT
        axis.axis_label_text_font_size = SMALL_TEXT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_standoff = 6
        axis.major_label_policy = NoOverlap(min_distance=4)


def plain_figure(
    name: str, *, left: int = 64, right: int = 24, grid: str = "y", **options: Any
) -> Any:
    """Return an empty figure that fills its container, by default without tools.

    Parameters
    ----------
    name
        Name of the figure, used by tests.
    left, right
        Margins of the plot, px.
    grid
        Axes with grid lines: ``"y"``, ``"xy"`` or ``""``.
    options
        Options for Bokeh's `figure`.
    """
    plain = {"toolbar_location": None, "tools": [], "output_backend": "canvas"}
    plot = figure(name=name, sizing_mode="stretch_both", **plain | options)
    style_figure(plot)
    for axis, lines in (("x", plot.xgrid), ("y", plot.ygrid)):
        if axis in grid:
            lines.grid_line_color = LINES
        else:
            lines.visible = False
    plot.min_border_left, plot.min_border_right = left, right
    return plot


def drawable_rows(history: Sequence[tuple[int, PathStress]]) -> tuple[Any, ...]:
    """Return iterations, means, bounds of the bands, and limits of the y axis."""
    rows = [
        (iteration, stress.mean, stress.ci_low, stress.ci_high)
        for iteration, stress in history
        if math.isfinite(stress.mean) and stress.mean > 0
    ]
    table = np.array(rows, float).reshape(-1, 4)
    iterations, means, lows, highs = table.T
    limits = log_limits(table[:, [1, 3]])
    return iterations, means, np.maximum(lows, limits[0]), highs, limits


def style_chart(chart: Any) -> None:
    """Apply the style of the chart of path stress to a Bokeh figure."""
    style_figure(chart)
    chart.ygrid.grid_line_color = LINES
    chart.xgrid.grid_line_color = None
    chart.xaxis[0].formatter = NumeralTickFormatter(format=ITERATIONS)


class StressFigure:
    """The chart of path stress: a curve with its 95 % band and its last point, on a log axis.

    Attributes
    ----------
    figure
        The figure, for a single document.
    """

    def __init__(self) -> None:
        self.figure = figure(
            sizing_mode="stretch_both",
            x_range=Range1d(0, 1),
            y_range=Range1d(*EMPTY_LIMITS),
            y_axis_type="log",
            x_axis_label="Iteration",
            y_axis_label="Path stress",
            toolbar_location=None,
            tools=[],
        )
        self._values = ColumnDataSource({"x": [], "y": [], "low": [], "high": []})
        self._last = ColumnDataSource({"x": [], "y": []})
        band, line = {"color": BAND, "alpha": 0.18}, {"color": LINE, "line_width": 2}
        self.figure.varea("x", "low", "high", source=self._values, **band)
        self.figure.line("x", "y", source=self._values, **line)
        self.figure.scatter("x", "y", source=self._last, color=LINE, size=6)
        style_chart(self.figure)

    def show(self, history: Sequence[tuple[int, PathStress]], *, n_iterations: int) -> None:
        """Show iterations and stress; needs the lock of the figure's document."""
        iterations, means, lows, highs, (y_min, y_max) = drawable_rows(history)
        self.figure.x_range.end = max(n_iterations, 1)
        self.figure.y_range.update(start=y_min, end=y_max)
        self._values.data = {"x": iterations, "y": means, "low": lows, "high": highs}
        self._last.data = {"x": iterations[-1:], "y": means[-1:]}


def log_limits(values: np.ndarray) -> tuple[float, float]:
    """Return the powers of ten that enclose the positive values; a default if there are none."""
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        return EMPTY_LIMITS
    low = 10.0 ** math.floor(math.log10(positive.min()))
    high = 10.0 ** math.ceil(math.log10(positive.max()))
    return (low, max(high, low * 1000))
