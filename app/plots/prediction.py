"""Bokeh figures of a prediction: predicted against observed values, and solver convergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Range1d, Span

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import plain_figure

DOT_COLOUR, LINE_COLOUR, CHOSEN_COLOUR = "#4fb3e8", "#ffb454", "#ff7ac6"
COLUMNS = ("x", "y", "name")
MARGIN = 0.06
NOTHING = "Press Run to see a point for each sample."
RESIDUAL_COLOUR, GOAL_COLOUR = "#ffb454", "#8fe3b0"
MIN_ITERATIONS = 10


class PredictionFigure:
    """A scatter plot of samples with the regression line.

    Attributes
    ----------
    plot, note, dots, line, chosen
        The figure, its note while empty, and its data.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "prediction-scatter", left=56, right=14, grid="xy", min_height=140, min_width=160,
            x_range=Range1d(0, 1), y_range=Range1d(0, 1), tools=["tap"],
        )  # fmt: skip
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
            ``x`` and ``y`` of the regression line; empty for none.
        labels
            Labels of the axes.
        """
        self.note.show("" if len(dots["x"]) else NOTHING)
        self.dots.data, self.line.data = dots, line
        for axis_range, values in ((self.plot.x_range, dots["x"]), (self.plot.y_range, dots["y"])):
            low, high = padded_ends(np.asarray(values, float))
            axis_range.update(start=low, end=high)
        self.plot.xaxis[0].axis_label, self.plot.yaxis[0].axis_label = labels

    def choose(self, x: float | None, y: float = 0.0) -> None:
        """Mark a sample; None removes the mark."""
        self.chosen.data = {"x": [] if x is None else [x], "y": [] if x is None else [y]}


def padded_ends(values: np.ndarray) -> tuple[float, float]:
    """Return minimum and maximum with some padding; (0, 1) without values.

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


class ResidualFigure:
    """The squared relative residual by iteration, on a log axis.

    Attributes
    ----------
    plot, source, goal
        The figure, its data, and the line at the solver's tolerance.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "blup-residuals", left=62, right=14, min_height=120, min_width=160,
            x_range=Range1d(0, MIN_ITERATIONS), y_range=Range1d(1e-14, 2), y_axis_type="log",
        )  # fmt: skip
        self.plot.xaxis[0].axis_label = "Iteration"
        self.plot.yaxis[0].axis_label = "Squared relative residual"
        self.plot.yaxis[0].ticker.desired_num_ticks = 5
        self.source = ColumnDataSource(data={"x": [], "y": []})
        line = self.plot.line(
            "x", "y", source=self.source, line_color=RESIDUAL_COLOUR, line_width=2
        )
        self.plot.scatter("x", "y", source=self.source, size=4, color=RESIDUAL_COLOUR)
        self.goal = Span(dimension="width", location=1e-13, line_color=GOAL_COLOUR,
                         line_dash="dashed")  # fmt: skip
        self.plot.add_layout(self.goal)
        self.plot.add_tools(
            HoverTool(renderers=[line], mode="vline",
                      tooltips=[("Iteration", "@x"), ("Residual", "@y{0.00e+0}")])
        )  # fmt: skip

    def show(self, residuals: np.ndarray, tolerance: float) -> None:
        """Draw the residuals of all iterations, float64, and the solver's tolerance."""
        found = np.asarray(residuals, float)
        rows = np.flatnonzero(np.isfinite(found) & (found > 0))
        self.source.data = {"x": rows, "y": found[rows]}
        low, high = residual_ends(found[rows], tolerance)
        self.plot.x_range.end = max(len(found) * 1.02, MIN_ITERATIONS)
        self.plot.y_range.update(start=low, end=high)
        self.goal.location = tolerance


def residual_ends(residuals: np.ndarray, tolerance: float) -> tuple[float, float]:
    """Return the powers of ten that enclose the positive residuals and the tolerance.

    Examples
    --------
    >>> residual_ends(np.array([1.0, 3e-5]), 1e-13)
    (1e-14, 10.0)
    """
    lowest = min([tolerance, *residuals.tolist()])
    highest = max([1.0, *residuals.tolist()])
    return 10.0 ** math.floor(math.log10(lowest / 1.001)), 10.0 ** math.ceil(
        math.log10(highest * 1.001)
    )
