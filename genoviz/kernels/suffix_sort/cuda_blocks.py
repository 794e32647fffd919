"""Blocks of suffixes on the GPU: those with keys in an interval, or between two suffixes.

A scan of the text collects a block, which is then sorted by keys. Suffixes that share as many bases
as the modulus of a difference cover are sorted by its ranks, so a block needs no other block.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import cupy
import numpy as np

from genoviz.kernels.cuda_source import fetch
from genoviz.kernels.suffix_sort import count_in_cover, cover_tables
from genoviz.kernels.suffix_sort.cuda_sort import (
    AT_POSITIONS,
    CHUNK,
    CHUNKS_TO_LIST,
    MAX_WIDTH,
    NULL,
    PREFIX_BITS,
    PairSorter,
    Text,
    TieBreaker,
    key_bits,
    n_chunks,
)

LISTED_CHUNK = CHUNKS_TO_LIST * CHUNK
SAMPLES_PER_PART = 32
SMALL_SIZE = np.int64(64)


@dataclass(frozen=True)
class Block:
    """Suffixes with keys in ``[low, high)``, from suffix ``first`` to below ``last``; -1: none."""

    low: int
    high: int
    n_suffixes: int
    first: int = -1
    last: int = -1
    n_of_2_64: int = 0
    seed: int = 0

    @property
    def arguments(self):
        """Kernel arguments of the block, without the cover."""
        return (
            *(np.uint64(self.low), np.uint64(self.high), np.int64(self.first)),
            *(np.int64(self.last), np.uint64(self.n_of_2_64), np.uint64(self.seed)),
        )


class Cover:
    """A difference cover with its ranks, on the current GPU."""

    def __init__(self, cover_bits, n_symbols, ranks):
        residues, *tables = cover_tables(cover_bits)
        self.size = len(residues)
        self.n_suffixes = count_in_cover(n_symbols, cover_bits)
        self.residues = cupy.asarray(residues.astype(np.int32))
        places, deltas, self.offsets, self.classes = (
            cupy.asarray(table.astype(np.int32)) for table in tables
        )
        self.ranks = ranks
        self.numbers = (places, np.int32(cover_bits), np.int64(self.size))
        self.arguments = (ranks, deltas, *self.numbers)
        self.n_classes = int(tables[-1].max()) + 1
        self.class_bits = (self.n_classes - 1).bit_length()
        self.rank_bits = self.n_suffixes.bit_length()


NO_COVER = (NULL, NULL, *AT_POSITIONS)


def rank_cover(text, cover_bits, pairs=()):
    """Return a cover with its ranks: its suffixes are sorted by bases, then by prefix doubling.

    ``pairs``: of `reserve_pairs`, for the sort; by default it has arrays of its own.
    """
    n = count_in_cover(text.n_symbols, cover_bits)
    cover = Cover(cover_bits, text.n_symbols, cupy.empty(n, text.index_dtype))
    sorter = PairSorter(text)
    breaker = TieBreaker(text, sorter, numbers=cover.numbers)
    (keys, rows), others = _take_pairs(pairs or reserve_pairs(text, n), n)
    source = (text.packed, text.excepted, np.int32(MAX_WIDTH), cover.residues)
    arguments = (*source, *cover.numbers[1:], np.int64(n), keys, rows)
    text.launch("list_cover", n, arguments)
    keys, rows = sorter.sort(keys, rows, key_bits(MAX_WIDTH), others)
    ties = breaker.find_ties(keys, rows, 0, MAX_WIDTH)
    del keys, others
    ties = breaker.deepen(ties, rows, 1 << cover_bits)
    text.launch("fill_ranks", n, (rows, np.int64(n), np.int64(0), cover.ranks, *cover.numbers))
    del rows
    # At a multiple of the modulus, a position of the cover is in the cover again.
    ties.depth -= ties.depth % (1 << cover_bits)
    breaker.fill_tied_ranks(ties, cover.ranks)
    while ties.n_tied > 0:
        ties = breaker.sort_by_ranks(ties, cover.ranks, NULL)
    return cover


class BlockSorter:
    """Sorts blocks of a text on the current GPU; with a cover, whatever their common prefixes.

    ``make_cover`` is called for the first block that needs it: while one GPU ranks the cover, the
    others already collect and sort. ``pairs``: of `reserve_pairs`, reused for all blocks.
    """

    def __init__(self, text: Text, cover_bits: int, make_cover: Callable[[], Cover], pairs=()):
        self.text, self._cover_bits, self._make_cover = text, cover_bits, make_cover
        self._sorter = PairSorter(text)
        self._breaker = TieBreaker(text, self._sorter)
        self._pairs = pairs

    @cached_property
    def _cover(self):
        return self._make_cover()

    def _bounds_of(self, block):
        """Return the kernel arguments of a cover, if suffixes bound the block."""
        return self._cover.arguments if max(block.first, block.last) >= 0 else NO_COVER

    def reserve(self, n_suffixes):
        """Reserve memory for blocks of up to so many suffixes, if there is not enough."""
        if not self._pairs or len(self._pairs[0][0]) < n_suffixes:
            self._pairs = ()
            self._pairs = reserve_pairs(self.text, n_suffixes)

    def sort(self, block, start_table=None, first_row=0):
        """Return the positions of a block's suffixes in ascending order of the suffixes.

        The next block overwrites them. ``start_table``, if given, gets their k-mers' row ranges.
        """
        self.reserve(block.n_suffixes)
        pairs, others = _take_pairs(self._pairs, block.n_suffixes)
        keys, rows = list_block(self.text, block, self._bounds_of(block), pairs)
        keys, rows = self._sorter.sort(keys, rows, key_bits(MAX_WIDTH), others)
        if start_table is not None:
            table_k = (len(start_table).bit_length() - 1) // 2
            numbers = (np.int64(len(keys)), np.int32(key_bits(MAX_WIDTH)), np.int32(table_k))
            arguments = (keys, *numbers, np.int64(first_row), start_table)
            self.text.launch("add_starts", len(keys), arguments)
        ties = self._breaker.find_ties(keys, rows, 0, MAX_WIDTH)
        ties = self._breaker.deepen(ties, rows, 1 << self._cover_bits)
        if ties.n_tied > 0:
            self._order_by_cover(ties, rows)
        return rows

    def _order_by_cover(self, ties, rows):
        """Sort tied suffixes by the ranks of the cover, and store them in their rows."""
        text, cover = self.text, self._cover
        ties = self._breaker.number_large(ties, SMALL_SIZE)
        n_bits = cover.rank_bits + cover.class_bits
        large_keys = cupy.empty(ties.n_large, np.uint64)
        large_positions = cupy.empty(ties.n_large, text.index_dtype)
        groups = (ties.positions, np.int64(ties.n_tied), ties.groups, ties.firsts)
        if ties.n_large > 0:
            source = (cover.ranks, *cover.numbers, cover.offsets, cover.classes)
            large = (ties.large_numbers, ties.large_firsts, SMALL_SIZE, np.int32(n_bits))
            arguments = (*source, np.int32(cover.rank_bits), *groups, *large)
            keys = cupy.empty(ties.n_tied, np.uint64)  # keys of small groups, unused
            arguments = (*arguments, keys, large_keys, large_positions)
            text.launch("fill_cover_keys", ties.n_tied, arguments)
            del keys, arguments
            group_bits = (ties.n_large_groups - 1).bit_length()
            sort = self._sorter.sort
            large_keys, large_positions = sort(large_keys, large_positions, n_bits + group_bits)
        source = (*cover.arguments, np.int32(cover.rank_bits), np.int32(cover.n_classes))
        large = (ties.slots, ties.large_firsts, SMALL_SIZE, np.int32(n_bits))
        arguments = (*source, *groups, *large, large_keys, large_positions, rows)
        text.launch("order_by_cover", ties.n_tied, arguments)

    def split(self, block, max_block, seed):
        """Split a block into blocks of about so many suffixes, or fewer.

        All its keys are equal, so suffixes from a sample serve as splitters.
        """
        block = replace(block, seed=seed)
        n_parts = -(-2 * block.n_suffixes // max_block)
        n_sampled = SAMPLES_PER_PART * n_parts
        n_of_2_64 = 0 if n_sampled >= block.n_suffixes else (n_sampled << 64) // block.n_suffixes
        n_found = count_block(self.text, block, self._bounds_of(block), n_of_2_64)[0]
        sample = self.sort(replace(block, n_suffixes=n_found, n_of_2_64=n_of_2_64))
        chosen = sample[cupy.arange(1, n_parts) * n_found // n_parts].get() if n_found else []
        edges = [block.first, *dict.fromkeys(int(position) for position in chosen), block.last]
        blocks = []
        for first, last in itertools.pairwise(edges):
            part = replace(block, first=first, last=last)
            n_found = count_block(self.text, part, self._bounds_of(part))[0]
            if n_found > 0:
                blocks.append(replace(part, n_suffixes=n_found))
        return blocks


def plan_blocks(text, max_block, count_prefixes=None):
    """Return intervals of keys, in order, of at most so many suffixes each where possible.

    ``count_prefixes`` counts suffixes by bits of their keys; by default on the current GPU.
    """
    count = count_prefixes or (lambda *of_keys: count_part(text, 0, text.n_symbols, *of_keys))
    return list(_iter_buckets(count, 0, key_bits(MAX_WIDTH), max_block))


def _iter_buckets(count, low, shift, max_block):
    """Yield blocks of the suffixes with keys in ``[low, low + 2**shift)``.

    Suffixes are bucketed by the next bits of their keys; a bucket that is too large is split by the
    bits after these.
    """
    bits = min(PREFIX_BITS, shift)
    end, shift = low + (1 << shift), shift - bits
    counts = count(low, end, shift, bits)
    n_before = np.concatenate([[0], np.cumsum(counts)])
    first = 0
    while n_before[first] < n_before[-1]:
        first = int(np.searchsorted(n_before, n_before[first], side="right")) - 1
        last = int(np.searchsorted(n_before, n_before[first] + max_block, side="right")) - 1
        if last == first and shift > 0:
            yield from _iter_buckets(count, low + (first << shift), shift, max_block)
        last = max(last, first + 1)
        if last > first + 1 or counts[first] <= max_block or shift == 0:
            n_suffixes = int(n_before[last] - n_before[first])
            yield Block(low + (first << shift), low + (last << shift), n_suffixes)
        first = last


def count_part(text, first, last, low, high, shift, bits):
    """Count keys in ``[low, high)`` of some positions by their bits from ``shift`` on; int64."""
    counts = cupy.zeros(1 << bits, np.uint64)
    source = (text.packed, text.excepted, np.int64(first), np.int64(last), np.int32(MAX_WIDTH))
    bounds = (np.uint64(low), np.uint64(high), np.int32(shift), np.uint64((1 << bits) - 1))
    text.launch("count_prefixes", last - first, (*source, *bounds, counts))
    return fetch(counts).astype(np.int64)


def count_block(text, block, cover, n_of_2_64=0):
    """Return the number of suffixes of a block, or of a sample, and the prefix sums of chunks."""
    n = text.n_symbols
    counts = cupy.empty((n_chunks(n, LISTED_CHUNK), 2), np.uint64)
    total = cupy.empty(2, np.uint64)
    bounds = replace(block, n_of_2_64=n_of_2_64 or block.n_of_2_64).arguments
    arguments = (*_source(text), *bounds, *cover, counts)
    text.launch_warps("count_block", n, arguments, LISTED_CHUNK)
    text.sum_chunks(counts, total)
    return int(fetch(total)[0]), counts


def list_block(text, block, cover=NO_COVER, pairs=None):
    """Return the keys and positions of a block's suffixes, from the end of the text on.

    ``pairs`` are arrays for them.
    """
    _, counts = count_block(text, block, cover)
    pairs = pairs or _empty_pairs(text, block.n_suffixes)
    arguments = (*_source(text), *block.arguments, *cover, counts, *pairs)
    text.launch_warps("list_block", text.n_symbols, arguments, LISTED_CHUNK)
    return pairs


def reserve_pairs(text, n):
    """Return two pairs of arrays, each for keys and positions of so many suffixes."""
    return [_empty_pairs(text, n) for _ in range(2)]


def _take_pairs(pairs, n):
    """Return the first items of two pairs."""
    return [tuple(array[:n] for array in some) for some in pairs]


def _empty_pairs(text, n):
    return cupy.empty(n, np.uint64), cupy.empty(n, text.index_dtype)


def _source(text):
    return text.packed, text.excepted, np.int64(text.n_symbols), np.int32(MAX_WIDTH)
