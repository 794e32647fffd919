"""Sorted copies of long arrays, on all cores: NumPy's vectorised sort, one range of values a task.

Values are spread over ranges that follow each other, of about equal size; each range is sorted in
place by a thread. NumPy lets other threads run meanwhile.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import get_num_threads, njit, prange

MIN_PARALLEL = 1 << 17
N_CELLS = 4096
MAX_RANGES = 256
SAMPLE_STEP = 61


@njit(nogil=True, cache=True)
def is_sorted(values):
    """Tell whether no value is smaller than the one before it."""
    for i in range(1, len(values)):
        if values[i] < values[i - 1]:
            return False
    return True


@njit(nogil=True, cache=True)
def _cells_of_sample(values, low, shift):
    cells = np.zeros(N_CELLS, np.int64)
    for i in range(0, len(values), SAMPLE_STEP):
        cells[min(max(np.int64(values[i]) - low, 0) >> shift, N_CELLS - 1)] += 1
    return cells


@njit(nogil=True, cache=True, parallel=True)
def _spread(values, low, shift, range_of_cell, n_ranges, n_chunks, spread):
    """Copy the values range by range; return where each range begins."""
    n = len(values)
    firsts = np.zeros((n_ranges, n_chunks), np.int64)
    for chunk in prange(n_chunks):
        counts = np.zeros(n_ranges, np.int64)
        for i in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            cell = min(max(np.int64(values[i]) - low, 0) >> shift, N_CELLS - 1)
            counts[range_of_cell[cell]] += 1
        firsts[:, chunk] = counts
    bounds = np.zeros(n_ranges + 1, np.int64)
    total = 0
    for r in range(n_ranges):
        bounds[r] = total
        for chunk in range(n_chunks):
            count = firsts[r, chunk]
            firsts[r, chunk] = total
            total += count
    bounds[n_ranges] = total
    for chunk in prange(n_chunks):
        at = firsts[:, chunk].copy()
        for i in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            value = values[i]
            r = range_of_cell[min(max(np.int64(value) - low, 0) >> shift, N_CELLS - 1)]
            spread[at[r]] = value
            at[r] += 1
    return bounds


def sort_arrays(
    arrays: Sequence[np.ndarray], *, spare: Sequence[np.ndarray] = ()
) -> list[np.ndarray]:
    """Return the arrays sorted, and then those that the caller can spare.

    They hold integers from 0 to 2^63 - 1. Those of ``arrays`` are not changed, and are given back
    themselves if they are sorted already; those of ``spare`` may be sorted in place.
    """
    n_kept, arrays = len(arrays), [*arrays, *spare]
    n_threads = get_num_threads()
    copies = list(arrays)
    unsorted = [i for i, array in enumerate(arrays) if not is_sorted(array)]
    tasks = []
    for i in unsorted:
        if n_threads <= len(unsorted) or len(arrays[i]) < MIN_PARALLEL:
            if i < n_kept:
                copies[i] = arrays[i].copy()
            tasks.append(copies[i])
        else:
            copies[i], bounds = _spread_evenly(arrays[i], n_ranges=min(4 * n_threads, MAX_RANGES))
            tasks += np.split(copies[i], bounds[1:-1])
    tasks.sort(key=len, reverse=True)
    if n_threads == 1 or len(tasks) <= 1:
        for task in tasks:
            task.sort()
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(np.ndarray.sort, tasks))
    return copies


def _spread_evenly(array: np.ndarray, n_ranges: int) -> tuple[np.ndarray, np.ndarray]:
    sample = array[::SAMPLE_STEP]
    low, high = int(sample.min()), int(sample.max())
    shift = max((high - low).bit_length() - (N_CELLS.bit_length() - 1), 0)
    cells = _cells_of_sample(array, low, shift)
    before = np.cumsum(cells) - cells
    range_of_cell = np.minimum(before * n_ranges // max(len(sample), 1), n_ranges - 1)
    copy = np.empty_like(array)
    bounds = _spread(
        array, low, shift, range_of_cell.astype(np.uint8), n_ranges, 4 * get_num_threads(), copy
    )
    return copy, bounds
