"""The boxes around blocks of segments, and how blocks are shared, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.segment_raster import BLOCK_SIZE

MAX_WORKERS = 16
BLOCKS_PER_WORKER = 256


def find_boxes(coordinates):
    """Return the box around each block of segments."""
    boxes = np.empty((-(-len(coordinates) // BLOCK_SIZE), 4))
    n_workers = n_sharing(len(boxes))
    if n_workers == 1:
        _find_boxes(coordinates, boxes, 1, 0)
    else:
        _find_boxes_in_parallel(coordinates, boxes, n_workers)
    return boxes


def n_sharing(n_blocks: int) -> int:
    """Return how many workers share blocks; few blocks are done before a thread has woken up."""
    return max(1, min(get_num_threads(), MAX_WORKERS, n_blocks // BLOCKS_PER_WORKER))


@njit(nogil=True, parallel=True, cache=True)
def _find_boxes_in_parallel(coordinates, boxes, n_workers):
    for worker in prange(n_workers):
        _find_boxes(coordinates, boxes, n_workers, worker)


@njit(nogil=True, cache=True)
def _find_boxes(coordinates, boxes, n_workers, worker):
    for block in range(worker, boxes.shape[0], n_workers):
        start = block * BLOCK_SIZE
        stop = min(start + BLOCK_SIZE, coordinates.shape[0])
        _find_box(coordinates, start, stop, boxes[block])


@njit(nogil=True, cache=True)
def _find_box(coordinates, start, stop, box):
    x_min, y_min, x_max, y_max = np.inf, np.inf, -np.inf, -np.inf
    for segment in range(start, stop):
        x0 = coordinates[segment, 0, 0]
        y0 = coordinates[segment, 0, 1]
        x1 = coordinates[segment, 1, 0]
        y1 = coordinates[segment, 1, 1]
        if np.isfinite(x0 + y0 + x1 + y1):
            x_min = min(x_min, x0, x1)
            x_max = max(x_max, x0, x1)
            y_min = min(y_min, y0, y1)
            y_max = max(y_max, y0, y1)
    box[0], box[1], box[2], box[3] = x_min, y_min, x_max, y_max
