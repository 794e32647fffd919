"""Draw segments on a pixel grid, on one GPU; the contract is in this folder's ``__init__``.

All arrays are CuPy arrays.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.segment_raster import BLOCK_SIZE, PixelGrid

THREADS_PER_BLOCK = 256
COMPILE_OPTIONS = (("--fmad=false",),)


def raster_count(coordinates, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int):
    """Return the number of segments that touch each pixel."""
    image = cupy.zeros(shape, np.uint32)
    _draw("draw_counts", coordinates, grids, boxes, stride, image)
    return image


def raster_max(
    coordinates, keys, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int
):
    """Return the largest key of the segments that touch each pixel."""
    image = cupy.zeros(shape, np.uint32)
    _draw("draw_largest", coordinates, grids, boxes, stride, keys, image)
    return image


def raster_mean(
    coordinates, values, grids: list[PixelGrid], shape: tuple[int, int], boxes, stride: int
):
    """Return the key of the mean value of the segments that touch each pixel."""
    image = cupy.empty(shape, np.uint32)
    sums = cupy.zeros(shape)
    counts = cupy.zeros((*shape, 2), np.uint32)
    _draw("draw_sums", coordinates, grids, boxes, stride, values, sums, counts)
    n_blocks = -(-image.size // THREADS_PER_BLOCK)
    _launch("find_mean_keys", n_blocks, 1, sums, counts, np.int64(image.size), image)
    return image


def find_boxes(coordinates):
    """Return the box around each block of segments."""
    boxes = cupy.empty((-(-len(coordinates) // BLOCK_SIZE), 4))
    refresh_boxes(coordinates, boxes, 0, 1)
    return boxes


def refresh_boxes(coordinates, boxes, first: int, step: int) -> None:
    """Recompute the boxes of every ``step``-th block in place."""
    n_segments = np.int64(len(coordinates))
    n_blocks = len(range(first, len(boxes), step))
    part = np.int64(first), np.int64(step)
    _launch("find_boxes", n_blocks, 1, coordinates, n_segments, *part, boxes)


def gather_segments(coordinates, nodes):
    """Return the segments of some nodes."""
    return coordinates[nodes]


def select_nodes(nodes, boxes, views):  # noqa: ARG001
    """Return all nodes: the GPU leaves out none of those outside the views."""
    return nodes


def pixels_per_segment(coordinates, grids: list[PixelGrid], n_samples: int) -> float:
    """Return the mean number of pixels that a segment touches, from evenly spaced segments."""
    n_segments = len(coordinates)
    step = max(1, n_segments // n_samples)
    n_drawn = len(range(step // 2, n_segments, step))
    n_pixels = cupy.zeros(1, np.uint64)
    _launch(
        "count_line_pixels",
        -(-n_drawn // THREADS_PER_BLOCK),
        len(grids),
        coordinates,
        np.int64(n_segments),
        _send(grids),
        np.int64(step),
        n_pixels,
    )
    return int(n_pixels[0]) / max(1, n_drawn)


def _draw(name, coordinates, grids, boxes, stride, *arrays) -> None:
    _launch(
        name,
        -(-len(coordinates) // BLOCK_SIZE),
        len(grids),
        coordinates,
        np.int64(len(coordinates)),
        boxes,
        _send(grids),
        np.int64(stride),
        *arrays,
    )


def _send(grids: list[PixelGrid]):
    return cupy.asarray(np.array(grids, np.float64))


def _launch(name: str, n_blocks: int, n_grids: int, *arguments) -> None:
    if n_blocks > 0 and n_grids > 0:
        module = load_module(__package__, "segment_raster.cu", options=COMPILE_OPTIONS[0])
        module.get_function(name)((n_blocks, n_grids), (THREADS_PER_BLOCK,), arguments)
