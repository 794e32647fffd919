"""K-mers on the paths of a graph: their counts on each path, and their places."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.hit_nodes import find_nodes
from genoviz.analyses.graph.query.path_places import (
    BOTH,
    FORWARD,
    MAX_SORTED,
    REVERSE,
    PathHits,
    UnitHits,
    fill_places,
    units_of,
)
from genoviz.analyses.sequences.kmer_branches import iter_branches
from genoviz.analyses.sequences.kmer_hits import check_page
from genoviz.analyses.sequences.kmer_packing import Kmers, PackedQueries, pack_queries
from genoviz.analyses.sequences.kmer_queries import MAX_BRANCHES, KmerStrands
from genoviz.analyses.sequences.kmer_search import Searcher, searcher_of
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import in_one_go
from genoviz.model.columns import distinct, expand_counts
from genoviz.model.sequences.bases import reverse_complement
from genoviz.model.sequences.pangenome_index import PangenomeIndex

_ROWS_PER_BATCH = 1 << 22


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Rows of k-mers: numbers, first rows and sizes, int64; sides, int8."""

    kmers: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    sides: np.ndarray


def iter_unit_hits(
    pangenome: PangenomeIndex, kmers: Kmers, max_branches: int, backend: Backend
) -> Iterator[UnitHits]:
    """Yield the places of k-mers and their reverse complements, in batches.

    Raises
    ------
    ParameterError
        If a k-mer is too long for the index, or as `count_kmers`.
    """
    queries = pack_queries(kmers)
    _check_lengths(queries, pangenome.max_k)
    searcher = searcher_of(pangenome.index, backend, queries.n)
    for ranges in _iter_ranges(searcher, queries, max_branches):
        ends = np.cumsum(ranges.counts)
        cuts = np.searchsorted(ends, np.arange(0, ends[-1], _ROWS_PER_BATCH), side="right")
        bounds = distinct(np.append(cuts, len(ends)))
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            yield _locate(pangenome, searcher, ranges, slice(first, stop))


def _iter_ranges(
    searcher: Searcher, queries: PackedQueries, max_branches: int
) -> Iterator[_Ranges]:
    for group in queries.groups:
        numbers, turned = np.arange(queries.n)[group.numbers], group.turned()
        is_same = (turned == group.words).all(axis=1)
        here, there = (
            searcher.find_row_ranges(words, group.lengths) for words in (group.words, turned)
        )
        there[is_same] = 0
        yield from _pack(numbers, here, np.where(is_same, BOTH, FORWARD))
        yield from _pack(numbers, there, np.full(len(numbers), REVERSE))
    for found in iter_branches(searcher, queries.ambiguous, max_branches, both_strands=True):
        yield from _pack(found.numbers, found.rows, found.sides)


def _pack(kmers: np.ndarray, ranges: np.ndarray, sides: np.ndarray) -> Iterator[_Ranges]:
    """Yield the nonempty ranges, if there are any."""
    firsts = ranges[:, 0].astype(np.int64)
    counts = ranges[:, 1].astype(np.int64) - firsts
    has_rows = counts > 0
    if has_rows.any():
        sides = sides[has_rows].astype(np.int8)
        yield _Ranges(kmers[has_rows], firsts[has_rows], counts[has_rows], sides)


def _check_lengths(queries: PackedQueries, max_k: int) -> None:
    too_long = np.flatnonzero(queries.lengths > max_k)
    if len(too_long):
        i = int(too_long[0])
        raise ParameterError(
            f"k-mer {i + 1:,} has {queries.lengths[i]:,} bases, and the index of paths finds up to "
            f"{max_k:,}; build it with a larger max_k (--max-k)"
        )


def _locate(
    pangenome: PangenomeIndex, searcher: Searcher, ranges: _Ranges, part: slice
) -> UnitHits:
    owners, within = expand_counts(ranges.counts[part])
    positions = searcher.locate(ranges.firsts[part][owners] + within)
    return units_of(pangenome, positions, ranges.kmers[part][owners], ranges.sides[part][owners])


def iter_count_per_path(
    pangenome: PangenomeIndex,
    kmers: Kmers,
    *,
    strand: KmerStrands = "both",
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> Generator[int, None, np.ndarray]:
    """Return the result of `count_per_path`; yield the number of places of each batch."""
    check_choice("strand", strand, get_args(KmerStrands))
    kmers = [kmers] if isinstance(kmers, str | bytes) else kmers
    counts = np.zeros((len(kmers), pangenome.graph.n_paths), np.int64)
    paths = pangenome.unit_paths
    for hits in iter_unit_hits(pangenome, kmers, max_branches, backend):
        _add_counts(
            hits.kmers, hits.units, hits.sides, strand == "forward",
            paths.offsets, paths.paths, paths.counts, pangenome.shared.is_turned, counts,
        )  # fmt: skip
        yield len(hits.units)
    return counts


@in_one_go(iter_count_per_path)
def count_per_path(found: np.ndarray) -> np.ndarray:
    """Return the occurrences of each k-mer on each path; int64, shape (n_kmers, n_paths).

    Parameters
    ----------
    pangenome
        What `build_pangenome_index` returns.
    kmers, strand, max_branches
        As in `count_kmers`; k-mers of up to ``max_k`` bases.

    Raises
    ------
    ParameterError
        As `count_kmers`, and if a k-mer is too long.
    """
    return found


@njit(nogil=True, cache=True)
def _add_counts(
    kmers, units, sides, is_forward, path_offsets, paths, path_counts, is_turned, counts
):
    for i in range(len(units)):
        for k in range(path_offsets[units[i]], path_offsets[units[i] + 1]):
            path = paths[k]
            if not is_forward or sides[i] == BOTH or (sides[i] == FORWARD) != is_turned[path]:
                counts[kmers[i], path] += path_counts[k]


def iter_locate_on_paths(
    pangenome: PangenomeIndex,
    kmer: str | bytes | Kmer,
    *,
    strand: KmerStrands = "both",
    limit: int | None = None,
    offset: int = 0,
    max_branches: int = MAX_BRANCHES,
    backend: Backend = "auto",
) -> Generator[int, None, PathHits]:
    """Return the result of `locate_on_paths`; yield the number of places of each batch."""
    check_choice("strand", strand, get_args(KmerStrands))
    check_page(limit, offset)
    letters = kmer.letters if isinstance(kmer, Kmer) else kmer
    k = len(letters)
    if strand == "canonical":
        letters = _first_strand(letters)
    parts = []
    for hits in iter_unit_hits(pangenome, [letters], max_branches, backend):
        parts.append(hits)
        yield len(hits.units)
    ends = np.cumsum([_count_places(pangenome, hits, strand) for hits in parts], dtype=np.int64)
    n_hits = int(ends[-1]) if parts else 0
    stop = n_hits if limit is None else min(n_hits, offset + limit)
    is_sorted = n_hits <= MAX_SORTED
    first, last = (0, n_hits) if is_sorted else (offset, stop)
    paths, starts = np.empty((2, max(last - first, 0)), np.int64)
    strands = np.empty(len(paths), np.int8)
    for hits, end, n in zip(parts, ends.tolist(), np.diff(ends, prepend=0), strict=True):
        fill_places(pangenome, hits, k, strand, end - int(n) - first, paths, starts, strands)
        yield int(n)
    if is_sorted:
        order = np.lexsort([starts, paths])[offset:stop]
        paths, starts, strands = paths[order], starts[order], strands[order]
    node_offsets, nodes = find_nodes(pangenome.graph, paths, starts, k)
    return PathHits(n_hits, paths.astype(np.int32), starts, strands, node_offsets, nodes, is_sorted)


@in_one_go(iter_locate_on_paths)
def locate_on_paths(found: PathHits) -> PathHits:
    """Return the places of a k-mer on paths, and their nodes.

    Parameters
    ----------
    pangenome, kmer, strand
        As in `count_per_path`. With ``"canonical"``, strands are those of the k-mer or its reverse
        complement, whichever comes first in the alphabet.
    limit, offset
        Maximum number of hits, None for all, and number of hits to skip.
    max_branches
        As in `count_kmers`.

    Raises
    ------
    ParameterError
        As `count_per_path`, or if ``limit`` or ``offset`` is negative.
    """
    return found


def _first_strand(letters: str | bytes) -> bytes:
    """Return a k-mer or its reverse complement, whichever comes first in the alphabet."""
    letters = letters.encode("latin-1", "replace") if isinstance(letters, str) else letters
    letters = letters.upper().replace(b"U", b"T")
    return min(letters, reverse_complement(np.frombuffer(letters, np.uint8)).tobytes())


def _count_places(pangenome: PangenomeIndex, hits: UnitHits, strand: str) -> int:
    shared = pangenome.shared
    if strand != "forward":
        n_steps = np.diff(shared.stand_offsets)
        return int(n_steps[hits.units].sum())
    paths = pangenome.unit_paths
    counts = np.zeros((1, pangenome.graph.n_paths), np.int64)
    _add_counts(
        hits.kmers, hits.units, hits.sides, True,
        paths.offsets, paths.paths, paths.counts, shared.is_turned, counts,
    )  # fmt: skip
    return int(counts.sum())
