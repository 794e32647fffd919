"""Shapes and labels of a close view, relative to the corner of its frame.

The differences to the corner are computed in float64; the results fit into float32 anywhere on a
genome.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.picture.colouring import Colouring
from genoviz.analyses.graph.picture.curves import clip_segments, cut_segments
from genoviz.analyses.graph.picture.detail import Detail, find_detail
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, Picture
from genoviz.analyses.graph.picture.drawn_nodes import MarkLayer
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.picture.frame import PlacedLabels, Shapes
from genoviz_app.pages.pangenome.picture.marks import NodeLabel

log = logging.getLogger(__name__)

NODES_MARGIN, NEAREST_EXTENT = 0.2, 80.0
PARTS_MARGIN, NEAREST_PARTS = 0.1, 36.0
"""For parts of nodes, whose bases should be readable: 55 bp fit in a picture of 400 pixels."""
MAX_SHAPES = 1200
MAX_NAMES = 400
MAX_LABELS = 300
MANY_EDGES = 200_000
NEIGHBOURHOOD = 1.0
PLAIN_INDEX = 96

INDEXER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-edges")
"""Indexes the edges of large graphs in the background, so that frames need not wait."""

_INDEXING: WeakKeyDictionary[PangenomeGraph, Future] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class NodeParts:
    """Nodes to show, in full or in part.

    Attributes
    ----------
    nodes
        int64, shape (n,); may contain duplicates.
    shares
        float64, shape (n, 2): relative start and end of the part of each node; None for whole
        nodes.
    """

    nodes: np.ndarray
    shares: np.ndarray | None = None

    @property
    def margin(self) -> float:
        """Margin on each side, as a fraction of the extent."""
        return NODES_MARGIN if self.shares is None else PARTS_MARGIN

    def bounds(
        self, drawing: LayoutDrawing, fold: Fold | None
    ) -> tuple[float, float, float, float]:
        """Return their bounding box in the plane of a picture, at least a few bases large."""
        ends = plane_ends(drawing, self.nodes, fold)
        ends = ends if self.shares is None else cut_segments(ends, self.shares)
        ends = ends.reshape(-1, 2)
        low, high = ends.min(axis=0), ends.max(axis=0)
        nearest = NEAREST_EXTENT if self.shares is None else NEAREST_PARTS
        spare = np.maximum(nearest - (high - low).max(), 0) / 2
        return (*(low - spare).tolist(), *(high + spare).tolist())


def has_edge_index(graph: PangenomeGraph) -> bool:
    """Return whether the edges of a graph are indexed; start indexing if there are many."""
    if len(graph.edges) < MANY_EDGES:
        return True
    if graph not in _INDEXING:
        _INDEXING[graph] = INDEXER.submit(lambda: graph.node_edge_index)
    return _INDEXING[graph].done()


def find_shapes(
    graph: PangenomeGraph, drawing: LayoutDrawing, view: Viewport, fold: Fold | None
) -> tuple[Detail | None, bool]:
    """Return the nodes and edges of a view, or None if it has too many.

    The second value is True if shapes are missing because edges are not indexed yet.
    """
    nodes = drawing.visible_nodes(view, limit=MAX_SHAPES + 1, fold=fold)
    if len(nodes) > MAX_SHAPES:
        return None, False
    if not has_edge_index(graph):
        return None, True
    detail = find_detail(graph, drawing, view, fold=fold, nodes=nodes, max_nodes=MAX_SHAPES)
    return detail, False


def make_shapes(
    graph: PangenomeGraph,
    drawing: LayoutDrawing,
    detail: Detail,
    colours: np.ndarray,
    view: Viewport,
    fold: Fold | None,
) -> Shapes:
    """Return nodes and edges as shapes for the browser.

    Parameters
    ----------
    colours
        uint8, shape (n_pieces,): palette index of each item of ``detail.nodes``.
    """
    corner = (view.x_min, view.y_min)
    names = ()
    if len(detail.nodes) <= MAX_NAMES:
        names = tuple(str(graph.node_names[node]) for node in detail.nodes.tolist())
    return Shapes(
        (_near(detail.ends, view) - corner).astype(np.float32),
        colours,
        (detail.curves - corner).astype(np.float32),
        *_lay_bases(graph, drawing, detail, view, fold),
        names,
    )


def node_colours(
    colouring: Colouring, picture: Picture, nodes: np.ndarray, layers: tuple[MarkLayer, ...]
) -> np.ndarray:
    """Return the palette index of single nodes, including marks; uint8."""
    if colouring.node_values is None:
        colours = np.full(len(nodes), PLAIN_INDEX, np.uint8)
    else:
        colours = colouring.node_indices(nodes, picture.levels)
    for layer in layers:
        colours[np.isin(nodes, layer.nodes)] = layer.index
    return colours


def place_labels(
    labels: Sequence[NodeLabel], drawing: LayoutDrawing, view: Viewport, fold: Fold | None
) -> PlacedLabels:
    """Return the labels of visible nodes, each in the middle of its node's visible part."""
    if not labels:
        return PlacedLabels()
    ends = plane_ends(drawing, np.array([label.node for label in labels]), fold)
    shares = clip_segments(ends, (view.x_min, view.y_min, view.x_max, view.y_max))
    seen = np.flatnonzero(shares[:, 0] <= shares[:, 1])[:MAX_LABELS]
    middles = cut_segments(ends[seen], shares[seen]).mean(axis=1)
    return PlacedLabels(
        tuple((labels[i].text, labels[i].colour, labels[i].key) for i in seen.tolist()),
        (middles - (view.x_min, view.y_min)).astype(np.float32),
    )


def plane_ends(drawing: LayoutDrawing, nodes: np.ndarray, fold: Fold | None) -> np.ndarray:
    """Return the ends of nodes in the plane of a picture; float64, shape (n, 2, 2).

    With a fold, a node is in the row of its centre.
    """
    ends = drawing.node_ends(nodes)
    if fold is None:
        return ends
    return fold.to_plane(ends, fold.row_of(ends[..., 0].mean(axis=1))[:, None])


def _near(ends: np.ndarray, view: Viewport) -> np.ndarray:
    """Clip coordinates far outside a view, which float32 could not represent."""
    x, y = (view.x_max - view.x_min) * NEIGHBOURHOOD, (view.y_max - view.y_min) * NEIGHBOURHOOD
    box = (view.x_min - x, view.y_min - y, view.x_max + x, view.y_max + y)
    shares = clip_segments(ends, box)
    is_inside = shares[:, :1] <= shares[:, 1:]
    return cut_segments(ends, np.where(is_inside, shares, (0.0, 1.0)))


def _lay_bases(
    graph: PangenomeGraph,
    drawing: LayoutDrawing,
    detail: Detail,
    view: Viewport,
    fold: Fold | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets, bases, and for each piece the position of its first base and the step."""
    n_pieces = len(detail.nodes)
    counts = np.zeros(n_pieces, np.int32)
    lines = np.zeros((n_pieces, 2, 2), np.float32)
    if detail.bases:
        pieces = np.array([bases.piece for bases in detail.bases])
        starts = np.array([bases.start for bases in detail.bases])
        counts[pieces] = [len(bases.sequence) for bases in detail.bases]
        nodes = detail.nodes[pieces]
        ends = drawing.node_ends(nodes)
        if fold is not None:
            rows = [fold.row_at(float(y)) for y in detail.ends[pieces, :, 1].mean(axis=1)]
            ends = fold.to_plane(ends, np.array(rows)[:, None])
        steps = (ends[:, 1] - ends[:, 0]) / graph.node_lengths[nodes][:, None]
        first = ends[:, 0] + (starts + 0.5)[:, None] * steps - (view.x_min, view.y_min)
        lines[pieces] = np.stack([first, steps], axis=1)
    letters = np.frombuffer(b"".join(bases.sequence for bases in detail.bases), np.uint8)
    return np.concatenate([[0], counts.cumsum()]).astype(np.int32), letters, lines
