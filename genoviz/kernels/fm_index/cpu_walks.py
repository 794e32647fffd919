"""Walks over the rows of an FM-index: extend k-mers, with branches, and invert the BWT.

The contract is in this folder's ``__init__``. Many walks advance one step at a time. Each walk
prefetches the memory of its next step, so that cache misses overlap.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.fm_index.cpu_lines import (
    FOUR,
    LINE_BITS,
    LINE_WORDS,
    ZERO,
    n_exceptions_before,
    next_row,
    symbol_of_row,
)
from genoviz.kernels.instructions import prefetch

BATCH = 128
WALKS = 256
BLOCK = 4096


@njit(nogil=True, cache=True)
def extend_few_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
    """Extend branches on one thread; see ``extend_branches`` of the contract."""
    for begin in range(0, len(branch_kmers), BATCH):
        end = min(len(branch_kmers), begin + BATCH)
        _extend_batch(index, start_table, kmers, branch_kmers, branch_ranges, begin, end, branches)


@njit(nogil=True, cache=True, parallel=True)
def extend_many_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
    """Extend branches on all threads."""
    n = len(branch_kmers)
    for batch in prange((n + BATCH - 1) // BATCH):
        begin, end = batch * BATCH, min(n, (batch + 1) * BATCH)
        _extend_batch(index, start_table, kmers, branch_kmers, branch_ranges, begin, end, branches)


@njit(nogil=True, cache=True)
def _extend_batch(index, start_table, kmers, branch_kmers, branch_ranges, begin, end, branches):
    lines, super_counts, super_shift = index
    sets, set_ends, n_taken, n_wanted = kmers
    firsts, lasts = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    places, n_left = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    numbers = np.empty(BATCH, np.int64)
    n_active = 0
    for number in range(begin, end):
        for symbol in range(4):
            branches[number, symbol, 0] = 0
            branches[number, symbol, 1] = 0
        kmer = branch_kmers[number]
        first, last = np.uint64(branch_ranges[number, 0]), np.uint64(branch_ranges[number, 1])
        taken = n_taken[kmer]
        if taken == 0:
            first, last, taken = _start(start_table, sets, set_ends[kmer], n_wanted[kmer] - 1, last)
        if first < last:
            prefetch(lines, (first >> LINE_BITS) * LINE_WORDS)
            prefetch(lines, (last >> LINE_BITS) * LINE_WORDS)
            firsts[n_active], lasts[n_active] = first, last
            places[n_active] = set_ends[kmer] - 1 - taken
            n_left[n_active], numbers[n_active] = n_wanted[kmer] - taken, number
            n_active += 1
    while n_active > 0:
        i = 0
        while i < n_active:
            first, last, bases = firsts[i], lasts[i], sets[places[i]]
            is_end = n_left[i] == 1
            above, below = ZERO, ZERO
            for symbol in range(4):
                if bases >> symbol & 1:
                    c = np.uint64(symbol)
                    above = next_row(lines, super_counts, super_shift, c, first)
                    below = next_row(lines, super_counts, super_shift, c, last)
                    if is_end and above < below:
                        branches[numbers[i], symbol, 0] = above
                        branches[numbers[i], symbol, 1] = below
            if not is_end and above < below:
                prefetch(lines, (above >> LINE_BITS) * LINE_WORDS)
                prefetch(lines, (below >> LINE_BITS) * LINE_WORDS)
                firsts[i], lasts[i] = above, below
                places[i] -= 1
                n_left[i] -= 1
                i += 1
                continue
            n_active -= 1
            firsts[i], lasts[i] = firsts[n_active], lasts[n_active]
            places[i], n_left[i] = places[n_active], n_left[n_active]
            numbers[i] = numbers[n_active]


@njit(nogil=True, cache=True)
def _start(start_table, sets, end, n_single, n_rows):
    """Return the row range of the last letters, from the table if they are single bases."""
    code, table_k = 0, 0
    while (1 << 2 * table_k) < len(start_table):
        if table_k == n_single:
            return ZERO, n_rows, 0
        bases = sets[end - 1 - table_k]
        code |= np.int64((bases >> 1) - (bases >> 3)) << 2 * table_k
        table_k += 1
    return np.uint64(start_table[code, 0]), np.uint64(start_table[code, 1]), table_k


@njit(nogil=True, cache=True, parallel=True)
def invert(index, exception_ids, chain_rows, chain_starts, chain_ends, symbols):
    """Write the symbols of each chain; see ``invert_bwt`` of the contract."""
    lines, super_counts, super_shift = index
    n = len(chain_rows)
    for batch in prange((n + WALKS - 1) // WALKS):
        begin = batch * WALKS
        n_active = min(n - begin, WALKS)
        active = begin + np.arange(n_active)
        heads = chain_rows[begin : begin + n_active].astype(np.uint64)
        ends = chain_ends[begin : begin + n_active].astype(np.int64)
        while n_active > 0:
            i = 0
            while i < n_active:
                chain, row = active[i], heads[i]
                if ends[i] == chain_starts[chain]:
                    chain_rows[chain] = row
                    n_active -= 1
                    active[i], heads[i], ends[i] = active[n_active], heads[n_active], ends[n_active]
                    continue
                symbol = symbol_of_row(lines, row)
                ends[i] -= 1
                symbols[ends[i]] = symbol
                if symbol == FOUR:
                    k = n_exceptions_before(lines, super_counts, super_shift, row)
                    row = np.uint64(len(exception_ids) - 1 - exception_ids[k])
                else:
                    row = next_row(lines, super_counts, super_shift, symbol, row)
                prefetch(lines, (row >> LINE_BITS) * LINE_WORDS)
                heads[i] = row
                i += 1


@njit(nogil=True, cache=True)
def extend(index, row_ranges, symbols):
    """Extend each k-mer by one base to the left; see ``extend_row_ranges`` of the contract."""
    lines, super_counts, super_shift = index
    for i in range(len(row_ranges)):
        symbol = np.uint64(symbols[i])
        first = next_row(lines, super_counts, super_shift, symbol, np.uint64(row_ranges[i, 0]))
        last = next_row(lines, super_counts, super_shift, symbol, np.uint64(row_ranges[i, 1]))
        if first == last:
            first, last = ZERO, ZERO
        row_ranges[i, 0] = first
        row_ranges[i, 1] = last


# Compiled with cpu_lines.py, instructions.py: f01c3242c09b22a2
