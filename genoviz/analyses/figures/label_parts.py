"""Words beside nodes: those that were asked for, and names where there is room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.figures.parts import Anchor, Part, Text, text_width
from genoviz.analyses.graph.picture.colours import Colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.model import PangenomeGraph

LABEL_SIZE, NAME_SIZE = 12.5, 10.5
MAX_NAMED_NODES = 300


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
