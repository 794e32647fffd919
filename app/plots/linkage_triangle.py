"""Bokeh figure of linkage between all pairs of variants of a stretch, as a triangle."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    CustomJSHover,
    HoverTool,
    LinearColorMapper,
    Range1d,
)
from bokeh.plotting import figure

from genoviz_app.plots.graph_picture import LINES, style_figure
from genoviz_app.plots.manhattan_region import CHOSEN_COLOUR, LEFT, R2_COLOURS, RIGHT

MAX_PIXELS, MIN_PIXELS = 8, 2
IMAGE_WIDTH = 720
NO_PAIR, NO_PERCENT = 65_535, 255
NO_R2 = "none, as one of both does not vary"
SAY_NAME = "return names.data.name[value]"
SAY_R2 = f"return value == 255 ? '{NO_R2}' : (value / 100).toFixed(2)"
IS_PAIR = "export default (args, tool, {value}) => value != 65535"


class LinkageFigure:
    """A triangle below a strip that leads from the place of each variant to its column.

    Attributes
    ----------
    plot, image, links, names
        The figure, and what it draws: the triangle, the lines above it, and names of variants.
    """

    def __init__(self) -> None:
        self.plot = figure(
            name="linkage-triangle", sizing_mode="stretch_both", min_height=110,
            x_range=Range1d(0, 1), y_range=Range1d(-0.5, 0.1), toolbar_location=None, tools=[],
            output_backend="canvas",
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.grid.visible = False
        self.plot.axis.visible = False
        self.plot.outline_line_color = None
        self.plot.min_border_left, self.plot.min_border_right = LEFT, RIGHT
        self.plot.min_border_top = self.plot.min_border_bottom = 0
        self.names = ColumnDataSource(data={"name": []})
        self.image = ColumnDataSource(data=_columns(np.zeros((0, 0))))
        self.links = ColumnDataSource(data={"x0": [], "x1": [], "y0": [], "y1": [], "colour": []})
        mapper = LinearColorMapper(
            palette=list(R2_COLOURS), low=0, high=1, nan_color="rgba(0, 0, 0, 0)"
        )
        drawn = self.plot.image(
            "image", x=0, y="bottom", dw=1, dh="height", source=self.image, color_mapper=mapper
        )
        self.plot.segment("x0", "y0", "x1", "y1", source=self.links, line_color="colour",
                          line_alpha=0.7)  # fmt: skip
        say = CustomJSHover(args={"names": self.names}, code=SAY_NAME)
        self.plot.add_tools(
            HoverTool(
                renderers=[drawn],
                tooltips=[
                    ("", "@first{custom}"),
                    ("", "@second{custom}"),
                    ("r²", "@percent{custom}"),
                ],
                formatters={"@first": say, "@second": say, "@percent": CustomJSHover(code=SAY_R2)},
                filters={"@first": CustomJS(code=IS_PAIR)},
            )
        )

    def show(
        self, r2: np.ndarray, names: list[str], places: np.ndarray, chosen: int | None
    ) -> None:
        """Draw linkage.

        Parameters
        ----------
        r2
            float64, shape (n, n): r² between variants, in order of position.
        names
            The n names.
        places
            float64, shape (n,): where each variant is, 0 at the left to 1 at the right.
        chosen
            The variant whose line is brighter, if any.
        """
        n = len(r2)
        self.names.data = {"name": names}
        self.image.data = _columns(r2)
        colours = [CHOSEN_COLOUR if place == chosen else LINES for place in range(n)]
        self.links.data = {
            "x0": places,
            "x1": (np.arange(n) + 0.5) / max(n, 1),
            "y0": np.full(n, 0.1),
            "y1": np.zeros(n),
            "colour": colours,
        }


def _columns(r2: np.ndarray) -> dict[str, Any]:
    n = max(len(r2), 1)
    first, second = triangle_pairs(n)
    is_pair = first >= 0
    image = np.full(first.shape, np.nan, np.float32)
    if len(r2):
        image[is_pair] = r2[first[is_pair], second[is_pair]]
    percent = np.where(np.isnan(image), NO_PERCENT, np.rint(100 * image)).astype(np.uint8)
    codes = [np.where(is_pair, pair, NO_PAIR).astype(np.uint16) for pair in (first, second)]
    return {"image": [image], "percent": [percent], "first": [codes[0]], "second": [codes[1]],
            "bottom": [-0.5], "height": [0.5]}  # fmt: skip


def triangle_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which two variants each pixel of the triangle is of, -1 outside; rows from below.

    The pair i < j has its diamond around x = (i + j + 1) / 2n and y = -(j - i) / 2n, with
    x and -2y from 0 to 1.

    Returns
    -------
    int64, shape (height, 2 * height): i and j, which are equal on the diagonal.
    """
    per_variant = int(np.clip(IMAGE_WIDTH // n, MIN_PIXELS, MAX_PIXELS))
    height = per_variant * n // 2
    x = (np.arange(2 * height) + 0.5) * n / (2 * height)
    depth = (np.arange(height)[::-1, None] + 0.5) * n / (2 * height)
    first, second = np.floor(x - depth).astype(np.int64), np.floor(x + depth).astype(np.int64)
    is_pair = (first >= 0) & (second < n)
    return np.where(is_pair, first, -1), np.where(is_pair, second, -1)
