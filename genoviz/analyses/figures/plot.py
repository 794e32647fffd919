"""The part of a figure with the graph: what it shows, in pixels and as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.figures.label_parts import Lines
from genoviz.analyses.figures.options import SCREEN_DPI, FigureOptions
from genoviz.analyses.graph.picture.colours import CATEGORY_OPTIONS, MAX_INDEX, Colouring
from genoviz.analyses.graph.picture.detail import Detail
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, Picture
from genoviz.analyses.graph.picture.drawn_nodes import MarkLayer
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport

MAX_LINE_WIDTH = 9
MAX_EDGE_NODES = 1500
MIN_SHARE, MAX_SHARE, FREE_SHARE = 0.25, 1.0, 0.5
MIN_PLOT_HEIGHT = 60
MAX_SMOOTH_PIXELS = 1 << 26


@dataclass(frozen=True, eq=False)
class FigureMark:
    """Nodes that stand out, in a colour (``#rrggbb``), with a name for the legend or none."""

    nodes: np.ndarray
    colour: str
    name: str = ""


def find_view(
    bounds: tuple[float, float, float, float],
    options: FigureOptions,
    n_other_rows: int,
    box: tuple[float, float, float, float] | None,
) -> tuple[Viewport, Fold | None]:
    """Return what a figure shows and how the layout is folded.

    Parameters
    ----------
    n_other_rows
        Pixel rows of the figure that are for title and legend.
    """
    x_min, y_min, x_max, y_max = box or bounds
    width = options.width
    if options.height is not None:
        height = max(options.height - n_other_rows, MIN_PLOT_HEIGHT)
    elif options.is_stretched or options.is_folded:
        height = round(width * FREE_SHARE)
    else:
        share = (y_max - y_min) / max(x_max - x_min, 1e-9)
        height = round(width * min(max(share, MIN_SHARE), MAX_SHARE))
    if options.is_folded:
        fold = Fold(bounds, width, height)
        return Viewport.fit(fold.bounds, width, height), fold
    margin = 0.03 if box is None else 0.08
    return Viewport.fit(
        (x_min, y_min, x_max, y_max),
        width,
        height,
        margin=margin,
        keep_aspect=not options.is_stretched,
    ), None


def draw_picture(
    drawing: LayoutDrawing,
    colouring: Colouring,
    options: FigureOptions,
    view: Viewport,
    fold: Fold | None,
    marks: Sequence[FigureMark],
) -> Picture:
    """Return the picture of a view, twice as large if it is to be smoothed.

    Density is not smoothed, for its legend counts the nodes of a pixel.
    """
    scale = options.dpi / SCREEN_DPI
    factor = 1
    if colouring.node_values is not None and 4 * view.width * view.height <= MAX_SMOOTH_PIXELS:
        factor = 2
    width = options.line_width
    if width is None:
        width = drawing.draw(view, line_width=None, fold=fold, pixel_budget=3e7).line_width
    return drawing.draw(
        replace(view, width=factor * view.width, height=factor * view.height),
        **colouring.options,
        line_width=int(min(max(round(width * scale * factor), 1), MAX_LINE_WIDTH)),
        pixel_budget=None,
        marks=[MarkLayer(mark.nodes, MAX_INDEX + 1 + i) for i, mark in enumerate(marks)],
        fold=fold,
    )


def make_lines(
    detail: Detail, colouring: Colouring, picture: Picture, options: FigureOptions, top: int
) -> Lines:
    """Return the nodes and edges of a view as lines."""
    view = picture.viewport
    factor = view.width / options.width

    def to_pixels(points: np.ndarray) -> np.ndarray:
        x_size, y_size = (size * factor for size in view.bp_per_pixel)
        x = (points[..., 0] - view.x_min) / x_size
        return np.stack([x, (view.y_max - points[..., 1]) / y_size + top], axis=-1)

    ends = to_pixels(detail.ends)
    scale = options.dpi / SCREEN_DPI
    width = options.line_width
    if width is None:
        lengths = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
        typical = float(np.mean(lengths)) / scale if len(lengths) else 0.0
        low = 2.0 if len(ends) > MAX_EDGE_NODES else 2.4
        width = min(max(0.15 * typical, low), 9.0)
    has_edges = len(ends) <= MAX_EDGE_NODES
    curves = to_pixels(detail.curves) if has_edges else np.empty((0, 4, 2))
    indices = colouring.node_indices(detail.nodes, picture.levels)
    return Lines(detail.nodes, ends, indices, width * scale, curves)


def even_colouring(colouring: Colouring, n_nodes: int) -> Colouring:
    """Return one colour for all nodes: where each is a line, their density is seen as it is."""
    stops = colouring.theme.ramps["density"]
    return Colouring(
        "",
        dict(CATEGORY_OPTIONS),
        np.zeros(n_nodes, np.float32),
        colours=(stops[len(stops) // 2],),
        items=((stops[len(stops) // 2], "node"),),
        theme=colouring.theme,
    )
