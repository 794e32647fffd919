"""Counting of k-mers of any length, and their suffix array rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from genoviz.analyses.sequences.kmer_branches import iter_branches
from genoviz.analyses.sequences.kmer_packing import KmerGroup, Kmers, pack_one, pack_queries
from genoviz.analyses.sequences.kmer_search import Searcher, searcher_of
from genoviz.analyses.sequences.kmers import MAX_BRANCHES, Kmer
from genoviz.backend import Backend
from genoviz.errors import check_choice
from genoviz.generators import last_of
from genoviz.model.sequences.fm_index import FMIndex

KmerStrands = Literal["forward", "both", "canonical"]
_SLICE_KMERS = 1 << 21


def count_kmers(
    index: FMIndex,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> np.ndarray:
    """Return the exact number of occurrences of each k-mer.

    Parameters
    ----------
    index
        Result of `build_fm_index`.
    kmers
        Strings of any length, upper or lower case, with U for T and IUPAC codes allowed; or
        `PackedKmers`. A single string is one k-mer.
    strand
        ``"forward"``: occurrences as written. ``"both"`` and ``"canonical"``: also those of the
        reverse complement; a palindrome is counted once per position.
    max_branches
        Maximum number of occurring sequences that an IUPAC k-mer may match.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``, which uses the GPU for many k-mers.

    Returns
    -------
    numpy.ndarray
        int64, shape (n,). Letters of the text other than A C G T never match, not even N. Matches
        do not cross contig ends.

    Raises
    ------
    ParameterError
        If a letter is no IUPAC code, a k-mer is empty, or one matches too many sequences.

    Examples
    --------
    >>> from genoviz.analyses.sequences.fm_index import build_fm_index
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> index = build_fm_index(Sequences.from_records([("chr1", "GATTACATGTA")]), backend="cpu")
    >>> count_kmers(index, ["TA", "GAT", "TRT"], backend="cpu").tolist()
    [2, 1, 2]
    """
    check_choice("strand", strand, get_args(KmerStrands))
    if isinstance(kmers, str | bytes):
        kmers = [kmers]
    if len(kmers) == 1 or isinstance(kmers, str | bytes):
        pair = pack_one(kmers)
        if pair is not None:
            return _count_one(searcher_of(index, backend, 1), pair, strand)
    return last_of(
        iter_count_kmers(index, kmers, strand=strand, max_branches=max_branches, backend=backend)
    ).counts


@dataclass(frozen=True, eq=False)
class KmerCountProgress:
    """Progress of counting k-mers.

    Attributes
    ----------
    n_done, n_total
        Number of counted k-mers, and their total.
    counts
        int64, shape (n,): the counts in the last report; None before.
    """

    n_done: int
    n_total: int
    counts: np.ndarray | None = None


def iter_count_kmers(
    index: FMIndex,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> Iterator[KmerCountProgress]:
    """Yield the progress of `count_kmers`; the last report has the counts."""
    check_choice("strand", strand, get_args(KmerStrands))
    queries = pack_queries(kmers)
    counts = np.zeros(queries.n, np.int64)
    searcher, n_done = searcher_of(index, backend, queries.n), 0
    for group in queries.groups:
        numbers = np.arange(queries.n)[group.numbers]
        for first in range(0, len(numbers), _SLICE_KMERS):
            part = slice(first, first + _SLICE_KMERS)
            piece = KmerGroup(numbers[part], group.words[part], group.lengths[part])
            counts[piece.numbers] = _count_group(searcher, piece, strand)
            n_done += len(piece.numbers)
            yield KmerCountProgress(n_done, queries.n)
    both_strands = strand != "forward"
    for found in iter_branches(
        searcher, queries.ambiguous, max_branches, both_strands=both_strands
    ):
        np.add.at(counts, found.numbers, found.sizes)
        n_done += found.n_kmers
        yield KmerCountProgress(n_done, queries.n)
    yield KmerCountProgress(queries.n, queries.n, counts)


def _count_group(searcher: Searcher, group: KmerGroup, strand: KmerStrands) -> np.ndarray:
    counts = searcher.count(group.words, group.lengths)
    if strand != "forward":
        turned = group.turned()
        others = searcher.count(turned, group.lengths)
        others[(turned == group.words).all(axis=1)] = 0
        counts += others
    return counts


def _count_one(searcher: Searcher, pair: KmerGroup, strand: KmerStrands) -> np.ndarray:
    """Return the count of a k-mer packed together with its reverse complement."""
    counts = searcher.count(pair.words, pair.lengths)
    if strand != "forward" and pair.words[0].tolist() != pair.words[1].tolist():
        counts[0] += counts[1]
    return counts[:1]


def kmer_rows(
    index: FMIndex,
    kmer: str | bytes | Kmer,
    *,
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> np.ndarray:
    """Return the half-open row ranges of the suffix array that start with a k-mer.

    int64, shape (n_ranges, 2): empty if the k-mer is absent, one range without IUPAC codes.
    """
    searcher, queries = searcher_of(index, backend, 1), pack_queries([kmer])
    for group in queries.groups:
        rows = searcher.find_row_ranges(group.words, group.lengths)
        return rows[rows[:, 0] < rows[:, 1]].astype(np.int64)
    (found,) = iter_branches(searcher, queries.ambiguous, max_branches, both_strands=False)
    return found.rows.astype(np.int64)
