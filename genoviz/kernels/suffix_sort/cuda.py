"""Suffix sorting on one GPU; the contract is in this folder's ``__init__``.

A key has as many bases as fit beside the distance to the next exception in 64 bits. All suffixes
are sorted by one key in a radix sort; groups that it leaves tied are sorted by the next key, small
ones by counting. Where few are left their texts are compared to the end; where repeats are long,
the depth is doubled by the ranks of the suffixes that follow.

Memory, in bytes a symbol: the text 0.4, the suffix array 4, sorting 20; then ranks 4, if repeats
are long, and about 50 for each tied suffix in place of those for sorting. From 2^32 - 1 symbols on
4 are 8. What does not fit is sorted in blocks of suffixes with the same first bases, and a suffix
array on the host is filled block by block; only text, ranks and ties are on the GPU whole.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import cupy
import numpy as np

from genoviz.kernels.suffix_sort.cuda_sort import (
    DISTANCE_BITS,
    FEW_TIED,
    INDICES,
    MAX_WIDTH,
    NULL,
    SMALL_SIZE,
    PairSorter,
    Text,
    TieBreaker,
    compile_options,
    key_bits,
    n_chunks,
)

COMPILE_OPTIONS = tuple(compile_options(name) for name in INDICES)
WIDTHS = ((2**29, 21), (2**64, 25))
PREFIX_BITS = 16
BYTES_PER_SUFFIX = {"uint32": 28, "int64": 40}
PART_OF_MEMORY = 0.85


def iter_sort_suffixes(
    packed,
    n_symbols,
    exceptions,
    suffix_array,
    *,
    max_block=None,
    width=None,
    small_size=SMALL_SIZE,
    few_tied=FEW_TIED,
    watch=nullcontext,
):
    """Fill the suffix array, and give a step of the work at a time.

    ``max_block``: suffixes that are sorted together, unless more have the same first 29 bases;
    by default as many as fit in the free memory. ``width``: bases of the first key of a text that
    is one block. ``watch(name)``: a context in which each kernel is launched.
    """
    if n_symbols == 0:
        return np.empty(0, np.int64)
    text = Text(packed, n_symbols, exceptions, suffix_array.dtype, watch)
    sorter = PairSorter(text)
    breaker = TieBreaker(text, sorter, small_size, few_tied)
    is_on_host = not isinstance(suffix_array, cupy.ndarray)
    if max_block is None:
        max_block = _free_memory() // BYTES_PER_SUFFIX[suffix_array.dtype.name]
    if n_symbols > max_block:
        return (yield from _iter_sort_blocks(text, sorter, breaker, suffix_array, max_block))
    yield "partition", n_symbols, n_symbols, n_symbols
    rows = cupy.empty(n_symbols, suffix_array.dtype) if is_on_host else suffix_array
    if width is None:
        width = next(width for maximum, width in WIDTHS if n_symbols <= maximum)
    ties = breaker.find_ties(sorter.sort_text(width, rows), rows, 0, width)
    n_first = ties.n_tied
    yield "blocks", n_symbols, n_symbols, n_first
    for fewer_ties in breaker.iter_by_text(ties, rows, 0):
        ties = fewer_ties
        yield "ties", n_first - ties.n_tied, n_first, ties.n_tied
    if ties.n_tied > 0:
        yield from _iter_by_ranks(text, breaker, ties, [rows], n_first, rows)
    if is_on_host:
        rows.get(out=suffix_array)
    return np.array([n_symbols])


def _iter_sort_blocks(text, sorter, breaker, suffix_array, max_block):
    """Sort blocks of suffixes one after the other, then what is tied in all of them."""
    n, n_done, n_first, left = text.n_symbols, 0, 0, []
    blocks = _plan_blocks(text, max_block)
    yield "partition", n, n, n
    for block in blocks:
        keys, rows = sorter.sort(*_list_block(text, block), key_bits(MAX_WIDTH))
        ties = breaker.find_ties(keys, rows, n_done, MAX_WIDTH)
        del keys
        n_first += ties.n_tied
        yield "blocks", n_done + block.n_suffixes, n, _n_tied([*left, ties])
        for fewer_ties in breaker.iter_by_text(ties, rows, n_done):
            ties = fewer_ties
            n_tied = _n_tied([*left, ties])
            yield "ties", n_first - n_tied, n_first, n_tied
        if ties.n_tied > 0:
            left.append(ties)
        first, n_done = n_done, n_done + block.n_suffixes
        if isinstance(suffix_array, cupy.ndarray):
            suffix_array[first:n_done] = rows
        else:
            rows.get(out=suffix_array[first:n_done])
        del rows
    if left:
        ties = left[0] if len(left) == 1 else breaker.join(left)
        left.clear()
        ends = np.cumsum([block.n_suffixes for block in blocks])[:-1].tolist()
        parts = [suffix_array[a:b] for a, b in zip([0, *ends], [*ends, n], strict=True)]
        yield from _iter_by_ranks(text, breaker, ties, parts, n_first, suffix_array)
    return np.array([block.n_suffixes for block in blocks])


def _iter_by_ranks(text, breaker, ties, parts, n_first, suffix_array):
    """Sort what is left by ranks: where suffixes that begin later lie in the suffix array."""
    is_on_host = not isinstance(suffix_array, cupy.ndarray)
    ranks = cupy.empty(text.n_symbols, suffix_array.dtype)
    first = 0
    for part in parts:
        rows = cupy.asarray(part)
        arguments = (rows, np.int64(len(rows)), np.int64(first), ranks)
        text.launch("fill_ranks", len(rows), arguments)
        first += len(rows)
        del rows
    breaker.fill_tied_ranks(ties, ranks)
    positions = ties.positions[: ties.n_tied]
    target = NULL if is_on_host else suffix_array
    while ties.n_tied > 0:
        ties = breaker.sort_by_ranks(ties, ranks, target)
        yield "ties", n_first - ties.n_tied, n_first, ties.n_tied
    if is_on_host:
        suffix_array[ranks[positions].get()] = positions.get()


def _n_tied(several):
    return sum(ties.n_tied for ties in several)


def _free_memory():
    """Return the bytes that may be taken: the device's free ones and those of CuPy's pool."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int((free + cupy.get_default_memory_pool().free_bytes()) * PART_OF_MEMORY)


# Blocks: suffixes whose keys of 29 bases lie in an interval ------------------------------------


@dataclass
class _Block:
    low: int
    high: int
    n_suffixes: int


def _plan_blocks(text, max_block):
    """Return intervals of keys, in order, of at most so many suffixes each where that can be."""
    blocks = []
    for bucket in _iter_buckets(text, 0, key_bits(MAX_WIDTH), max_block):
        if blocks and blocks[-1].n_suffixes + bucket.n_suffixes <= max_block:
            blocks[-1].high = bucket.high
            blocks[-1].n_suffixes += bucket.n_suffixes
        else:
            blocks.append(bucket)
    return blocks


def _iter_buckets(text, low, shift, max_block):
    """Give the suffixes with keys from ``low`` on, below ``low + 2**shift``, by their next bits."""
    bits = min(PREFIX_BITS, shift)
    high, shift = low + (1 << shift), shift - bits
    counts = cupy.zeros(1 << bits, np.uint64)
    mask = np.uint64((1 << bits) - 1)
    source = (*_source(text), np.uint64(low), np.uint64(high))
    arguments = (*source, np.int32(shift), mask, counts)
    text.launch("count_prefixes", text.n_symbols, arguments)
    counts = counts.get().astype(np.int64)
    for prefix in np.flatnonzero(counts).tolist():
        first = low + (prefix << shift)
        if counts[prefix] > max_block and shift > DISTANCE_BITS:
            yield from _iter_buckets(text, first, shift, max_block)
        else:
            yield _Block(first, first + (1 << shift), int(counts[prefix]))


def _list_block(text, block):
    """Return keys and positions of a block's suffixes, the last of the text first."""
    n, bounds = text.n_symbols, (np.uint64(block.low), np.uint64(block.high))
    counts = cupy.empty((n_chunks(n), 2), np.uint64)
    text.launch_warps("count_block", n, (*_source(text), *bounds, counts))
    text.sum_chunks(counts, cupy.empty(2, np.uint64))
    keys = cupy.empty(block.n_suffixes, np.uint64)
    positions = cupy.empty(block.n_suffixes, text.index_dtype)
    arguments = (*_source(text), *bounds, counts, keys, positions)
    text.launch_warps("list_block", n, arguments)
    return keys, positions


def _source(text):
    return text.packed, text.excepted, np.int64(text.n_symbols), np.int32(MAX_WIDTH)
