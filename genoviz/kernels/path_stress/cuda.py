"""Path stress on one GPU; the contract is in this folder's ``__init__``.

Arrays may be on the host or on the GPU; results are NumPy arrays.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, load_module
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK

THREADS_PER_BLOCK = 256
BLOCKS_PER_MULTIPROCESSOR = 8
DRAWS = np.dtype(
    [
        ("n_paths", np.int64),
        ("shortest", np.int64),
        ("longest", np.int64),
        ("first_sample", np.int64),
        ("n_samples", np.int64),
        ("n_values", np.int64),
        ("key", np.uint64),
    ],
    align=True,
)
COMPILE_OPTIONS = (("-DPOSITION=unsigned int",), ("-DPOSITION=long long",))


def _prepare(name, records, n_blocks):
    options = COMPILE_OPTIONS[0 if records.shape[1] == 2 else 1]
    module = load_module(__package__, "path_stress.cu", options=options)
    n_multiprocessors = card_attribute("MultiProcessorCount")
    n_blocks = max(min(n_blocks, n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR), 1)
    return module.get_function(name), n_blocks


def sum_all_pairs(points, records, path_starts, block_paths, first, stop, longest):
    """Return for each row the sum, the number of terms and the number of skipped terms."""
    n_rows = stop - first
    kernel, n_blocks = _prepare("sum_all_pairs", records, n_rows)
    totals = cupy.zeros(n_rows)
    counts = cupy.zeros((n_rows, 2), np.int64)
    kernel(
        (n_blocks,),
        (THREADS_PER_BLOCK,),
        (
            cupy.asarray(points),
            cupy.asarray(records),
            np.int64(first),
            np.int64(stop),
            np.int64(longest),
            cupy.asarray(path_starts),
            cupy.asarray(block_paths),
            totals,
            counts,
        ),
    )
    return totals.get(), counts.get()


def sum_samples(
    points,
    records,
    path_starts,
    paths,
    shares,
    shortest,
    longest,
    first_sample,
    n_samples,
    key,
    values,
):
    """Return the sum, sum of squares and number of the terms of each chunk of samples."""
    n_chunks = (n_samples + SAMPLES_PER_CHUNK - 1) // SAMPLES_PER_CHUNK
    kernel, n_blocks = _prepare("sum_samples", records, n_chunks)
    sums = cupy.zeros((n_chunks, 2))
    counts = cupy.zeros(n_chunks, np.int64)
    drawn = cupy.empty(len(values), np.float32)
    draws = (len(shares), shortest, longest, first_sample, n_samples, len(values), key)
    kernel(
        (n_blocks,),
        (THREADS_PER_BLOCK,),
        (
            cupy.asarray(points),
            cupy.asarray(records),
            cupy.asarray(path_starts),
            cupy.asarray(paths),
            cupy.asarray(shares),
            np.array(draws, DRAWS),
            drawn,
            sums,
            counts,
        ),
    )
    values[:] = drawn.get()
    return sums.get(), counts.get()
