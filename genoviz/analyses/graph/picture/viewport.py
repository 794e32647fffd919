"""The visible part of a layout, and its pixel size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError

MAX_PIXELS = 1 << 27
MAX_PIXEL_ERROR = 1e-3


@dataclass(frozen=True)
class Viewport:
    """A rectangle in layout coordinates (bp) and the size of its picture.

    Parameters
    ----------
    x_min, x_max, y_min, y_max
        The rectangle, including its upper bounds.
    width, height
        Size of the picture in pixels. Row 0 of a picture is the lowest y.

    Raises
    ------
    ParameterError
        If the rectangle is empty or not finite, or the picture has no or too many pixels.
    """

    x_min: float
    x_max: float
    y_min: float
    y_max: float
    width: int
    height: int

    def __post_init__(self) -> None:
        for name in ("x_min", "x_max", "y_min", "y_max"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("width", "height"):
            object.__setattr__(self, name, int(getattr(self, name)))
        for low, high, size in (
            (self.x_min, self.x_max, self.width),
            (self.y_min, self.y_max, self.height),
        ):
            if not (low < high and math.isfinite(size / (high - low)) and high - low < math.inf):
                raise ParameterError(
                    f"a viewport goes from {low:g} to {high:g}, needs a finite lower end that is "
                    "below a finite upper end"
                )
        if self.width < 1 or self.height < 1 or self.width * self.height > MAX_PIXELS:
            raise ParameterError(
                f"a viewport has {self.width} x {self.height} pixels, "
                f"needs at least one and at most {MAX_PIXELS:,}"
            )

    @classmethod
    def fit(
        cls,
        bounds: tuple[float, float, float, float],
        width: int,
        height: int,
        *,
        margin: float = 0.03,
        keep_aspect: bool = True,
    ) -> Viewport:
        """Return a viewport around a box ``(x_min, y_min, x_max, y_max)``.

        Parameters
        ----------
        bounds
            As for :attr:`GraphLayout.bounds`; a box without an extent gets one of 1 bp.
        width, height
            Size of the picture in pixels.
        margin
            Empty part of the width and of the height on each side, in [0, 0.5).
        keep_aspect
            Whether a bp has equal width and height in pixels; otherwise the picture is stretched.
        """
        if not 0 <= margin < 0.5:
            raise ParameterError(f"margin is {margin}, needs to be at least 0 and below 0.5")
        x_min, y_min, x_max, y_max = bounds
        extents = [x_max - x_min, y_max - y_min]
        floor = max(*extents, 1.0) * 1e-6 if any(extents) else 1.0
        x_extent, y_extent = (max(extent, floor) / (1 - 2 * margin) for extent in extents)
        if keep_aspect:
            bp_per_pixel = max(x_extent / width, y_extent / height)
            x_extent, y_extent = bp_per_pixel * width, bp_per_pixel * height
        return cls.around(
            (x_min + x_max) / 2, (y_min + y_max) / 2, x_extent, y_extent, width, height
        )

    @classmethod
    def around(
        cls, x: float, y: float, x_extent: float, y_extent: float, width: int, height: int
    ) -> Viewport:
        """Return a viewport by its centre and its extents in bp."""
        return cls(
            x - x_extent / 2, x + x_extent / 2, y - y_extent / 2, y + y_extent / 2, width, height
        )

    @property
    def bp_per_pixel(self) -> tuple[float, float]:
        """Width and height of a pixel, in bp."""
        return (self.x_max - self.x_min) / self.width, (self.y_max - self.y_min) / self.height

    def zoomed(self, factor: float, x: float | None = None, y: float | None = None) -> Viewport:
        """Return the viewport magnified by a factor, with the point (x, y) fixed.

        The default point is the centre.
        """
        x = (self.x_min + self.x_max) / 2 if x is None else x
        y = (self.y_min + self.y_max) / 2 if y is None else y
        return Viewport(
            x - (x - self.x_min) / factor,
            x + (self.x_max - x) / factor,
            y - (y - self.y_min) / factor,
            y + (self.y_max - y) / factor,
            self.width,
            self.height,
        )

    def panned(self, dx: float, dy: float) -> Viewport:
        """Return the viewport shifted by shares of its width and height."""
        x_shift, y_shift = dx * (self.x_max - self.x_min), dy * (self.y_max - self.y_min)
        return Viewport(
            self.x_min + x_shift,
            self.x_max + x_shift,
            self.y_min + y_shift,
            self.y_max + y_shift,
            self.width,
            self.height,
        )

    def part(self, column: int, row: int, width: int, height: int) -> Viewport:
        """Return the viewport of a range of the picture's columns and rows."""
        x_scale, y_scale = self.bp_per_pixel
        x_min, y_min = self.x_min + column * x_scale, self.y_min + row * y_scale
        return Viewport(
            x_min, x_min + width * x_scale, y_min, y_min + height * y_scale, width, height
        )

    def pixels_from(self, other: Viewport) -> tuple[int, int] | None:
        """Return the offset in columns (right) and rows (up) from another viewport.

        None if size or resolution differ, or the offset is not a whole number of pixels.
        """
        if (self.width, self.height) != (other.width, other.height):
            return None
        (x_scale, y_scale), (x_other, y_other) = self.bp_per_pixel, other.bp_per_pixel
        columns, rows = (self.x_min - other.x_min) / x_scale, (self.y_min - other.y_min) / y_scale
        errors = (
            columns - round(columns),
            rows - round(rows),
            (x_other / x_scale - 1) * self.width,
            (y_other / y_scale - 1) * self.height,
        )
        if max(map(abs, errors)) > MAX_PIXEL_ERROR:
            return None
        return round(columns), round(rows)


@dataclass
class LastImage:
    """The last drawn image, for reuse while the view is dragged.

    Attributes
    ----------
    may_move
        Whether the next image may be made by shifting this one, see `move_image`.
    is_moved
        Whether the last image was made that way.
    """

    may_move: bool = False
    is_moved: bool = False
    _last: tuple[tuple, np.ndarray, Viewport] | None = None

    def take(
        self, what: tuple, viewport: Viewport, draw: Callable[[Viewport], np.ndarray]
    ) -> np.ndarray:
        """Return the image of a view; equal ``what`` means equal content and style."""
        image = None
        if self.may_move and self._last is not None and self._last[0] == what:
            image = move_image(*self._last[1:], viewport, draw)
        self.is_moved = image is not None
        image = draw(viewport) if image is None else image
        self._last = what, image, viewport
        return image

    def forget(self) -> None:
        """Drop the image."""
        self.is_moved, self._last = False, None


def move_image(
    image: np.ndarray,
    viewport: Viewport,
    moved: Viewport,
    draw: Callable[[Viewport], np.ndarray],
) -> np.ndarray | None:
    """Return the image of a view shifted by whole pixels, drawing only the new parts.

    Old pixels are reused. A line that crosses the edge of the previous view may differ by a pixel
    from a full redraw, because each view clips it elsewhere.

    Parameters
    ----------
    image
        Shape (height, width): the image of ``viewport``.
    draw
        Returns the image of a part of ``moved``.

    Returns
    -------
    numpy.ndarray or None
        None if nothing of the image can be used.
    """
    steps = moved.pixels_from(viewport)
    if steps is None:
        return None
    height, width = image.shape
    columns, rows = steps
    n_columns, n_rows = width - abs(columns), height - abs(rows)
    if n_columns <= 0 or n_rows <= 0:
        return None
    result = np.empty_like(image)
    left, bottom = max(-columns, 0), max(-rows, 0)
    kept = image[max(rows, 0) :, max(columns, 0) :][:n_rows, :n_columns]
    result[bottom : bottom + n_rows, left : left + n_columns] = kept
    for column, row, n_x, n_y in (
        (0 if columns < 0 else n_columns, 0, abs(columns), height),
        (left, 0 if rows < 0 else n_rows, n_columns, abs(rows)),
    ):
        if n_x and n_y:
            result[row : row + n_y, column : column + n_x] = draw(moved.part(column, row, n_x, n_y))
    return result
