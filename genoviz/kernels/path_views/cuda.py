"""Views of paths on one GPU; the contract is in this folder's ``__init__``.

Arrays are CuPy arrays. A call returns when its work is done.
"""

from __future__ import annotations

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, load_module

THREADS_PER_BLOCK = 256
BLOCKS_PER_MULTIPROCESSOR = 8
WARP = 32
BLOCKS_AT_ONCE = 1 << 18  # some milliseconds
COMPILE_OPTIONS = (("-DPOSITION=unsigned int",), ("-DPOSITION=long long",))


def _kernel(name, records):
    options = COMPILE_OPTIONS[0 if records.shape[1] == 2 else 1]
    return load_module(__package__, "path_views.cu", options=options).get_function(name)


def _n_blocks(n_threads, per_block):
    return max(-(-n_threads // per_block), 1)


def choose(
    paths,
    has_ends,
    spacing,
    levels,
    level,
    first_block,
    stop_block,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Give a level to points of all paths in ``[first_block, stop_block)``."""
    records, _, _ = paths
    _kernel("choose", records)(
        (_n_blocks((stop_block - first_block) * WARP, THREADS_PER_BLOCK),),
        (THREADS_PER_BLOCK,),
        (
            records,
            np.int64(len(records)),
            np.int32(2 if has_ends else 1),
            np.float64(spacing),
            levels,
            np.int32(level),
            np.int64(first_block),
            np.int64(stop_block),
        ),
    )
    cupy.cuda.get_current_stream().synchronize()


def count(
    records,
    has_ends,
    levels,
    level,
    counts,
    first_block,
    stop_block,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Count the records of a view in each of ``[first_block, stop_block)``."""
    _kernel("count", records)(
        (_n_blocks((stop_block - first_block) * WARP, THREADS_PER_BLOCK),),
        (THREADS_PER_BLOCK,),
        (
            records,
            np.int64(len(records)),
            np.int32(2 if has_ends else 1),
            levels,
            np.int32(level),
            counts,
            np.int64(first_block),
            np.int64(stop_block),
        ),
    )
    cupy.cuda.get_current_stream().synchronize()


def fill(
    found,
    found_starts,
    paths,
    has_ends,
    levels,
    level,
    offsets,
    first_block,
    stop_block,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Write the records of a view from blocks ``[first_block, stop_block)``."""
    records, path_starts, block_paths = paths
    _kernel("fill", records)(
        (_n_blocks((stop_block - first_block) * WARP, THREADS_PER_BLOCK),),
        (THREADS_PER_BLOCK,),
        (
            found,
            found_starts,
            records,
            np.int64(len(records)),
            path_starts,
            block_paths,
            np.int32(2 if has_ends else 1),
            levels,
            np.int32(level),
            offsets,
            np.int64(first_block),
            np.int64(stop_block),
        ),
    )
    cupy.cuda.get_current_stream().synchronize()


def count_visits(records, has_ends, stride, n_visits, totals):
    """Count the visits of each point by some records, and pairs of visits of the same point."""
    n_records = -(-len(records) // stride)
    _kernel("count_visits", records)(
        (_n_striding_blocks(n_records),),
        (THREADS_PER_BLOCK,),
        (
            records,
            np.int64(len(records)),
            np.int32(1 if has_ends else 0),
            np.int64(stride),
            n_visits,
            totals,
        ),
    )
    cupy.cuda.get_current_stream().synchronize()


def place(
    points,
    is_placed,
    paths,
    levels,
    level,
    has_ends,
    noise,
    seed,
    first,
    stop,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Place the points of a level between their neighbours of higher levels."""
    _go_along(
        "place", (points,), is_placed, paths, levels, level, has_ends, noise, seed, first, stop
    )


def link(
    links,
    shares,
    is_placed,
    paths,
    levels,
    level,
    has_ends,
    noise,
    seed,
    first,
    stop,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Write where `place` would put the points of a level, for `follow`."""
    _go_along(
        "link", (links, shares), is_placed, paths, levels, level, has_ends, noise, seed, first, stop
    )


def _go_along(name, found, is_placed, paths, levels, level, has_ends, noise, seed, first, stop):
    records, _, _ = paths
    _kernel(name, records)(
        (_n_striding_blocks(stop - first),),
        (THREADS_PER_BLOCK,),
        (
            *found,
            is_placed,
            records,
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


def follow(
    points,
    followers,
    links,
    shares,
    first,
    stop,
    n_workers,  # noqa: ARG001 - the CPU's
):
    """Place points between those that they are linked to."""
    module = load_module(__package__, "path_views.cu", options=COMPILE_OPTIONS[0])
    module.get_function("follow")(
        (_n_striding_blocks(stop - first),),
        (THREADS_PER_BLOCK,),
        (points, followers, links, shares, np.int64(first), np.int64(stop)),
    )
    cupy.cuda.get_current_stream().synchronize()


def _n_striding_blocks(n_items):
    n_maximum = card_attribute("MultiProcessorCount") * BLOCKS_PER_MULTIPROCESSOR
    return max(min(-(-n_items // THREADS_PER_BLOCK), n_maximum), 1)
