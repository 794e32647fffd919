"""Bokeh figure of how a solver converges."""

from __future__ import annotations

import math

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Range1d, Span
from bokeh.plotting import figure

from genoviz_app.plots.graph_picture import LINES, style_figure

LINE_COLOUR, GOAL_COLOUR = "#ffb454", "#8fe3b0"
MIN_ITERATIONS = 10


class ResidualFigure:
    """The squared relative residual over the iterations, on a logarithmic axis.

    Attributes
    ----------
    plot, source, goal
        The figure, what it draws, and the line at which the solver stops.
    """

    def __init__(self) -> None:
        self.plot = figure(
            name="blup-residuals", sizing_mode="stretch_both", min_height=120, min_width=160,
            x_range=Range1d(0, MIN_ITERATIONS), y_range=Range1d(1e-14, 2), y_axis_type="log",
            toolbar_location=None, tools=[], output_backend="canvas",
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.xgrid.visible = False
        self.plot.ygrid.grid_line_color = LINES
        self.plot.min_border_left, self.plot.min_border_right = 62, 14
        self.plot.xaxis[0].axis_label = "Iteration"
        self.plot.yaxis[0].axis_label = "Squared relative residual"
        self.plot.yaxis[0].ticker.desired_num_ticks = 5
        self.source = ColumnDataSource(data={"x": [], "y": []})
        line = self.plot.line("x", "y", source=self.source, line_color=LINE_COLOUR, line_width=2)
        self.plot.scatter("x", "y", source=self.source, size=4, color=LINE_COLOUR)
        self.goal = Span(dimension="width", location=1e-13, line_color=GOAL_COLOUR,
                         line_dash="dashed")  # fmt: skip
        self.plot.add_layout(self.goal)
        self.plot.add_tools(
            HoverTool(renderers=[line], mode="vline",
                      tooltips=[("Iteration", "@x"), ("Residual", "@y{0.00e+0}")])
        )  # fmt: skip

    def show(self, residuals: np.ndarray, tolerance: float) -> None:
        """Draw the residuals of all iterations, float64, and where the solver stops."""
        found = np.asarray(residuals, float)
        rows = np.flatnonzero(np.isfinite(found) & (found > 0))
        self.source.data = {"x": rows, "y": found[rows]}
        low, high = residual_ends(found[rows], tolerance)
        self.plot.x_range.end = max(len(found) * 1.02, MIN_ITERATIONS)
        self.plot.y_range.update(start=low, end=high)
        self.goal.location = tolerance


def residual_ends(residuals: np.ndarray, tolerance: float) -> tuple[float, float]:
    """Return whole powers of ten around positive residuals and where the solver stops.

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
