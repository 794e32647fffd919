"""Bokeh figures of layout quality: by iteration, by distance, and against time."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    FactorRange,
    FixedTicker,
    HoverTool,
    Legend,
    LegendItem,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
    Slope,
    Span,
)

from genoviz.analyses.graph.layout.near_stress import DistanceStress
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.picture.rasterize import rasterize
from genoviz.errors import n_words
from genoviz_app.plots.empty_note import LETTERS, EmptyNote
from genoviz_app.plots.graph_picture import ITERATIONS, SMALL_TEXT, log_limits, plain_figure
from genoviz_app.plots.legend import short_number
from genoviz_app.plots.palettes import DENSITY, GROUND, ramp_palette

COLOURS = (
    "#4fb3e8", "#ffb454", "#8fe3b0", "#ff7ac6", "#b794ff", "#f5e663", "#ff8f6b", "#9fb4cf",
)  # fmt: skip
WORD_COLOUR, RIGHT_COLOUR = "#d5deea", "#ff7ac6"
SIDE, MIN_BP = 220, 1e-3
IMAGE = ("image", "x", "y", "dw", "dh")
EMPTY: dict[str, list] = {"x": [], "y": [], "low": [], "high": []}

Curve = tuple[str, Sequence[tuple[int, PathStress]]]


def make_figure(name: str, x_label: str, y_label: str, nothing: str, **options: Any) -> Any:
    """Return a figure in the style of the page, and its note while empty."""
    plot = plain_figure(
        name, grid="xy", min_height=140, min_width=160, x_axis_label=x_label, y_axis_label=y_label,
        **options,
    )  # fmt: skip
    note = EmptyNote(plot)
    note.show(nothing)
    return plot, note


class CurvesFigure:
    """Sampled path stress of several runs over their iterations, with 95 % bands.

    Attributes
    ----------
    plot, note
        The figure, and its note while empty.
    """

    nothing = "No run yet: press Run on the Pangenome page."

    def __init__(self) -> None:
        self.plot, self.note = make_figure(
            "quality-runs", "Iteration", "Sampled path stress", self.nothing,
            x_range=Range1d(0, 1), y_range=Range1d(0.001, 1), y_axis_type="log",
        )  # fmt: skip
        self.plot.xaxis[0].formatter = NumeralTickFormatter(format=ITERATIONS)
        self._sources, items = [], []
        for colour in COLOURS:
            source = ColumnDataSource(dict(EMPTY))
            band = self.plot.varea("x", "low", "high", source=source, color=colour, alpha=0.16)
            line = self.plot.line("x", "y", source=source, color=colour, line_width=2)
            dots = self.plot.scatter("x", "y", source=source, color=colour, size=4)
            items.append(LegendItem(label=value(""), renderers=[line, dots, band], visible=False))
            self._sources.append(source)
        self._legend = Legend(
            items=items, background_fill_color=GROUND, background_fill_alpha=0.8,
            border_line_color=None, label_text_color=WORD_COLOUR, label_text_font_size=SMALL_TEXT,
            location="top_right", click_policy="hide", visible=False,
        )  # fmt: skip
        self.plot.add_layout(self._legend)

    def show(self, curves: Sequence[Curve]) -> None:
        """Draw the latest curves: name of each, and its iterations with their stress."""
        curves = [curve for curve in curves if curve[1]][-len(COLOURS) :]
        self.note.show("" if curves else self.nothing)
        self._legend.visible = bool(curves)
        tables = []
        for place, (source, item) in enumerate(zip(self._sources, self._legend.items, strict=True)):
            name, history = curves[place] if place < len(curves) else ("", ())
            rows = [(i, s.mean, s.ci_low, s.ci_high) for i, s in history if s.mean > 0]
            table = np.array(rows, float).reshape(-1, 4)
            tables.append(table)
            source.data = dict(zip(EMPTY, table.T, strict=True))
            item.update(label=value(name), visible=bool(name))
        everything = np.concatenate(tables)
        if len(everything):
            low, high = log_limits(everything[:, 2:])
            self.plot.y_range.update(start=low, end=high)
            self.plot.x_range.update(start=0, end=max(float(everything[:, 0].max()), 1) * 1.02)


class DistanceFigures:
    """Stress by distance, and distances in the layout against those along paths.

    Attributes
    ----------
    bars, pairs
        The two figures.
    """

    nothing = "Nothing measured yet"
    not_sampled = "No path has two nodes."

    def __init__(self) -> None:
        self.bars, self._note = make_figure(
            "quality-distance", "Distance along the path (bp)", "Path stress", self.nothing,
            x_range=Range1d(1, 10), y_range=Range1d(0.001, 1), x_axis_type="log", y_axis_type="log",
        )  # fmt: skip
        self.bars.xaxis[0].formatter = NumeralTickFormatter(format="0a")
        self._bins = ColumnDataSource({name: [] for name in ("left", "right", "top", "says")})
        drawn = self.bars.quad(
            "left", "right", "top", 1e-12, source=self._bins, fill_color=COLOURS[0],
            line_color=GROUND,
        )  # fmt: skip
        self.bars.add_tools(HoverTool(renderers=[drawn], tooltips="@says"))
        # An image cannot be on log axes, so its axes are powers of ten.
        self.pairs, self._pairs_note = make_figure(
            "quality-pairs", "Distance along the path (bp)", "Distance in the layout (bp)",
            self.nothing, x_range=Range1d(0, 1), y_range=Range1d(0, 1),
        )  # fmt: skip
        for axis in self.pairs.axis:
            axis.ticker = FixedTicker(ticks=list(range(-6, 16)))
            axis.major_label_overrides = {k: short_number(10.0**k) for k in range(-6, 16)}
        self._image = ColumnDataSource({name: [] for name in IMAGE})
        colours = LinearColorMapper(palette=list(ramp_palette(DENSITY)), low=0, nan_color=GROUND)
        self.pairs.image(*IMAGE, source=self._image, color_mapper=colours)
        self._equal = Slope(
            gradient=1, y_intercept=0, line_color=RIGHT_COLOUR, line_dash="dashed", visible=False
        )
        self.pairs.add_layout(self._equal)

    def show(self, found: DistanceStress | None, nothing: str = "") -> None:
        """Draw the stress by distance; None for no data, for which ``nothing`` gives the reason."""
        is_there = self._equal.visible = found is not None and bool(found.n_terms.any())
        why_not = (nothing or self.nothing) if found is None else self.not_sampled
        for note in (self._note, self._pairs_note):
            note.show("" if is_there else why_not)
        if not is_there:
            return
        drawn = np.flatnonzero(found.n_terms > 0)
        low, high = found.edges[drawn[0]], found.edges[drawn[-1] + 1]
        self._bins.data = {
            "left": found.edges[drawn],
            "right": found.edges[drawn + 1],
            "top": found.mean[drawn],
            "says": [say_bin(found, k) for k in drawn.tolist()],
        }
        self.bars.x_range.update(start=low, end=high)
        start, end = log_limits(found.mean[drawn])
        self.bars.y_range.update(start=start, end=end)
        self._draw_pairs(found.pairs)

    def _draw_pairs(self, pairs: np.ndarray) -> None:
        powers = np.log10(np.maximum(pairs, MIN_BP))
        low, high = float(powers[:, 0].min()), float(powers.max())
        ends = (low, max(high, low + 1))
        counts = rasterize(powers, x_range=ends, y_range=ends, plot_width=SIDE, plot_height=SIDE)
        shades = np.where(counts > 0, np.log1p(counts), np.nan).astype(np.float32)
        size = ends[1] - ends[0]
        self._image.data = dict(zip(IMAGE, ([shades], [low], [low], [size], [size]), strict=True))
        self.pairs.x_range.update(start=ends[0], end=ends[1])
        self.pairs.y_range.update(start=ends[0], end=ends[1])


class ScatterFigure:
    """Time against stress: one labelled dot per layout.

    Attributes
    ----------
    plot, note
        The figure, and its note while empty.
    """

    nothing = "Press Compare options to see a dot for each layout."

    def __init__(self) -> None:
        self.plot, self.note = make_figure(
            "quality-speed", "Time (s)", "Sampled path stress", self.nothing,
            x_range=Range1d(0.001, 1), y_range=Range1d(0.001, 1), x_axis_type="log",
            y_axis_type="log",
        )  # fmt: skip
        # On a short log axis, Bokeh's default ticks are far apart at its start.
        self._ticker = FixedTicker(ticks=[1])
        self.plot.xaxis[0].ticker = self.plot.xgrid[0].ticker = self._ticker
        self.plot.xaxis[0].formatter = BasicTickFormatter()
        columns = ("x", "y", "low", "high", "name", "below", "colour", "says")
        self._source = ColumnDataSource({name: [] for name in columns})
        self.plot.segment(
            "x", "low", "x", "high", source=self._source, color="colour", line_width=2
        )
        dots = self.plot.scatter("x", "y", source=self._source, color="colour", size=9)
        self.plot.text(
            "x", "y", "name", source=self._source, x_offset=8, y_offset="below",
            text_color=WORD_COLOUR, text_font_size=SMALL_TEXT, text_baseline="middle",
        )  # fmt: skip
        self.plot.add_tools(HoverTool(renderers=[dots], tooltips="@says"))

    def show(self, rows: Sequence[tuple[str, bool, float, PathStress]]) -> None:
        """Draw layouts: name, whether computed by the first method, seconds and stress.

        The names of the first method are below its dots, those of the other one above.
        """
        rows = [row for row in rows if row[3].mean > 0]
        self.note.show("" if rows else self.nothing)
        if not rows:
            return
        names, is_first, seconds, stresses = zip(*rows, strict=True)
        table = np.array([(s.mean, s.ci_low, s.ci_high) for s in stresses])
        self._source.data = {
            "x": list(seconds), "y": table[:, 0], "low": table[:, 1], "high": table[:, 2],
            "name": list(map(short_name, names)), "below": [9 if k else -9 for k in is_first],
            "colour": [COLOURS[0] if k else COLOURS[1] for k in is_first],
            "says": [f"{row[0]}: stress {row[3].mean:.4g} in {row[2]:.3g} s" for row in rows],
        }  # fmt: skip
        start, end = log_limits(table[:, 1:])
        self.plot.y_range.update(start=start, end=end)
        start, end = min(seconds) / 1.5, max(seconds) * 1.5
        self.plot.x_range.update(start=start, end=end)
        self._ticker.ticks = log_ticks(start, end)


def short_name(name: str) -> str:
    """Return the name of a layout without its method, which is told by its colour.

    Examples
    --------
    >>> short_name("draft, coarse to fine"), short_name("SGD, 20 iterations")
    ('draft', '20')
    """
    return name.removesuffix(", coarse to fine").removeprefix("SGD, ").removesuffix(" iterations")


class RatioFigure:
    """Bars of the speed-up of genoviz relative to a reference tool.

    Attributes
    ----------
    plot, note
        The figure, and its note while empty.
    """

    nothing = "No measurements came with this installation."

    def __init__(self) -> None:
        self.plot, self.note = make_figure(
            "quality-elsewhere", "Times as fast", "", self.nothing,
            x_range=Range1d(0.5, 10), y_range=FactorRange(factors=[]), x_axis_type="log",
        )  # fmt: skip
        self.plot.ygrid.visible = False
        # On a short log axis, Bokeh's default ticks omit 1, where the reference line is.
        self._ticker = FixedTicker(ticks=[1])
        self.plot.xaxis[0].ticker = self.plot.xgrid[0].ticker = self._ticker
        self._source = ColumnDataSource({"case": [], "ratio": [], "says": [], "word": []})
        bars = self.plot.hbar(
            y="case", right="ratio", left=1, height=0.6, source=self._source, color=COLOURS[0]
        )
        self.plot.text(
            "ratio", "case", "word", source=self._source, x_offset=6, text_baseline="middle",
            text_color=WORD_COLOUR, text_font_size=SMALL_TEXT,
        )  # fmt: skip
        self.plot.add_layout(Span(dimension="height", location=1, line_color=RIGHT_COLOUR))
        self.plot.add_tools(HoverTool(renderers=[bars], tooltips="@says"))

    def show(self, rows: Sequence[tuple[str, float, str]]) -> None:
        """Draw bars: case, ratio and tooltip of each."""
        self.note.show("" if rows else self.nothing)
        rows = rows[::-1]
        ratios = [row[1] for row in rows]
        cases = [fill(row[0], LETTERS) for row in rows]
        self.plot.y_range.factors = cases
        self._source.data = {
            "case": cases,
            "ratio": ratios,
            "word": [f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.3g} x" for ratio in ratios],
            "says": [row[2] for row in rows],
        }
        if rows:
            start, end = min(0.8, *ratios) / 1.2, max(2.0, *ratios) * 2.5
            self.plot.x_range.update(start=start, end=end)
            self._ticker.ticks = log_ticks(start, end)


def log_ticks(start: float, end: float) -> list[float]:
    """Return the powers of ten between two numbers, and 2 and 5 times them if there is room.

    Examples
    --------
    >>> log_ticks(0.6, 7), log_ticks(0.6, 3e4)
    ([1.0, 2.0, 5.0], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    """
    powers = range(int(np.floor(np.log10(start))), int(np.ceil(np.log10(end))) + 1)
    parts = (1, 2, 5) if end < 1000 * start else (1,)
    return [tick for k in powers for m in parts if start <= (tick := float(f"{m}e{k}")) <= end]


def say_bin(found: DistanceStress, k: int) -> str:
    """Return the tooltip of a bar."""
    low, high = found.edges[k : k + 2]
    return (
        f"{low:,.0f} to {high:,.0f} bp along the path: stress {found.mean[k]:.3g} "
        f"± {1.96 * found.error[k]:.2g}; in the layout {found.ratio[k]:.3g} times as far apart "
        f"(median of {n_words(found.n_terms[k], 'pair')})"
    )
