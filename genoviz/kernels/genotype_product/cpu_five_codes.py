"""Products of genotypes of which five lie in a byte ("5codes"), on all cores.

A byte of ``five_codes``, uint8 of shape ((m + 4) // 5, n), is ``d0 + 3 d1 + 9 d2 + 27 d3 + 81 d4``
for the dosages of one sample at five variants: 80 % of the size of packed genotypes. A missing one
has dosage 0, and counts as that. The rest is as in the contract, in this folder's ``__init__``.

``multiply`` looks up sums of five rows in tables; ``multiply_transposed`` sums up the rows of
samples of the same byte before it sorts them by dosages.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.genotype_product.cpu_vectors import WIDE, add_row

VARIANTS = 5
TABLE_ROWS = 3**VARIANTS
GROUPS = 4
"""Bytes of a sample that are looked up at once."""
BLOCK_ROWS = 2048
NARROW = 8
"""Bytes of a row of one column; of more there are ``WIDE`` bytes at once."""
CODE_DOSAGES = np.array([2, 0, 1, 0], np.uint8)


def pack_five_codes(packed, n_samples):
    """Return genotypes, five in a byte, of those packed at 2 bits."""
    five_codes = np.zeros((-(-len(packed) // VARIANTS), n_samples), np.uint8)
    view = np.asarray(packed).view()
    view.flags.writeable = False
    _pack(view, CODE_DOSAGES, five_codes)
    return five_codes


def multiply_five_codes(five_codes, n_variants, values, right):
    """Return Z @ right."""
    out = np.zeros((five_codes.shape[1], right.shape[1]), right.dtype)
    weights = np.zeros((-(-len(five_codes) // GROUPS) * GROUPS * VARIANTS, 3), right.dtype)
    weights[:n_variants] = values[:, [3, 2, 0]]
    for first, lanes in _iter_lanes(right):
        rows = np.zeros((len(weights), len(lanes)), right.dtype)
        columns = right[:, first : first + len(lanes)]
        rows[:n_variants, : columns.shape[1]] = columns
        sums = np.zeros((len(out), len(lanes)), right.dtype)
        _multiply(five_codes, weights, rows, lanes, sums)
        out[:, first : first + len(lanes)] = sums[:, : columns.shape[1]]
    return out


def multiply_five_codes_transposed(five_codes, n_variants, values, left):
    """Return Z.T @ left."""
    out = np.zeros((n_variants, left.shape[1]), left.dtype)
    weights = np.zeros((len(five_codes) * VARIANTS, 3), left.dtype)
    weights[:n_variants] = values[:, [3, 2, 0]]
    for first, lanes in _iter_lanes(left):
        columns = left[:, first : first + len(lanes)]
        rows = np.zeros((len(left), len(lanes)), left.dtype)
        rows[:, : columns.shape[1]] = columns
        sums = np.zeros((len(weights), len(lanes)), left.dtype)
        _multiply_transposed(five_codes, weights, rows, lanes, sums)
        out[:, first : first + len(lanes)] = sums[:n_variants, : columns.shape[1]]
    return out


def _iter_lanes(dense):
    """Yield the columns that go together, as a tuple whose length the compiler knows."""
    k = dense.shape[1]
    width = (NARROW if k == 1 else WIDE) // dense.itemsize
    for first in range(0, k, width):
        yield first, tuple(range(width))


@njit(nogil=True, cache=True, parallel=True)
def _pack(packed, code_dosages, five_codes):
    for group in prange(len(five_codes)):
        first = VARIANTS * group
        for j in range(min(first + VARIANTS, len(packed)) - 1, first - 1, -1):
            for i in range(five_codes.shape[1]):
                dosage = code_dosages[packed[j, i >> 2] >> (2 * (i & 3)) & 3]
                five_codes[group, i] = 3 * five_codes[group, i] + dosage


@njit(nogil=True, cache=True, parallel=True)
def _multiply(five_codes, weights, rows, lanes, sums):
    n_groups, n_samples = five_codes.shape
    n_blocks = -(-n_samples // BLOCK_ROWS)
    for block in prange(n_blocks):
        first, last = n_samples * block // n_blocks, n_samples * (block + 1) // n_blocks
        tables = np.zeros((GROUPS, TABLE_ROWS, len(lanes)), sums.dtype)
        n_wide, rest = _row_size(lanes, sums)
        for group in range(0, n_groups, GROUPS):
            n_here = min(GROUPS, n_groups - group)
            for k in range(GROUPS):
                _fill_table(weights, rows, VARIANTS * (group + k), lanes, tables[k])
            # Groups that are not there have tables of zeros.
            second, third = group + min(1, n_here - 1), group + min(2, n_here - 1)
            fourth = group + n_here - 1
            for i in range(first, last):
                a, b = five_codes[group, i], five_codes[second, i]
                c, d = five_codes[third, i], five_codes[fourth, i]
                add_row(tables, a, 0, sums, i, 0, n_wide, rest)
                add_row(tables, TABLE_ROWS + b, 0, sums, i, 0, n_wide, rest)
                add_row(tables, 2 * TABLE_ROWS + c, 0, sums, i, 0, n_wide, rest)
                add_row(tables, 3 * TABLE_ROWS + d, 0, sums, i, 0, n_wide, rest)


@njit(nogil=True, cache=True)
def _row_size(lanes, sums):
    """Return what ``add_row`` asks for: whether rows are wide, and their bytes where not."""
    size = len(lanes) * sums.itemsize
    return (1, 0) if size == WIDE else (0, size)


@njit(nogil=True, cache=True)
def _fill_table(weights, rows, first, lanes, table):
    """Fill a table with sums of five rows, weighted by dosages."""
    for lane in range(len(lanes)):
        table[0, lane] = 0
    n = 1
    for j in range(first, first + VARIANTS):
        for dosage in range(2, -1, -1):
            for code in range(n):
                for lane in range(len(lanes)):
                    term = weights[j, dosage] * rows[j, lane]
                    table[dosage * n + code, lane] = table[code, lane] + term
        n *= 3


@njit(nogil=True, cache=True, parallel=True)
def _multiply_transposed(five_codes, weights, rows, lanes, sums):
    n_groups, n_samples = five_codes.shape
    for group in prange(n_groups):
        buckets = np.zeros((TABLE_ROWS, len(lanes)), sums.dtype)
        n_wide, rest = _row_size(lanes, sums)
        for i in range(n_samples):
            add_row(rows, i, 0, buckets, five_codes[group, i], 0, n_wide, rest)
        n = 1
        for j in range(VARIANTS * group, VARIANTS * group + VARIANTS):
            for code in range(TABLE_ROWS):
                weight = weights[j, code // n % 3]
                for lane in range(len(lanes)):
                    sums[j, lane] += weight * buckets[code, lane]
            n *= 3


# Compiled with genoviz/kernels/genotype_product/cpu_vectors.py: 9423bfc3644a7dd4
