"""Path stress over the iterations of a layout, with its confidence band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from genoviz.analyses.graph.layout.stress import PathStress
from genoviz_app.plots.graph_picture import LINES, style_figure

LINE = "#ffb454"
BAND = "#ffb454"
EMPTY_LIMITS = (0.01, 1000.0)


def stress_curve(history: Sequence[tuple[int, PathStress]], *, n_iterations: int) -> hv.Overlay:
    """Return the curve of sampled path stress, its 95 % band and its last point.

    Parameters
    ----------
    history
        Iteration and stress, in order; terms that cannot be drawn on a log axis are left out.
    n_iterations
        Where the x axis ends.
    """
    rows = [
        (iteration, stress.mean, stress.ci_low, stress.ci_high)
        for iteration, stress in history
        if math.isfinite(stress.mean) and stress.mean > 0
    ]
    table = np.array(rows, float).reshape(-1, 4)
    iterations, means, lows, highs = table.T
    y_min, y_max = log_limits(table[:, [1, 3]])
    lows = np.maximum(lows, y_min)
    x = hv.Dimension("iteration", range=(0, max(n_iterations, 1)))
    y, low, high = (hv.Dimension(name, range=(y_min, y_max)) for name in ("stress", "low", "high"))
    band = hv.Area((iterations, lows, highs), x, [low, high])
    curve = hv.Curve((iterations, means), x, y)
    last = hv.Scatter((iterations[-1:], means[-1:]), x, y)
    return (
        band.opts(fill_color=BAND, fill_alpha=0.18, line_alpha=0)
        * curve.opts(color=LINE, line_width=2)
        * last.opts(color=LINE, size=6)
    ).opts(
        hv.opts.Area(logy=True, framewise=True, default_tools=[]),
        hv.opts.Curve(logy=True, framewise=True, default_tools=[]),
        hv.opts.Scatter(logy=True, framewise=True, default_tools=[]),
        hv.opts.Overlay(
            logy=True,
            responsive=True,
            framewise=True,
            show_legend=False,
            toolbar=None,
            default_tools=[],
            xlabel="Iteration",
            ylabel="Path stress",
            hooks=[_style],
        ),
    )


def _style(plot: Any, _element: Any) -> None:
    figure = plot.state
    style_figure(figure)
    figure.ygrid.grid_line_color = LINES
    figure.xgrid.grid_line_color = None


def log_limits(values: np.ndarray) -> tuple[float, float]:
    """Return whole powers of ten around the positive values; a default when there is none."""
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        return EMPTY_LIMITS
    low = 10.0 ** math.floor(math.log10(positive.min()))
    high = 10.0 ** math.ceil(math.log10(positive.max()))
    return (low, max(high, low * 1000))
