"""Products of genotypes from tables of sums of a few dense rows, on all cores.

Rows of products are accumulated in blocks that stay in the L2 cache. The tables of 32 dense rows
are rebuilt by each block and stay in L1. Dense rows and sums are stored in *planes* of 64 bytes a
row, and a narrower last one; the rows of a plane are contiguous.

A table has a row for each of the 81 combinations of four genotypes. One look-up and one addition
replace four products, for 64 bytes of columns at once::

    states of four genotypes    2  0  1  1
    their byte                  2 + 3 * 0 + 9 * 1 + 27 * 1 = 38
    row 38 of the table         w2 x0 + w0 x1 + w1 x2 + w1 x3      x0 to x3: four dense rows
    sums[row]                   += table[38]

In the tables, a missing genotype has the state of a heterozygous one. The difference is added for
each missing genotype or, if there are many, by a second product of the codes of one *kind*.

In ``five_codes`` ("5codes"), uint8 of shape ((m + 4) // 5, n), a byte is ``d0 + 3 d1 + 9 d2 + 27 d3
+ 81 d4`` for the dosages of one sample at five variants: 80 % of the size of packed genotypes. A
missing genotype counts as dosage 0. Z @ right looks up sums of five rows in tables. Z.T @ left
first sums the rows of samples with the same byte, and then distributes these sums by dosage.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.genotype_product.cpu_vectors import (
    LANES,
    TABLE_ROWS,
    TABLES,
    WIDE,
    add_row,
    add_words,
    copy_bytes,
    fill_tables,
    number_columns,
    number_rows,
)
from genoviz.kernels.instructions import lowest_bit

ALL_CODES, MISSING, HETEROZYGOUS = range(3)
ITEMS = 32
"""Dense rows of a word."""
TILE = ITEMS * LANES
"""Samples of a line of packed genotypes."""
LOW_BITS, ONE = np.uint64(0x5555555555555555), np.uint64(1)
FIVE = 5
FIVE_ROWS = 3**FIVE
FIVE_GROUPS = 4
"""Bytes of a sample that are looked up at once."""
FIVE_BLOCK_ROWS = 2048
NARROW = 8
"""Bytes of a row of one column; several columns take ``WIDE`` bytes at once."""
CODE_DOSAGES = np.array([2, 0, 1, 0], np.uint8)


@njit(nogil=True, cache=True, parallel=True)
def add_products(
    packed, by_sample, kind, weights, rows, corrections, words, tables, n_rows, sums, missing_sums
):
    """Add to each block's sums the products of its rows of genotypes with the dense rows.

    Parameters
    ----------
    packed
        As in the contract, read-only.
    by_sample
        Whether sums are of samples (Z @ right), or of variants (Z.T @ left).
    kind
        The codes that count: all, or one kind, which then has state 1.
    weights
        Shape (3 n_items,): the factor of each state for each dense row; ``n_items`` is a multiple
        of 32.
    rows
        The planes of the dense rows.
    corrections
        Planes of the correction for each missing genotype, or empty.
    words, tables
        Workspace of each worker: uint64 (n_workers, 2, n_rows), or 8 n_rows for sums of variants;
        and the tables of two planes.
    n_rows
        Rows of a block: a multiple of 256 samples or of 8 variants.
    sums, missing_sums
        Shape (n_blocks, n_columns * n_rows): planes. ``corrections`` are added to
        ``missing_sums``, which may be the same array as ``sums``.
    """
    for worker in prange(len(words)):
        for block in range(worker, len(sums), len(words)):
            _add_block(
                packed, by_sample, kind, weights, rows, corrections, words[worker], tables[worker],
                block * n_rows, n_rows, sums[block], missing_sums[block],
            )  # fmt: skip


@njit(nogil=True, cache=True)
def _add_block(
    packed, by_sample, kind, weights, rows, corrections, words, tables, first, n_rows, sums,
    missing_sums,
):  # fmt: skip
    even, odd = words[0], words[1]
    n_items = len(weights) // 3
    row_words = n_rows // ITEMS if by_sample else LANES
    codes = np.zeros(row_words * (ITEMS if by_sample else LANES), np.uint64)
    step = ITEMS if by_sample else TILE
    for item in range(0, n_items, step):
        if by_sample:
            _copy_codes(packed, item, first >> 2, codes, row_words, kind)
            _add_missing(
                codes, row_words, True, corrections, item, n_items, missing_sums, 0, n_rows
            )
            for word in range(0, row_words, LANES):
                number_columns(codes, row_words, word, even, odd, word, row_words)
        else:
            for row in range(0, n_rows, LANES):
                _copy_codes(packed, first + row, item >> 2, codes, row_words, kind)
                _add_missing(
                    codes, row_words, False, corrections, item, n_items, missing_sums, row, n_rows
                )
                number_rows(codes, even, odd, row, n_rows)
        for k in range(0, min(step, n_items - item), ITEMS):
            _add_words(
                even,
                odd,
                k // ITEMS * n_rows,
                weights,
                rows,
                item + k,
                n_items,
                tables,
                sums,
                n_rows,
            )


@njit(nogil=True, cache=True)
def _copy_codes(packed, first_row, first_byte, codes, row_words, kind):
    """Copy bytes of packed rows to rows of words, and pad with zeros."""
    n_bytes = min(8 * row_words, packed.shape[1] - first_byte)
    n_rows = len(codes) // row_words
    n_here = max(min(n_rows, len(packed) - first_row), 0)
    if n_here < n_rows or n_bytes < 8 * row_words:
        codes[:] = 0
    for row in range(n_here):
        place = (first_row + row) * packed.shape[1] + first_byte
        copy_bytes(packed, place, codes, row * row_words, n_bytes)
    if kind == MISSING:
        for k in range(len(codes)):
            codes[k] = codes[k] & ~(codes[k] >> ONE) & LOW_BITS
    if kind == HETEROZYGOUS:
        for k in range(len(codes)):
            codes[k] = codes[k] >> ONE & ~codes[k] & LOW_BITS


@njit(nogil=True, cache=True)
def _add_missing(codes, row_words, by_sample, corrections, item, n_items, sums, first_row, n_rows):
    """Add the corrections of the missing genotypes in rows of words."""
    wide = WIDE // sums.itemsize
    n_wide, rest = len(sums) // n_rows // wide, len(sums) // n_rows % wide * sums.itemsize
    for first in range(0, len(codes) if len(corrections) else 0, LANES):
        found = np.uint64(0)
        for k in range(LANES):
            found |= codes[first + k] & ~(codes[first + k] >> ONE) & LOW_BITS
        if found == 0:
            continue
        row = first // row_words
        for k in range(LANES):
            word = first % row_words + k
            missing = codes[first + k] & ~(codes[first + k] >> ONE) & LOW_BITS
            while missing:
                place = np.int64(lowest_bit(missing)) >> 1
                missing &= missing - ONE
                if by_sample:
                    source, target = item + row, (8 * (place & 3) + (place >> 2)) * row_words + word
                else:
                    source, target = item + ITEMS * word + place, first_row + row
                add_row(corrections, source, n_items, sums, target, n_rows, n_wide, rest)


@njit(nogil=True, cache=True)
def _add_words(even, odd, word, weights, rows, item, n_items, tables, sums, n_rows):
    """Add the products of 32 dense rows, given by the words from ``word`` on, to sums."""
    wide = WIDE // sums.itemsize
    n_wide, rest = len(sums) // n_rows // wide, len(sums) // n_rows % wide
    rest_bytes = rest * sums.itemsize
    for plane in range(max(n_wide, 1)):
        first = wide * plane
        if n_wide:
            fill_tables(weights, rows, item, first * n_items + wide * item, WIDE, tables, 0)
        has_rest = rest and plane >= n_wide - 1
        if has_rest:
            source = wide * n_wide * n_items + rest * item
            target = TABLES * TABLE_ROWS * wide if n_wide else 0
            fill_tables(weights, rows, item, source, rest_bytes, tables, target)
        add_words(
            even, odd, word, tables, sums, first * n_rows, n_rows, WIDE if n_wide else 0,
            rest_bytes if has_rest else 0,
        )  # fmt: skip


def pack_five_codes(packed, n_samples):
    """Repack genotypes from 2 bits each to five in a byte."""
    five_codes = np.zeros((-(-len(packed) // FIVE), n_samples), np.uint8)
    view = np.asarray(packed).view()
    view.flags.writeable = False
    _pack_five(view, CODE_DOSAGES, five_codes)
    return five_codes


def multiply_five_codes(five_codes, n_variants, values, right):
    """Return Z @ right."""
    out = np.zeros((five_codes.shape[1], right.shape[1]), right.dtype)
    weights = np.zeros((-(-len(five_codes) // FIVE_GROUPS) * FIVE_GROUPS * FIVE, 3), right.dtype)
    weights[:n_variants] = values[:, [3, 2, 0]]
    for first, lanes in _iter_lanes(right):
        rows = np.zeros((len(weights), len(lanes)), right.dtype)
        columns = right[:, first : first + len(lanes)]
        rows[:n_variants, : columns.shape[1]] = columns
        sums = np.zeros((len(out), len(lanes)), right.dtype)
        _multiply_five(five_codes, weights, rows, lanes, sums)
        out[:, first : first + len(lanes)] = sums[:, : columns.shape[1]]
    return out


def multiply_five_codes_transposed(five_codes, n_variants, values, left):
    """Return Z.T @ left."""
    out = np.zeros((n_variants, left.shape[1]), left.dtype)
    weights = np.zeros((len(five_codes) * FIVE, 3), left.dtype)
    weights[:n_variants] = values[:, [3, 2, 0]]
    for first, lanes in _iter_lanes(left):
        columns = left[:, first : first + len(lanes)]
        rows = np.zeros((len(left), len(lanes)), left.dtype)
        rows[:, : columns.shape[1]] = columns
        sums = np.zeros((len(weights), len(lanes)), left.dtype)
        _multiply_five_transposed(five_codes, weights, rows, lanes, sums)
        out[:, first : first + len(lanes)] = sums[:n_variants, : columns.shape[1]]
    return out


def _iter_lanes(dense):
    """Yield groups of columns, each as a tuple whose length the compiler knows."""
    k = dense.shape[1]
    width = (NARROW if k == 1 else WIDE) // dense.itemsize
    for first in range(0, k, width):
        yield first, tuple(range(width))


@njit(nogil=True, cache=True, parallel=True)
def _pack_five(packed, code_dosages, five_codes):
    for group in prange(len(five_codes)):
        first = FIVE * group
        for j in range(min(first + FIVE, len(packed)) - 1, first - 1, -1):
            for i in range(five_codes.shape[1]):
                dosage = code_dosages[packed[j, i >> 2] >> (2 * (i & 3)) & 3]
                five_codes[group, i] = 3 * five_codes[group, i] + dosage


@njit(nogil=True, cache=True, parallel=True)
def _multiply_five(five_codes, weights, rows, lanes, sums):
    n_groups, n_samples = five_codes.shape
    n_blocks = -(-n_samples // FIVE_BLOCK_ROWS)
    for block in prange(n_blocks):
        first, last = n_samples * block // n_blocks, n_samples * (block + 1) // n_blocks
        tables = np.zeros((FIVE_GROUPS, FIVE_ROWS, len(lanes)), sums.dtype)
        n_wide, rest = _row_size(lanes, sums)
        for group in range(0, n_groups, FIVE_GROUPS):
            n_here = min(FIVE_GROUPS, n_groups - group)
            for k in range(FIVE_GROUPS):
                _fill_five_table(weights, rows, FIVE * (group + k), lanes, tables[k])
            # Missing groups are replaced by ones with tables of zeros.
            second, third = group + min(1, n_here - 1), group + min(2, n_here - 1)
            fourth = group + n_here - 1
            for i in range(first, last):
                a, b = five_codes[group, i], five_codes[second, i]
                c, d = five_codes[third, i], five_codes[fourth, i]
                add_row(tables, a, 0, sums, i, 0, n_wide, rest)
                add_row(tables, FIVE_ROWS + b, 0, sums, i, 0, n_wide, rest)
                add_row(tables, 2 * FIVE_ROWS + c, 0, sums, i, 0, n_wide, rest)
                add_row(tables, 3 * FIVE_ROWS + d, 0, sums, i, 0, n_wide, rest)


@njit(nogil=True, cache=True)
def _row_size(lanes, sums):
    """Return the arguments of ``add_row``: whether rows are wide, and their bytes if not."""
    size = len(lanes) * sums.itemsize
    return (1, 0) if size == WIDE else (0, size)


@njit(nogil=True, cache=True)
def _fill_five_table(weights, rows, first, lanes, table):
    """Fill a table with sums of five rows, weighted by dosages."""
    for lane in range(len(lanes)):
        table[0, lane] = 0
    n = 1
    for j in range(first, first + FIVE):
        for dosage in range(2, -1, -1):
            for code in range(n):
                for lane in range(len(lanes)):
                    term = weights[j, dosage] * rows[j, lane]
                    table[dosage * n + code, lane] = table[code, lane] + term
        n *= 3


@njit(nogil=True, cache=True, parallel=True)
def _multiply_five_transposed(five_codes, weights, rows, lanes, sums):
    n_groups, n_samples = five_codes.shape
    for group in prange(n_groups):
        buckets = np.zeros((FIVE_ROWS, len(lanes)), sums.dtype)
        n_wide, rest = _row_size(lanes, sums)
        for i in range(n_samples):
            add_row(rows, i, 0, buckets, five_codes[group, i], 0, n_wide, rest)
        n = 1
        for j in range(FIVE * group, FIVE * group + FIVE):
            for code in range(FIVE_ROWS):
                weight = weights[j, code // n % 3]
                for lane in range(len(lanes)):
                    sums[j, lane] += weight * buckets[code, lane]
            n *= 3


# Compiled with cpu_vectors.py, instructions.py: 42849d1d34cf89ee
