"""Palette indices of an image, on one GPU; the contract is in this folder's ``__init__``.

Images are CuPy arrays; everything else is on the host.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.palette_index import disc_rows

THREADS_PER_BLOCK = 256
MAX_BLOCKS = 1024
COMPILE_OPTIONS = ((),)


def image_range(image, lowest: int) -> tuple[int, int, int]:
    """Return minimum and maximum of the numbers from ``lowest`` on, and their number of pixels."""
    found = cupy.asarray(np.array([np.iinfo(np.uint32).max, 0, 0], np.uint32))
    _launch("find_range", image.size, image, np.int64(image.size), np.uint32(lowest), found)
    smallest, largest, n_used = found.get().tolist()
    return (smallest, largest, n_used) if n_used else (0, 0, 0)


def used_numbers(image, lowest: int, n_used: int, n_wanted: int):
    """Return the numbers of the used pixels, or of every k-th of them."""
    step = max(1, -(-n_used // n_wanted))
    return image[image >= lowest][::step].get()


def apply_levels(image, levels):
    """Return for each pixel the number of levels at or below its number."""
    indices = cupy.empty(image.shape, np.uint8)
    _launch(
        "apply_levels",
        image.size,
        image,
        np.int64(image.size),
        cupy.asarray(levels),
        np.int32(len(levels)),
        indices,
    )
    return indices


def spread(indices, line_width: int):
    """Dilate each pixel to a disc; larger indices are on top."""
    if line_width == 1:
        return indices
    height, width = indices.shape
    disc = np.array(disc_rows(line_width), np.int32)
    result = cupy.empty_like(indices)
    _launch(
        "spread",
        indices.size,
        indices,
        np.int32(width),
        np.int32(height),
        cupy.asarray(disc),
        np.int32(len(disc)),
        result,
    )
    return result


def stamp(indices, image, index: int, line_width: int) -> None:
    """Set an index in the discs around all used pixels of another image."""
    height, width = indices.shape
    disc = np.array(disc_rows(line_width), np.int32)
    _launch(
        "stamp",
        image.size,
        image,
        np.int32(width),
        np.int32(height),
        cupy.asarray(disc),
        np.int32(len(disc)),
        np.uint8(index),
        indices,
    )


def _launch(name: str, n_items: int, *arguments) -> None:
    """Launch a kernel with a grid-stride loop over the items."""
    module = load_module(__package__, "palette_index.cu", options=COMPILE_OPTIONS[0])
    n_blocks = min(-(-n_items // THREADS_PER_BLOCK), MAX_BLOCKS)
    module.get_function(name)((n_blocks,), (THREADS_PER_BLOCK,), arguments)
