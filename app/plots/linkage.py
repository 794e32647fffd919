"""Pairwise linkage disequilibrium as a triangle: an interactive Bokeh figure, and a print plot."""

from __future__ import annotations

from dataclasses import replace
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

from genoviz.analyses.figures.areas import Polygon
from genoviz.analyses.figures.axes import LEFT as PRINT_LEFT
from genoviz.analyses.figures.axes import RIGHT as PRINT_RIGHT
from genoviz.analyses.figures.axes import SMALL, PrintedPlot, add_legend, print_plots
from genoviz.analyses.figures.parts import Line, Part, Text
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz_app.plots.graph_picture import LINES, plain_figure
from genoviz_app.plots.one_variant import CHOSEN_COLOUR, LEFT, R2_COLOURS, RIGHT

MAX_PIXELS, MIN_PIXELS = 8, 2
IMAGE_WIDTH = 720
NO_PAIR, NO_PERCENT = 65_535, 255
NO_R2 = "none, because one of the variants is monomorphic"
SAY_NAME = "return names.data.name[value]"
SAY_R2 = f"return value == 255 ? '{NO_R2}' : (value / 100).toFixed(2)"
IS_PAIR = "export default (args, tool, {value}) => value != 65535"
WIDTH, PLOT, SCALE = 760, 300, 2.0
GENE_ROW, STRIP, BELOW = 16.0, 30.0, 26.0
N_SHADES, LEGEND_EVERY = 21, 4
SHADES = tuple(blend(LIGHT.ramps["density"], at / (N_SHADES - 1)) for at in range(N_SHADES))
UNKNOWN = "r² not known"


class LinkageFigure:
    """A linkage triangle, with lines from each variant's position to its column.

    Attributes
    ----------
    plot, image, links, names
        The figure and its data: triangle, connecting lines, and variant names.
    """

    def __init__(self) -> None:
        self.plot = plain_figure(
            "linkage-triangle", left=LEFT, right=RIGHT, grid="", min_height=110,
            x_range=Range1d(0, 1), y_range=Range1d(-0.5, 0.1),
        )  # fmt: skip
        self.plot.axis.visible = False
        self.plot.outline_line_color = None
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
            Names of the n variants.
        places
            float64, shape (n,): relative position of each variant, from 0 (left) to 1 (right).
        chosen
            Index of the variant whose line is emphasized, if any.
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
    """Return the two variants of each pixel of the triangle, -1 outside; bottom row first.

    The diamond of the pair i < j is centred at x = (i + j + 1) / 2n and y = -(j - i) / 2n, with x
    and -2y from 0 to 1.

    Returns
    -------
    int64, shape (height, 2 * height): i and j, equal on the diagonal.
    """
    per_variant = int(np.clip(IMAGE_WIDTH // n, MIN_PIXELS, MAX_PIXELS))
    height = per_variant * n // 2
    x = (np.arange(2 * height) + 0.5) * n / (2 * height)
    depth = (np.arange(height)[::-1, None] + 0.5) * n / (2 * height)
    first, second = np.floor(x - depth).astype(np.int64), np.floor(x + depth).astype(np.int64)
    is_pair = (first >= 0) & (second < n)
    return np.where(is_pair, first, -1), np.where(is_pair, second, -1)


def print_region(
    plot: PrintedPlot, r2: np.ndarray, genes: dict[str, Any], title: str, caption: str
) -> TrackFigure:
    """Return a plot of variants, with genes and linkage below.

    Parameters
    ----------
    plot
        The variants in order of position, each shaded by its r² with the lead variant; see
        `shades_of`.
    r2
        float64, shape (n, n), between all variants; NaN if unknown.
    genes
        Columns as in `RegionFigure`; the first row is at y = -0.5.
    title, caption
        Text above and below the plot.
    """
    figure = print_plots([plot], title, "", width=WIDTH, height=PLOT, scale=SCALE)
    left, width = PRINT_LEFT * SCALE, (WIDTH - PRINT_LEFT - PRINT_RIGHT) * SCALE
    shares = (plot.x - plot.x_ends[0]) / (plot.x_ends[1] - plot.x_ends[0])
    top = (PLOT - 20) * SCALE
    gene_areas, gene_parts = _genes(genes, plot.x_ends, left, width, top)
    top += GENE_ROW * SCALE * _n_rows(genes)
    n = max(len(r2), 1)
    strip = [
        Line(left + share * width, top, left + (place + 0.5) / n * width, top + STRIP * SCALE,
             0.5 * SCALE, LIGHT.faint)
        for place, share in enumerate(shares.tolist())
    ]  # fmt: skip
    top += STRIP * SCALE
    height = round(top + width / 2 + BELOW * SCALE)
    said = Text(left, height - 9 * SCALE, caption, SMALL * SCALE, LIGHT.faint)
    figure = replace(
        figure,
        height=height,
        caption=caption,
        areas=(*figure.areas, *gene_areas, *triangle_areas(r2, left, top, width)),
        parts=(*figure.parts, *gene_parts, *strip, said),
    )
    steps = range(N_SHADES - 1, -1, -LEGEND_EVERY)
    legend = [(SHADES[step], f"r² = {step / (N_SHADES - 1):.1f}") for step in steps]
    return add_legend(figure, [*legend, (LIGHT.other, UNKNOWN)])


def shades_of(r2: np.ndarray) -> np.ndarray:
    """Return the index of r² in `SHADES`, uint8; ``len(SHADES)`` for NaN.

    Examples
    --------
    >>> shades_of(np.array([0.0, 0.52, 1.0, np.nan])).tolist()
    [0, 10, 20, 21]
    """
    steps = np.round(np.clip(r2, 0, 1) * (N_SHADES - 1))
    return np.where(np.isnan(r2), N_SHADES, np.nan_to_num(steps)).astype(np.uint8)


def triangle_areas(r2: np.ndarray, left: float, top: float, width: float) -> list[Polygon]:
    """Return the pairs i < j as diamonds below ``top``; adjacent ones of the same shade are merged.

    In units of variants, the pair spans x - depth from i to i + 1 and x + depth from j to j + 1.
    """
    found, n = [], len(r2)
    shades = shades_of(r2)
    for j in range(1, n):
        column = shades[:j, j]
        ends = np.flatnonzero(np.diff(column)) + 1
        starts = np.append(0, ends)
        for first, last in zip(starts.tolist(), [*ends.tolist(), j], strict=True):
            corners = np.array([[first, j], [last, j], [last, j + 1], [first, j + 1]], float)
            across, depth = corners.sum(1) / 2, np.diff(corners, axis=1)[:, 0] / 2
            points = np.column_stack([left + across / n * width, top + depth / n * width])
            found.append(Polygon(points, (*SHADES, LIGHT.other)[column[first]], 1.0))
    return found


def _n_rows(genes: dict[str, Any]) -> int:
    return round(-min(genes["y"], default=-0.0) + 0.5) if len(genes["y"]) else 0


def _genes(
    genes: dict[str, Any], ends: tuple[float, float], left: float, width: float, top: float
) -> tuple[list[Polygon], list[Part]]:
    """Return genes as labelled boxes, clipped to the interval."""

    def to_x(place: float) -> float:
        return left + (min(max(place, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0]) * width

    areas: list[Polygon] = []
    parts: list[Part] = []
    row = GENE_ROW * SCALE
    columns = ("left", "right", "bottom", "top", "label_x", "name")
    for first, last, low, high, label_x, name in zip(*(genes[key] for key in columns), strict=True):
        x0, x1, y0, y1 = to_x(first), to_x(last), top - high * row, top - low * row
        areas.append(Polygon(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]), LIGHT.other, 1.0))
        parts.append(
            Text(to_x(label_x) + 2 * SCALE, y1 - 2 * SCALE, name, SMALL * SCALE, LIGHT.ink)
        )
    return areas, parts
