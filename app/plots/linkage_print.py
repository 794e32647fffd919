"""A stretch of a contig on white, for files: association, genes, and linkage as a triangle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from genoviz.analyses.figures.areas import Polygon
from genoviz.analyses.figures.parts import Line, Part, Text
from genoviz.analyses.figures.tracks import TrackFigure
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz_app.plots.principal_components_print import add_legend
from genoviz_app.plots.printed_plots import LEFT, RIGHT, SMALL, PrintedPlot, print_plots

WIDTH, PLOT, SCALE = 760, 300, 2.0
GENE_ROW, STRIP, BELOW = 16.0, 30.0, 26.0
N_SHADES, LEGEND_EVERY = 21, 4
SHADES = tuple(blend(LIGHT.ramps["density"], at / (N_SHADES - 1)) for at in range(N_SHADES))
UNKNOWN = "r² not known"


def print_region(
    plot: PrintedPlot, r2: np.ndarray, genes: dict[str, Any], title: str, caption: str
) -> TrackFigure:
    """Return a plot of variants with their genes and their linkage below.

    Parameters
    ----------
    plot
        The variants in order of position, each in the shade of its r² with one of them; see
        `shades_of`.
    r2
        float64, shape (n, n): between all of them; NaN where it is not known.
    genes
        Columns of `RegionFigure`, the first row at y = -0.5.
    title, caption
        What stands above and below.
    """
    figure = print_plots([plot], title, "", width=WIDTH, height=PLOT, scale=SCALE)
    left, width = LEFT * SCALE, (WIDTH - LEFT - RIGHT) * SCALE
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
    """Return which of `SHADES` r² has, uint8; one more than there are for NaN.

    Examples
    --------
    >>> shades_of(np.array([0.0, 0.52, 1.0, np.nan])).tolist()
    [0, 10, 20, 21]
    """
    steps = np.round(np.clip(r2, 0, 1) * (N_SHADES - 1))
    return np.where(np.isnan(r2), N_SHADES, np.nan_to_num(steps)).astype(np.uint8)


def triangle_areas(r2: np.ndarray, left: float, top: float, width: float) -> list[Polygon]:
    """Return the pairs i < j as diamonds below ``top``; neighbours of one shade are one.

    In units of variants, the pair has x - depth from i to i + 1 and x + depth from j to j + 1.
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
    """Return genes as boxes with their names, as far as they are between the ends."""

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
