"""The FM-index on all cores; the contract is in this folder's ``__init__``.

A batch of k-mers advances one step at a time. Each k-mer prefetches the memory of its next step,
so that its cache misses overlap with the work on the other k-mers.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.fm_index.cpu_lines import (
    FIVE,
    FLAG_BITS,
    FOUR,
    IN_WORD,
    LINE_BITS,
    LINE_WORDS,
    ONE,
    THREE,
    TWO,
    ZERO,
    add_lines,
    add_starts,
    begin_lines,
    build_lines,
    fill_start_table,
    flag_exceptions,
    n_exceptions_before,
    next_row,
    next_rows_in_line,
    symbol_of_row,
)
from genoviz.kernels.fm_index.cpu_walks import (
    extend,
    extend_few_branches,
    extend_many_branches,
    invert,
)
from genoviz.kernels.instructions import prefetch

__all__ = [
    "add_lines",
    "add_starts",
    "begin_lines",
    "build_lines",
    "count_kmers",
    "extend_branches",
    "extend_row_ranges",
    "fill_start_table",
    "find_row_ranges",
    "invert_bwt",
    "locate_rows",
]

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
THIRTY_ONE = np.uint64(31)
BATCH = 128  # k-mers that advance together
WALKS = 256  # rows that are located together
BLOCK = 4096  # k-mers or rows that one thread takes
FEW = 2048  # up to so many, one thread is faster than all
MAX_FLAGGED = 1 << (FLAG_BITS - 2)
NO_COUNTS = np.empty(0, np.int64)
NO_RANGES = {np.dtype(t): np.empty((0, 2), t) for t in (np.uint32, np.int64)}


def _fixed(array):
    """Return a read-only view: memory and memory-mapped files then share one compiled loop."""
    view = array.view()
    view.flags.writeable = False
    return view


def _flat_index(index):
    """Return the index for the loops: read-only, with flat lines and super_counts."""
    lines, super_counts, super_shift = index
    return _fixed(lines.reshape(-1)), _fixed(super_counts.reshape(-1)), np.uint64(super_shift)


NO_WORDS, NO_POSITIONS = _fixed(np.empty(0, np.uint64)), _fixed(np.empty(0, np.int64))
# The empty samples have the dtype of the table, as real samples do.
NO_TEXT = {
    dtype: (False, NO_WORDS, _fixed(np.empty(0, dtype)), NO_POSITIONS, NO_WORDS, 0)
    for dtype in NO_RANGES
}


# Searching ----------------------------------------------------------------------------------------


def find_row_ranges(index, n_symbols, start_table, words, lengths, row_ranges):
    """Fill the row range of each k-mer."""
    text = NO_TEXT[start_table.dtype]
    _find(index, n_symbols, start_table, words, lengths, text, row_ranges, NO_COUNTS)


def count_kmers(index, n_symbols, start_table, text, words, lengths, counts):
    """Fill the number of rows that begin with each k-mer."""
    packed, exceptions, samples, sample_rate = text
    text = NO_TEXT[start_table.dtype]
    if sample_rate == 1 and len(words) > FEW and len(exceptions) <= MAX_FLAGGED:
        flags, flag_shift = flag_exceptions(exceptions, n_symbols)
        arrays = (_fixed(array) for array in (packed, samples, exceptions, flags))
        text = (True, *arrays, flag_shift)
    ranges = NO_RANGES[start_table.dtype]
    _find(index, n_symbols, start_table, words, lengths, text, ranges, counts)


def _find(index, n_symbols, start_table, words, lengths, text, row_ranges, counts):
    find = _find_few if len(words) <= FEW else _find_many
    n, table = np.uint64(n_symbols), _fixed(start_table)
    find(_flat_index(index), n, table, words, lengths, text, row_ranges, counts)


@njit(nogil=True, cache=True)
def _find_few(index, n_symbols, start_table, words, lengths, text, row_ranges, counts):
    # A literal 0 has another Numba type, which would compile the loop a second time.
    begin, end = np.int64(0), len(words)
    _find_block(index, n_symbols, start_table, words, lengths, text, begin, end, row_ranges, counts)


@njit(nogil=True, cache=True, parallel=True)
def _find_many(index, n_symbols, start_table, words, lengths, text, row_ranges, counts):
    n = len(words)
    for block in prange((n + BLOCK - 1) // BLOCK):
        begin, end = block * BLOCK, min(n, (block + 1) * BLOCK)
        _find_block(
            index, n_symbols, start_table, words, lengths, text, begin, end, row_ranges, counts
        )


@njit(nogil=True, cache=True, inline="always")
def _store(row_ranges, counts, number, first, last):
    if len(counts) > 0:
        counts[number] = np.int64(last - first)
    else:
        row_ranges[number, 0] = first if first < last else ZERO
        row_ranges[number, 1] = last if first < last else ZERO


@njit(nogil=True, cache=True)
def _find_block(
    index, n_symbols, start_table, words, lengths, text, begin, end, row_ranges, counts
):
    lines, super_counts, super_shift = index
    has_text, packed, samples, exceptions, flags, flag_shift = text
    firsts, lasts = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    rests, n_taken = np.empty(BATCH, np.uint64), np.empty(BATCH, np.int64)
    numbers = np.empty(BATCH, np.int64)
    # K-mers with one row left: their remaining bases are compared with the text.
    single_rows, single_ends = np.empty(BATCH, np.uint64), np.empty(BATCH, np.int64)
    single_numbers, single_taken = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    table_k = 0
    while (1 << 2 * table_k) < len(start_table):
        table_k += 1
    code_mask = np.uint64(len(start_table) - 1)
    table = start_table.reshape(-1)
    for batch in range(begin, end, BATCH):
        batch_end = min(end, batch + BATCH)
        for number in range(batch, batch_end):
            if lengths[number] >= table_k:
                prefetch(table, (words[number, 0] & code_mask) << ONE)
        n_active, n_single = 0, 0
        for number in range(batch, batch_end):
            word = words[number, 0]
            first, last, taken = ZERO, n_symbols, 0
            if lengths[number] >= table_k:
                code = (word & code_mask) << ONE
                first, last, taken = np.uint64(table[code]), np.uint64(table[code + ONE]), table_k
            if first >= last or taken == lengths[number]:
                _store(row_ranges, counts, number, first, last)
            elif has_text and first + ONE == last:
                prefetch(samples, first)
                single_rows[n_single], single_taken[n_single] = first, taken
                single_numbers[n_single] = number
                n_single += 1
            else:
                prefetch(lines, (first >> LINE_BITS) * LINE_WORDS)
                prefetch(lines, (last >> LINE_BITS) * LINE_WORDS)
                firsts[n_active], lasts[n_active] = first, last
                rests[n_active] = word >> np.uint64(2 * taken)
                n_taken[n_active], numbers[n_active] = taken, number
                n_active += 1
        while n_active > 0:
            i = 0
            while i < n_active:
                number = numbers[i]
                symbol = rests[i] & THREE
                first, last = firsts[i], lasts[i]
                if first >> LINE_BITS == last >> LINE_BITS:
                    first, last = next_rows_in_line(
                        lines, super_counts, super_shift, symbol, first, last
                    )
                else:
                    first = next_row(lines, super_counts, super_shift, symbol, first)
                    last = next_row(lines, super_counts, super_shift, symbol, last)
                taken = n_taken[i] + 1
                is_left = first < last and taken < lengths[number]
                is_single = has_text and first + ONE == last
                if is_left and not is_single:
                    prefetch(lines, (first >> LINE_BITS) * LINE_WORDS)
                    prefetch(lines, (last >> LINE_BITS) * LINE_WORDS)
                    rests[i] >>= TWO
                    if taken & 31 == 0:
                        rests[i] = words[number, taken >> 5]
                    firsts[i], lasts[i], n_taken[i] = first, last, taken
                    i += 1
                    continue
                if is_left:
                    prefetch(samples, first)
                    single_rows[n_single], single_taken[n_single] = first, taken
                    single_numbers[n_single] = number
                    n_single += 1
                else:
                    _store(row_ranges, counts, number, first, last)
                n_active -= 1
                firsts[i], lasts[i] = firsts[n_active], lasts[n_active]
                rests[i], n_taken[i] = rests[n_active], n_taken[n_active]
                numbers[i] = numbers[n_active]
        for i in range(n_single):
            single_ends[i] = np.int64(samples[single_rows[i]])
            prefetch(packed, np.uint64(max(single_ends[i] - 1, 0)) >> FIVE)
        for i in range(n_single):
            number, taken, end_of_rest = single_numbers[i], single_taken[i], single_ends[i]
            start = end_of_rest - (np.int64(lengths[number]) - taken)
            counts[number] = (
                start >= 0
                and _is_in_text(
                    packed, words, number, np.int64(lengths[number]), taken, end_of_rest
                )
                and not _has_exception(exceptions, flags, flag_shift, start, end_of_rest)
            )


@njit(nogil=True, cache=True)
def _is_in_text(packed, words, number, length, taken, end):
    """Return whether the remaining bases of a k-mer equal the text that ends at ``end``."""
    while taken < length:
        n = min(length - taken, 32 - (taken & 31))
        at = np.uint64(end - n)
        shift = (at & THIRTY_ONE) << ONE
        # Two shifts: a shift by 64 is undefined.
        word = packed[at >> FIVE] << shift
        word |= packed[(at >> FIVE) + ONE] >> ONE >> (IN_WORD - shift)
        rest = words[number, taken >> 5] >> np.uint64(2 * (taken & 31))
        if (word >> np.uint64(64 - 2 * n)) != (rest & ALL >> np.uint64(64 - 2 * n)):
            return False
        taken += n
        end -= n
    return True


@njit(nogil=True, cache=True)
def _has_exception(exceptions, flags, flag_shift, start, end):
    first, last = start >> flag_shift, (end - 1) >> flag_shift
    flagged = ZERO
    for flag in range(first, last + 1):
        flagged |= flags[flag >> 6] >> np.uint64(flag & 63)
    if flagged & ONE == ZERO:
        return False
    return np.searchsorted(exceptions, start) < np.searchsorted(exceptions, end)


def extend_row_ranges(index, row_ranges, symbols):
    """Extend each k-mer by one base to the left, in place."""
    extend(_flat_index(index), row_ranges, symbols)


# Walks --------------------------------------------------------------------------------------------


def extend_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
    """Fill the row ranges of branches after the wanted letters, one for each last base."""
    extend_all = extend_few_branches if len(branch_kmers) <= FEW else extend_many_branches
    table = _fixed(start_table)
    extend_all(_flat_index(index), table, kmers, branch_kmers, branch_ranges, branches)


def locate_rows(index, exceptions, exception_ids, samples, sample_rate, rows, positions):
    """Fill the text position of each row."""
    rate_bits = np.uint64(sample_rate.bit_length() - 1)
    known = _fixed(exceptions), _fixed(exception_ids), _fixed(samples), rate_bits
    locate = _locate_few if len(rows) <= FEW else _locate_many
    locate(_flat_index(index), known, rows, positions)


@njit(nogil=True, cache=True)
def _locate_few(index, known, rows, positions):
    _locate_block(index, known, rows, np.int64(0), len(rows), positions)


@njit(nogil=True, cache=True, parallel=True)
def _locate_many(index, known, rows, positions):
    n = len(rows)
    for block in prange((n + BLOCK - 1) // BLOCK):
        _locate_block(index, known, rows, block * BLOCK, min(n, (block + 1) * BLOCK), positions)


@njit(nogil=True, cache=True)
def _locate_block(index, known, rows, begin, end, positions):
    lines, super_counts, super_shift = index
    exceptions, exception_ids, samples, rate_bits = known
    heads = np.empty(WALKS, np.uint64)
    numbers = np.empty(WALKS, np.int64)
    n_steps = np.empty(WALKS, np.int64)
    rate_mask = (ONE << rate_bits) - ONE
    for batch in range(begin, end, WALKS):
        n_active = min(end - batch, WALKS)
        for i in range(n_active):
            row = np.uint64(rows[batch + i])
            heads[i], numbers[i], n_steps[i] = row, batch + i, 0
            if row & rate_mask == ZERO:
                prefetch(samples, row >> rate_bits)
            else:
                prefetch(lines, (row >> LINE_BITS) * LINE_WORDS)
        while n_active > 0:
            i = 0
            while i < n_active:
                row = heads[i]
                position = np.int64(-1)
                if row & rate_mask == ZERO:
                    position = np.int64(samples[row >> rate_bits])
                else:
                    symbol = symbol_of_row(lines, row)
                    if symbol == FOUR:
                        k = n_exceptions_before(lines, super_counts, super_shift, row)
                        exception = exception_ids[k]
                        is_last = exception == len(exceptions) - 1
                        position = 0 if is_last else exceptions[exception] + 1
                if position >= 0:
                    positions[numbers[i]] = position + n_steps[i]
                    n_active -= 1
                    heads[i], numbers[i] = heads[n_active], numbers[n_active]
                    n_steps[i] = n_steps[n_active]
                    continue
                row = next_row(lines, super_counts, super_shift, symbol, row)
                if row & rate_mask == ZERO:
                    prefetch(samples, row >> rate_bits)
                else:
                    prefetch(lines, (row >> LINE_BITS) * LINE_WORDS)
                heads[i] = row
                n_steps[i] += 1
                i += 1


def invert_bwt(index, exception_ids, chain_rows, chain_starts, chain_ends, symbols):
    """Write the symbols of each chain from its end to its start."""
    ids = _fixed(exception_ids)
    invert(_flat_index(index), ids, chain_rows, chain_starts, chain_ends, symbols)


# Compiled with cpu_lines.py, instructions.py: f01c3242c09b22a2
