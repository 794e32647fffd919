"""Counting k-mers, of any length each, and the rows that begin with them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from genoviz.analyses.kmer_packing import KmerGroup, KmerQuery, Kmers, pack_one, pack_queries
from genoviz.analyses.kmer_search import Searcher, searcher_of
from genoviz.analyses.kmers import Kmer, read_kmer_sets
from genoviz.analyses.linear_coordinates import check_option
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.fm_index import FMIndex

KmerStrands = Literal["forward", "both", "canonical"]
MAX_BRANCHES = 4096
_BASES_OF_SET = tuple(
    np.array([base for base in range(4) if bases >> base & 1], np.uint8) for bases in range(16)
)


def count_kmers(
    index: FMIndex,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> np.ndarray:
    """Return how often each k-mer occurs; exact, however often that is.

    Parameters
    ----------
    index
        What `build_fm_index` returns.
    kmers
        Strings of any length each, with U for T, in upper or lower case, and with IUPAC codes,
        which stand for any of their bases; or `PackedKmers`; a single string is one k-mer.
    strand
        ``"forward"``: in the text as it is. ``"both"`` and ``"canonical"``: or its reverse
        complement; what is its own reverse complement is counted once at a place.
    max_branches
        How many sequences a k-mer with IUPAC codes may stand for, of those that occur.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``, which takes the GPU for many k-mers.

    Returns
    -------
    numpy.ndarray
        int64, shape (n,). A letter that is no A C G T in the text is matched by nothing, also not
        by N, and no k-mer reaches over the end of a contig.

    Raises
    ------
    ParameterError
        If a letter stands for no base, a k-mer is empty, or one branches too often.

    Examples
    --------
    >>> from genoviz.analyses.fm_index import build_fm_index
    >>> from genoviz.model.sequences import Sequences
    >>> index = build_fm_index(Sequences.from_records([("chr1", "GATTACATGTA")]), backend="cpu")
    >>> count_kmers(index, ["TA", "GAT", "TRT"], backend="cpu").tolist()
    [2, 1, 2]
    """
    check_option("strand", strand, get_args(KmerStrands))
    if isinstance(kmers, str | bytes):
        kmers = [kmers]
    if len(kmers) == 1 or isinstance(kmers, str | bytes):
        pair = pack_one(kmers)
        if pair is not None:
            return _count_one(searcher_of(index, backend, 1), pair, strand)
    queries = pack_queries(kmers)
    counts = np.zeros(queries.n, np.int64)
    searcher = searcher_of(index, backend, queries.n)
    for group in queries.groups:
        found = searcher.count(group.words, group.lengths)
        if strand != "forward":
            turned = group.turned()
            others = searcher.count(turned, group.lengths)
            others[(turned == group.words).all(axis=1)] = 0
            found += others
        counts[group.numbers] = found
    for query in queries.ambiguous:
        for ranges in find_strand_ranges(searcher, query, strand, max_branches):
            counts[query.number] += (ranges[:, 1] - ranges[:, 0]).sum()
    return counts


def _count_one(searcher: Searcher, pair: KmerGroup, strand: KmerStrands) -> np.ndarray:
    """Return the count of a k-mer that is packed with its reverse complement."""
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
    """Return the rows of the suffix array that begin with a k-mer, half-open.

    int64, shape (n_ranges, 2): none if it is absent, and one if it has no IUPAC codes.
    """
    searcher = searcher_of(index, backend, 1)
    read = read_kmer_sets([kmer])
    return find_branches(searcher, KmerQuery(0, read.sets), max_branches)


def find_strand_ranges(
    searcher: Searcher, query: KmerQuery, strand: KmerStrands, max_branches: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a k-mer and those of its reverse complement that are not among them."""
    forward = find_branches(searcher, query, max_branches)
    if strand == "forward":
        return forward, np.empty((0, 2), np.int64)
    turned = query.turned()
    if (turned.sets == query.sets).all():
        return forward, np.empty((0, 2), np.int64)
    reverse = find_branches(searcher, turned, max_branches)
    return forward, reverse[~np.isin(reverse[:, 0], forward[:, 0])]


def find_branches(searcher: Searcher, query: KmerQuery, max_branches: int) -> np.ndarray:
    """Return the rows of all sequences that a k-mer stands for and that occur; int64, (n, 2)."""
    ranges = np.array([[0, searcher.n_symbols]], np.int64)
    for n_taken, bases in enumerate(query.sets[::-1].tolist(), start=1):
        symbols = _BASES_OF_SET[bases]
        ranges = searcher.extend(
            np.repeat(ranges, len(symbols), axis=0), np.tile(symbols, len(ranges))
        )
        ranges = ranges[ranges[:, 0] < ranges[:, 1]]
        if len(ranges) > max_branches:
            raise ParameterError(
                f"k-mer {query.number + 1:,}: its last {n_taken:,} letters stand for "
                f"{len(ranges):,} sequences that occur, more than the {max_branches:,} allowed "
                f"(max_branches); needs fewer IUPAC codes, or more bases after them"
            )
    return ranges
