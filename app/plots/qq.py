"""Bokeh figure of observed against expected p-values."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, HoverTool, Label, Range1d
from bokeh.plotting import figure

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import LINES, style_figure

DOT_COLOUR, BAND_COLOUR, LINE_COLOUR = "#4fb3e8", "#8fa1b8", "#c9d5e4"
NOTHING = "Nothing yet"
DOT_COLUMNS, BAND_COLUMNS = ("x", "y", "name", "text"), ("x", "low", "high")


class QuantileFigure:
    """Dots near a diagonal, with the band in which 95 % of them are expected.

    Attributes
    ----------
    plot, note, dots, band
        The figure, what it says while it is empty, and what it draws.
    """

    def __init__(self) -> None:
        self.plot = figure(
            name="association-qq", sizing_mode="stretch_both", min_height=150, min_width=160,
            x_range=Range1d(0, 1), y_range=Range1d(0, 1), toolbar_location=None, tools=["tap"],
            output_backend="canvas",
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.grid.grid_line_color = LINES
        self.plot.min_border_left, self.plot.min_border_right = 46, 12
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
            ``x`` expected, ``y`` observed, and what tooltips say, ``name`` and ``text``.
        band
            ``x``, ``low`` and ``high``.
        words
            What is said of them, in the upper left corner.
        """
        self.note.show("" if len(dots["x"]) else NOTHING)
        self.dots.data, self.band.data = dots, band
        right = 1.05 * max([*dots["x"], 1.0])
        top = 1.05 * max([*dots["y"], *band["high"], 1.0])
        self.plot.x_range.end, self.plot.y_range.end = right, top
        self.label.update(text=words, visible=bool(words), x=right * 0.04, y=top * 0.95,
                          x_units="data", y_units="data", anchor="top_left")  # fmt: skip
