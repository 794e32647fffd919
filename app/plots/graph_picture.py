"""The graph's picture as HoloViews: an image of palette indices on axes in bp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import holoviews as hv
import numpy as np
from bokeh.models import Metric, NumeralTickFormatter, ScaleBar

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.plots.palettes import DENSITY, GROUND, Palette, ramp_palette

EMPTY_VIEW = Viewport(0, 1, 0, 1, 2, 2)
PICTURE_NAME = "graph-picture"
SMALL_TEXT = "11px"
FAINT = "#8fa1b8"
LINES = "#243041"
BP_UNITS = ["bp", "kbp", "Mbp", "Gbp"]
BAR_TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500]


def index_image(indices: np.ndarray, viewport: Viewport, palette: Palette) -> hv.Image:
    """Return palette indices (uint8, row 0 at the bottom) as an image with these colours."""
    bounds = (viewport.x_min, viewport.y_min, viewport.x_max, viewport.y_max)
    image = hv.Image(indices[::-1], kdims=["x", "y"], vdims=["index"], bounds=bounds)
    return image.opts(cmap=list(palette), clim=(0, 255))


def streamed_picture(make_image: Callable[..., hv.Image], streams: list[Any]) -> hv.DynamicMap:
    """Return a picture that HoloViews itself redraws when one of its streams has news."""

    def prepare(plot: Any, _element: Any) -> None:
        if not getattr(plot, "is_prepared", False):
            plot.is_prepared = True
            style_picture(plot.state)

    return hv.DynamicMap(make_image, streams=streams).opts(**_options(prepare), framewise=True)


def empty_image() -> hv.Image:
    """Return a picture of nothing."""
    return index_image(np.zeros((2, 2), np.uint8), EMPTY_VIEW, ramp_palette(DENSITY))


def _options(hook: Callable[[Any, Any], None]) -> dict[str, Any]:
    return {
        "responsive": True,
        "bgcolor": GROUND,
        "xlabel": "x (bp)",
        "ylabel": "y (bp)",
        "toolbar": None,
        "default_tools": [],
        "tools": ["pan", "wheel_zoom"],
        "active_tools": ["pan", "wheel_zoom"],
        "hooks": [hook],
        "show_title": False,
    }


def style_picture(figure: Any) -> None:
    """Give the picture's figure its name, its axes and its scale bar."""
    figure.name = PICTURE_NAME
    style_figure(figure)
    figure.grid.visible = False
    for axis in figure.axis:
        axis.axis_label = None
        axis.ticker.desired_num_ticks = 5
        axis.formatter = NumeralTickFormatter(format="0,0.[00]")
    add_scale_bar(figure)


def style_figure(figure: Any) -> None:
    """Give a Bokeh figure the calm, dark look of the picture area."""
    figure.background_fill_color = GROUND
    figure.border_fill_color = GROUND
    figure.outline_line_color = LINES
    figure.min_border = 4
    figure.min_border_left = 64
    figure.min_border_right = 24
    for axis in figure.axis:
        axis.axis_line_color = LINES
        axis.major_tick_line_color = LINES
        axis.minor_tick_line_color = None
        axis.major_tick_in, axis.major_tick_out = 0, 4
        axis.major_label_text_color = FAINT
        axis.major_label_text_font_size = SMALL_TEXT
        axis.axis_label_text_color = FAINT
        axis.axis_label_text_font_size = SMALL_TEXT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_standoff = 6


def add_scale_bar(figure: Any) -> None:
    """Draw how long some bp are, in the lower right corner."""
    figure.add_layout(
        ScaleBar(
            range=figure.x_range,
            unit="bp",
            dimensional=Metric(base_unit="bp", include=BP_UNITS, ticks=BAR_TICKS),
            location="bottom_right",
            orientation="horizontal",
            bar_length=0.15,
            background_fill_color=GROUND,
            background_fill_alpha=0.7,
            border_line_color=None,
            bar_line_color="#d5deea",
            label_text_color="#d5deea",
            label_text_font_size=SMALL_TEXT,
            margin=8,
            padding=4,
        )
    )
