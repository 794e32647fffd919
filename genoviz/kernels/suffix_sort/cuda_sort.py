"""Sort suffixes on the GPU: radix sort by a key, 8 bits a pass, then rounds for the ties."""

from dataclasses import dataclass

import cupy
import numpy as np

from genoviz.kernels.cuda_source import fetch, load_module

THREADS = 256
TILES = {"uint32": 12 * THREADS, "int64": 8 * THREADS}
CHUNK = 1024
CHUNKS_TO_LIST = 8
PREFIX_BITS = 12
SCAN_THREADS = 1024
DIGIT_BITS = 8
N_DIGITS = 256
DISTANCE_BITS = 5
TIME_BITS = 22
BLOCKS_PER_MULTIPROCESSOR = 32
INDICES = {"uint32": "unsigned int", "int64": "long long"}
MAX_WIDTH = 29
SMALL_SIZE = 512
FEW_TIED = 1 / 128
LAST_WORDS = 140
NULL = np.uint64(0)
AT_POSITIONS = (NULL, np.int32(0), np.int64(0))


def compile_options(index_dtype):
    """Return the compile options for suffix arrays of a dtype, given by name."""
    numbers = {"CHUNK": CHUNK, "CHUNKS_TO_LIST": CHUNKS_TO_LIST, "PREFIX_BITS": PREFIX_BITS}
    return (f"-DINDEX={INDICES[index_dtype]}", *(f"-D{name}={n}" for name, n in numbers.items()))


class Text:
    """A text on the GPU, with a bitmap of its exceptions."""

    def __init__(self, packed, n_symbols, exceptions, index_dtype, watch):
        self.packed = cupy.asarray(packed)
        self._watch = watch
        self.n_symbols = n_symbols
        self.index_dtype = np.dtype(index_dtype)
        options = compile_options(self.index_dtype.name)
        self._module = load_module(__package__, "suffix_sort.cu", options=options)
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._max_blocks = multiprocessors * BLOCKS_PER_MULTIPROCESSOR
        self.excepted = cupy.zeros(len(packed), np.uint32)
        self.exceptions = cupy.asarray(exceptions)
        n_exceptions = np.int64(len(exceptions))
        self.launch("mark_exceptions", n_exceptions, (self.exceptions, n_exceptions, self.excepted))

    def launch(self, name, n_items, arguments):
        """Launch a kernel with a grid-stride loop over items."""
        n_blocks = min(-(-int(n_items) // THREADS), self._max_blocks)
        self.run(name, n_blocks, THREADS, arguments)

    def launch_warps(self, name, n_items, arguments, chunk=CHUNK):
        """Launch a kernel whose warps each process a chunk of items."""
        self.run(name, -(-n_chunks(n_items, chunk) // (THREADS // 32)), THREADS, arguments)

    def run(self, name, n_blocks, n_threads, arguments):
        """Launch a kernel on so many blocks; do nothing for zero."""
        if n_blocks > 0:
            with self._watch(name):
                self._module.get_function(name)((n_blocks,), (n_threads,), arguments)

    def sum_chunks(self, counts, total):
        """Replace pairs of counts by their exclusive prefix sums; ``total`` gets the sum."""
        arguments = (counts, np.int64(len(counts)), total)
        self.run("scan_pairs", 1, SCAN_THREADS, arguments)


def n_chunks(n_items, chunk=CHUNK):
    """Return the number of warps for the items."""
    return -(-int(n_items) // chunk)


def key_bits(width):
    """Return the bits of a key of so many bases."""
    return 2 * width + DISTANCE_BITS


class PairSorter:
    """Sorts pairs on the GPU; keeps the memory through which tiles exchange their counts."""

    def __init__(self, text):
        self._text = text
        self._tile_counts = cupy.zeros(0, np.uint64)
        self._n_taken = cupy.zeros(1, np.uint32)
        self._n_taken_before = 0
        self._time = 0

    def sort(self, keys, values, n_bits, others=None):
        """Return the pairs sorted by the lowest bits of their keys; the arrays become workspace.

        ``others`` are two more such arrays for workspace.
        """
        n = len(keys)
        n_passes = -(-n_bits // DIGIT_BITS)
        arguments = (keys, np.int64(n), np.int32(n_passes))
        starts = self._find_digit_starts("count_digits", n, n_passes, arguments)
        other_keys, other_values = others or (cupy.empty_like(keys), cupy.empty_like(values))
        for i in range(n_passes):
            source = (keys, values, np.int64(n), np.int32(DIGIT_BITS * i))
            self._run("sort_pairs", n, (*source, starts[i]), (other_keys, other_values))
            keys, other_keys = other_keys, keys
            values, other_values = other_values, values
        return keys, values

    def sort_text(self, width, suffix_array):
        """Sort all suffixes by keys of ``width`` bases; equal keys are in descending text order.

        Returns the sorted keys.
        """
        text, n = self._text, len(suffix_array)
        n_passes = -(-key_bits(width) // DIGIT_BITS)
        source = (text.packed, text.excepted)
        arguments = (*source, np.int64(n), np.int32(width), np.int32(n_passes))
        starts = self._find_digit_starts("count_digits_of_text", n, n_passes, arguments)
        keys, other_keys = cupy.empty(n, np.uint64), cupy.empty(n, np.uint64)
        values, other_values = suffix_array, cupy.empty_like(suffix_array)
        if n_passes % 2 == 0:
            values, other_values = other_values, values
        source = (*source, np.int32(width), np.int64(n))
        self._run("sort_text", n, (*source, starts[0]), (keys, values))
        for i in range(1, n_passes):
            source = (keys, values, np.int64(n), np.int32(DIGIT_BITS * i))
            self._run("sort_pairs", n, (*source, starts[i]), (other_keys, other_values))
            keys, other_keys = other_keys, keys
            values, other_values = other_values, values
        return keys

    def _find_digit_starts(self, name, n, n_passes, arguments):
        starts = cupy.zeros((n_passes, N_DIGITS), np.uint64)
        self._text.launch(name, n, (*arguments, starts))
        self._text.run("scan_digits", n_passes, N_DIGITS, (starts,))
        return starts

    def _run(self, name, n, source, target):
        """Run a pass. Counts carry its number, the ``time``, so older ones need no clearing."""
        n_tiles = -(-n // TILES[self._text.index_dtype.name])
        self._time = (self._time + 1) % 2**TIME_BITS
        if len(self._tile_counts) < n_tiles * N_DIGITS:
            self._tile_counts = cupy.zeros(n_tiles * N_DIGITS, np.uint64)
        if self._time == 0:
            self._tile_counts.fill(0)
            self._time = 1
        taken = (self._n_taken, np.uint32(self._n_taken_before))
        arguments = (*source, self._tile_counts, np.uint64(self._time), *taken, *target)
        self._text.run(name, n_tiles, THREADS, arguments)
        self._n_taken_before = (self._n_taken_before + n_tiles) % 2**32


@dataclass
class Ties:
    """Suffixes that share their first ``depth`` bases with a neighbour; groups are contiguous.

    ``slots`` are rows of the suffix array; ``firsts`` is the first row of each group. Groups of
    more than ``SMALL_SIZE`` suffixes are *large*; they are numbered, and their suffixes counted.
    """

    depth: int
    positions: cupy.ndarray
    slots: cupy.ndarray
    groups: cupy.ndarray
    firsts: cupy.ndarray
    large_numbers: cupy.ndarray
    large_firsts: cupy.ndarray
    n_tied: int
    n_groups: int
    n_large_groups: int
    n_large: int


class TieBreaker:
    """Rounds of refinement: each separates tied suffixes by more bases, or by known ranks."""

    def __init__(
        self, text, sorter, small_size=SMALL_SIZE, few_tied=FEW_TIED, numbers=AT_POSITIONS
    ):
        self._text = text
        self._sorter = sorter
        self._small_size = np.int64(small_size)
        self._few_tied = few_tied
        self._numbers = numbers
        self._totals = cupy.empty((2, 2), np.uint64)

    def find_ties(self, keys, suffix_array, first_slot, depth):
        """Return the ties of suffixes that are sorted by keys of ``depth`` bases."""
        n = len(keys)
        counts = self._count_ties(keys, NULL, n, True)
        n_tied, n_groups = (int(value) for value in fetch(self._totals[0]))
        outputs = self._empty_ties(n_tied, n_groups)
        source = (keys, NULL, np.int64(n), np.int32(1), counts, self._totals[0])
        written = (suffix_array, NULL, np.int64(first_slot), NULL, NULL, *self._numbers)
        self._text.launch_warps("list_ties", n, (*source, *written, *outputs))
        return self._with_large(depth, outputs, n_groups)

    def join(self, blocks):
        """Concatenate the ties of several blocks."""
        outputs = [cupy.concatenate([block.positions[: block.n_tied] for block in blocks])]
        outputs.append(cupy.concatenate([block.slots[: block.n_tied] for block in blocks]))
        dtype, groups, firsts, n_groups, n_tied = self._text.index_dtype.type, [], [], 0, 0
        for block in blocks:
            groups.append(block.groups[: block.n_tied] + dtype(n_groups))
            firsts.append(block.firsts[: block.n_groups] + dtype(n_tied))
            n_groups += block.n_groups
            n_tied += block.n_tied
        firsts.append(cupy.asarray([n_tied], dtype))
        outputs += [cupy.concatenate(groups), cupy.concatenate(firsts)]
        self._totals[0] = cupy.asarray([n_tied, n_groups], np.uint64)
        return self._with_large(min(block.depth for block in blocks), outputs, n_groups)

    def iter_by_text(self, ties, suffix_array, first_slot):
        """Yield the ties after each round of comparing bases, until ranks are the better method."""
        while ties.n_tied > 0:
            if ties.n_large == 0 and ties.n_tied <= self._few_tied * self._text.n_symbols:
                yield self._order_by_text(ties, suffix_array, first_slot, LAST_WORDS)
                return
            n_before = ties.n_tied
            ties = self._sort_by_text(ties, suffix_array, first_slot)
            yield ties
            kept = ties.n_tied / n_before
            if kept == 1 or ties.n_tied * kept / (1 - kept) > self._text.n_symbols / 2:
                return

    def deepen(self, ties, rows, depth):
        """Return the suffixes still tied after ``depth`` bases; store the others in their rows."""
        while ties.n_tied > 0 and ties.depth < depth:
            if ties.n_large == 0 and ties.n_tied <= self._few_tied * len(rows):
                n_words = -(-(depth - ties.depth) // MAX_WIDTH)
                ties = self._order_by_text(ties, rows, 0, n_words)
            else:
                ties = self._sort_by_text(ties, rows, 0)
        return ties

    def number_large(self, ties, small_size):
        """Return ties whose groups of more than ``small_size`` suffixes count as large."""
        outputs = (ties.positions, ties.slots, ties.groups, ties.firsts)
        self._totals[0] = cupy.asarray([ties.n_tied, ties.n_groups], np.uint64)
        return self._with_large(ties.depth, outputs, ties.n_groups, small_size)

    def sort_by_ranks(self, ties, ranks, suffix_array):
        """Return the ties after a round of doubling; ``suffix_array`` may be ``NULL``."""
        n_bits = int(self._text.n_symbols).bit_length()
        source = (ranks, *self._numbers, np.int64(ties.depth))
        keys, positions = self._sort_groups("fill_rank_keys", source, ties, n_bits)
        args = (ties, keys, positions, 2 * ties.depth, False, suffix_array, 0, ranks)
        ties = self._regroup(*args)
        self.fill_tied_ranks(ties, ranks)
        return ties

    def fill_tied_ranks(self, ties, ranks):
        """Set the rank of tied suffixes to that of their group."""
        arguments = (ties.positions, ties.slots, np.int64(ties.n_tied), ties.groups, ties.firsts)
        arguments = (*arguments, ranks, *self._numbers)
        self._text.launch("fill_tied_ranks", ties.n_tied, arguments)

    def _sort_by_text(self, ties, suffix_array, first_slot):
        group_bits = max(ties.n_large_groups - 1, 0).bit_length()
        width = min(MAX_WIDTH, (64 - key_bits(0) - group_bits) // 2)
        text = self._text
        source = (text.packed, text.excepted, np.int64(ties.depth), np.int32(width))
        keys, positions = self._sort_groups("fill_text_keys", source, ties, key_bits(width))
        depth = ties.depth + width
        return self._regroup(ties, keys, positions, depth, True, suffix_array, first_slot, NULL)

    def _order_by_text(self, ties, suffix_array, first_slot, n_words):
        text = self._text
        keys = cupy.empty(ties.n_tied, np.uint64)
        positions = cupy.empty(ties.n_tied, text.index_dtype)
        arguments = (
            text.packed,
            text.excepted,
            np.int64(ties.depth),
            np.int32(MAX_WIDTH),
            np.int32(n_words),
            ties.positions,
            np.int64(ties.n_tied),
            ties.groups,
            ties.firsts,
            keys,
            positions,
        )
        text.launch("order_groups_by_text", ties.n_tied, arguments)
        depth = ties.depth + MAX_WIDTH * n_words
        return self._regroup(ties, keys, positions, depth, False, suffix_array, first_slot, NULL)

    def _sort_groups(self, name, source, ties, n_bits):
        """Return keys and positions of the ties, sorted within each group."""
        text, n = self._text, ties.n_tied
        keys = cupy.empty(n, np.uint64)
        large_keys = cupy.empty(ties.n_large, np.uint64)
        large_positions = cupy.empty(ties.n_large, text.index_dtype)
        large = (ties.large_numbers, ties.large_firsts, self._small_size, np.int32(n_bits))
        groups = (ties.positions, np.int64(n), ties.groups, ties.firsts)
        arguments = (*source, *groups, *large, keys, large_keys, large_positions)
        text.launch(name, n, arguments)
        if ties.n_large > 0:
            group_bits = (ties.n_large_groups - 1).bit_length()
            large_keys, large_positions = self._sorter.sort(
                large_keys, large_positions, n_bits + group_bits
            )
        keys_out, positions_out = cupy.empty_like(keys), cupy.empty(n, text.index_dtype)
        mask = np.uint64((1 << n_bits) - 1)
        large = (ties.large_firsts, self._small_size, mask, large_keys, large_positions)
        text.launch("order_groups", n, (keys, *groups, *large, keys_out, positions_out))
        return keys_out, positions_out

    def _regroup(
        self, ties, keys, positions, depth, has_distances, suffix_array, first_slot, ranks
    ):
        """Return the remaining ties; write the new order to the suffix array and the ranks."""
        n = ties.n_tied
        counts = self._count_ties(keys, ties.groups, n, has_distances)
        outputs = self._empty_ties(n, n // 2)
        source = (keys, ties.groups, np.int64(n), np.int32(has_distances), counts, self._totals[0])
        written = (positions, ties.slots, np.int64(first_slot), suffix_array, ranks)
        arguments = (*source, *written, *self._numbers, *outputs)
        self._text.launch_warps("list_ties", n, arguments)
        return self._with_large(depth, outputs, n // 2)

    def _count_ties(self, keys, groups, n, has_distances):
        counts = cupy.empty((n_chunks(n), 2), np.uint64)
        arguments = (keys, groups, np.int64(n), np.int32(has_distances), counts)
        self._text.launch_warps("count_ties", n, arguments)
        self._text.sum_chunks(counts, self._totals[0])
        return counts

    def _empty_ties(self, n_tied, n_groups):
        dtype = self._text.index_dtype
        return (*(cupy.empty(n_tied, dtype) for _ in range(3)), cupy.empty(n_groups + 1, dtype))

    def _with_large(self, depth, outputs, max_groups, small_size=None):
        """Return the ties with their large groups numbered."""
        text, firsts, totals = self._text, outputs[3], self._totals
        counts = cupy.empty((n_chunks(max_groups), 2), np.uint64)
        source = (firsts, totals[0], self._small_size if small_size is None else small_size)
        text.launch_warps("count_large", max_groups, (*source, np.int64(len(counts)), counts))
        text.sum_chunks(counts, totals[1])
        large = tuple(cupy.empty(max_groups, text.index_dtype) for _ in range(2))
        text.launch_warps("list_large", max_groups, (*source, counts, *large))
        return Ties(depth, *outputs, *large, *(int(value) for value in fetch(totals).ravel()))
