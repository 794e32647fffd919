"""Longest common prefixes on one GPU; the contract is in this folder's ``__init__``.

All neighbours in the suffix array are first compared, as most differ early. If few are long, a warp
compares each of them. If many are long, or some very long, lengths are computed in text order, each
from the one before, and gathered into rows.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module, make_launcher

THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 32
ROWS = {"uint32": "unsigned int", "int64": "long long"}
SHORT_WORDS = 8
LONG = 2**16
FEW_LONG = 1 / 64
UNKNOWN = np.uint32(2**32 - 1)
STEPS = 64
WARP = 32


def _options(row_dtype):
    return (f"-DROW={ROWS[row_dtype]}",)


COMPILE_OPTIONS = tuple(_options(name) for name in ROWS)


def longest_common_prefixes(
    packed,
    n_symbols,
    exceptions,
    suffix_array,
    *,
    short_words=SHORT_WORDS,
    long=LONG,
    few_long=FEW_LONG,
):
    """Return the number of bases that each row shares with the previous row; uint32, (n,).

    ``short_words``: words of 32 bases compared in every row; ``long``: bases that a warp compares,
    if at most the fraction ``few_long`` of rows is left.
    """
    lengths = cupy.zeros(n_symbols, np.uint32)
    if n_symbols == 0:
        return lengths
    rows = cupy.asarray(suffix_array)
    launch = _launcher(rows.dtype)
    excepted = cupy.zeros(len(packed), np.uint32)
    exceptions = cupy.asarray(exceptions)
    n_exceptions = np.int64(len(exceptions))
    launch("mark_exceptions", n_exceptions, (exceptions, n_exceptions, excepted))
    text = (cupy.asarray(packed), excepted, np.int64(n_symbols))
    n_unknown = cupy.zeros(2, np.uint64)
    arguments = (*text, rows, np.int32(short_words), lengths, n_unknown[:1])
    launch("compare_rows", n_symbols, arguments)
    n_left = int(n_unknown[0])
    if 0 < n_left <= few_long * n_symbols:
        left = cupy.flatnonzero(lengths == UNKNOWN)
        bounds = (np.int64(32 * short_words), np.int64(long))
        chosen = (rows, left, np.int64(n_left), *bounds)
        launch("compare_long_rows", 32 * n_left, (*text, *chosen, lengths, n_unknown[1:]))
        n_left = int(n_unknown[1])
    if n_left > 0:
        _find_by_position(launch, text, rows, lengths)
    return lengths


def _find_by_position(launch, text, suffix_array, lengths):
    n = len(lengths)
    previous = cupy.empty_like(suffix_array)
    launch("fill_previous", n, (suffix_array, np.int64(n), previous))
    by_position = cupy.empty(n, np.uint32)
    for power, n_steps in ((3, 1), (2, STEPS), (1, STEPS), (0, STEPS)):
        stride = STEPS**power
        n_chains = -(-n // (n_steps * stride))
        name, n_threads = ("extend_lengths", n_chains)
        if power > 0:
            name, n_threads = ("extend_far_lengths", WARP * n_chains)
        arguments = (*text, previous, np.int64(stride), np.int32(n_steps), by_position)
        launch(name, n_threads, arguments, is_limited=False)
    launch("gather_lengths", n, (by_position, suffix_array, np.int64(n), lengths))


def _launcher(row_dtype):
    module = load_module(__package__, "common_prefix.cu", options=_options(row_dtype.name))
    return make_launcher(module, THREADS, BLOCKS_PER_MULTIPROCESSOR)
