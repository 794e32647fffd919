"""Step-by-step backward search and windows of the BWT, to show how an FM-index works."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_search import Searcher, searcher_of
from genoviz.analyses.sequences.kmers import Kmer, read_kmer_sets
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.sequences.fm_index import FMIndex
from genoviz.model.sequences.index_text import EXCEPTION

SHOWN_BASES = 24
N_SCANNED = 512
FEW_ROWS, N_ENDS = 12, 3
SYMBOLS = "ACGT$"


@dataclass(frozen=True, eq=False)
class KmerTrace:
    """Row ranges after each base of a backward search.

    Attributes
    ----------
    symbols
        uint8, shape (k,): the bases in search order, the last one first; 0 to 3 for A C G T.
    firsts, lasts
        int64, shape (k + 1,): half-open row range after 0, 1, 2, ... bases; 0 and 0 once it is
        empty.
    """

    symbols: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


@dataclass(frozen=True, eq=False)
class BwtWindow:
    """Consecutive rows of the sorted suffixes of a text.

    Attributes
    ----------
    rows
        int64, shape (n,): row numbers.
    first_column, last_column
        uint8, shape (n,): F, the first symbol of each suffix, and L (the BWT), the symbol before
        it; 4 for an exception.
    positions
        int64, shape (n,): suffix array; text position of each suffix.
    next_rows
        int64, shape (n,): LF mapping; row of the suffix that starts one symbol earlier.
    """

    rows: np.ndarray
    first_column: np.ndarray
    last_column: np.ndarray
    positions: np.ndarray
    next_rows: np.ndarray


def trace_kmer(index: FMIndex, kmer: str | bytes | Kmer, *, backend: Backend = "auto") -> KmerTrace:
    """Return the row ranges of a k-mer's last base, last two bases, and so on.

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
    """Return the LF mapping of rows; that of an exception follows from its rank."""
    is_base = last_column != EXCEPTION
    next_rows = np.empty(len(rows), np.int64)
    ranges = np.column_stack([rows, rows + 1])[is_base]
    next_rows[is_base] = searcher.extend(ranges, last_column[is_base])[:, 0]
    before = (positions[~is_base] - 1) % max(index.n_symbols, 1)
    exceptions = index.text.exceptions
    next_rows[~is_base] = len(exceptions) - 1 - np.searchsorted(exceptions, before)
    return next_rows


@dataclass(frozen=True)
class Row:
    """A row of the sorted suffixes.

    Attributes
    ----------
    row
        Row number.
    suffix
        Beginning of the suffix; ``$`` is a contig end or another letter than a base.
    before
        The base before the suffix, from the BWT.
    next_row
        Row of the suffix that starts one base earlier.
    is_inside
        Whether the row is within the interval.
    """

    row: int
    suffix: str
    before: str
    next_row: int
    is_inside: bool


@dataclass(frozen=True)
class SearchStep:
    """Rows before and after one step of a backward search.

    Attributes
    ----------
    step
        Number of bases matched after the step.
    base, taken, matched
        The new base, the match before the step, and the match after it.
    before, after
        First and last row of the interval, half-open.
    rows_before, rows_after
        The rows to show.
    sizes
        Interval size after 0, 1, 2, ... bases of the whole search.
    """

    step: int
    base: str
    taken: str
    matched: str
    before: tuple[int, int]
    after: tuple[int, int]
    rows_before: tuple[Row, ...]
    rows_after: tuple[Row, ...]
    sizes: tuple[int, ...]


def find_step(index: FMIndex, kmer: Kmer, step: int) -> SearchStep:
    """Return a step of the search for a k-mer; step 1 matches the last base."""
    letters = kmer.letters
    trace = trace_kmer(index, letters)
    firsts, lasts = (np.asarray(rows, np.int64).tolist() for rows in (trace.firsts, trace.lasts))
    step = min(max(step, 1), len(letters))
    matched = letters[len(letters) - step :]
    before = (firsts[step - 1], lasts[step - 1])
    after = (firsts[step], lasts[step])
    leading = _rows_with(index, before, SYMBOLS.index(matched[0]))
    return SearchStep(
        step,
        matched[0],
        matched[1:],
        matched,
        before,
        after,
        _read_rows(index, before, leading[0]),
        _read_rows(index, after, leading[1]),
        tuple(last - first for first, last in zip(firsts, lasts, strict=True)),
    )


def _rows_with(index: FMIndex, rows: tuple[int, int], symbol: int) -> tuple[list[int], list[int]]:
    """Return some rows at both ends of an interval preceded by a symbol, and their LF rows."""
    found, leads = [], []
    first, last = rows
    for low, high, is_end in (
        (first, min(first + N_SCANNED, last), False),
        (max(last - N_SCANNED, first), last, True),
    ):
        if low >= high:
            continue
        window = bwt_window(index, low, high)
        places = np.flatnonzero(np.asarray(window.last_column) == symbol)
        places = places[-N_ENDS:] if is_end else places[:N_ENDS]
        found += [low + place for place in places.tolist()]
        leads += np.asarray(window.next_rows)[places].tolist()
    return found, leads


def _read_rows(index: FMIndex, rows: tuple[int, int], wanted: Iterable[int]) -> tuple[Row, ...]:
    """Return the rows to show: those of an interval and its neighbours."""
    first, last = rows
    if last <= first:
        return ()
    if last - first <= FEW_ROWS:
        chosen = set(range(first, last))
    else:
        chosen = {*range(first, first + N_ENDS), *range(last - N_ENDS, last)}
        chosen |= {row for row in wanted if first <= row < last}
    chosen |= {row for row in (first - 1, last) if 0 <= row < index.text.n_symbols}
    return tuple(_read_row(index, row, first <= row < last) for row in sorted(chosen))


def _read_row(index: FMIndex, row: int, is_inside: bool) -> Row:
    window = bwt_window(index, row, row + 1)
    start = int(window.positions[0])
    symbols = index.text.symbols(start, min(start + SHOWN_BASES, index.text.n_symbols))
    suffix = "".join(SYMBOLS[symbol] for symbol in symbols.tolist())
    before = SYMBOLS[int(window.last_column[0])]
    return Row(row, suffix, before, int(window.next_rows[0]), is_inside)
