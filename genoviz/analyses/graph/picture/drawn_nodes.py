"""The drawn nodes of a layout: spatial queries and marks."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from genoviz.analyses.graph.picture.fold import Fold, Strip, view_strips
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.backend import Backend, load_kernel, resolve_backend, to_host
from genoviz.errors import ParameterError, check_minimum, n_words
from genoviz.kernels.nearest_segment import Aim
from genoviz.kernels.palette_index import MAX_LINE_WIDTH
from genoviz.model.columns import distinct

MIN_MARK_WIDTH = 3
LIVE_PARTS = 12


@dataclass(frozen=True, eq=False)
class MarkLayer:
    """Nodes to draw over all others, in one colour.

    It caches what a drawing needs of its nodes, so pass the same object to each drawing.

    Parameters
    ----------
    nodes
        Integer indices, in any number and order.
    index
        Palette index of their pixels, 1 to 255. Reserve it with ``draw(..., max_index=)``.
    line_width
        Minimum line width in pixels, 1 to 9.
    halo_width
        Width in pixels, up to 9, of the background cleared around them, so that they stand out in
        dense regions; 0 for none.
    """

    nodes: Any
    index: int
    line_width: int = MIN_MARK_WIDTH
    halo_width: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", check_nodes(self.nodes))
        if not 1 <= int(self.index) <= 255:
            raise ParameterError(f"a mark has the palette index {self.index}, needs 1 to 255")
        widths = (self.line_width, max(self.halo_width, 1))
        if not all(1 <= width <= MAX_LINE_WIDTH for width in widths):
            raise ParameterError(f"a mark is {max(widths)} px wide, needs 1 to {MAX_LINE_WIDTH}")

    def nodes_on(self, backend: str, n_nodes: int) -> Any:
        """Return the nodes in a backend's memory; ParameterError if an index is out of range."""
        if self._largest >= n_nodes:
            check_nodes(self.nodes, n_nodes)
        return self.nodes if backend == "cpu" else self._nodes_on_gpu

    @cached_property
    def _largest(self) -> int:
        return int(self.nodes.max(initial=-1))

    @cached_property
    def _nodes_on_gpu(self) -> Any:
        import cupy

        return cupy.asarray(self.nodes)


def check_nodes(nodes: Any, n_nodes: int | None = None) -> np.ndarray:
    """Return node numbers as int64, shape (n,).

    Raises
    ------
    ParameterError
        If they are not one-dimensional integers, or an index is out of range.
    """
    array = np.asarray(nodes)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ParameterError(
            f"node numbers are {array.dtype} {array.shape}, need whole numbers, shape (n,)"
        )
    array = np.ascontiguousarray(array, np.int64)
    if array.size and (array.min() < 0 or (n_nodes is not None and array.max() >= n_nodes)):
        wrong = array[(array < 0) | (array >= (n_nodes or np.inf))][0]
        of_nodes = "" if n_nodes is None else f" among {n_words(n_nodes, 'node')}"
        raise ParameterError(f"there is no node number {wrong:,}{of_nodes}")
    return array


class DrawnNodes:
    """Coordinates of a layout, prepared for node queries in any number of viewports.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), C order, as in :class:`GraphLayout`: NumPy or CuPy array. It
        must not change, except through :meth:`with_coordinates` with ``live``. Nodes with
        coordinates that are not finite are skipped.
    nodes
        Indices of the nodes to draw and to query; None for all.
    backend
        Where to compute; ``"auto"`` leaves CuPy coordinates on their GPU. Only found node numbers
        and their coordinates are copied back.

    Raises
    ------
    ParameterError
        If shape or dtype are wrong, or a node index is out of range.
    """

    def __init__(self, coordinates: Any, *, nodes: Any = None, backend: Backend = "auto") -> None:
        self.backend = resolve_backend(backend)
        self._raster = load_kernel("segment_raster", self.backend)
        self._nodes = self._nodes_there = None
        self._is_live, self._phase = False, 0
        self._set_coordinates(coordinates)
        if nodes is not None:
            self._set_nodes(nodes)
        self._find_boxes()

    def with_coordinates(self, coordinates: Any, *, live: bool = False) -> Self:
        """Return the same nodes with other coordinates; everything else is shared.

        Parameters
        ----------
        coordinates
            As for the class; may be the array of this drawing.
        live
            For a moving layout: the array may be written while it is drawn. The bounding boxes that
            cull nodes outside a view are then refreshed in parts, because a full refresh of 10
            million nodes takes as long as drawing. Each drawing call refreshes one in
            ``LIVE_PARTS`` of them. A node that moved into the view may therefore be missed for that
            many calls, and `bounds` may lag likewise. A GPU refreshes all boxes. Once the layout
            rests, make a drawing without ``live``, which is exact.
        """
        if coordinates.shape != self._all.shape:
            raise ParameterError(
                f"the drawing has coordinates {self._all.shape}, "
                f"and the new ones are {coordinates.shape}"
            )
        other = copy.copy(self)
        other._set_coordinates(coordinates)
        other._is_live = live
        if live and self.backend == "cpu":
            other._boxes = self._boxes.copy()
        else:
            other._find_boxes()
        return other

    def with_nodes(self, nodes: Any) -> Self:
        """Return the same coordinates, with queries limited to these nodes; None for all."""
        other = copy.copy(self)
        other._set_nodes(nodes)
        other._find_boxes()
        return other

    def _set_coordinates(self, coordinates: Any) -> None:
        if coordinates.dtype != np.float64 or coordinates.shape[1:] != (2, 2):
            raise ParameterError(
                f"coordinates are {coordinates.dtype} {coordinates.shape}, "
                "need float64 (n_nodes, 2, 2)"
            )
        self._all = place_array(coordinates, self.backend)
        self._gather()

    def _set_nodes(self, nodes: Any) -> None:
        self._nodes = None if nodes is None else distinct(check_nodes(nodes, self.n_nodes))
        self._nodes_there = None if nodes is None else place_array(self._nodes, self.backend)
        self._gather()

    def _gather(self) -> None:
        """Gather the coordinates of the drawn nodes."""
        self._coordinates = (
            self._all
            if self._nodes is None
            else self._raster.gather_segments(self._all, self._nodes_there)
        )

    def _find_boxes(self) -> None:
        self._boxes = self._raster.find_boxes(self._coordinates)

    def _refresh_boxes(self) -> None:
        """Refresh some boxes; on a GPU all of them, which is fast there."""
        first, step = (self._phase % LIVE_PARTS, LIVE_PARTS) if self.backend == "cpu" else (0, 1)
        self._raster.refresh_boxes(self._coordinates, self._boxes, first, step)
        self._phase += 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes, drawn or not."""
        return len(self._all)

    @property
    def nodes(self) -> np.ndarray | None:
        """Indices of the drawn nodes; int64, ascending, or None for all."""
        return self._nodes

    @property
    def n_drawn(self) -> int:
        """Number of nodes that are drawn."""
        return len(self._coordinates)

    @property
    def coordinates(self) -> Any:
        """The coordinates of all nodes: a NumPy or CuPy array."""
        return self._all

    @property
    def is_live(self) -> bool:
        """Whether the layout may be moving, so that queries may briefly miss nodes."""
        return self._is_live

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box ``(x_min, y_min, x_max, y_max)`` around all drawn nodes; zeros if none."""
        boxes = place_array(self._boxes, "cpu")
        if len(boxes) == 0 or np.isinf(boxes).all():
            return (0.0, 0.0, 0.0, 0.0)
        return (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())

    def nearest(
        self,
        x: float,
        y: float,
        max_distance: float = math.inf,
        *,
        viewport: Viewport | None = None,
        fold: Fold | None = None,
    ) -> int:
        """Return the node whose line is nearest to a point, or -1 if none is near enough.

        Parameters
        ----------
        x, y
            The point, in layout coordinates, or in plane coordinates of ``fold``. On a fold, a node
            is where its parts are drawn, and the nearest one may be in another row.
        max_distance
            Maximum distance of the node, bp.
        viewport
            If given, distances are screen pixels, also in a stretched view.
        fold
            As for :meth:`draw`.
        """
        kernel = load_kernel("nearest_segment", self.backend)
        scales = (1.0, 1.0) if viewport is None else tuple(1 / v for v in viewport.bp_per_pixel)
        node, distance = -1, float(max_distance)
        _, y_min, _, y_max = (0.0, -math.inf, 0.0, math.inf) if fold is None else self.bounds
        for row in [0] if fold is None else fold.rows_near(y):
            aim = _aim(x, y, distance, scales, fold, row)
            if max(y_min - aim.y, aim.y - y_max) * aim.y_scale > distance:
                continue
            found, near = kernel.nearest_segment(self._coordinates, self._boxes, aim)
            if found >= 0 and (near < distance or node < 0):
                node, distance = found, near
        return node if self._nodes is None or node < 0 else int(self._nodes[node])

    def visible_nodes(
        self, viewport: Viewport, *, limit: int, fold: Fold | None = None
    ) -> np.ndarray:
        """Return the drawn nodes whose lines touch a view; int64, ascending.

        With more than ``limit`` nodes, the first ones are returned and the others not searched.
        """
        check_minimum("limit", limit, 0)
        kernel = load_kernel("visible_segments", self.backend)
        views = strip_boxes(view_strips(viewport, fold))
        found = kernel.visible_segments(self._coordinates, self._boxes, views, limit)
        return found if self._nodes is None else self._nodes[found]

    def count_visible(self, viewport: Viewport, *, fold: Fold | None = None) -> int:
        """Return how many drawn nodes touch a view."""
        kernel = load_kernel("visible_segments", self.backend)
        views = strip_boxes(view_strips(viewport, fold))
        return kernel.count_visible(self._coordinates, self._boxes, views)

    def node_ends(self, nodes: Any) -> np.ndarray:
        """Return the coordinates of some nodes, drawn or not; float64, shape (n, 2, 2), a copy."""
        nodes = check_nodes(nodes, self.n_nodes)
        there = place_array(nodes, self.backend)
        return place_array(self._raster.gather_segments(self._all, there), "cpu")


def strip_boxes(strips: tuple[Strip, ...]) -> np.ndarray:
    """Return the boxes of strips; float64, shape (n_strips, 4)."""
    return np.array([strip.box for strip in strips], np.float64).reshape(-1, 4)


def _aim(
    x: float,
    y: float,
    max_distance: float,
    scales: tuple[float, float],
    fold: Fold | None,
    row: int,
) -> Aim:
    """Convert a point of the plane to layout coordinates, as seen from a row."""
    x_shift, y_shift = (0.0, 0.0) if fold is None else fold.row_shift(row)
    x_range = (-math.inf, math.inf) if fold is None else fold.row_range(row)
    return Aim(
        *(float(number) for number in (x + x_shift, y + y_shift, max_distance, *scales, *x_range))
    )


def place_array(array: Any, backend: str) -> Any:
    """Return an array in a backend's memory, in C order."""
    if backend == "cpu":
        return np.ascontiguousarray(to_host(array))
    import cupy

    return cupy.ascontiguousarray(cupy.asarray(array))
