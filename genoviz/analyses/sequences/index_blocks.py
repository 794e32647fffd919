"""Building the index of sequences block by block, within a given memory."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np

from genoviz.analyses.sequences.fm_index import check_options, default_table_k
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.kernels.fm_index import LINE_BITS, SUPER_SHIFT
from genoviz.kernels.suffix_sort import COVER_BITS, row_dtype
from genoviz.model.sequences.fm_index import (
    LINE_WORDS,
    IndexInParts,
    IndexPart,
    shapes_of_index,
)
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences

SLICE_ROWS = 1 << 22
MAX_BLOCKS = 128
# With more blocks, a cover of fewer suffixes leaves more memory to each, and that is worth more.
FEW_BLOCKS = 12
# Python, Numba and its compiled loops; and what the system keeps of the file while it is written.
PROCESS_BYTES = 400 << 20
READING_BYTES_A_BASE = 2.3
_ENDS = {"cover": (0.0, 0.12), "splitters": (0.12, 0.17), "blocks": (0.17, 0.99)}


def build_index_in_parts(
    sequences: Sequences | IndexText,
    *,
    memory: int,
    sample_rate: int = 1,
    table_k: int | None = None,
    super_shift: int = SUPER_SHIFT,
    seed: int = 0,
) -> IndexInParts:
    """Return the index of sequences, to be built block by block while it is written.

    The suffix array is never in memory: suffixes chosen at random and sorted cut it into blocks,
    and each is collected from the text, sorted, written and forgotten. The work is done as the
    parts are asked for, as `write_index_in_parts` does; the file is the same as that of
    `build_fm_index`. On all cores.

    Parameters
    ----------
    sequences
        Sequences, or the text of them, which needs a quarter of the memory.
    memory
        Bytes that the process may take in all, with the text.
    sample_rate, table_k, super_shift
        As of `build_fm_index`.
    seed
        Of the random suffixes. It does not change the index.

    Raises
    ------
    ParameterError
        If an option is out of range, or the memory is not enough; says how much is.

    References
    ----------
    Kärkkäinen 2007, Fast BWT in small space by blockwise suffix sorting,
    doi:10.1016/j.tcs.2007.07.018.

    Examples
    --------
    >>> genome = Sequences.from_records([("chr1", "GATTACATTACAN")])
    >>> index = build_index_in_parts(genome, memory=10**9)
    >>> [part.stage for part in index.parts][-1]
    'table'
    """
    check_options(sample_rate, table_k, super_shift)
    text = sequences
    if not isinstance(text, IndexText):
        text = make_index_text(text)
    if table_k is None:
        table_k = default_table_k(text.n_symbols)
    kernel = load_kernel("suffix_sort", "cpu")
    block_rows, cover_bits, n_bytes = _plan(text, table_k, memory, kernel)
    n_blocks = -(-text.n_symbols // max(block_rows, 1))
    rows = _iter_rows(text, block_rows, cover_bits, seed, kernel)
    parts = _iter_parts(text, rows, super_shift, table_k, sample_rate)
    return IndexInParts(text, super_shift, sample_rate, table_k, n_blocks, n_bytes, parts)


def _plan(text: IndexText, table_k: int, memory: int, kernel: ModuleType) -> tuple[int, int, int]:
    """Return how many rows a block may have, which cover to take, and the memory of both."""
    n = text.n_symbols
    arrays = [value for value in vars(text).values() if isinstance(value, np.ndarray)]
    fixed = PROCESS_BYTES + sum(array.nbytes for array in arrays)
    fixed += 2 * 4**table_k * np.dtype(row_dtype(n)).itemsize
    fixed += SLICE_ROWS * 12 + 16 * len(text.exceptions)

    def needed(block_rows: int, cover_bits: int) -> int:
        return fixed + kernel.needed_bytes(n, block_rows, cover_bits)

    def most_rows(cover_bits: int) -> int:
        low, high = 0, n
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if needed(middle, cover_bits) <= memory else (low, middle - 1)
            )
        return low

    fewest = max(-(-n // MAX_BLOCKS), 1)
    least = min(needed(fewest, cover_bits) for cover_bits in COVER_BITS)
    least = max(least, PROCESS_BYTES + int(READING_BYTES_A_BASE * text.total_length))
    if least > memory:
        raise ParameterError(
            f"an index of {text.n_bases:,} bases needs {-(-least // 10**7) / 100:,.2f} GB of "
            f"memory at least, is allowed {memory / 10**9:g} GB"
        )
    choices = [(most_rows(cover_bits), cover_bits) for cover_bits in COVER_BITS]
    rows, cover_bits = next(
        (choice for choice in choices if choice[0] * FEW_BLOCKS >= n), max(choices)
    )
    return max(rows, 1), cover_bits, max(needed(max(rows, 1), cover_bits), least)


def _iter_rows(
    text: IndexText, block_rows: int, cover_bits: int, seed: int, kernel: ModuleType
) -> Iterator[tuple[str, float, np.ndarray | None]]:
    steps = kernel.iter_sort_blocks(
        text.packed, text.n_symbols, text.exceptions, block_rows, cover_bits, seed
    )
    for stage, n_done, n_total, rows in steps:
        low, high = _ENDS[stage]
        yield stage, low + (high - low) * n_done / max(n_total, 1), rows


def _iter_parts(
    text: IndexText,
    steps: Iterator[tuple[str, float, np.ndarray | None]],
    super_shift: int,
    table_k: int,
    sample_rate: int,
) -> Iterator[IndexPart]:
    """Yield lines, samples and tables of the rows of the suffix array."""
    kernel = load_kernel("fm_index", "cpu")
    shapes = shapes_of_index(text, super_shift, table_k, sample_rate)
    tables = {name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()
              if name not in ("lines", "samples")}  # fmt: skip
    flagged, counts = kernel.begin_lines(text.packed, text.n_symbols, text.exceptions)
    kept = np.empty(max(SLICE_ROWS, sample_rate), row_dtype(text.n_symbols))
    n_kept, n_done, fraction = 0, 0, 0.0

    def part(stage: str, rows: np.ndarray, n_lines: int) -> IndexPart:
        lines = np.empty((n_lines, LINE_WORDS), np.uint64)
        filled = tables["super_counts"], tables["exception_ids"]
        first_line = n_done >> LINE_BITS
        kernel.add_lines(flagged, rows, first_line, counts, super_shift, lines, *filled)
        kernel.add_starts(flagged, rows, n_done, tables["start_table"])
        return IndexPart(stage, fraction, {"lines": lines, "samples": rows[::sample_rate]})

    for stage, fraction, rows in steps:
        yield IndexPart(stage, fraction)
        n_taken = 0
        while rows is not None and n_taken < len(rows):
            taken = rows[n_taken : n_taken + len(kept) - n_kept]
            kept[n_kept : n_kept + len(taken)] = taken
            n_taken += len(taken)
            n_kept += len(taken)
            if n_kept == len(kept):
                yield part(stage, kept, n_kept >> LINE_BITS)
                n_done += n_kept
                n_kept = 0
    yield part("blocks", kept[:n_kept], (n_kept >> LINE_BITS) + 1)
    yield IndexPart("table", 1.0, tables)
