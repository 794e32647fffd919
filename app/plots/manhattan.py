"""Bokeh figures of a scan: values along a genome (Manhattan plot, effects), and Q-Q plot."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    Label,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    PrintfTickFormatter,
    Range1d,
    Span,
    WheelZoomTool,
)

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import LINES, plain_figure

CONTIG_COLOURS = ("#4fb3e8", "#a9bdd6")
STRONG_COLOUR, CHOSEN_COLOUR, ZERO_COLOUR = "#ffb454", "#ff7ac6", "#5a6b82"
COLUMNS = ("x", "y", "shade", "variant", "name", "text")
DOT = 4
LABEL_PIXELS, TICK_PIXELS = 7, 110
DOT_COLOUR, BAND_COLOUR, LINE_COLOUR = "#4fb3e8", "#8fa1b8", "#c9d5e4"
NOTHING = "Nothing\nyet"
DOT_COLUMNS, BAND_COLUMNS = ("x", "y", "name", "text"), ("x", "low", "high")


class ManhattanFigure:
    """Variants as dots along concatenated contigs, in two alternating colours.

    Parameters
    ----------
    name
        Name of the figure.
    value_name
        Label of the value in tooltips.

    Attributes
    ----------
    plot, note
        The figure, and its note while empty.
    dots, borders, chosen, lit
        Its data: variants, contig borders, the selected variant, and the highlighted variants.
    """

    def __init__(self, name: str, value_name: str, *, min_height: int = 150) -> None:
        self.plot = plain_figure(
            name, left=60, right=16, min_height=min_height, x_range=Range1d(0, 1),
            y_range=Range1d(0, 8),
        )  # fmt: skip
        self.plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.plot.yaxis[0].formatter = PrintfTickFormatter(format="%.3g")
        self._names, self._basic_ticker = FixedTicker(ticks=[]), self.plot.xaxis[0].ticker
        self.dots, self.borders = _source(COLUMNS), _source(("x",))
        self.chosen, self.lit = _source(("x", "y")), _source(("x", "y", "colour"))
        self._lines: list[Span] = []
        self.note = EmptyNote(self.plot)
        self._draw(value_name)

    def _draw(self, value_name: str) -> None:
        self.plot.vspan(x="x", source=self.borders, line_color=LINES)
        palette = [*CONTIG_COLOURS, STRONG_COLOUR]
        mapper = LinearColorMapper(palette=palette, low=-0.5, high=len(palette) - 0.5)
        colour = {"field": "shade", "transform": mapper}
        drawn = self.plot.scatter(
            "x", "y", source=self.dots, size=DOT, fill_color=colour, line_color=None,
            fill_alpha=0.85,
        )  # fmt: skip
        self.plot.scatter(
            "x", "y", source=self.lit, size=2 * DOT, fill_color="colour", line_color="#06121c",
        )  # fmt: skip
        self.plot.scatter(
            "x", "y", source=self.chosen, marker="circle", size=12, fill_color=None,
            line_color=CHOSEN_COLOUR, line_width=2.5,
        )  # fmt: skip
        self.plot.add_tools(
            HoverTool(
                renderers=[drawn],
                limit=1,
                tooltips=[("", "@name"), (value_name, "@text")],
            )
        )
        pan, zoom = PanTool(dimensions="width"), WheelZoomTool(dimensions="width")
        self.plot.add_tools(pan, zoom)
        self.plot.toolbar.active_drag, self.plot.toolbar.active_scroll = pan, zoom

    def show(self, dots: dict[str, Any], y_ends: tuple[float, float], label: str) -> None:
        """Draw variants.

        Parameters
        ----------
        dots
            ``x`` and ``y`` (float64), ``shade`` (uint8: 0 and 1 for alternating contigs, 2 for
            significant variants), ``variant`` (int32), and the tooltip texts ``name`` and ``text``.
        y_ends, label
            Limits and label of the y axis.
        """
        self.dots.data = dots
        self.note.show("")
        self.plot.y_range.update(start=y_ends[0], end=y_ends[1])
        self.plot.yaxis[0].axis_label = label

    def show_contigs(self, borders: np.ndarray, names: dict[float, str] | None, label: str) -> None:
        """Draw contig borders, and contig names instead of positions unless ``names`` is None."""
        self.borders.data = {"x": borders}
        self._names.ticks = list(names or ())
        self.plot.xaxis[0].update(
            ticker=self._basic_ticker if names is None else self._names,
            major_label_overrides=names or {},
            axis_label=label,
        )

    def show_lines(self, lines: dict[float, str]) -> None:
        """Draw dashed horizontal lines at these values in these colours."""
        seen = {(line.location, line.line_color) for line in self._lines}
        if seen == set(lines.items()):
            return
        for line in self._lines:
            line.visible = False
            self.plot.center.remove(line)
        self._lines = [
            Span(dimension="width", location=place, line_color=colour, line_dash="dashed")
            for place, colour in lines.items()
        ]
        for line in self._lines:
            self.plot.add_layout(line)

    def show_nothing(self, words: str) -> None:
        """Remove all variants and show the reason."""
        self.dots.data = {name: [] for name in COLUMNS}
        self.show_contigs(np.empty(0), None, "")
        self.show_lines({})
        self.plot.x_range.update(bounds=None, min_interval=None)
        self.plot.x_range.update(start=0, end=1)
        self.plot.y_range.update(start=0, end=1)
        self.note.show(words)

    def choose(self, x: float | None, y: float = 0.0) -> None:
        """Mark a variant; None removes the mark."""
        self.chosen.data = {"x": [] if x is None else [x], "y": [] if x is None else [y]}


def seen_names(
    names: tuple[str, ...], starts: np.ndarray, ends: np.ndarray, view: tuple[float, float],
    width: int,
) -> dict[float, str]:  # fmt: skip
    """Return the names of contigs that fit, keyed by the middle of each visible part.

    Parameters
    ----------
    starts, ends
        float64, shape (n_contigs,), ascending.
    view
        Visible range of the axis.
    width
        Width of the plot, px.

    Examples
    --------
    >>> seen_names(("1", "2"), np.array([0.0, 10.0]), np.array([10.0, 20.0]), (0, 20), 300)
    {5.0: '1', 15.0: '2'}
    """
    per_pixel = (view[1] - view[0]) / max(width, 1)
    middles = (np.maximum(starts, view[0]) + np.minimum(ends, view[1])) / 2
    found: dict[float, str] = {}
    free = -np.inf
    for rank in np.flatnonzero((ends > view[0]) & (starts < view[1])).tolist():
        half = (len(names[rank]) * LABEL_PIXELS / 2 + 2) * per_pixel
        if middles[rank] - half >= free:
            found[float(middles[rank])] = names[rank]
            free = middles[rank] + half
    return found


def position_ticks(contig_start: float, view: tuple[float, float], width: int) -> dict[float, str]:
    """Return round 1-based positions on the only visible contig, keyed by axis coordinate.

    Parameters
    ----------
    contig_start
        Start of the contig on the axis.
    view
        Visible range of the axis.
    width
        Width of the plot, px.

    Examples
    --------
    >>> position_ticks(500.0, (480, 760), 400)
    {599.0: '100', 699.0: '200'}
    """
    minimum = (view[1] - view[0]) * TICK_PIXELS / max(width, 1)
    unit = 10.0 ** np.floor(np.log10(max(minimum, 1.0)))
    step = int(unit * next(times for times in (1, 2, 5, 10) if unit * times >= minimum))
    first = max(int(np.ceil((view[0] - contig_start) / step)), 1)
    last = int((view[1] - contig_start) / step)
    positions = [step * number for number in range(first, last + 1)]
    return {contig_start + position - 1: f"{position:,}" for position in positions}


def _source(columns: tuple[str, ...]) -> ColumnDataSource:
    return ColumnDataSource(data={name: [] for name in columns})


class QuantileFigure:
    """A Q-Q plot with the 95 % band of the null hypothesis.

    Parameters
    ----------
    name
        Name of the figure.

    Attributes
    ----------
    plot, note, dots, band
        The figure, its note while empty, and its data.
    """

    def __init__(self, name: str) -> None:
        self.plot = plain_figure(
            name, left=46, right=12, grid="xy", min_height=150, min_width=160,
            x_range=Range1d(0, 1), y_range=Range1d(0, 1), tools=["tap"],
        )  # fmt: skip
        self.plot.xaxis[0].axis_label = "Expected −log₁₀ p"
        self.plot.yaxis[0].axis_label = "Observed −log₁₀ p"
        self.note = EmptyNote(self.plot)
        self.note.show(NOTHING)
        self.dots = ColumnDataSource(data={name: [] for name in DOT_COLUMNS})
        self.band = ColumnDataSource(data={name: [] for name in BAND_COLUMNS})
        self.plot.varea("x", "low", "high", source=self.band, fill_color=BAND_COLOUR,
                        fill_alpha=0.25)  # fmt: skip
        self.plot.line("x", "x", source=self.band, line_color=LINE_COLOUR, line_dash="dashed")
        drawn = self.plot.scatter(
            "x", "y", source=self.dots, size=4, fill_color=DOT_COLOUR, line_color=None,
            nonselection_fill_alpha=1.0,
        )  # fmt: skip
        self.plot.add_tools(
            HoverTool(renderers=[drawn], limit=1, tooltips=[("", "@name"), ("p", "@text")])
        )
        self.label = Label(
            x=8, y=8, x_units="screen", y_units="screen", text="", text_color="#d5deea",
            text_font_size="12px", anchor="bottom_left", visible=False,
        )  # fmt: skip
        self.plot.add_layout(self.label)

    def show(self, dots: dict[str, Any], band: dict[str, Any], words: str) -> None:
        """Draw quantiles.

        Parameters
        ----------
        dots
            ``x`` expected, ``y`` observed, and the tooltip texts ``name`` and ``text``.
        band
            ``x``, ``low`` and ``high``.
        words
            Text in the upper left corner.
        """
        self.note.show("" if len(dots["x"]) else NOTHING)
        self.dots.data, self.band.data = dots, band
        right = 1.05 * max([*dots["x"], 1.0])
        top = 1.05 * max([*dots["y"], *band["high"], 1.0])
        self.plot.x_range.end, self.plot.y_range.end = right, top
        self.label.update(text=words, visible=bool(words), x=right * 0.04, y=top * 0.95,
                          x_units="data", y_units="data", anchor="top_left")  # fmt: skip
