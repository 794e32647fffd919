"""K-mers with IUPAC codes: row ranges of all matching sequences, many k-mers at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.query.path_places import BOTH, REVERSE
from genoviz.analyses.sequences.kmer_packing import AmbiguousKmers
from genoviz.analyses.sequences.kmer_search import Searcher
from genoviz.errors import ParameterError, n_words

_SLICE_BRANCHES = 1 << 17


@dataclass(frozen=True, eq=False)
class Branches:
    """Row ranges of the occurring sequences that k-mers match, without duplicate rows.

    Attributes
    ----------
    numbers
        int64, shape (n,): index of the k-mer.
    rows
        Dtype of the start table, shape (n, 2): first and last row, half-open.
    sides
        int8, shape (n,): whether the sequence is matched by the k-mer (0), by its reverse
        complement (1), or by both (2).
    n_kmers
        Number of k-mers searched.
    """

    numbers: np.ndarray
    rows: np.ndarray
    sides: np.ndarray
    n_kmers: int

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each range; int64, shape (n,)."""
        return self.rows[:, 1].astype(np.int64) - self.rows[:, 0].astype(np.int64)


def iter_branches(
    searcher: Searcher, kmers: AmbiguousKmers, max_branches: int, *, both_strands: bool
) -> Iterator[Branches]:
    """Yield the row ranges of k-mers, in batches of k-mers.

    Parameters
    ----------
    max_branches
        Maximum number of occurring sequences that a k-mer may match.
    both_strands
        Whether to search reverse complements too.

    Raises
    ------
    ParameterError
        If a k-mer matches more.
    """
    for part in kmers.split(_SLICE_BRANCHES, max_branches):
        ids, rows = _find(searcher, part, max_branches)
        sides = np.zeros(len(ids), np.int8)
        if both_strands:
            other_ids, other_rows = _find(searcher, part.turned(), max_branches)
            # Row ranges of k-mers of one length are equal or disjoint, so that all keys differ.
            keys, other_keys = (
                k.astype(np.int64) * searcher.n_symbols + r[:, 0].astype(np.int64)
                for k, r in ((ids, rows), (other_ids, other_rows))
            )
            sides[np.isin(keys, other_keys, assume_unique=True)] = BOTH
            is_new = ~np.isin(other_keys, keys, assume_unique=True)
            ids, rows = (
                np.concatenate(pair)
                for pair in ((ids, other_ids[is_new]), (rows, other_rows[is_new]))
            )
            sides = np.append(sides, np.full(int(is_new.sum()), REVERSE, np.int8))
        yield Branches(part.numbers[ids], rows, sides, len(part))


def _find(
    searcher: Searcher, kmers: AmbiguousKmers, max_branches: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k-mer index, and the first and last row, of each occurring sequence."""
    stops, stop_offsets = kmers.branch_lengths()
    lengths, n_stops = np.diff(kmers.offsets), np.diff(stop_offsets)
    n_taken, ids = np.zeros(len(kmers), np.int64), np.arange(len(kmers))
    rows = np.tile(np.array([0, searcher.n_symbols], np.int64), (len(kmers), 1))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for step in range(int(n_stops.max()) + 1):
        branches = step < n_stops
        n_wanted = lengths.copy()
        n_wanted[branches] = stops[stop_offsets[:-1][branches] + step]
        ids, rows = searcher.extend_branches(kmers, n_taken, n_wanted, ids, rows)
        _check_width(kmers, np.bincount(ids, minlength=len(kmers)), n_wanted, max_branches)
        n_taken = n_wanted
        is_whole = n_taken[ids] == lengths[ids]
        found.append((ids[is_whole], rows[is_whole]))
        ids, rows = ids[~is_whole], rows[~is_whole]
    ids, rows = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    order = np.argsort(ids, kind="stable")
    return ids[order], rows[order]


def _check_width(
    kmers: AmbiguousKmers, widths: np.ndarray, n_taken: np.ndarray, max_branches: int
) -> None:
    too_wide = np.flatnonzero(widths > max_branches)
    if len(too_wide):
        i = int(too_wide[0])
        raise ParameterError(
            f"k-mer {kmers.numbers[i] + 1:,}: its last {n_words(n_taken[i], 'letter')} stand for "
            f"{n_words(widths[i], 'sequence')} that occur, more than the {max_branches:,} allowed "
            f"(max_branches); needs fewer IUPAC codes, or more bases after them"
        )
