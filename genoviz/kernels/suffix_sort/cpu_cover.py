"""Rank the suffixes at the positions of a difference cover.

They are sorted as a block of their own by their first ``v`` bases, and then by prefix doubling
(``cpu_ties``): the position ``v`` further on has the same residue, so it is in the cover too.
``Cover`` numbers the suffixes; for prefix doubling, twice that number is the position.
"""

import numpy as np
from numba import get_num_threads, njit, parallel_chunksize, prange

from genoviz.kernels.suffix_sort import count_in_cover, cpu_ties, row_dtype
from genoviz.kernels.suffix_sort.cpu_blocks import SPARE
from genoviz.kernels.suffix_sort.cpu_compare import cover_of
from genoviz.kernels.suffix_sort.cpu_order import POSITION, TIED, sort_block
from genoviz.kernels.suffix_sort.cpu_seeds import _padded_window

MAX_PREFIX = 8
BUCKET_ROWS = 128
PIECES_PER_STEP = 16
STEP_ROWS = 1 << 21


def iter_rank_cover(text, n_symbols, cover_bits):
    """Return the cover with its ranks; yield the number of its suffixes sorted, and of all."""
    cover = cover_of(cover_bits, np.empty(0, row_dtype(0)))
    size = len(cover.residues)
    n = count_in_cover(n_symbols, cover_bits)
    dtype = row_dtype(2 * n)
    cover = cover_of(cover_bits, np.empty(0, dtype))
    words, room = np.empty(n, np.uint64), np.empty(n, row_dtype(n_symbols))
    position_bits = max((n_symbols - 1).bit_length(), 1)
    parting = _part_cover(text, cover, position_bits, words)
    for bounds, block_ends, depth in iter_pieces(*parting, position_bits):
        sort_pieces(text, cover, words, room, block_ends, bounds, depth, position_bits)
        yield int(block_ends[bounds[-1]]), n
    del room
    seeds, is_head = np.empty(n, dtype), np.ones(-(-(n + 1) // 8) * 8, np.uint8)
    n_tied = _number_words(words, cover, seeds, is_head)
    del words
    ranks = np.empty(n, dtype)
    edges = np.linspace(0, n, PIECES_PER_STEP * get_num_threads() + 1).astype(np.int64)
    cpu_ties.move_to_heads(is_head, edges)
    cpu_ties.rank_seeds(seeds, is_head, edges, ranks)
    if n_tied:
        yield from _refine(seeds, is_head, edges, ranks, 2 * size)
    return cover_of(cover_bits, ranks)


def _refine(seeds, is_head, edges, ranks, unit):
    """Sort the tied suffixes, one round at a time."""
    links = np.full(len(seeds) // 2 + 1, unit, seeds.dtype)
    next_links = np.empty_like(links)
    tied = np.zeros(len(edges) - 1, np.int64)
    n_tied = 1
    while n_tied:
        cpu_ties.sort_groups(seeds, is_head, edges, ranks, links, next_links, False)
        links, next_links = next_links, links
        cpu_ties.split_groups(seeds, is_head, edges, ranks, tied)
        n_tied = int(tied.sum())
        yield len(seeds) - n_tied, len(seeds)


def _part_cover(text, cover, position_bits, words):
    """Scatter the suffixes of the cover into blocks; return the blocks' ends and prefix length."""
    n = len(words)
    prefix_bases = count_prefix(n)
    edges = np.linspace(0, n, get_num_threads() + 1).astype(np.int64)
    tallies = np.zeros((len(edges) - 1, 4**prefix_bases), np.int64)
    _tally_cover(text, cover, edges, prefix_bases, tallies)
    block_ends, slots = find_slots(tallies)
    _put_cover(text, cover, edges, prefix_bases, position_bits, slots, words)
    return block_ends, prefix_bases


def count_prefix(n):
    """Return the length of the prefix by which ``n`` suffixes are bucketed."""
    return max(1, min(MAX_PREFIX, (n // BUCKET_ROWS).bit_length() // 2))


def find_slots(tallies):
    """Return the ends of blocks, and the first slot of each chunk in each block."""
    block_ends = np.concatenate([[0], np.cumsum(tallies.sum(axis=0))])
    return block_ends, np.cumsum(tallies, axis=0) - tallies + block_ends[:-1]


def iter_pieces(block_ends, prefix_bases, position_bits):
    """Yield pieces of blocks for threads, the blocks' ends, and the depth of the keys."""
    depth = min(prefix_bases + (64 - position_bits) // 2, 32)
    n = int(block_ends[-1])
    n_steps = max(1, -(-n // (STEP_ROWS * get_num_threads())))
    targets = np.linspace(0, n, n_steps * PIECES_PER_STEP * get_num_threads() + 1)
    pieces = np.searchsorted(block_ends, targets.astype(np.int64), side="left")
    pieces[0], pieces[-1] = 0, len(block_ends) - 1
    for of_step in np.array_split(np.arange(len(pieces) - 1), n_steps):
        yield pieces[of_step[0] : of_step[-1] + 2], block_ends, depth


def sort_pieces(text, cover, words, room, block_ends, bounds, depth, position_bits):
    """Sort blocks; leave the positions in ``words``, and in ``room`` too if there are ranks."""
    with parallel_chunksize(1):
        _sort_pieces(text, cover, words, room, block_ends, bounds, depth, position_bits)


@njit(nogil=True, cache=True, parallel=True)
def _sort_pieces(text, cover, words, room, block_ends, bounds, depth, position_bits):
    for piece in prange(len(bounds) - 1):
        longest = np.int64(0)
        for block in range(bounds[piece], bounds[piece + 1]):
            longest = max(longest, block_ends[block + 1] - block_ends[block])
        spare = np.empty(min(longest, SPARE), np.uint64)
        for block in range(bounds[piece], bounds[piece + 1]):
            first, last = block_ends[block], block_ends[block + 1]
            if first < last:
                sort_block(text, cover, words, room, first, last, depth, position_bits, spare)
            if len(cover.ranks):
                for i in range(first, last):
                    room[i] = words[i]


@njit(nogil=True, cache=True)
def _position(cover, number):
    size = len(cover.residues)
    block = number // size
    return (block << cover.bits) + cover.residues[number - block * size]


@njit(nogil=True, cache=True, parallel=True)
def _tally_cover(text, cover, edges, prefix_bases, tallies):
    shift = np.uint64(64 - 2 * prefix_bases)
    for chunk in prange(len(edges) - 1):
        tally = tallies[chunk]
        for number in range(edges[chunk], edges[chunk + 1]):
            window = _padded_window(text.packed, text.marks, _position(cover, number))
            tally[np.int64(window >> shift)] += 1


@njit(nogil=True, cache=True, parallel=True)
def _put_cover(text, cover, edges, prefix_bases, position_bits, slots, words):
    for chunk in prange(len(edges) - 1):
        slot = slots[chunk]
        for number in range(edges[chunk], edges[chunk + 1]):
            put_word(text, _position(cover, number), prefix_bases, position_bits, slot, words)


@njit(nogil=True, cache=True)
def put_word(text, position, prefix_bases, position_bits, slot, words):
    """Put a suffix in the next slot of its block: the bases after the prefix, and its position."""
    shift = np.uint64(64 - 2 * prefix_bases)
    key_shift = np.uint64((position_bits + 1) // 2 * 2)
    window = _padded_window(text.packed, text.marks, position)
    block = np.int64(window >> shift)
    key = window << (np.uint64(64) - shift) >> key_shift << key_shift
    words[slot[block]] = key | np.uint64(position)
    slot[block] += 1


@njit(nogil=True, cache=True)
def _number_words(words, cover, seeds, is_head):
    """Store twice the number of each suffix and the group heads; return the number of ties."""
    size, n_tied = len(cover.residues), 0
    mask = (np.int64(1) << cover.bits) - 1
    for i in range(len(words)):
        position = np.int64(words[i] & POSITION)
        number = (position >> cover.bits) * size + cover.places[position & mask]
        seeds[i] = 2 * number
        is_head[i] = words[i] & TIED == 0
        n_tied += is_head[i] == 0
    return n_tied


# Compiled with cpu_order.py, cpu_seeds.py: f15c8ba1e6e9298f
