"""Pictures of a layout: how many nodes, or which of their values, each pixel shows."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from genoviz.analyses.palette import HOWS, How, check_range, count_levels, value_levels
from genoviz.analyses.viewport import Viewport
from genoviz.backend import Backend, load_kernel, resolve_backend
from genoviz.errors import ParameterError
from genoviz.kernels.palette_index import MAX_LINE_WIDTH
from genoviz.kernels.segment_raster import (
    PixelGrid,
    key_values,
    make_grid,
    order_keys,
)

By = Literal["count", "mean", "max"]
BYS: tuple[str, ...] = ("count", "mean", "max")
N_SAMPLES = 4096


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn viewport, one palette index for each pixel.

    Parameters
    ----------
    indices
        uint8, shape (height, width): 0 where nothing is drawn; row 0 is the lowest y.
    viewport
        What was drawn.
    levels
        float64, at most 255 numbers: where each index from 1 on begins, in counts or node values;
        the first one takes all smaller values too. NaN for nodes without a value.
    stride
        Every ``stride``-th node was drawn; 1 if all were.
    line_width
        Width of the lines in pixels.
    """

    indices: np.ndarray
    viewport: Viewport
    levels: np.ndarray
    stride: int
    line_width: int


class LayoutDrawing:
    """One set of coordinates, ready to be drawn and asked in any number of viewports.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), C order, as of :class:`GraphLayout`: NumPy or CuPy array. It
        must not change. A node with a coordinate that is not finite is left out.
    node_values
        float32, shape (n_nodes,), for drawings by mean or max: what a node is coloured by. NaN for
        a node without a value.
    backend
        Where to draw; ``"auto"`` draws CuPy coordinates on their GPU.

    Raises
    ------
    ParameterError
        If the arrays do not have these shapes and types.
    """

    def __init__(
        self, coordinates: Any, *, node_values: Any = None, backend: Backend = "auto"
    ) -> None:
        self.backend = resolve_backend(backend)
        self._raster = load_kernel("segment_raster", self.backend)
        self._palette = load_kernel("palette_index", self.backend)
        self._values = self._keys = None
        self._set_coordinates(coordinates)
        if node_values is not None:
            self._set_node_values(node_values)

    def with_coordinates(self, coordinates: Any) -> LayoutDrawing:
        """Return a drawing of the same nodes elsewhere, which shares the node values."""
        if coordinates.shape != self._coordinates.shape:
            raise ParameterError(
                f"the drawing has coordinates {self._coordinates.shape}, "
                f"and the new ones are {coordinates.shape}"
            )
        other = copy.copy(self)
        other._set_coordinates(coordinates)
        return other

    def with_node_values(self, node_values: Any) -> LayoutDrawing:
        """Return a drawing of the same coordinates with other values, or with None."""
        other = copy.copy(self)
        other._values = other._keys = None
        if node_values is not None:
            other._set_node_values(node_values)
        return other

    def _set_coordinates(self, coordinates: Any) -> None:
        if coordinates.dtype != np.float64 or coordinates.shape[1:] != (2, 2):
            raise ParameterError(
                f"coordinates are {coordinates.dtype} {coordinates.shape}, "
                "need float64 (n_nodes, 2, 2)"
            )
        self._coordinates = _place(coordinates, self.backend)
        self._boxes = self._raster.find_boxes(self._coordinates)

    def _set_node_values(self, node_values: Any) -> None:
        if node_values.shape != (self.n_nodes,):
            raise ParameterError(
                f"there are {self.n_nodes:,} nodes, and node_values is {node_values.shape}; "
                "it needs one value for each node"
            )
        self._values = _place(node_values, self.backend).astype(np.float32, copy=False)
        self._keys = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self._coordinates)

    @property
    def coordinates(self) -> Any:
        """The coordinates where they are drawn from: a NumPy or a CuPy array."""
        return self._coordinates

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box ``(x_min, y_min, x_max, y_max)`` around all nodes; zeros without nodes."""
        boxes = _place(self._boxes, "cpu")
        if len(boxes) == 0 or np.isinf(boxes).all():
            return (0.0, 0.0, 0.0, 0.0)
        return (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())

    def count(self, viewport: Viewport, *, stride: int = 1) -> np.ndarray:
        """Return how many nodes touch each pixel; uint32, shape (height, width).

        Equal to Datashader's ``Canvas.line(..., axis=1, agg=count())`` of the same view.
        """
        return _place(self._image(viewport, "count", stride), "cpu")

    def mean(self, viewport: Viewport, *, stride: int = 1) -> np.ndarray:
        """Return the mean value of the nodes that touch each pixel; float32, NaN where none."""
        return key_values(_place(self._image(viewport, "mean", stride), "cpu"))

    def max(self, viewport: Viewport, *, stride: int = 1) -> np.ndarray:
        """Return the largest value of the nodes that touch each pixel; float32, NaN where none."""
        return key_values(_place(self._image(viewport, "max", stride), "cpu"))

    def budget_stride(self, viewport: Viewport, pixel_budget: float) -> int:
        """Return the stride with which about ``pixel_budget`` pixels are touched, at least 1."""
        grid = _grid(viewport)
        per_node = self._raster.pixels_per_segment(self._coordinates, grid, N_SAMPLES)
        return max(1, math.ceil(per_node * self.n_nodes / pixel_budget))

    def draw(
        self,
        viewport: Viewport,
        *,
        by: By = "count",
        how: How = "log",
        value_range: tuple[float, float] | None = None,
        show_missing: bool = False,
        line_width: int | None = 1,
        pixel_budget: float | None = 3e7,
    ) -> Picture:
        """Return a picture of a viewport as palette indices.

        Parameters
        ----------
        viewport
            What to draw.
        by
            What is mapped to indices: the number of nodes of a pixel, or the mean or the largest of
            their values.
        how
            ``"log"``: by log(1 + number - low); ``"linear"``; ``"eq_hist"``: each index is given to
            about as many pixels.
        value_range
            The numbers (low, high) that are mapped to the lowest and the highest index. Without it,
            0 and the largest for counts, the smallest and the largest for values.
        show_missing
            Whether pixels whose nodes all lack a value get index 1, with values from 2 on; if not,
            they stay empty.
        line_width
            Width of lines in pixels, 1 to 9; None: 1 to 3, wider if few pixels are used.
        pixel_budget
            About how many pixels may be touched before nodes are left out, evenly: early in a
            layout its lines are long. None draws all nodes.

        Raises
        ------
        ParameterError
            If an option is unknown or out of range, or node values are missing.
        """
        _check_choice("by", by, BYS)
        _check_choice("how", how, HOWS)
        value_range = check_range(value_range)
        if line_width is not None and not 1 <= line_width <= MAX_LINE_WIDTH:
            raise ParameterError(f"line_width is {line_width}, needs 1 to {MAX_LINE_WIDTH}")
        if pixel_budget is not None and not pixel_budget > 0:
            raise ParameterError(f"pixel_budget is {pixel_budget}, needs a positive number or None")
        stride = 1 if pixel_budget is None else self.budget_stride(viewport, pixel_budget)
        image = self._image(viewport, by, stride)
        if by == "count":
            levels = count_levels(image, self._palette, how=how, value_range=value_range)
        else:
            levels = value_levels(
                image, self._palette, how=how, value_range=value_range, show_missing=show_missing
            )
        indices = self._palette.apply_levels(image, levels.numbers)
        if line_width is None:
            n_used = self._palette.image_range(image, int(levels.numbers[0]))[2]
            line_width = _automatic_line_width(n_used, image.size)
        indices = self._palette.spread(indices, line_width)
        return Picture(_place(indices, "cpu"), viewport, levels.values, stride, line_width)

    def palette_indices(self, viewport: Viewport, **options: Any) -> np.ndarray:
        """Return the indices of :meth:`draw`, which has the same options; uint8, 0 is empty."""
        return self.draw(viewport, **options).indices

    def nearest(self, x: float, y: float, max_distance: float = math.inf) -> int:
        """Return the node whose line is nearest to a point, or -1 if none is near enough."""
        kernel = load_kernel("nearest_segment", self.backend)
        return kernel.nearest_segment(
            self._coordinates, self._boxes, float(x), float(y), float(max_distance)
        )

    def _image(self, viewport: Viewport, by: By, stride: int) -> Any:
        if by != "count" and self._values is None:
            raise ParameterError(f"drawing by {by} needs node_values, and there are none")
        if stride < 1:
            raise ParameterError(f"stride is {stride}, needs at least 1")
        if by == "max" and self._keys is None:
            self._keys = _place(order_keys(_place(self._values, "cpu")), self.backend)
        numbers = {"count": (), "mean": (self._values,), "max": (self._keys,)}[by]
        draw = getattr(self._raster, f"raster_{by}")
        return draw(self._coordinates, *numbers, _grid(viewport), self._boxes, stride)


def _grid(viewport: Viewport) -> PixelGrid:
    return make_grid(
        viewport.x_min, viewport.x_max, viewport.y_min, viewport.y_max,
        viewport.width, viewport.height,
    )  # fmt: skip


def _place(array: Any, backend: str) -> Any:
    """Return an array where a backend needs it, in C order."""
    if backend == "cpu":
        return np.ascontiguousarray(array if isinstance(array, np.ndarray) else array.get())
    import cupy

    return cupy.ascontiguousarray(cupy.asarray(array))


def _automatic_line_width(n_used: int, n_pixels: int) -> int:
    """Return wider lines for emptier pictures."""
    share = n_used / n_pixels
    return 3 if share < 0.02 else 2 if share < 0.06 else 1


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} is {value!r}, needs one of {', '.join(choices)}")
