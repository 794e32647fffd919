"""Folding of long layouts into rows, so that they fill a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError

GAP = 0.15
MIN_ROW_PIXELS = 24

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Strip:
    """The visible part of one row.

    Attributes
    ----------
    row
        The row, 0 at the top.
    x_shift, y_shift
        What to add to plane coordinates to get layout coordinates, bp.
    viewport
        The whole pixels of the strip, in layout coordinates.
    x_min, x_max
        The part of the viewport that belongs to the row, in layout coordinates.
    first_column, first_row
        Where the strip's pixels begin in the picture.
    """

    row: int
    x_shift: float
    y_shift: float
    viewport: Viewport
    x_min: float
    x_max: float
    first_column: int = 0
    first_row: int = 0

    @property
    def box(self) -> Box:
        """What is shown, ``(x_min, y_min, x_max, y_max)`` in layout coordinates."""
        return self.x_min, self.viewport.y_min, self.x_max, self.viewport.y_max


@dataclass(frozen=True)
class Fold:
    """A layout cut along x into rows of equal length, stacked downwards.

    A folded layout has *plane* coordinates. Those of the first row equal the layout's, so with one
    row the plane is the layout. The first and the last row extend beyond the bounds, so that a
    growing layout stays visible.

    Parameters
    ----------
    layout_bounds
        The box ``(x_min, y_min, x_max, y_max)`` of the layout, bp.
    width, height
        Size of the picture to fill, pixels.
    n_rows
        Number of rows. The default draws the layout as large as possible with rows at least
        ``MIN_ROW_PIXELS`` high. A layout without extent along x has one row.

    Raises
    ------
    ParameterError
        If the box is not finite or is inverted, or a size or the number of rows is below one.
    """

    layout_bounds: Box
    width: int
    height: int
    n_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout_bounds", tuple(float(side) for side in self.layout_bounds))
        x_min, y_min, x_max, y_max = self.layout_bounds
        if not (x_min <= x_max and y_min <= y_max and np.isfinite(self.layout_bounds).all()):
            raise ParameterError(
                f"the layout to fold has the bounds {self.layout_bounds}, needs finite ones, "
                "x_min, y_min, x_max, y_max"
            )
        n_rows = 1 if self.n_rows is None else self.n_rows
        if self.width < 1 or self.height < 1 or n_rows < 1:
            raise ParameterError(
                f"{n_rows} rows are folded into {self.width} x {self.height} pixels, "
                "needs at least one of each"
            )
        if x_min == x_max:
            object.__setattr__(self, "n_rows", 1)
        elif self.n_rows is None:
            object.__setattr__(self, "n_rows", self._choose_rows())

    def _choose_rows(self) -> int:
        width, height = self._extents
        best = math.sqrt(width * self.height / (max(height, width * 1e-9) * self.width))
        maximum = max(1, self.height // MIN_ROW_PIXELS)
        candidates = {min(max(1, n), maximum) for n in (math.floor(best), math.ceil(best), 1)}
        return max(sorted(candidates), key=lambda n: replace(self, n_rows=n)._pixels_per_bp)

    @property
    def _extents(self) -> tuple[float, float]:
        x_min, y_min, x_max, y_max = self.layout_bounds
        return x_max - x_min, y_max - y_min

    @property
    def _pixels_per_bp(self) -> float:
        x_min, y_min, x_max, y_max = self.bounds
        return min(self.width / (x_max - x_min), self.height / max(y_max - y_min, 1e-300))

    @property
    def row_width(self) -> float:
        """Length of a row along x, bp."""
        return self._extents[0] / self.n_rows

    @property
    def row_pitch(self) -> float:
        """Distance from one row to the next, bp."""
        if self.n_rows == 1:
            return self._extents[1]
        filling = self.row_width * self.height / self.width / self.n_rows
        return max(self._extents[1] * (1 + GAP), filling)

    @property
    def bounds(self) -> Box:
        """The box around all rows, ``(x_min, y_min, x_max, y_max)`` in plane coordinates."""
        x_min, _, _, _ = self.layout_bounds
        return x_min, self._row_edge(self.n_rows), x_min + self.row_width, self._row_edge(0)

    def _row_edge(self, row: int) -> float:
        """Return the upper edge of a row, in plane coordinates."""
        _, y_min, _, y_max = self.layout_bounds
        return y_max + (self.row_pitch - (y_max - y_min)) / 2 - row * self.row_pitch

    def row_of(self, x: np.ndarray) -> np.ndarray:
        """Return the row of each x of the layout; int64."""
        cuts = self.layout_bounds[0] + np.arange(1, self.n_rows) * self.row_width
        return np.searchsorted(cuts, x, side="right")

    def row_range(self, row: int) -> tuple[float, float]:
        """Return the x range of a row in the layout; infinite at the outer ends."""
        x_min = self.layout_bounds[0]
        low = -math.inf if row == 0 else x_min + row * self.row_width
        high = math.inf if row == self.n_rows - 1 else x_min + (row + 1) * self.row_width
        return low, high

    def row_shift(self, row: int) -> tuple[float, float]:
        """Return the offset from plane to layout coordinates of a row, bp."""
        return row * self.row_width, row * self.row_pitch

    def to_plane(self, points: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return points of the layout, float64 (..., 2), in plane coordinates.

        ``rows`` gives the row of each point; by default it follows from x.
        """
        points = np.asarray(points, np.float64)
        rows = self.row_of(points[..., 0]) if rows is None else rows
        return points - np.stack([rows * self.row_width, rows * self.row_pitch], axis=-1)

    def row_at(self, y: float) -> int:
        """Return the row at this y of the plane, clipped to the first and last row."""
        if self.n_rows == 1:
            return 0
        return min(max(0, math.floor((self._row_edge(0) - y) / self.row_pitch)), self.n_rows - 1)

    def rows_near(self, y: float) -> list[int]:
        """Return all rows, ordered by distance from this y of the plane."""
        at = self.row_at(y)
        return sorted(range(self.n_rows), key=lambda row: abs(row - at))

    def strips(self, viewport: Viewport) -> tuple[Strip, ...]:
        """Return the parts of the rows that a view of the plane shows.

        A pixel belongs to the row that contains its centre.
        """
        if self.n_rows == 1:
            return _whole_strip(viewport)
        rows = range(self.row_at(viewport.y_max), self.row_at(viewport.y_min) + 1)
        strips = (self._strip(viewport, row) for row in rows)
        return tuple(strip for strip in strips if strip is not None)

    def _strip(self, view: Viewport, row: int) -> Strip | None:
        x_size, y_size = view.bp_per_pixel
        (low, high), (x_shift, y_shift) = self.row_range(row), self.row_shift(row)
        left = 0 if row == 0 else math.floor((low - x_shift - view.x_min) / x_size)
        right = (
            view.width
            if row == self.n_rows - 1
            else math.ceil((high - x_shift - view.x_min) / x_size)
        )
        left, right = max(0, left), min(view.width, right)
        bottom = 0 if row == self.n_rows - 1 else self._first_pixel(view, row + 1)
        top = view.height if row == 0 else self._first_pixel(view, row)
        if left >= right or bottom >= top:
            return None
        pixels = Viewport(
            view.x_min + left * x_size + x_shift,
            (view.x_max if right == view.width else view.x_min + right * x_size) + x_shift,
            view.y_min + bottom * y_size + y_shift,
            (view.y_max if top == view.height else view.y_min + top * y_size) + y_shift,
            right - left,
            top - bottom,
        )
        x_min, x_max = max(pixels.x_min, low), min(pixels.x_max, high)
        if x_min >= x_max:
            return None
        return Strip(row, x_shift, y_shift, pixels, x_min, x_max, left, bottom)

    def _first_pixel(self, view: Viewport, row: int) -> int:
        """Return the first pixel row whose centre is not below the upper edge of a row."""
        pixel = math.ceil((self._row_edge(row) - view.y_min) / view.bp_per_pixel[1] - 0.5)
        return min(max(0, pixel), view.height)


def view_strips(viewport: Viewport, fold: Fold | None) -> tuple[Strip, ...]:
    """Return the strips of a view; a view without a fold has one."""
    return _whole_strip(viewport) if fold is None else fold.strips(viewport)


def _whole_strip(viewport: Viewport) -> tuple[Strip, ...]:
    return (Strip(0, 0.0, 0.0, viewport, viewport.x_min, viewport.x_max),)
