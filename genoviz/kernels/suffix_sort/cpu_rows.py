"""Rows of the suffix array block by block; the contract is in this folder's ``__init__``.

One scan of the text counts the suffixes of each range, and one more scan for each block collects
them. Suffixes are compared with the first 32 bases of the splitters, and only on equality further.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.suffix_sort import make_cover, row_dtype
from genoviz.kernels.suffix_sort.cpu_blocks import SPARE, _distance, _is_near, _pad, _window
from genoviz.kernels.suffix_sort.cpu_compare import Text, compare, compare_bases, is_before
from genoviz.kernels.suffix_sort.cpu_cover import (
    MAX_PREFIX,
    count_prefix,
    find_slots,
    iter_pieces,
    iter_rank_cover,
    put_word,
    sort_pieces,
)
from genoviz.kernels.suffix_sort.cpu_order import order_suffixes
from genoviz.kernels.suffix_sort.cpu_seeds import mark_exceptions

SPLITTERS_PER_BLOCK = 32
TABLE_BASES = 6
CHUNK_WORDS = 1 << 18
MAX_CHUNKS = 4096
HALF = np.uint64(32)
ONE = np.uint64(1)


class Splitters(NamedTuple):
    """Sorted suffixes: their positions, and their first 32 bases.

    ``firsts[code]`` is the first splitter whose first ``TABLE_BASES`` bases are ``code`` or more.
    Splitters of the same number in ``groups`` share at least as many bases as the cover needs.
    """

    positions: np.ndarray
    keys: np.ndarray
    firsts: np.ndarray
    groups: np.ndarray


def needed_bytes(n_symbols, block_rows, cover_bits):
    """Return the peak memory in bytes, without the text."""
    n_threads, size = get_num_threads(), len(make_cover(cover_bits))
    marks = n_symbols // 4 + n_symbols // 256
    n = n_symbols * size // (1 << cover_bits) + size
    item, row = np.dtype(row_dtype(2 * n)).itemsize, np.dtype(row_dtype(n_symbols)).itemsize
    scratch = n_threads * (8 * min(SPARE, block_rows) + 8 * 4**MAX_PREFIX)
    # Words, numbers and flags; then numbers, ranks, flags and links. Chains take half a word a row.
    cover = n * max(9 + item, 1 + 3 * item) + scratch
    blocks = n * item + min(block_rows, n_symbols) * (12 + row) + 2 * scratch
    return marks + max(cover, blocks) + (1 << 20)


def iter_sort_blocks(packed, n_symbols, exceptions, block_rows, cover_bits, seed):
    """Yield the rows of the suffix array, one block at a time."""
    dtype = row_dtype(n_symbols)
    yield "blocks", len(exceptions), n_symbols, exceptions[::-1].astype(dtype)
    n_bases = n_symbols - len(exceptions)
    if n_bases == 0:
        return
    n_words = n_symbols // 32 + 1
    text = Text(packed, np.zeros(n_words + 1, np.uint64), np.zeros((n_words >> 6) + 1, np.uint64))
    mark_exceptions(exceptions, text.marks, text.near)
    ranking = iter_rank_cover(text, n_symbols, cover_bits)
    while True:
        try:
            n_done, n_total = next(ranking)
            yield "cover", n_done, n_total, None
        except StopIteration as end:
            cover = end.value
            break
    n_chunks = min(-(-n_words // CHUNK_WORDS), MAX_CHUNKS)
    edges = np.linspace(0, n_words, n_chunks + 1).astype(np.int64)
    splitters, counts = yield from _split(text, cover, n_symbols, edges, block_rows, seed)
    bounds = join_ranges(counts.sum(axis=0), block_rows)
    sizes = np.add.reduceat(counts.sum(axis=0), bounds[:-1])
    words, room = np.empty(sizes.max(), np.uint64), np.empty(sizes.max(), dtype)
    n_done = len(exceptions)
    for block in range(len(sizes)):
        ranges = int(bounds[block]), int(bounds[block + 1])
        n = int(sizes[block])
        slots = _slots_of_chunks(counts, ranges)
        for first in range(0, n_chunks, 2 * get_num_threads()):
            chunks = first, min(first + 2 * get_num_threads(), n_chunks)
            _collect_ranges(text, cover, splitters, n_symbols, ranges, edges, chunks, slots, room)
            yield "blocks", n_done, n_symbols, None
        for n_sorted in _sort(text, cover, n_symbols, words[:n], room[:n]):
            yield "blocks", n_done + n_sorted, n_symbols, None
        n_done += n
        yield "blocks", n_done, n_symbols, room[:n]


def join_ranges(sizes, block_rows):
    """Return the first range of each block, and the number of ranges; int64."""
    bounds, total = [0], 0
    for i, size in enumerate(sizes.tolist()):
        if total and total + size > block_rows:
            bounds.append(i)
            total = 0
        total += size
    return np.array([*bounds, len(sizes)], np.int64)


def _split(text, cover, n_symbols, edges, block_rows, seed):
    """Return splitters with small enough ranges, and the sizes of the ranges in each chunk."""
    generator = np.random.default_rng(seed)
    n_blocks = -(-n_symbols // block_rows)
    n_wanted = SPLITTERS_PER_BLOCK * n_blocks if n_blocks > 1 else 0
    positions = np.empty(0, np.int64)
    while True:
        drawn = generator.integers(0, n_symbols, n_wanted - len(positions))
        positions = np.union1d(positions, drawn[~_are_exceptions(text.marks, drawn)])
        splitters = _sort_splitters(text, cover, positions)
        counts = np.zeros((len(edges) - 1, len(positions) + 1), np.int64)
        n_chunks = len(edges) - 1
        for first in range(0, n_chunks, get_num_threads()):
            last = min(first + get_num_threads(), n_chunks)
            _count_ranges(text, cover, splitters, n_symbols, edges, first, last, counts)
            yield "splitters", last, n_chunks, None
        if counts.sum(axis=0).max() <= block_rows:
            return splitters, counts
        n_wanted = 2 * n_wanted


def _are_exceptions(marks, positions):
    bits = marks[positions >> 5] >> (63 - (positions & 31)).astype(np.uint64)
    return (bits & ONE).astype(bool)


def _sort_splitters(text, cover, positions):
    order = positions[order_suffixes(text, cover, positions)]
    keys, groups = np.empty(len(order), np.uint64), np.zeros(len(order), np.int64)
    _describe(text, cover._replace(ranks=cover.ranks[:0]), order, keys, groups)
    codes = (keys >> np.uint64(64 - 2 * TABLE_BASES)).astype(np.int64)
    firsts = np.searchsorted(codes, np.arange(4**TABLE_BASES + 1))
    return Splitters(order, keys, firsts, groups)


def _slots_of_chunks(counts, ranges):
    """Return the first slot of each chunk for the suffixes of some ranges."""
    sizes = counts[:, slice(*ranges)].sum(axis=1)
    return np.cumsum(sizes) - sizes


def _sort(text, cover, n_symbols, words, room):
    """Sort the suffixes at the positions in ``room``, in place; yield the number sorted."""
    n = len(words)
    prefix_bases = count_prefix(n)
    position_bits = max((n_symbols - 1).bit_length(), 1)
    edges = np.linspace(0, n, get_num_threads() + 1).astype(np.int64)
    tallies = np.zeros((len(edges) - 1, 4**prefix_bases), np.int64)
    _tally(text, room, edges, prefix_bases, tallies)
    block_ends, slots = find_slots(tallies)
    yield 0
    _put(text, room, edges, prefix_bases, position_bits, slots, words)
    del slots, tallies
    yield 0
    for bounds, ends, depth in iter_pieces(block_ends, prefix_bases, position_bits):
        sort_pieces(text, cover, words, room, ends, bounds, depth, position_bits)
        yield int(ends[bounds[-1]])


@njit(nogil=True, cache=True)
def _describe(text, cover_alone, positions, keys, groups):
    for i in range(len(positions)):
        keys[i] = _key(text, positions[i])
        if i:
            is_tied = compare(text, cover_alone, positions[i - 1], positions[i], 0) == 0
            groups[i] = groups[i - 1] + (not is_tied)


@njit(nogil=True, cache=True)
def _key(text, position):
    window = _window(text.packed, position)
    if _is_near(text.near, position):
        window = _pad(window, _distance(text.marks, position))
    return window


@njit(nogil=True, cache=True)
def _find_range(text, cover, splitters, low, high, position, key):
    """Return the number of splitters at or below a suffix, which is in ``[low, high]``.

    Once a suffix has matched a group of splitters, the others of the group are compared by ranks
    only.
    """
    group = np.int64(-1)
    while low < high:
        middle = (low + high) >> 1
        splitter = splitters.positions[middle]
        order = np.int64(0)
        if key != splitters.keys[middle]:
            order = -1 if key < splitters.keys[middle] else 1
        elif group >= 0 and group != splitters.groups[middle]:
            order = -1 if group < splitters.groups[middle] else 1
        elif position != splitter:
            if group < 0:
                order = compare_bases(text, position, splitter, 0, cover.bits)
            if order == 0:
                group = splitters.groups[middle]
                order = -1 if is_before(cover, position, splitter) else 1
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True, cache=True)
def _keys_of_word(text, word, n_symbols, keys):
    """Store the first bases of a word's suffixes; return the number of suffixes and exceptions."""
    here, following = text.packed[word], text.packed[word + 1]
    for k in range(32):
        shift = np.uint64(2 * k)
        keys[k] = here << shift | following >> ONE >> (np.uint64(63) - shift)
    n = min(n_symbols - (word << 5), 32)
    if text.near[word >> 6] >> np.uint64(word & 63) & ONE:
        for k in range(n):
            keys[k] = _pad(keys[k], _distance(text.marks, (word << 5) + k))
    return n, text.marks[word]


@njit(nogil=True, cache=True, parallel=True)
def _count_ranges(text, cover, splitters, n_symbols, edges, first_chunk, last_chunk, counts):
    """Count the suffixes of each range in chunks of words."""
    for chunk in prange(first_chunk, last_chunk):
        keys = np.empty(32, np.uint64)
        row = np.zeros(counts.shape[1], np.int64)
        for word in range(edges[chunk], edges[chunk + 1]):
            n, marks = _keys_of_word(text, word, n_symbols, keys)
            for k in range(n):
                if marks >> np.uint64(63 - k) & ONE == 0:
                    code = np.int64(keys[k] >> np.uint64(64 - 2 * TABLE_BASES))
                    low, high = splitters.firsts[code], splitters.firsts[code + 1]
                    if low < high:
                        position = (word << 5) + k
                        low = _find_range(text, cover, splitters, low, high, position, keys[k])
                    row[low] += 1
        for i in range(len(row)):
            counts[chunk, i] = row[i]


@njit(nogil=True, cache=True, parallel=True)
def _collect_ranges(text, cover, splitters, n_symbols, ranges, edges, chunks, slots, room):
    """Store the positions of the suffixes of some ranges, in chunks of words."""
    n_splitters = len(splitters.positions)
    first_range, last_range = ranges
    has_lowest, has_highest = first_range > 0, last_range <= n_splitters
    lowest = splitters.keys[first_range - 1] if has_lowest else np.uint64(0)
    highest = splitters.keys[last_range - 1] if has_highest else ~np.uint64(0)
    for chunk in prange(chunks[0], chunks[1]):
        keys = np.empty(32, np.uint64)
        slot = slots[chunk]
        for word in range(edges[chunk], edges[chunk + 1]):
            n, marks = _keys_of_word(text, word, n_symbols, keys)
            for k in range(n):
                key = keys[k]
                if key - lowest > highest - lowest or marks >> np.uint64(63 - k) & ONE != 0:
                    continue
                position = (word << 5) + k
                if has_lowest and key == lowest:
                    low, high = first_range - 1, first_range
                    if has_highest and key == highest:
                        high = last_range
                    number = _find_range(text, cover, splitters, low, high, position, key)
                    if number < first_range or number >= last_range:
                        continue
                elif has_highest and key == highest:
                    low, high = last_range - 1, last_range
                    if _find_range(text, cover, splitters, low, high, position, key) == high:
                        continue
                room[slot] = position
                slot += 1


@njit(nogil=True, cache=True, parallel=True)
def _tally(text, positions, edges, prefix_bases, tallies):
    shift = np.uint64(64 - 2 * prefix_bases)
    for chunk in prange(len(edges) - 1):
        tally = tallies[chunk]
        # The counts of the last two blocks stay in registers: in short repeats, blocks alternate,
        # and each update of `tally` would wait for the store before it.
        block, other, n, n_other = np.int64(0), np.int64(0), 0, 0
        for i in range(edges[chunk], edges[chunk + 1]):
            found = np.int64(_key(text, np.int64(positions[i])) >> shift)
            if found == block:
                n += 1
            elif found == other:
                n_other += 1
            else:
                tally[other] += n_other
                other, n_other = block, n
                block, n = found, 1
        tally[block] += n
        tally[other] += n_other


@njit(nogil=True, cache=True, parallel=True)
def _put(text, positions, edges, prefix_bases, position_bits, slots, words):
    for chunk in prange(len(edges) - 1):
        slot = slots[chunk]
        for i in range(edges[chunk], edges[chunk + 1]):
            put_word(text, np.int64(positions[i]), prefix_bases, position_bits, slot, words)


# Compiled with cpu_blocks.py, cpu_compare.py, cpu_cover.py: a47dc6189763e3c4
