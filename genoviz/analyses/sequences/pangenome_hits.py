"""Where k-mers are in the units that a pangenome index is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.kmer_branches import BOTH, FORWARD, REVERSE, iter_branches
from genoviz.analyses.sequences.kmer_packing import Kmers, PackedQueries, pack_queries
from genoviz.analyses.sequences.kmer_search import Searcher, searcher_of
from genoviz.analyses.sequences.pangenome_index import PangenomeIndex
from genoviz.backend import Backend
from genoviz.errors import ParameterError

_ROWS_PER_BATCH = 1 << 22


@dataclass(frozen=True, eq=False)
class UnitHits:
    """Places in units at which k-mers begin, along the walk.

    Attributes
    ----------
    kmers
        int64, shape (n,): number of the k-mer.
    units, offsets
        int64, shape (n,): the unit, and the place in it, bp.
    sides
        int8, shape (n,): whether the k-mer stands there (0), its reverse complement (1) or both.
    """

    kmers: np.ndarray
    units: np.ndarray
    offsets: np.ndarray
    sides: np.ndarray


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Rows of k-mers: numbers, first rows and how many, int64; sides, int8."""

    kmers: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    sides: np.ndarray


def iter_unit_hits(
    pangenome: PangenomeIndex, kmers: Kmers, max_branches: int, backend: Backend
) -> Iterator[UnitHits]:
    """Yield where k-mers and their reverse complements are, in batches.

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
        bounds = np.unique(np.append(cuts, len(ends)))
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
    """Yield the ranges that are not empty, if there are any."""
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
            f"{max_k:,}; build it with a larger max_k"
        )


def _locate(
    pangenome: PangenomeIndex, searcher: Searcher, ranges: _Ranges, part: slice
) -> UnitHits:
    counts = ranges.counts[part]
    owners = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = searcher.locate(ranges.firsts[part][owners] + within)
    text = pangenome.index.text
    places = text.locate(positions)
    joint = text.contig_offsets[places.contig_ids] + places.starts
    units = np.searchsorted(pangenome.unit_starts, joint, side="right") - 1
    offsets = joint - pangenome.unit_starts[units]
    # Behind a unit are bases that stand in other units too.
    is_own = offsets < pangenome.shared.lengths[units]
    owners = owners[is_own]
    return UnitHits(
        ranges.kmers[part][owners], units[is_own], offsets[is_own], ranges.sides[part][owners]
    )
