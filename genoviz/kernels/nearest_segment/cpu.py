"""The segment nearest to a point: blocks whose boxes are too far away are skipped."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from genoviz.kernels.nearest_segment import BLOCK_SIZE, Aim


def nearest_segment(coordinates, boxes, aim: Aim) -> tuple[int, float]:
    """Return the number and the distance of the nearest segment; -1 if none is near enough."""
    # Read-only views and fixed types: one compiled loop serves all arrays and numbers.
    coordinates = coordinates.view()
    coordinates.flags.writeable = False
    segment, square = _nearest_segment(coordinates, boxes, Aim(*map(float, aim)))
    return (int(segment), math.sqrt(square)) if segment >= 0 else (-1, math.inf)


@njit(nogil=True, cache=True)
def _nearest_segment(coordinates, boxes, aim):
    # Literals have other Numba types, which would compile the loop a second time.
    none = np.int64(-1)
    first_block, first_square = none, np.inf
    for block in range(boxes.shape[0]):
        square = _box_square(boxes[block], aim)
        if square < first_square:
            first_block, first_square = block, square
    max_square = aim.max_distance * aim.max_distance
    if first_block < 0 or first_square > max_square:
        return -1, np.inf
    _, best_square = _search_block(coordinates, first_block, aim, none, max_square)
    best = none
    for block in range(boxes.shape[0]):
        if _box_square(boxes[block], aim) <= best_square:
            best, best_square = _search_block(coordinates, block, aim, best, best_square)
    return best, best_square


@njit(nogil=True, cache=True)
def _search_block(coordinates, block, aim, best, best_square):
    """Return the first nearest segment of a block, if it is at most as far as the best so far."""
    start = block * BLOCK_SIZE
    for segment in range(start, min(start + BLOCK_SIZE, coordinates.shape[0])):
        square = _segment_square(
            coordinates[segment, 0, 0],
            coordinates[segment, 0, 1],
            coordinates[segment, 1, 0],
            coordinates[segment, 1, 1],
            aim,
        )
        if square < best_square or (square == best_square and best < 0):
            best, best_square = segment, square
    return best, best_square


@njit(nogil=True, cache=True)
def _segment_square(x0, y0, x1, y1, aim):
    """Return the squared distance of a point and a segment's part; NaN if there is none."""
    if not np.isfinite(x0 + y0 + x1 + y1):
        return np.nan
    first, last = 0.0, 1.0
    way = x1 - x0
    if way != 0:
        to_low, to_high = (aim.x_low - x0) / way, (aim.x_high - x0) / way
        first, last = max(0.0, min(to_low, to_high)), min(1.0, max(to_low, to_high))
        if first > last:
            return np.nan
    elif not aim.x_low <= x0 <= aim.x_high:
        return np.nan
    dx, dy = way * aim.x_scale, (y1 - y0) * aim.y_scale
    x_from, y_from = (aim.x - x0) * aim.x_scale, (aim.y - y0) * aim.y_scale
    length_square = dx * dx + dy * dy
    along = first
    if length_square > 0:
        along = min(last, max(first, (x_from * dx + y_from * dy) / length_square))
    x_off, y_off = x_from - along * dx, y_from - along * dy
    return x_off * x_off + y_off * y_off


@njit(nogil=True, cache=True)
def _box_square(box, aim):
    """Return the squared distance of a point and a box's part; inf if there is none."""
    x_min, x_max = max(box[0], aim.x_low), min(box[2], aim.x_high)
    if not x_min <= x_max:
        return np.inf
    x_off = max(0.0, x_min - aim.x, aim.x - x_max) * aim.x_scale
    y_off = max(0.0, box[1] - aim.y, aim.y - box[3]) * aim.y_scale
    return x_off * x_off + y_off * y_off
