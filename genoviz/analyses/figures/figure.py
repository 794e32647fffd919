"""A figure of a graph: what is where on it, whatever file it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.colours import CATEGORY_OPTIONS, MAX_INDEX, N_MARK_COLOURS, Colouring
from genoviz.analyses.detail import Detail, find_detail
from genoviz.analyses.drawing import LayoutDrawing, Picture
from genoviz.analyses.figures.label_parts import FigureLabel, Lines, label_places
from genoviz.analyses.figures.legend_parts import legend_parts, scale_bar_parts, title_parts
from genoviz.analyses.figures.parts import Part, shift_parts
from genoviz.analyses.fold import Fold
from genoviz.analyses.legend import Legend, NamedLegend
from genoviz.analyses.marks import MarkLayer
from genoviz.analyses.palettes import Palette
from genoviz.analyses.viewport import MAX_PIXELS, Viewport
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

SCREEN_DPI = 96
MAX_LINE_WIDTH = 9
MAX_EDGE_NODES = 1500
MIN_SHARE, MAX_SHARE, FREE_SHARE = 0.25, 1.0, 0.5
MIN_PLOT_HEIGHT = 60
MAX_SMOOTH_PIXELS = 1 << 26
LONG = 20
MAX_DESCRIBED_NODES = 30_000


@dataclass(frozen=True, eq=False)
class FigureMark:
    """Nodes that stand out, in a colour (``#rrggbb``), with a name for the legend or none."""

    nodes: np.ndarray
    colour: str
    name: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure, ready to become a file.

    Attributes
    ----------
    width, height
        Pixels.
    scale
        Pixels of the figure in one of 96 to the inch.
    title
        Of the figure; may be empty.
    dpi
        Dots per inch.
    top
        Where the part with the graph begins; it is as wide as the figure and as high as its view.
    view
        What this part shows.
    colouring, palette
        Colours of the nodes, and of marks above `MAX_INDEX`.
    picture
        The graph in pixels, once or twice as many as the figure has on each axis.
    lines
        The graph as lines, when these are few enough.
    marks
        Nodes that stand out.
    parts
        Texts, legend and scale bar.
    is_transparent
        Whether the ground is left out.
    names
        Of the nodes of the lines, when these are few enough to be told.
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


@dataclass(frozen=True)
class FigureOptions:
    """How a figure is drawn.

    Attributes
    ----------
    width, height
        Pixels; without a height, it follows the layout's shape.
    dpi
        Dots per inch: how large texts and lines are, and what the file says.
    title
        Above the graph.
    is_stretched
        Whether the layout fills the figure, rather than keep its true shape.
    is_folded
        Whether a long layout is cut into rows.
    is_transparent
        Whether the ground is left out.
    max_lines
        With up to so many nodes in view these are drawn as lines, else as pixels.
    line_width
        Of nodes in pixels of 96 to the inch; None for one that fits.
    """

    width: int = 1600
    height: int | None = None
    dpi: float = 144.0
    title: str = ""
    is_stretched: bool = False
    is_folded: bool = False
    is_transparent: bool = False
    max_lines: int = 1500
    line_width: float | None = None

    def __post_init__(self) -> None:
        if self.width < 100 or (self.height is not None and self.height < 100):
            raise ParameterError(
                f"a figure is {self.width} x {self.height} pixels, needs at least 100 x 100"
            )
        if self.width * (self.height or 1) > MAX_PIXELS:
            raise ParameterError(f"a figure has at most {MAX_PIXELS:,} pixels")
        if not 20 <= self.dpi <= 1200:
            raise ParameterError(f"dpi is {self.dpi:g}, needs 20 to 1200")
        if self.is_stretched and self.is_folded:
            raise ParameterError("a figure is either stretched or folded")


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
        The layout; of some of its nodes when only those are to be drawn.
    box
        What to show, ``(x_min, y_min, x_max, y_max)`` in bp of the layout; all by default.
    view, fold
        Instead of a box: exactly what to show, and how the layout is folded there. The figure is
        as wide as its options say, and as high as the view then is.

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
        colouring = _even_colouring(colouring, drawing.n_nodes)
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


def _is_left_free(picture: Picture, scale: float) -> bool:
    """Tell whether the lower left corner has room for the scale bar, and the right one has not."""
    width = picture.indices.shape[1]
    factor = width / picture.viewport.width
    rows = picture.indices[: round(40 * scale * factor)] > 0
    n_columns = max(width // 5, 1)
    return bool(rows[:, -n_columns:].sum() > rows[:, :n_columns].sum())


def _even_colouring(colouring: Colouring, n_nodes: int) -> Colouring:
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
