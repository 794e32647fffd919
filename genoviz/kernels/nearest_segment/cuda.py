"""The segment nearest to a point, on one GPU; the contract is in this folder's ``__init__``."""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module

THREADS_PER_BLOCK = 256
COMPILE_OPTIONS = (("--fmad=false",),)
NONE = np.iinfo(np.uint64).max


def nearest_segment(coordinates, boxes, x: float, y: float, max_distance: float) -> int:
    """Return the number of the segment nearest to a point; -1 if none is near enough."""
    if len(boxes) == 0:
        return -1
    module = load_module(__package__, "nearest_segment.cu", options=COMPILE_OPTIONS[0])
    best_square = cupy.asarray(np.array([max_distance * max_distance]))
    best = cupy.full(1, NONE, np.uint64)
    point = coordinates, np.int64(len(coordinates)), boxes, np.float64(x), np.float64(y)
    launch = (len(boxes),), (THREADS_PER_BLOCK,)
    module.get_function("find_smallest_square")(*launch, (*point, best_square))
    module.get_function("find_first_segment")(*launch, (*point, best_square, best))
    found = int(best[0])
    return -1 if found == NONE else found
