"""The FM-index on one GPU, a thread per query; the contract is in this folder's ``__init__``.

All arrays are on the GPU.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import fetch, load_module, make_launcher
from genoviz.kernels.fm_index import LINE_BITS

THREADS = 256
WARP = 32
BLOCKS_PER_MULTIPROCESSOR = 64
CHUNK_BITS = 6
NO_SUPER_SHIFT = 62
ROWS = {"uint32": "unsigned int", "int64": "long long"}


def _options(row_dtype):
    return (f"-DROW={ROWS[row_dtype]}",)


COMPILE_OPTIONS = tuple(_options(name) for name in ROWS)


def build_lines(
    packed,
    n_symbols,
    exceptions,
    suffix_array,
    super_shift,
    lines,
    super_counts,
    exception_ids,
):
    """Fill lines, super_counts and exception_ids from a suffix array."""
    excepted = cupy.zeros(len(packed), np.uint32)
    n_exceptions = np.int64(len(exceptions))
    launch = _launcher(suffix_array.dtype)
    launch("mark_exceptions", n_exceptions, (exceptions, n_exceptions, excepted))
    text = (packed, excepted, n_symbols, exceptions)
    chunk_bits, counts, totals = _pack(text, suffix_array, super_shift, lines)
    starts = cupy.asarray(len(exceptions) + np.append(0, np.cumsum(totals[:3])))
    super_counts[:] = counts[:4, :: 1 << (super_shift - chunk_bits)].T + starts
    _finish(text, suffix_array, chunk_bits, super_shift, counts, lines, exception_ids)


class LinesOfRows:
    """Lines of consecutive rows; counts are relative to the first row until the offset is known.

    Parameters
    ----------
    text
        packed, a bitmap of the exceptions (a bit for each symbol), n_symbols, exceptions; on the
        GPU.
    rows
        Consecutive rows of the suffix array; the first one begins a line.
    is_last
        Whether these rows end the suffix array. Then one line more holds the rest of the rows.
    """

    def __init__(self, text, rows, is_last=False):
        n_lines = (len(rows) >> LINE_BITS) + is_last
        self.lines = cupy.empty((n_lines, 8), np.uint64)
        chunk_bits, counts, self.totals = _pack(text, rows, CHUNK_BITS, self.lines)
        self.totals[4] -= (n_lines << LINE_BITS) - len(rows)  # no padding after the last row
        self.exception_ids = cupy.empty(int(self.totals[4]), np.int64)
        unshifted = (chunk_bits, NO_SUPER_SHIFT, counts)
        _finish(text, rows, *unshifted, self.lines, self.exception_ids)

    def add_counts(self, first_line, super_shift, counts, super_counts):
        """Make the counts relative to the superblock, and advance ``counts`` past these lines.

        ``counts`` and ``super_counts`` are on the host and have the form that ``add_lines`` takes.
        """
        lines, first_super = self.lines, first_line >> super_shift
        supers = super_counts[first_super : ((first_line + len(lines) - 1) >> super_shift) + 1]
        starts = (np.arange(first_super, first_super + len(supers)) << super_shift) - first_line
        starts = starts[starts >= 0]
        since = fetch(lines[cupy.asarray(starts), :2]).view(np.uint32).reshape(-1, 4)
        supers[len(supers) - len(starts) :] = counts[:4] + since
        numbers = (np.int64(len(lines)), np.int64(first_line), np.int32(super_shift))
        before = (cupy.asarray(counts[:4]), cupy.asarray(supers))
        arguments = (lines, *numbers, *before)
        _launcher(np.dtype(np.uint32))("shift_counts", 4 * len(lines), arguments)
        counts += self.totals


def _pack(text, rows, super_shift, lines):
    """Fill lines; return log2 of lines per chunk, the counts before each chunk, and the totals."""
    packed, excepted, n_symbols, _ = text
    chunk_bits = min(super_shift, CHUNK_BITS)
    n_chunks = ((len(lines) - 1) >> chunk_bits) + 1
    counts = cupy.empty((5, n_chunks), np.int64)
    chunks = (np.int64(len(lines)), np.int32(chunk_bits), np.int64(n_chunks))
    source = (packed, excepted, np.int64(n_symbols), rows, np.int64(len(rows)))
    launch = _launcher(rows.dtype)
    launch("pack_bwt", WARP * n_chunks, (*source, *chunks, lines, counts), is_limited=False)
    sums = cupy.cumsum(counts, axis=1)
    return chunk_bits, sums - counts, fetch(sums[:, -1])


def _finish(text, rows, chunk_bits, super_shift, counts, lines, exception_ids):
    *_, n_symbols, exceptions = text
    n_chunks = counts.shape[1]
    source = (rows, np.int64(len(rows)), np.int64(n_symbols))
    known = (exceptions, np.int64(len(exceptions)))
    chunks = (np.int64(len(lines)), np.int32(chunk_bits), np.int32(super_shift), np.int64(n_chunks))
    arguments = (*source, *known, *chunks, cupy.ascontiguousarray(counts), lines, exception_ids)
    launch = _launcher(rows.dtype)
    launch("finish_lines", WARP * n_chunks, arguments, is_limited=False)


def fill_start_table(index, n_symbols, start_table):
    """Fill the table level by level: each level prepends a base to the k-mers of the last one."""
    launch = _launcher(start_table.dtype)
    start_table[0] = cupy.asarray([0, n_symbols], start_table.dtype)
    n_kmers = 1
    while n_kmers < len(start_table):
        launch("fill_level", n_kmers, (*_passed(index), np.int64(n_kmers), start_table))
        n_kmers *= 4


def find_row_ranges(index, n_symbols, start_table, words, lengths, row_ranges):
    """Fill the row range of each k-mer."""
    table_k = (len(start_table).bit_length() - 1) // 2
    index = (*_passed(index), np.int64(n_symbols))
    n_kmers, n_words = words.shape
    kmers = (words, np.int64(n_words), lengths, np.int64(n_kmers))
    arguments = (*index, start_table, np.int32(table_k), *kmers, row_ranges)
    _launcher(row_ranges.dtype)("find_rows", n_kmers, arguments)


def count_kmers(index, n_symbols, start_table, text, words, lengths, counts):
    """Fill the number of rows that begin with each k-mer."""
    packed, exceptions, samples, sample_rate = text
    table_k = (len(start_table).bit_length() - 1) // 2
    index = (*_passed(index), np.int64(n_symbols))
    suffix_array = samples if sample_rate == 1 else np.uint64(0)
    text = (packed, exceptions, np.int64(len(exceptions)), suffix_array)
    n_kmers, n_words = words.shape
    kmers = (words, np.int64(n_words), lengths, np.int64(n_kmers))
    arguments = (*index, start_table, np.int32(table_k), *text, *kmers, counts)
    _launcher(start_table.dtype)("count_rows", n_kmers, arguments)


def extend_row_ranges(index, row_ranges, symbols):
    """Extend each k-mer by one base to the left, in place."""
    n = len(row_ranges)
    arguments = (*_passed(index), np.int64(n), symbols, row_ranges)
    _launcher(row_ranges.dtype)("extend_rows", n, arguments)


def extend_branches(index, start_table, kmers, branch_kmers, branch_ranges, branches):
    """Fill the row ranges of branches after the wanted letters, one for each last base."""
    table_k = (len(start_table).bit_length() - 1) // 2
    n_branches = len(branch_kmers)
    table = (start_table, np.int32(table_k))
    of_branches = (branch_kmers, np.int64(n_branches), branch_ranges, branches)
    arguments = (*_passed(index), *table, *kmers, *of_branches)
    _launcher(branches.dtype)("branch_rows", n_branches, arguments)


def locate_rows(index, exceptions, exception_ids, samples, sample_rate, rows, positions):
    """Fill the text position of each row."""
    known = (exceptions, np.int64(len(exceptions)), exception_ids, samples)
    rate_bits = np.int32(sample_rate.bit_length() - 1)
    arguments = (*_passed(index), *known, rate_bits, rows, np.int64(len(rows)), positions)
    _launcher(positions.dtype)("locate", len(rows), arguments)


def invert_bwt(index, exception_ids, chain_rows, chain_starts, chain_ends, symbols):
    """Write the symbols of each chain from its end to its start."""
    exceptions = (exception_ids, np.int64(len(exception_ids)))
    chains = (np.int64(len(chain_rows)), chain_starts, chain_ends, chain_rows)
    _launcher(np.dtype(np.uint32))(
        "walk_chains", len(chain_rows), (*_passed(index), *exceptions, *chains, symbols)
    )


def _passed(index):
    """Return the index as kernel arguments."""
    lines, super_counts, super_shift = index
    return lines, super_counts, np.int32(super_shift)


def _launcher(row_dtype):
    module = load_module(__package__, "fm_index.cu", options=_options(row_dtype.name))
    return make_launcher(module, THREADS, BLOCKS_PER_MULTIPROCESSOR)
