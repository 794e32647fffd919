"""Construction of the FM-index of sequences, and inversion of its BWT."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.analyses.sequences.suffix_array import iter_suffix_array
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.kernels.fm_index import LINE_BITS, SUPER_SHIFT
from genoviz.model.sequences.fm_index import LARGE_TEXT, LINE_BYTES, LINE_WORDS, FMIndex
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences

STAGES = ("text", "suffix array", "lines", "table")
MAX_TABLE_K = 12
MAX_CHAINS = 16_384
MIN_CHAIN = 1024
# Approximate share of the whole at the end of each stage; the suffix array takes most of it.
_ENDS = {"text": 0.03, "suffix array": 0.8, "lines": 0.95, "table": 1.0}


@dataclass(frozen=True)
class BuildProgress:
    """Progress of building an index.

    Attributes
    ----------
    stage
        The current or just finished stage, one of ``STAGES``.
    fraction
        Estimated share of the whole that is done, 0 to 1.
    tied_fractions
        Share of suffixes that were still tied with others after each sorting round.
    seconds
        Time spent in each stage so far.
    step
        Within the suffix array, the sorting step as named by ``genoviz.kernels.suffix_sort``.
    index
        The index in the last report, None before.
    block_sizes
        Number of suffixes sorted in each block, int64, shape (n_blocks,); None until the suffix
        array is complete.
    """

    stage: str
    fraction: float
    tied_fractions: tuple[float, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    step: str = ""
    index: FMIndex | None = None
    block_sizes: np.ndarray | None = None


class _Clock:
    """Seconds of each stage, excluding the time between two steps when other work runs."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    def resume(self) -> None:
        self._start = time.perf_counter()

    def read(self, stage: str) -> dict[str, float]:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._start
        self._start = now
        return dict(self.seconds)


def iter_build_fm_index(
    sequences: Sequences | IndexText,
    *,
    sample_rate: int = 1,
    table_k: int | None = None,
    super_shift: int = SUPER_SHIFT,
    backend: Backend = "auto",
) -> Iterator[BuildProgress]:
    """Build the index of sequences and yield the progress after each step.

    Parameters
    ----------
    sequences
        Sequences, or their text.
    sample_rate
        Store the text position of every ``sample_rate``-th row; a power of two. At 1, the whole
        suffix array is stored: 4 bytes per base, and hits are located at once. At 32, it takes an
        eighth of a byte per base, and locating a hit takes about 32 steps.
    table_k
        Store the row ranges of all k-mers of this length, 0 to 12, at 8 bytes each; searches start
        there. None chooses the largest table that is smaller than the suffix array.
    super_shift
        Counts restart after ``2**super_shift`` lines; small values are for tests.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``; the result is the same.

    Yields
    ------
    BuildProgress
        The last one has the index.

    Raises
    ------
    ParameterError
        If an option is out of range.

    Notes
    -----
    Bytes per base: the index takes 0.25 (text), 0.5 (lines), up to 4 (table) and 4 / sample_rate.
    During construction the suffix array comes in addition, see `iter_suffix_array`.
    """
    check_options(sample_rate, table_k, super_shift)
    clock = _Clock()
    text = sequences
    if not isinstance(text, IndexText):
        text = make_index_text(text)
    yield BuildProgress("text", _ENDS["text"], (), clock.read("text"))
    clock.resume()
    tied: tuple[float, ...] = ()
    suffix_array = None
    for progress in iter_suffix_array(text, backend=backend):
        tied, suffix_array = progress.tied_fractions, progress.suffix_array
        blocks = progress.block_sizes
        yield BuildProgress(
            "suffix array",
            _sorting_fraction(progress.stage, progress.n_done / max(progress.n_total, 1)),
            tied,
            clock.read("suffix array"),
            progress.stage,
            block_sizes=blocks,
        )
        clock.resume()
    lines, super_counts, exception_ids = _build_lines(text, suffix_array, super_shift, backend)
    samples = suffix_array
    if sample_rate > 1:
        samples = np.ascontiguousarray(suffix_array[::sample_rate])
    del progress, suffix_array
    yield BuildProgress("lines", _ENDS["lines"], tied, clock.read("lines"), block_sizes=blocks)
    clock.resume()
    if table_k is None:
        table_k = default_table_k(text.n_symbols)
    table = _make_start_table(lines, super_counts, super_shift, text.n_symbols, table_k, backend)
    index = FMIndex(
        text, lines, super_counts, super_shift, exception_ids, table, samples, sample_rate
    )
    yield BuildProgress("table", 1.0, tied, clock.read("table"), index=index, block_sizes=blocks)


@in_one_go(iter_build_fm_index)
def build_fm_index(last: BuildProgress) -> FMIndex:
    """Return the index of sequences; parameters as `iter_build_fm_index`.

    Examples
    --------
    >>> from genoviz.analyses.sequences.kmer_queries import count_kmers
    >>> genome = Sequences.from_records([("chr1", "GATTACATTACAN")])
    >>> index = build_fm_index(genome, backend="cpu")
    >>> count_kmers(index, ["ATTACA", "T", "CAN"], strand="forward", backend="cpu").tolist()
    [2, 4, 1]
    """
    return last.index


def default_table_k(n_symbols: int) -> int:
    """Return the largest k whose table takes at most 4 bytes per symbol."""
    return min(MAX_TABLE_K, max(0, ((n_symbols // 2).bit_length() - 1) // 2))


def check_options(sample_rate: int, table_k: int | None, super_shift: int) -> None:
    """Raise `ParameterError` if an index option is out of range."""
    if not 1 <= sample_rate <= 2**20 or sample_rate & (sample_rate - 1):
        raise ParameterError(f"sample_rate is {sample_rate}, needs a power of two up to 2^20")
    if table_k is not None and not 0 <= table_k <= MAX_TABLE_K:
        raise ParameterError(f"table_k is {table_k}, needs 0 to {MAX_TABLE_K}")
    if not 0 <= super_shift <= SUPER_SHIFT:
        raise ParameterError(f"super_shift is {super_shift}, needs 0 to {SUPER_SHIFT}")


def _sorting_fraction(step: str, fraction: float) -> float:
    parts = {"partition": (0.0, 0.1), "blocks": (0.1, 0.7), "ties": (0.7, 0.85)}
    low, high = parts.get(step, (0.85, 1.0))
    first, last = _ENDS["text"], _ENDS["suffix array"]
    return first + (last - first) * (low + (high - low) * min(fraction, 1.0))


def _empty_lines(n_symbols: int) -> np.ndarray:
    """Return an array aligned to 64 bytes, so that each line occupies one cache line."""
    n_words = LINE_WORDS * ((n_symbols >> LINE_BITS) + 1)
    room = np.empty(n_words + LINE_WORDS, np.uint64)
    first = -room.ctypes.data % LINE_BYTES // room.itemsize
    return room[first : first + n_words].reshape(-1, LINE_WORDS)


def _build_lines(
    text: IndexText, suffix_array: np.ndarray, super_shift: int, backend: Backend
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kernel, arrays = load_kernel("fm_index", backend), array_module(backend)
    lines = _empty_lines(text.n_symbols)
    super_counts = np.empty((((len(lines) - 1) >> super_shift) + 1, 4), np.int64)
    exception_ids = np.empty(len(text.exceptions), np.int64)
    filled = tuple(_room_for(array, arrays) for array in (lines, super_counts, exception_ids))
    kernel.build_lines(
        arrays.asarray(text.packed),
        text.n_symbols,
        arrays.asarray(text.exceptions),
        arrays.asarray(suffix_array),
        super_shift,
        *filled,
    )
    return tuple(map(_fetch, (lines, super_counts, exception_ids), filled))


def _make_start_table(
    lines: np.ndarray,
    super_counts: np.ndarray,
    super_shift: int,
    n_symbols: int,
    table_k: int,
    backend: Backend,
) -> np.ndarray:
    kernel, arrays = load_kernel("fm_index", backend), array_module(backend)
    table = np.empty((4**table_k, 2), np.uint32 if n_symbols < LARGE_TEXT else np.int64)
    filled = _room_for(table, arrays)
    index = arrays.asarray(lines), arrays.asarray(super_counts), super_shift
    kernel.fill_start_table(index, n_symbols, filled)
    return _fetch(table, filled)


def _room_for(array: np.ndarray, arrays: ModuleType) -> Any:
    """Return the array itself, or an empty one like it on the GPU."""
    return array if arrays is np else arrays.empty(array.shape, array.dtype)


def _fetch(array: np.ndarray, filled: Any) -> np.ndarray:
    if filled is not array:
        filled.get(out=array)
    array.flags.writeable = False
    return array


def invert_bwt(index: FMIndex, *, backend: Backend = "auto") -> np.ndarray:
    """Return the text encoded by the BWT of an index, which verifies that the index is correct.

    Many chains are read in parallel, each from a known row to the next. Each must arrive at the
    row where the next one began, so that together they form one walk over all rows.

    Returns
    -------
    numpy.ndarray
        uint8, shape (n_symbols,): 0 to 3 for A C G T, 4 for an exception; as ``text.symbols()``.

    Raises
    ------
    ParameterError
        If the chains do not meet, because the index is damaged.

    References
    ----------
    Burrows & Wheeler 1994, A block-sorting lossless data compression algorithm.
    """
    n = index.n_symbols
    symbols = np.empty(n, np.uint8)
    if n == 0:
        return symbols
    kernel, arrays = load_kernel("fm_index", backend), array_module(backend)
    rows, starts = _chains(index)
    ends = np.append(starts[1:], n)
    # Row 0 is the last symbol, an exception; the first symbol of the text follows it.
    heads = np.append(rows[1:], rows[0])
    reached, filled = arrays.asarray(heads.copy()), _room_for(symbols, arrays)
    kernel.invert_bwt(
        (arrays.asarray(index.lines), arrays.asarray(index.super_counts), index.super_shift),
        arrays.asarray(index.exception_ids),
        reached,
        arrays.asarray(starts),
        arrays.asarray(ends),
        filled,
    )
    if filled is not symbols:
        filled.get(out=symbols)
        reached = to_host(reached)
    wrong = np.flatnonzero(reached != rows)
    if len(wrong):
        raise ParameterError(
            f"the BWT is not that of one text: {len(wrong):,} of {len(rows):,} chains do not end "
            f"where the next one began; the index is damaged"
        )
    return symbols


def _chains(index: FMIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and text positions of chain ends, ascending from position 0; int64."""
    n_chains = min(max(index.n_symbols // MIN_CHAIN, 1), MAX_CHAINS)
    step = max(1, len(index.samples) // n_chains)
    sampled = np.arange(0, len(index.samples), step)
    positions = index.samples[sampled].astype(np.int64)
    first_row = _row_of_first_symbol(index)
    rows = np.append(sampled * index.sample_rate, first_row)
    positions, kept = np.unique(np.append(positions, 0), return_index=True)
    return rows[kept].astype(np.int64), positions


def _row_of_first_symbol(index: FMIndex) -> int:
    """Return the row of the whole text, the one that the last exception precedes in the BWT."""
    nth = int(np.flatnonzero(index.exception_ids == len(index.exception_ids) - 1)[0])
    exceptions = index.lines[:, 6:].ravel()
    counts = np.cumsum(np.bitwise_count(exceptions), dtype=np.int64)
    word = int(np.searchsorted(counts, nth, side="right"))
    within = nth - (int(counts[word - 1]) if word else 0)
    bits = np.unpackbits(exceptions[word : word + 1].view(np.uint8), bitorder="little")
    return 64 * word + int(np.flatnonzero(bits)[within])
