"""Packed genotypes times digits of a dense matrix, on the tensor cores of one card."""

from functools import cache

import cupy
import numpy as np

from genoviz.kernels.genotype_product.cuda_cards import card_attribute, load_integer_product
from genoviz.kernels.genotype_product.cuda_digits import (
    PAIR_LANES,
    STAGE_ENTRIES,
    STAGE_PAIRS,
    launch,
)

N_THREADS = 256
BLOCK_ROWS = 512
GENOTYPE_BYTES = STAGE_ENTRIES * 160
MAX_BUFFERS = 4
MAX_SPLITS = 64
MAX_STAGES = {True: 2**15 - 1, False: 2**9 - 1}
"""Maximum stages summed in 32 bits: a sample's sums are shifted by up to 6 bits."""
STAGES_OF_START = 3
"""The cost of starting a block, in stages."""
CODE_1 = 1
PACKED = np.dtype(
    [("bytes", np.uint64), ("n_variants", np.int64), ("row_bytes", np.int64)], align=True
)
WORK = np.dtype(
    [
        ("digits", np.uint64),
        ("seen", np.uint64),
        ("sums", np.uint64),
        ("n_stages", np.int64),
        ("split_stages", np.int64),
        ("n_rows", np.int64),
        ("width", np.int32),
        ("n_slices", np.int32),
        ("component", np.int32),
        ("is_gated", np.int32),
        ("n_buffers", np.int32),
    ],
    align=True,
)


class IntegerProduct:
    """The product of some packed genotypes with digits, one group of columns after another.

    Parameters
    ----------
    packed
        uint8 (m, (n + 3) // 4), on the card.
    n_samples
        n.
    is_transposed
        Whether rows of the product are variants.
    """

    def __init__(self, packed, n_samples, *, is_transposed):
        self._packed = packed
        self._n_rows, n_entries = n_samples, len(packed)
        if is_transposed:
            self._n_rows, n_entries = n_entries, n_samples
        self._name = "multiply_variants" if is_transposed else "multiply_samples"
        self._n_tiles = -(-self._n_rows // BLOCK_ROWS)
        self._n_stages = -(-n_entries // STAGE_ENTRIES)
        self._split_stages = _split_stages(
            self._n_tiles,
            self._n_stages,
            MAX_STAGES[is_transposed],
            card_attribute("MultiProcessorCount"),
        )
        self._n_splits = -(-self._n_stages // self._split_stages)
        self._seen = cupy.empty(self._n_tiles * self._n_splits, np.uint8)

    def add(self, digits, component, weights, out):
        """Add a component's product to the columns of the digits.

        Component 0 goes first: it finds out where codes are missing.

        Parameters
        ----------
        digits
            `Digits`.
        component
            As in `Values`.
        weights
            float64 (rows,): factor of each row, or None.
        out
            float64 (rows, k), changed.
        """
        sums = cupy.empty((self._n_splits, self._n_rows, digits.width))
        buffers = _n_buffers(digits.n_blocks)
        packed = (self._packed.data.ptr, *self._packed.shape)
        work = (
            digits.words.data.ptr,
            self._seen.data.ptr,
            sums.data.ptr,
            self._n_stages,
            self._split_stages,
            self._n_rows,
            digits.width,
            digits.n_slices,
            component,
            component == CODE_1,
            buffers,
        )
        kernel = load_integer_product(digits.n_blocks).get_function(self._name)
        shared_bytes = _shared_bytes(digits.n_blocks, buffers)
        kernel.max_dynamic_shared_size_bytes = shared_bytes
        grid = self._n_tiles, self._n_splits
        arguments = np.array(packed, PACKED), np.array(work, WORK)
        kernel(grid, (N_THREADS,), arguments, shared_mem=shared_bytes)
        launch(
            "add_sums",
            self._n_rows * digits.width,
            (
                sums,
                np.int32(self._n_splits),
                np.int64(self._n_rows),
                digits.largest,
                np.int32(digits.n_slices),
                np.uint64(0) if weights is None else weights,
                np.int64(digits.first_column),
                np.int32(digits.width),
                np.int64(out.shape[1]),
                out,
            ),
        )


@cache
def _split_stages(n_tiles, n_stages, maximum, n_processors):
    """Return the number of stages of a block, such that all processors are busy to the end."""

    def cost(n_splits):
        n_waves = -(-n_tiles * n_splits // n_processors)
        return n_waves * (-(-n_stages // n_splits) + STAGES_OF_START)

    minimum = -(-n_stages // maximum)
    n_splits = min(range(minimum, min(minimum + MAX_SPLITS, n_stages + 1)), key=cost)
    return -(-n_stages // n_splits)


def _stage_bytes(n_blocks):
    return GENOTYPE_BYTES + 16 * PAIR_LANES * n_blocks * STAGE_PAIRS


def _blocks_at_once(n_blocks):
    """Return the number of thread blocks for which a multiprocessor has registers."""
    return 2 if n_blocks <= 4 else 1


def _n_buffers(n_blocks):
    """Return the number of stages that fit in shared memory, at least two."""
    limit = card_attribute("MaxSharedMemoryPerBlockOptin") // _blocks_at_once(n_blocks)
    return max(min((limit - 1024) // _stage_bytes(n_blocks), MAX_BUFFERS), 2)


def _shared_bytes(n_blocks, n_buffers):
    """Return the bytes of the stages, or of the sums that reuse their memory."""
    return max(n_buffers * _stage_bytes(n_blocks), 4 * BLOCK_ROWS * (8 * n_blocks + 1))
