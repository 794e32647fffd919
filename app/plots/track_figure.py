"""The Bokeh figure of a path: axes, tools and glyphs, and their column data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    HoverTool,
    LinearAxis,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure

from genoviz.analyses.graph.query.path_profile import PathBins
from genoviz_app.plots.annotation_rows import LABEL_OFFSET, AnnotationBoxes, PackedBoxes
from genoviz_app.plots.graph_picture import style_figure
from genoviz_app.plots.lit_stretches import LitAlong

TRACK_NAME = "path-track"
DEPTH_COLOUR, MEAN_COLOUR, VIEW_COLOUR = "#4fb3e8", "#bfe4fa", "#ffffff"
STRAND_PALETTE = ("#3b4a5e", "#5d5c55", "#806d4b", "#a27e41", "#c48f38", "#e69f00")
NAME_SIZE = "11px"
COLUMNS = {
    "bins": "left right bottom top first last depth depth_min depth_max reverse",
    "curve": "x base low mean high",
    "strand": "left right top bottom reverse",
    "view": "left right top bottom floor",
    "boxes": "left right top bottom label_x label_y name colour detail",
    "lit": "left right top bottom name colour n",
}
STRAND_PIXELS, ROW_PIXELS, VIEW_PIXELS, GAP = 7, 15, 4, 5
TOP_GAP, MIN_FLOOR = 8, 10
ROWS_SHARE = 0.56
Columns = dict[str, Any]


def make_figure() -> Any:
    """Return an empty figure with the path's axis."""
    plot = figure(
        name=TRACK_NAME,
        sizing_mode="stretch_both",
        min_height=80,
        x_range=Range1d(0, 1),
        y_range=Range1d(0, 1),
        toolbar_location=None,
        tools=[],
        output_backend="canvas",
    )
    style_figure(plot)
    plot.grid.visible = False
    plot.min_border_left, plot.min_border_right = 64, 20
    plot.min_border_top, plot.min_border_bottom = 8, 2
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    plot.xaxis[0].ticker.min_interval = 1  # bp: fractions would be written as integers
    plot.xaxis[0].axis_label = None
    return plot


def add_tools(plot: Any) -> tuple[PanTool, BoxSelectTool]:
    """Add wheel zoom and both drag tools, which are returned."""
    pan = PanTool(dimensions="width")
    zoom = WheelZoomTool(dimensions="width")
    select = BoxSelectTool(dimensions="width", renderers=[])  # selects an interval, not glyphs
    plot.add_tools(pan, zoom, select)
    plot.toolbar.active_drag = pan
    plot.toolbar.active_scroll = zoom
    return pan, select


def add_contig_axis(plot: Any) -> tuple[LinearAxis, Range1d]:
    """Add an axis at the top for coordinates of the contig."""
    contig_range = Range1d(0, 1)
    plot.extra_x_ranges = {"contig": contig_range}
    # The tools move both ranges alike, so the two axes stay in sync in the browser.
    axis = LinearAxis(
        x_range_name="contig", formatter=NumeralTickFormatter(format="0,0"), visible=False
    )
    axis.ticker.min_interval = 1
    plot.add_layout(axis, "above")
    style_figure(plot)
    return axis, contig_range


def add_glyphs(plot: Any) -> dict[str, ColumnDataSource]:
    """Add the glyphs and return their data sources, which are empty."""
    sources = {
        part: ColumnDataSource(data={name: [] for name in columns.split()})
        for part, columns in COLUMNS.items()
    }
    bins, curve, strand, view, names, lit = (sources[part] for part in COLUMNS)
    plot.quad(
        "left", "right", "bottom", "floor",
        source=view, fill_color=VIEW_COLOUR, fill_alpha=0.07, line_color=None,
    )  # fmt: skip
    plot.quad(
        "left", "right", "top", "bottom",
        source=view, fill_color=VIEW_COLOUR, fill_alpha=0.8, line_color=VIEW_COLOUR,
    )  # fmt: skip
    plot.varea("x", "base", "mean", source=curve, fill_color=DEPTH_COLOUR, fill_alpha=0.4)
    plot.varea("x", "low", "high", source=curve, fill_color=DEPTH_COLOUR, fill_alpha=0.35)
    plot.line("x", "mean", source=curve, line_color=MEAN_COLOUR, line_width=1.5)
    mapper = LinearColorMapper(palette=STRAND_PALETTE, low=0, high=1)
    strand_colour = {"field": "reverse", "transform": mapper}
    plot.quad(
        "left", "right", "top", "bottom",
        source=strand, fill_color=strand_colour, line_color=strand_colour,
    )  # fmt: skip
    # The line width does not scale with the zoom.
    marks = plot.quad(
        "left", "right", "top", "bottom",
        source=lit, fill_color="colour", fill_alpha=0.35, line_color="colour", line_width=2,
    )  # fmt: skip
    unseen = plot.quad("left", "right", "top", "bottom", source=bins, fill_alpha=0, line_color=None)
    boxes = plot.quad(
        "left", "right", "top", "bottom",
        source=names, fill_color="colour", fill_alpha=0.55, line_color="colour",
    )  # fmt: skip
    plot.text(
        "label_x", "label_y", "name",
        source=names, text_color="#f2f6fb", text_font_size=NAME_SIZE,
        text_baseline="middle", x_offset=LABEL_OFFSET,
    )  # fmt: skip
    _add_tooltips(plot, unseen, boxes, marks)
    return sources


def _add_tooltips(plot: Any, depths: Any, boxes: Any, marks: Any) -> None:
    plot.add_tools(
        HoverTool(
            renderers=[depths],
            mode="vline",
            point_policy="follow_mouse",
            tooltips=[
                ("Position", "@first{0,0} to @last{0,0} bp"),
                ("Depth", "@depth{0,0.[0]} steps (@depth_min{0,0} to @depth_max{0,0})"),
                ("Reverse", "@reverse{0.[0]} %"),
            ],
        ),
        HoverTool(
            renderers=[boxes],
            point_policy="follow_mouse",
            tooltips=[("", "@name"), ("", "@detail")],
        ),
        HoverTool(
            renderers=[marks],
            point_policy="follow_mouse",
            tooltips=[("Lit up", "@name"), ("Here", "@n{0,0}")],
        ),
    )


@dataclass(frozen=True)
class Places:
    """Heights in pixels from the bottom: annotations, then strand, depth and view.

    Attributes
    ----------
    height
        Height of the drawing.
    floor
        Lower edge of the strand; annotations are below it.
    """

    height: float
    floor: float

    @classmethod
    def in_height(cls, height: float, n_rows: int) -> Places:
        """Return the heights for a drawing of this height with this many annotation rows."""
        return cls(height, max(n_rows * ROW_PIXELS + GAP, MIN_FLOOR))

    @property
    def base(self) -> float:
        """Lower edge of depth."""
        return self.floor + STRAND_PIXELS + GAP

    @property
    def top(self) -> float:
        """Height of the maximum depth."""
        return max(self.height - VIEW_PIXELS - TOP_GAP, self.base + 10)

    def depth_scale(self, bins: PathBins) -> float:
        """Return pixels per unit of depth, so that the deepest bin fits."""
        return (self.top - self.base) / max(float(bins.depth_max.max(initial=1)), 1.0)


def max_rows(height: float) -> int:
    """Return the maximum number of annotation rows."""
    return max(int((height * ROWS_SHARE - GAP) // ROW_PIXELS), 1)


def depth_data(bins: PathBins, places: Places) -> Columns:
    """Return an invisible box for each bin, with the numbers of its tooltip; positions from 1."""
    n = len(bins.depth_mean)
    return {
        "left": bins.edges[:-1],
        "right": bins.edges[1:],
        "bottom": np.full(n, places.floor),
        "top": np.full(n, places.height),
        "first": np.floor(bins.edges[:-1]) + 1,
        "last": np.ceil(bins.edges[1:]),
        "depth": bins.depth_mean,
        "depth_min": bins.depth_min,
        "depth_max": bins.depth_max,
        "reverse": 100 * bins.reverse_share,
    }


def curve_data(bins: PathBins, places: Places, scale: float) -> Columns:
    """Return mean, minimum and maximum depth as steps, two points per bin."""
    return {
        "x": np.repeat(bins.edges, 2)[1:-1],
        "base": np.full(2 * len(bins.depth_mean), places.base),
        "low": places.base + scale * np.repeat(bins.depth_min, 2),
        "mean": places.base + scale * np.repeat(bins.depth_mean, 2),
        "high": places.base + scale * np.repeat(bins.depth_max, 2),
    }


def strand_data(bins: PathBins, places: Places) -> Columns:
    """Return a box for each bin, with its fraction of reverse bases."""
    return {
        "left": bins.edges[:-1],
        "right": bins.edges[1:],
        "top": np.full(len(bins.depth_mean), places.floor + STRAND_PIXELS),
        "bottom": np.full(len(bins.depth_mean), places.floor),
        "reverse": bins.reverse_share,
    }


def box_data(boxes: AnnotationBoxes, packed: PackedBoxes, places: Places) -> Columns:
    """Return the placed annotations."""
    chosen = packed.boxes.tolist()
    top = places.floor - GAP - packed.rows * ROW_PIXELS
    return {
        "left": boxes.starts[packed.boxes],
        "right": boxes.ends[packed.boxes],
        "top": top,
        "bottom": top - ROW_PIXELS + 3,
        "label_x": packed.label_starts,
        "label_y": top - ROW_PIXELS / 2 + 1,
        "name": [boxes.names[box] for box in chosen],
        "colour": [boxes.colours[box] for box in chosen],
        "detail": [boxes.details[box] for box in chosen],
    }


def view_data(
    stretches: np.ndarray, places: Places, shown: tuple[float, float], width: int
) -> Columns:
    """Return the intervals visible in the picture; those less than a pixel apart are merged."""
    start, end = shown
    inside = stretches[(stretches[:, 1] > start) & (stretches[:, 0] < end)].astype(float)
    gap = (end - start) / max(width, 1)
    if len(inside):
        begins = np.append(True, inside[1:, 0] - inside[:-1, 1] > gap)
        ends = np.append(begins[1:], True)
        inside = np.stack([inside[begins, 0], inside[ends, 1]], axis=1)
    n = len(inside)
    return {
        "left": inside[:, 0],
        "right": inside[:, 1],
        "top": np.full(n, places.height),
        "bottom": np.full(n, places.height - VIEW_PIXELS),
        "floor": np.zeros(n),
    }


def lit_data(
    lit: Sequence[LitAlong], places: Places, shown: tuple[float, float], width: int
) -> Columns:
    """Return the highlights, each set in its colour, from the strand to the top."""
    start, end = shown
    found = [each.between(start, end, (end - start) / max(width, 1)) for each in lit]
    counts = [len(rows) for rows in found]
    rows = np.concatenate([np.empty((0, 3), np.int64), *found])
    return {
        "left": rows[:, 0],
        "right": rows[:, 1],
        "top": np.full(len(rows), places.height - VIEW_PIXELS - 2),
        "bottom": np.full(len(rows), places.floor),
        "name": np.repeat([each.title for each in lit], counts).tolist(),
        "colour": np.repeat([each.colour for each in lit], counts).tolist(),
        "n": rows[:, 2],
    }
