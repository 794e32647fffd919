"""Sweeps over paths on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import config, njit, prange

from genoviz.kernels.path_sweep import BLOCK_BITS, SHORTEST_WEIGHED

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_UNIT = 2.0**-53
_JOINT = 1e-9


@njit(nogil=True, cache=True, inline="always")
def _mix(state):
    state = (state ^ (state >> _S30)) * _MIX_1
    state = (state ^ (state >> _S27)) * _MIX_2
    return state ^ (state >> _S31)


@njit(nogil=True, cache=True, inline="always")
def _position(records, record):
    # Of four words, the last two are the position; of two, the mask takes the high one away.
    n_words = records.shape[1]
    low, high = records[record, n_words >> 1], records[record, n_words - 1]
    return np.int64(low) | (np.int64(high) & -(np.int64(n_words) >> 2)) << 32


@njit(nogil=True, cache=True, inline="always")
def _move(points, records, a, b, coin_a, coin_b, eta):
    i = np.int64(records[a, 0]) ^ coin_a
    j = np.int64(records[b, 0]) ^ coin_b
    if i == j:  # a loop comes back to its point, which is as far from itself as it can be
        return
    d = abs(np.float64(_position(records, a + coin_a) - _position(records, b + coin_b)))
    d = max(d, _JOINT)
    dx = points[i, 0] - points[j, 0]
    dy = points[i, 1] - points[j, 1]
    if dx == 0.0:
        dx = _JOINT
    ratio = min(1.0, eta / max(d, SHORTEST_WEIGHED)) * 0.5 * (1.0 - d / np.sqrt(dx * dx + dy * dy))
    dx *= ratio
    dy *= ratio
    points[i, 0] -= dx
    points[i, 1] -= dy
    points[j, 0] += dx
    points[j, 1] += dy


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep_part(points, records, path_starts, block_paths, jump, eta, has_ends, first, stop, seed):
    if first >= stop:
        return
    ends = _ONE if has_ends else np.uint64(0)
    path = block_paths[first >> BLOCK_BITS]
    record = first
    while record < stop:
        while path_starts[path + 1] <= record:
            path += 1
        start = path_starts[path]
        last = path_starts[path + 1] - 2
        part = min(stop - 1, last - jump)
        while record <= part:
            bits = _mix(np.uint64(record) * _GOLDEN + seed)
            other = record + jump
            if jump == 0:
                is_back = bits & _ONE != 0
                room = record - start if is_back else last - record
                if room == 0:
                    is_back = not is_back
                    room = last - start
                unit = np.float64(bits >> _S11) * _UNIT
                drawn = min(np.int64(np.exp(unit * np.log(room + 1.0))), room)
                other = record - drawn if is_back else record + drawn
            coin_a = np.int64((bits >> _ONE) & ends)
            coin_b = np.int64((bits >> _TWO) & ends)
            _move(points, records, record, other, coin_a, coin_b, eta)
            record += 1
        record = last + 2


@njit(nogil=True, cache=True, parallel=True)
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
    n = stop - first
    for worker in prange(n_workers):
        _sweep_part(
            points,
            records,
            path_starts,
            block_paths,
            jump,
            eta,
            has_ends,
            first + n * worker // n_workers,
            first + n * (worker + 1) // n_workers,
            seed,
        )


@njit(nogil=True, cache=True, error_model="numpy")
def place(
    points,
    is_placed,
    records,
    path_starts,
    block_paths,  # noqa: ARG001 - the GPU finds a record's path by it
    levels,
    level,
    has_ends,
    noise,
    seed,
    first_path,
    stop_path,
):
    """Put the points of a level between their neighbours of the levels above."""
    n_ends = 2 if has_ends else 1
    for path in range(first_path, stop_path):
        start, last = path_starts[path], path_starts[path + 1] - 2
        before = -1
        for k in range(start * n_ends, (last + 1) * n_ends):
            record, coin = k // n_ends, k % n_ends
            if levels[np.int64(records[record, 0]) ^ coin] <= level:
                continue
            if before >= 0 and k - before > 1:
                _place_between(
                    points, is_placed, records, levels, level, n_ends, noise, seed, before, k
                )
            before = k


@njit(nogil=True, cache=True, error_model="numpy")
def _place_between(points, is_placed, records, levels, level, n_ends, noise, seed, before, after):
    a = np.int64(records[before // n_ends, 0]) ^ (before % n_ends)
    b = np.int64(records[after // n_ends, 0]) ^ (after % n_ends)
    begin = _position(records, before // n_ends + before % n_ends)
    length = _position(records, after // n_ends + after % n_ends) - begin
    for k in range(before + 1, after):
        point = np.int64(records[k // n_ends, 0]) ^ (k % n_ends)
        if levels[point] != level or is_placed[point] != 0:
            continue
        is_placed[point] = 1
        share = (_position(records, k // n_ends + k % n_ends) - begin) / max(length, 1)
        width = noise * length * np.sqrt(share * (1.0 - share))
        bits = _mix(np.uint64(point) * _GOLDEN + seed)
        more = _mix(bits + _GOLDEN)
        across = 2.0 * np.float64(bits >> _S11) * _UNIT - 1.0
        along = 2.0 * np.float64(more >> _S11) * _UNIT - 1.0
        points[point, 0] = (1.0 - share) * points[a, 0] + share * points[b, 0] + width * across
        points[point, 1] = (1.0 - share) * points[a, 1] + share * points[b, 1] + width * along


def count_workers(n_points):  # noqa: ARG001 - the GPU's depends on it
    """Return how many workers to run: one a thread."""
    return config.NUMBA_NUM_THREADS
