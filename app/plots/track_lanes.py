"""The Bokeh figure of all tracks: one canvas, one x axis, a strip for each track."""

from __future__ import annotations

from typing import Any

from bokeh.models import (
    BoxAnnotation,
    ColumnDataSource,
    CrosshairTool,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    RangeTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from app.plots.graph_picture import GROUND, LINES, style_figure

LANES_NAME, OVERVIEW_NAME = "track-lanes", "track-overview"
AXIS_PIXELS, SIDE_PIXELS = 26, 40
OVERVIEW_PIXELS = 54
READY_LANES = 6
NAME_SIZE = "11px"
CLIP_COLOUR, REGION_COLOUR, TEXT_COLOUR = "#ff4fd8", "#ffb454", "#dbe4ef"
AREA_COLUMNS = ("x", "base", "low", "mean", "high")
OVERVIEW_COLUMNS = ("x", "base", "mean")
BOX_COLUMNS = ("left", "right", "top", "bottom", "colour", "name", "detail")


class TrackLanes:
    """The figure; its y axis is in pixels from above.

    Attributes
    ----------
    figure
        The Bokeh figure.
    boxes, stems, names, clips, borders
        Sources of features, of their thin lines, of their names, of what is beyond a scale, and
        of the lines between tracks.
    band
        The band of the region.
    """

    def __init__(self) -> None:
        self.figure = _make_figure(LANES_NAME)
        self.figure.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
        self.figure.xaxis[0].ticker.desired_num_ticks = 7
        self.boxes = _source(BOX_COLUMNS)
        self.stems = _source(("x0", "x1", "y", "colour"))
        self.names = _source(("x", "y", "text"))
        self.clips = _source(("left", "right", "top", "bottom"))
        self.borders = _source(("y",))
        self.band = BoxAnnotation(
            fill_color=REGION_COLOUR, fill_alpha=0.12, line_color=REGION_COLOUR, visible=False
        )
        self._add_glyphs()
        self._add_tools()
        # A glyph that comes later makes the browser lay the figure out anew, and Bokeh walk
        # through all models.
        self._lanes = [self._make_lane() for _ in range(READY_LANES)]

    def _add_glyphs(self) -> None:
        plot = self.figure
        plot.hspan(y="y", source=self.borders, line_color=LINES)
        plot.add_layout(self.band)
        plot.segment("x0", "y", "x1", "y", source=self.stems, line_color="colour")
        drawn = plot.quad(
            "left", "right", "bottom", "top",
            source=self.boxes, fill_color="colour", line_color="colour", line_width=0.5,
        )  # fmt: skip
        plot.text(
            "x", "y", "text",
            source=self.names, text_color=TEXT_COLOUR, text_font_size=NAME_SIZE,
            text_baseline="middle", x_offset=2,
        )  # fmt: skip
        plot.quad(
            "left", "right", "bottom", "top",
            source=self.clips, fill_color=CLIP_COLOUR, line_color=None,
        )  # fmt: skip
        plot.add_tools(
            HoverTool(
                renderers=[drawn],
                point_policy="follow_mouse",
                tooltips=[("", "@name"), ("", "@detail")],
            )
        )

    def _add_tools(self) -> None:
        pan, zoom = PanTool(dimensions="width"), WheelZoomTool(dimensions="width")
        crosshair = CrosshairTool(dimensions="height", line_color="#ffffff", line_alpha=0.45)
        self.figure.add_tools(pan, zoom, crosshair)
        self.figure.toolbar.active_drag = pan
        self.figure.toolbar.active_scroll = zoom

    def show_areas(self, areas: list[tuple[str, dict[str, Any]]]) -> None:
        """Draw these step areas, each with its colour and its columns, and no others."""
        while len(self._lanes) < len(areas):
            self._lanes.append(self._make_lane())
        for place, (source, renderers) in enumerate(self._lanes):
            if place >= len(areas):
                if renderers[0].visible:
                    source.data = no_steps(AREA_COLUMNS)
                    for renderer in renderers:
                        renderer.visible = False
                continue
            colour, columns = areas[place]
            if renderers[0].glyph.fill_color != colour:
                for renderer in renderers[:2]:
                    renderer.glyph.fill_color = colour
                renderers[2].glyph.line_color = colour
            for renderer in renderers:
                renderer.visible = True
            source.data = columns

    def _make_lane(self) -> tuple[ColumnDataSource, list[Any]]:
        source, plot = ColumnDataSource(data=no_steps(AREA_COLUMNS)), self.figure
        steps = {"source": source, "step_mode": "after", "visible": False}
        return source, [
            plot.varea_step("x", "base", "mean", fill_alpha=0.5, **steps),
            plot.varea_step("x", "low", "high", fill_alpha=0.33, **steps),
            plot.step("x", "mean", source=source, mode="after", line_width=1, visible=False),
        ]

    def set_height(self, height: float) -> None:
        """Give all strips together a height, in pixels."""
        self.figure.y_range.update(start=height, end=0)
        pixels = round(height) + AXIS_PIXELS + 4
        self.figure.update(height=pixels, min_height=pixels)


def make_overview(shared: Range1d) -> tuple[Any, ColumnDataSource]:
    """Return the figure of a whole contig with the window of the view, and its source."""
    plot = _make_figure(OVERVIEW_NAME)
    plot.height = OVERVIEW_PIXELS
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    plot.xaxis[0].ticker.desired_num_ticks = 7
    plot.y_range.update(start=0, end=1)
    source = ColumnDataSource(data=no_steps(OVERVIEW_COLUMNS))
    plot.varea_step(
        "x", "base", "mean", source=source, step_mode="after", fill_color="#8fa1b8", fill_alpha=0.7
    )
    window = RangeTool(x_range=shared, start_gesture="none")
    window.overlay.update(
        fill_color="#ffffff", fill_alpha=0.16, line_color="#ffffff", line_alpha=0.8
    )
    plot.add_tools(window)
    return plot, source


def _make_figure(name: str) -> Any:
    plot = figure(
        name=name,
        sizing_mode="stretch_width",
        height=120,
        x_range=Range1d(0, 1),
        y_range=Range1d(1, 0),
        toolbar_location=None,
        tools=[],
        x_axis_location="above",
        output_backend="canvas",
    )
    style_figure(plot)
    plot.grid.visible = False
    plot.yaxis.visible = False
    plot.outline_line_color = LINES
    plot.background_fill_color = GROUND
    plot.min_border_left, plot.min_border_right = 2, SIDE_PIXELS
    plot.min_border_top, plot.min_border_bottom = AXIS_PIXELS, 2
    return plot


def no_steps(columns: tuple[str, ...]) -> dict[str, list[float]]:
    """Return a step without width: a browser hangs on step areas without any."""
    return {name: [0.0, 0.0] for name in columns}


def _source(columns: tuple[str, ...]) -> ColumnDataSource:
    return ColumnDataSource(data={name: [] for name in columns})
