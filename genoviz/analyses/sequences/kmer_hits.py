"""Where k-mers are on contigs, on which strand, and what is around them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from genoviz.analyses.intervals.linear_coordinates import check_option
from genoviz.analyses.sequences.kmer_branches import REVERSE, iter_branches
from genoviz.analyses.sequences.kmer_packing import Kmers, pack_queries
from genoviz.analyses.sequences.kmer_queries import MAX_BRANCHES, KmerStrands
from genoviz.analyses.sequences.kmer_search import searcher_of
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.sequences.fm_index import FMIndex
from genoviz.model.sequences.index_text import IndexText

_SLICE_ROWS = 1 << 20
MAX_SORTED = 50_000_000
LETTERS_AT_ONCE = 1 << 20
"""Of a k-mer with more hits than this, a part is given in the order of the suffix array."""


@dataclass(frozen=True, eq=False, repr=False)
class KmerHits:
    """Some or all hits of k-mers.

    Attributes
    ----------
    n_hits
        How many hits there are of all k-mers, those included that are not here.
    offset
        How many hits come before these.
    kmer_ids
        int64, shape (n,): which k-mer.
    contig_ids, starts
        int32 and int64 (0-based, bp), shape (n,): the first base of the hit on the contig.
    strands
        int8, shape (n,): 1 where the k-mer reads along the contig, -1 where its reverse complement
        does; 1 where both do. If ``"canonical"`` was asked for, it is the strand of that of the
        two that comes first in the alphabet.
    kmer_lengths
        int64, shape (n_kmers,).
    in_genome_order
        Whether the hits of a k-mer are in the order of contigs and positions. Of very many hits of
        which some were asked for, they are in the order of the suffix array.
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
        return f"KmerHits({len(self):,} of {self.n_hits:,} hits)"

    @property
    def ends(self) -> np.ndarray:
        """Where hits end, half-open; int64, shape (n,)."""
        return self.starts + self.kmer_lengths[self.kmer_ids]


@dataclass(frozen=True, eq=False)
class HitContexts:
    """Hits with what is around them, along the contig; letters of masked bases are lower case.

    Attributes
    ----------
    left, match, right
        Letters before, in and after each hit; fewer at the end of a contig.
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
    """Return where a k-mer is, in the order of the genome.

    Parameters
    ----------
    index
        What `build_fm_index` returns.
    kmer
        As in `count_kmers`.
    strand
        As in `count_kmers`.
    limit, offset
        Leave out ``offset`` hits, and then give ``limit`` at most; None gives all.
    max_branches
        As in `count_kmers`.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``, which takes the GPU for many hits.

    Raises
    ------
    ParameterError
        As `count_kmers`, or if ``limit`` or ``offset`` is negative.

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
    """Return what `locate_kmers` does; yields the share that is done, 0 to 1."""
    check_option("strand", strand, get_args(KmerStrands))
    if offset < 0 or (limit is not None and limit < 0):
        raise ParameterError(f"limit is {limit} and offset {offset}, need 0 or more")
    found = yield from _iter_find_ranges(index, kmers, strand, max_branches, backend)
    n_hits = int(found.sizes.sum())
    last = n_hits if limit is None else min(offset + limit, n_hits)
    first = min(offset, last)
    located = _iter_locate(index, found, first, last, backend)
    kmer_ids, positions, strands, is_sorted = yield from located
    if strand == "canonical":
        strands = np.where(found.is_turned[kmer_ids], -strands, strands).astype(np.int8)
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
    """Return where k-mers are: all hits of the first one, then those of the next.

    Parameters as `locate_kmer`; ``limit`` and ``offset`` are for the hits of all k-mers together.
    """
    return found


def hit_contexts(index: FMIndex, hits: KmerHits, *, flank: int = 20) -> HitContexts:
    """Return the letters of hits and of what is around them, as they are in the sequences.

    Parameters
    ----------
    index
        The index of the hits.
    hits
        What `locate_kmer` returns; a page of them, as each has its own texts.
    flank
        Letters on each side.

    Raises
    ------
    ParameterError
        If ``flank`` is negative.
    """
    if flank < 0:
        raise ParameterError(f"flank is {flank}, needs 0 or more")
    lengths = hits.ends - hits.starts
    pieces: list[tuple[str, str, str]] = [("", "", "")] * len(lengths)
    for length in np.unique(lengths).tolist():
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
    """Yield the letters before, in and after hits of one length; fewer at the end of a contig."""
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
    """Rows of k-mers, in the order of the k-mers, (n, 2), with k-mer and strand of each.

    ``sizes`` are the hits of each k-mer, ``is_turned`` tells whether its other strand comes first
    in the alphabet.
    """

    rows: np.ndarray
    kmer_ids: np.ndarray
    strands: np.ndarray
    sizes: np.ndarray
    lengths: np.ndarray
    is_turned: np.ndarray


def _iter_find_ranges(
    index: FMIndex, kmers: Kmers, strand: KmerStrands, max_branches: int, backend: Backend
) -> Generator[float, None, _Ranges]:
    queries = pack_queries(kmers)
    searcher = searcher_of(index, backend, queries.n)
    is_turned = np.zeros(queries.n, bool)
    parts = []
    for group in queries.groups:
        numbers = np.arange(queries.n)[group.numbers]
        parts.append((searcher.find_row_ranges(group.words, group.lengths), numbers, 1))
        if strand != "forward":
            turned = group.turned()
            ranges = searcher.find_row_ranges(turned, group.lengths)
            ranges[(turned == group.words).all(axis=1)] = 0
            parts.append((ranges, numbers, -1))
            is_turned[numbers] = _is_less(turned, group.words)
    both_strands = strand != "forward"
    for found in iter_branches(
        searcher, queries.ambiguous, max_branches, both_strands=both_strands
    ):
        signs = np.where(found.sides == REVERSE, -1, 1).astype(np.int8)
        parts.append((found.rows, found.numbers, signs))
        yield 0.0
    is_turned[queries.ambiguous.numbers] = queries.ambiguous.is_turned()
    rows = np.concatenate([np.empty((0, 2), np.int64), *(part[0] for part in parts)])
    kmer_ids = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    strands = np.concatenate(
        [np.empty(0, np.int8), *(np.broadcast_to(np.int8(part[2]), len(part[0])) for part in parts)]
    )
    kept = rows[:, 0] < rows[:, 1]
    rows, kmer_ids, strands = rows[kept], kmer_ids[kept], strands[kept]
    order = np.argsort(kmer_ids, kind="stable")
    rows, kmer_ids, strands = rows[order], kmer_ids[order], strands[order]
    sizes = np.zeros(queries.n, np.int64)
    np.add.at(sizes, kmer_ids, rows[:, 1] - rows[:, 0])
    return _Ranges(rows, kmer_ids, strands, sizes, queries.lengths, is_turned)


def _is_less(words: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which k-mers come before others of their lengths in the alphabet."""
    is_less, is_equal = np.zeros(len(words), bool), np.ones(len(words), bool)
    for w in reversed(range(words.shape[1])):
        is_less |= is_equal & (words[:, w] < others[:, w])
        is_equal &= words[:, w] == others[:, w]
    return is_less


def _iter_locate(
    index: FMIndex, found: _Ranges, first: int, last: int, backend: Backend
) -> Generator[float, None, tuple[np.ndarray, np.ndarray, np.ndarray, bool]]:
    """Return k-mers, text positions and strands of some hits, and whether they are in order."""
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
    # One integer says k-mer, position and strand, and sorts fast.
    keys = positions.astype(np.uint64) << np.uint64(1)
    keys += np.repeat((kmer_ids - low).astype(np.uint64) * np.uint64(2 * index.n_symbols), sizes)
    keys += np.repeat((strands < 0).astype(np.uint64), sizes)
    keys.sort()
    keys = keys[first:last]
    kmers, keys = np.divmod(keys, np.uint64(max(2 * index.n_symbols, 1)))
    strands = np.where(keys & np.uint64(1), -1, 1).astype(np.int8)
    return kmers.astype(np.int64) + low, (keys >> np.uint64(1)).astype(np.int64), strands, True
