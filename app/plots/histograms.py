"""Histograms: of a quality measure with a draggable threshold, and small ones of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.events import Tap
from bokeh.models import (
    BoxAnnotation,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    Range1d,
    Span,
)

from genoviz.analyses.graph.query.statistics_results import Histogram
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import plain_figure
from genoviz_app.plots.legend import short_number

BAR_COLOUR, THRESHOLD_COLOUR = "#4fb3e8", "#ffb454"
LOWEST = 0.6
N_BINS = 40
NOTHING = "Nothing\nyet"
REST_SECONDS = 0.1
LOWEST_BAR = 0.5
MAX_TICKS = 7


@dataclass(frozen=True, eq=False)
class Bins:
    """Counts of values in bins of equal width.

    Attributes
    ----------
    edges
        float64, shape (n_bins + 1,).
    counts
        int64, shape (n_bins,).
    n_beyond
        Number of values above the last edge, which the last bin includes.
    """

    edges: np.ndarray
    counts: np.ndarray
    n_beyond: int = 0

    def holds(self, place: int, values: np.ndarray) -> np.ndarray:
        """Return a bool mask of the values in the bin at ``place``, without its upper edge."""
        is_first, is_last = place == 0, place == len(self.counts) - 1
        low, high = self.edges[place : place + 2]
        is_in = ((values >= low) | is_first) & ((values < high) | is_last)
        return is_in & np.isfinite(values)

    def say(self, place: int, *, unit: str = "", digits: str = ".4g") -> str:
        """Return the edges of the bin at ``place`` as text."""
        low, high = self.edges[place : place + 2]
        more = " and more" if self.n_beyond and place == len(self.counts) - 1 else ""
        return f"{low:{digits}} to {high:{digits}}{unit}{more}"


def bin_values(values: np.ndarray, low: float, high: float, n_bins: int = N_BINS) -> Bins:
    """Count values in bins from ``low`` to ``high``; NaN is ignored."""
    values = values[np.isfinite(values)]
    n_beyond = int((values > high).sum())
    counts, edges = np.histogram(np.clip(values, low, high), n_bins, (low, high))
    return Bins(edges, counts, n_beyond)


class QualityHistogram:
    """Bars on a log axis with a draggable threshold; the excluded range is shaded.

    Parameters
    ----------
    name, x_label, y_label
        Name of the figure, and labels of its axes.
    drops_below
        True if values below the threshold are excluded, False if those above; None for no
        threshold.
    on_threshold
        Called by `poll` with the new threshold once the dragged line is at rest.
    on_bar
        Called with the bins and the index of the clicked bar.
    watch
        Returns what calls a function once a drag rests, as `Watched` does for a session.

    Attributes
    ----------
    plot, note, line, shade
        The figure, its note while empty, the threshold line, and the excluded range.
    """

    def __init__(
        self,
        name: str,
        x_label: str,
        y_label: str,
        *,
        drops_below: bool | None,
        on_threshold: Callable[[float], None],
        on_bar: Callable[[Bins, int], None],
        watch: Callable[[Callable[[], None]], Any],
    ) -> None:
        self._drops_below, self._on_threshold, self._on_bar = drops_below, on_threshold, on_bar
        self._is_following = False
        self._bins: Bins | None = None
        self._dragging = watch(self._on_rest)
        self.plot = plain_figure(
            name, left=48, right=12, min_height=120, min_width=120, x_range=Range1d(0, 1),
            y_range=Range1d(LOWEST, 10), y_axis_type="log", x_axis_label=x_label,
            y_axis_label=y_label, tools=["tap"],
        )  # fmt: skip
        self.plot.xaxis[0].ticker.desired_num_ticks = 4
        self.plot.yaxis[0].ticker.desired_num_ticks = 4
        self.plot.yaxis[0].formatter = NumeralTickFormatter(format="0a")
        self.bars = ColumnDataSource(data={"left": [], "right": [], "top": [], "says": []})
        self._draw_bars(y_label)
        self.line, self.shade = self._draw_threshold()
        self.note = EmptyNote(self.plot, *([] if drops_below is None else [self.line]))
        self.note.show(NOTHING)
        self.plot.on_event(Tap, self._on_tap)

    def _draw_bars(self, y_label: str) -> None:
        bars = self.plot.quad(
            "left", "right", "top", LOWEST, source=self.bars, fill_color=BAR_COLOUR,
            line_color=None, nonselection_fill_alpha=1.0,
        )  # fmt: skip
        self.plot.add_tools(
            HoverTool(
                renderers=[bars],
                point_policy="follow_mouse",
                tooltips=[("", "@says"), (y_label, "@count{0,0}")],
            )
        )

    def _draw_threshold(self) -> tuple[Span, BoxAnnotation]:
        shade = BoxAnnotation(
            fill_color=THRESHOLD_COLOUR, fill_alpha=0.16, line_color=None, visible=False
        )
        line = Span(
            dimension="height", location=0, line_color=THRESHOLD_COLOUR, line_width=3,
            line_dash="solid", editable=True, visible=self._drops_below is not None,
        )  # fmt: skip
        self.plot.add_layout(shade)
        self.plot.add_layout(line)
        line.on_change("location", self._on_drag)
        line.js_link("location", shade, "right" if self._drops_below else "left")
        return line, shade

    def show(self, bins: Bins, *, unit: str = "", digits: str = ".4g") -> None:
        """Draw bars; ``digits`` and ``unit`` format the bin edges in tooltips."""
        self._bins = bins
        self._dragging.stop()
        self.note.show("" if bins.counts.any() else NOTHING)
        width = bins.edges[1] - bins.edges[0]
        self.bars.data = {
            "left": bins.edges[:-1] + 0.04 * width,
            "right": bins.edges[1:] - 0.04 * width,
            "top": np.where(bins.counts > 0, bins.counts, LOWEST).astype(float),
            "count": bins.counts,
            "says": [
                bins.say(place, unit=unit, digits=digits) for place in range(len(bins.counts))
            ],
        }
        margin = 0.03 * (bins.edges[-1] - bins.edges[0])
        self.plot.x_range.update(start=bins.edges[0] - margin, end=bins.edges[-1] + margin)
        highest = float(bins.counts.max(initial=1))
        self.plot.y_range.update(start=LOWEST, end=max(2.5 * highest, 10))

    @property
    def end(self) -> float:
        """The upper edge of the last bin."""
        return float(self._bins.edges[-1]) if self._bins is not None else 1.0

    def place_line(self, threshold: float) -> None:
        """Move the line to the threshold, or to the edge of the figure if there is none."""
        if self._bins is None or self._drops_below is None:
            return
        low, high = float(self._bins.edges[0]), float(self._bins.edges[-1])
        at = min(max(threshold, low), high)
        self._is_following = True
        self.line.location = at
        self._is_following = False
        if self._drops_below:
            self.shade.update(left=None, right=at, visible=at > low)
        else:
            self.shade.update(left=at, right=None, visible=at < high)

    def _on_drag(self, _attr: str, _old: float, _new: float) -> None:
        if not self._is_following and self._bins is not None:
            # The browser reports each mouse move, more often than the page can be updated.
            self._dragging.start(REST_SECONDS)

    def _on_rest(self) -> None:
        """Report the dragged threshold."""
        edges = self._bins.edges
        self._on_threshold(float(min(max(self.line.location, edges[0]), edges[-1])))

    def _on_tap(self, event: Tap) -> None:
        if self._bins is None or event.x is None:
            return
        place = int(np.searchsorted(self._bins.edges, event.x, side="right")) - 1
        if 0 <= place < len(self._bins.counts) and self._bins.counts[place]:
            self._on_bar(self._bins, place)


def histogram_figure(histogram: Histogram, *, x_label: str, y_label: str, unit: str = "") -> Any:
    """Return a small bar chart with a log axis.

    Parameters
    ----------
    histogram
        Bins and counts; empty bins have no bar.
    x_label, y_label, unit
        Labels of the axes, and the unit of values in tooltips.
    """
    places = np.flatnonzero(histogram.counts)
    counts = np.asarray(histogram.counts)[places]
    bars = ColumnDataSource({
        "left": places, "right": places + 1, "top": counts,
        "bin": [_bin_text(histogram, place, unit) for place in places.tolist()],
        "count": [f"{count:,}" for count in counts.tolist()],
    })  # fmt: skip
    first = int(places[0]) if len(places) else 0
    highest = max(histogram.counts, default=1)
    plot = plain_figure(
        "graph-histogram", left=48, right=8, min_height=100, y_axis_type="log",
        x_range=Range1d(first, max(len(histogram.counts), first + 1)),
        y_range=Range1d(LOWEST_BAR, max(2.0 * highest, 2)),
        x_axis_label=x_label, y_axis_label=y_label,
    )  # fmt: skip
    quads = plot.quad(
        "left", "right", "top", LOWEST_BAR, source=bars, color=BAR_COLOUR, line_color=None
    )
    hover = [(x_label, "@bin"), (y_label, "@count")]
    plot.add_tools(HoverTool(renderers=[quads], tooltips=hover, point_policy="follow_mouse"))
    ticks = {place: text for place, text in axis_ticks(histogram).items() if place >= first}
    plot.xaxis[0].ticker = FixedTicker(ticks=list(ticks))
    plot.xaxis[0].major_label_overrides = ticks
    plot.yaxis[0].ticker.desired_num_ticks = 4
    return plot


def axis_ticks(histogram: Histogram) -> dict[int, str]:
    """Return labels of the x axis by bin; at most about seven."""
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
