"""One step of a backward search: rows before and after it, and which lead to which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_trace import bwt_window, trace_kmer
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.model.sequences.fm_index import FMIndex

SHOWN_BASES = 24
N_SCANNED = 512
FEW_ROWS, N_ENDS = 12, 3
SYMBOLS = "ACGT$"


@dataclass(frozen=True)
class Row:
    """A row of the sorted suffixes.

    Attributes
    ----------
    row
        Its number.
    suffix
        How the suffix begins; ``$`` is the end of a contig or what is no base.
    before
        The base before the suffix: that of the BWT.
    next_row
        The row of the suffix that begins one base earlier.
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
    """The rows before and after a base is taken.

    Attributes
    ----------
    step
        How many bases were taken; the last one ``base``.
    base, taken, matched
        The base that is taken, and what was matched before and is matched now.
    before, after
        First and last row of the interval, half-open.
    rows_before, rows_after
        The rows that are shown.
    sizes
        How many rows are left after 0, 1, 2, ... bases, of the whole search.
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
    """Return a step of the search of a k-mer; the first step is 1, and takes its last base."""
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
    """Return a few rows at both ends of an interval that have a symbol before, and where to."""
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
    """Return the rows of an interval that are shown, and its neighbours."""
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
