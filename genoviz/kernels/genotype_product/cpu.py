"""Genotype products on all cores; the contract is in this folder's ``__init__``.

With a matrix unit, products are sums of integers; otherwise they are computed from tables.

Wide columns are multiplied genotype by genotype, like a dense matrix: terms of 0 add no error, and
infinities and NaN give NumPy's results. Partial sums of 1,024 terms are added up, which keeps
errors below 1e-12 of the sum of magnitudes of terms.
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.genotype_product import cpu_integers
from genoviz.kernels.genotype_product.cpu_amx import has_amx
from genoviz.kernels.genotype_product.cpu_blocks import BlockedProduct, read_only
from genoviz.kernels.genotype_product.cpu_tables import (
    ALL_CODES,
    HETEROZYGOUS,
    MISSING,
    multiply_five_codes,
    multiply_five_codes_transposed,
    pack_five_codes,
)
from genoviz.kernels.genotype_product.wide_columns import MAX_SMALL, SMALL
from genoviz.kernels.instructions import count_ones

__all__ = [
    "count_codes",
    "has_amx",
    "multiply",
    "multiply_five_codes",
    "multiply_five_codes_transposed",
    "multiply_transposed",
    "pack_five_codes",
]

FEW_MISSING = 0.008
"""Maximum share of missing genotypes to add one by one, which is cheaper than a second product."""
SAMPLED_VARIANTS = 256
LOW_BITS, ONE = np.uint64(0x5555555555555555), np.uint64(1)
STATE_DOSAGES = 2.0, 1.0, 0.0
KIND_WEIGHTS = 0.0, 1.0, 0.0
ROUNDING = 8 * np.finfo(np.float64).eps
CHUNK = 1024
BYTES = 64
"""Bytes of packed samples that a thread processes at a time."""


def multiply(packed, n_samples, values, right, *, matrix_unit=True):
    """Return Z @ right."""
    if not (n_samples and right.size):
        return np.zeros((n_samples, right.shape[1]), right.dtype)
    is_wide = _find_wide(right, np.abs(values).max(1))
    narrow = cpu_integers.multiply if matrix_unit and has_amx() else _multiply_narrow
    ways = narrow, _multiply_wide
    return _by_width(ways, is_wide, packed, n_samples, values, right)


def multiply_transposed(packed, n_samples, values, left, *, matrix_unit=True):
    """Return Z.T @ left."""
    if not (len(packed) and left.size):
        return np.zeros((len(packed), left.shape[1]), left.dtype)
    uses_unit = matrix_unit and has_amx()
    narrow = cpu_integers.multiply_transposed if uses_unit else _multiply_narrow_transposed
    ways = narrow, _multiply_wide_transposed
    return _by_width(ways, _find_wide(left, np.ones(len(left))), packed, n_samples, values, left)


def _find_wide(dense, weights):
    """Return the result of `find_wide_columns`, but faster."""
    largest, n_small, n_some = _measure(dense, weights, SMALL)
    return ~(largest < np.inf) | (n_small > MAX_SMALL * n_some)


def _by_width(ways, is_wide, packed, n_samples, values, dense):
    """Return the product: narrow columns by the first method, wide ones by the second."""
    if is_wide.all() or not is_wide.any():
        return ways[int(is_wide[0])](packed, n_samples, values, dense)
    narrow, wide = (
        way(packed, n_samples, values, np.ascontiguousarray(dense[:, chosen]))
        for way, chosen in zip(ways, (~is_wide, is_wide), strict=True)
    )
    out = np.empty((len(wide), dense.shape[1]), dense.dtype)
    out[:, ~is_wide], out[:, is_wide] = narrow, wide
    return out


def _multiply_narrow(packed, n_samples, values, right):
    product = BlockedProduct(packed, n_samples, True, right)
    weights, errors = values[:, [0, 2, 3]], values[:, 1] - values[:, 2]
    if not errors.any():
        return product.add(ALL_CODES, weights)
    if _has_few_missing(packed):
        corrections = (errors[:, None] * right).astype(right.dtype)
        return product.add_with_corrections(ALL_CODES, weights, corrections)
    out = product.add(ALL_CODES, weights)
    out += product.add(MISSING, errors[:, None] * np.array([KIND_WEIGHTS]))
    return out


def _multiply_narrow_transposed(packed, n_samples, values, left):
    """Return Z.T @ left.

    The tables are those of dosages for all variants, and their sums are scaled for each variant.
    Values that are not linear in the dosage, such as codes of dominance, need a second product.
    """
    base, slopes = values[:, 3], (values[:, 0] - values[:, 3]) / 2
    curves, errors = values[:, 2] - base - slopes, values[:, 1] - base - slopes
    is_linear = (np.abs(curves) <= ROUNDING * np.abs(values).max(1)).all()
    product = BlockedProduct(packed, n_samples, False, left)
    dosages, indicator = (np.tile(row, (n_samples, 1)) for row in (STATE_DOSAGES, KIND_WEIGHTS))
    missing_sums = None
    if errors.any() and _has_few_missing(packed):
        out, missing_sums = product.add_and_sum_missing(ALL_CODES, dosages)
    else:
        out = product.add(ALL_CODES, dosages)
        if errors.any():
            missing_sums = product.add(MISSING, indicator)
    out *= slopes[:, None].astype(out.dtype)
    out += np.multiply.outer(base, left.sum(0, dtype=np.float64)).astype(out.dtype, copy=False)
    if missing_sums is not None:
        missing_sums *= errors[:, None].astype(out.dtype)
        out += missing_sums
    if not is_linear:
        out += curves[:, None].astype(out.dtype) * product.add(HETEROZYGOUS, indicator)
    return out


def count_codes(packed, n_samples):
    """Return the number of samples with each code at each variant."""
    counts = np.zeros((len(packed), 4), np.int64)
    _count_codes(read_only(packed), n_samples, counts)
    return counts


def _has_few_missing(packed):
    """Return whether few genotypes are missing, by a sample of variants."""
    some = packed[:: max(1, len(packed) // SAMPLED_VARIANTS)]
    n_missing = np.bitwise_count(some & ~(some >> 1) & 0x55).sum()
    return n_missing <= FEW_MISSING * 4 * some.size


@njit(nogil=True, cache=True)
def _measure(dense, weights, small):
    """Return the largest size of each column, and its number of small nonzero entries."""
    k = dense.shape[1]
    largest, n_small, n_some = np.zeros(k), np.zeros(k, np.int64), np.zeros(k, np.int64)
    for i in range(len(dense)):
        for column in range(k):
            size = abs(dense[i, column]) * weights[i]
            if not size <= largest[column] and not np.isnan(largest[column]):
                largest[column] = size
    limits = small * largest
    for i in range(len(dense)):
        for column in range(k):
            size = abs(dense[i, column]) * weights[i]
            n_some[column] += size > 0
            n_small[column] += (size > 0) & (size < limits[column])
    return largest, n_small, n_some


@njit(nogil=True, cache=True, parallel=True)
def _count_codes(packed, n_samples, counts):
    n_words = n_samples >> 5
    for j in prange(len(packed)):
        missing, heterozygous, second = np.uint64(0), np.uint64(0), np.uint64(0)
        for word in packed[j, : 8 * n_words].view(np.uint64):  # 32 genotypes each
            low, high = word & LOW_BITS, word >> ONE & LOW_BITS
            missing += count_ones(low & ~high)
            heterozygous += count_ones(high & ~low)
            second += count_ones(low & high)
        counts[j, 1], counts[j, 2], counts[j, 3] = missing, heterozygous, second
        counts[j, 0] = 32 * n_words - counts[j, 1:].sum()
        for i in range(32 * n_words, n_samples):
            counts[j, packed[j, i >> 2] >> 2 * (i & 3) & 3] += 1


def _multiply_wide(packed, n_samples, values, right):
    """Return Z @ right."""
    out = np.zeros((n_samples, right.shape[1]))
    columns = np.ascontiguousarray(right, np.float64)
    _sum_wide(read_only(packed), np.ascontiguousarray(values), columns, out)
    return out.astype(right.dtype, copy=False)


def _multiply_wide_transposed(packed, n_samples, values, left):
    """Return Z.T @ left."""
    out = np.zeros((len(packed), left.shape[1]))
    columns = np.ascontiguousarray(left[:n_samples], np.float64)
    _sum_wide_transposed(read_only(packed), np.ascontiguousarray(values), columns, out)
    return out.astype(left.dtype, copy=False)


@njit(nogil=True, cache=True, parallel=True)
def _sum_wide(packed, values, right, out):
    n_samples, k = out.shape
    for block in prange(-(-n_samples // (4 * BYTES))):
        first = 4 * BYTES * block
        n_here = min(4 * BYTES, n_samples - first)
        sums = np.empty((n_here, k))
        for start in range(0, len(packed), CHUNK):
            sums[:] = 0.0
            for j in range(start, min(start + CHUNK, len(packed))):
                for i in range(n_here):
                    sample = first + i
                    code = packed[j, sample >> 2] >> 2 * (sample & 3) & 3
                    for column in range(k):
                        sums[i, column] += values[j, code] * right[j, column]
            for i in range(n_here):
                for column in range(k):
                    out[first + i, column] += sums[i, column]


@njit(nogil=True, cache=True, parallel=True)
def _sum_wide_transposed(packed, values, left, out):
    k = out.shape[1]
    for j in prange(len(packed)):
        for start in range(0, len(left), CHUNK):
            sums = np.zeros(k)
            for i in range(start, min(start + CHUNK, len(left))):
                code = packed[j, i >> 2] >> 2 * (i & 3) & 3
                for column in range(k):
                    sums[column] += values[j, code] * left[i, column]
            for column in range(k):
                out[j, column] += sums[column]


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
