"""Bokeh figure of predicted against observed values, with the line through them."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import LINES, style_figure

DOT_COLOUR, LINE_COLOUR, CHOSEN_COLOUR = "#4fb3e8", "#ffb454", "#ff7ac6"
COLUMNS = ("x", "y", "name")
MARGIN = 0.06
NOTHING = "Press Run: each sample becomes a point."


class PredictionFigure:
    """A dot for each sample, and the regression line.

    Attributes
    ----------
    plot, note, dots, line, chosen
        The figure, what it says while it is empty, and what it draws.
    """

    def __init__(self) -> None:
        self.plot = figure(
            name="prediction-scatter", sizing_mode="stretch_both", min_height=140, min_width=160,
            x_range=Range1d(0, 1), y_range=Range1d(0, 1), toolbar_location=None, tools=["tap"],
            output_backend="canvas",
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.grid.grid_line_color = LINES
        self.plot.min_border_left, self.plot.min_border_right = 56, 14
        self.note = EmptyNote(self.plot)
        self.note.show(NOTHING)
        self.dots = ColumnDataSource(data={name: [] for name in COLUMNS})
        self.line = ColumnDataSource(data={"x": [], "y": []})
        self.chosen = ColumnDataSource(data={"x": [], "y": []})
        drawn = self.plot.scatter(
            "x", "y", source=self.dots, size=5, fill_color=DOT_COLOUR, fill_alpha=0.6,
            line_color=None, nonselection_fill_alpha=0.6,
        )  # fmt: skip
        self.plot.line("x", "y", source=self.line, line_color=LINE_COLOUR, line_width=2)
        self.plot.scatter("x", "y", source=self.chosen, size=12, fill_color=None,
                          line_color=CHOSEN_COLOUR, line_width=2.5)  # fmt: skip
        self.plot.add_tools(HoverTool(renderers=[drawn], limit=1, tooltips=[
            ("", "@name"), ("Predicted", "@x{0,0.000}"), ("Observed", "@y{0,0.000}"),
        ]))  # fmt: skip

    def show(self, dots: dict[str, Any], line: dict[str, Any], labels: tuple[str, str]) -> None:
        """Draw samples.

        Parameters
        ----------
        dots
            ``x``, ``y`` and ``name``.
        line
            ``x`` and ``y`` of the regression line, empty without one.
        labels
            Of the axes.
        """
        self.note.show("" if len(dots["x"]) else NOTHING)
        self.dots.data, self.line.data = dots, line
        for axis_range, values in ((self.plot.x_range, dots["x"]), (self.plot.y_range, dots["y"])):
            low, high = padded_ends(np.asarray(values, float))
            axis_range.update(start=low, end=high)
        self.plot.xaxis[0].axis_label, self.plot.yaxis[0].axis_label = labels

    def choose(self, x: float | None, y: float = 0.0) -> None:
        """Mark a sample; None marks none."""
        self.chosen.data = {"x": [] if x is None else [x], "y": [] if x is None else [y]}


def padded_ends(values: np.ndarray) -> tuple[float, float]:
    """Return least and greatest value with some room around; (0, 1) without values.

    Examples
    --------
    >>> padded_ends(np.array([]))
    (0.0, 1.0)
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = MARGIN * (high - low) or abs(high) * MARGIN or 1.0
    return low - room, high + room
