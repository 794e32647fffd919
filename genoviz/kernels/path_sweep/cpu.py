"""Sweeps over paths on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import config, njit, prange

from genoviz.kernels.path_records import find_path, position
from genoviz.kernels.path_sweep import LANE_RECORDS, LANES, SHORTEST_WEIGHED
from genoviz.kernels.splitmix import GOLDEN, fraction, mix

_ONE, _TWO = np.uint64(1), np.uint64(2)
_JOINT = 1e-9
POINTS_PER_WORKER = 256
RECORDS_AT_ONCE = 1 << 23  # a tenth of a second
POINTS_AT_ONCE = 1 << 62  # no limit: paths are swept in order
POINTS_TO_SHARE = 1 << 9  # per device; several devices of a CPU are for tests
SWEEPS_TO_MERGE = 4
_BITS_OF_ONE = np.int64(0x3FF << 52)


@njit(nogil=True, cache=True, inline="always")
def _draw_jump(bits, room):
    # The bits of a float64 are a piecewise linear logarithm: a uniform number between the bits of 1
    # and room + 1 is a log-uniform jump, without exp and log.
    longest = np.float64(room + 1).view(np.int64)
    drawn = _BITS_OF_ONE + np.int64(fraction(bits) * (longest - _BITS_OF_ONE))
    return min(np.int64(np.int64(drawn).view(np.float64)), room)


@njit(nogil=True, cache=True, inline="always")
def _move(points, records, a, b, coin_a, coin_b, eta):
    i = np.int64(records[a, 0]) ^ coin_a
    j = np.int64(records[b, 0]) ^ coin_b
    if i == j:  # a loop to the same point: the distance cannot change
        return
    d = abs(np.float64(position(records, a + coin_a) - position(records, b + coin_b)))
    d = max(d, _JOINT)
    dx = points[i, 0] - points[j, 0]
    dy = points[i, 1] - points[j, 1]
    if dx == 0.0:
        dx = _JOINT
    far, weighed = np.sqrt(dx * dx + dy * dy), max(d, SHORTEST_WEIGHED)
    # min(1, eta / weighed) * (1 - d / far) / 2, with one division
    ratio = 0.5 * min(weighed, eta) * (far - d) / (weighed * far)
    dx *= ratio
    dy *= ratio
    points[i, 0] -= dx
    points[i, 1] -= dy
    points[j, 0] += dx
    points[j, 1] += dy


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep_part(points, paths, strips, jump, eta, seed, has_ends, every, first, stop):
    records, path_starts, block_paths = paths
    strip, turn = LANES * LANE_RECORDS, np.int64(seed % np.uint64(every))
    ends = _ONE if has_ends else np.uint64(0)
    starts, lasts, path_of = np.empty((3, LANES), np.int64)
    # The first strip from `first` on that is due in this sweep.
    first += (turn - first) % every
    for number in range(first, stop, every):
        begin = np.int64(strips[number]) * strip
        behind = min(begin + strip, len(records))
        for lane in range(LANES):
            record = min(begin + lane * LANE_RECORDS, behind - 1)
            path = find_path(record, path_starts, block_paths)
            path_of[lane], starts[lane], lasts[lane] = (
                path,
                path_starts[path],
                path_starts[path + 1] - 2,
            )
        for k in range(min(LANE_RECORDS, behind - begin)):
            for lane in range(LANES):
                record = begin + lane * LANE_RECORDS + k
                if record >= behind:
                    break
                start, last = starts[lane], lasts[lane]
                if record > last:  # the closing record: the next path begins after it
                    path_of[lane] += 1
                    path = min(path_of[lane], len(path_starts) - 2)
                    starts[lane], lasts[lane] = path_starts[path], path_starts[path + 1] - 2
                    continue
                bits = mix(np.uint64(record) * GOLDEN + seed)
                other = record + jump
                if jump == 0:
                    is_back = bits & _ONE != 0
                    room = record - start if is_back else last - record
                    if room == 0:
                        is_back = not is_back
                        room = last - start
                    drawn = _draw_jump(bits, room)
                    other = record - drawn if is_back else record + drawn
                elif other > last:
                    continue
                coin_a = np.int64((bits >> _ONE) & ends)
                coin_b = np.int64((bits >> _TWO) & ends)
                _move(points, records, record, other, coin_a, coin_b, eta)


@njit(nogil=True, cache=True, parallel=True)
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
    for k in range(len(jumps)):
        for worker in prange(n_workers):
            _sweep_part(
                points,
                paths,
                strips,
                jumps[k],
                etas[k],
                seeds[k],
                has_ends,
                every,
                first + (stop - first) * worker // n_workers,
                first + (stop - first) * (worker + 1) // n_workers,
            )


def merge(copies, before, levels, level):
    """Give all copies the point of the one that has moved it farthest; also update ``before``."""
    own = levels >= level
    parts, old = [copy[own] for copy in copies], before[own]
    moved = [((part - old) ** 2).sum(axis=1) for part in parts]
    merged = np.stack(parts)[np.argmax(moved, axis=0), np.arange(len(old))]
    for points in (*copies, before):
        points[own] = merged


def count_workers(n_points):
    """Return the number of workers: one per thread, or one alone if there are few points."""
    return max(min(config.NUMBA_NUM_THREADS, n_points // POINTS_PER_WORKER), 1)


# Compiled with genoviz/kernels/path_records.py, genoviz/kernels/splitmix.py: 3efd01727ca476ec
