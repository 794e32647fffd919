"""Interval counts on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.generators import finish
from genoviz.kernels.interval_count import MAX_PACKED_BITS, packed_bits
from genoviz.kernels.interval_count.cpu_sorted import (
    CHUNK,
    find_covered,
    is_sorted,
    iter_sort_arrays,
    order_of,
    sum_before,
)
from genoviz.kernels.interval_count.cpu_sorted import sort_arrays as sort_arrays  # see contract
from genoviz.kernels.sorted_keys import block_sums, lower_bound

GROUP = 64
GROUPS_PER_BLOCK = 64
BLOCK = GROUP * GROUPS_PER_BLOCK
BLOCKS_PER_THREAD = 8
SCAN = 16
FEW_QUERIES = 8
DENSE_SPAN = 1 << 22
SLICE = 1 << 22
COVER_SLICE = 128 * CHUNK


def count_overlaps(query_starts, query_ends, starts, ends, method):
    """Return how many subjects each query overlaps."""
    return finish(iter_count_overlaps(query_starts, query_ends, starts, ends, method))


def iter_count_overlaps(query_starts, query_ends, starts, ends, method):
    """As `count_overlaps`; yield the amounts of work done and in all."""
    n, m = len(query_starts), len(starts)
    counts = np.zeros(n, np.int32 if m < 2**31 else np.int64)
    if n == 0 or m == 0:
        return counts
    if method == "auto":
        method = _fastest_method(query_starts, query_ends, starts, ends)
    functions = {"sweep": _count_by_sweep, "merge": _count_by_merge, "search": _count_by_search}
    yield from functions[method](query_starts, query_ends, starts, ends, counts)
    return counts


def measure_cover(query_starts, query_ends, starts, ends):
    """Return the bases of all subjects inside each query, and those covered by at least one."""
    return finish(iter_measure_cover(query_starts, query_ends, starts, ends))


def iter_measure_cover(query_starts, query_ends, starts, ends):
    """As `measure_cover`; yield the amounts of work done and in all."""
    n, n_keys = len(query_starts), len(starts) + len(ends)
    starts, ends = yield from iter_sort_arrays([starts, ends], n_total=n_keys + 2 * n)
    stretches = find_covered(starts, ends)
    prepared = (
        starts,
        ends,
        block_sums(starts),
        block_sums(ends),
        *stretches,
        np.concatenate([[0], np.cumsum(stretches[1] - stretches[0])]),
    )
    before = np.zeros((2, 2, n), np.int64)
    for sums, edges, n_done in zip(before, (query_starts, query_ends), (0, n), strict=True):
        order = order_of(edges)
        for first in range(0, n, COVER_SLICE):
            sum_before(*prepared, edges, order[first : first + COVER_SLICE], sums)
            yield n_keys + n_done + min(first + COVER_SLICE, n), n_keys + 2 * n
    return before[1] - before[0]


def _fastest_method(query_starts, query_ends, starts, ends):
    n, m = len(query_starts), len(starts)
    if n * FEW_QUERIES < m or n < BLOCK or is_sorted(query_starts) or _is_dense(starts, ends):
        return "search"
    top = max(int(query_ends.max()), int(ends.max()))
    return "merge" if packed_bits(top, n, m) <= MAX_PACKED_BITS else "search"


def _n_blocks(n):
    return min(BLOCKS_PER_THREAD * get_num_threads(), -(-n // BLOCK))


# The sweep ----------------------------------------------------------------------------------------


def _count_by_sweep(query_starts, query_ends, starts, ends, counts):
    n, m = len(query_starts), len(starts)
    owner_bits = np.uint64((n + m).bit_length())
    endpoints = np.empty(2 * (n + m), np.uint64)
    _pack_endpoints(query_starts, query_ends, owner_bits, 0, endpoints[: 2 * n])
    _pack_endpoints(starts, ends, owner_bits, n, endpoints[2 * n :])
    (endpoints,) = yield from iter_sort_arrays([], n_total=2 * len(endpoints), spare=[endpoints])
    started, ended = np.empty_like(counts), np.empty_like(counts)
    _sweep(endpoints, owner_bits, n, _n_blocks(len(endpoints)), started, ended)
    np.subtract(started, ended, out=counts)


@njit(nogil=True, cache=True, parallel=True)
def _pack_endpoints(starts, ends, owner_bits, first_owner, endpoints):
    one = np.uint64(1)
    for i in prange(len(starts)):
        owner = np.uint64(first_owner + i)
        endpoints[2 * i] = (np.uint64(starts[i]) << one | one) << owner_bits | owner
        endpoints[2 * i + 1] = np.uint64(ends[i]) << one << owner_bits | owner


@njit(nogil=True, cache=True, parallel=True)
def _sweep(endpoints, owner_bits, n_queries, n_blocks, started, ended):
    n = len(endpoints)
    owner_mask = (np.uint64(1) << owner_bits) - np.uint64(1)
    totals = np.zeros((n_blocks + 1, 2), np.int64)
    for block in prange(n_blocks):
        n_started, n_ended = 0, 0
        for k in range(n * block // n_blocks, n * (block + 1) // n_blocks):
            if np.int64(endpoints[k] & owner_mask) >= n_queries:
                is_start = np.int64(endpoints[k] >> owner_bits) & 1
                n_started += is_start
                n_ended += 1 - is_start
        totals[block + 1, 0] = n_started
        totals[block + 1, 1] = n_ended
    for block in range(n_blocks):
        for kind in range(2):
            totals[block + 1, kind] += totals[block, kind]
    for block in prange(n_blocks):
        n_started, n_ended = totals[block, 0], totals[block, 1]
        for k in range(n * block // n_blocks, n * (block + 1) // n_blocks):
            owner = np.int64(endpoints[k] & owner_mask)
            is_start = np.int64(endpoints[k] >> owner_bits) & 1
            if owner >= n_queries:
                n_started += is_start
                n_ended += 1 - is_start
            elif is_start:
                ended[owner] = n_ended
            else:
                started[owner] = n_started


# Merging ------------------------------------------------------------------------------------------


def _count_by_merge(query_starts, query_ends, starts, ends, counts):
    n = len(query_starts)
    number_bits = np.uint64(n.bit_length())
    packed = np.empty((2, n), np.uint64)
    _pack(query_ends, number_bits, packed[0])
    _pack(query_starts, number_bits, packed[1])
    n_sorted = 2 * (n + len(starts))
    sorted_starts, sorted_ends, by_end, by_start = yield from iter_sort_arrays(
        [starts, ends], n_total=n_sorted + 2 * n, spare=packed
    )
    ended = np.empty_like(counts)
    for first in range(0, n, SLICE):
        ends_here, starts_here = by_end[first : first + SLICE], by_start[first : first + SLICE]
        n_blocks = _n_blocks(len(ends_here))
        _merge(ends_here, number_bits, sorted_starts, 0, n_blocks, counts)
        _merge(starts_here, number_bits, sorted_ends, 1, n_blocks, ended)
        yield n_sorted + 2 * (first + len(ends_here)), n_sorted + 2 * n
    counts -= ended


@njit(nogil=True, cache=True, parallel=True)
def _pack(values, number_bits, packed):
    for i in prange(len(values)):
        packed[i] = np.uint64(values[i]) << number_bits | np.uint64(i)


@njit(nogil=True, cache=True, parallel=True)
def _merge(packed, number_bits, keys, step, n_blocks, ranks):
    """Store for each query the number of keys below its value + step."""
    n, m = len(packed), len(keys)
    number_mask = (np.uint64(1) << number_bits) - np.uint64(1)
    for block in prange(n_blocks):
        first, last = n * block // n_blocks, n * (block + 1) // n_blocks
        k = lower_bound(keys, 0, m, np.int64(packed[first] >> number_bits) + step)
        for i in range(first, last):
            value = np.int64(packed[i] >> number_bits) + step
            while k < m and np.int64(keys[k]) < value:
                k += 1
            ranks[np.int64(packed[i] & number_mask)] = k


# Looking up ---------------------------------------------------------------------------------------


def _count_by_search(query_starts, query_ends, starts, ends, counts):
    n, n_sorted = len(query_starts), 2 * len(starts)
    if _is_dense(starts, ends):
        keys, make_table = (starts, ends), _make_dense_table
    else:
        keys = yield from iter_sort_arrays([starts, ends], n_total=n_sorted + 2 * n)
        make_table = _make_table
    for step, values in enumerate((query_ends, query_starts)):
        low, shift, table = make_table(keys[step], counts.dtype)
        for first in range(0, n, SLICE):
            part = slice(first, first + SLICE)
            _look_up(values[part], step, keys[step], low, shift, table, step == 1, counts[part])
            yield n_sorted + step * n + min(first + SLICE, n), n_sorted + 2 * n


def _is_dense(starts, ends):
    """Return whether a table with a cell for each coordinate fits in the cache."""
    return int(ends.max()) - int(starts.min()) < min(DENSE_SPAN, 4 * len(starts))


def _make_dense_table(keys, dtype):
    """Return the result of `_make_table` for cells of one coordinate; keys may be unsorted."""
    low, high = int(keys.min()), int(keys.max())
    table = np.empty(high - low + 3, dtype)
    table[-2:] = len(keys)
    _count_cells(keys, low, get_num_threads(), table[:-2])
    return low, 0, table


@njit(nogil=True, cache=True, parallel=True)
def _count_cells(keys, low, n_parts, table):
    """Store in each cell the number of keys below it."""
    n, n_cells = len(keys), len(table)
    counts = np.zeros((n_parts, n_cells), table.dtype)
    for part in prange(n_parts):
        for i in range(n * part // n_parts, n * (part + 1) // n_parts):
            counts[part, np.int64(keys[i]) - low] += 1
    total = 0
    for cell in range(n_cells):
        table[cell] = total
        for part in range(n_parts):
            total += counts[part, cell]


def _make_table(keys, dtype):
    """Return the first coordinate, log2 of the width, and the table of the cells of keys.

    The table has the number of keys before each cell, and then twice the number of all.
    """
    low, high = int(keys[0]), int(keys[-1])
    shift = max((high - low).bit_length() - len(keys).bit_length(), 0)
    table = np.empty(((high - low) >> shift) + 3, dtype)
    table[-2:] = len(keys)
    _fill_table(keys, low, shift, table[:-2], BLOCKS_PER_THREAD * get_num_threads())
    return low, shift, table


@njit(nogil=True, cache=True, parallel=True)
def _fill_table(keys, low, shift, table, n_blocks):
    n_cells, m = len(table), len(keys)
    for block in prange(n_blocks):
        first, last = n_cells * block // n_blocks, n_cells * (block + 1) // n_blocks
        k = lower_bound(keys, 0, m, low + (first << shift))
        for cell in range(first, last):
            value = low + (cell << shift)
            while k < m and np.int64(keys[k]) < value:
                k += 1
            table[cell] = k


@njit(nogil=True, cache=True, parallel=True)
def _look_up(values, step, keys, low, shift, table, is_subtracted, counts):
    """Add to or subtract from the counts the number of keys below each value + step.

    Values are processed in groups: first all table reads, then all first keys, so that cache misses
    overlap.
    """
    n, last_cell, last_key = len(values), len(table) - 2, len(keys) - 1
    for block in prange((n + BLOCK - 1) // BLOCK):
        firsts = np.empty(GROUP, np.int64)
        lasts = np.empty(GROUP, np.int64)
        touched = np.int64(0)
        for group in range(block * BLOCK, min(n, (block + 1) * BLOCK), GROUP):
            n_values = min(GROUP, n - group)
            for j in range(n_values):
                cell = max(np.int64(values[group + j]) + step - low, 0) >> shift
                cell = min(cell, last_cell)
                firsts[j] = table[cell]
                lasts[j] = table[cell + 1] if shift > 0 else firsts[j]
            for j in range(n_values if shift > 0 else 0):
                touched |= np.int64(keys[min(firsts[j], last_key)])
            for j in range(n_values):
                value = np.int64(values[group + j]) + step
                k, last = firsts[j], lasts[j]
                if last - k > SCAN:
                    k = lower_bound(keys, k, last, value)
                while k < last and np.int64(keys[k]) < value:
                    k += 1
                if is_subtracted:
                    counts[group + j] -= k
                else:
                    counts[group + j] = k
        if touched < 0:
            counts[0] = 0


# Compiled with genoviz/kernels/sorted_keys.py: a27e01ef7d3a0f32
