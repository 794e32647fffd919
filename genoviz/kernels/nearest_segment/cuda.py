"""The segment nearest to a point, on one GPU; the contract is in this folder's ``__init__``."""

from __future__ import annotations

import math

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.nearest_segment import Aim

THREADS_PER_BLOCK = 256
COMPILE_OPTIONS = (("--fmad=false",),)
NONE = np.iinfo(np.uint64).max


def nearest_segment(coordinates, boxes, aim: Aim) -> tuple[int, float]:
    """Return the number and the distance of the nearest segment; -1 if none is near enough."""
    if len(boxes) == 0:
        return -1, math.inf
    module = load_module(__package__, "nearest_segment.cu", options=COMPILE_OPTIONS[0])
    found = cupy.asarray(np.array([0, NONE], np.uint64))
    best_square, best = found[:1].view(np.float64), found[1:]
    best_square[0] = aim.max_distance * aim.max_distance
    point = coordinates, np.int64(len(coordinates)), boxes, cupy.asarray(np.array(aim, np.float64))
    launch = (len(boxes),), (THREADS_PER_BLOCK,)
    module.get_function("find_smallest_square")(*launch, (*point, best_square))
    module.get_function("find_first_segment")(*launch, (*point, best_square, best))
    square, segment = found.get()
    if segment == NONE:
        return -1, math.inf
    return int(segment), math.sqrt(float(square.view(np.float64)))
