"""A small histogram: bars of one width, whatever the widths of the bins, on a log axis."""

from __future__ import annotations

from typing import Any

import holoviews as hv
from bokeh.models import FixedTicker, HoverTool

from genoviz.analyses.graph.query.statistics_results import Histogram
from genoviz_app.plots.graph_picture import LINES, style_figure
from genoviz_app.plots.legend import short_number

BAR_COLOUR, LOWEST = "#4fb3e8", 0.5
MAX_TICKS = 7


def histogram_bars(
    histogram: Histogram, *, x_label: str, y_label: str, unit: str = ""
) -> hv.Rectangles:
    """Return bars on a log axis.

    Parameters
    ----------
    histogram
        Bins and counts; a bin without values has no bar.
    x_label, y_label, unit
        Labels of the axes, and the unit of the values for the tooltips.
    """
    bars = [
        (place, LOWEST, place + 1, count, _bin_text(histogram, place, unit), f"{count:,}")
        for place, count in enumerate(histogram.counts)
        if count
    ]
    first = bars[0][0] if bars else 0
    highest = max(histogram.counts, default=1)
    hover = HoverTool(
        tooltips=[(x_label, "@bin"), (y_label, "@count")], point_policy="follow_mouse"
    )
    ticks = {place: text for place, text in axis_ticks(histogram).items() if place >= first}

    def style(plot: Any, _element: Any) -> None:
        figure = plot.state
        style_figure(figure)
        figure.min_border_left, figure.min_border_right = 48, 8
        figure.xaxis[0].ticker = FixedTicker(ticks=list(ticks))
        figure.xaxis[0].major_label_overrides = ticks
        figure.yaxis[0].ticker.desired_num_ticks = 4
        figure.ygrid.grid_line_color = LINES
        figure.xgrid.grid_line_color = None

    return hv.Rectangles(bars, ["x0", "y0", "x1", "y1"], ["bin", "count"]).opts(
        color=BAR_COLOUR,
        line_color=None,
        logy=True,
        xlim=(first, max(len(histogram.counts), first + 1)),
        ylim=(LOWEST, max(2.0 * highest, 2)),
        xlabel=x_label,
        ylabel=y_label,
        responsive=True,
        min_height=100,
        toolbar=None,
        default_tools=[],
        tools=[hover],
        hooks=[style],
    )


def axis_ticks(histogram: Histogram) -> dict[int, str]:
    """Return where the x axis has ticks, in bins, and the values there; some seven at most."""
    edges = histogram.edges[:-1]
    round_ = [place for place, edge in enumerate(edges) if str(edge).rstrip("0") in ("", "1")]
    if len(round_) < 3:
        round_ = list(range(len(edges)))
    stride = -(-len(round_) // MAX_TICKS)
    return {place: short_number(edges[place]) for place in round_[::stride]}


def _bin_text(histogram: Histogram, place: int, unit: str) -> str:
    low, high = histogram.edges[place], histogram.edges[place + 1] - 1
    values = f"{low:,}" if low == high else f"{low:,}–{high:,}"
    return f"{values} {unit}".strip()
