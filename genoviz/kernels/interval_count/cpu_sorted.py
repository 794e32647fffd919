"""Sort starts and ends on all cores, and sweep over them to measure what they cover.

Sorting: values are distributed to consecutive ranges of about equal size. A thread sorts each range
in place with NumPy's vectorised sort, which releases the GIL.

Covering: ``starts`` and ``ends`` are sorted separately, without empty intervals. The sum of depths
before x is ``sum(x - start for starts below x) - sum(x - end for ends below x)``. A covered stretch
ends where as many intervals have ended as have begun.
"""

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.generators import finish
from genoviz.kernels.interval_count import MAX_PACKED_BITS, packed_bits
from genoviz.kernels.sorted_keys import count_below, sum_of_first

MIN_PARALLEL = 1 << 17
N_CELLS = 4096
MAX_RANGES = 256
SAMPLE_STEP = 61
CHUNK = 1 << 15


@njit(nogil=True, cache=True)
def is_sorted(values):
    """Return whether no value is smaller than the one before it."""
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


@njit(nogil=True, cache=True, inline="always")
def _chunk(n, chunk, n_chunks):
    return n * chunk // n_chunks, n * (chunk + 1) // n_chunks


@njit(nogil=True, cache=True)
def _count_values(values, low, shift, range_of_cell, first, stop, counts):
    for i in range(first, stop):
        cell = min(max(np.int64(values[i]) - low, 0) >> shift, N_CELLS - 1)
        counts[range_of_cell[cell]] += 1


@njit(nogil=True, cache=True)
def _copy_values(values, low, shift, range_of_cell, first, stop, at, spread):
    for i in range(first, stop):
        value = values[i]
        r = range_of_cell[min(max(np.int64(value) - low, 0) >> shift, N_CELLS - 1)]
        spread[at[r]] = value
        at[r] += 1


# The work of a thread is a separate function: Numba compiles a `prange` of calls a third faster.
@njit(nogil=True, cache=True, parallel=True)
def _spread(values, low, shift, range_of_cell, places, bounds, spread):
    """Distribute the values to ranges; store the beginning of each range.

    ``places`` has an item for each thread's chunk and range, and is zero at first.
    """
    n, n_chunks = len(values), len(places)
    for chunk in prange(n_chunks):
        first, stop = _chunk(n, chunk, n_chunks)
        _count_values(values, low, shift, range_of_cell, first, stop, places[chunk])
    total = 0
    for r in range(len(bounds) - 1):
        bounds[r] = total
        for chunk in range(n_chunks):
            count = places[chunk, r]
            places[chunk, r] = total
            total += count
    bounds[-1] = total
    for chunk in prange(n_chunks):
        first, stop = _chunk(n, chunk, n_chunks)
        _copy_values(values, low, shift, range_of_cell, first, stop, places[chunk], spread)


def sort_arrays(
    arrays: Sequence[np.ndarray], *, spare: Sequence[np.ndarray] = ()
) -> list[np.ndarray]:
    """As `iter_sort_arrays`, without progress."""
    return finish(iter_sort_arrays(arrays, n_total=0, spare=spare))


def iter_sort_arrays(
    arrays: Sequence[np.ndarray], *, n_total: int, spare: Sequence[np.ndarray] = ()
) -> Generator[tuple[int, int], None, list[np.ndarray]]:
    """Return the sorted arrays, first ``arrays``, then ``spare``.

    Yields the number of values sorted, and ``n_total``, the caller's total. Values are integers
    from 0 to 2^63 - 1. ``arrays`` are not changed, and are returned themselves if already sorted;
    ``spare`` may be sorted in place.
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
    n_done = sum(map(len, arrays)) - sum(map(len, tasks))
    if n_threads == 1 or len(tasks) <= 1:
        for task in tasks:
            task.sort()
            n_done += len(task)
            yield n_done, n_total
        return copies
    with ThreadPoolExecutor(n_threads) as pool:
        sizes = {pool.submit(np.ndarray.sort, task): len(task) for task in tasks}
        for future in as_completed(sizes):
            future.result()
            n_done += sizes[future]
            yield n_done, n_total
    return copies


def _spread_evenly(array: np.ndarray, n_ranges: int) -> tuple[np.ndarray, np.ndarray]:
    sample = array[::SAMPLE_STEP]
    low, high = int(sample.min()), int(sample.max())
    shift = max((high - low).bit_length() - (N_CELLS.bit_length() - 1), 0)
    cells = _cells_of_sample(array, low, shift)
    before = np.cumsum(cells) - cells
    range_of_cell = np.minimum(before * n_ranges // max(len(sample), 1), n_ranges - 1)
    copy = np.empty_like(array)
    places = np.zeros((4 * get_num_threads(), n_ranges), np.int64)
    bounds = np.empty(n_ranges + 1, np.int64)
    _spread(array, low, shift, range_of_cell.astype(np.uint8), places, bounds, copy)
    return copy, bounds


def order_of(keys: np.ndarray) -> np.ndarray:
    """Return the stable argsort of the keys; int64."""
    n = len(keys)
    if n == 0 or is_sorted(keys):
        return np.arange(n)
    if packed_bits(int(keys.max()), n, 0) > MAX_PACKED_BITS:
        return np.argsort(keys, kind="stable")
    bits = np.uint64(n.bit_length())
    packed = keys.astype(np.uint64) << bits | np.arange(n, dtype=np.uint64)
    (packed,) = sort_arrays([], spare=[packed])
    return (packed & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)


@njit(nogil=True, cache=True, parallel=True)
def sum_before(
    starts,
    ends,
    start_sums,
    end_sums,
    covered_starts,
    covered_ends,
    covered_sums,
    values,
    order,
    sums,
):
    """Store the sum of depths and the number of covered bases before some of the values.

    ``sums`` is int64, shape (2, n_values). ``order`` has the numbers of those values, in their
    ascending order. ``covered_sums`` are the bases covered before each covered stretch, and finally
    those of all.
    """
    n, n_starts, n_ends, n_covered = len(order), len(starts), len(ends), len(covered_starts)
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        first = chunk * CHUNK
        value = np.int64(values[order[first]])
        i, j = count_below(starts, value), count_below(ends, value)
        k = count_below(covered_starts, value)
        total = sum_of_first(starts, start_sums, i) - sum_of_first(ends, end_sums, j)
        for rank in range(first, min(first + CHUNK, n)):
            number = order[rank]
            value = np.int64(values[number])
            while i < n_starts and np.int64(starts[i]) < value:
                total += np.int64(starts[i])
                i += 1
            while j < n_ends and np.int64(ends[j]) < value:
                total -= np.int64(ends[j])
                j += 1
            while k < n_covered and covered_starts[k] < value:
                k += 1
            sums[0, number] = (i - j) * value - total
            if k > 0:
                inside = min(value, covered_ends[k - 1]) - covered_starts[k - 1]
                sums[1, number] = covered_sums[k - 1] + inside


@njit(nogil=True, cache=True)
def find_covered(starts, ends):
    """Return the stretches of depth above 0: starts and ends, int64. Some may touch."""
    n = len(starts)
    covered = np.empty((2, n), np.int64)
    n_covered, i = 0, 0
    for j in range(n):
        while i < n and np.int64(starts[i]) < np.int64(ends[j]):
            if i == j:
                covered[0, n_covered] = np.int64(starts[i])
            i += 1
        if i == j + 1:
            covered[1, n_covered] = np.int64(ends[j])
            n_covered += 1
    return covered[0, :n_covered].copy(), covered[1, :n_covered].copy()


# Compiled with genoviz/kernels/sorted_keys.py: a27e01ef7d3a0f32
