"""Bokeh figures of off-targets: positions, and differences from the guide."""

from __future__ import annotations

from math import inf, pi
from typing import Any

from bokeh.models import (
    BasicTicker,
    BoxSelectTool,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)

from genoviz_app.plots.graph_picture import LINES, SMALL_TEXT, plain_figure
from genoviz_app.plots.lit_stretches import LitBars

MISMATCH_COLOURS = (
    "#ff5263", "#ff8f45", "#ffc74f", "#b9dc5c", "#5fce93", "#4fb3e8", "#7392ea", "#9a82dd",
    "#a78bb5", "#8d97a8", "#76808f",
)  # fmt: skip
MANY_ROWS, CROWDED_ROWS = 14, 18
CHOSEN_COLOUR, BAR_COLOUR = "#ffffff", "#1d2836"
BIN_COLUMNS = ("left", "right", "bottom", "top", "colour", "alpha", "place", "n", "fewest")
CELLS_WIDTH, CELL_SHARE = 186, 0.92
"""Total width of the cells and their margin, px, and the part of its place that a cell covers."""
CELL_SIZES, LETTER_WIDTH = (11, 10, 9), 0.64
"""Sizes of the text of a cell, px, the best first, and width of a letter by its size."""
LETTER_HEIGHT = 0.75
CELL_COLUMNS = (
    "left", "right", "bottom", "top", "colour", "alpha", "text", "edge", "x", "y", "says"
)  # fmt: skip


class PlacesFigure:
    """Bins of hits in rows: one per contig, or one per number of mismatches.

    Attributes
    ----------
    plot
        The figure.
    bins, bars, borders, chosen, lit
        Its data: bins, contigs as bars, contig borders, the selected hit, and highlights.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "offtarget-places", left=70, right=30, grid="", min_height=120,
            x_range=Range1d(0, 1), y_range=Range1d(0, 1),
        )  # fmt: skip
        self.plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.bins = _source(BIN_COLUMNS)
        self.bars = _source(("left", "right", "bottom", "top"))
        self.borders = _source(("x",))
        self.chosen = _source(("x", "y"))
        self._basic_ticker = BasicTicker(desired_num_ticks=2)
        self._names = FixedTicker(ticks=[])
        self.rows = FixedTicker(ticks=[])
        self.plot.yaxis[0].ticker = self.rows
        self._draw()

    def _draw(self) -> None:
        ends: dict[str, Any] = {name: name for name in ("left", "right", "bottom", "top")}
        self.plot.quad(**ends, source=self.bars, fill_color=BAR_COLOUR, line_color=None)
        self.plot.vspan(x="x", source=self.borders, line_color=LINES)
        drawn = self.plot.quad(
            **ends, source=self.bins, fill_color="colour", fill_alpha="alpha",
            line_color="colour", line_alpha="alpha", line_width=1,
            nonselection_fill_alpha="alpha", nonselection_line_alpha="alpha",
        )  # fmt: skip
        self.plot.scatter(
            x="x", y="y", source=self.chosen, marker="inverted_triangle", size=11,
            fill_color=CHOSEN_COLOUR, line_color="#0b0f15",
        )  # fmt: skip
        self.plot.add_tools(
            HoverTool(
                renderers=[drawn],
                point_policy="follow_mouse",
                tooltips=[("", "@place"), ("Hits", "@n{0,0}"), ("Fewest mismatches", "@fewest")],
            )
        )
        self.lit = LitBars(self.plot)
        pan, zoom = PanTool(dimensions="width"), WheelZoomTool(dimensions="width")
        self.select = BoxSelectTool(dimensions="both", renderers=[])
        self.plot.add_tools(pan, zoom, self.select)
        self.plot.toolbar.active_drag = pan
        self.plot.toolbar.active_scroll = zoom
        self._pan = pan

    def drag_selects(self, is_selecting: bool) -> None:
        """Make dragging select an interval, or pan."""
        self.plot.toolbar.active_drag = self.select if is_selecting else self._pan

    def show(
        self,
        columns: dict[str, Any],
        bars: dict[str, Any],
        rows: dict[float, str],
        names: dict[float, str],
        borders: Any,
        labels: tuple[str, str],
    ) -> None:
        """Draw bins in rows.

        Parameters
        ----------
        columns, bars, borders
            Data to draw.
        rows
            Row names by the middle of each row.
        names
            Names on the x axis instead of positions; empty for positions.
        labels
            Labels of the axes.
        """
        self.bins.data, self.bars.data = columns, bars
        self.borders.data = {"x": borders}
        x_axis, y_axis = self.plot.xaxis[0], self.plot.yaxis[0]
        # Ascending, or else Bokeh drops all names but the first as overlapping.
        self.rows.ticks = sorted(list(rows)[:: 2 if len(rows) > CROWDED_ROWS else 1])
        y_axis.major_label_overrides = rows
        if names:
            self._names.ticks = list(names)
        x_axis.update(
            ticker=self._names if names else self._basic_ticker,
            major_label_overrides=names,
            axis_label=labels[0] or None,
        )
        y_axis.axis_label = labels[1] or None
        low, high = (min(rows) - 0.6, max(rows) + 0.6) if rows else (0, 1)
        y_axis.major_label_text_font_size = SMALL_TEXT if len(rows) <= MANY_ROWS else "9px"
        self.plot.y_range.update(start=low, end=high)


class KindsFigure:
    """Number of hits by bulge kind and mismatches, as clickable cells.

    Attributes
    ----------
    plot, cells, texts
        The figure, its data, and the counts in the cells.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "offtarget-kinds", left=50, right=10, grid="", min_height=90, min_width=100,
            x_range=Range1d(-0.5, 0.5), y_range=Range1d(-0.5, 0.5), tools=["tap"],
        )  # fmt: skip
        self.plot.xaxis[0].axis_label = "Mismatches"
        self.cells = _source(CELL_COLUMNS)
        self._columns, self._rows = FixedTicker(ticks=[]), FixedTicker(ticks=[])
        self.plot.xaxis[0].ticker, self.plot.yaxis[0].ticker = self._columns, self._rows
        drawn = self.plot.quad(
            left="left", right="right", bottom="bottom", top="top", source=self.cells,
            fill_color="colour", fill_alpha="alpha", line_color="edge", line_width=2,
            nonselection_fill_alpha="alpha", nonselection_line_alpha=1,
        )  # fmt: skip
        self.texts = self.plot.text(
            x="x", y="y", text="text", source=self.cells, text_align="center",
            text_baseline="middle", text_color="#f2f6fb", text_font_size="11px",
            nonselection_text_alpha=1,
        )  # fmt: skip
        self.plot.add_tools(
            HoverTool(renderers=[drawn], point_policy="follow_mouse", tooltips=[("", "@says")])
        )
        self._size = {"inner_width": 0, "inner_height": 0}  # not known yet
        for side in self._size:
            self.plot.on_change(side, self._on_size)

    def show(self, cells: dict[str, Any], rows: list[str], n_columns: int) -> None:
        """Draw the cells of a table of bulge kinds by numbers of mismatches."""
        self.cells.data = cells
        self._columns.ticks = list(range(n_columns))
        self._rows.ticks = list(range(len(rows)))
        self.plot.yaxis[0].update(
            major_label_overrides=dict(enumerate(rows)), visible=len(rows) > 1
        )
        self.plot.min_border_left = 50 if len(rows) > 1 else 10
        self._fit_texts()
        self.plot.x_range.update(start=-0.55, end=n_columns - 0.45)
        self.plot.y_range.update(start=len(rows) - 0.45, end=-0.55)

    def _on_size(self, side: str, _old: int, new: int) -> None:
        self._size[side] = new
        self._fit_texts()

    def _fit_texts(self) -> None:
        """Make texts smaller, or turn them, until they fit into their cells, or else hide them.

        Tooltips have the counts too.
        """
        n_columns, n_rows = max(1, len(self._columns.ticks)), max(1, len(self._rows.ticks))
        width = self._size["inner_width"] or CELLS_WIDTH - self.plot.min_border_left
        height = self._size["inner_height"] or inf
        across, up = CELL_SHARE * width / n_columns, CELL_SHARE * height / n_rows
        longest = LETTER_WIDTH * max(map(len, self.cells.data["text"]), default=0)
        fitting = [
            (size, angle)
            for angle, along, beside in ((0, across, up), (pi / 2, up, across))
            for size in CELL_SIZES
            if size * longest <= along and size * LETTER_HEIGHT <= beside
        ]
        self.texts.visible = bool(fitting)
        if fitting:
            size, angle = fitting[0]
            self.texts.glyph.update(text_font_size=f"{size}px", angle=angle)


def _source(columns: tuple[str, ...]) -> ColumnDataSource:
    return ColumnDataSource(data={name: [] for name in columns})
