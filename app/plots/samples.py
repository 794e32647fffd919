"""Bokeh figures of samples: a scatter by two principal components, and a relationship matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.events import RangesUpdate, Reset, Tap
from bokeh.models import (
    BoxSelectTool,
    BoxZoomTool,
    CDSView,
    ColorBar,
    ColumnDataSource,
    HoverTool,
    LassoSelectTool,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    ResetTool,
    TapTool,
    WheelZoomTool,
)

from genoviz.analyses.figures.axes import (
    PRINT_HEIGHT,
    PRINT_SCALE,
    PRINT_WIDTH,
    PrintedPlot,
    add_legend,
    padded_ends,
    print_plots,
)
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import FAINT, SMALL_TEXT, plain_figure
from genoviz_app.plots.palettes import DEPTH, GROUND, ramp_palette

MISSING_COLOUR, CHOSEN_EDGE = "#6b7a8f", "#ffffff"
FEW, MANY = 2_000, 20_000
OTHERS_ALPHA = 0.14
NOTHING = "Press Compute PCA to see a point for each sample."
COLUMNS = ("x", "y", "value", "id", "says")
MAX_CELLS = 480
NO_MATRIX = "Press Compute matrix to see relatives side by side."


class ScatterFigure:
    """A scatter plot of samples with lasso selection.

    Parameters
    ----------
    on_select
        Called with the indices of the selected points, int64; empty for none.

    Attributes
    ----------
    plot, note, source, lit, colours
        The figure, its note while empty, the points, rings around highlighted points, and the
        colour map.
    """

    def __init__(self, on_select: Callable[[np.ndarray], None]) -> None:
        self._on_select = on_select
        self._is_following = False
        self.plot = plain_figure(
            "genotype-components", left=60, right=14, grid="xy", min_height=150,
            x_range=Range1d(-1, 1), y_range=Range1d(-1, 1), toolbar_location="above",
            output_backend="webgl",
        )  # fmt: skip
        self.note = EmptyNote(self.plot)
        self.note.show(NOTHING)
        self.plot.toolbar.logo = None
        self.source = ColumnDataSource(data={name: [] for name in COLUMNS})
        self.colours = LinearColorMapper(
            palette=[MISSING_COLOUR], low=0, high=1, nan_color=MISSING_COLOUR
        )
        self.points = self.plot.scatter(
            "x", "y", source=self.source, view=CDSView(), size=6, line_color=None,
            fill_color={"field": "value", "transform": self.colours},
            fill_alpha=0.85, nonselection_fill_alpha=OTHERS_ALPHA, selection_line_color=CHOSEN_EDGE,
            selection_line_width=0.7, selection_fill_alpha=1.0,
        )  # fmt: skip
        self.lit = ColumnDataSource(data={"x": [], "y": [], "colour": []})
        self.plot.scatter(
            "x", "y", source=self.lit, size=10, fill_color=None, line_color="colour", line_width=2
        )
        lasso = LassoSelectTool(continuous=False)
        box = BoxSelectTool(continuous=False)
        pan, zoom = PanTool(), WheelZoomTool()
        hover = HoverTool(
            renderers=[self.points], point_policy="follow_mouse", limit=3,
            tooltips=[("", "@id"), ("", "@says")],
        )  # fmt: skip
        self.plot.add_tools(lasso, box, TapTool(), pan, zoom, ResetTool(), hover)
        self.plot.toolbar.active_drag = lasso
        self.plot.toolbar.active_scroll = zoom
        self.source.selected.on_change("indices", self._on_selection)

    def show(
        self,
        x: np.ndarray,
        y: np.ndarray,
        values: np.ndarray,
        *,
        labels: tuple[str, str],
        names: tuple[np.ndarray, np.ndarray],
        palette: Sequence[str],
        ends: tuple[float, float],
    ) -> None:
        """Replace the points, and show all of them.

        Parameters
        ----------
        x, y, values
            float, shape (n,): coordinates, and values for the colours, NaN for no value.
        labels
            Labels of the axes.
        names
            str, shape (n,): names, and further text of the tooltips.
        palette, ends
            Colours, and the values of the first and the last one.
        """
        n = len(x)
        self.note.show("" if n else NOTHING)
        self.colours.update(palette=list(palette), low=ends[0], high=ends[1])
        self._is_following = True
        self.source.selected.indices = []
        self.source.data = {
            "x": x.astype(np.float32),
            "y": y.astype(np.float32),
            "value": values.astype(np.float32),
            "id": names[0].tolist(),
            "says": names[1].tolist(),
        }
        self._is_following = False
        size = 7 if n <= FEW else 5 if n <= MANY else 3.5
        picked, others = self.points.selection_glyph, self.points.nonselection_glyph
        for glyph in (self.points.glyph, picked, others):
            glyph.size = size
        # Edges of overlapping points hide their colours, and transparent edges add up.
        picked.line_alpha = 1.0 if n <= FEW else 0.0
        others.fill_alpha = OTHERS_ALPHA if n <= MANY else OTHERS_ALPHA * MANY / n
        for axis_range, places in ((self.plot.x_range, x), (self.plot.y_range, y)):
            low, high = padded_ends(places)
            axis_range.update(start=low, end=high, reset_start=low, reset_end=high)
        self.plot.xaxis[0].axis_label, self.plot.yaxis[0].axis_label = labels

    def mark(self, chosen: np.ndarray) -> None:
        """Mark the selected points."""
        indices = chosen.tolist()
        if indices != list(self.source.selected.indices):
            self._is_following = True
            self.source.selected.indices = indices
            self._is_following = False

    def _on_selection(self, _attr: str, _old: Any, new: list[int]) -> None:
        if not self._is_following:
            self._on_select(np.sort(np.array(new, np.int64)))


class MatrixFigure:
    """An image whose cells are means over pairs of samples.

    Parameters
    ----------
    on_view
        Called with the visible ranges of x and y, in samples, when the view changes.
    on_pair
        Called with the two clicked samples, as positions on the axes.

    Attributes
    ----------
    plot, note, source
        The figure, its note while empty, and the image data.
    """

    def __init__(
        self,
        on_view: Callable[[tuple[float, float, float, float]], None],
        on_pair: Callable[[int, int], None],
    ) -> None:
        self._on_view, self._on_pair = on_view, on_pair
        self._n = 1
        self.plot = plain_figure(
            "genotype-relationships", left=56, right=4, grid="", min_height=150,
            x_range=Range1d(0, 1), y_range=Range1d(1, 0), toolbar_location="above",
            match_aspect=False,
        )  # fmt: skip
        self.plot.toolbar.logo = None
        self.plot.xaxis[0].axis_label = "Samples, relatives side by side"
        for axis in self.plot.axis:
            axis.formatter = NumeralTickFormatter(format="0,0")
            axis.ticker.desired_num_ticks = 4
        self.source = ColumnDataSource(data={"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self.colours = LinearColorMapper(
            palette=list(ramp_palette(DEPTH)[1:]), low=0, high=1, nan_color=GROUND
        )
        image = self.plot.image(
            image="image", x="x", y="y", dw="dw", dh="dh", source=self.source,
            color_mapper=self.colours,
        )  # fmt: skip
        self.note = EmptyNote(self.plot, self._add_colour_bar())
        self.note.show(NO_MATRIX)
        zoom, box = WheelZoomTool(), BoxZoomTool()
        self.plot.add_tools(
            box, PanTool(), zoom, ResetTool(),
            HoverTool(
                renderers=[image], point_policy="follow_mouse",
                tooltips=[("Relationship", "@image{0.000}"), ("Places", "$x{0,0}, $y{0,0}")],
            ),
        )  # fmt: skip
        self.plot.toolbar.active_drag, self.plot.toolbar.active_scroll = box, zoom
        self.plot.on_event(RangesUpdate, self._on_ranges)
        self.plot.on_event(Reset, lambda _: self._on_view((0, self._n, 0, self._n)))
        self.plot.on_event(Tap, self._on_tap)

    def _add_colour_bar(self) -> ColorBar:
        bar = ColorBar(
            color_mapper=self.colours, width=10, padding=6, border_line_color=None,
            background_fill_color=GROUND, major_label_text_color=FAINT,
            major_label_text_font_size=SMALL_TEXT, major_tick_line_color=None,
            title="Relationship", title_text_color=FAINT, title_text_font_size=SMALL_TEXT,
            title_text_font_style="normal",
        )  # fmt: skip
        self.plot.add_layout(bar, "right")
        return bar

    def show(self, n: int, ends: tuple[float, float]) -> None:
        """Show a new matrix of ``n`` samples; ``ends`` are the limits of its colour scale."""
        self._n = n
        self.colours.update(low=ends[0], high=ends[1])
        self.plot.x_range.update(start=0, end=n, reset_start=0, reset_end=n, bounds=(0, n))
        self.plot.y_range.update(start=n, end=0, reset_start=n, reset_end=0, bounds=(0, n))

    def draw(self, cells: np.ndarray, bounds: tuple[int, int, int, int]) -> None:
        """Draw binned means, float32, the first row at the smallest y.

        Parameters
        ----------
        cells
            shape (rows, columns).
        bounds
            Limits of the cells, in samples: x, then y.
        """
        x_low, x_high, y_low, y_high = bounds
        self.note.show("" if cells.size else NO_MATRIX)
        self.source.data = {
            "image": [cells] if cells.size else [],
            "x": [x_low] if cells.size else [],
            "y": [y_low] if cells.size else [],
            "dw": [x_high - x_low] if cells.size else [],
            "dh": [y_high - y_low] if cells.size else [],
        }

    def _on_ranges(self, event: Any) -> None:
        x_low, x_high = sorted((event.x0, event.x1))
        y_low, y_high = sorted((event.y0, event.y1))
        self._on_view((x_low, x_high, y_low, y_high))

    def _on_tap(self, event: Any) -> None:
        if event.x is not None and 0 <= event.x < self._n and 0 <= event.y < self._n:
            self._on_pair(int(event.x), int(event.y))


def print_components(
    x: np.ndarray,
    y: np.ndarray,
    shades: np.ndarray,
    colours: Sequence[str],
    names: Sequence[str],
    labels: tuple[str, str],
    title: str,
    caption: str,
) -> TrackFigure:
    """Return a scatter plot with a legend on the right.

    Parameters
    ----------
    x, y
        float64, shape (n,).
    shades
        uint8, shape (n,): colour index of each point.
    colours, names
        The colours and their meanings; "" for none.
    labels
        Labels of the axes.
    title, caption
        Text above and below the plot.
    """
    plot = PrintedPlot(x, y, shades, padded_ends(x), padded_ends(y), labels, colours=tuple(colours))
    figure = print_plots(
        [plot], title, caption, width=PRINT_WIDTH, height=PRINT_HEIGHT, scale=PRINT_SCALE
    )
    legend = [(colour, name) for colour, name in zip(colours, names, strict=True) if name]
    return add_legend(figure, legend)
