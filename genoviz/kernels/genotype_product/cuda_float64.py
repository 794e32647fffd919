"""Products in float64 on one GPU, genotype by genotype, for columns that are wide."""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.genotype_product.cuda_blocks import iter_blocks

SOURCE = "float64_product.cu"
THREADS = 256
MAX_BLOCKS = 2**31 - 1


def multiply(packed, n_samples, values, right, block_bytes):
    """Return Z @ right, float64 on the card; ``right`` is float64 (m, k) there."""
    out = cupy.zeros((n_samples, right.shape[1]))
    for variants, block in iter_blocks(packed, block_bytes):
        n_blocks = -(-out.size // THREADS)
        _launch("multiply_samples", n_blocks, block, n_samples, values[variants], right[variants],
                out)  # fmt: skip
    return out


def multiply_transposed(packed, n_samples, values, left, block_bytes):
    """Return Z.T @ left, float64 on the card; ``left`` is float64 (n, k) there."""
    out = cupy.zeros((len(packed), left.shape[1]))
    for variants, block in iter_blocks(packed, block_bytes):
        n_blocks = min(len(block), MAX_BLOCKS)
        _launch("multiply_variants", n_blocks, block, n_samples, values[variants], left,
                out[variants])  # fmt: skip
    return out


def _launch(name, n_blocks, block, n_samples, values, dense, out):
    values, dense = cupy.ascontiguousarray(values), cupy.ascontiguousarray(dense)
    kernel = load_module(__package__, SOURCE).get_function(name)
    sizes = np.int64(len(block)), np.int64(block.shape[1]), np.int64(n_samples)
    kernel((n_blocks,), (THREADS,), (block, *sizes, values, dense, np.int64(dense.shape[1]), out))
