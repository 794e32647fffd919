"""Composition of a graph figure, independent of the file format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.figures.label_parts import (
    FigureLabel,
    Lines,
    label_places,
    legend_parts,
    scale_bar_parts,
    title_parts,
)
from genoviz.analyses.figures.options import SCREEN_DPI, FigureOptions
from genoviz.analyses.figures.parts import Part, shift_parts
from genoviz.analyses.figures.plot import (
    FigureMark,
    draw_picture,
    even_colouring,
    find_view,
    make_lines,
)
from genoviz.analyses.graph.picture.colours import MAX_INDEX, N_MARK_COLOURS, Colouring
from genoviz.analyses.graph.picture.detail import find_detail
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, Picture
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.legend import Legend, NamedLegend
from genoviz.analyses.graph.picture.palettes import Palette
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

LONG = 20
MAX_DESCRIBED_NODES = 30_000


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure, ready to be written.

    Attributes
    ----------
    width, height
        Pixels.
    scale
        Figure pixels per pixel at 96 per inch.
    title
        Title of the figure; may be empty.
    dpi
        Dots per inch.
    top
        Top of the graph part, which is as wide as the figure and as high as its view.
    view
        The view of this part.
    colouring, palette
        Colours of the nodes, and of marks above `MAX_INDEX`.
    picture
        The graph in pixels, at once or twice the figure's resolution.
    lines
        The graph as lines, if there are few enough.
    marks
        Highlighted nodes.
    parts
        Texts, legend and scale bar.
    is_transparent
        Whether the background is transparent.
    names
        Names of the nodes drawn as lines, if there are few enough.
    notes
        What a reader should know, one sentence each.
    """

    width: int
    height: int
    scale: float
    dpi: float
    title: str
    top: int
    view: Viewport
    colouring: Colouring
    palette: Palette
    picture: Picture
    lines: Lines | None
    marks: tuple[FigureMark, ...]
    parts: tuple[Part, ...]
    is_transparent: bool
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make_figure(
    graph: PangenomeGraph,
    drawing: LayoutDrawing,
    colouring: Colouring,
    options: FigureOptions,
    *,
    box: tuple[float, float, float, float] | None = None,
    view: Viewport | None = None,
    fold: Fold | None = None,
    marks: Sequence[FigureMark] = (),
    labels: Sequence[FigureLabel] = (),
) -> Figure:
    """Return a figure of a layout.

    Parameters
    ----------
    drawing
        The layout; restricted to some nodes if only these are to be drawn.
    box
        Region to show, ``(x_min, y_min, x_max, y_max)`` in bp of the layout; all by default.
    view, fold
        Exact view and fold, instead of a box. The figure then has the width of its options and the
        height that follows from the view.

    Raises
    ------
    ParameterError
        If there is nothing to draw, or more marks than there are colours for.
    """
    if drawing.n_drawn == 0:
        raise ParameterError("there are no nodes to draw")
    if len(marks) > N_MARK_COLOURS:
        raise ParameterError(f"there are {len(marks)} marks, and at most {N_MARK_COLOURS}")
    scale = options.dpi / SCREEN_DPI
    head, top = title_parts(options.title, colouring.theme, width=options.width, scale=scale)
    top = round(top)
    band = _legend_height(colouring, marks, options.width, scale)
    if view is None:
        view, fold = find_view(drawing.bounds, options, top + band, box)
    else:
        height = max(round(options.width * view.height / view.width), 1)
        view = replace(view, width=options.width, height=height)
    detail = find_detail(
        graph,
        drawing,
        view,
        fold=fold,
        max_nodes=options.max_lines,
        max_edges=8 * options.max_lines,
    )
    if detail is not None and colouring.node_values is None:
        colouring = even_colouring(colouring, drawing.n_nodes)
    drawing = drawing.with_node_values(colouring.node_values)
    picture = draw_picture(drawing, colouring, options, view, fold, marks)
    lines = None if detail is None else make_lines(detail, colouring, picture, options, top)
    places = label_places(graph, drawing, view, fold, labels, lines, colouring, scale, top)
    legend, _ = _legend(colouring.legend(picture), colouring, marks, options.width, scale)
    bottom = top + view.height
    parts = [
        *head,
        *places,
        *scale_bar_parts(
            view,
            colouring.theme,
            is_left=_is_left_free(picture, scale),
            bottom=bottom - 14 * scale,
            scale=scale,
        ),
        *shift_parts(legend, bottom + 10 * scale),
    ]
    return Figure(
        width=options.width,
        height=bottom + band,
        scale=scale,
        dpi=options.dpi,
        title=options.title,
        top=top,
        view=view,
        colouring=colouring,
        palette=colouring.palette_with([mark.colour for mark in marks]),
        picture=picture,
        lines=lines,
        marks=tuple(marks),
        parts=tuple(parts),
        is_transparent=options.is_transparent,
        names=_describe_nodes(graph, lines),
        notes=_notes(drawing, view, fold),
    )


def _is_left_free(picture: Picture, scale: float) -> bool:
    """Return whether the scale bar has room in the lower left corner but not in the right one."""
    width = picture.indices.shape[1]
    factor = width / picture.viewport.width
    rows = picture.indices[: round(40 * scale * factor)] > 0
    n_columns = max(width // 5, 1)
    return bool(rows[:, -n_columns:].sum() > rows[:, :n_columns].sum())


def _legend(
    legend: Legend, colouring: Colouring, marks: Sequence[FigureMark], width: int, scale: float
) -> tuple[list[Part], float]:
    """Return the parts of the legend, marks below colours, with its top at 0, and its height."""
    theme = colouring.theme
    parts, height = legend_parts(legend, colouring.palette, theme, width=width, scale=scale)
    items = tuple((mark.colour, mark.name) for mark in marks if mark.name)
    if not items:
        return parts, height
    more, more_height = legend_parts(
        NamedLegend("", items), colouring.palette, theme, width=width, scale=scale
    )
    return [*parts, *shift_parts(more, height)], height + more_height


def _legend_height(
    colouring: Colouring, marks: Sequence[FigureMark], width: int, scale: float
) -> int:
    """Return how high the legend will be: it does not depend on the numbers of a ramp."""
    any_levels = np.linspace(0.0, 1.0, MAX_INDEX)
    view = Viewport(0, 1, 0, 1, 1, 1)
    picture = Picture(np.zeros((1, 1), np.uint8), view, any_levels, 1, 1)
    legend = colouring.legend(picture)
    return round(_legend(legend, colouring, marks, width, scale)[1] + 12 * scale)


def _describe_nodes(graph: PangenomeGraph, lines: Lines | None) -> tuple[str, ...]:
    """Return name and length of the nodes that are drawn as lines, if they are not too many."""
    if lines is None or len(lines.nodes) > MAX_DESCRIBED_NODES:
        return ()
    return tuple(
        f"{graph.node_names[node]}\n{graph.node_lengths[node]:,} bp"
        for node in lines.nodes.tolist()
    )


def _notes(drawing: LayoutDrawing, view: Viewport, fold: Fold | None) -> tuple[str, ...]:
    """Return what may be odd about a figure: a layout so long that it is but a line."""
    x_min, y_min, x_max, y_max = drawing.bounds
    shape = (x_max - x_min) / max(y_max - y_min, 1e-9)
    x_size, y_size = view.bp_per_pixel
    shows_all = view.x_min <= x_min and view.x_max >= x_max
    if fold is None and shows_all and shape > LONG and 0.5 < x_size / y_size < 2:
        return (
            f"The layout is {shape:,.0f} times as long as high; folded or stretched it fills the "
            "figure.",
        )
    return ()
