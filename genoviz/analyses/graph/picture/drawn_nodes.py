"""The nodes of a layout that are drawn: where they are, which are where, and which are marked."""

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
from genoviz.errors import ParameterError
from genoviz.kernels.nearest_segment import Aim
from genoviz.kernels.palette_index import MAX_LINE_WIDTH

MIN_MARK_WIDTH = 3
LIVE_PARTS = 12


@dataclass(frozen=True, eq=False)
class MarkLayer:
    """Nodes to draw over everything else, in one colour.

    It keeps what a drawing needs of its nodes: give the same object to each drawing.

    Parameters
    ----------
    nodes
        Whole numbers, any number of them and in any order.
    index
        The palette index that their pixels get, 1 to 255. Keep it free of other nodes with
        ``draw(..., max_index=)``.
    line_width
        Minimum width of their lines in pixels, 1 to 9.
    halo_width
        Width in pixels, up to 9, of the ground that is cleared around them, so that they stand out
        where many nodes are; 0 for none.
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
        """Return the nodes where a backend needs them; ParameterError if there is no such node."""
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
        If they are not whole numbers in one row, or there is no such node.
    """
    array = np.asarray(nodes)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ParameterError(
            f"node numbers are {array.dtype} {array.shape}, need whole numbers, shape (n,)"
        )
    array = np.ascontiguousarray(array, np.int64)
    if array.size and (array.min() < 0 or (n_nodes is not None and array.max() >= n_nodes)):
        wrong = array[(array < 0) | (array >= (n_nodes or np.inf))][0]
        of_nodes = "" if n_nodes is None else f" among {n_nodes:,} nodes"
        raise ParameterError(f"there is no node number {wrong:,}{of_nodes}")
    return array


class DrawnNodes:
    """One set of coordinates, ready to be asked for nodes in any number of viewports.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), C order, as of :class:`GraphLayout`: NumPy or CuPy array. It
        must not change, unless for :meth:`with_coordinates` with ``live``. A node with a coordinate
        that is not finite is left out.
    nodes
        Numbers of the nodes that are drawn and found; None for all.
    backend
        Where to look; ``"auto"`` leaves CuPy coordinates on their GPU. Only numbers of nodes that
        are found, and the coordinates of these, leave a GPU.

    Raises
    ------
    ParameterError
        If the coordinates do not have this shape and type, or there is no such node.
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
        """Return the same nodes elsewhere; all else is shared.

        Parameters
        ----------
        coordinates
            As of the class; may be the array of this drawing.
        live
            For a layout that moves: the array may be written while it is drawn, and the boxes by
            which nodes outside a view are passed over are not all found anew, which for 10 million
            nodes takes as long as the picture. Each drawing, by any of the methods that draw,
            finds one in ``LIVE_PARTS`` of them. So a node that has come from outside the view may
            be missing, or not be found, for as many drawings, and `bounds` may lag as far behind;
            on a GPU, nothing does. Once the layout rests, make a drawing without ``live``: it is
            exact.
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
        """Return the same coordinates, of which only these nodes are found; None for all."""
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
        self._nodes = None if nodes is None else np.unique(check_nodes(nodes, self.n_nodes))
        self._nodes_there = None if nodes is None else place_array(self._nodes, self.backend)
        self._gather()

    def _gather(self) -> None:
        """Take the coordinates of the nodes that are drawn."""
        self._coordinates = (
            self._all
            if self._nodes is None
            else self._raster.gather_segments(self._all, self._nodes_there)
        )

    def _find_boxes(self) -> None:
        self._boxes = self._raster.find_boxes(self._coordinates)

    def _refresh_boxes(self) -> None:
        """Find some boxes anew; on a GPU all of them, which takes no time there."""
        first, step = (self._phase % LIVE_PARTS, LIVE_PARTS) if self.backend == "cpu" else (0, 1)
        self._raster.refresh_boxes(self._coordinates, self._boxes, first, step)
        self._phase += 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes, drawn or not."""
        return len(self._all)

    @property
    def nodes(self) -> np.ndarray | None:
        """Numbers of the nodes that are drawn; int64, ascending, or None for all."""
        return self._nodes

    @property
    def n_drawn(self) -> int:
        """Number of nodes that are drawn."""
        return len(self._coordinates)

    @property
    def coordinates(self) -> Any:
        """The coordinates of all nodes where they are drawn from: a NumPy or a CuPy array."""
        return self._all

    @property
    def is_live(self) -> bool:
        """Whether this is a drawing of a moving layout, which may miss nodes for a moment."""
        return self._is_live

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box ``(x_min, y_min, x_max, y_max)`` around all drawn nodes; zeros without any."""
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
            The point, in layout coordinates, or in those of the plane of ``fold``; there, a node
            is where its parts are drawn, and the nearest may be in another row.
        max_distance
            How far the node may be, bp.
        viewport
            With it, distances are those on the screen, in its pixels, also in a stretched view.
        fold
            As of :meth:`draw`.
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

        Of more than ``limit`` nodes, the first ones are returned, without looking at the others.
        """
        if limit < 0:
            raise ParameterError(f"limit is {limit}, needs at least 0")
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
    """Return a point of the plane as a point of the layout, seen from a row."""
    x_shift, y_shift = (0.0, 0.0) if fold is None else fold.row_shift(row)
    x_range = (-math.inf, math.inf) if fold is None else fold.row_range(row)
    return Aim(
        *(float(number) for number in (x + x_shift, y + y_shift, max_distance, *scales, *x_range))
    )


def place_array(array: Any, backend: str) -> Any:
    """Return an array where a backend needs it, in C order."""
    if backend == "cpu":
        return np.ascontiguousarray(to_host(array))
    import cupy

    return cupy.ascontiguousarray(cupy.asarray(array))
