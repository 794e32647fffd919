"""Products of packed genotypes as sums of integers, on processors with a matrix unit.

The method is that of the GPU. Each entry of a dense column is rounded to 2^-54 (float32: 2^-30) of
the power of two above the column's largest, and split into digits of 8 bits. Products of digits
with the states of genotypes are summed exactly in 32 bits. So errors are relative to the largest
entry of a column; wide columns use another method::

    a number of a column        its digits, -128 to 127          states of genotypes
    x = 2^e (d0 + 256 d1 +      +----+----+----+ ... +----+
             65,536 d2 + ...)   | d6 | d5 | d4 |     | d0 |   x  0 1 1 2, or a code alone
                                +----+----+----+ ... +----+
                                   |    |    |          |     each summed over genotypes,
                                  s6   s5   s4         s0     exactly, in 32 bits
    sum of x times state  =  2^e (s0 + 256 s1 + 65,536 s2 + ...)

The value of a code is an offset, plus a slope times its state (0, 1, 1, 2), plus a remainder for
code 1 and one for code 2. For dosages, only missing genotypes have a remainder, so one product is
enough without missing genotypes, and two with them.

Sums of 256 samples or variants at a time use digits that stay in the L1 cache. AVX-512 dot products
(VNNI) on the same tiles were slower than tables for more than one column.

References
----------
Ootomo et al. 2024, DGEMM on Integer Matrix Multiplication Unit, arXiv:2306.11975.
"""

from itertools import pairwise
from typing import NamedTuple

import numba
import numpy as np
from numba import njit, prange

from genoviz.kernels.genotype_product.cpu_amx import (
    CHUNK,
    CODE_1,
    CODE_2,
    LINE,
    MAX_TILES,
    STATES,
    TILE_BYTES,
    TILE_ROWS,
    find_codes,
    multiply_tiles,
    spread_columns,
    spread_row,
    tile_shapes,
)
from genoviz.kernels.genotype_product.cpu_blocks import aligned_zeros, read_only

N_SLICES = {"float64": 7, "float32": 4}
STEP = 64
"""Rows of digits of a tile."""
SAMPLE_STEPS, VARIANT_STEPS = 6, 12
"""Tiles along the rows of digits that are expanded at a time, for sums of samples and variants."""
L1_STEPS = 6
"""Tiles multiplied before the next ones: their digits stay in the L1 cache."""
MAX_GROUPS = 3
"""Maximum groups of accumulator tiles of a product: more digits would not stay in the L2 cache."""
SUMS_BYTES = 960 << 10
"""Bytes of the L2 cache for the sums of a block of rows."""
MAX_VARIANTS = 1024
"""Maximum variants of a block: the line of each is in a memory page of its own."""
GROUPS, TILE_SUMS = CHUNK // TILE_ROWS, TILE_BYTES // 4


def multiply(packed, n_samples, values, right):
    """Return Z @ right, as the contract says."""
    offsets, weights = split_values(values)
    product = IntegerProduct(packed, n_samples, True)
    # NumPy's matrix product would leave its own threads waiting beside those needed next.
    out = np.tile(np.einsum("j,jl->l", offsets, right), (n_samples, 1))
    for kind in product.iter_kinds(weights):
        for digits in iter_digits(right, weights[kind], True):
            product.add(kind, digits, None, out)
    return out.astype(right.dtype, copy=False)


def multiply_transposed(packed, n_samples, values, left):
    """Return Z.T @ left, as the contract says."""
    offsets, weights = split_values(values)
    product = IntegerProduct(packed, n_samples, False)
    out = offsets[:, None] * left.sum(0, dtype=np.float64)
    groups = list(iter_digits(left, None, False))
    for kind in product.iter_kinds(weights):
        for digits in groups:
            product.add(kind, digits, weights[kind], out)
    return out.astype(left.dtype, copy=False)


def iter_digits(dense, weights, by_sample):
    """Yield the digits of as many columns of a dense matrix as one product takes.

    Parameters
    ----------
    dense
        float64 or float32, shape (rows, k).
    weights
        float64 (rows,) that rows are multiplied by, or None.
    by_sample
        Whether rows are variants, and products are of samples.
    """
    n_slices = N_SLICES[dense.dtype.name]
    rows = np.ascontiguousarray(dense, np.float64)
    weights = np.ones(len(rows)) if weights is None else np.ascontiguousarray(weights)
    largest = _find_largest(rows, weights)
    shifts = 8 * n_slices - 2 - np.frexp(largest)[1].astype(np.int64)
    # 2**shift may be out of range; the halves of the shift are not.
    halves, is_finite = np.array([shifts // 2, shifts - shifts // 2]), np.isfinite(largest)
    scales = np.where(is_finite, np.ldexp(1.0, -halves), np.nan)
    raises = np.where(is_finite, np.ldexp(1.0, halves), 0.0)
    n_steps = -(-len(rows) // CHUNK) * CHUNK // STEP
    maximum = MAX_TILES * TILE_ROWS // n_slices
    for first, last in pairwise(_split_evenly(dense.shape[1], MAX_GROUPS * maximum).tolist()):
        first_columns = first + _split_evenly(last - first, maximum)
        n_tiles = -(-np.diff(first_columns) * n_slices // TILE_ROWS)
        words = aligned_zeros(n_steps * n_tiles.sum() * TILE_BYTES, np.int8)
        _write_digits(
            rows, weights, raises, by_sample, n_slices, first_columns, n_tiles, n_steps, words
        )
        yield Digits(words, first_columns, n_tiles, scales, len(rows), n_slices)


def _split_evenly(n, maximum):
    """Return the bounds of equal parts of n, each of at most ``maximum``."""
    n_parts = -(-n // maximum)
    return np.array([n * part // n_parts for part in range(n_parts + 1)])


class Digits(NamedTuple):
    """Some columns of a dense matrix as digits, in tiles.

    Attributes
    ----------
    words
        int8: tiles of digits, in the order of the product.
    first_columns, n_tiles
        int64: first column and number of tiles of each group of columns; the former ends with the
        column after the last.
    scales
        float64 (2, k): two factors for the sums of digits of each column, applied in turn.
    n_items, n_slices
        Rows of the matrix, digits of an entry.
    """

    words: np.ndarray
    first_columns: np.ndarray
    n_tiles: np.ndarray
    scales: np.ndarray
    n_items: int
    n_slices: int


class IntegerProduct:
    """Sums of products of packed genotypes and the rows of dense matrices.

    Parameters
    ----------
    packed, n_samples
        As in the contract.
    by_sample
        Whether sums are of samples (Z @ dense), or of variants (Z.T @ dense).

    Attributes
    ----------
    max_steps
        Maximum steps accumulated in 32 bits without overflow: a product is below 2^8.
    """

    max_steps = 1 << 16

    def __init__(self, packed, n_samples, by_sample):
        self._packed = read_only(packed)
        self._by_sample = by_sample
        self._n_samples = n_samples
        self._n_sums = n_samples if by_sample else len(packed)

    def iter_kinds(self, weights):
        """Yield the kinds of codes that occur with nonzero weights; ``weights``: float64 (3, m)."""
        n_threads = numba.get_num_threads()
        for kind in (STATES, CODE_1, CODE_2):
            if weights[kind].any() and (
                kind == STATES or _has_codes(self._packed, self._n_samples, kind, n_threads)
            ):
                yield kind

    def add(self, kind, digits, weights, out):
        """Add the values of a kind of codes, times the dense rows, to the products.

        Parameters
        ----------
        kind
            `STATES`, `CODE_1` or `CODE_2`.
        digits
            `Digits`.
        weights
            float64, shape (sums,): factor of each row, or None.
        out
            float64, shape (sums, k), changed.
        """
        n_rows, n_blocks = self._split(digits)
        n_workers = min(numba.get_num_threads(), n_blocks)
        n_row_tiles = int(digits.n_tiles.sum()) * n_rows // TILE_ROWS
        _add_products(
            (self._packed, self._by_sample, kind), tuple(digits),
            np.ones(self._n_sums) if weights is None else np.ascontiguousarray(weights),
            tile_shapes(), aligned_zeros((n_workers, VARIANT_STEPS * CHUNK * STEP // 4), np.uint8),
            aligned_zeros((n_workers, VARIANT_STEPS * CHUNK * STEP), np.int8),
            aligned_zeros((n_workers, n_row_tiles * TILE_SUMS), np.int32), n_rows, n_blocks,
            self.max_steps, out,
        )  # fmt: skip

    def _split(self, digits):
        """Return the rows of a block and the number of blocks, so that threads are balanced."""
        n_chunks, n_threads = -(-self._n_sums // CHUNK), numba.get_num_threads()
        chunk_bytes = digits.n_tiles.sum() * TILE_BYTES * CHUNK // TILE_ROWS
        maximum = max(SUMS_BYTES // chunk_bytes, 1)
        if not self._by_sample:
            maximum = min(maximum, MAX_VARIANTS // CHUNK)
        n_rounds = -(-n_chunks // (maximum * n_threads))
        n_rows = -(-n_chunks // (n_rounds * n_threads)) * CHUNK
        return n_rows, -(-self._n_sums // n_rows)


def split_values(values):
    """Split the values of codes into a common offset and weights of the three kinds.

    Returns
    -------
    offsets, weights
        float64 (m,) and (3, m); weights are 0 where they are only rounding errors.
    """
    offsets, slopes = values[:, 0], (values[:, 3] - values[:, 0]) / 2
    rests = values[:, 1:3].T - offsets - slopes
    few_ulps = 16 * np.finfo(np.float64).eps
    rests[np.abs(rests) <= few_ulps * np.abs(values).max(1)] = 0
    return offsets, np.array([slopes, *rests])


@njit(nogil=True, cache=True)
def _find_largest(rows, weights):
    """Return the largest magnitude of each column; NaN if it contains one."""
    largest = np.zeros(rows.shape[1])
    for i in range(len(rows)):
        for column in range(rows.shape[1]):
            size = abs(rows[i, column] * weights[i])
            if not size <= largest[column] and not np.isnan(largest[column]):
                largest[column] = size
    return largest


@njit(nogil=True, cache=True, parallel=True)
def _write_digits(
    rows, weights, raises, by_sample, n_slices, first_columns, n_tiles, n_steps, words
):
    """Write digits to tiles.

    Tile ``t`` of step ``s`` has digit ``c % n_slices`` of column ``c // n_slices`` of the group in
    row ``c - 16 t`` if products are of samples, with rows of the matrix along it. Otherwise, each
    of its rows has four rows of the matrix for each of 16 digits.
    """
    round_up = np.int64(0)
    for k in range(n_slices):
        round_up += np.int64(128) << 8 * k
    for step in prange(n_steps):
        raised = np.empty(STEP, np.int64)
        first_byte = 0
        for group in range(len(n_tiles)):
            place = first_byte + step * n_tiles[group] * TILE_BYTES
            first_byte += n_steps * n_tiles[group] * TILE_BYTES
            first_column = first_columns[group]
            for column in range(first_column, first_columns[group + 1]):
                raised[:] = 0
                raise_by, raise_again = raises[0, column], raises[1, column]
                for entry in range(STEP):
                    i = STEP * step + entry
                    if not by_sample:
                        i = CHUNK * (step // 4) + 4 * entry + step % 4
                    if i < len(rows) and raise_by:
                        number = rows[i, column] * weights[i] * raise_by * raise_again
                        raised[entry] = np.int64(np.rint(number))
                for k in range(n_slices):
                    digit = (column - first_column) * n_slices + k
                    row, at = digit % TILE_ROWS, place + digit // TILE_ROWS * TILE_BYTES
                    if by_sample:
                        at += LINE * row
                        for entry in range(STEP):
                            words[at + entry] = ((raised[entry] + round_up >> 8 * k) & 255) - 128
                    else:
                        at += 4 * row
                        for four in range(STEP // 4):
                            for own in range(4):
                                of_digit = (raised[4 * four + own] + round_up >> 8 * k) & 255
                                words[at + LINE * four + own] = of_digit - 128


@njit(nogil=True, cache=True, parallel=True)
def _has_codes(packed, n_samples, kind, n_workers):
    """Return whether any genotype has a code of the kind."""
    found = np.zeros(n_workers, np.bool_)
    lines = n_samples // 4 // LINE * LINE
    for worker in prange(n_workers):
        for row in range(worker, len(packed), n_workers):
            of_row = 0
            for byte in range(0, lines, LINE):
                of_row |= find_codes(kind, packed, row * packed.shape[1] + byte, LINE)
            for i in range(4 * lines, n_samples):
                of_row |= (packed[row, i >> 2] >> 2 * (i & 3) & 3) == kind
            if of_row:
                found[worker] = True
                break
    return found.any()


@njit(nogil=True, cache=True, parallel=True)
def _add_products(
    genotypes, digits, weights, shapes, codes, tiles, sums, n_rows, n_blocks, max_summed, out
):
    """Add products; ``genotypes`` is (packed, by_sample, kind), ``digits`` a plain `Digits`."""
    by_sample, n_items = genotypes[1], digits[4]
    n_all_steps = -(-n_items // CHUNK) * (CHUNK // STEP)
    max_steps = SAMPLE_STEPS if by_sample else VARIANT_STEPS
    for worker in prange(len(codes)):
        for block in range(worker, n_blocks, len(codes)):
            first = block * n_rows
            n_summed = 0
            sums[worker, :] = 0
            for step in range(0, n_all_steps, max_steps):
                if n_summed >= max_summed:
                    _take_sums(by_sample, digits, first, weights, sums[worker], n_rows, out)
                    n_summed = 0
                n_summed += max_steps
                n_steps = min(max_steps, n_all_steps - step)
                _add_steps(
                    genotypes, digits, step, n_steps, first, n_rows, shapes, codes[worker],
                    tiles[worker], sums[worker],
                )  # fmt: skip
            _take_sums(by_sample, digits, first, weights, sums[worker], n_rows, out)


@njit(nogil=True, cache=True)
def _add_steps(genotypes, digits, step, n_steps, first, n_rows, shapes, codes, tiles, sums):
    """Add the products of some steps to the sums of a block of rows."""
    packed, by_sample, kind = genotypes
    words, _, n_tiles, _, n_items, _ = digits
    n_all_steps = -(-n_items // CHUNK) * (CHUNK // STEP)
    n_bytes = LINE if by_sample else n_steps * STEP // 4
    n_lines = n_steps * STEP if by_sample else CHUNK
    for chunk in range(n_rows // CHUNK):
        row, byte = first + chunk * CHUNK, step * STEP // 4
        if by_sample:
            row, byte = step * STEP, row // 4
        width = packed.shape[1]
        if row + n_lines <= len(packed) and byte + n_bytes <= width:
            ahead = SAMPLE_STEPS * STEP * width if by_sample else n_bytes
            has_any = _spread(
                kind, packed, row * width + byte, width, ahead, by_sample, n_steps, tiles
            )
        else:
            _copy_codes(packed, row, n_lines, byte, n_bytes, codes)
            has_any = _spread(kind, codes, 0, n_bytes, 0, by_sample, n_steps, tiles)
        if not has_any:
            continue
        first_digit, first_sum = 0, 0
        for n in n_tiles:
            for some in range(0, n_steps, L1_STEPS):
                n_some = min(L1_STEPS, n_steps - some)
                multiply_tiles(
                    by_sample, n, tiles[some * TILE_BYTES :], (n_steps - n_some) * TILE_BYTES,
                    words[first_digit + (step + some) * n * TILE_BYTES :], n_some,
                    sums[first_sum + chunk * GROUPS * n * TILE_SUMS :], GROUPS, shapes,
                )  # fmt: skip
            first_digit += n_all_steps * n * TILE_BYTES
            first_sum += n_rows // TILE_ROWS * n * TILE_SUMS


@njit(nogil=True, cache=True)
def _spread(kind, codes, first_byte, row_bytes, ahead, by_sample, n_steps, tiles):
    """Write the tiles of some steps of 256 sums, 16 each; return whether any value is not 0."""
    n_lines, lines_of_row = (n_steps * STEP, 1) if by_sample else (CHUNK, n_steps * STEP // CHUNK)
    if kind != STATES:
        found = 0
        for line in range(n_lines):
            for k in range(lines_of_row):
                found |= find_codes(kind, codes, first_byte + line * row_bytes + k * LINE, ahead)
        if found == 0:
            return False
    group_bytes = n_steps * TILE_BYTES
    if by_sample:
        for line in range(0, n_lines, 4):
            place = line // STEP * TILE_BYTES + line % STEP * (LINE // 4)
            byte = first_byte + line * row_bytes
            spread_columns(kind, codes, byte, row_bytes, ahead, tiles, place, group_bytes)
    else:
        for line in range(n_lines):
            for k in range(lines_of_row):
                place = line // TILE_ROWS * group_bytes + line % TILE_ROWS * LINE
                byte = first_byte + line * row_bytes + k * LINE
                spread_row(kind, codes, byte, ahead, tiles, place + 4 * k * TILE_BYTES, TILE_BYTES)
    return True


@njit(nogil=True, cache=True)
def _copy_codes(packed, first_row, n_rows, first_byte, n_bytes, codes):
    """Copy bytes of packed rows, and pad with zeros."""
    n_here = max(min(n_bytes, packed.shape[1] - first_byte), 0)
    codes[: n_rows * n_bytes] = 0
    for row in range(max(min(n_rows, len(packed) - first_row), 0)):
        for k in range(n_here):
            codes[row * n_bytes + k] = packed[first_row + row, first_byte + k]


@njit(nogil=True, cache=True)
def _take_sums(by_sample, digits, first, weights, sums, n_rows, out):
    """Add the sums of a block to the products, and reset them to 0."""
    _, first_columns, n_tiles, scales, _, n_slices = digits
    for row in range(min(n_rows, len(out) - first)):
        # `spread_columns` defines the order of samples in the tiles of a chunk.
        group, place = row // TILE_ROWS, row % TILE_ROWS
        if by_sample:
            group = row // CHUNK * TILE_ROWS + (row >> 2) % TILE_ROWS
            place = 4 * (row // STEP % 4) + row % 4
        first_sum = 0
        for column_group in range(len(n_tiles)):
            n = n_tiles[column_group]
            tile = first_sum + group * n * TILE_SUMS
            first_sum += n_rows // TILE_ROWS * n * TILE_SUMS
            digit = 0
            for column in range(first_columns[column_group], first_columns[column_group + 1]):
                total = 0.0
                for k in range(digit + n_slices - 1, digit - 1, -1):
                    at = tile + k // TILE_ROWS * TILE_SUMS
                    if by_sample:
                        at += TILE_ROWS * (k % TILE_ROWS) + place
                    else:
                        at += TILE_ROWS * place + k % TILE_ROWS
                    total = 256 * total + sums[at]
                digit += n_slices
                total = total * scales[0, column] * scales[1, column]
                out[first + row, column] += weights[first + row] * total
    sums[:] = 0


# Compiled with genoviz/kernels/genotype_product/cpu_amx.py: e9b1a457ab8e267c
