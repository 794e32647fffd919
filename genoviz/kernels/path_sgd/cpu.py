"""Path-guided SGD on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import config, njit, prange

from genoviz.kernels.path_records import CLOSING, find_path, position
from genoviz.kernels.path_sgd import SHORTEST_WEIGHED, ZETA_STEP
from genoviz.kernels.splitmix import GOLDEN, fraction, mix

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)
_JOINT = 1e-9


@njit(nogil=True, cache=True)
def _zipf(unit, n, zipf):
    zeta, zipf_factor, theta, exact_space = zipf
    index = n if n <= exact_space else exact_space + (n - exact_space) // ZETA_STEP + 1
    scaled = unit * zeta[index]
    if scaled < 1.0:
        return 1
    if scaled < 1.0 + 0.5**theta:
        return 2
    factor = zipf_factor[index]
    jump = 1 + np.int64(n * np.exp(np.log(factor * unit - factor + 1.0) / (1.0 - theta)))
    return min(jump, n)


@njit(nogil=True, cache=True, inline="always")
def _update(points, records, a, b, coins, eta):
    coin_a, coin_b = np.int64(coins & _ONE), np.int64((coins >> _ONE) & _ONE)
    i = np.int64(records[a, 0]) ^ coin_a
    j = np.int64(records[b, 0]) ^ coin_b
    d = abs(np.float64(position(records, a + coin_a) - position(records, b + coin_b)))
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
def _make_updates(points, paths, zipf, space, eta, is_cooling, n_updates, state, window):
    records, path_starts, block_paths = paths
    n_records = len(records)
    n_done = 0
    while n_done < n_updates:
        state += GOLDEN
        drawn = np.int64(fraction(mix(state)) * n_records)
        if records[drawn, 0] == CLOSING:
            continue
        path = find_path(drawn, path_starts, block_paths)
        first = path_starts[path]
        last = path_starts[path + 1] - 2
        state += GOLDEN
        bits = mix(state)
        unit = fraction(bits)
        if is_cooling or bits & _ONE:
            forward = drawn == first or (drawn != last and bits & _TWO != 0)
            reach = last - drawn if forward else drawn - first
            jump = _zipf(unit, min(space, reach), zipf)
        else:
            partner = first + np.int64(unit * (last - first + 1))
            if partner == drawn:
                continue
            forward = partner > drawn
            jump = abs(partner - drawn)
        side = 1 if forward else -1
        state += GOLDEN
        coins = mix(state)
        a = drawn
        left_in_run = jump
        for _ in range(window):
            if a < first or a > last:
                break
            _update(points, records, a, a + side * jump, coins, eta)
            coins >>= _TWO
            n_done += 1
            a -= side
            left_in_run -= 1
            if left_in_run == 0:
                left_in_run = jump
                a -= side * jump
    return n_done, state


@njit(nogil=True, cache=True, parallel=True)
def make_updates(points, paths, zipf, space, eta, is_cooling, n_updates, states, window):
    """Make about ``n_updates`` updates with one thread per state; return the number made."""
    n_workers = len(states)
    n_done = np.zeros(n_workers, np.int64)
    for worker in prange(n_workers):
        share = n_updates * (worker + 1) // n_workers - n_updates * worker // n_workers
        n_done[worker], states[worker] = _make_updates(
            points, paths, zipf, space, eta, is_cooling, share, states[worker], window
        )
    return n_done.sum()


def count_workers(n_nodes, window):  # noqa: ARG001 - the GPU's depends on both
    """Return the number of workers: one per thread."""
    return config.NUMBA_NUM_THREADS


# Compiled with genoviz/kernels/path_records.py, genoviz/kernels/splitmix.py: 3efd01727ca476ec
