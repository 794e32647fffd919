"""Words of a figure, as parts: beside nodes, in its legend, scale bar and title."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.figures.parts import (
    SAFETY,
    Anchor,
    Box,
    Line,
    Part,
    Ramp,
    Text,
    clip_text,
    text_width,
    wrap_widths,
)
from genoviz.analyses.graph.picture.colours import Colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.legend import (
    Legend,
    NamedLegend,
    RampLegend,
    length_text,
    short_number,
)
from genoviz.analyses.graph.picture.palettes import Palette, Theme
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.model import PangenomeGraph

LABEL_SIZE, NAME_SIZE = 12.5, 10.5
MAX_NAMED_NODES = 300
TEXT_SIZE, TITLE_SIZE = 12.0, 17.0
MARGIN = 16.0
RAMP_WIDTH, RAMP_HEIGHT = 260.0, 10.0
MAX_NAME_WIDTH = 230.0
ROW_HEIGHT = 20.0
SCALE_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class FigureLabel:
    """A word beside a node; an empty colour is that of all texts."""

    node: int
    text: str
    colour: str = ""


@dataclass(frozen=True, eq=False)
class Lines:
    """Nodes and edges as lines, in pixels from the top left corner of the figure.

    Attributes
    ----------
    nodes
        int64, shape (n,): node of each line.
    ends
        float64, shape (n, 2, 2).
    colours
        uint8, shape (n,): palette index.
    width
        Of the lines of nodes.
    curves
        float64, shape (m, 4, 2): control points of the edges.
    """

    nodes: np.ndarray
    ends: np.ndarray
    colours: np.ndarray
    width: float
    curves: np.ndarray


def label_places(
    graph: PangenomeGraph,
    drawing: LayoutDrawing,
    view: Viewport,
    fold: Fold | None,
    labels: Sequence[FigureLabel],
    lines: Lines | None,
    colouring: Colouring,
    scale: float,
    top: int,
) -> list[Part]:
    """Return labels that do not overlap, the first ones first, then names of nodes."""
    theme, x_size, y_size = colouring.theme, *view.bp_per_pixel
    wanted: list[Text] = []
    if labels:
        ends = drawing.node_ends(np.array([label.node for label in labels], np.int64))
        if fold is not None:
            ends = fold.to_plane(ends, fold.row_of(ends.mean(axis=1)[:, 0])[:, None])
        ends = np.stack(
            [(ends[..., 0] - view.x_min) / x_size, (view.y_max - ends[..., 1]) / y_size + top],
            axis=-1,
        )
        for label, line in zip(labels, ends, strict=True):
            x, y = line.mean(axis=0)
            if 0 <= x <= view.width and top <= y <= top + view.height:
                colour, size = label.colour or theme.ink, LABEL_SIZE * scale
                wanted.append(_beside(line, 8 * scale, label.text, size, colour, theme.ground))
    if lines is not None:
        wanted.extend(_node_names(graph, lines, colouring, scale))
    return list(_without_overlaps(wanted, view.width))


def _node_names(
    graph: PangenomeGraph, lines: Lines, colouring: Colouring, scale: float
) -> Iterator[Text]:
    """Yield names of nodes that are long enough for them."""
    if len(lines.nodes) > MAX_NAMED_NODES:
        return
    theme, size = colouring.theme, NAME_SIZE * scale
    for node, line in zip(lines.nodes.tolist(), lines.ends, strict=True):
        name = graph.node_names[node]
        if np.hypot(*(line[1] - line[0])) >= 0.8 * text_width(name, size):
            far = lines.width / 2 + 4 * scale
            yield _beside(line, far, name, size, theme.faint, theme.ground)


def _beside(line: np.ndarray, far: float, text: str, size: float, colour: str, ground: str) -> Text:
    """Return a text above or beside the middle of a line, at a distance of ``far`` pixels."""
    (x0, y0), (x1, y1) = line.tolist()
    length = max(math.hypot(x1 - x0, y1 - y0), 1e-9)
    x_side, y_side = (y1 - y0) / length, (x0 - x1) / length
    if y_side > 0 or (x0, y0) == (x1, y1):
        x_side, y_side = -x_side, -abs(y_side)
    anchor: Anchor = "start" if x_side > 0.3 else "end" if x_side < -0.3 else "middle"
    x, y = (x0 + x1) / 2 + far * x_side, (y0 + y1) / 2 + far * y_side
    return Text(x, y, text, size, colour, anchor, ground)


def _without_overlaps(texts: Sequence[Text], width: float) -> Iterator[Text]:
    """Yield texts where they are free of those before: in their place, below or above it."""
    taken: list[tuple[float, float, float, float]] = []
    for text in texts:
        length = text_width(text.text, text.size) + 4
        start = text.x - length * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
        left = min(max(start, 0.0), width - length)
        for shift in (0.0, 2.2, -1.3, 3.5, -2.6):
            y = text.y + shift * text.size
            box = (left, y - text.size, left + length, y + 0.3 * text.size)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield replace(text, x=text.x + left - start, y=y)
                break


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def legend_parts(
    legend: Legend, palette: Palette, theme: Theme, *, width: float, scale: float
) -> tuple[list[Part], float]:
    """Return the parts of a legend, with its top at 0, and how high it is.

    Parameters
    ----------
    width
        Of the figure, pixels.
    scale
        Pixels of the figure in one of 96 to the inch.
    """
    if isinstance(legend, RampLegend):
        return _ramp_parts(legend, palette, theme, scale)
    return _named_parts(legend, theme, width, scale)


def _ramp_parts(
    legend: RampLegend, palette: Palette, theme: Theme, scale: float
) -> tuple[list[Part], float]:
    left, size = MARGIN * scale, TEXT_SIZE * scale
    width, height = RAMP_WIDTH * scale, RAMP_HEIGHT * scale
    colours, _ = legend.palette_part(palette)
    parts: list[Part] = [
        Text(left, size, legend.title, size, theme.ink),
        Ramp(left, 20 * scale, width, height, tuple(colours)),
    ]
    bottom = 20 * scale + height
    for value, place in legend.ticks():
        x = left + place * width
        parts.append(Line(x, bottom, x, bottom + 3 * scale, scale, theme.faint))
        anchor = "start" if place < 0.03 else "end" if place > 0.97 else "middle"
        parts.append(
            Text(x, bottom + 15 * scale, short_number(value), size * 0.92, theme.faint, anchor)
        )
    if legend.missing:
        x = left + width + 24 * scale
        parts.append(Box(x, 20 * scale, height, height, palette[1]))
        parts.append(Text(x + 16 * scale, bottom, legend.missing, size, theme.ink))
    return parts, bottom + 26 * scale


def _named_parts(
    legend: NamedLegend, theme: Theme, width: float, scale: float
) -> tuple[list[Part], float]:
    left, size, row_height = MARGIN * scale, TEXT_SIZE * scale, ROW_HEIGHT * scale
    parts: list[Part] = []
    top = 0.0
    if legend.title:
        parts.append(Text(left, size, legend.title, size, theme.ink))
        top = row_height
    names = [clip_text(name, size, MAX_NAME_WIDTH * scale) for _, name in legend.items]
    widths = [16 * scale + SAFETY * text_width(name, size) for name in names]
    if legend.note:
        names.append(legend.note)
        widths.append(SAFETY * text_width(legend.note, size))
    places = wrap_widths(widths, 18 * scale, width - 2 * left)
    for index, (name, (row, x)) in enumerate(zip(names, places, strict=True)):
        x, baseline = left + x, top + row * row_height + size
        if index < len(legend.items):
            square = 10 * scale
            parts.append(Box(x, baseline - square, square, square, legend.items[index][0]))
            x += 16 * scale
        colour = theme.ink if index < len(legend.items) else theme.faint
        parts.append(Text(x, baseline, name, size, colour))
    n_rows = places[-1][0] + 1 if places else 0
    return parts, top + n_rows * row_height + 8 * scale


def scale_bar_parts(
    view: Viewport, theme: Theme, *, is_left: bool, bottom: float, scale: float
) -> list[Part]:
    """Return a bar of a round number of bp in a lower corner, and how much is stretched."""
    x_size, y_size = view.bp_per_pixel
    bp = round_length(0.15 * view.width * x_size)
    length, margin = bp / x_size, MARGIN * scale
    left = margin if is_left else view.width - margin - length
    right = left + length
    size, tick = TEXT_SIZE * scale, 4 * scale
    stroke = 1.6 * scale
    parts: list[Part] = [
        Line(left, bottom, right, bottom, stroke, theme.ink),
        Line(left, bottom - tick, left, bottom + stroke / 2, stroke, theme.ink),
        Line(right, bottom - tick, right, bottom + stroke / 2, stroke, theme.ink),
        Text((left + right) / 2, bottom - 7 * scale, length_text(bp), size, theme.ink, "middle"),
    ]
    factor = x_size / y_size
    if not 0.99 < factor < 1.01:
        axis, factor = ("height", factor) if factor > 1 else ("width", 1 / factor)
        text = f"{axis} stretched {factor:,.3g} times"
        x, anchor = (right, "start") if is_left else (left, "end")
        x += 12 * scale * (1 if is_left else -1)
        parts.append(Text(x, bottom, text, size, theme.faint, anchor))
    return parts


def round_length(wanted: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... (or 0.5, 0.2, ...) up to ``wanted``."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(step * power for step in SCALE_STEPS if step * power <= wanted * (1 + 1e-12))


def title_parts(
    title: str, theme: Theme, *, width: float, scale: float
) -> tuple[list[Part], float]:
    """Return the parts of a title and how high it is: nothing without one."""
    if not title:
        return [], 0.0
    size = TITLE_SIZE * scale
    text = clip_text(title, size, width - 2 * MARGIN * scale)
    return [Text(MARGIN * scale, MARGIN * scale + size, text, size, theme.ink)], 44 * scale
