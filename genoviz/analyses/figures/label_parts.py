"""Words beside nodes: those that were asked for, and names where there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.colours import Colouring
from genoviz.analyses.drawing import LayoutDrawing
from genoviz.analyses.figures.parts import Part, Text, text_width
from genoviz.analyses.fold import Fold
from genoviz.analyses.viewport import Viewport
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
    theme = colouring.theme
    wanted: list[Text] = []
    if labels:
        ends = drawing.node_ends(np.array([label.node for label in labels], np.int64))
        middles = ends.mean(axis=1)
        middles = middles if fold is None else fold.to_plane(middles)
        x_size, y_size = view.bp_per_pixel
        for label, (x, y) in zip(labels, middles.tolist(), strict=True):
            place = (x - view.x_min) / x_size, (view.y_max - y) / y_size + top - 8 * scale
            if 0 <= place[0] <= view.width and top <= place[1] <= top + view.height:
                colour = label.colour or theme.ink
                size = LABEL_SIZE * scale
                wanted.append(Text(*place, label.text, size, colour, "middle", theme.ground))
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
    for node, ((x0, y0), (x1, y1)) in zip(lines.nodes.tolist(), lines.ends.tolist(), strict=True):
        name = graph.node_names[node]
        if np.hypot(x1 - x0, y1 - y0) >= 0.8 * text_width(name, size):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2 - lines.width / 2 - 3 * scale
            yield Text(x, y, name, size, theme.faint, "middle", theme.ground)


def _without_overlaps(texts: Sequence[Text], width: float) -> Iterator[Text]:
    """Yield texts whose boxes are free of those before, moved into the figure at its sides."""
    boxes: list[tuple[float, float, float, float]] = []
    for text in texts:
        half = text_width(text.text, text.size) / 2 + 2
        x = min(max(text.x, half), width - half)
        box = (x - half, text.y - text.size, x + half, text.y + 0.3 * text.size)
        if not any(
            box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in boxes
        ):
            boxes.append(box)
            yield Text(x, text.y, text.text, text.size, text.colour, text.anchor, text.halo)
