"""Bokeh figure of a stretch of a contig: variants coloured by linkage with one, genes below."""

from __future__ import annotations

from typing import Any

from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    Label,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
    Span,
)
from bokeh.plotting import figure

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, GROUND, LINES, style_figure

R2_COLOURS = ("#46558c", "#3f7fb5", "#3fb0ac", "#b9d96a", "#fde047")
"""From little to much linkage: lightness rises evenly, as in viridis and cividis."""

LEFT, RIGHT, GENE_PIXELS = 60, 74, 20
GENE_COLOUR, CHOSEN_COLOUR = "#8fa1b8", "#ff7ac6"
DOT_COLUMNS = ("x", "y", "r2", "variant", "linked", "name", "text")
GENE_COLUMNS = ("left", "right", "bottom", "top", "y", "label_x", "name", "says")


class RegionFigure:
    """Variants around the one that is picked, in the colours of their r² with it.

    Attributes
    ----------
    plot, genes_plot
        The figures: variants, and genes below on the same x axis.
    note
        What is said while there are no variants.
    dots, chosen, genes
        What they draw.
    """

    def __init__(self) -> None:
        x_range = Range1d(0, 1)
        self.plot = _make("association-region", x_range, Range1d(0, 8), 120)
        self.plot.yaxis[0].axis_label = "−log₁₀ p"
        self.genes_plot = _make("association-genes", x_range, Range1d(-1, 0), GENE_PIXELS)
        self.genes_plot.update(sizing_mode="stretch_width", height=GENE_PIXELS)
        self.genes_plot.ygrid.visible = False
        self.genes_plot.yaxis.visible = False
        self.genes_plot.xaxis.visible = False
        self.dots = ColumnDataSource(data={name: [] for name in DOT_COLUMNS})
        self.chosen = ColumnDataSource(data={"x": [], "y": []})
        self.genes = ColumnDataSource(data={name: [] for name in GENE_COLUMNS})
        self._draw_variants()
        self._draw_genes()

    def _draw_variants(self) -> None:
        mapper = LinearColorMapper(palette=list(R2_COLOURS), low=0, high=1, nan_color="#5a6b82")
        drawn = self.plot.scatter(
            "x", "y", source=self.dots, size=7, line_color="#0b0f15", line_width=0.5,
            fill_color={"field": "r2", "transform": mapper}, nonselection_fill_alpha=1.0,
        )  # fmt: skip
        self.plot.scatter("x", "y", source=self.chosen, marker="diamond", size=15,
                          fill_color=None, line_color=CHOSEN_COLOUR, line_width=2.5)  # fmt: skip
        self.plot.add_tools(
            HoverTool(
                renderers=[drawn],
                limit=1,
                tooltips=[("", "@name"), ("p", "@text"), ("r²", "@linked")],
            )
        )
        bar = ColorBar(
            color_mapper=mapper, width=10, background_fill_color=GROUND, padding=4,
            major_label_text_color=FAINT, bar_line_color=None, major_tick_line_color=None,
            ticker=FixedTicker(ticks=[0, 0.2, 0.4, 0.6, 0.8, 1]),
            major_label_overrides={1: "r² = 1"},  # a title would be turned, and cut in low plots
        )  # fmt: skip
        self.plot.add_layout(bar, "right")
        self.words = Label(
            x=0, y=0, text="", text_color="#d5deea", text_font_size="12px", text_baseline="top",
            background_fill_color=GROUND, background_fill_alpha=0.7,
        )  # fmt: skip
        self.plot.add_layout(self.words)
        levels = [
            Span(dimension="width", location=place, line_color=colour, line_dash="dashed")
            for place, colour in ((7.301, "#ffb454"), (5.0, "#5a6b82"))
        ]
        for level in levels:
            self.plot.add_layout(level)
        self.note = EmptyNote(self.plot, bar, *levels)

    def _draw_genes(self) -> None:
        plot = self.genes_plot
        drawn = plot.quad(
            "left", "right", "top", "bottom", source=self.genes, fill_color=GENE_COLOUR,
            fill_alpha=0.6, line_color=GENE_COLOUR,
        )  # fmt: skip
        plot.text(
            "label_x", "y", "name", source=self.genes, text_color="#f2f6fb", x_offset=2,
            text_font_size="11px", text_baseline="middle",
        )  # fmt: skip
        plot.add_tools(
            HoverTool(renderers=[drawn], point_policy="follow_mouse", tooltips=[("", "@says")])
        )

    def show(
        self,
        dots: dict[str, Any],
        ends: tuple[float, float],
        top: float,
        label: str,
        words: str,
    ) -> None:
        """Draw variants with these columns between these ends, up to a value.

        Parameters
        ----------
        label, words
            What stands below the x axis, and in the upper left corner.
        """
        self.dots.data = dots
        self.note.show("")
        self.plot.x_range.update(start=ends[0], end=ends[1])
        self.plot.y_range.end = top
        self.plot.xaxis[0].axis_label = label
        self.words.update(text=words, x=ends[0] + 0.008 * (ends[1] - ends[0]), y=0.985 * top)

    def show_nothing(self, words: str) -> None:
        """Draw no variants, and say why."""
        self.dots.data = {name: [] for name in DOT_COLUMNS}
        self.words.text = ""
        self.note.show(words)
        self.choose(None)

    def choose(self, x: float | None, y: float = 0.0) -> None:
        """Mark a variant; None marks none."""
        self.chosen.data = {"x": [] if x is None else [x], "y": [] if x is None else [y]}

    def show_genes(self, genes: dict[str, Any], n_rows: int) -> None:
        """Draw genes in rows, 0 the highest at y = -0.5."""
        self.genes.data = genes
        self.genes_plot.y_range.update(start=-max(n_rows, 1), end=0)


def _make(name: str, x_range: Range1d, y_range: Range1d, min_height: int) -> Any:
    plot = figure(
        name=name, sizing_mode="stretch_both", min_height=min_height, x_range=x_range,
        y_range=y_range, toolbar_location=None, tools=[], output_backend="canvas",
    )  # fmt: skip
    style_figure(plot)
    plot.xgrid.visible = False
    plot.ygrid.grid_line_color = LINES
    plot.min_border_left, plot.min_border_right = LEFT, RIGHT
    plot.min_border_top = plot.min_border_bottom = 3
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    return plot
