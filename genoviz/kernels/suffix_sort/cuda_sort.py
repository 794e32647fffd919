"""Pairs of a key and a text position sorted on the GPU, by 8 bits a pass."""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module

THREADS = 256
TILES = {"uint32": 12 * THREADS, "int64": 8 * THREADS}
CHUNK = 1024
SCAN_THREADS = 1024
DIGIT_BITS = 8
N_DIGITS = 256
DISTANCE_BITS = 5
TIME_BITS = 22
BLOCKS_PER_MULTIPROCESSOR = 32
INDICES = {"uint32": "unsigned int", "int64": "long long"}


def compile_options(index_dtype):
    """Return the options for suffix arrays of a dtype, given by name."""
    return (f"-DINDEX={INDICES[index_dtype]}",)


class Text:
    """A text on the GPU, and a bit for each symbol that tells whether it is an exception."""

    def __init__(self, packed, n_symbols, exceptions, index_dtype):
        self.packed = cupy.asarray(packed)
        self.n_symbols = n_symbols
        self.index_dtype = np.dtype(index_dtype)
        options = compile_options(self.index_dtype.name)
        self._module = load_module(__package__, "suffix_sort.cu", options=options)
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._most_blocks = multiprocessors * BLOCKS_PER_MULTIPROCESSOR
        self.excepted = cupy.zeros(len(packed), np.uint32)
        exceptions = cupy.asarray(exceptions)
        n_exceptions = np.int64(len(exceptions))
        self.launch("mark_exceptions", n_exceptions, (exceptions, n_exceptions, self.excepted))

    def launch(self, name, n_items, arguments):
        """Run a kernel whose threads take items in turn."""
        n_blocks = min(-(-int(n_items) // THREADS), self._most_blocks)
        self.run(name, n_blocks, THREADS, arguments)

    def launch_warps(self, name, n_items, arguments):
        """Run a kernel whose warps take a chunk of items each."""
        self.run(name, -(-n_chunks(n_items) // (THREADS // 32)), THREADS, arguments)

    def run(self, name, n_blocks, n_threads, arguments):
        """Run a kernel on so many blocks; none is no work."""
        if n_blocks > 0:
            self._module.get_function(name)((n_blocks,), (n_threads,), arguments)

    def sum_chunks(self, counts, total):
        """Replace pairs of counts by the sums of those before; ``total`` becomes their sum."""
        arguments = (counts, np.int64(len(counts)), total)
        self.run("scan_pairs", 1, SCAN_THREADS, arguments)


def n_chunks(n_items):
    """Return how many warps share the items."""
    return -(-int(n_items) // CHUNK)


def key_bits(width):
    """Return the bits of a key of so many bases."""
    return 2 * width + DISTANCE_BITS


class PairSorter:
    """Sorts pairs on the GPU; keeps the memory in which tiles tell each other their counts."""

    def __init__(self, text):
        self._text = text
        self._tile_counts = cupy.zeros(0, np.uint64)
        self._n_taken = cupy.zeros(1, np.uint32)
        self._n_taken_before = 0
        self._time = 0

    def sort(self, keys, values, n_bits):
        """Return the pairs sorted by the lowest bits of their keys; the arrays are used up."""
        n = len(keys)
        n_passes = -(-n_bits // DIGIT_BITS)
        arguments = (keys, np.int64(n), np.int32(n_passes))
        starts = self._find_digit_starts("count_digits", n, n_passes, arguments)
        other_keys, other_values = cupy.empty_like(keys), cupy.empty_like(values)
        for i in range(n_passes):
            source = (keys, values, np.int64(n), np.int32(DIGIT_BITS * i))
            self._run("sort_pairs", n, (*source, starts[i]), (other_keys, other_values))
            keys, other_keys = other_keys, keys
            values, other_values = other_values, values
        return keys, values

    def sort_text(self, width, suffix_array):
        """Sort all suffixes by keys of so many bases, those of equal keys last one first.

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
        """Run a pass. The time of a pass tells its counts from those of the passes before."""
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
