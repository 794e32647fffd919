"""The segment nearest to a point: blocks that cannot hold it are passed over by their boxes."""

from __future__ import annotations

import numpy as np
from numba import njit

from genoviz.kernels.nearest_segment import BLOCK_SIZE


def nearest_segment(coordinates, boxes, x: float, y: float, max_distance: float) -> int:
    """Return the number of the segment nearest to a point; -1 if none is near enough."""
    return int(_nearest_segment(coordinates, boxes, x, y, max_distance * max_distance))


@njit(nogil=True, cache=True)
def _nearest_segment(coordinates, boxes, x, y, max_square):
    first_block, first_square = -1, np.inf
    for block in range(boxes.shape[0]):
        square = _box_square(boxes[block], x, y)
        if square < first_square:
            first_block, first_square = block, square
    if first_block < 0:
        return -1
    _, best_square = _search_block(coordinates, first_block, x, y, -1, max_square)
    best = -1
    for block in range(boxes.shape[0]):
        if _box_square(boxes[block], x, y) <= best_square:
            best, best_square = _search_block(coordinates, block, x, y, best, best_square)
    return best


@njit(nogil=True, cache=True)
def _search_block(coordinates, block, x, y, best, best_square):
    """Return the first segment that is nearest, among those at most as far as the best so far."""
    start = block * BLOCK_SIZE
    for segment in range(start, min(start + BLOCK_SIZE, coordinates.shape[0])):
        square = _segment_square(coordinates, segment, x, y)
        if square < best_square or (square == best_square and best < 0):
            best, best_square = segment, square
    return best, best_square


@njit(nogil=True, cache=True)
def _segment_square(coordinates, segment, x, y):
    """Return the squared distance of a point and a segment; NaN if the segment is not finite."""
    x0, y0 = coordinates[segment, 0, 0], coordinates[segment, 0, 1]
    dx, dy = coordinates[segment, 1, 0] - x0, coordinates[segment, 1, 1] - y0
    length_square = dx * dx + dy * dy
    along = 0.0
    if length_square > 0:
        along = min(1.0, max(0.0, ((x - x0) * dx + (y - y0) * dy) / length_square))
    x_off, y_off = x - (x0 + along * dx), y - (y0 + along * dy)
    is_finite = np.isfinite(x0 + y0 + coordinates[segment, 1, 0] + coordinates[segment, 1, 1])
    return x_off * x_off + y_off * y_off if is_finite else np.nan


@njit(nogil=True, cache=True)
def _box_square(box, x, y):
    """Return the squared distance of a point and a box; inf if the box is of no segment."""
    x_off = max(0.0, box[0] - x, x - box[2])
    y_off = max(0.0, box[1] - y, y - box[3])
    return x_off * x_off + y_off * y_off
