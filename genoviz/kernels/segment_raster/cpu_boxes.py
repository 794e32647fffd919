"""Share blocks of segments among workers, and merge the workers' images, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.segment_raster import BLOCK_SIZE, KEY_EMPTY, KEY_MISSING

MAX_WORKERS = 16
BLOCKS_PER_WORKER = 256
PIECE = 16384


def find_boxes(coordinates):
    """Return the box around each block of segments."""
    boxes = np.empty((-(-len(coordinates) // BLOCK_SIZE), 4))
    refresh_boxes(coordinates, boxes, 0, 1)
    return boxes


def refresh_boxes(coordinates, boxes, first: int, step: int) -> None:
    """Recompute the boxes of every ``step``-th block in place."""
    n_workers = n_sharing(len(boxes) // step)
    if n_workers == 1:
        _find_boxes(coordinates, boxes, first, step)
    else:
        _find_boxes_in_parallel(coordinates, boxes, first, step, n_workers)


def gather_segments(coordinates, nodes):
    """Return the segments of some nodes."""
    segments = np.empty((len(nodes), 2, 2))
    n_workers = n_sharing(len(nodes) // BLOCK_SIZE)
    if n_workers == 1:
        _gather(coordinates, nodes, segments, 0, len(nodes))
    else:
        _gather_in_parallel(coordinates, nodes, segments, n_workers)
    return segments


def n_sharing(n_blocks: int) -> int:
    """Return the number of workers; few blocks are done before a second thread has woken up."""
    return max(1, min(get_num_threads(), MAX_WORKERS, n_blocks // BLOCKS_PER_WORKER))


def select_nodes(nodes, boxes, views):
    """Return the nodes whose block overlaps a view."""
    seen = _seen_blocks(boxes, views)
    if seen.all():
        return nodes
    n_workers = n_sharing(len(nodes) // BLOCK_SIZE)
    ends = np.zeros(n_workers + 1, np.int64)
    _count_seen(nodes, seen, ends)
    ends = np.cumsum(ends)
    selected = np.empty(ends[-1], np.int64)
    _select_seen(nodes, seen, ends, selected)
    return selected


@njit(nogil=True, cache=True)
def _seen_blocks(boxes, views):
    seen = np.zeros(boxes.shape[0], np.bool_)
    for view in range(views.shape[0]):
        for block in range(boxes.shape[0]):
            seen[block] |= (
                boxes[block, 0] <= views[view, 2]
                and boxes[block, 2] >= views[view, 0]
                and boxes[block, 1] <= views[view, 3]
                and boxes[block, 3] >= views[view, 1]
            )
    return seen


@njit(nogil=True, parallel=True, cache=True)
def _count_seen(nodes, seen, ends):
    n, n_workers = nodes.shape[0], ends.shape[0] - 1
    for worker in prange(n_workers):
        n_seen = 0
        for k in range(n * worker // n_workers, n * (worker + 1) // n_workers):
            n_seen += seen[nodes[k] // BLOCK_SIZE]
        ends[worker + 1] = n_seen


@njit(nogil=True, parallel=True, cache=True)
def _select_seen(nodes, seen, ends, selected):
    n, n_workers = nodes.shape[0], ends.shape[0] - 1
    for worker in prange(n_workers):
        place = ends[worker]
        for k in range(n * worker // n_workers, n * (worker + 1) // n_workers):
            if seen[nodes[k] // BLOCK_SIZE]:
                selected[place] = nodes[k]
                place += 1


@njit(nogil=True, parallel=True, cache=True)
def _find_boxes_in_parallel(coordinates, boxes, first, step, n_workers):
    for worker in prange(n_workers):
        _find_boxes(coordinates, boxes, first + worker * step, n_workers * step)


@njit(nogil=True, cache=True)
def _find_boxes(coordinates, boxes, first, step):
    for block in range(first, boxes.shape[0], step):
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


@njit(nogil=True, parallel=True, cache=True)
def _gather_in_parallel(coordinates, nodes, segments, n_workers):
    n = nodes.shape[0]
    for worker in prange(n_workers):
        _gather(
            coordinates, nodes, segments, n * worker // n_workers, n * (worker + 1) // n_workers
        )


@njit(nogil=True, cache=True)
def _gather(coordinates, nodes, segments, start, stop):
    for k in range(start, stop):
        node = nodes[k]
        segments[k, 0, 0] = coordinates[node, 0, 0]
        segments[k, 0, 1] = coordinates[node, 0, 1]
        segments[k, 1, 0] = coordinates[node, 1, 0]
        segments[k, 1, 1] = coordinates[node, 1, 1]


def merge(parts, keep_largest: bool):
    """Return the sum or the maximum of the workers' images."""
    return parts[0] if len(parts) == 1 else _merge_in_parallel(parts, keep_largest)


@njit(nogil=True, parallel=True, cache=True)
def _merge_in_parallel(parts, keep_largest):
    n_parts, n = parts.shape
    merged = np.empty(n, dtype=parts.dtype)
    for piece in prange((n + PIECE - 1) // PIECE):
        for i in range(piece * PIECE, min(n, (piece + 1) * PIECE)):
            number = parts[0, i]
            for part in range(1, n_parts):
                number = max(number, parts[part, i]) if keep_largest else number + parts[part, i]
            merged[i] = number
    return merged


def merge_means(parts):
    """Return the key of the mean of each pixel, from the workers' images of cells.

    A cell holds the float64 bits of a sum, and the numbers of segments with and without a value.
    """
    n_parts = len(parts)
    cells = parts.reshape(n_parts, -1, 4)
    sums = parts.view(np.float64).reshape(n_parts, -1, 2)
    if n_parts == 1:
        keys = np.empty(cells.shape[1], dtype=np.uint32)
        _find_keys(sums, cells, keys, 0, len(keys))
        return keys
    return _find_keys_in_parallel(sums, cells)


@njit(nogil=True, parallel=True, cache=True)
def _find_keys_in_parallel(sums, cells):
    n = cells.shape[1]
    keys = np.empty(n, dtype=np.uint32)
    for piece in prange((n + PIECE - 1) // PIECE):
        _find_keys(sums, cells, keys, piece * PIECE, min(n, (piece + 1) * PIECE))
    return keys


@njit(nogil=True, cache=True)
def _find_keys(sums, cells, keys, start, stop):
    mean = np.empty(1, dtype=np.float32)
    bits = mean.view(np.uint32)
    for i in range(start, stop):
        total, n_known, n_missing = 0.0, np.uint32(0), np.uint32(0)
        for part in range(cells.shape[0]):
            total += sums[part, i, 0]
            n_known += cells[part, i, 2]
            n_missing += cells[part, i, 3]
        if n_known == 0:
            keys[i] = KEY_EMPTY if n_missing == 0 else KEY_MISSING
        else:
            mean[0] = total / n_known
            is_negative = bits[0] >> np.uint32(31)
            keys[i] = ~bits[0] if is_negative else bits[0] | np.uint32(1 << 31)
            if np.isnan(mean[0]):
                keys[i] = KEY_MISSING
