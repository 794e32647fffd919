"""Split dense matrices into digits of base 256, in the layout of the tensor cores."""

from dataclasses import dataclass
from itertools import pairwise

import cupy
import cupyx
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.genotype_product.cuda_cards import card_attribute, uses_warpgroups

BLOCK_CHOICES = (1, 4, 8, 10)
N_SLICES = {"float64": 7, "float32": 4}
STAGE_ENTRIES = 256
STAGE_PAIRS = 4
PAIR_LANES = 32
MIN_SHARED_BYTES = 166_000
THREADS = 256
DENSE = np.dtype(
    [
        ("numbers", np.uint64),
        ("weights", np.uint64),
        ("n_rows", np.int64),
        ("n_columns", np.int64),
        ("first_column", np.int64),
        ("width", np.int32),
    ],
    align=True,
)


class Values:
    """The values of codes: a common offset, and weights of three components.

    Attributes
    ----------
    offsets
        float64 (m,): the value of code 0.
    weights
        float64 (3, m): of the count 0, 1, 1, 2 of codes 0 to 3, and of indicators of codes 1 and 2.
    """

    def __init__(self, values):
        m = len(values)
        self.offsets, self.weights = cupy.empty(m), cupy.empty((3, m))
        is_used = cupy.zeros(3, np.int32)
        values = cupy.ascontiguousarray(values, np.float64)
        launch("split_values", m, (values, np.int64(m), self.offsets, self.weights, is_used))
        self._is_used = cupyx.empty_pinned(3, np.int32)
        is_used.get(out=self._is_used, blocking=False)
        self._is_known = cupy.cuda.Event(disable_timing=True)
        self._is_known.record()

    def iter_components(self):
        """Yield 0, and then the components with nonzero weights.

        The host waits for the weights only after the work of the first component is queued.
        """
        yield 0
        self._is_known.synchronize()
        yield from np.flatnonzero(self._is_used[1:]) + 1


@dataclass(frozen=True)
class Digits:
    """Some columns of a dense matrix.

    Attributes
    ----------
    words
        uint8: digits in the order in which the product loads them.
    largest
        uint64 (width,): bits of the largest magnitude of each column.
    n_entries, first_column, width, n_slices, n_blocks
        Rows of the matrix; its columns in this group; digits of each; blocks of 8 digits.
    """

    words: cupy.ndarray
    largest: cupy.ndarray
    n_entries: int
    first_column: int
    width: int
    n_slices: int
    n_blocks: int


def split_columns(dense, weights, dtype, *, is_transposed):
    """Yield the digits of as many columns as one product takes.

    Parameters
    ----------
    dense
        float64 (rows, k), on the card.
    weights
        float64 (rows,): factor of each row, or None.
    dtype
        Of the product; it sets the number of digits.
    is_transposed
        Whether rows are samples.
    """
    n_slices = N_SLICES[np.dtype(dtype).name]
    maximum = 8 * max(block_choices()) // n_slices
    k = dense.shape[1]
    n_groups = -(-k // maximum)
    edges = [k * group // n_groups for group in range(n_groups + 1)]
    for first, stop in pairwise(edges):
        yield _digits(dense, weights, first, stop - first, n_slices, is_transposed)


def _digits(dense, weights, first_column, width, n_slices, is_transposed):
    n_blocks = min(n for n in block_choices() if 8 * n >= width * n_slices)
    columns = _describe(dense, weights, first_column, width)
    largest = cupy.zeros(width, np.uint64)
    launch("find_largest", min(dense.size, n_threads_of_card()), (columns, largest))
    n_pairs = -(-len(dense) // STAGE_ENTRIES) * STAGE_PAIRS
    n_units = n_pairs * n_blocks * PAIR_LANES
    words = cupy.empty(16 * n_units, np.uint8)
    launch(
        "write_digits",
        n_units,
        (
            columns,
            largest,
            np.int32(n_slices),
            np.int32(is_transposed),
            np.int32(uses_warpgroups()),
            np.int64(n_pairs),
            words,
        ),
        n_blocks=n_blocks,
    )
    return Digits(words, largest, len(dense), first_column, width, n_slices, n_blocks)


def sum_columns(dense, weights):
    """Return the sums of columns, float64 (k,); rows are multiplied by weights unless None."""
    sums = []
    for first in range(0, dense.shape[1], THREADS):
        width = min(dense.shape[1] - first, THREADS)
        n_blocks = -(-min(len(dense) * width, n_threads_of_card()) // THREADS)
        of_blocks = cupy.empty((n_blocks, width))
        columns = _describe(dense, weights, first, width)
        launch("sum_columns", n_blocks * THREADS, (columns, of_blocks), shared_bytes=8 * THREADS)
        sums.append(of_blocks.sum(0))
    return sums[0] if len(sums) == 1 else cupy.concatenate(sums)


def _describe(dense, weights, first_column, width):
    weights_pointer = 0 if weights is None else weights.data.ptr
    n_rows, n_columns = dense.shape
    fields = dense.data.ptr, weights_pointer, n_rows, n_columns, first_column, width
    return np.array(fields, DENSE)


def block_choices():
    """Return the numbers of blocks of 8 digits that a product can take on this card."""
    limit = card_attribute("MaxSharedMemoryPerBlockOptin")
    return [n for n in BLOCK_CHOICES if n <= 4 or limit >= MIN_SHARED_BYTES]


def n_threads_of_card():
    """Return the number of threads that fill the card."""
    return card_attribute("MultiProcessorCount") * 4 * THREADS


def launch(name, n_items, arguments, *, n_blocks=BLOCK_CHOICES[0], shared_bytes=0):
    """Run a kernel of ``dense_digits.cu`` with one thread per item."""
    module = load_module(__package__, "dense_digits.cu", options=(f"-DN_BLOCKS={n_blocks}",))
    grid = (-(-n_items // THREADS),)
    module.get_function(name)(grid, (THREADS,), arguments, shared_mem=shared_bytes)
