"""Build and read the lines of an FM-index and its start table; see ``__init__``.

Memory latency dominates, so a rank query reads one cache line. It holds the counts before the line
and 128 symbols of the BWT as bit planes::

    word     0        1        2     3      4     5      6     7
          | A, C  |  G, T  | low bits   | high bits  | exceptions |
          | counts before  | rows 0-63, 64-127 of the line, each  |

    G is 10: high 1, low 0. Planes in which the base has 0 are inverted, so a match is all ones:

    BWT         A C G T G $         rows of the line
    ~low        1 0 1 0 1 1         low plane inverted, as G has 0 there
    high        0 0 1 1 1 0         high plane as it is
    ~exception  1 1 1 1 1 0
    all three   0 0 1 0 1 0         the Gs; popcount counts those before the row

Rows are uint64 in the loops: Numba checks a signed index for wraparound.
"""

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.instructions import count_ones, prefetch

LINE_WORDS = np.uint64(8)
LINE_BITS = np.uint64(7)
IN_LINE = np.uint64(127)
IN_WORD = np.uint64(63)
LOW_HALF = np.uint64(0xFFFFFFFF)
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(i) for i in range(8))
THIRTY_TWO = np.uint64(32)
CHUNK_LINES = 2048
FLAG_BITS = 18


def build_lines(
    packed,
    n_symbols,
    exceptions,
    suffix_array,
    super_shift,
    lines,
    super_counts,
    exception_ids,
):
    """Fill lines, super_counts and exception_ids from a suffix array."""
    text, counts = begin_lines(packed, n_symbols, exceptions)
    add_lines(text, suffix_array, 0, counts, super_shift, lines, super_counts, exception_ids)


def begin_lines(packed, n_symbols, exceptions):
    """Return the text and counts that ``add_lines`` takes.

    The counts are ``next_row`` of each base at row 0, and 0 exceptions in the BWT before it.
    """
    is_dense = len(exceptions) << 8 > n_symbols
    text = packed, n_symbols, exceptions, *flag_exceptions(exceptions, n_symbols, is_dense)
    counts = np.zeros((256, 3), np.int64)
    _count_bases(packed, counts)
    others, n_exceptions = counts.sum(axis=0), len(exceptions)
    n_a = n_symbols - n_exceptions - int(others.sum())
    return text, np.append(n_exceptions + np.cumsum([0, n_a, *others[:2]]), 0)


def add_lines(text, rows, first_line, counts, super_shift, lines, super_counts, exception_ids):
    """Fill the next lines from their rows of the suffix array.

    On return ``counts`` holds the counts before the following lines. Except for the last call, the
    number of lines is a power of two, and ``first_line`` is a multiple of it.
    """
    packed, n_symbols, exceptions, flags, flag_shift = text
    chunk_bits = min(super_shift, CHUNK_LINES.bit_length() - 1)
    n_chunks = ((len(lines) - 1) >> chunk_bits) + 1
    of_chunks = np.zeros((n_chunks + 1, 5), np.int64)
    flat = lines.reshape(-1)
    source = packed, n_symbols, exceptions, rows
    _pack_bwt(*source, flags, flag_shift, chunk_bits, flat, of_chunks[1:])
    of_chunks[0] = counts
    np.cumsum(of_chunks, axis=0, out=of_chunks)
    counts[:] = of_chunks[-1]
    first_super, last_line = first_line >> super_shift, first_line + len(lines) - 1
    supers = super_counts[first_super : (last_line >> super_shift) + 1]
    if first_line == first_super << super_shift:
        supers[:] = of_chunks[:-1, :4][:: 1 << (super_shift - chunk_bits)]
    source = n_symbols, exceptions, rows
    _finish_lines(*source, chunk_bits, super_shift, of_chunks, supers, flat, exception_ids)


@njit(nogil=True, cache=True, parallel=True)
def _count_bases(packed, counts):
    """Count C, G and T in each part of the text."""
    n_parts = len(counts)
    every_second = np.uint64(0x5555555555555555)
    for part in prange(n_parts):
        for word in range(len(packed) * part // n_parts, len(packed) * (part + 1) // n_parts):
            low = packed[word] & every_second
            high = packed[word] >> ONE & every_second
            counts[part, 0] += np.int64(count_ones(low & ~high))
            counts[part, 1] += np.int64(count_ones(high & ~low))
            counts[part, 2] += np.int64(count_ones(high & low))


def flag_exceptions(exceptions, n_symbols, is_dense=False):
    """Return a bitmap of stretches with exceptions, and log2 of the length of a stretch."""
    flag_shift = 0 if is_dense else max(n_symbols.bit_length() - FLAG_BITS, 0)
    flags = np.zeros((n_symbols >> flag_shift >> 6) + 1, np.uint64)
    _set_flags(exceptions, flag_shift, flags)
    return flags, flag_shift


@njit(nogil=True, cache=True)
def _set_flags(exceptions, flag_shift, flags):
    for position in exceptions:
        flag = position >> flag_shift
        flags[flag >> 6] |= ONE << np.uint64(flag & 63)


@njit(nogil=True, cache=True)
def _is_exception(exceptions, flags, flag_shift, position):
    """Return whether a position is an exception; search only where its stretch is flagged."""
    flag = position >> flag_shift
    if (flags[flag >> 6] >> np.uint64(flag & 63)) & ONE == ZERO:
        return False
    return flag_shift == 0 or exceptions[np.searchsorted(exceptions, position)] == position


@njit(nogil=True, cache=True, parallel=True)
def _pack_bwt(
    packed, n_symbols, exceptions, suffix_array, flags, flag_shift, chunk_bits, lines, counts
):
    """Fill the bit planes, the counts of each line within its chunk, and those of each chunk."""
    n = len(suffix_array)
    n_lines = len(lines) >> 3
    n_chunks = len(counts)
    ahead = 32
    for chunk in prange(n_chunks):
        totals = np.zeros(5, np.uint64)
        planes = np.zeros(6, np.uint64)
        for line in range(chunk << chunk_bits, min(n_lines, (chunk + 1) << chunk_bits)):
            lines[8 * line] = totals[0] | totals[1] << THIRTY_TWO
            lines[8 * line + 1] = totals[2] | totals[3] << THIRTY_TWO
            for half in range(2):
                low, high, exception = ZERO, ZERO, ZERO
                first_row = 128 * line + 64 * half
                for j in range(64):
                    row = first_row + j
                    if row + ahead < n:
                        prefetch(packed, np.uint64(suffix_array[row + ahead]) >> FIVE)
                    position = n if row >= n else np.int64(suffix_array[row])
                    if row >= n:
                        exception |= ONE << np.uint64(j)
                        continue
                    position = position - 1 if position > 0 else n_symbols - 1
                    shift = np.uint64(62 - 2 * (position & 31))
                    symbol = packed[np.uint64(position) >> FIVE] >> shift & THREE
                    if symbol == ZERO and _is_exception(exceptions, flags, flag_shift, position):
                        exception |= ONE << np.uint64(j)
                    low |= (symbol & ONE) << np.uint64(j)
                    high |= (symbol >> ONE) << np.uint64(j)
                planes[half], planes[2 + half], planes[4 + half] = low, high, exception
            for half in range(2):
                low, high, exception = planes[half], planes[2 + half], planes[4 + half]
                lines[8 * line + 2 + half] = low
                lines[8 * line + 4 + half] = high
                lines[8 * line + 6 + half] = exception
                totals[0] += count_ones(~(low | high | exception))
                totals[1] += count_ones(low & ~high)
                totals[2] += count_ones(high & ~low)
                totals[3] += count_ones(high & low)
                totals[4] += count_ones(exception)
        for symbol in range(5):
            counts[chunk, symbol] = np.int64(totals[symbol])


@njit(nogil=True, cache=True, parallel=True)
def _finish_lines(
    n_symbols,
    exceptions,
    suffix_array,
    chunk_bits,
    super_shift,
    counts,
    super_counts,
    lines,
    exception_ids,
):
    """Make counts relative to the superblock, and number the exceptions."""
    n = len(suffix_array)
    n_lines = len(lines) >> 3
    for chunk in prange(len(counts) - 1):
        first = chunk << chunk_bits
        since = (counts[chunk, :4] - super_counts[first >> super_shift]).astype(np.uint64)
        n_before = counts[chunk, 4]
        for line in range(first, min(n_lines, (chunk + 1) << chunk_bits)):
            lines[8 * line] += since[0] | since[1] << THIRTY_TWO
            lines[8 * line + 1] += since[2] | since[3] << THIRTY_TWO
            for half in range(2):
                word = lines[8 * line + 6 + half]
                while word != ZERO:
                    lowest = word & (ZERO - word)
                    row = 128 * line + 64 * half + np.int64(count_ones(lowest - ONE))
                    word ^= lowest
                    if row < n:
                        position = np.int64(suffix_array[row])
                        position = position - 1 if position > 0 else n_symbols - 1
                        exception_ids[n_before] = np.searchsorted(exceptions, position)
                        n_before += 1


# Reading: lines and super_counts are flat here --------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def next_row(lines, super_counts, super_shift, symbol, row):
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


@njit(nogil=True, cache=True, inline="always")
def next_rows_in_line(lines, super_counts, super_shift, symbol, first, last):
    """Return ``next_row`` of two rows of one line, and load the line once."""
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


@njit(nogil=True, cache=True, inline="always")
def symbol_of_row(lines, row):
    """Return the BWT symbol of a row: 0 to 3, or 4 for an exception."""
    word = (row >> LINE_BITS) * LINE_WORDS + TWO + ((row & IN_LINE) >> SIX)
    bit = row & IN_WORD
    symbol = (lines[word] >> bit & ONE) | (lines[word + TWO] >> bit & ONE) << ONE
    return symbol | (lines[word + FOUR] >> bit & ONE) << TWO


@njit(nogil=True, cache=True)
def n_exceptions_before(lines, super_counts, super_shift, row):
    """Return the number of exceptions in the BWT before a row."""
    n_bases = ZERO
    for symbol in range(4):
        c = np.uint64(symbol)
        n_bases += next_row(lines, super_counts, super_shift, c, row) - np.uint64(super_counts[c])
    return row - n_bases


# Table of first rows ------------------------------------------------------------------------------


def fill_start_table(index, n_symbols, start_table):
    """Fill the table level by level: each level prepends a base to the k-mers of the last one."""
    lines, super_counts, super_shift = index
    flat = lines.reshape(-1), super_counts.reshape(-1), np.uint64(super_shift)
    start_table[0] = 0, n_symbols
    n_kmers = 1
    while n_kmers < len(start_table):
        _fill_level(flat, n_kmers, start_table)
        n_kmers *= 4


def add_starts(text, rows, first_row, start_table):
    """Add the next rows of the suffix array to a table that starts as zeros."""
    table_k = (len(start_table).bit_length() - 1) // 2
    if table_k == 0:
        start_table[0, 1] = first_row + len(rows)
        return
    edges = np.linspace(0, len(rows), 16 * get_num_threads() + 1).astype(np.int64)
    _add_starts(text, rows, first_row, edges, table_k, start_table)


@njit(nogil=True, cache=True)
def _code(text, position, table_k):
    """Return the code of the first ``table_k`` bases of a suffix, or -1 if one is an exception."""
    packed, _, exceptions, flags, flag_shift = text
    is_flagged = flag_shift < 4
    for place in (position, position + table_k - 1):
        flag = min(place >> flag_shift, np.int64(64 * len(flags) - 1))
        is_flagged |= (flags[flag >> 6] >> np.uint64(flag & 63)) & ONE != ZERO
    if is_flagged and exceptions[np.searchsorted(exceptions, position)] < position + table_k:
        return np.int64(-1)
    word, shift = position >> 5, np.uint64(2 * (position & 31))
    window = packed[word] << shift | packed[word + 1] >> ONE >> (IN_WORD - shift)
    return np.int64(window >> np.uint64(64 - 2 * table_k))


@njit(nogil=True, cache=True, parallel=True)
def _add_starts(text, rows, first_row, edges, table_k, start_table):
    n = len(rows)
    for chunk in prange(len(edges) - 1):
        first, last = edges[chunk], edges[chunk + 1]
        before = _code(text, np.int64(rows[first - 1]), table_k) if first > 0 else np.int64(-2)
        code = _code(text, np.int64(rows[first]), table_k) if first < last else np.int64(-1)
        for i in range(first, last):
            prefetch(text[0], np.uint64(rows[min(i + 32, n - 1)]) >> FIVE)
            after = _code(text, np.int64(rows[i + 1]), table_k) if i + 1 < n else np.int64(-2)
            if code >= 0 and code != before and (i > 0 or start_table[code, 1] == 0):
                start_table[code, 0] = first_row + i
            if code >= 0 and code != after:
                start_table[code, 1] = first_row + i + 1
            before, code = code, after


@njit(nogil=True, cache=True, parallel=True)
def _fill_level(index, n_kmers, start_table):
    lines, super_counts, super_shift = index
    for code in prange(n_kmers):
        first, last = np.uint64(start_table[code, 0]), np.uint64(start_table[code, 1])
        for symbol in range(4):
            above, below = ZERO, ZERO
            if first < last:
                c = np.uint64(symbol)
                above = next_row(lines, super_counts, super_shift, c, first)
                below = next_row(lines, super_counts, super_shift, c, last)
                if above == below:
                    above, below = ZERO, ZERO
            start_table[symbol * n_kmers + code, 0] = above
            start_table[symbol * n_kmers + code, 1] = below


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
