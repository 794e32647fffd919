"""Draw segments on a pixel grid, on all CPU cores."""

from __future__ import annotations

import threading

import numpy as np
from numba import njit, prange

from genoviz.kernels.segment_raster import BLOCK_SIZE, PixelGrid
from genoviz.kernels.segment_raster.cpu_boxes import (
    find_boxes,
    gather_segments,
    merge,
    merge_means,
    n_sharing,
    refresh_boxes,
    select_nodes,
)

__all__ = [
    "find_boxes",
    "gather_segments",
    "pixels_per_segment",
    "raster_count",
    "raster_max",
    "raster_mean",
    "refresh_boxes",
    "select_nodes",
]

COUNT, LARGEST, SUM = range(3)
CELL = 4
# Each drawing thread reuses its pixels, because the system zeroes new memory page by page.
MAX_KEPT = 1 << 22
_KEPT = threading.local()


def raster_count(coordinates, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int):
    """Return the number of segments that touch each pixel."""
    counts = _raster(COUNT, coordinates, np.zeros(1, np.uint32), grids, shape, boxes, stride)
    return merge(counts, False).reshape(shape)


def raster_max(
    coordinates, keys, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int
):
    """Return the largest key of the segments that touch each pixel."""
    largest = _raster(LARGEST, coordinates, keys, grids, shape, boxes, stride)
    return merge(largest, True).reshape(shape)


def raster_mean(
    coordinates, values, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int
):
    """Return the key of the mean value of the segments that touch each pixel."""
    cells = _raster(SUM, coordinates, values, grids, shape, boxes, stride)
    return merge_means(cells).reshape(shape)


def pixels_per_segment(coordinates, grids: list[PixelGrid], n_samples: int) -> float:
    """Return the mean number of pixels that a segment touches, from evenly spaced segments."""
    step = max(1, len(coordinates) // n_samples)
    return sum(_pixels_per_segment(coordinates, grid, step) for grid in grids)


def _raster(ink, coordinates, values, grids, shape, boxes, stride):
    """Return the image of each worker: counts or keys, or cells of sums.

    A cell has four uint32: the float64 bits of the sum, the number of segments with a value, and of
    those without. So a segment writes to one place in memory.
    """
    table = np.array(grids, dtype=np.float64).reshape(-1, len(PixelGrid._fields))
    work = _find_work(boxes, table)
    n_workers = n_sharing(len(work))
    n_pixels = shape[0] * shape[1]
    is_merged = n_workers > 1 or ink == SUM  # else the image itself is returned
    pixels = _pixels(n_workers * n_pixels * (CELL if ink == SUM else 1), is_merged)
    sums = pixels.view(np.float64) if ink == SUM else np.empty(0)
    # Read-only views: one compiled loop serves writable and read-only arrays.
    coordinates = coordinates.view()
    coordinates.flags.writeable = False
    arguments = ink, coordinates, values, table, boxes, stride, work, pixels, sums, n_pixels
    if n_workers == 1:
        _draw_blocks(*arguments, n_workers, 0)
    else:
        _draw_blocks_in_parallel(*arguments, n_workers)
    return pixels.reshape(n_workers, -1)


def _pixels(n: int, may_be_kept: bool) -> np.ndarray:
    """Return uint32 (n,): the same array as the last time, if allowed."""
    if not may_be_kept or n > MAX_KEPT:
        return np.empty(n, np.uint32)
    kept = getattr(_KEPT, "pixels", None)
    if kept is None or len(kept) < n:
        kept = _KEPT.pixels = np.empty(n, np.uint32)
    return kept[:n]


@njit(nogil=True, parallel=True, cache=True)
def _draw_blocks_in_parallel(
    ink, coordinates, values, table, boxes, stride, work, pixels, sums, n_pixels, n_workers
):
    for worker in prange(n_workers):
        _draw_blocks(
            ink,
            coordinates,
            values,
            table,
            boxes,
            stride,
            work,
            pixels,
            sums,
            n_pixels,
            n_workers,
            np.int64(worker),
        )


@njit(nogil=True, cache=True)
def _draw_blocks(
    ink,
    coordinates,
    values,
    table,
    boxes,
    stride,
    work,
    pixels,
    sums,
    n_pixels,
    n_workers,
    worker,
):
    """Draw a worker's share of the blocks into its own image."""
    _clear(pixels, n_workers, worker)
    remaining = np.empty(BLOCK_SIZE, dtype=np.int64)
    for k in range(worker, work.shape[0], n_workers):
        block, grid = work[k, 0], _grid_of(table, work[k, 1])
        origin = worker * n_pixels + grid.first_pixel
        start = block * BLOCK_SIZE
        stop = min(start + BLOCK_SIZE, coordinates.shape[0])
        first = (start + stride - 1) // stride * stride
        _, inside = _compare_box(boxes[block], grid)
        if inside:
            n_remaining = _draw_points(
                ink, coordinates, values, grid, first, stop, stride, origin, pixels, sums, remaining
            )
        else:
            n_remaining = 0
            for segment in range(first, stop, stride):
                remaining[n_remaining] = segment
                n_remaining += 1
        _draw_lines(ink, coordinates, values, grid, remaining[:n_remaining], origin, pixels, sums)


@njit(nogil=True, cache=True)
def _draw_points(
    ink, coordinates, values, grid, first, stop, stride, origin, pixels, sums, remaining
):
    """Draw the segments of a single pixel, and list the others; none needs clipping."""
    x_scale, x_shift, y_scale, y_shift = grid.x_scale, grid.x_shift, grid.y_scale, grid.y_shift
    x_origin, y_origin = grid.x_origin, grid.y_origin
    n_columns = np.uint64(max(0, min(grid.width, grid.x_end)))
    n_rows = np.uint64(max(0, min(grid.height, grid.y_end)))
    n_remaining = 0
    for segment in range(first, stop, stride):
        column = int((coordinates[segment, 0, 0] - x_origin) * x_scale + x_shift)
        row = int((coordinates[segment, 0, 1] - y_origin) * y_scale + y_shift)
        end_column = int((coordinates[segment, 1, 0] - x_origin) * x_scale + x_shift)
        end_row = int((coordinates[segment, 1, 1] - y_origin) * y_scale + y_shift)
        if (
            column == end_column
            and row == end_row
            and np.uint64(column) < n_columns
            and np.uint64(row) < n_rows
        ):
            value = values[0 if ink == COUNT else segment]
            pixel = np.uint64(origin + row * grid.pitch + column)
            if ink == COUNT:
                pixels[pixel] += np.uint32(1)
            elif ink == LARGEST:
                pixels[pixel] = max(pixels[pixel], value)
            elif np.isnan(value):
                pixels[np.uint64(4) * pixel + np.uint64(3)] += np.uint32(1)
            else:
                pixels[np.uint64(4) * pixel + np.uint64(2)] += np.uint32(1)
                sums[np.uint64(2) * pixel] += value
        else:
            remaining[n_remaining] = segment
            n_remaining += 1
    return n_remaining


@njit(nogil=True, cache=True)
def _draw_lines(ink, coordinates, values, grid, segments, origin, pixels, sums):
    """Draw segments with Bresenham's algorithm."""
    for segment in segments:
        visible, column, row, dx, dy = _find_line(
            grid,
            coordinates[segment, 0, 0] - grid.x_origin,
            coordinates[segment, 0, 1] - grid.y_origin,
            coordinates[segment, 1, 0] - grid.x_origin,
            coordinates[segment, 1, 1] - grid.y_origin,
        )
        if not visible:
            continue
        pixel = origin + row * grid.pitch + column
        far, near, step_far, step_near, lowest = _find_steps(dx, dy, grid.pitch)
        error = 2 * (2 * near - far)
        value = values[0 if ink == COUNT else segment]
        for _ in range(far + 1):
            if ink == COUNT:
                pixels[np.uint64(pixel)] += np.uint32(1)
            elif ink == LARGEST:
                pixels[np.uint64(pixel)] = max(pixels[np.uint64(pixel)], value)
            elif np.isnan(value):
                pixels[np.uint64(4) * np.uint64(pixel) + np.uint64(3)] += np.uint32(1)
            else:
                pixels[np.uint64(4) * np.uint64(pixel) + np.uint64(2)] += np.uint32(1)
                sums[np.uint64(2) * np.uint64(pixel)] += value
            if error >= lowest:
                error -= 4 * far
                pixel += step_near
            error += 4 * near
            pixel += step_far


@njit(nogil=True, cache=True)
def _clear(array, n_workers, worker):
    size = array.shape[0] // n_workers
    array[worker * size : (worker + 1) * size] = 0


@njit(nogil=True, cache=True)
def _find_work(boxes, table):
    """Return the visible blocks of each grid: (block, grid)."""
    n_work = 0
    for fills in (False, True):
        work = np.empty((n_work, 2), dtype=np.int64)
        n_work = 0
        for k in range(table.shape[0]):
            grid = _grid_of(table, k)
            for block in range(boxes.shape[0]):
                visible, _ = _compare_box(boxes[block], grid)
                if visible and fills:
                    work[n_work, 0], work[n_work, 1] = block, k
                n_work += visible
    return work


@njit(nogil=True, cache=True)
def _grid_of(table, k):
    row = table[k]
    return PixelGrid(
        row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7],
        int(row[8]), int(row[9]), int(row[10]), int(row[11]),
        row[12], row[13], int(row[14]), int(row[15]),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _compare_box(box, grid):
    """Return whether any, and whether all, of a box is visible."""
    x_min, y_min = box[0] - grid.x_origin, box[1] - grid.y_origin
    x_max, y_max = box[2] - grid.x_origin, box[3] - grid.y_origin
    visible = (
        x_min <= grid.x_max and x_max >= grid.x_min and y_min <= grid.y_max and y_max >= grid.y_min
    )
    inside = (
        x_min >= grid.x_min and x_max <= grid.x_max and y_min >= grid.y_min and y_max <= grid.y_max
    )
    return visible, inside


@njit(nogil=True, cache=True, forceinline=True)
def _find_line(grid, x0, y0, x1, y1):
    """Return whether a segment is visible, its first pixel, and the offsets to its last one."""
    visible, x0, y0, x1, y1 = _clip(grid, x0, y0, x1, y1)
    if not visible:
        return False, 0, 0, 0, 0
    column0, row0 = _pixel(grid, x0, y0)
    column1, row1 = _pixel(grid, x1, y1)
    if not (_is_on(grid, column0, row0) and _is_on(grid, column1, row1)):
        column0, column1 = _clamp(column0, grid.width), _clamp(column1, grid.width)
        row0, row1 = _clamp(row0, grid.height), _clamp(row1, grid.height)
        if not np.isfinite(x0 + y0 + x1 + y1):
            return False, 0, 0, 0, 0
    return True, column0, row0, column1 - column0, row1 - row0


@njit(nogil=True, cache=True, forceinline=True)
def _clip(grid, x0, y0, x1, y1):
    """Clip a segment to the view (Liang-Barsky); the first result says whether any is left."""
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


@njit(nogil=True, cache=True, forceinline=True)
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


@njit(nogil=True, cache=True, forceinline=True)
def _pixel(grid, x, y):
    """Return column and row of a point; the upper bound belongs to the last pixel."""
    column = int(x * grid.x_scale + grid.x_shift)
    row = int(y * grid.y_scale + grid.y_shift)
    return (
        column - 1 if column == grid.x_end else column,
        row - 1 if row == grid.y_end else row,
    )


@njit(nogil=True, cache=True, forceinline=True)
def _is_on(grid, column, row):
    return np.uint64(column) < np.uint64(grid.width) and np.uint64(row) < np.uint64(grid.height)


@njit(nogil=True, cache=True, forceinline=True)
def _clamp(pixel, size):
    return max(0, min(pixel, size - 1))


@njit(nogil=True, cache=True, forceinline=True)
def _find_steps(dx, dy, pitch):
    """Return the lengths of a line along both axes, the longer one first, and its steps.

    The last result is the initial Bresenham error, as in Datashader.
    """
    is_flat = abs(dx) >= abs(dy)
    far, near = max(abs(dx), abs(dy)), min(abs(dx), abs(dy))
    step_x = 2 * (dx > 0) - 1
    step_y = pitch * (2 * (dy > 0) - 1)
    step_far = step_x if is_flat else step_y
    return far, near, step_far, step_x + step_y - step_far, 1 * (step_far < 0)


@njit(nogil=True, cache=True)
def _pixels_per_segment(coordinates, grid, step):
    n_pixels, n_segments = 0, 0
    for segment in range(step // 2, coordinates.shape[0], step):
        x0, x1 = (
            coordinates[segment, 0, 0] - grid.x_origin,
            coordinates[segment, 1, 0] - grid.x_origin,
        )
        y0, y1 = (
            coordinates[segment, 0, 1] - grid.y_origin,
            coordinates[segment, 1, 1] - grid.y_origin,
        )
        visible, x0, y0, x1, y1 = _clip(grid, x0, y0, x1, y1)
        n_segments += 1
        if visible:
            column0, row0 = _pixel(grid, x0, y0)
            column1, row1 = _pixel(grid, x1, y1)
            n_pixels += 1 + max(abs(column1 - column0), abs(row1 - row0))
    return n_pixels / max(1, n_segments)
