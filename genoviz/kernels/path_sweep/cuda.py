"""Sweeps over paths on one GPU; the contract is in this folder's ``__init__``.

Arrays are CuPy arrays. A call returns when its work is done.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import (
    card_attribute,
    count_resident_threads,
    load_module,
    make_launcher,
)

THREADS_PER_BLOCK = 256
WARP = 32
LARGEST_BLOCK = 1024
WORKERS_IN_ONE_BLOCK = 64
WARPS_PER_MULTIPROCESSOR = 16
RECORDS_AT_ONCE = 1 << 28
POINTS_PER_PAIR_IN_FLIGHT = 6
SHARE_IN_ORDER = 0.75  # of the workers: with several lanes each, they hardly pause between moves
RECORDS_IN_ORDER = 1 << 24
POINTS_AT_ONCE = 1 << 19  # fits in the L2 cache, and still occupies all threads
POINTS_TO_SHARE = 1 << 17  # per device: sharing out fewer takes longer than sweeping them
SWEEPS_TO_MERGE = 16
BLOCKS_PER_MULTIPROCESSOR = 8
SWEEP = np.dtype(
    [
        ("jump", np.int64),
        ("eta", np.float64),
        ("seed", np.uint64),
        ("n_records", np.int64),
        ("every", np.int64),
        ("first", np.int64),
        ("stop", np.int64),
        ("n_workers", np.int64),
        ("has_ends", np.int32),
    ],
    align=True,
)
COMPILE_OPTIONS = (("-DPOSITION=unsigned int",), ("-DPOSITION=long long",))


def _kernel(name, records):
    options = COMPILE_OPTIONS[0 if records.shape[1] == 2 else 1]
    return load_module(__package__, "path_sweep.cu", options=options).get_function(name)


def sweep(
    points,
    paths,
    strips,
    jumps,
    etas,
    seeds,
    has_ends,
    every,
    first,
    stop,
    n_workers,
):
    """Make all sweeps, one after the other, over ``strips[first:stop]``."""
    records, path_starts, block_paths = paths
    is_in_order = len(records) <= RECORDS_IN_ORDER
    lanes, n_block = 1, THREADS_PER_BLOCK
    if is_in_order:
        n_workers = max(int(SHARE_IN_ORDER * n_workers), 1)
        lanes, n_block = _lanes_of_workers(n_workers)
    kernel = _kernel("sweep_in_order" if is_in_order else "sweep", records)
    same = len(records), every, first, stop, n_workers, has_ends
    for jump, eta, seed in zip(jumps, etas, seeds, strict=True):
        call = np.array((jump, eta, seed, *same), SWEEP)
        phases = (0, 1) if jump else (0,)
        for lanes_or_phase in (lanes,) if is_in_order else phases:
            kernel(
                (-(-n_workers * lanes // n_block),),
                (n_block,),
                (
                    points,
                    records,
                    path_starts,
                    block_paths,
                    strips,
                    call,
                    np.int32(lanes_or_phase),
                ),
            )
    cupy.cuda.get_current_stream().synchronize()


def _lanes_of_workers(n_workers):
    """Return the threads of each worker, up to a warp, and those of a block.

    Few workers are in one block; of more, as many threads as keep all workers resident.
    """
    is_one_block = n_workers <= WORKERS_IN_ONE_BLOCK
    n_warps = WARPS_PER_MULTIPROCESSOR * card_attribute("MultiProcessorCount")
    n_threads = LARGEST_BLOCK if is_one_block else n_warps * WARP
    lanes = 1 << min(max(n_threads // n_workers, 1), WARP).bit_length() - 1
    return lanes, -(-n_workers * lanes // WARP) * WARP if is_one_block else WARP


def merge(copies, before, levels, level):
    """Give all copies the point of the one that has moved it farthest; also update ``before``."""
    module = load_module(__package__, "path_sweep.cu", options=COMPILE_OPTIONS[0])
    launch = make_launcher(module, THREADS_PER_BLOCK, BLOCKS_PER_MULTIPROCESSOR)
    n, addresses = len(before), cupy.array([copy.data.ptr for copy in copies], np.uint64)
    launch(
        "merge", n, (addresses, before, np.int32(len(copies)), levels, np.int32(level), np.int64(n))
    )
    cupy.cuda.get_current_stream().synchronize()


def count_workers(n_points):
    """Return the number of workers for a level: with few points, stale reads spoil the layout."""
    return max(min(count_resident_threads(), n_points // POINTS_PER_PAIR_IN_FLIGHT), 1)
