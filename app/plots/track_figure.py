"""The Bokeh figure of a path: axes, tools, and glyphs without data yet."""

from __future__ import annotations

from typing import Any

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

from genoviz_app.plots.graph_picture import style_figure

TRACK_NAME = "path-track"
DEPTH_COLOUR, MEAN_COLOUR, VIEW_COLOUR = "#4fb3e8", "#bfe4fa", "#ffffff"
STRAND_PALETTE = ("#3b4a5e", "#5d5c55", "#806d4b", "#a27e41", "#c48f38", "#e69f00")
NAME_SIZE = "11px"
COLUMNS = {
    "bins": "left right bottom top depth depth_min depth_max reverse",
    "curve": "x base low mean high",
    "strand": "left right top bottom reverse",
    "view": "left right top bottom floor",
    "boxes": "left right top bottom label_x label_y name colour detail",
}


def make_figure() -> Any:
    """Return an empty figure with its axis of the path."""
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
    plot.xaxis[0].ticker.min_interval = 1  # bp: a part of one would be written as a whole one
    plot.xaxis[0].axis_label = None
    return plot


def add_tools(plot: Any) -> tuple[PanTool, BoxSelectTool]:
    """Add zooming by wheel and the two uses of dragging, which are returned."""
    pan = PanTool(dimensions="width")
    zoom = WheelZoomTool(dimensions="width")
    select = BoxSelectTool(dimensions="width", renderers=[])  # a stretch, not glyphs
    plot.add_tools(pan, zoom, select)
    plot.toolbar.active_drag = pan
    plot.toolbar.active_scroll = zoom
    return pan, select


def add_contig_axis(plot: Any) -> tuple[LinearAxis, Range1d]:
    """Add an axis above for the coordinates of the contig."""
    contig_range = Range1d(0, 1)
    plot.extra_x_ranges = {"contig": contig_range}
    # Both ranges are moved by the tools alike, so the two axes stay in step in the browser.
    axis = LinearAxis(
        x_range_name="contig", formatter=NumeralTickFormatter(format="0,0"), visible=False
    )
    axis.ticker.min_interval = 1
    plot.add_layout(axis, "above")
    style_figure(plot)
    return axis, contig_range


def add_glyphs(plot: Any) -> dict[str, ColumnDataSource]:
    """Add the glyphs and return their sources, which are empty."""
    sources = {
        part: ColumnDataSource(data={name: [] for name in columns.split()})
        for part, columns in COLUMNS.items()
    }
    bins, curve, strand, view, names = (sources[part] for part in COLUMNS)
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
    unseen = plot.quad("left", "right", "top", "bottom", source=bins, fill_alpha=0, line_color=None)
    boxes = plot.quad(
        "left", "right", "top", "bottom",
        source=names, fill_color="colour", fill_alpha=0.55, line_color="colour",
    )  # fmt: skip
    plot.text(
        "label_x", "label_y", "name",
        source=names, text_color="#f2f6fb", text_font_size=NAME_SIZE,
        text_baseline="middle", x_offset=4,
    )  # fmt: skip
    _add_tooltips(plot, unseen, boxes)
    return sources


def _add_tooltips(plot: Any, depths: Any, boxes: Any) -> None:
    plot.add_tools(
        HoverTool(
            renderers=[depths],
            mode="vline",
            point_policy="follow_mouse",
            tooltips=[
                ("Position", "@left{0,0} to @right{0,0} bp"),
                ("Depth", "@depth{0,0.[0]} steps (@depth_min{0,0} to @depth_max{0,0})"),
                ("Reverse", "@reverse{0.[0]} %"),
            ],
        ),
        HoverTool(
            renderers=[boxes],
            point_policy="follow_mouse",
            tooltips=[("", "@name"), ("", "@detail")],
        ),
    )
