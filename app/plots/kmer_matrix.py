"""The Bokeh figure of counts: a row for each k-mer, a column for each path or contig."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    LogColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)

from genoviz.analyses.graph.picture.palettes import DARK
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, GROUND, plain_figure

ABSENT, NOTHING = "#1b2432", "Nothing\nyet"
LETTERS, FEW_TICKS = 22, 5
FEW_ROWS = 8
"""Minimum number of rows on the y axis; fewer k-mers leave room below."""
MAX_COLUMN_LABELS, MAX_ROW_LABELS = 60, 28
N_COLOURS = 256


class MatrixFigure:
    """Counts on a logarithmic colour scale; absent k-mers are dark.

    Parameters
    ----------
    name
        Name of the figure.
    counted
        What is counted, for the title of the colour scale.

    Attributes
    ----------
    figure
        The figure; column ``j`` spans ``j`` to ``j + 1``, row ``i`` spans ``-i`` to ``-i - 1``.
    """

    def __init__(self, *, name: str = "kmer-matrix", counted: str = "Hits") -> None:
        self.figure = plain_figure(
            name, left=180, grid="", min_height=160, x_range=Range1d(0, 1), y_range=Range1d(-1, 0)
        )
        self.figure.min_border_bottom = 110
        self._source = ColumnDataSource(data={"image": [np.zeros((1, 1))], "dw": [1], "dh": [1]})
        colours = ramp_colours()
        self._mapper = LogColorMapper(palette=colours, low=1, high=2, low_color=ABSENT)
        image = self.figure.image(
            "image", x=0, y=0, dw="dw", dh="dh", source=self._source,
            color_mapper=self._mapper, origin="top_left", anchor="top_left",
        )  # fmt: skip
        self._ticker = FixedTicker(ticks=[1, 2])
        bar = ColorBar(
            color_mapper=self._mapper, ticker=self._ticker, title=counted, width=12,
            background_fill_color=GROUND,
            major_label_text_color=FAINT, title_text_color=FAINT, bar_line_color=None,
            formatter=NumeralTickFormatter(format="0,0"), major_tick_line_color=None,
            title_text_font_style="normal",
        )  # fmt: skip
        self.figure.add_layout(bar, "right")
        pan, zoom = PanTool(), WheelZoomTool()
        self.figure.add_tools(pan, zoom)
        self.figure.toolbar.active_drag, self.figure.toolbar.active_scroll = pan, zoom
        self._tickers = FixedTicker(ticks=[]), FixedTicker(ticks=[])
        self.figure.xaxis[0].update(ticker=self._tickers[0], major_label_orientation=0.9)
        self.figure.yaxis[0].ticker = self._tickers[1]
        self.note = EmptyNote(self.figure, bar, image)
        self.note.show(NOTHING)

    def show(
        self,
        counts: np.ndarray,
        rows: Sequence[str],
        columns: Sequence[str],
        *,
        min_rows: int = FEW_ROWS,
    ) -> None:
        """Draw counts of shape (n_rows, n_columns), with room for ``min_rows``."""
        n_rows, n_columns = counts.shape
        image = counts.astype(np.float32) if counts.size else np.zeros((1, 1), np.float32)
        self._source.data = {"image": [image], "dw": [max(n_columns, 1)], "dh": [max(n_rows, 1)]}
        self._mapper.high = max(float(counts.max(initial=2)), 2.0)
        # The colour bar is redrawn for new ticks, but not for a new ticker.
        maximum = int(self._mapper.high)
        self._ticker.ticks = count_ticks(maximum) if min_rows > 1 else [1, maximum]  # a low bar
        self.figure.x_range.update(start=0, end=max(n_columns, 1))
        self.figure.y_range.update(start=-max(n_rows, min_rows), end=0)
        self.note.show("" if counts.size else NOTHING)
        longest = max((len(shorten(name)) for name in columns), default=0)
        self.figure.min_border_bottom = 24 + int(4.6 * longest)
        for axis, ticker, names, sign, maximum in (
            (self.figure.xaxis[0], self._tickers[0], columns, 1, MAX_COLUMN_LABELS),
            (self.figure.yaxis[0], self._tickers[1], rows, -1, MAX_ROW_LABELS),
        ):
            stride = -(-len(names) // maximum) or 1
            labels = {
                sign * (place + 0.5): shorten(names[place])
                for place in range(0, len(names), stride)
            }
            ticker.ticks = sorted(labels)
            axis.major_label_overrides = labels


def count_ticks(maximum: int) -> list[int]:
    """Return round integer ticks for a logarithmic scale up to ``maximum``.

    Examples
    --------
    >>> count_ticks(3), count_ticks(70)
    ([1, 2, 3], [1, 2, 5, 10, 20, 50])
    """
    if maximum <= FEW_TICKS:
        return list(range(1, maximum + 1))
    steps = (step * 10**power for power in range(len(str(maximum))) for step in (1, 2, 5))
    return [tick for tick in steps if tick <= maximum]


def shorten(name: str) -> str:
    """Shorten a name so that it fits next to the matrix.

    Examples
    --------
    >>> shorten("HG00438#1#JAHBCB010000040.1:24201-112900")
    'HG00438#1#…4201-112900'
    """
    if len(name) <= LETTERS:
        return name
    return f"{name[:10]}…{name[11 - LETTERS :]}"


def ramp_colours() -> list[str]:
    """Return the colour scale from low to high counts."""
    return list(_ramp(DARK.ramps["depth"]))


def _ramp(stops: Sequence[str]) -> list[str]:
    parts = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops], float)
    places = np.linspace(0, len(stops) - 1, N_COLOURS)
    rgb = np.stack([np.interp(places, range(len(stops)), parts[:, i]) for i in range(3)], axis=1)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in rgb.round().astype(int).tolist()]
