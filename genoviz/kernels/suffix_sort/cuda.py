"""Suffix sorting on one GPU; the contract is in this folder's ``__init__``.

A key holds as many bases as fit in 64 bits beside the distance to the next exception. A radix sort
orders all suffixes by one key. Groups that stay tied are sorted by the next key, small ones by
counting. When few ties are left, their texts are compared to the end; when repeats are long, the
depth is doubled by the ranks of later suffixes.

Memory, in bytes a symbol: text 0.4, suffix array 4, sort 20; then, in place of the sort, ranks 4
(if repeats are long) and about 50 for each tied suffix. From 2^32 - 1 symbols on, each 4 is an 8. A
text that does not fit is sorted in blocks of suffixes with the same prefix, and a suffix array on
the host is filled block by block; only text, ranks and ties are whole on the GPU.
"""

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import cupy
import numpy as np

from genoviz.kernels.cuda_copies import copy_along
from genoviz.kernels.suffix_sort import count_in_cover, row_dtype
from genoviz.kernels.suffix_sort.cuda_blocks import (
    BlockSorter,
    Cover,
    count_part,
    list_block,
    plan_blocks,
    rank_cover,
    reserve_pairs,
)
from genoviz.kernels.suffix_sort.cuda_sort import (
    AT_POSITIONS,
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
)

COMPILE_OPTIONS = tuple(compile_options(name) for name in INDICES)
WIDTHS = ((2**29, 21), (2**64, 25))
BYTES_PER_SUFFIX = {"uint32": 28, "int64": 40}
# For a block in which all are tied, including the state kept of the block before.
BYTES_PER_TIE = {"uint32": 80, "int64": 128}
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
    """Fill the suffix array; yield progress.

    ``max_block``: maximum suffixes sorted together, unless more share their first 29 bases; by
    default as many as fit in the free memory. ``width``: bases of the first key of a text that is
    one block. ``watch(name)``: a context in which each kernel is launched.
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
    """Sort blocks one after the other, then the ties of all of them."""
    n, n_done, n_first, left = text.n_symbols, 0, 0, []
    blocks = plan_blocks(text, max_block)
    yield "partition", n, n, n
    for block in blocks:
        keys, rows = sorter.sort(*list_block(text, block), key_bits(MAX_WIDTH))
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
    """Sort the remaining ties by ranks: the rows of later suffixes in the suffix array."""
    is_on_host = not isinstance(suffix_array, cupy.ndarray)
    ranks = cupy.empty(text.n_symbols, suffix_array.dtype)
    first = 0
    for part in parts:
        rows = cupy.asarray(part)
        arguments = (rows, np.int64(len(rows)), np.int64(first), ranks, *AT_POSITIONS)
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
    """Return the bytes available: free memory of the device and of CuPy's pool."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int((free + cupy.get_default_memory_pool().free_bytes()) * PART_OF_MEMORY)


# Blocks, each given away before the next -------------------------------------------------------


def needed_bytes(n_symbols, block_rows, cover_bits):
    """Return the peak memory of each GPU in bytes, with the text."""
    n = count_in_cover(n_symbols, cover_bits)
    row_bytes = np.dtype(row_dtype(n_symbols)).itemsize
    sorting = BYTES_PER_TIE[row_dtype(n_symbols).__name__]
    text = 3 * n_symbols // 8 + n_symbols // 64
    block = min(block_rows, n_symbols) * sorting
    return text + max(n * sorting, n * row_bytes + block) + (64 << 20)


def iter_sort_blocks(
    packed,
    n_symbols,
    exceptions,
    block_rows,
    cover_bits,
    seed,
    *,
    devices=None,
    finish=None,
    table_k=None,
    dtype=None,
):
    """Yield the rows of the suffix array one block at a time, sorted by one or several GPUs.

    ``devices``: numbers of GPUs, by default the current one. ``finish(text, rows, first_row)``: its
    result is yielded instead of the rows. The rows are on the current GPU, and are overwritten once
    it returns; it may be called for several blocks at a time. ``dtype``: of rows. With ``table_k``
    the generator returns the start table of k-mers in the form of ``fm_index``, on the first GPU.
    """
    if n_symbols == 0:
        return None
    numbers = [cupy.cuda.Device().id] if devices is None else list(devices)
    with ThreadPoolExecutor(len(numbers)) as pool:

        def run(k, work):
            with cupy.cuda.Device(numbers[k]):
                found = work(k)
                cupy.cuda.get_current_stream().synchronize()
            return found

        def on(some, work):
            return list(pool.map(partial(run, work=work), some))

        everyone, dtype = range(len(numbers)), dtype or row_dtype(n_symbols)
        texts = on(everyone, lambda _: Text(packed, n_symbols, exceptions, dtype, nullcontext))
        n_in_cover = count_in_cover(n_symbols, cover_bits)
        yield "cover", 0, n_in_cover, None

        # The ranks need no more memory than blocks if they are fewer, and then use the same.
        pairs = ()
        if n_in_cover <= block_rows:
            pairs = on([0], lambda _: reserve_pairs(texts[0], min(block_rows, n_symbols)))[0]
        ranks = on(everyone[1:], lambda _: cupy.empty(n_in_cover, dtype))

        def rank(_):
            cover = rank_cover(texts[0], cover_bits, pairs)
            cupy.cuda.get_current_stream().synchronize()
            copy_along([[cover.ranks], *([array] for array in ranks)], numbers[1:])
            return cover

        ranking = pool.submit(run, 0, rank)
        planning = everyone[1:] or everyone  # on the other GPUs, if there are any
        edges = [n_symbols * k // len(planning) for k in range(len(planning) + 1)]

        def count_prefixes(*of_keys):
            def count(k):
                first = k - planning[0]
                return count_part(texts[k], *edges[first : first + 2], *of_keys)

            return sum(on(planning, count))

        planned = plan_blocks(texts[0], block_rows, count_prefixes)

        def make_sorter(k):
            if k == 0:
                return BlockSorter(texts[0], cover_bits, ranking.result, pairs)
            cover = Cover(cover_bits, n_symbols, ranks[k - 1])

            def wait_for_ranks():
                ranking.result()
                return cover

            return BlockSorter(texts[k], cover_bits, wait_for_ranks)

        splitter, blocks = None, []
        for block in planned:
            if block.n_suffixes > block_rows:
                splitter = splitter or on([0], make_sorter)[0]
                split = partial(splitter.split, block, block_rows, seed)
                blocks += on([0], lambda _, split=split: split())[0]
                yield "splitters", sum(some.n_suffixes for some in blocks), n_symbols, None
            else:
                blocks.append(block)
        largest = max(block.n_suffixes for block in blocks)

        def prepare(k):
            if k == 0:
                ranking.result()  # it takes as much memory as blocks do
            if k > 0 or not pairs:
                cupy.get_default_memory_pool().free_all_blocks()
            sorter = make_sorter(k)
            sorter.reserve(largest)
            return sorter, None if table_k is None else _empty_table(table_k, dtype)

        tables = yield from _iter_blocks(pool, numbers, prepare, blocks, finish or _to_host)
        if table_k is None:
            return None
        return on([0], lambda _: _join_tables(tables, n_symbols))[0]


def _to_host(_text, rows, _first_row):
    return rows.get()


def _empty_table(table_k, dtype):
    table = cupy.zeros((4**table_k, 2), dtype)
    table[:, 0] = np.iinfo(dtype).max
    return table


def _join_tables(tables, n_symbols):
    """Return, on the current GPU, the row range of each k-mer over the tables of all GPUs.

    There is at least one table; the first one may be on another GPU.
    """
    found, other = cupy.empty_like(tables[0]), cupy.empty_like(tables[0])
    found.data.copy_from_device_async(tables[0].data, found.nbytes)
    for table in tables[1:]:
        other.data.copy_from_device_async(table.data, table.nbytes)
        cupy.minimum(found[:, 0], other[:, 0], out=found[:, 0])
        cupy.maximum(found[:, 1], other[:, 1], out=found[:, 1])
    found[:, 0] *= found[:, 1] > 0
    if len(found) == 1:
        found[0] = cupy.asarray([0, n_symbols], found.dtype)
    return found


def _iter_blocks(pool, numbers, prepare, blocks, finish):
    """Yield the result of each block in order; a GPU takes the next block when it is free.

    ``prepare(k)``: a GPU's sorter and table, before its first block. Returns the tables.
    """
    first_rows = np.cumsum([0] + [block.n_suffixes for block in blocks]).tolist()
    waiting, found = deque(range(len(blocks))), [Future() for _ in blocks]
    # Results not yet consumed keep memory, so the GPUs may only run a few blocks ahead.
    free, is_over = threading.Semaphore(2 * len(numbers)), threading.Event()

    def work(k):
        sorter = table = None
        with cupy.cuda.Device(numbers[k]):
            while True:
                free.acquire()
                try:
                    number = waiting.popleft()
                except IndexError:
                    return table
                if is_over.is_set():
                    return table
                try:
                    if sorter is None:
                        sorter, table = prepare(k)
                    rows = sorter.sort(blocks[number], table, first_rows[number])
                    done = finish(sorter.text, rows, first_rows[number])
                    del rows
                    cupy.cuda.get_current_stream().synchronize()
                    found[number].set_result(done)
                except BaseException as error:
                    found[number].set_exception(error)

    # The first GPU ranks the cover. Start it last: a thread that waits for it would sort no block.
    working = [pool.submit(work, k) for k in reversed(range(len(numbers)))]
    try:
        for number, future in enumerate(found):
            done = future.result()
            yield "blocks", first_rows[number + 1], first_rows[-1], done
            found[number] = None
            free.release()
    finally:
        is_over.set()
        for _ in working:
            free.release()
    return [table for table in (worker.result() for worker in working) if table is not None]
