"""Views of paths on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import njit, prange

from genoviz.kernels.path_records import BLOCK_BITS, CLOSING, find_path, position
from genoviz.kernels.splitmix import GOLDEN, fraction, mix

BLOCKS_AT_ONCE = 1 << 13  # a fraction of a second


@njit(nogil=True, cache=True)
def _choose_in_block(paths, n_ends, spacing, levels, level, first, stop):
    records, path_starts, block_paths = paths
    path = find_path(first, path_starts, block_paths)
    start, last = path_starts[path], path_starts[path + 1] - 2
    chosen = position(records, first)
    for record in range(first, stop):
        if record > last:  # the closing record
            path += 1
            if path + 1 < len(path_starts):
                start, last, chosen = record + 1, path_starts[path + 1] - 2, np.int64(0)
            continue
        for coin in range(n_ends):
            point = np.int64(records[record, 0]) ^ coin
            here = position(records, record + coin)
            is_first = record == start and coin == 0
            is_last = record == last and coin == n_ends - 1
            if levels[point] >= level or is_first or is_last or here - chosen >= spacing:
                levels[point] = level
                chosen = here


@njit(nogil=True, cache=True, parallel=True)
def choose(paths, has_ends, spacing, levels, level, first_block, stop_block, n_workers):
    """Give a level to points of all paths in ``[first_block, stop_block)``."""
    n_blocks = stop_block - first_block
    for worker in prange(n_workers):
        for block in range(
            first_block + n_blocks * worker // n_workers,
            first_block + n_blocks * (worker + 1) // n_workers,
        ):
            _choose_in_block(
                paths,
                2 if has_ends else 1,
                spacing,
                levels,
                level,
                block << BLOCK_BITS,
                min((block + 1) << BLOCK_BITS, len(paths[0])),
            )


@njit(nogil=True, cache=True, parallel=True)
def count(records, has_ends, levels, level, counts, first_block, stop_block, n_workers):
    """Count the records of a view in each of ``[first_block, stop_block)``."""
    n_ends = 2 if has_ends else 1
    n_blocks = stop_block - first_block
    for worker in prange(n_workers):
        for block in range(
            first_block + n_blocks * worker // n_workers,
            first_block + n_blocks * (worker + 1) // n_workers,
        ):
            n = 0
            for record in range(block << BLOCK_BITS, min((block + 1) << BLOCK_BITS, len(records))):
                handle = np.int64(records[record, 0])
                if handle == CLOSING:
                    n += 1
                    continue
                for coin in range(n_ends):
                    n += levels[handle ^ coin] >= level
            counts[block] = n


@njit(nogil=True, cache=True, parallel=True)
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
    n_workers,
):
    """Write the records of a view from blocks ``[first_block, stop_block)``."""
    records, path_starts, block_paths = paths
    n_ends = 2 if has_ends else 1
    half, n_blocks = records.shape[1] // 2, stop_block - first_block
    for worker in prange(n_workers):
        for block in range(
            first_block + n_blocks * worker // n_workers,
            first_block + n_blocks * (worker + 1) // n_workers,
        ):
            n, path = offsets[block], np.int64(block_paths[block])
            for record in range(block << BLOCK_BITS, min((block + 1) << BLOCK_BITS, len(records))):
                handle = np.int64(records[record, 0])
                is_closing = handle == CLOSING
                for coin in range(1 if is_closing else n_ends):
                    point = handle if is_closing else handle ^ coin
                    if not is_closing and levels[point] < level:
                        continue
                    found[n, 0] = point
                    found[n, 1] = 0
                    for word in range(half, 2 * half):
                        found[n, word] = records[record + coin, word]
                    n += 1
                if is_closing:
                    while path_starts[path + 1] <= record:
                        path += 1
                    found_starts[path + 1] = n


@njit(nogil=True, cache=True)
def count_visits(records, has_ends, stride, n_visits, totals):
    """Count the visits of each point by some records, and pairs of visits of the same point."""
    for record in range(0, len(records), stride):
        handle = np.int64(records[record, 0])
        if handle == CLOSING:
            continue
        point = handle >> 1 if has_ends else handle
        totals[0] += 1
        totals[1] += n_visits[point]
        n_visits[point] += 1


@njit(nogil=True, cache=True, error_model="numpy")
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
    n_workers,
):
    """Place the points of a level between their neighbours of higher levels."""
    found = points, points[:0], points[:0]
    _go_along(found, is_placed, paths, levels, level, has_ends, noise, seed, first, stop, n_workers)


@njit(nogil=True, cache=True, error_model="numpy")
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
    n_workers,
):
    """Write where `place` would put the points of a level, for `follow`."""
    found = shares[:0], links, shares
    _go_along(found, is_placed, paths, levels, level, has_ends, noise, seed, first, stop, n_workers)


@njit(nogil=True, cache=True, parallel=True, error_model="numpy")
def _go_along(
    found,
    is_placed,
    paths,
    levels,
    level,
    has_ends,
    noise,
    seed,
    first,
    stop,
    n_workers,
):
    n = stop - first
    for worker in prange(n_workers):
        _place_part(
            found,
            is_placed,
            paths,
            levels,
            level,
            2 if has_ends else 1,
            noise,
            seed,
            first + n * worker // n_workers,
            first + n * (worker + 1) // n_workers,
        )


@njit(nogil=True, cache=True, error_model="numpy")
def _place_part(found, is_placed, paths, levels, level, n_ends, noise, seed, first, stop):
    if first >= stop:
        return
    records, path_starts, block_paths = paths
    path = find_path(first, path_starts, block_paths)
    # The neighbour of a higher level may be before the beginning of the part.
    before = min(first * n_ends, (path_starts[path + 1] - 1) * n_ends - 1)
    while before > path_starts[path] * n_ends and not _is_above(
        records, levels, level, n_ends, before
    ):
        before -= 1
    k, end = before, stop * n_ends
    while k < end:
        last = (path_starts[path + 1] - 1) * n_ends - 1
        while k < min(last, end):
            after = k + 1
            while not _is_above(records, levels, level, n_ends, after):
                after += 1
            if after - k > 1:
                _place_between(
                    found, is_placed, records, levels, level, n_ends, noise, seed, k, after
                )
            k = after
        k = last + 1 + n_ends  # after the closing record
        path += 1


@njit(nogil=True, cache=True, inline="always")
def _is_above(records, levels, level, n_ends, k):
    return levels[np.int64(records[k // n_ends, 0]) ^ (k % n_ends)] > level


@njit(nogil=True, cache=True, error_model="numpy")
def _place_between(found, is_placed, records, levels, level, n_ends, noise, seed, before, after):
    points, links, shares = found
    a = np.int64(records[before // n_ends, 0]) ^ (before % n_ends)
    b = np.int64(records[after // n_ends, 0]) ^ (after % n_ends)
    begin = position(records, before // n_ends + before % n_ends)
    length = position(records, after // n_ends + after % n_ends) - begin
    for k in range(before + 1, after):
        point = np.int64(records[k // n_ends, 0]) ^ (k % n_ends)
        if levels[point] != level or is_placed[point] != 0:
            continue
        is_placed[point] = 1
        share = (position(records, k // n_ends + k % n_ends) - begin) / max(length, 1)
        width = noise * length * np.sqrt(share * (1.0 - share))
        bits = mix(np.uint64(point) * GOLDEN + seed)
        more = mix(bits + GOLDEN)
        across = 2.0 * fraction(bits) - 1.0
        along = 2.0 * fraction(more) - 1.0
        if len(points) == 0:
            links[point, 0], links[point, 1] = a, b
            shares[point, 0] = share
            shares[point, 1], shares[point, 2] = width * across, width * along
            continue
        points[point, 0] = (1.0 - share) * points[a, 0] + share * points[b, 0] + width * across
        points[point, 1] = (1.0 - share) * points[a, 1] + share * points[b, 1] + width * along


@njit(nogil=True, cache=True, parallel=True)
def follow(points, followers, links, shares, first, stop, n_workers):
    """Place points between those that they are linked to."""
    n = stop - first
    for worker in prange(n_workers):
        for k in range(
            first + n * worker // n_workers,
            first + n * (worker + 1) // n_workers,
        ):
            point = followers[k]
            a, b, share = links[point, 0], links[point, 1], shares[point, 0]
            for axis in range(2):
                between = points[a, axis] + share * (points[b, axis] - points[a, axis])
                points[point, axis] = between + shares[point, 1 + axis]


# Compiled with genoviz/kernels/path_records.py, genoviz/kernels/splitmix.py: 3efd01727ca476ec
