"""Interval counts on one GPU; the contract is in this folder's ``__init__``.

Arrays may be on the host or on the GPU; the counts are where the queries are.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, load_module

THREADS_PER_BLOCK = 256
CELLS_PER_BLOCK = 2048
BLOCKS_PER_MULTIPROCESSOR = 32
CELL_BITS = 3
KEYS = {"uint32": "unsigned int", "int64": "long long"}
INDICES = {"int32": "int", "int64": "long long"}


def _options(key_dtype, index_dtype):
    return (f"-DKEY={KEYS[key_dtype]}", f"-DINDEX={INDICES[index_dtype]}")


COMPILE_OPTIONS = tuple(_options(key, index) for key in KEYS for index in INDICES)


def count_overlaps(query_starts, query_ends, starts, ends, method, *, cell_bits=CELL_BITS):
    """Return how many subjects each query overlaps.

    ``cell_bits``: a cell of the table has about 2^cell_bits keys. The table should stay in the L2
    cache, and a cell in a sector or two of memory.
    """
    n, m = len(query_starts), len(starts)
    counts = cupy.zeros(n, np.int32 if m < 2**31 else np.int64)
    if n and m:
        arrays = (query_starts, query_ends, starts, ends)
        arrays = [cupy.ascontiguousarray(cupy.asarray(array)) for array in arrays]
        if method == "sweep":
            _count_by_sweep(*arrays, counts)
        else:
            _count_by_search(*arrays, counts, cell_bits)
    return counts if isinstance(query_starts, cupy.ndarray) else counts.get()


def iter_count_overlaps(query_starts, query_ends, starts, ends, method):
    """As `count_overlaps`, without progress: it takes a fraction of a second."""
    yield 0, 1
    return count_overlaps(query_starts, query_ends, starts, ends, method)


def iter_measure_cover(query_starts, query_ends, starts, ends):
    """As `measure_cover`, without progress: it takes a fraction of a second."""
    yield 0, 1
    return measure_cover(query_starts, query_ends, starts, ends)


def measure_cover(query_starts, query_ends, starts, ends):
    """Return the bases of all subjects inside each query, and those covered by at least one."""
    cover = cupy.zeros((2, len(query_starts)), np.int64)
    if len(query_starts) and len(starts):
        arrays = (query_starts, query_ends, starts, ends)
        arrays = [cupy.asarray(array).astype(np.int64) for array in arrays]
        prepared = _prepare_cover(cupy.sort(arrays[2]), cupy.sort(arrays[3]))
        cover = _sum_before(*prepared, arrays[1]) - _sum_before(*prepared, arrays[0])
    return cover if isinstance(query_starts, cupy.ndarray) else cover.get()


def _prepare_cover(starts, ends):
    """Return sorted starts and ends with their prefix sums, and the covered stretches.

    A stretch begins at the i-th start if exactly i ends are at or before it.
    """
    firsts = cupy.flatnonzero(starts[1:] >= ends[:-1]) + 1
    covered_starts = cupy.concatenate([starts[:1], starts[firsts]])
    covered_ends = cupy.concatenate([ends[firsts - 1], ends[-1:]])
    sums = [_running_sum(keys) for keys in (starts, ends, covered_ends - covered_starts)]
    return starts, ends, *sums, covered_starts, covered_ends


def _running_sum(values):
    return cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(values)])


def _sum_before(
    starts, ends, start_sums, end_sums, covered_sums, covered_starts, covered_ends, values
):
    """Return the sum of depths and the number of covered bases before each value."""
    i, j, k = (cupy.searchsorted(keys, values) for keys in (starts, ends, covered_starts))
    total = (i - j) * values - (start_sums[i] - end_sums[j])
    last = cupy.maximum(k - 1, 0)
    inside = cupy.minimum(values, covered_ends[last]) - covered_starts[last]
    return cupy.stack([total, cupy.where(k > 0, covered_sums[last] + inside, 0)])


def _count_by_search(query_starts, query_ends, starts, ends, counts, cell_bits):
    _count_below(query_ends, 0, cupy.sort(starts), False, counts, cell_bits)
    _count_below(query_starts, 1, cupy.sort(ends), True, counts, cell_bits)


def _count_below(values, step, keys, is_subtracted, counts, cell_bits):
    """Set or lower the counts by the number of keys below each value + step.

    The kernels compute the cells, so the host need not wait for the sorted keys.
    """
    m = len(keys)
    common = (keys, np.int64(m), np.int32(cell_bits))
    table = cupy.empty((1 << m.bit_length()) + 2, counts.dtype)
    launch = _launcher(keys.dtype, counts.dtype)
    launch("fill_table", -(-len(table) // CELLS_PER_BLOCK), (*common, table))
    launch(
        "look_up",
        -(-len(values) // THREADS_PER_BLOCK),
        (
            values,
            np.int64(len(values)),
            np.int32(step),
            *common,
            table,
            np.int32(is_subtracted),
            counts,
        ),
    )


def _count_by_sweep(query_starts, query_ends, starts, ends, counts):
    n, m = len(query_starts), len(starts)
    launch = _launcher(starts.dtype, counts.dtype)
    owner_bits = np.int32((n + m).bit_length())
    endpoints = cupy.empty(2 * (n + m), np.uint64)
    for lefts, rights, first in ((query_starts, query_ends, 0), (starts, ends, n)):
        launch(
            "pack_endpoints",
            -(-len(lefts) // THREADS_PER_BLOCK),
            (
                lefts,
                rights,
                np.int64(len(lefts)),
                owner_bits,
                np.int64(first),
                endpoints[2 * first :],
            ),
        )
    endpoints.sort()
    n_blocks = -(-len(endpoints) // THREADS_PER_BLOCK)
    common = (endpoints, np.int64(len(endpoints)), owner_bits, np.int64(n))
    started = cupy.empty(len(endpoints), counts.dtype)
    ended = cupy.empty_like(started)
    launch("mark_subjects", n_blocks, (*common, started, ended))
    started = cupy.cumsum(started, dtype=counts.dtype)
    ended = cupy.cumsum(ended, dtype=counts.dtype)
    ended_of_query = cupy.empty_like(counts)
    launch("gather", n_blocks, (*common, started, ended, counts, ended_of_query))
    counts -= ended_of_query


def _launcher(key_dtype, index_dtype):
    """Return a function that launches a kernel of these types, with a limited grid."""
    options = _options(key_dtype.name, index_dtype.name)
    module = load_module(__package__, "interval_count.cu", options=options)
    n_multiprocessors = card_attribute("MultiProcessorCount")

    def launch(name, n_blocks, arguments):
        n_blocks = max(min(n_blocks, n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR), 1)
        module.get_function(name)((n_blocks,), (THREADS_PER_BLOCK,), arguments)

    return launch
