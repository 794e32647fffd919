"""Sweeps over paths on one GPU; the contract is in this folder's ``__init__``.

Arrays are CuPy arrays. A call returns when its work is done.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module

THREADS_PER_BLOCK = 256
BLOCKS_PER_MULTIPROCESSOR = 8
POINTS_PER_PAIR_IN_FLIGHT = 32
RECORDS_IN_ORDER = 1 << 22
COMPILE_OPTIONS = (("-DPOSITION=unsigned int",), ("-DPOSITION=long long",))


def _kernel(name, records):
    options = COMPILE_OPTIONS[0 if records.shape[1] == 2 else 1]
    return load_module(__package__, "path_sweep.cu", options=options).get_function(name)


def sweep(
    points,
    records,
    path_starts,
    block_paths,
    jump,
    eta,
    has_ends,
    first,
    stop,
    seed,
    n_workers,
):
    """Move all pairs of records ``jump`` apart of which the first is in ``[first, stop)``."""
    kernel = _kernel("sweep", records)
    n_block = min(THREADS_PER_BLOCK, n_workers)
    is_in_order = len(records) <= RECORDS_IN_ORDER
    for phase in range(2 if jump and not is_in_order else 1):
        kernel(
            (-(-n_workers // n_block),),
            (n_block,),
            (
                points,
                records,
                path_starts,
                block_paths,
                np.int64(jump),
                np.float64(eta),
                np.int32(has_ends),
                np.int64(first),
                np.int64(stop),
                np.uint64(seed),
                np.int32(phase),
                np.int32(is_in_order),
                np.int64(n_workers),
            ),
        )
    cupy.cuda.get_current_stream().synchronize()


def place(
    points,
    is_placed,
    records,
    path_starts,
    block_paths,
    levels,
    level,
    has_ends,
    noise,
    seed,
    first_path,
    stop_path,
):
    """Put the points of a level between their neighbours of the levels above."""
    first, stop = int(path_starts[first_path]), int(path_starts[stop_path])
    n_multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    n_blocks = min(
        -(-2 * (stop - first) // THREADS_PER_BLOCK), n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR
    )
    _kernel("place", records)(
        (max(n_blocks, 1),),
        (THREADS_PER_BLOCK,),
        (
            points,
            is_placed,
            records,
            path_starts,
            block_paths,
            levels,
            np.int32(level),
            np.int32(2 if has_ends else 1),
            np.float64(noise),
            np.uint64(seed),
            np.int64(first),
            np.int64(stop),
        ),
    )
    cupy.cuda.get_current_stream().synchronize()


def count_workers(n_points):
    """Return how many workers a level can feed: stale reads spoil a layout of few points."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    n_resident = properties["multiProcessorCount"] * properties["maxThreadsPerMultiProcessor"]
    return max(min(n_resident, n_points // POINTS_PER_PAIR_IN_FLIGHT), 1)
