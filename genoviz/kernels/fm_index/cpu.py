"""The FM-index on all cores; the contract is in this folder's ``__init__``.

Nearly all of the time is waiting for memory, so all that a rank needs is in one line of the cache:
counts before the line, and its 128 symbols of the BWT as bits::

    word     0        1        2     3      4     5      6     7
          | A, C  |  G, T  | low bits   | high bits  | exceptions |
          | counts before  | rows 0-63, 64-127 of the line, each  |

    G is 10: high 1, low 0. Bits of which the base has a 0 are flipped, so that ones are left:

    BWT         A C G T G $         rows of the line
    ~low        1 0 1 0 1 1         low bits flipped, as G has 0 there
    high        0 0 1 1 1 0         high bits as they are
    ~exception  1 1 1 1 1 0
    all three   0 0 1 0 1 0         the Gs; those before the row are counted by one instruction

Rows are uint64 in the loops: numba tests a signed index for being negative. A batch of k-mers goes
step by step together, and what the next step reads is fetched while the others do this one.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.fm_index.cpu_build import FLAG_BITS, build_lines, flag_exceptions
from genoviz.kernels.instructions import count_ones, prefetch

__all__ = [
    "build_lines",
    "count_kmers",
    "extend_branches",
    "extend_row_ranges",
    "fill_start_table",
    "find_row_ranges",
    "invert_bwt",
    "locate_rows",
]

LINE_WORDS = np.uint64(8)
LINE_BITS = np.uint64(7)
IN_LINE = np.uint64(127)
IN_WORD = np.uint64(63)
LOW_HALF = np.uint64(0xFFFFFFFF)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(i) for i in range(8))
THIRTY_ONE = np.uint64(31)
BATCH = 128
WALKS = 256
BLOCK = 4096
FEW = 2048
MAX_FLAGGED = 1 << (FLAG_BITS - 2)
NO_COUNTS = np.empty(0, np.int64)
NO_RANGES = {np.dtype(t): np.empty((0, 2), t) for t in (np.uint32, np.int64)}


def _fixed(array):
    """Return a view that is not written, so that one compiled loop serves memory and files."""
    view = array.view()
    view.flags.writeable = False
    return view


NO_WORDS, NO_POSITIONS = _fixed(np.empty(0, np.uint64)), _fixed(np.empty(0, np.int64))
# The samples are of the type of the table, as they are where there is a text.
NO_TEXT = {
    dtype: (False, NO_WORDS, _fixed(np.empty(0, dtype)), NO_POSITIONS, NO_WORDS, 0)
    for dtype in NO_RANGES
}


# Ranks: lines are flat here, and so are super_counts ---------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _next_row(lines, super_counts, super_shift, symbol, row):
    """Return ``next_row`` of the contract."""
    line = row >> LINE_BITS
    base = line * LINE_WORDS
    count = lines[base + (symbol >> ONE)] >> ((symbol & ONE) << FIVE) & LOW_HALF
    count += np.uint64(super_counts[(line >> super_shift) * FOUR + symbol])
    bits = (ONE << (row & IN_WORD)) - ONE
    is_second = ZERO - ((row & IN_LINE) >> SIX)
    low_flip, high_flip = (symbol & ONE) - ONE, (symbol >> ONE) - ONE
    first = (lines[base + TWO] ^ low_flip) & (lines[base + FOUR] ^ high_flip)
    second = (lines[base + THREE] ^ low_flip) & (lines[base + FIVE] ^ high_flip)
    first &= ~lines[base + SIX] & (bits | is_second)
    second &= ~lines[base + SEVEN] & (bits & is_second)
    return count + count_ones(first) + count_ones(second)


# Table of first rows ------------------------------------------------------------------------------


def fill_start_table(lines, super_counts, super_shift, n_symbols, start_table):
    """Fill the table level by level: k-mers with a base more are those of the level before."""
    flat, super_flat, shift = lines.reshape(-1), super_counts.reshape(-1), np.uint64(super_shift)
    start_table[0] = 0, n_symbols
    n_kmers = 1
    while n_kmers < len(start_table):
        _fill_level(flat, super_flat, shift, n_kmers, start_table)
        n_kmers *= 4


@njit(nogil=True, cache=True, parallel=True)
def _fill_level(lines, super_counts, super_shift, n_kmers, start_table):
    for code in prange(n_kmers):
        first, last = np.uint64(start_table[code, 0]), np.uint64(start_table[code, 1])
        for symbol in range(4):
            above, below = ZERO, ZERO
            if first < last:
                c = np.uint64(symbol)
                above = _next_row(lines, super_counts, super_shift, c, first)
                below = _next_row(lines, super_counts, super_shift, c, last)
                if above == below:
                    above, below = ZERO, ZERO
            start_table[symbol * n_kmers + code, 0] = above
            start_table[symbol * n_kmers + code, 1] = below


# Searching ----------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _next_rows_in_line(lines, super_counts, super_shift, symbol, first, last):
    """Return ``next_row`` of two rows of one line, which is read once."""
    line = first >> LINE_BITS
    base = line * LINE_WORDS
    count = lines[base + (symbol >> ONE)] >> ((symbol & ONE) << FIVE) & LOW_HALF
    count += np.uint64(super_counts[(line >> super_shift) * FOUR + symbol])
    low_flip, high_flip = (symbol & ONE) - ONE, (symbol >> ONE) - ONE
    ones = (lines[base + TWO] ^ low_flip) & (lines[base + FOUR] ^ high_flip)
    others = (lines[base + THREE] ^ low_flip) & (lines[base + FIVE] ^ high_flip)
    ones &= ~lines[base + SIX]
    others &= ~lines[base + SEVEN]
    bits = (ONE << (first & IN_WORD)) - ONE
    is_second = ZERO - ((first & IN_LINE) >> SIX)
    n_first = count_ones(ones & (bits | is_second)) + count_ones(others & (bits & is_second))
    bits = (ONE << (last & IN_WORD)) - ONE
    is_second = ZERO - ((last & IN_LINE) >> SIX)
    n_last = count_ones(ones & (bits | is_second)) + count_ones(others & (bits & is_second))
    return count + n_first, count + n_last


def find_row_ranges(
    lines, super_counts, super_shift, n_symbols, start_table, words, lengths, row_ranges
):
    """Fill the rows that begin with each k-mer."""
    _find(
        (_fixed(lines.reshape(-1)), _fixed(super_counts.reshape(-1)), np.uint64(super_shift)),
        n_symbols,
        _fixed(start_table),
        words,
        lengths,
        NO_TEXT[start_table.dtype],
        row_ranges,
        NO_COUNTS,
    )


def count_kmers(
    lines,
    super_counts,
    super_shift,
    n_symbols,
    start_table,
    packed,
    exceptions,
    samples,
    sample_rate,
    words,
    lengths,
    counts,
):
    """Fill how many rows begin with each k-mer."""
    text = NO_TEXT[start_table.dtype]
    if sample_rate == 1 and len(words) > FEW and len(exceptions) <= MAX_FLAGGED:
        flags, flag_shift = flag_exceptions(exceptions, n_symbols)
        arrays = (_fixed(array) for array in (packed, samples, exceptions, flags))
        text = (True, *arrays, flag_shift)
    _find(
        (_fixed(lines.reshape(-1)), _fixed(super_counts.reshape(-1)), np.uint64(super_shift)),
        n_symbols,
        _fixed(start_table),
        words,
        lengths,
        text,
        NO_RANGES[start_table.dtype],
        counts,
    )


def _find(index, n_symbols, start_table, words, lengths, text, row_ranges, counts):
    find = _find_few if len(words) <= FEW else _find_many
    find(index, np.uint64(n_symbols), start_table, words, lengths, text, row_ranges, counts)


@njit(nogil=True, cache=True)
def _find_few(index, n_symbols, start_table, words, lengths, text, row_ranges, counts):
    # A plain 0 would be a type of its own, for which Numba compiles the loop once more.
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
    # K-mers of which one row is left, to be compared with the text.
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
                    first, last = _next_rows_in_line(
                        lines, super_counts, super_shift, symbol, first, last
                    )
                else:
                    first = _next_row(lines, super_counts, super_shift, symbol, first)
                    last = _next_row(lines, super_counts, super_shift, symbol, last)
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
    """Tell whether the rest of a k-mer is what ends at a position of the text."""
    while taken < length:
        n = min(length - taken, 32 - (taken & 31))
        at = np.uint64(end - n)
        shift = (at & THIRTY_ONE) << ONE
        # Two shifts, as one by 64 has no meaning.
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


def extend_row_ranges(lines, super_counts, super_shift, row_ranges, symbols):
    """Take one base more to the left, in place."""
    _extend(
        lines.reshape(-1), super_counts.reshape(-1), np.uint64(super_shift), row_ranges, symbols
    )


@njit(nogil=True, cache=True)
def _extend(lines, super_counts, super_shift, row_ranges, symbols):
    for i in range(len(row_ranges)):
        symbol = np.uint64(symbols[i])
        first = _next_row(lines, super_counts, super_shift, symbol, np.uint64(row_ranges[i, 0]))
        last = _next_row(lines, super_counts, super_shift, symbol, np.uint64(row_ranges[i, 1]))
        if first == last:
            first, last = ZERO, ZERO
        row_ranges[i, 0] = first
        row_ranges[i, 1] = last


# Branching ----------------------------------------------------------------------------------------


def extend_branches(
    lines,
    super_counts,
    super_shift,
    start_table,
    sets,
    set_ends,
    n_taken,
    n_wanted,
    branch_kmers,
    branch_ranges,
    branches,
):
    """Fill the rows of branches with the letters wanted, by the base of the last one."""
    extend = _extend_few_branches if len(branch_kmers) <= FEW else _extend_many_branches
    extend(
        (_fixed(lines.reshape(-1)), _fixed(super_counts.reshape(-1)), np.uint64(super_shift)),
        _fixed(start_table),
        (sets, set_ends, n_taken, n_wanted),
        branch_kmers,
        branch_ranges,
        branches,
    )


@njit(nogil=True, cache=True)
def _extend_few_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
    for begin in range(0, len(branch_kmers), BATCH):
        end = min(len(branch_kmers), begin + BATCH)
        _extend_batch(index, start_table, kmers, branch_kmers, branch_ranges, begin, end, branches)


@njit(nogil=True, cache=True, parallel=True)
def _extend_many_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
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
                    above = _next_row(lines, super_counts, super_shift, c, first)
                    below = _next_row(lines, super_counts, super_shift, c, last)
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
    """Return the rows that begin with the last letters, by the table if these are of one base."""
    code, table_k = 0, 0
    while (1 << 2 * table_k) < len(start_table):
        if table_k == n_single:
            return ZERO, n_rows, 0
        bases = sets[end - 1 - table_k]
        code |= np.int64((bases >> 1) - (bases >> 3)) << 2 * table_k
        table_k += 1
    return np.uint64(start_table[code, 0]), np.uint64(start_table[code, 1]), table_k


# Locating -----------------------------------------------------------------------------------------


def locate_rows(
    lines,
    super_counts,
    super_shift,
    exceptions,
    exception_ids,
    samples,
    sample_rate,
    rows,
    positions,
):
    """Fill the text position of each row."""
    arguments = (
        _fixed(lines.reshape(-1)),
        _fixed(super_counts.reshape(-1)),
        np.uint64(super_shift),
        _fixed(exceptions),
        _fixed(exception_ids),
        _fixed(samples),
        np.uint64(sample_rate.bit_length() - 1),
        rows,
        positions,
    )
    if len(rows) <= FEW:
        _locate_few(*arguments)
    else:
        _locate_many(*arguments)


@njit(nogil=True, cache=True)
def _locate_few(
    lines, super_counts, super_shift, exceptions, exception_ids, samples, rate_bits, rows, positions
):
    _locate_block(
        lines,
        super_counts,
        super_shift,
        exceptions,
        exception_ids,
        samples,
        rate_bits,
        rows,
        np.int64(0),
        len(rows),
        positions,
    )


@njit(nogil=True, cache=True, parallel=True)
def _locate_many(
    lines, super_counts, super_shift, exceptions, exception_ids, samples, rate_bits, rows, positions
):
    n = len(rows)
    for block in prange((n + BLOCK - 1) // BLOCK):
        _locate_block(
            lines,
            super_counts,
            super_shift,
            exceptions,
            exception_ids,
            samples,
            rate_bits,
            rows,
            block * BLOCK,
            min(n, (block + 1) * BLOCK),
            positions,
        )


@njit(nogil=True, cache=True, inline="always")
def _symbol_of_row(lines, row):
    """Return 0 to 3, or 4 of an exception."""
    word = (row >> LINE_BITS) * LINE_WORDS + TWO + ((row & IN_LINE) >> SIX)
    bit = row & IN_WORD
    symbol = (lines[word] >> bit & ONE) | (lines[word + TWO] >> bit & ONE) << ONE
    return symbol | (lines[word + FOUR] >> bit & ONE) << TWO


@njit(nogil=True, cache=True)
def _n_exceptions_before(lines, super_counts, super_shift, row):
    """Return how many rows before this one have an exception in the BWT."""
    n_bases = ZERO
    for symbol in range(4):
        c = np.uint64(symbol)
        n_bases += _next_row(lines, super_counts, super_shift, c, row) - np.uint64(super_counts[c])
    return row - n_bases


@njit(nogil=True, cache=True)
def _locate_block(
    lines,
    super_counts,
    super_shift,
    exceptions,
    exception_ids,
    samples,
    rate_bits,
    rows,
    begin,
    end,
    positions,
):
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
                    symbol = _symbol_of_row(lines, row)
                    if symbol == FOUR:
                        k = _n_exceptions_before(lines, super_counts, super_shift, row)
                        exception = exception_ids[k]
                        is_last = exception == len(exceptions) - 1
                        position = 0 if is_last else exceptions[exception] + 1
                if position >= 0:
                    positions[numbers[i]] = position + n_steps[i]
                    n_active -= 1
                    heads[i], numbers[i] = heads[n_active], numbers[n_active]
                    n_steps[i] = n_steps[n_active]
                    continue
                row = _next_row(lines, super_counts, super_shift, symbol, row)
                if row & rate_mask == ZERO:
                    prefetch(samples, row >> rate_bits)
                else:
                    prefetch(lines, (row >> LINE_BITS) * LINE_WORDS)
                heads[i] = row
                n_steps[i] += 1
                i += 1


# Inverting ----------------------------------------------------------------------------------------


def invert_bwt(
    lines,
    super_counts,
    super_shift,
    exception_ids,
    chain_rows,
    chain_starts,
    chain_ends,
    symbols,
):
    """Write the symbols of each chain from its end to its start."""
    _invert(
        _fixed(lines.reshape(-1)),
        _fixed(super_counts.reshape(-1)),
        np.uint64(super_shift),
        _fixed(exception_ids),
        chain_rows,
        chain_starts,
        chain_ends,
        symbols,
    )


@njit(nogil=True, cache=True, parallel=True)
def _invert(
    lines,
    super_counts,
    super_shift,
    exception_ids,
    chain_rows,
    chain_starts,
    chain_ends,
    symbols,
):
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
                symbol = _symbol_of_row(lines, row)
                ends[i] -= 1
                symbols[ends[i]] = symbol
                if symbol == FOUR:
                    k = _n_exceptions_before(lines, super_counts, super_shift, row)
                    row = np.uint64(len(exception_ids) - 1 - exception_ids[k])
                else:
                    row = _next_row(lines, super_counts, super_shift, symbol, row)
                prefetch(lines, (row >> LINE_BITS) * LINE_WORDS)
                heads[i] = row
                i += 1


# Compiled with genoviz/kernels/instructions.py: 8dfe7e27c1952e34
