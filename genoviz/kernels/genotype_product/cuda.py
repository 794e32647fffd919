"""Genotype products on one GPU; the contract is in this folder's ``__init__``.

Products are sums of integers on tensor cores (compute capability 8.0 or newer). Each entry of a
dense column is rounded to 2^-55 (float32: 2^-31) of the power of two above the column's largest,
and split into digits of 8 bits. Products of digits with genotypes are summed exactly in 32 bits.
So errors are relative to the largest entry of a column; wide columns are recomputed in float64,
genotype by genotype. Missing genotypes that do not count as a dosage need a second product, for
the blocks of 512 rows that contain some.

References
----------
Ootomo et al. 2024, DGEMM on Integer Matrix Multiplication Unit, arXiv:2306.11975.
"""

import cupy
import cupyx
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.genotype_product.cuda_digits import (
    BLOCK_CHOICES,
    Values,
    split_columns,
    sum_columns,
)
from genoviz.kernels.genotype_product.cuda_integers import IntegerProduct
from genoviz.kernels.genotype_product.wide_columns import find_wide_columns

COMPILE_OPTIONS = tuple((f"-DN_BLOCKS={n}",) for n in BLOCK_CHOICES)
COUNT_THREADS = 128
WIDE_SOURCE = "float64_product.cu"
WIDE_THREADS = 256
MAX_BLOCKS = 2**31 - 1
BLOCK_BYTES = 1 << 28
FREE_SHARE = 8


def multiply(packed, n_samples, values, right, *, block_bytes=None):
    """Return Z @ right.

    ``block_bytes``: bytes of ``packed`` sent to the card at a time if it is on the host.
    """
    dense = cupy.asarray(right, np.float64)
    out = cupy.zeros((n_samples, dense.shape[1]))
    if out.size and len(packed):
        of_codes = cupy.asarray(values, np.float64)
        is_wide = find_wide_columns(dense, abs(of_codes).max(1))
        values = Values(of_codes)
        out += sum_columns(dense, values.offsets)
        for variants, block in _iter_blocks(packed, block_bytes):
            rows, weights = dense[variants], values.weights[:, variants]
            product = IntegerProduct(block, n_samples, is_transposed=False)
            for component in values.iter_components():
                own = weights[component]
                for digits in split_columns(rows, own, right.dtype, is_transposed=False):
                    product.add(digits, component, None, out)
        # The host waits for the wide columns only after it has queued the product of the others.
        wide = cupy.flatnonzero(is_wide)
        if wide.size:
            out[:, wide] = _multiply_wide(packed, n_samples, of_codes, dense[:, wide], block_bytes)
    return _placed_like(right, out)


def multiply_transposed(packed, n_samples, values, left, *, block_bytes=None):
    """Return Z.T @ left.

    ``block_bytes``: bytes of ``packed`` sent to the card at a time if it is on the host.
    """
    dense = cupy.asarray(left, np.float64)
    out = cupy.zeros((len(packed), dense.shape[1]))
    if out.size and n_samples:
        of_codes = cupy.asarray(values, np.float64)
        is_wide = find_wide_columns(dense)
        values = Values(of_codes)
        cupy.multiply(values.offsets[:, None], sum_columns(dense, None), out)
        groups = list(split_columns(dense, None, left.dtype, is_transposed=True))
        for variants, block in _iter_blocks(packed, block_bytes):
            rows, weights = out[variants], values.weights[:, variants]
            product = IntegerProduct(block, n_samples, is_transposed=True)
            for component in values.iter_components():
                for digits in groups:
                    product.add(digits, component, weights[component], rows)
        wide = cupy.flatnonzero(is_wide)
        if wide.size:
            out[:, wide] = _multiply_wide_transposed(
                packed, n_samples, of_codes, dense[:, wide], block_bytes
            )
    return _placed_like(left, out)


def count_codes(packed, n_samples, *, block_bytes=None):
    """Return the number of samples with each code at each variant.

    ``block_bytes``: bytes of ``packed`` sent to the card at a time if it is on the host.
    """
    counts = cupy.zeros((len(packed), 4), np.int64)
    if len(packed) and n_samples:
        count = load_module(__package__, "code_counts.cu").get_function("count_codes")
        for variants, block in _iter_blocks(packed, block_bytes):
            arguments = (block, np.int64(len(block)), np.int64(block.shape[1]), np.int64(n_samples))
            n_blocks = min(len(block), 2**31 - 1)
            count((n_blocks,), (COUNT_THREADS,), (*arguments, counts[variants]))
    return counts if isinstance(packed, cupy.ndarray) else counts.get()


def _placed_like(dense, out):
    out = out.astype(dense.dtype, copy=False)
    return out if isinstance(dense, cupy.ndarray) else out.get()


def _multiply_wide(packed, n_samples, values, right, block_bytes):
    """Return Z @ right, float64 on the card; ``right`` is float64 (m, k) there."""
    out = cupy.zeros((n_samples, right.shape[1]))
    for variants, block in _iter_blocks(packed, block_bytes):
        n_blocks = -(-out.size // WIDE_THREADS)
        sizes = n_blocks, block, n_samples
        _launch_wide("multiply_samples", *sizes, values[variants], right[variants], out)
    return out


def _multiply_wide_transposed(packed, n_samples, values, left, block_bytes):
    """Return Z.T @ left, float64 on the card; ``left`` is float64 (n, k) there."""
    out = cupy.zeros((len(packed), left.shape[1]))
    for variants, block in _iter_blocks(packed, block_bytes):
        n_blocks = min(len(block), MAX_BLOCKS)
        sizes = n_blocks, block, n_samples
        _launch_wide("multiply_variants", *sizes, values[variants], left, out[variants])
    return out


def _launch_wide(name, n_blocks, block, n_samples, values, dense, out):
    values, dense = cupy.ascontiguousarray(values), cupy.ascontiguousarray(dense)
    kernel = load_module(__package__, WIDE_SOURCE).get_function(name)
    sizes = np.int64(len(block)), np.int64(block.shape[1]), np.int64(n_samples)
    kernel(
        (n_blocks,), (WIDE_THREADS,), (block, *sizes, values, dense, np.int64(dense.shape[1]), out)
    )


def _iter_blocks(packed, block_bytes):
    """Yield slices of variants and the packed genotypes of each, on the card.

    An array on the card is one block. From the host, a block is copied while the one before it is
    multiplied: to pinned memory, and from there on a stream of its own. A block is valid until the
    next one is requested.
    """
    if isinstance(packed, cupy.ndarray):
        yield slice(0, len(packed)), cupy.ascontiguousarray(packed)
        return
    if block_bytes is None:
        block_bytes = min(BLOCK_BYTES, cupy.cuda.Device().mem_info[0] // FREE_SHARE)
    n_rows = max(block_bytes // max(packed.shape[1], 1), 1)
    if len(packed) <= n_rows:
        yield slice(0, len(packed)), cupy.asarray(packed)
    else:
        yield from _iter_sent(packed, n_rows)


class _Buffer:
    """Memory for a block on the host and on the card, with events that signal when it is free."""

    def __init__(self, shape):
        self.host = cupyx.empty_pinned(shape, np.uint8)
        self.card = cupy.empty(shape, np.uint8)
        self.is_sent = cupy.cuda.Event(disable_timing=True)
        self.is_used = cupy.cuda.Event(disable_timing=True)
        self.is_used.record()


def _iter_sent(packed, n_rows):
    copying = cupy.cuda.Stream(non_blocking=True)
    buffers = [_Buffer((n_rows, packed.shape[1])) for _ in range(2)]
    try:
        for number, start in enumerate(range(0, len(packed), n_rows)):
            variants = slice(start, min(start + n_rows, len(packed)))
            n = variants.stop - start
            buffer = buffers[number % 2]
            buffer.is_sent.synchronize()
            buffer.host[:n] = packed[variants]
            copying.wait_event(buffer.is_used)
            buffer.card[:n].set(buffer.host[:n], stream=copying)
            buffer.is_sent.record(copying)
            cupy.cuda.get_current_stream().wait_event(buffer.is_sent)
            yield variants, buffer.card[:n]
            buffer.is_used.record()
    finally:
        copying.synchronize()
