"""Content of a close-up view: nodes as thick segments, edges as curves, and bases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.picture.curves import (
    clip_segments,
    cut_segments,
    edge_curves,
    split_at_x,
)
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.fold import Fold, Strip, view_strips
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError, n_words
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct

MIN_BASE_PIXELS = 6.0


@dataclass(frozen=True, eq=False)
class VisibleBases:
    """The bases of a node that are visible in a view.

    Attributes
    ----------
    piece
        Index of their item in :attr:`Detail.nodes`.
    start
        Position of the first, 0-based on the node's forward strand.
    sequence
        The forward-strand bases from there on.
    """

    piece: int
    start: int
    sequence: bytes


@dataclass(frozen=True, eq=False)
class Detail:
    """The nodes and edges of a view.

    Attributes
    ----------
    nodes
        int64, shape (n_pieces,), ascending: the nodes that touch the view. A node that a fold cuts
        occurs once for each of its parts.
    ends
        float64, shape (n_pieces, 2, 2): the two ends of each part in plane coordinates (bp); end 0
        is the left end of the forward node.
    edges
        int64, shape (n_curves,), ascending: the edges of the visible nodes whose curve may touch
        the view. An edge that the graph lists twice, or in both directions, occurs once. An edge
        between two rows of a fold occurs twice, once for each row.
    curves
        float64, shape (n_curves, 4, 2): control points of a cubic Bezier curve for each edge, from
        the end of its from-handle to the start of its to-handle, in plane coordinates.
    bases
        The visible bases of parts drawn with at least ``MIN_BASE_PIXELS`` pixels per base; empty
        if the graph has no sequences.
    """

    nodes: np.ndarray
    ends: np.ndarray
    edges: np.ndarray
    curves: np.ndarray
    bases: tuple[VisibleBases, ...]


def find_detail(
    graph: PangenomeGraph,
    drawing: LayoutDrawing,
    viewport: Viewport,
    *,
    fold: Fold | None = None,
    nodes: np.ndarray | None = None,
    max_nodes: int = 1500,
    max_edges: int = 6000,
) -> Detail | None:
    """Return the nodes, edges and bases of a view, or None if there are too many.

    Parameters
    ----------
    graph, drawing
        A graph and a drawing of its layout; edges to nodes that are not drawn are left out.
    viewport
        The view, in layout coordinates, or in plane coordinates of ``fold``.
    fold
        As for `LayoutDrawing.draw`.
    nodes
        int64, the nodes that touch the view, from `LayoutDrawing.visible_nodes`, if already known.
    max_nodes, max_edges
        The result is None if more nodes touch the view, or if these have more edges.

    Raises
    ------
    ParameterError
        If the drawing and the graph differ in their number of nodes.
    """
    if drawing.n_nodes != graph.n_nodes:
        raise ParameterError(
            f"the drawing has {n_words(drawing.n_nodes, 'node')} and the graph {graph.n_nodes:,}"
        )
    if nodes is None:
        nodes = drawing.visible_nodes(viewport, limit=max_nodes + 1, fold=fold)
    if len(nodes) > max_nodes:
        return None
    edges = _edges_of(graph, drawing, nodes, 2 * max_edges)
    if edges is None or len(edges) > max_edges:
        return None
    strips = view_strips(viewport, fold)
    parts = _cut_nodes(nodes, drawing.node_ends(nodes), strips, fold)
    curves = _edge_curves(graph, drawing, edges)
    if fold is not None:
        curves, edges = _cut_curves(curves, edges, fold)
    is_near = _may_touch(curves, viewport)
    return Detail(
        nodes=parts.nodes,
        ends=parts.ends,
        edges=edges[is_near],
        curves=curves[is_near],
        bases=_find_bases(graph, parts, viewport),
    )


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of nodes: ``ends`` in the plane; ``shown`` and whole ``lines`` in the layout."""

    nodes: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    shown: np.ndarray


def _cut_nodes(
    nodes: np.ndarray, lines: np.ndarray, strips: tuple[Strip, ...], fold: Fold | None
) -> _Parts:
    """Cut nodes at the ends of their rows, and keep the parts inside the strips."""
    if fold is None or fold.n_rows == 1:
        return _Parts(nodes, lines, lines, clip_segments(lines, strips[0].box))
    chosen, ends, shown = [], [], []
    for strip in strips:
        low, high = fold.row_range(strip.row)
        visible = clip_segments(lines, strip.box)
        of_row = clip_segments(lines, (low, -np.inf, high, np.inf))
        here = np.flatnonzero(visible[:, 0] <= visible[:, 1])
        chosen.append(here)
        ends.append(cut_segments(lines[here], of_row[here]) - (strip.x_shift, strip.y_shift))
        shown.append(visible[here])
    picked = np.concatenate([np.empty(0, np.int64), *chosen])
    order = np.argsort(picked, kind="stable")
    picked = picked[order]
    return _Parts(
        nodes[picked],
        np.concatenate([np.empty((0, 2, 2)), *ends])[order],
        lines[picked],
        np.concatenate([np.empty((0, 2)), *shown])[order],
    )


def _edges_of(
    graph: PangenomeGraph, drawing: LayoutDrawing, nodes: np.ndarray, limit: int
) -> np.ndarray | None:
    """Return the edges between drawn nodes that touch one of these; None above the limit."""
    index = graph.node_edge_index
    if (index.offsets[nodes + 1] - index.offsets[nodes]).sum() > limit:
        return None
    edges = distinct(index.gather(nodes)[0])
    if drawing.nodes is not None:
        edges = edges[np.isin(graph.edges[edges] >> 1, drawing.nodes).all(axis=1)]
    return edges[_is_first(graph.edges[edges])]


def _is_first(edges: np.ndarray) -> np.ndarray:
    """Return which edges are neither listed before nor the mirror image of one that is."""
    handles = edges.astype(np.int64)
    keys = np.stack(
        [handles[:, 0] << 32 | handles[:, 1], (handles[:, 1] ^ 1) << 32 | handles[:, 0] ^ 1]
    )
    _, firsts = np.unique(keys.min(axis=0), return_index=True)
    is_first = np.zeros(len(edges), bool)
    is_first[firsts] = True
    return is_first


def _edge_curves(graph: PangenomeGraph, drawing: LayoutDrawing, edges: np.ndarray) -> np.ndarray:
    """Return the curves of edges in layout coordinates."""
    handles = graph.edges[edges].astype(np.int64)
    ends = drawing.node_ends((handles >> 1).ravel()).reshape(-1, 2, 2, 2)
    is_reverse = (handles & 1).astype(bool)
    # A forward node is left at its end 1 and entered at its end 0.
    from_ends = np.where(is_reverse[:, :1, None], ends[:, 0, ::-1], ends[:, 0])
    to_ends = np.where(is_reverse[:, 1:, None], ends[:, 1], ends[:, 1, ::-1])
    return edge_curves(from_ends, to_ends, handles[:, 0] == handles[:, 1] ^ 1)


def _cut_curves(curves: np.ndarray, edges: np.ndarray, fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """Return curves in the plane, cut at the ends of their rows, and the edge of each."""
    from_rows, to_rows = fold.row_of(curves[:, 0, 0]), fold.row_of(curves[:, 3, 0])
    stays = from_rows == to_rows
    goes = np.flatnonzero(~stays & np.isfinite(curves).all(axis=(1, 2)))
    if len(goes) == 0:
        return fold.to_plane(curves[stays], from_rows[stays, None]), edges[stays]
    cuts = fold.layout_bounds[0] + fold.row_width * np.stack(
        [np.where(from_rows < to_rows, from_rows + 1, from_rows),
         np.where(from_rows < to_rows, to_rows, to_rows + 1)]
    )  # fmt: skip
    before, _ = split_at_x(curves[goes], cuts[0, goes])
    _, after = split_at_x(curves[goes], cuts[1, goes])
    pieces = np.concatenate([curves[stays], before, after])
    rows = np.concatenate([from_rows[stays], from_rows[goes], to_rows[goes]])
    owners = np.concatenate([edges[stays], edges[goes], edges[goes]])
    order = np.argsort(owners, kind="stable")
    return fold.to_plane(pieces, rows[:, None])[order], owners[order]


def _may_touch(curves: np.ndarray, view: Viewport) -> np.ndarray:
    """Return which curves may touch the view: a Bezier curve lies in its control points' hull."""
    low, high = curves.min(axis=1), curves.max(axis=1)
    return (
        (low <= (view.x_max, view.y_max)) & (high >= (view.x_min, view.y_min))
    ).all(axis=1)  # fmt: skip


def _find_bases(
    graph: PangenomeGraph, parts: _Parts, viewport: Viewport
) -> tuple[VisibleBases, ...]:
    sequences = graph.node_sequences
    if sequences is None:
        return ()
    first, stop = sequences.offsets[parts.nodes], sequences.offsets[parts.nodes + 1]
    lengths = stop - first
    pixels = np.hypot(*((parts.lines[:, 1] - parts.lines[:, 0]) / viewport.bp_per_pixel).T)
    is_large = (lengths > 0) & (pixels >= MIN_BASE_PIXELS * lengths)
    bases = []
    for piece in np.flatnonzero(is_large & (parts.shown[:, 0] <= parts.shown[:, 1])):
        start = min(math.floor(parts.shown[piece, 0] * lengths[piece]), int(lengths[piece]) - 1)
        end = max(math.ceil(parts.shown[piece, 1] * lengths[piece]), start + 1)
        shown = sequences.data[first[piece] + start : first[piece] + end].tobytes()
        bases.append(VisibleBases(int(piece), start, shown))
    return tuple(bases)
