"""Bokeh figures of k-mer spectra: frequencies of counts, and numbers of k-mers by k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    Range1d,
    Span,
)

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import plain_figure

BAR_COLOUR, OVERFLOW_COLOUR, CHOSEN_COLOUR = "#4fb3e8", "#ffb454", "#ff7ac6"
DISTINCT_COLOUR, UNIQUE_COLOUR = "#4fb3e8", "#8fe3b0"
LOWEST = 0.6
BAR_COLUMNS = ("left", "right", "top", "colour", "times", "kmers", "mass")
CURVE_COLUMNS = ("k", "distinct", "unique", "share")


class SpectrumFigure:
    """Bars of equal width: exact counts, then bins of counts, then one for all above the limit.

    Attributes
    ----------
    figure, source, note
        The figure, its data, and what it says while it has none.
    """

    def __init__(self) -> None:
        self.figure = _make_figure(
            "kmer-spectrum", "Multiplicity of k-mers", "K-mers", Range1d(0, 1)
        )
        self.source = ColumnDataSource(data={name: [] for name in BAR_COLUMNS})
        bars = self.figure.quad(
            "left", "right", "top", LOWEST, source=self.source,
            fill_color="colour", line_color=None,
        )  # fmt: skip
        self._ticker = FixedTicker(ticks=[])
        self.figure.xaxis[0].ticker = self._ticker
        select = BoxSelectTool(dimensions="width", renderers=[])
        self.figure.add_tools(
            select,
            HoverTool(
                renderers=[bars],
                mode="vline",
                point_policy="follow_mouse",
                tooltips=[("Occur", "@times"), ("K-mers", "@kmers"), ("Positions", "@mass")],
            ),
        )
        self.figure.toolbar.active_drag = select
        self.note = EmptyNote(self.figure)

    def show(self, columns: dict[str, Any], ticks: dict[float, str]) -> None:
        """Draw bars."""
        n, high = len(columns["top"]), float(np.max(columns["top"], initial=1))
        self.source.data = columns
        self.figure.x_range.update(start=0, end=max(n, 1))
        self.figure.y_range.update(start=LOWEST, end=max(3 * high, 10))
        self._ticker.ticks = list(ticks)
        self.figure.xaxis[0].major_label_overrides = ticks

    def mark(self, first: int, last: int) -> None:
        """Mark the selected bars; none if ``last < first``."""
        colours = [
            CHOSEN_COLOUR if first <= place <= last else colour
            for place, colour in enumerate(self._plain_colours())
        ]
        if colours != list(self.source.data["colour"]):
            self.source.data = {**self.source.data, "colour": colours}

    def _plain_colours(self) -> list[str]:
        return [
            OVERFLOW_COLOUR if str(times).startswith("more") else BAR_COLOUR
            for times in self.source.data["times"]
        ]


class CurveFigure:
    """Distinct and unique k-mers against k, both axes logarithmic.

    Attributes
    ----------
    figure, source, note
        The figure, its data, and what it says while it has none.
    """

    def __init__(self) -> None:
        self.figure = _make_figure(
            "kmer-curve", "k (bases)", "K-mers", Range1d(1, 100), x_axis_type="log"
        )
        self.source = ColumnDataSource(data={name: [] for name in CURVE_COLUMNS})
        lines = [
            self.figure.line(
                "k", name, source=self.source, line_color=colour, line_width=2, legend_label=label
            )
            for name, colour, label in (
                ("distinct", DISTINCT_COLOUR, "distinct"),
                ("unique", UNIQUE_COLOUR, "unique (occur once)"),
            )
        ]
        self.chosen = Span(dimension="height", line_color=CHOSEN_COLOUR, line_width=2, location=21)
        self.figure.add_layout(self.chosen)
        legend = self.figure.legend[0]
        legend.location = "bottom_right"
        legend.background_fill_alpha = 0.6
        legend.background_fill_color = self.figure.background_fill_color
        legend.border_line_color = None
        legend.label_text_color = "#d5deea"
        legend.label_text_font_size = "12px"
        self.figure.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.figure.add_tools(
            HoverTool(
                renderers=lines[:1],
                mode="vline",
                tooltips=[("k", "@k"), ("Distinct", "@distinct{0,0}"),
                          ("Unique", "@unique{0,0} (@share{0.00} %)")],
            )
        )  # fmt: skip
        self.note = EmptyNote(self.figure, legend, self.chosen)

    def show(self, distinct: np.ndarray, unique: np.ndarray) -> None:
        """Draw the curves for k = 1, 2, ..."""
        ks = np.arange(1, len(distinct) + 1)
        share = 100 * unique / np.maximum(distinct, 1)
        self.source.data = {
            "k": ks,
            "distinct": np.maximum(distinct, LOWEST),
            "unique": np.maximum(unique, LOWEST),
            "share": share,
        }
        self.figure.x_range.update(start=1, end=max(len(ks), 2))
        self.figure.y_range.update(start=LOWEST, end=3 * float(np.max(distinct, initial=3)))


def bar_columns(
    bins: Sequence[tuple[int, int, int, int]], *, n_positions: int, limit: int
) -> dict[str, Any]:
    """Return the data of the bars of a spectrum, with tooltips.

    Parameters
    ----------
    bins
        Lowest and highest count, number of k-mers, and number of their occurrences.
    n_positions
        Total number of positions.
    limit
        Larger counts are combined in the last bar.
    """
    n = len(bins)
    texts = []
    for low, high, _kmers, _mass in bins:
        if low > limit:
            texts.append(f"more than {limit:,} times, up to {high:,}")
        else:
            texts.append(f"{low:,} times" if low == high else f"{low:,} to {high:,} times")
    places = np.arange(n)
    return {
        "left": places + 0.06,
        "right": places + 0.94,
        "top": np.array([kmers if kmers else LOWEST for _l, _h, kmers, _m in bins], float),
        "colour": [OVERFLOW_COLOUR if low > limit else BAR_COLOUR for low, *_ in bins],
        "times": texts,
        "kmers": [f"{kmers:,}" for _l, _h, kmers, _m in bins],
        "mass": [
            f"{mass:,} ({100 * mass / max(n_positions, 1):.2f} %)" for _l, _h, _k, mass in bins
        ],
    }


def _make_figure(
    name: str, x_label: str, y_label: str, x_range: Range1d, x_axis_type: str = "linear"
) -> Any:
    plot = plain_figure(
        name, left=84, min_height=160, x_range=x_range, y_range=Range1d(LOWEST, 10),
        x_axis_type=x_axis_type, y_axis_type="log", x_axis_label=x_label, y_axis_label=y_label,
    )  # fmt: skip
    plot.yaxis[0].formatter = NumeralTickFormatter(format="0,0")
    return plot
