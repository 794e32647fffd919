"""The segments that touch boxes, on the CPU; blocks outside all boxes are skipped."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.visible_segments import BLOCK_SIZE

BLOCKS_PER_WORKER = 256


def visible_segments(coordinates, boxes, views, limit: int):
    """Return the first segments that touch a view."""
    found = np.empty(min(limit, len(coordinates)), np.int64)
    n_found = _list_visible(coordinates, boxes, views, found)
    return found[:n_found].copy()


def count_visible(coordinates, boxes, views) -> int:
    """Return the number of segments that touch a view."""
    n_workers = max(1, min(get_num_threads(), len(boxes) // BLOCKS_PER_WORKER))
    if n_workers == 1:
        return int(_count_visible(coordinates, boxes, views, 0, 1))
    return int(_count_in_parallel(coordinates, boxes, views, n_workers))


@njit(nogil=True, cache=True)
def _list_visible(coordinates, boxes, views, found):
    n_found = 0
    for block in range(boxes.shape[0]):
        first, last = _views_of(boxes[block], views)
        if first > last or n_found == found.shape[0]:
            continue
        start = block * BLOCK_SIZE
        for segment in range(start, min(start + BLOCK_SIZE, coordinates.shape[0])):
            if _touches_any(coordinates, segment, views, first, last):
                found[n_found] = segment
                n_found += 1
                if n_found == found.shape[0]:
                    break
    return n_found


@njit(nogil=True, parallel=True, cache=True)
def _count_in_parallel(coordinates, boxes, views, n_workers):
    n_visible = 0
    for worker in prange(n_workers):
        n_visible += _count_visible(coordinates, boxes, views, worker, n_workers)
    return n_visible


@njit(nogil=True, cache=True)
def _count_visible(coordinates, boxes, views, worker, n_workers):
    n_visible = 0
    for block in range(worker, boxes.shape[0], n_workers):
        first, last = _views_of(boxes[block], views)
        start = block * BLOCK_SIZE
        for segment in range(start, min(start + BLOCK_SIZE, coordinates.shape[0])):
            if first > last:
                break
            n_visible += _touches_any(coordinates, segment, views, first, last)
    return n_visible


@njit(nogil=True, cache=True)
def _views_of(box, views):
    """Return the first and the last view that overlaps a box; first > last if there is none."""
    first, last = 0, -1
    for view in range(views.shape[0]):
        if (
            box[0] <= views[view, 2]
            and box[2] >= views[view, 0]
            and box[1] <= views[view, 3]
            and box[3] >= views[view, 1]
        ):
            first, last = view if last < 0 else first, view
    return first, last


@njit(nogil=True, cache=True)
def _touches_any(coordinates, segment, views, first, last):
    x0, y0 = coordinates[segment, 0, 0], coordinates[segment, 0, 1]
    x1, y1 = coordinates[segment, 1, 0], coordinates[segment, 1, 1]
    if not np.isfinite(x0 + y0 + x1 + y1):
        return False
    for view in range(first, last + 1):
        if _touches(x0, y0, x1, y1, views[view, 0], views[view, 1], views[view, 2], views[view, 3]):
            return True
    return False


@njit(nogil=True, cache=True)
def _touches(x0, y0, x1, y1, x_min, y_min, x_max, y_max):
    if max(x0, x1) < x_min or min(x0, x1) > x_max or max(y0, y1) < y_min or min(y0, y1) > y_max:
        return False
    if (x_min <= x0 <= x_max and y_min <= y0 <= y_max) or (
        x_min <= x1 <= x_max and y_min <= y1 <= y_max
    ):
        return True
    dx, dy = x1 - x0, y1 - y0
    low_x, high_x = dy * (x_min - x0), dy * (x_max - x0)
    low_y, high_y = dx * (y_min - y0), dx * (y_max - y0)
    return min(low_x, high_x) <= max(low_y, high_y) and min(low_y, high_y) <= max(low_x, high_x)
