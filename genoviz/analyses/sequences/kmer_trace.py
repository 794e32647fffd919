"""The search of a k-mer base by base, and windows of the sorted suffixes: how an FM-index works."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_search import Searcher, searcher_of
from genoviz.analyses.sequences.kmers import Kmer, read_kmer_sets
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.sequences.fm_index import FMIndex
from genoviz.model.sequences.index_text import EXCEPTION


@dataclass(frozen=True, eq=False)
class KmerTrace:
    """The rows that are left after each base of a backward search.

    Attributes
    ----------
    symbols
        uint8, shape (k,): the bases in the order in which they are taken, the last one first;
        0 to 3 for A C G T.
    firsts, lasts
        int64, shape (k + 1,): the rows after 0, 1, 2, ... bases, half-open; 0 and 0 once there are
        none.
    """

    symbols: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


@dataclass(frozen=True, eq=False)
class BwtWindow:
    """Neighbouring rows of the sorted suffixes of a text.

    Attributes
    ----------
    rows
        int64, shape (n,): their numbers.
    first_column, last_column
        uint8, shape (n,): F, the first symbol of each suffix, and L, the symbol before it, which
        is the BWT; 4 for an exception.
    positions
        int64, shape (n,): where the suffixes begin in the text; the suffix array.
    next_rows
        int64, shape (n,): LF, the row of the suffix that begins one symbol earlier.
    """

    rows: np.ndarray
    first_column: np.ndarray
    last_column: np.ndarray
    positions: np.ndarray
    next_rows: np.ndarray


def trace_kmer(index: FMIndex, kmer: str | bytes | Kmer, *, backend: Backend = "auto") -> KmerTrace:
    """Return which rows begin with the last base of a k-mer, with the last two, and so on.

    Raises
    ------
    ParameterError
        If the k-mer is empty, or has letters other than A C G T U.

    Examples
    --------
    >>> from genoviz.analyses.sequences.fm_index import build_fm_index
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> index = build_fm_index(Sequences.from_records([("chr1", "GATTACA")]), backend="cpu")
    >>> trace = trace_kmer(index, "TTA", backend="cpu")
    >>> trace.firsts.tolist(), trace.lasts.tolist()
    ([0, 1, 6, 7], [8, 4, 7, 8])
    """
    sets = read_kmer_sets([kmer]).sets[::-1]
    symbols = np.array([0, 0, 1, 0, 2, 0, 0, 0, 3], np.uint8)[np.minimum(sets, 8)]
    if (sets & (sets - 1)).any():
        raise ParameterError("a k-mer with IUPAC codes has no single trace; needs A C G T alone")
    searcher = searcher_of(index, backend, 1)
    ranges = np.zeros((len(symbols) + 1, 2), np.int64)
    ranges[0, 1] = index.n_symbols
    for i in range(len(symbols)):
        ranges[i + 1] = searcher.extend(ranges[i : i + 1], symbols[i : i + 1])[0]
        if ranges[i + 1, 1] == 0:
            break
    return KmerTrace(symbols, ranges[:, 0], ranges[:, 1])


def bwt_window(index: FMIndex, first: int, last: int, *, backend: Backend = "auto") -> BwtWindow:
    """Return the rows ``first`` to ``last``, half-open.

    Raises
    ------
    ParameterError
        If there are no such rows.
    """
    if not 0 <= first <= last <= index.n_symbols:
        raise ParameterError(f"rows {first:,} to {last:,} are not within the {index.n_symbols:,}")
    searcher = searcher_of(index, backend, last - first)
    rows = np.arange(first, last)
    positions = searcher.locate(rows).astype(np.int64)
    first_column = _first_column(index, rows)
    last_column = _last_column(index, rows)
    return BwtWindow(
        rows,
        first_column,
        last_column,
        positions,
        _next_rows(index, searcher, rows, positions, last_column),
    )


def suffix_beginnings(index: FMIndex, positions: np.ndarray, length: int) -> np.ndarray:
    """Return how suffixes begin; uint8, shape (n, length), and 255 beyond the end of the text."""
    beginnings = np.full((len(positions), length), 255, np.uint8)
    for row, position in zip(beginnings, positions.tolist(), strict=True):
        symbols = index.text.symbols(position, position + length)
        row[: len(symbols)] = symbols
    return beginnings


def _first_column(index: FMIndex, rows: np.ndarray) -> np.ndarray:
    symbols = np.searchsorted(index.symbol_starts[:4], rows, side="right") - 1
    return np.where(symbols < 0, EXCEPTION, symbols).astype(np.uint8)


def _last_column(index: FMIndex, rows: np.ndarray) -> np.ndarray:
    words, bits = (rows >> 6) & 1, (rows & 63).astype(np.uint64)
    planes = (index.lines[rows >> 7, first + words] >> bits & np.uint64(1) for first in (2, 4, 6))
    low, high, exception = planes
    return (low + 2 * high + EXCEPTION * exception).astype(np.uint8)


def _next_rows(
    index: FMIndex,
    searcher: Searcher,
    rows: np.ndarray,
    positions: np.ndarray,
    last_column: np.ndarray,
) -> np.ndarray:
    """Return the row of the suffix before each; that of an exception follows from its number."""
    is_base = last_column != EXCEPTION
    next_rows = np.empty(len(rows), np.int64)
    ranges = np.column_stack([rows, rows + 1])[is_base]
    next_rows[is_base] = searcher.extend(ranges, last_column[is_base])[:, 0]
    before = (positions[~is_base] - 1) % max(index.n_symbols, 1)
    exceptions = index.text.exceptions
    next_rows[~is_base] = len(exceptions) - 1 - np.searchsorted(exceptions, before)
    return next_rows
