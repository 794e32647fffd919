"""Draw segments on a pixel grid: the result of Datashader's ``Canvas.line(axis=1)``, but faster.

A segment is the line between the two ends of a node. It is clipped to the view with the
Liang-Barsky algorithm (doi:10.1145/357332.357333) and drawn with Bresenham's algorithm
(doi:10.1147/sj.41.0025), with Datashader's arithmetic, so that each pixel gets the same segments.

Neighbouring nodes are close to each other in a layout. So the box around each block of 1024
consecutive segments is small, and decides how to draw the whole block::

    +---------+  outside the view:
    | block 7 |  skipped
    +---------+                      +--------- view ---------+
                              +------|---+                    |
      across its edge:        | block| 8 |      +---------+   |  inside: nothing to clip, and most
      each segment is clipped +------|---+      | block 9 |   |  segments are a single pixel, which
                                     |          +---------+   |  needs no line
                                     +------------------------+

The maximum of a pixel is found among unsigned integers, which have atomic operations on a GPU and
no special case for NaN. The bits of a float32 have the order of its value, except that negative
numbers have the sign bit set and descend. So all bits of a negative number are flipped, and only
the sign bit of others (:func:`order_keys`)::

    value    sign exponent fraction          key
     -2.0      1  10000000 000...      0 01111111 111...   0x3fffffff
     -1.0      1  01111111 000...      0 10000000 111...   0x407fffff
      1.0      0  01111111 000...      1 01111111 000...   0xbf800000
      2.0      0  10000000 000...      1 10000000 000...   0xc0000000

==============  =================================================================================
``coordinates``  float64, (n, 2, 2), C order: ``[segment, end, axis]``; a segment with a coordinate
                 that is not finite is not drawn
``grids``        the views as :class:`PixelGrid`; no two share a pixel of the image
``shape``        height and width of the image
``boxes``        float64, (n_blocks, 4): ``x_min, y_min, x_max, y_max`` of the finite segments of
                 each block of ``BLOCK_SIZE`` consecutive segments; inf and -inf for none. Stale
                 boxes can hide a segment that has moved from its box into the view, no other
``stride``       draw the segments whose number is a multiple of it; 1 draws all
``keys``         uint32, (n,): values as ordered integers (:func:`order_keys`)
``values``       float32, (n,): a value of each segment; NaN if it has none
==============  =================================================================================

- ``raster_count(coordinates, grids, shape, boxes, stride)``: uint32 (height, width), the
  number of segments that touch each pixel.
- ``raster_max(coordinates, keys, ...)``: uint32 (height, width), the largest key of each pixel.
- ``raster_mean(coordinates, values, ...)``: uint32 (height, width), the key of the mean value of
  each pixel, summed in float64. Keys of pixels without a segment are ``KEY_EMPTY``, of those where
  no segment has a value ``KEY_MISSING``.
- ``find_boxes(coordinates)``: ``boxes``.
- ``refresh_boxes(coordinates, boxes, first, step)``: recomputes in place the boxes of blocks
  ``first``, ``first + step``, ...
- ``pixels_per_segment(coordinates, grids, n_samples)``: mean number of pixels that a segment
  touches in all grids together, from evenly spaced segments.
- ``gather_segments(coordinates, nodes)``: the segments of ``nodes`` (int64), in this order.
- ``select_nodes(nodes, boxes, views)``: ``nodes`` in this order; may leave out those whose block
  is outside all ``views``: float64, (n_views, 4), boxes on the host.

Row 0 of an image is the lowest y, as in Datashader.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BLOCK_SIZE = 1024

KEY_EMPTY = 0
KEY_MISSING = 1


LOCAL_PIXELS = 2.0**32


class PixelGrid(NamedTuple):
    """A view, and its map to pixels: ``column = int((x - x_origin) * x_scale + x_shift)``.

    Segments are clipped to ``x_min`` to ``y_max``, which are relative to the origin. A pixel has
    the number ``first_pixel + row * pitch + column`` in the image.
    """

    x_scale: float
    x_shift: float
    y_scale: float
    y_shift: float
    x_min: float
    x_max: float
    y_min: float
    y_max: float
    width: int
    height: int
    x_end: int
    y_end: int
    x_origin: float
    y_origin: float
    first_pixel: int
    pitch: int


def make_grid(
    x_min: float, x_max: float, y_min: float, y_max: float, width: int, height: int,
    *, is_local: bool = True,
) -> PixelGrid:  # fmt: skip
    """Return the grid of a view, with Datashader's arithmetic in float64.

    This is exact to a millionth of a pixel while coordinates are within ``LOCAL_PIXELS`` pixels of
    0. Beyond, coordinates are taken relative to the corner of the view, which keeps their
    precision. With ``is_local=False``, Datashader's arithmetic is kept there too.
    """
    x_origin = _local_origin(x_min, x_max, width) if is_local else 0.0
    y_origin = _local_origin(y_min, y_max, height) if is_local else 0.0
    x_min, x_max = x_min - x_origin, x_max - x_origin
    y_min, y_max = y_min - y_origin, y_max - y_origin
    x_scale = width / (x_max - x_min)
    x_shift = -x_min * x_scale
    y_scale = height / (y_max - y_min)
    y_shift = -y_min * y_scale
    return PixelGrid(
        x_scale, x_shift, y_scale, y_shift, x_min, x_max, y_min, y_max, width, height,
        round(x_max * x_scale + x_shift), round(y_max * y_scale + y_shift), x_origin, y_origin,
        0, width,
    )  # fmt: skip


def _local_origin(low: float, high: float, size: int) -> float:
    is_far = max(abs(low), abs(high)) * (size / (high - low)) > LOCAL_PIXELS
    return low if is_far else 0.0


def place_grid(
    grid: PixelGrid, x_min: float, x_max: float, first_pixel: int, pitch: int
) -> PixelGrid:
    """Return the grid of a part of an image, whose segments are clipped to a part of the width."""
    return grid._replace(
        x_min=x_min - grid.x_origin,
        x_max=x_max - grid.x_origin,
        first_pixel=first_pixel,
        pitch=pitch,
    )


def order_keys(values: np.ndarray) -> np.ndarray:
    """Return float32 values as uint32 in the same order; NaN is ``KEY_MISSING``.

    Examples
    --------
    >>> [hex(key) for key in order_keys(np.array([-2.0, -1.0, 1.0, 2.0]))]
    ['0x3fffffff', '0x407fffff', '0xbf800000', '0xc0000000']
    """
    values = np.ascontiguousarray(values, dtype=np.float32)
    bits = values.view(np.int32)
    # Arithmetic shift: all ones for a negative number, else zeros.
    keys = bits.view(np.uint32) ^ ((bits >> 31).view(np.uint32) | np.uint32(1 << 31))
    keys[np.isnan(values)] = KEY_MISSING
    return keys


def key_values(keys: np.ndarray) -> np.ndarray:
    """Return the float32 values of keys; NaN for ``KEY_EMPTY`` and ``KEY_MISSING``."""
    bits = np.where(keys >> 31 == 1, keys & np.uint32(0x7FFFFFFF), ~keys)
    return np.where(keys <= KEY_MISSING, np.float32(np.nan), bits.view(np.float32))
