"""Segments onto a pixel grid, on all CPU cores."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.segment_raster import BLOCK_SIZE, KEY_EMPTY, KEY_MISSING, PixelGrid

MAX_WORKERS = 16
BLOCKS_PER_WORKER = 8
PIECE = 16384


def raster_count(coordinates, grid: PixelGrid, boxes, boxes_known: bool, stride: int):
    """Return the number of segments that touch each pixel."""
    counts, _ = _raster(coordinates, None, grid, boxes, boxes_known, stride)
    return _merge(counts, False).reshape(grid.height, grid.width)


def raster_max(coordinates, keys, grid: PixelGrid, boxes, boxes_known: bool, stride: int):
    """Return the largest key of the segments that touch each pixel."""
    largest, _ = _raster(coordinates, keys, grid, boxes, boxes_known, stride)
    return _merge(largest, True).reshape(grid.height, grid.width)


def raster_mean(coordinates, values, grid: PixelGrid, boxes, boxes_known: bool, stride: int):
    """Return the key of the mean value of the segments that touch each pixel."""
    counts, sums = _raster(coordinates, values, grid, boxes, boxes_known, stride)
    return _mean_keys(_merge(sums, False), _merge(counts, False)).reshape(grid.height, grid.width)


def empty_boxes(n_blocks: int):
    """Return boxes to be filled."""
    return np.empty((n_blocks, 4))


def find_boxes(coordinates, boxes) -> None:
    """Fill in the box around each block of segments."""
    _find_boxes(coordinates, boxes)


def pixels_per_segment(coordinates, grid: PixelGrid, n_samples: int) -> float:
    """Return the mean number of pixels that a segment touches, from evenly spaced segments."""
    return _pixels_per_segment(coordinates, grid, max(1, len(coordinates) // n_samples))


def _raster(coordinates, values, grid, boxes, boxes_known, stride):
    """Return one image for each worker, and where values are summed, one of sums too."""
    blocks = _visible_blocks(boxes, grid) if boxes_known else np.arange(len(boxes))
    n_workers = max(1, min(get_num_threads(), MAX_WORKERS, len(blocks) // BLOCKS_PER_WORKER))
    is_sum = values is not None and values.dtype == np.float32
    n_pixels = grid.width * grid.height
    pixels = np.empty((n_workers, n_pixels * (2 if is_sum else 1)), dtype=np.uint32)
    sums = np.empty((n_workers, n_pixels)) if is_sum else None
    arguments = coordinates, values, grid, boxes, boxes_known, stride, blocks, pixels, sums
    if n_workers == 1:
        _draw_blocks(*arguments, 0)
    else:
        _draw_blocks_in_parallel(*arguments)
    return pixels, sums


@njit(nogil=True, parallel=True, cache=True)
def _draw_blocks_in_parallel(
    coordinates, values, grid, boxes, boxes_known, stride, blocks, pixels, sums
):
    for worker in prange(pixels.shape[0]):
        _draw_blocks(
            coordinates, values, grid, boxes, boxes_known, stride, blocks, pixels, sums, worker
        )


@njit(nogil=True, cache=True)
def _draw_blocks(
    coordinates, values, grid, boxes, boxes_known, stride, blocks, pixels, sums, worker
):
    """Draw a worker's share of the blocks into its own image."""
    n_workers = pixels.shape[0]
    mine = pixels[worker]
    mine[:] = KEY_EMPTY
    my_sums = _own_sums(sums, worker)
    for k in range(worker, blocks.shape[0], n_workers):
        start = blocks[k] * BLOCK_SIZE
        stop = min(start + BLOCK_SIZE, coordinates.shape[0])
        if not boxes_known:
            _find_box(coordinates, start, stop, boxes[blocks[k]])
        visible, inside = _compare_box(boxes[blocks[k]], grid)
        if visible:
            first = (start + stride - 1) // stride * stride
            for segment in range(first, stop, stride):
                _draw_segment(coordinates, values, segment, grid, inside, mine, my_sums)


@njit(nogil=True, cache=True)
def _own_sums(sums, worker):
    if sums is None:
        return None
    mine = sums[worker]
    mine[:] = 0.0
    return mine


@njit(nogil=True, cache=True)
def _visible_blocks(boxes, grid):
    blocks = np.empty(boxes.shape[0], dtype=np.int64)
    n_visible = 0
    for block in range(boxes.shape[0]):
        visible, _ = _compare_box(boxes[block], grid)
        blocks[n_visible] = block
        n_visible += visible
    return blocks[:n_visible]


@njit(nogil=True, cache=True)
def _compare_box(box, grid):
    """Tell whether any, and whether all, of a box can be seen."""
    x_min, y_min, x_max, y_max = box[0], box[1], box[2], box[3]
    visible = (
        x_min <= grid.x_max and x_max >= grid.x_min and y_min <= grid.y_max and y_max >= grid.y_min
    )
    inside = (
        x_min >= grid.x_min and x_max <= grid.x_max and y_min >= grid.y_min and y_max <= grid.y_max
    )
    return visible, inside


@njit(nogil=True, cache=True)
def _draw_segment(coordinates, values, segment, grid, inside, pixels, sums):
    x0 = coordinates[segment, 0, 0]
    y0 = coordinates[segment, 0, 1]
    x1 = coordinates[segment, 1, 0]
    y1 = coordinates[segment, 1, 1]
    if not inside:
        visible, x0, y0, x1, y1 = _clip(grid, x0, y0, x1, y1)
        if not visible:
            return
    column0, row0 = _pixel(grid, x0, y0)
    column1, row1 = _pixel(grid, x1, y1)
    if (
        np.uint64(column0) >= np.uint64(grid.width)
        or np.uint64(column1) >= np.uint64(grid.width)
        or np.uint64(row0) >= np.uint64(grid.height)
        or np.uint64(row1) >= np.uint64(grid.height)
    ):
        if not np.isfinite(x0 + y0 + x1 + y1):
            return
        column0, column1 = _clamp(column0, grid.width), _clamp(column1, grid.width)
        row0, row1 = _clamp(row0, grid.height), _clamp(row1, grid.height)
    pixel = row0 * grid.width + column0
    _draw_line(values, segment, pixel, column1 - column0, row1 - row0, grid.width, pixels, sums)


@njit(nogil=True, cache=True)
def _clip(grid, x0, y0, x1, y1):
    """Cut a segment to the view (Liang-Barsky); the first result says whether any is left."""
    if (
        grid.x_min <= x0 <= grid.x_max
        and grid.x_min <= x1 <= grid.x_max
        and grid.y_min <= y0 <= grid.y_max
        and grid.y_min <= y1 <= grid.y_max
    ):
        return True, x0, y0, x1, y1
    if (
        (x0 < grid.x_min and x1 < grid.x_min)
        or (x0 > grid.x_max and x1 > grid.x_max)
        or (y0 < grid.y_min and y1 < grid.y_min)
        or (y0 > grid.y_max and y1 > grid.y_max)
        or not np.isfinite(x0 + y0 + x1 + y1)
    ):
        return False, x0, y0, x1, y1
    dx = x1 - x0
    dy = y1 - y0
    left, t0, t1 = _clip_side(-dx, x0 - grid.x_min, 0.0, 1.0)
    right, t0, t1 = _clip_side(dx, grid.x_max - x0, t0, t1)
    bottom, t0, t1 = _clip_side(-dy, y0 - grid.y_min, t0, t1)
    top, t0, t1 = _clip_side(dy, grid.y_max - y0, t0, t1)
    if t1 < 1:
        x1 = x0 + t1 * dx
        y1 = y0 + t1 * dy
    if t0 > 0:
        x0 = x0 + t0 * dx
        y0 = y0 + t0 * dy
    return left and right and bottom and top, x0, y0, x1, y1


@njit(nogil=True, cache=True)
def _clip_side(p, q, t0, t1):
    if p < 0 and q < 0:
        r = q / p
        if r > t1:
            return False, t0, t1
        return True, max(t0, r), t1
    if p > 0 and q < p:
        r = q / p
        if r < t0:
            return False, t0, t1
        return True, t0, min(t1, r)
    return q >= 0, t0, t1


@njit(nogil=True, cache=True)
def _pixel(grid, x, y):
    """Return column and row of a point; the upper bound belongs to the last pixel."""
    column = int(x * grid.x_scale + grid.x_shift)
    row = int(y * grid.y_scale + grid.y_shift)
    return (
        column - 1 if column == grid.x_end else column,
        row - 1 if row == grid.y_end else row,
    )


@njit(nogil=True, cache=True)
def _clamp(pixel, size):
    return max(0, min(pixel, size - 1))


@njit(nogil=True, cache=True)
def _draw_line(values, segment, pixel, dx, dy, width, pixels, sums):
    """Draw a line from a pixel as Datashader does (Bresenham)."""
    _touch(values, segment, pixel, pixels, sums)
    if dx == 0 and dy == 0:
        return
    step_x = 1 if dx > 0 else -1
    step_y = width if dy > 0 else -width
    dx, dy = abs(dx), abs(dy)
    if dx >= dy:
        long, short, step_long, step_short = dx, dy, step_x, step_y
    else:
        long, short, step_long, step_short = dy, dx, step_y, step_x
    lowest = 0 if step_long > 0 else 1
    error = 2 * (2 * short - long)
    for _ in range(long):
        if error >= lowest:
            error -= 4 * long
            pixel += step_short
        error += 4 * short
        pixel += step_long
        _touch(values, segment, pixel, pixels, sums)


@njit(nogil=True, cache=True)
def _touch(values, segment, pixel, pixels, sums):
    """Let a pixel know of a segment: count it, keep the largest key, or sum the values."""
    if values is None:
        pixels[np.uint64(pixel)] += np.uint32(1)
    elif sums is None:
        pixels[np.uint64(pixel)] = max(pixels[np.uint64(pixel)], values[segment])
    elif np.isnan(values[segment]):
        pixels[np.uint64(2 * pixel + 1)] += np.uint32(1)
    else:
        pixels[np.uint64(2 * pixel)] += np.uint32(1)
        sums[np.uint64(pixel)] += values[segment]


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
def _find_boxes(coordinates, boxes):
    for block in prange(boxes.shape[0]):
        start = block * BLOCK_SIZE
        stop = min(start + BLOCK_SIZE, coordinates.shape[0])
        _find_box(coordinates, start, stop, boxes[block])


@njit(nogil=True, cache=True)
def _pixels_per_segment(coordinates, grid, step):
    n_pixels, n_segments = 0, 0
    for segment in range(step // 2, coordinates.shape[0], step):
        (x0, y0), (x1, y1) = coordinates[segment]
        visible, x0, y0, x1, y1 = _clip(grid, x0, y0, x1, y1)
        n_segments += 1
        if visible:
            column0, row0 = _pixel(grid, x0, y0)
            column1, row1 = _pixel(grid, x1, y1)
            n_pixels += 1 + max(abs(column1 - column0), abs(row1 - row0))
    return n_pixels / max(1, n_segments)


@njit(nogil=True, parallel=True, cache=True)
def _merge(parts, keep_largest):
    """Return the sum of the workers' images, or their largest numbers."""
    n_parts, n = parts.shape
    if n_parts == 1:
        return parts[0]
    merged = np.empty(n, dtype=parts.dtype)
    for piece in prange((n + PIECE - 1) // PIECE):
        for i in range(piece * PIECE, min(n, (piece + 1) * PIECE)):
            number = parts[0, i]
            for part in range(1, n_parts):
                number = max(number, parts[part, i]) if keep_largest else number + parts[part, i]
            merged[i] = number
    return merged


@njit(nogil=True, cache=True)
def _mean_keys(sums, counts):
    """Return the key of each mean in float32; ``counts`` holds two numbers a pixel."""
    keys = np.empty(sums.shape[0], dtype=np.uint32)
    mean = np.empty(1, dtype=np.float32)
    bits = mean.view(np.uint32)
    for i in range(sums.shape[0]):
        if counts[2 * i] == 0:
            keys[i] = KEY_EMPTY if counts[2 * i + 1] == 0 else KEY_MISSING
        else:
            mean[0] = sums[i] / counts[2 * i]
            is_negative = bits[0] >> np.uint32(31)
            keys[i] = ~bits[0] if is_negative else bits[0] | np.uint32(1 << 31)
            if np.isnan(mean[0]):
                keys[i] = KEY_MISSING
    return keys
