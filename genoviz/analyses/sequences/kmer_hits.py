"""Locations of k-mers on contigs, with strand and context."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from genoviz.analyses.graph.query.path_places import FORWARD, REVERSE
from genoviz.analyses.sequences.kmer_branches import iter_branches
from genoviz.analyses.sequences.kmer_packing import Kmers, pack_queries
from genoviz.analyses.sequences.kmer_queries import MAX_BRANCHES, KmerStrands
from genoviz.analyses.sequences.kmer_search import searcher_of
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice, check_minimum, n_words
from genoviz.generators import in_one_go
from genoviz.model.columns import distinct
from genoviz.model.sequences.fm_index import FMIndex
from genoviz.model.sequences.index_text import IndexText

_SLICE_ROWS = 1 << 20
MAX_SORTED = 50_000_000
"""If a k-mer has more hits than this, a page of them is in suffix array order."""
LETTERS_AT_ONCE = 1 << 20
"""Letters of contexts that are cut out at once."""


@dataclass(frozen=True, eq=False, repr=False)
class KmerHits:
    """All or some hits of k-mers.

    Attributes
    ----------
    n_hits
        Total number of hits of all k-mers, including those not listed here.
    offset
        Number of hits before these.
    kmer_ids
        int64, shape (n,): index of the k-mer.
    contig_ids, starts
        int32 and int64 (0-based, bp), shape (n,): first base of the hit on the contig.
    strands
        int8, shape (n,): 1 if the k-mer matches the forward strand, -1 if its reverse complement
        does; 1 for palindromes. With ``"canonical"``, the strand of the lexicographically smaller
        of the two.
    kmer_lengths
        int64, shape (n_kmers,).
    in_genome_order
        Whether the hits of a k-mer are ordered by contig and position. A page of very many hits is
        in suffix array order.
    """

    n_hits: int
    offset: int
    kmer_ids: np.ndarray
    contig_ids: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    kmer_lengths: np.ndarray
    in_genome_order: bool

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"KmerHits({len(self):,} of {n_words(self.n_hits, 'hit')})"

    @property
    def ends(self) -> np.ndarray:
        """End of each hit, half-open; int64, shape (n,)."""
        return self.starts + self.kmer_lengths[self.kmer_ids]


@dataclass(frozen=True, eq=False)
class HitContexts:
    """Hits with their flanking sequence on the contig; soft-masked letters are lower case.

    Attributes
    ----------
    left, match, right
        Letters before, in and after each hit; fewer at contig ends.
    is_masked
        bool, shape (n,): whether any base of the hit is soft-masked.
    """

    left: tuple[str, ...]
    match: tuple[str, ...]
    right: tuple[str, ...]
    is_masked: np.ndarray


def locate_kmer(
    index: FMIndex,
    kmer: str | bytes | Kmer,
    *,
    strand: KmerStrands = "both",
    limit: int | None = None,
    offset: int = 0,
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> KmerHits:
    """Locate a k-mer; hits are in genome order.

    Parameters
    ----------
    index
        Result of `build_fm_index`.
    kmer
        As in `count_kmers`.
    strand
        As in `count_kmers`.
    limit, offset
        Skip ``offset`` hits and return at most ``limit``; None returns all.
    max_branches
        As in `count_kmers`.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``, which uses the GPU for many hits.

    Raises
    ------
    ParameterError
        As for `count_kmers`, or if ``limit`` or ``offset`` is negative.

    Examples
    --------
    >>> from genoviz.analyses.sequences.fm_index import build_fm_index
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> index = build_fm_index(Sequences.from_records([("chr1", "GATTACATGTA")]), backend="cpu")
    >>> hits = locate_kmer(index, "TAC", backend="cpu")
    >>> hits, hits.starts.tolist(), hits.strands.tolist()
    (KmerHits(2 of 2 hits), [3, 8], [1, -1])
    """
    return locate_kmers(
        index,
        [kmer],
        strand=strand,
        limit=limit,
        offset=offset,
        max_branches=max_branches,
        backend=backend,
    )


def check_page(limit: int | None, offset: int) -> None:
    """Raise `ParameterError` if a page of hits begins before the first, or has fewer than none."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ParameterError(f"limit is {limit} and offset {offset}, need to be 0 or more")


def iter_locate_kmers(
    index: FMIndex,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    limit: int | None = None,
    offset: int = 0,
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> Generator[float, None, KmerHits]:
    """Return the result of `locate_kmers`; yields the share done, 0 to 1."""
    check_choice("strand", strand, get_args(KmerStrands))
    check_page(limit, offset)
    found = yield from _iter_find_ranges(index, kmers, strand, max_branches, backend)
    n_hits = int(found.sizes.sum())
    last = n_hits if limit is None else min(offset + limit, n_hits)
    first = min(offset, last)
    located = _iter_locate(index, found, first, last, backend)
    kmer_ids, positions, strands, is_sorted = yield from located
    places = index.text.locate(positions)
    return KmerHits(
        n_hits,
        offset,
        kmer_ids,
        places.contig_ids,
        places.starts,
        strands,
        found.lengths,
        is_sorted,
    )


@in_one_go(iter_locate_kmers)
def locate_kmers(found: KmerHits) -> KmerHits:
    """Locate several k-mers: all hits of the first, then those of the next.

    Parameters as for `locate_kmer`; ``limit`` and ``offset`` apply to all hits together.
    """
    return found


def hit_contexts(index: FMIndex, hits: KmerHits, *, flank: int = 20) -> HitContexts:
    """Return the letters of hits and their flanks, as written in the sequences.

    Parameters
    ----------
    index
        The index of the hits.
    hits
        A page of hits from `locate_kmer`; each needs its own strings.
    flank
        Letters on each side.

    Raises
    ------
    ParameterError
        If ``flank`` is negative.
    """
    check_minimum("flank", flank, 0)
    lengths = hits.ends - hits.starts
    pieces: list[tuple[str, str, str]] = [("", "", "")] * len(lengths)
    for length in distinct(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        cut = cut_around(index.text, hits.contig_ids[rows], hits.starts[rows], length, flank)
        for row, texts in zip(rows.tolist(), cut, strict=True):
            pieces[row] = texts
    left, match, right = zip(*pieces, strict=True) if pieces else ((), (), ())
    is_masked = np.array([letters != letters.upper() for letters in match], bool)
    return HitContexts(left, match, right, is_masked)


def cut_around(
    text: IndexText, contigs: np.ndarray, starts: np.ndarray, length: int, flank: int
) -> Iterator[tuple[str, str, str]]:
    """Yield the letters before, in and after hits of one length; fewer at contig ends."""
    width = length + 2 * flank
    n_together = max(LETTERS_AT_ONCE // max(width, 1), 1)
    for first in range(0, len(starts), n_together):
        rows = slice(first, first + n_together)
        letters = text.cut_each(contigs[rows], starts[rows] - flank, width)
        joint = letters.tobytes().decode("ascii")
        for at in range(0, len(joint), width):
            begin, end = at + flank, at + flank + length
            left, right = joint[at:begin].lstrip("\0"), joint[end : at + width].rstrip("\0")
            yield left, joint[begin:end], right


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Row ranges of k-mers, (n, 2), in k-mer order, with the k-mer and strand of each.

    ``sizes`` are the numbers of hits of the k-mers.
    """

    rows: np.ndarray
    kmer_ids: np.ndarray
    strands: np.ndarray
    sizes: np.ndarray
    lengths: np.ndarray


def _iter_find_ranges(
    index: FMIndex, kmers: Kmers, strand: KmerStrands, max_branches: int, backend: Backend
) -> Generator[float, None, _Ranges]:
    queries = pack_queries(kmers)
    searcher = searcher_of(index, backend, queries.n)
    parts = []
    for group in queries.groups:
        numbers = np.arange(queries.n)[group.numbers]
        signs = np.ones(len(numbers), np.int8)
        if strand == "canonical":
            signs[_is_less(group.turned(), group.words)] = -1
        parts.append((searcher.find_row_ranges(group.words, group.lengths), numbers, signs))
        if strand != "forward":
            turned = group.turned()
            ranges = searcher.find_row_ranges(turned, group.lengths)
            ranges[(turned == group.words).all(axis=1)] = 0
            parts.append((ranges, numbers, -signs))
    both_strands = strand != "forward"
    is_turned = np.zeros(queries.n, bool)
    if strand == "canonical":
        is_turned[queries.ambiguous.numbers] = queries.ambiguous.is_turned()
    for found in iter_branches(
        searcher, queries.ambiguous, max_branches, both_strands=both_strands
    ):
        # A sequence that the k-mer and its reverse complement match is forward.
        reverse = np.where(is_turned[found.numbers], FORWARD, REVERSE)
        signs = np.where(found.sides == reverse, -1, 1).astype(np.int8)
        parts.append((found.rows, found.numbers, signs))
        yield 0.0
    rows = np.concatenate([np.empty((0, 2), np.int64), *(part[0] for part in parts)])
    kmer_ids = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    strands = np.concatenate([np.empty(0, np.int8), *(part[2] for part in parts)])
    kept = rows[:, 0] < rows[:, 1]
    rows, kmer_ids, strands = rows[kept], kmer_ids[kept], strands[kept]
    order = np.argsort(kmer_ids, kind="stable")
    rows, kmer_ids, strands = rows[order], kmer_ids[order], strands[order]
    sizes = np.zeros(queries.n, np.int64)
    np.add.at(sizes, kmer_ids, rows[:, 1] - rows[:, 0])
    return _Ranges(rows, kmer_ids, strands, sizes, queries.lengths)


def _is_less(words: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which k-mers are lexicographically smaller than others of the same length."""
    is_less, is_equal = np.zeros(len(words), bool), np.ones(len(words), bool)
    for w in reversed(range(words.shape[1])):
        is_less |= is_equal & (words[:, w] < others[:, w])
        is_equal &= words[:, w] == others[:, w]
    return is_less


def _iter_locate(
    index: FMIndex, found: _Ranges, first: int, last: int, backend: Backend
) -> Generator[float, None, tuple[np.ndarray, np.ndarray, np.ndarray, bool]]:
    """Return k-mers, text positions and strands of some hits, and whether they are sorted."""
    hit_ends = np.cumsum(found.sizes)
    low = int(np.searchsorted(hit_ends, first, side="right"))
    high = int(np.searchsorted(hit_ends, last, side="left")) + 1 if last > first else low
    used = slice(*np.searchsorted(found.kmer_ids, [low, high]))
    n_before = int(hit_ends[low - 1]) if low else 0
    rows, kmer_ids, strands = found.rows[used], found.kmer_ids[used], found.strands[used]
    n_used = int((rows[:, 1] - rows[:, 0]).sum())
    first, last = first - n_before, last - n_before
    is_sorted = n_used <= MAX_SORTED or last - first == n_used
    if not is_sorted:
        ends = np.cumsum(rows[:, 1] - rows[:, 0])
        starts = ends - (rows[:, 1] - rows[:, 0])
        rows = rows[:, :1] + np.clip([first, last] - starts[:, None], 0, (ends - starts)[:, None])
        first, last = 0, last - first
    sizes = rows[:, 1] - rows[:, 0]
    shifts = rows[:, 0] - np.cumsum(sizes) + sizes
    expanded = np.repeat(shifts, sizes) + np.arange(int(sizes.sum()))
    searcher = searcher_of(index, backend, len(expanded))
    parts = []
    for start in range(0, max(len(expanded), 1), _SLICE_ROWS):
        parts.append(searcher.locate(expanded[start : start + _SLICE_ROWS]))
        yield start / max(len(expanded), 1)
    positions = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not is_sorted:
        return np.repeat(kmer_ids, sizes), positions, np.repeat(strands, sizes), False
    # Packs k-mer, position and strand into one integer, which sorts fast.
    keys = positions.astype(np.uint64) << np.uint64(1)
    keys += np.repeat((kmer_ids - low).astype(np.uint64) * np.uint64(2 * index.n_symbols), sizes)
    keys += np.repeat((strands < 0).astype(np.uint64), sizes)
    keys.sort()
    keys = keys[first:last]
    kmers, keys = np.divmod(keys, np.uint64(max(2 * index.n_symbols, 1)))
    strands = np.where(keys & np.uint64(1), -1, 1).astype(np.int8)
    return kmers.astype(np.int64) + low, (keys >> np.uint64(1)).astype(np.int64), strands, True
