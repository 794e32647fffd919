"""Bokeh figures of one variant: nearby variants coloured by linkage, and trait by genotype."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
    Span,
    Title,
)

from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, GROUND, plain_figure
from genoviz_app.plots.prediction import padded_ends

R2_COLOURS = ("#46558c", "#3f7fb5", "#3fb0ac", "#b9d96a", "#fde047")
"""From low to high linkage, with evenly increasing lightness as in viridis and cividis."""
LEFT, RIGHT, GENE_PIXELS = 60, 74, 20
GENE_COLOUR, CHOSEN_COLOUR = "#8fa1b8", "#ff7ac6"
DOT_COLUMNS = ("x", "y", "r2", "variant", "linked", "name", "text")
GENE_COLUMNS = ("left", "right", "bottom", "top", "y", "label_x", "name", "says")
BOX_COLOUR, DOT_COLOUR, MEDIAN_COLOUR, MEAN_COLOUR = "#4fb3e8", "#8fa1b8", "#e3eaf3", "#ffb454"
HALF, SHARE_HALF = 0.32, 0.36
BOX_COLUMNS = ("left", "right", "bottom", "top", "x", "low", "high", "median", "mean", "says")
MAX_DOTS = 1_500
USUAL_WIDTH, LETTER_WIDTH = 600, 6.6
"""Width of the plot before it is laid out, and of a letter of the words above it, px."""


class RegionFigure:
    """Variants around the selected one, coloured by their r² with it.

    Attributes
    ----------
    plot, genes_plot
        The figures: variants, and genes below on the same x axis.
    note
        The note while there are no variants.
    dots, chosen, genes
        Their data.
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
        self._said, self._width = "", USUAL_WIDTH
        self.plot.on_change("inner_width", self._on_width)
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
            major_label_overrides={1: "r² = 1"},  # titles are rotated, and truncated in low plots
        )  # fmt: skip
        self.plot.add_layout(bar, "right")
        self.words = Title(
            text="", text_color="#d5deea", text_font_size="12px", text_font_style="normal"
        )
        self.plot.add_layout(self.words, "above")
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
        """Draw variants with these columns, between these positions and up to a maximum value.

        Parameters
        ----------
        label, words
            Label of the x axis, and text above the plot.
        """
        self.dots.data = dots
        self.note.show("")
        self.plot.x_range.update(start=ends[0], end=ends[1])
        self.plot.y_range.end = top
        self.plot.xaxis[0].axis_label = label
        self._said = words
        self._write()

    def _on_width(self, _attr: str, _old: Any, width: int | None) -> None:
        if width:
            self._width = width
            self._write()

    def _write(self) -> None:
        """Write the words in lines that fit."""
        self.words.text = fill(self._said, max(int(self._width / LETTER_WIDTH), 1))

    def show_nothing(self, words: str) -> None:
        """Remove all variants and show the reason."""
        self.dots.data = {name: [] for name in DOT_COLUMNS}
        self._said = self.words.text = ""
        self.note.show(words)
        self.choose(None)

    def choose(self, x: float | None, y: float = 0.0) -> None:
        """Mark a variant; None removes the mark."""
        self.chosen.data = {"x": [] if x is None else [x], "y": [] if x is None else [y]}

    def show_genes(self, genes: dict[str, Any], n_rows: int) -> None:
        """Draw genes in rows, the top row 0 at y = -0.5."""
        self.genes.data = genes
        self.genes_plot.y_range.update(start=-max(n_rows, 1), end=0)


def _make(name: str, x_range: Range1d, y_range: Range1d, min_height: int) -> Any:
    plot = plain_figure(
        name, left=LEFT, right=RIGHT, min_height=min_height, x_range=x_range, y_range=y_range
    )
    plot.min_border_top = plot.min_border_bottom = 3
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    return plot


class GenotypeBoxes:
    """Box plots of up to three genotypes, side by side.

    Attributes
    ----------
    plot, boxes, dots
        The figure and its data.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "snp-boxes", left=50, right=8, min_height=120, min_width=160,
            x_range=Range1d(-0.5, 2.5), y_range=Range1d(0, 1),
        )  # fmt: skip
        self.plot.yaxis[0].ticker.desired_num_ticks = 4
        self._ticker = FixedTicker(ticks=[])
        self.plot.xaxis[0].ticker = self._ticker
        self.boxes = ColumnDataSource(data={name: [] for name in BOX_COLUMNS})
        self.dots = ColumnDataSource(data={"x": [], "y": []})
        self.plot.scatter("x", "y", source=self.dots, size=3, color=DOT_COLOUR, alpha=0.35)
        self.plot.segment("x", "low", "x", "high", source=self.boxes, line_color=BOX_COLOUR)
        drawn = self.plot.quad(
            "left", "right", "top", "bottom", source=self.boxes, fill_color=BOX_COLOUR,
            fill_alpha=0.3, line_color=BOX_COLOUR,
        )  # fmt: skip
        self.plot.segment("left", "median", "right", "median", source=self.boxes,
                          line_color=MEDIAN_COLOUR, line_width=2)  # fmt: skip
        self.plot.scatter("x", "mean", source=self.boxes, marker="diamond", size=9,
                          color=MEAN_COLOUR)  # fmt: skip
        self.plot.add_tools(
            HoverTool(renderers=[drawn], point_policy="follow_mouse", tooltips=[("", "@says")])
        )

    def show_nothing(self) -> None:
        """Remove all genotypes."""
        self.boxes.data = {name: [] for name in BOX_COLUMNS}
        self.dots.data = {"x": [], "y": []}
        self._ticker.ticks = []
        self.plot.yaxis[0].update(visible=False, axis_label=None)
        self.plot.ygrid.visible = False

    def show(
        self, groups: list[np.ndarray], names: list[str], label: str, *, has_cases: bool
    ) -> None:
        """Draw the values of each genotype, float64 without NaN, above its name."""
        is_share = is_two_valued(np.concatenate([*groups, np.empty(0)]))
        columns = share_columns(groups) if is_share else box_columns(groups)
        self.dots.data = {"x": [], "y": []} if is_share else spread(groups)
        self.boxes.data = columns
        values = np.concatenate([*groups, np.empty(0)])
        low, high = (0.0, 1.08 * max([*columns["high"], 0.1])) if is_share else padded_ends(values)
        self.plot.y_range.update(start=low, end=high)
        n = max(len(names), 1)
        self.plot.x_range.update(start=-0.5, end=n - 0.5)
        self._ticker.ticks = list(range(n))
        self.plot.xaxis[0].major_label_overrides = dict(enumerate(names))
        of_two = "Share of cases" if has_cases else "Share of higher"
        said = of_two if is_share else label
        self.plot.yaxis[0].update(visible=True, axis_label=said)
        self.plot.ygrid.visible = True


def is_two_valued(values: np.ndarray) -> bool:
    """Return whether there are exactly two distinct values."""
    return len(values) > 1 and len(np.unique(values)) == 2


def box_columns(groups: list[np.ndarray]) -> dict[str, Any]:
    """Return boxes from first to third quartile, with whiskers of 1.5 interquartile ranges."""
    rows: dict[str, list[Any]] = {name: [] for name in BOX_COLUMNS}
    for place, values in enumerate(groups):
        if not len(values):
            continue
        first, median, third = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 1.5 * (third - first)
        inside = values[(values >= first - reach) & (values <= third + reach)]
        _add(rows, place, HALF, first, third, inside.min(), inside.max(), median, values.mean())
        deviation = values.std(ddof=1) if len(values) > 1 else 0.0
        rows["says"].append(
            f"n = {len(values):,}, mean {values.mean():.4g} ± {deviation:.3g}, median {median:.4g}"
        )
    return {name: np.array(row) if name != "says" else row for name, row in rows.items()}


def share_columns(groups: list[np.ndarray]) -> dict[str, Any]:
    """Return bars of the fraction of the higher value, with 95 % Wilson intervals."""
    rows: dict[str, list[Any]] = {name: [] for name in BOX_COLUMNS}
    highest = max(values.max() for values in groups if len(values))
    for place, values in enumerate(groups):
        n = len(values)
        if not n:
            continue
        n_cases = int((values == highest).sum())
        share, z2 = n_cases / n, 1.96**2
        middle = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) * 1.96 / (1 + z2 / n)
        _add(rows, place, SHARE_HALF, 0, share, middle - half, middle + half, share, share)
        rows["says"].append(f"{n_cases:,} of {n:,}: {100 * share:.1f} %")
    return {name: np.array(row) if name != "says" else row for name, row in rows.items()}


def _add(rows: dict[str, list[Any]], place: int, half: float, *values: float) -> None:
    rows["left"].append(place - half)
    rows["right"].append(place + half)
    rows["x"].append(place)
    for name, value in zip(("bottom", "top", "low", "high", "median", "mean"), values, strict=True):
        rows[name].append(float(value))


def spread(groups: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values as jittered dots; of many values, a random sample."""
    random = np.random.default_rng(0)
    xs, ys = [np.empty(0)], [np.empty(0)]
    for place, values in enumerate(groups):
        if len(values) > MAX_DOTS:
            values = random.choice(values, MAX_DOTS, replace=False)
        xs.append(place + random.uniform(-HALF * 0.9, HALF * 0.9, len(values)))
        ys.append(values)
    return {"x": np.concatenate(xs), "y": np.concatenate(ys)}
