"""Bokeh figures along a genome: k-mer hits on both strands, and k-mer counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    BoxAnnotation,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import LINES, plain_figure
from genoviz_app.plots.legend import short_number
from genoviz_app.plots.lit_stretches import LitBars

FORWARD_COLOUR, REVERSE_COLOUR = "#4fb3e8", "#ffb454"
MEAN_COLOUR, MAX_COLOUR = "#8fe3b0", "#3f8f6b"
REGION_COLOUR = "#ff7ac6"
LOWEST = 0.7
"""Start of the logarithmic count axis, where bins without k-mers are drawn."""
COUNTING = "Counts are drawn when neighbouring suffixes are compared."
HIT_COLUMNS = ("left", "right", "forward", "minus_reverse", "reverse", "place")
COUNT_COLUMNS = ("left", "right", "mean", "high", "bottom", "place", "mean_text", "high_text")


class GenomeFigures:
    """Two figures with a common x axis: one contig, or all contigs concatenated.

    Attributes
    ----------
    hits, counts
        The figures: hits per bin, and counts of the k-mers that begin at each base.
    hit_source, count_source, border_source
        Their data: bins of both, and ends of contigs.
    bands
        The shared region in both figures.
    notes
        Notes instead of hits and of counts.
    """

    def __init__(self) -> None:
        x_range = Range1d(0, 1)
        self.hits = _make_figure("kmer-hits", x_range, Range1d(-1, 1), "linear", 150)
        self.counts = _make_figure("kmer-counts", x_range, Range1d(LOWEST, 10), "log", 130)
        self.hit_source = _source(HIT_COLUMNS)
        self.count_source = _source(COUNT_COLUMNS)
        self.border_source = _source(("x",))
        self.ticker = FixedTicker(ticks=[])
        self.hit_ticker = FixedTicker(ticks=[])
        self.hits.yaxis[0].ticker = self.hit_ticker
        self.hits.xaxis[0].visible = False
        self.bands = [
            BoxAnnotation(fill_color=REGION_COLOUR, fill_alpha=0.2, line_color=REGION_COLOUR,
                          visible=False)
            for _ in range(2)
        ]  # fmt: skip
        self._lit = LitBars(self.hits)
        self._lit_shares: dict[str, Any] = self._lit.columns
        self._basic_tickers = [plot.xaxis[0].ticker for plot in (self.hits, self.counts)]
        self._add_glyphs()
        for plot, band in zip((self.hits, self.counts), self.bands, strict=True):
            plot.add_layout(band)
            _add_tools(plot)
        self.notes = [EmptyNote(plot) for plot in (self.hits, self.counts)]

    def _add_glyphs(self) -> None:
        for plot in (self.hits, self.counts):
            plot.vspan(x="x", source=self.border_source, line_color=LINES)
        drawn = [
            self.hits.quad(
                "left", "right", name, 0, source=self.hit_source, fill_color=colour,
                line_color=colour, line_width=1,
            )
            for name, colour in (("forward", FORWARD_COLOUR), ("minus_reverse", REVERSE_COLOUR))
        ]  # fmt: skip
        self.hits.add_tools(
            HoverTool(
                renderers=drawn,
                mode="vline",
                point_policy="follow_mouse",
                tooltips=[("", "@place"), ("Forward", "@forward{0,0} hits"),
                          ("Reverse", "@reverse{0,0} hits")],
            )
        )  # fmt: skip
        high = self.counts.quad(
            "left", "right", "high", "bottom", source=self.count_source,
            fill_color=MAX_COLOUR, line_color=MAX_COLOUR,
        )  # fmt: skip
        self.counts.quad(
            "left", "right", "mean", "bottom", source=self.count_source,
            fill_color=MEAN_COLOUR, line_color=MEAN_COLOUR, fill_alpha=0.75, line_alpha=0.75,
        )  # fmt: skip
        self.counts.add_tools(
            HoverTool(
                renderers=[high],
                mode="vline",
                point_policy="follow_mouse",
                tooltips=[("", "@place"), ("Mean count", "@mean_text"),
                          ("Highest", "@high_text")],
            )
        )  # fmt: skip

    @property
    def x_range(self) -> Range1d:
        """The common range of both x axes."""
        return self.hits.x_range

    def wait(self, words: str) -> None:
        """Show a note instead of all that is drawn; "" shows the axes again."""
        for note in self.notes:
            note.show(words)
        if words:
            for source in (self.hit_source, self.count_source, self.border_source):
                source.data = {name: [] for name in source.data}
            self.show_region(None)

    def show_hits(self, columns: dict[str, Any], label: str) -> None:
        """Draw bins of hits; ``label`` is the axis label, which includes the bin size."""
        high = max(np.max(columns["forward"], initial=0), np.max(columns["reverse"], initial=0), 1)
        ticks = [t for t in _whole_ticks(int(high)) if t <= high]
        self.hit_source.data = columns
        self.hits.y_range.update(start=-1.12 * high, end=1.12 * high)
        places = sorted({*ticks, *(-t for t in ticks)})
        self.hit_ticker.ticks = places
        self.hits.yaxis[0].major_label_overrides = {t: short_number(abs(t)) for t in places}
        self.hits.yaxis[0].axis_label = label
        self.show_lit(self._lit_shares)

    def show_lit(self, shares: dict[str, Any]) -> None:
        """Draw highlighted intervals; ``bottom`` and ``top`` are fractions of the height."""
        self._lit_shares = shares
        low, high = self.hits.y_range.start, self.hits.y_range.end
        ends = {
            name: [low + share * (high - low) for share in shares[name]]
            for name in ("bottom", "top")
        }
        self._lit.show({**shares, **ends})

    def show_counts(self, columns: dict[str, Any] | None, label: str) -> None:
        """Draw bins of counts, or a note while they are computed (None)."""
        self.notes[1].show(COUNTING if columns is None else "")
        if columns is None:
            self.count_source.data = {name: [] for name in COUNT_COLUMNS}
            return
        self.count_source.data = columns
        self.counts.y_range.end = max(3.0 * float(np.max(columns["high"], initial=1)), 10.0)
        self.counts.yaxis[0].axis_label = label

    def show_contigs(self, borders: np.ndarray, names: dict[float, str]) -> None:
        """Draw ends of contigs, and contig names instead of positions."""
        self.border_source.data = {"x": borders}
        if names:
            self.ticker.ticks = list(names)
        for plot, ticker in zip((self.hits, self.counts), self._basic_tickers, strict=True):
            plot.xaxis[0].update(
                ticker=self.ticker if names else ticker,
                major_label_overrides=names,
                axis_label=None if names else "Position (bp)",
            )

    def show_region(self, ends: tuple[float, float] | None) -> None:
        """Draw the region as a band; None removes it."""
        for band in self.bands:
            if ends is None:
                band.visible = False
            else:
                band.update(left=ends[0], right=ends[1], visible=True)


def _make_figure(name: str, x_range: Range1d, y_range: Range1d, kind: str, height: int) -> Any:
    plot = plain_figure(
        name, left=74, right=20, min_height=height, x_range=x_range, y_range=y_range,
        y_axis_type=kind,
    )  # fmt: skip
    plot.min_border_top, plot.min_border_bottom = 6, 6
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    if kind == "log":
        plot.yaxis[0].formatter = NumeralTickFormatter(format="0,0")
        plot.yaxis[0].ticker.desired_num_ticks = 4
    return plot


def _add_tools(plot: Any) -> None:
    pan, zoom = PanTool(dimensions="width"), WheelZoomTool(dimensions="width")
    plot.add_tools(pan, zoom)
    plot.toolbar.active_drag = pan
    plot.toolbar.active_scroll = zoom


def _source(columns: tuple[str, ...]) -> ColumnDataSource:
    return ColumnDataSource(data={name: [] for name in columns})


def _whole_ticks(high: int) -> list[int]:
    """Return 0 and one or two round numbers of at most ``high``."""
    step = 10 ** max(len(str(high)) - 1, 0)
    if high < 2 * step and step > 1:
        step //= 2
    while high // step > 3:
        step *= 2
    return list(range(0, high + 1, step))
