"""Sweeps over paths on one GPU; the contract is in this folder's ``__init__``.

Arrays are CuPy arrays. A call returns when its work is done.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module

THREADS_PER_BLOCK = 256
MAX_IN_A_BLOCK = 1024
RECORDS_AT_ONCE = 1 << 28
POINTS_PER_PAIR_IN_FLIGHT = 6
RECORDS_IN_ORDER = 1 << 22
COMPILE_OPTIONS = (("-DPOSITION=unsigned int",), ("-DPOSITION=long long",))


def _kernel(name, records):
    options = COMPILE_OPTIONS[0 if records.shape[1] == 2 else 1]
    return load_module(__package__, "path_sweep.cu", options=options).get_function(name)


def sweep(
    points,
    paths,
    jumps,
    etas,
    seeds,
    has_ends,
    every,
    first,
    stop,
    n_workers,
):
    """Make one sweep after the other over the records in ``[first, stop)``."""
    kernel = _kernel("sweep", paths[0])
    is_in_order = len(paths[0]) <= RECORDS_IN_ORDER
    is_one_block = is_in_order and n_workers <= MAX_IN_A_BLOCK
    n_block = n_workers if is_one_block else THREADS_PER_BLOCK
    schedule = cupy.asarray(jumps), cupy.asarray(etas), cupy.asarray(seeds)
    n_sweeps = len(jumps)
    for number in range(1 if is_one_block else n_sweeps):
        for phase in range(2 if jumps[number] and not is_in_order else 1):
            kernel(
                (-(-n_workers // n_block),),
                (n_block,),
                (
                    points,
                    *paths,
                    *schedule,
                    np.int32(number),
                    np.int32(n_sweeps if is_one_block else number + 1),
                    np.int32(has_ends),
                    np.int64(every),
                    np.int64(first),
                    np.int64(stop),
                    np.int32(phase),
                    np.int32(is_in_order),
                    np.int64(n_workers),
                ),
            )
    cupy.cuda.get_current_stream().synchronize()


def count_workers(n_points):
    """Return how many workers a level can feed: stale reads spoil a layout of few points."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    n_resident = properties["multiProcessorCount"] * properties["maxThreadsPerMultiProcessor"]
    return max(min(n_resident, n_points // POINTS_PER_PAIR_IN_FLIGHT), 1)
