"""Pictures of a layout: number of nodes, or their values, at each pixel."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal, Self

import numpy as np

from genoviz.analyses.graph.picture.drawn_nodes import (
    DrawnNodes,
    MarkLayer,
    place_array,
    strip_boxes,
)
from genoviz.analyses.graph.picture.fold import Fold, Strip, view_strips
from genoviz.analyses.graph.picture.legend import (
    HOWS,
    MAX_INDEX,
    How,
    check_range,
    count_levels,
    value_levels,
)
from genoviz.analyses.graph.picture.viewport import LastImage, Viewport
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError, check_choice, check_minimum
from genoviz.kernels.palette_index import MAX_LINE_WIDTH
from genoviz.kernels.segment_raster import (
    PixelGrid,
    key_values,
    make_grid,
    order_keys,
    place_grid,
)

By = Literal["count", "mean", "max"]
BYS: tuple[str, ...] = ("count", "mean", "max")
N_SAMPLES, MARKED_NODE_PIXELS = 4096, 10
GROUND_INDEX = 0


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn viewport with one palette index for each pixel.

    Parameters
    ----------
    indices
        uint8, shape (height, width): 0 where nothing is drawn; row 0 is the lowest y.
    viewport
        The drawn view.
    levels
        float64, at most 255 values: lower bound of each index from 1 on, in counts or node values;
        the first index also has all smaller values. NaN for nodes without a value.
    stride
        Every ``stride``-th node was drawn; 1 for all.
    line_width
        Width of the lines in pixels.
    mark_stride
        Every ``mark_stride``-th node of the largest mark was drawn; 1 for all.
    fold
        Fold of the layout, or None; the viewport is then in its plane coordinates.
    """

    indices: np.ndarray
    viewport: Viewport
    levels: np.ndarray
    stride: int
    line_width: int
    mark_stride: int = 1
    fold: Fold | None = None


class LayoutDrawing(DrawnNodes):
    """Coordinates of a layout, prepared for drawing and queries in any number of viewports.

    Queries of a view, and `with_coordinates`, are inherited from :class:`DrawnNodes`.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), C order, as in :class:`GraphLayout`: NumPy or CuPy array. It
        must not change, except through :meth:`with_coordinates` with ``live``. Nodes with
        coordinates that are not finite are skipped.
    node_values
        float32, shape (n_nodes,): values for drawings by mean or max. NaN for a node without a
        value.
    nodes
        Indices of the nodes to draw and to query; None for all. Marks may have any node.
    backend
        Where to draw; ``"auto"`` draws CuPy coordinates on their GPU. The full coordinates stay on
        the GPU; only palette indices, chosen node numbers and their coordinates are copied back.

    Raises
    ------
    ParameterError
        If shapes or dtypes are wrong, or a node index is out of range.
    """

    def __init__(
        self,
        coordinates: Any,
        *,
        node_values: Any = None,
        nodes: Any = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__(coordinates, nodes=nodes, backend=backend)
        self._palette = load_kernel("palette_index", self.backend)
        self._all_values = self._values = self._keys = None
        if node_values is not None:
            self._set_node_values(node_values)

    def with_nodes(self, nodes: Any) -> Self:
        """Return a drawing that draws and queries these nodes only; None for all."""
        other = super().with_nodes(nodes)
        if other._all_values is not None:
            other._set_node_values(other._all_values)
        return other

    def with_node_values(self, node_values: Any) -> Self:
        """Return a drawing with the same coordinates and other values, or None for no values."""
        other = copy.copy(self)
        other._all_values = other._values = other._keys = None
        if node_values is not None:
            other._set_node_values(node_values)
        return other

    def _set_node_values(self, node_values: Any) -> None:
        if node_values.shape != (self.n_nodes,):
            raise ParameterError(
                f"there are {self.n_nodes:,} nodes, and node_values is {node_values.shape}; "
                "it needs one value for each node"
            )
        self._all_values = place_array(node_values, self.backend).astype(np.float32, copy=False)
        self._values = (
            self._all_values if self._nodes is None else self._all_values[self._nodes_there]
        )
        self._keys = None

    def count(self, viewport: Viewport, *, stride: int = 1, fold: Fold | None = None) -> np.ndarray:
        """Return how many nodes touch each pixel; uint32, shape (height, width).

        Equals Datashader's ``Canvas.line(..., axis=1, agg=count())`` of the same view, unless
        pixels are so small that float64 needs a local origin (see ``segment_raster``).
        """
        return place_array(self.image(viewport, "count", stride, fold), "cpu")

    def mean(self, viewport: Viewport, *, stride: int = 1, fold: Fold | None = None) -> np.ndarray:
        """Return the mean value of the nodes that touch each pixel; float32, NaN where none."""
        return key_values(place_array(self.image(viewport, "mean", stride, fold), "cpu"))

    def max(self, viewport: Viewport, *, stride: int = 1, fold: Fold | None = None) -> np.ndarray:
        """Return the largest value of the nodes that touch each pixel; float32, NaN where none."""
        return key_values(place_array(self.image(viewport, "max", stride, fold), "cpu"))

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
        max_index: int = 255,
        marks: Sequence[MarkLayer] = (),
        fold: Fold | None = None,
        last: LastImage | None = None,
    ) -> Picture:
        """Return a picture of a viewport as palette indices.

        Parameters
        ----------
        viewport
            The view, in layout coordinates, or in plane coordinates of ``fold``.
        by
            Quantity mapped to indices: number of nodes at a pixel, or mean or maximum of their
            values.
        how
            ``"log"``: by log(1 + number - low); ``"linear"``; ``"eq_hist"``: each index covers
            about the same number of pixels.
        value_range
            Values (low, high) mapped to the lowest and the highest index. The default is 0 and the
            maximum for counts, the minimum and the maximum for values.
        show_missing
            Whether pixels whose nodes all lack a value get index 1, with values from 2 on;
            otherwise they stay empty.
        line_width
            Line width in pixels, 1 to 9; None for 1 to 3, wider if few pixels are covered.
        pixel_budget
            Approximate number of pixels to touch; above it, nodes are thinned out evenly. Early in
            a layout the lines are long. None draws all nodes. Each mark has the same budget; a
            marked node near the view takes at least ``MARKED_NODE_PIXELS`` of it.
        max_index
            Highest palette index for nodes, 2 to 255; higher ones are reserved for marks.
        marks
            Nodes drawn over all others, the last mark on top, in lines of at least their own width,
            whether or not they are among the drawn nodes.
        fold
            Fold that draws the layout in rows; levels are those of the whole picture.
        last
            The previous drawing while the user drags the view. Its image is reused if the
            coordinates are unchanged and the shift is a whole number of pixels. Ignored for a live
            layout, and on a GPU, which redraws as fast.

        Raises
        ------
        ParameterError
            If an option is invalid or out of range, or node values are needed but missing.
        """
        check_choice("by", by, BYS)
        check_choice("how", how, HOWS)
        value_range = check_range(value_range)
        if line_width is not None and not 1 <= line_width <= MAX_LINE_WIDTH:
            raise ParameterError(f"line_width is {line_width}, needs 1 to {MAX_LINE_WIDTH}")
        if pixel_budget is not None and not pixel_budget > 0:
            raise ParameterError(f"pixel_budget is {pixel_budget}, needs a positive number or None")
        if not 2 <= max_index <= MAX_INDEX:
            raise ParameterError(f"max_index is {max_index}, needs 2 to {MAX_INDEX}")
        strips = view_strips(viewport, fold)
        stride = self._stride_of(self._coordinates, _grids(viewport, strips), pixel_budget)
        if last is not None and self.backend == "cpu" and not self._is_live:
            what = (by, stride, fold)
            image = last.take((self, *what), viewport, lambda part: self.image(part, *what))
        else:
            image = self.image(viewport, by, stride, fold)
            if last is not None:
                last.forget()
        options = {"how": how, "value_range": value_range, "n_levels": max_index}
        if by == "count":
            levels = count_levels(image, self._palette, **options)
        else:
            levels = value_levels(image, self._palette, show_missing=show_missing, **options)
        indices = self._palette.apply_levels(image, levels.numbers)
        if line_width is None:
            line_width = levels.line_width(image.size)
        indices = self._palette.spread(indices, line_width)
        mark_strides = [
            self._draw_mark(mark, indices, viewport, strips, line_width, pixel_budget)
            for mark in marks
        ]
        return Picture(
            place_array(indices, "cpu"),
            viewport,
            levels.values,
            stride,
            line_width,
            max(mark_strides, default=1),
            fold,
        )

    def palette_indices(self, viewport: Viewport, **options: Any) -> np.ndarray:
        """Return the indices of :meth:`draw`, with the same options; uint8, 0 is empty."""
        return self.draw(viewport, **options).indices

    def image(
        self,
        viewport: Viewport,
        by: By,
        stride: int = 1,
        fold: Fold | None = None,
        *,
        is_local: bool = True,
    ) -> Any:
        """Return the kernel's counts or keys, with their own offset; see ``make_grid``."""
        if by != "count" and self._values is None:
            raise ParameterError(f"drawing by {by} needs node_values, and there are none")
        check_minimum("stride", stride, 1)
        if by == "max" and self._keys is None:
            self._keys = place_array(order_keys(place_array(self._values, "cpu")), self.backend)
        numbers = {"count": (), "mean": (self._values,), "max": (self._keys,)}[by]
        draw = getattr(self._raster, f"raster_{by}")
        if self._is_live:
            self._refresh_boxes()
        grids, shape = _grids(viewport, view_strips(viewport, fold), is_local), _shape(viewport)
        return draw(self._coordinates, *numbers, grids, shape, self._boxes, stride)

    def _draw_mark(
        self,
        mark: MarkLayer,
        indices: Any,
        viewport: Viewport,
        strips: tuple[Strip, ...],
        line_width: int,
        pixel_budget: float | None,
    ) -> int:
        """Draw the nodes of a mark over the picture; return the stride."""
        nodes = mark.nodes_on(self.backend, self.n_nodes)
        if self._nodes is None:
            nodes = self._raster.select_nodes(nodes, self._boxes, strip_boxes(strips))
        thinning = 1
        if pixel_budget is not None:
            thinning = max(1, math.ceil(len(nodes) * MARKED_NODE_PIXELS / pixel_budget))
            nodes = nodes if thinning == 1 else nodes[::thinning].copy()
        ends = self._raster.gather_segments(self._all, nodes)
        boxes = self._raster.find_boxes(ends)
        grids = _grids(viewport, strips)
        stride = self._stride_of(ends, grids, pixel_budget)
        image = self._raster.raster_count(ends, grids, _shape(viewport), boxes, stride)
        if mark.halo_width:
            self._palette.stamp(indices, image, GROUND_INDEX, mark.halo_width)
        self._palette.stamp(indices, image, mark.index, max(line_width, mark.line_width))
        return stride * thinning

    def _stride_of(
        self, coordinates: Any, grids: list[PixelGrid], pixel_budget: float | None
    ) -> int:
        if pixel_budget is None:
            return 1
        per_node = self._raster.pixels_per_segment(coordinates, grids, N_SAMPLES)
        return max(1, math.ceil(per_node * len(coordinates) / pixel_budget))


def _shape(viewport: Viewport) -> tuple[int, int]:
    return viewport.height, viewport.width


def _grids(viewport: Viewport, strips: tuple[Strip, ...], is_local: bool = True) -> list[PixelGrid]:
    """Return the pixel grid of each strip within the picture of the viewport."""
    return [
        place_grid(
            make_grid(*astuple(strip.viewport), is_local=is_local),
            strip.x_min,
            strip.x_max,
            strip.first_row * viewport.width + strip.first_column,
            viewport.width,
        )
        for strip in strips
    ]
