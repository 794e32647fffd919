"""Counts of off-targets, and the closest ones only: for results of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.offtargets.hits import HitCollector, OffTargetHits
from genoviz.analyses.offtargets.request import OffTargetRequest, SearchOptions, make_request
from genoviz.analyses.offtargets.search import Found, WordRange, make_parts
from genoviz.analyses.offtargets.tiles import iter_found
from genoviz.backend import Backend, Scheduler
from genoviz.errors import check_minimum
from genoviz.generators import in_one_go, last_of
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.sequences.sequences import Sequences

MIN_NEW = 1 << 20
"""Number of new hits after which the ones that cannot be among the closest are dropped."""


@dataclass(frozen=True, eq=False)
class OffTargetCountProgress:
    """Progress of a count.

    Parameters
    ----------
    n_done, n_total
        Work done and in total: bases times strands times kinds of bulge.
    counts
        int64, shape (n_guides, maximum + 1): hits so far by mismatches; the last has all.
    """

    n_done: int
    n_total: int
    counts: np.ndarray


def iter_count_offtargets(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    *,
    max_mismatches: int | Sequence[int],
    dna_bulge: int = 0,
    rna_bulge: int = 0,
    strands: str = "both",
    method: str = "auto",
    devices: Sequence[int] | None = None,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[OffTargetCountProgress]:
    """Yield the progress of `count_offtargets`; the last report has all counts."""
    options = SearchOptions(
        max_mismatches=max_mismatches,
        dna_bulge=dna_bulge,
        rna_bulge=rna_bulge,
        strands=strands,
        method=method,
        devices=devices,
        scheduler=scheduler,
        backend=backend,
    )
    return iter_counts(guides, genome, pattern, options)


@in_one_go(iter_count_offtargets)
def count_offtargets(last: OffTargetCountProgress) -> np.ndarray:
    """Return the number of sites of each guide by mismatches, without storing the sites.

    Parameters
    ----------
    guides, genome, pattern, max_mismatches, dna_bulge, rna_bulge, strands, method
        As for `find_offtargets`. All placements of bulges are counted.
    devices, scheduler
        As for `find_offtargets`.

    Returns
    -------
    numpy.ndarray
        int64, shape (n_guides, maximum + 1), where maximum is the largest ``max_mismatches``.

    Raises
    ------
    ParameterError
        If guides and pattern do not match, or an option is out of range.
    BackendError
        If the backend cannot be used.

    Examples
    --------
    >>> genome = Sequences.from_records([("c", "TTGACCTGTCGCTGACGCTGGAA")])
    >>> count_offtargets(["GACCTGTCGCTGACGCNNN"], genome, "N" * 17 + "GG", max_mismatches=1)
    array([[1, 0]])
    """
    return last.counts


def iter_counts(
    guides: Sequence[str], genome: Sequences | GenomePlanes, pattern: str, options: SearchOptions
) -> Iterator[OffTargetCountProgress]:
    """Yield the progress of a count; the last report has all counts."""
    request = make_request(guides, genome, pattern, options)
    yield from _iter_counts(request, make_parts(request))


def find_closest_offtargets(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    *,
    max_mismatches: int | Sequence[int],
    limit: int,
    strands: str = "both",
    method: str = "auto",
    devices: Sequence[int] | None = None,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> OffTargetHits:
    """Return up to ``limit`` sites of each guide with the fewest mismatches.

    Ties are broken by position in the genome. The hits are counted first, so that only the wanted
    ones are stored. Bulges are not supported.

    Parameters
    ----------
    guides, genome, pattern, max_mismatches, strands, method
        As for `find_offtargets`.
    devices, scheduler
        As for `find_offtargets`.
    limit
        Maximum number of hits per guide, 1 or more.

    Raises
    ------
    ParameterError
        If guides and pattern do not match, or an option is out of range.
    BackendError
        If the backend cannot be used.
    """
    options = SearchOptions(
        max_mismatches=max_mismatches,
        strands=strands,
        method=method,
        devices=devices,
        scheduler=scheduler,
        backend=backend,
    )
    return find_closest(guides, genome, pattern, options, limit)


def find_closest(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    options: SearchOptions,
    limit: int,
) -> OffTargetHits:
    """Return up to ``limit`` sites of each guide with the fewest mismatches."""
    check_minimum("limit", limit, 1)
    request = make_request(guides, genome, pattern, options)
    parts = make_parts(request)
    counted = last_of(_iter_counts(request, parts))
    totals = np.cumsum(counted.counts, axis=1)
    # The mismatch level at which a guide reaches its limit, and how many of that level are kept.
    is_full = totals >= limit
    levels = np.where(is_full.any(axis=1), is_full.argmax(axis=1), request.limits)
    before = np.where(levels > 0, np.take_along_axis(totals, levels[:, None] - 1, 1)[:, 0], 0)
    request = replace(request, limits=levels)
    closest = _ClosestHits(request, levels, limit - before)
    for found in iter_found(request, parts):
        closest.add(found)
    return closest.join()


def _iter_counts(
    request: OffTargetRequest, parts: Sequence[WordRange]
) -> Iterator[OffTargetCountProgress]:
    n_levels = int(request.limits.max(initial=0)) + 1
    counts = np.zeros((len(request.guides), n_levels), np.int64)
    n_done = 0
    for found in iter_found(request, parts, n_levels=n_levels):
        n_done += found.n_bases
        if found.counts is not None:
            np.add.at(counts, found.search.variant.guide_ids, found.counts)
        yield OffTargetCountProgress(n_done, request.n_total, counts.copy())
    yield OffTargetCountProgress(request.n_total, request.n_total, counts)


class _ClosestHits:
    """Collects the closest hits: all below each guide's level, and the first of those at it.

    Other hits are dropped whenever the number of new hits reaches that of the kept ones.
    """

    def __init__(self, request: OffTargetRequest, levels: np.ndarray, n_at_level: np.ndarray):
        self._request = request
        self._levels, self._n_at_level = levels, n_at_level
        self._hits = HitCollector(request).join()
        self._collector, self._n_new = HitCollector(request), 0

    def add(self, found: Found) -> None:
        """Add the hits of a step."""
        self._collector.add(found)
        self._n_new += len(found.positions)
        if self._n_new > max(len(self._hits), MIN_NEW):
            self._prune()

    def join(self) -> OffTargetHits:
        """Return the closest hits, sorted."""
        self._prune()
        return self._hits

    def _prune(self) -> None:
        self._collector.add_hits(self._hits)
        hits = self._collector.join()
        is_at_level = hits.mismatches == self._levels[hits.guide_ids]
        numbers = np.cumsum(is_at_level)
        # Number of hits of the level before a guide's first hit.
        firsts = np.searchsorted(hits.guide_ids, np.arange(len(self._levels)))
        before = np.concatenate([[0], numbers])[firsts]
        numbers -= before[hits.guide_ids]
        is_kept = ~is_at_level | (numbers <= self._n_at_level[hits.guide_ids])
        self._hits, self._n_new = hits.take(np.flatnonzero(is_kept)), 0
