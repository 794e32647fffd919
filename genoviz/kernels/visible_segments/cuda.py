"""The segments that touch boxes, on one GPU; the contract is in this folder's ``__init__``.

The segments found are listed on the GPU, and only the list is copied to the host.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module

THREADS_PER_BLOCK = 256
COMPILE_OPTIONS = (("--fmad=false",),)


def visible_segments(coordinates, boxes, views, limit: int):
    """Return the first segments that touch a view."""
    visible = _find_visible(coordinates, boxes, views)
    return cupy.flatnonzero(visible)[:limit].astype(np.int64, copy=False).get()


def count_visible(coordinates, boxes, views) -> int:
    """Return the number of segments that touch a view."""
    return int(cupy.count_nonzero(_find_visible(coordinates, boxes, views)))


def _find_visible(coordinates, boxes, views):
    """Return for each segment whether it touches a view."""
    visible = cupy.zeros(len(coordinates), np.bool_)
    if len(boxes) and len(views):
        module = load_module(__package__, "visible_segments.cu", options=COMPILE_OPTIONS[0])
        module.get_function("find_visible")(
            (len(boxes),),
            (THREADS_PER_BLOCK,),
            (
                coordinates,
                np.int64(len(coordinates)),
                boxes,
                cupy.asarray(views),
                np.int32(len(views)),
                visible,
            ),
        )
    return visible
