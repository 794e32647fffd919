"""Search jobs, in a genome or on all paths of a graph, and their results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from genoviz.analyses.offtargets.differences import PamClasses, count_seed_mismatches
from genoviz.analyses.offtargets.pangenome import PathOffTargets, iter_hits_on_graph
from genoviz.analyses.offtargets.path_hits import PlacedHits
from genoviz.analyses.offtargets.pieces import PieceProgress, iter_pieces
from genoviz.analyses.offtargets.request import make_request
from genoviz.analyses.offtargets.scores import cfd_scores, has_scores
from genoviz.analyses.offtargets.summaries import GuideSummaries
from genoviz.analyses.offtargets.tiles import TASK_COMPARISONS, count_comparisons
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import COLUMNS, OffTargetHits
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.pages.offtargets.search.graph_sites import HAPLOTYPE, GraphSites, compare_sites
from genoviz_app.pages.offtargets.search.guide_groups import (
    MixedHits,
    for_each_hit,
    pams_of,
    summaries_of,
)
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.parts.words import n_words
from genoviz_app.server.cluster import iter_shared
from genoviz_app.server.settings import SETTINGS

MAX_HITS = 20_000_000
MAX_SITES = 2_000_000
N_COUNTED = 20_000
SHOWN_EVERY, COSTS = 0.5, 4.0
"""Seconds between partial results, at least this multiple of the time to make one."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search, or of a part of it while it is running.

    Attributes
    ----------
    genome, query
        The searched genome, and the parameters.
    hits
        All hits, sorted by guide, contig and position.
    counts
        int64, shape (n_guides, max_mismatches + 1): hits by mismatches.
    guide_offsets
        int64, shape (n_guides + 1,): index of the first hit of each guide.
    cfd
        float64, shape (n,): CFD score of each hit; None if not applicable.
    summaries
        Summary of the hits of each guide.
    seconds
        Duration of the search.
    n_compared
        Number of comparisons: bases times strands times guides, including those with bulges.
    n_bases
        Number of searched bases, from the start of the genome.
    sites
        Haplotypes with the hits if they are from a graph; hits are then distinct sites, each at its
        first position.
    is_growing
        Whether the search is still running.
    max_differences
        Maximum number of differences of the kept hits if there were too many; else None.
    left_out
        int64, shape as ``counts``: hits that were not kept, with all placements of their bulges.
    n_guides
        Number of searched guides, from the first on; None for all.
    """

    genome: OpenGenome
    query: OffTargetQuery
    hits: OffTargetHits = field(repr=False)
    counts: np.ndarray
    guide_offsets: np.ndarray
    cfd: np.ndarray | None
    summaries: GuideSummaries
    seconds: float
    n_compared: int
    n_bases: int
    sites: GraphSites | None = field(default=None, repr=False)
    is_growing: bool = False
    max_differences: int | None = None
    left_out: np.ndarray | None = None
    n_guides: int | None = None

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def is_whole(self) -> bool:
        """Whether the whole genome was searched for all guides."""
        return self.n_guides is None and self.n_bases >= self.genome.planes.n_bases

    @property
    def searched_words(self) -> str:
        """How much of the genome, or how many guides, were searched, as text; "" for all."""
        if self.is_whole:
            return ""
        if self.n_guides is not None:
            return f"the first {self.n_guides:,} of {n_words(len(self.query.guides), 'guide')}"
        n_all, unit = self.genome.planes.n_bases, 1_000_000
        if n_all < unit:
            return f"the first {self.n_bases:,} of {n_all:,} bp"
        return f"the first {self.n_bases / unit:,.3g} of {n_all / unit:,.3g} Mb"

    def row_of(self, other: SearchResult, row: int) -> int:
        """Return the index of a hit from another result of the same search; -1 if absent."""
        hits, wanted = self.hits, other.hits
        span = slice(*self.guide_offsets[wanted.guide_ids[row] :][:2].tolist())
        ends = (np.searchsorted(hits.positions[span], wanted.positions[row], side)
                for side in ("left", "right"))  # fmt: skip
        for found in range(*(span.start + int(end) for end in ends)):
            if all(getattr(hits, name)[found] == getattr(wanted, name)[row] for name in COLUMNS):
                return found
        return -1

    @cached_property
    def seeds(self) -> np.ndarray:
        """Mismatches of each hit in the seed; uint8, shape (n,). Slow for millions of hits."""
        return for_each_hit(self.hits, count_seed_mismatches)

    @cached_property
    def pams(self) -> PamClasses:
        """The PAM of each hit. Slow for millions of hits if the pattern is ambiguous."""
        return pams_of(self.hits)


@dataclass(frozen=True, eq=False)
class SearchStep:
    """The progress of a search.

    Attributes
    ----------
    fraction
        Fraction of the bases searched so far.
    n_bases
        Bases times strands searched so far.
    n_found
        Number of hits so far.
    seconds
        Duration so far.
    result
        All hits with the last step; before, in a genome, a recent partial result.
    """

    fraction: float
    n_bases: int
    n_found: int
    seconds: float
    result: SearchResult | None = None


def iter_search(
    genome: OpenGenome, query: OffTargetQuery, *, max_hits: int = MAX_HITS
) -> Iterator[SearchStep]:
    """Search a genome; earlier steps have partial results, the last one has the final result.

    If there are more than ``max_hits``, those with the fewest differences are kept, and the others
    are only counted.
    """
    start, groups = time.perf_counter(), query.groups
    planes, options = genome.planes, query.options
    requests = [make_request(group.guides, planes, group.pattern, options) for group in groups]
    n_rows = sum(request.n_total * len(request.guides) for request in requests)
    result, next_at, n_shown = None, start + SHOWN_EVERY, 0

    def make(scheduler: str | None) -> Iterator[PieceProgress]:
        own = replace(options, scheduler=scheduler)
        return iter_pieces([replace(request, options=own) for request in requests], max_hits)

    is_shared = SETTINGS.scheduler and sum(map(count_comparisons, requests)) >= TASK_COMPARISONS
    for progress in iter_shared(make) if is_shared else make(None):
        if progress is None:
            yield None
            continue
        began = time.perf_counter()
        fraction = progress.n_done / max(progress.n_total, 1)
        is_new = n_shown < progress.n_bases < planes.n_bases
        if is_new and began > next_at:
            n_compared = round(fraction * n_rows)
            result = join_result(genome, query, progress, began - start, n_compared)
            n_shown, now = progress.n_bases, time.perf_counter()
            next_at = now + max(SHOWN_EVERY, COSTS * (now - began))
        seconds = time.perf_counter() - start
        yield SearchStep(fraction, progress.n_done, progress.n_found, seconds, result)
    result = join_result(genome, query, progress, seconds, n_rows)
    yield SearchStep(1.0, progress.n_done, progress.n_found, seconds, result)


def join_result(
    genome: OpenGenome,
    query: OffTargetQuery,
    progress: PieceProgress,
    seconds: float,
    n_compared: int,
) -> SearchResult:
    """Return the result of the finished pieces."""
    groups, kept, parts = query.groups, progress.kept, progress.kept.hits()
    hits = parts[0] if len(parts) == 1 else MixedHits.join(groups, parts)
    left_out = None
    if kept.max_differences is not None:
        left_out = np.zeros((len(query.guides), query.max_mismatches + 1), np.int64)
        for group, counts in zip(groups, kept.left_out, strict=True):
            left_out[group.ids, : counts.shape[1]] = counts
    return make_result(
        genome, query, hits, seconds, n_compared, n_bases=progress.n_bases,
        is_growing=progress.n_bases < genome.planes.n_bases,
        max_differences=kept.max_differences, left_out=left_out,
    )  # fmt: skip


def make_result(
    genome: OpenGenome,
    query: OffTargetQuery,
    hits: OffTargetHits,
    seconds: float,
    n_compared: int,
    **others: Any,
) -> SearchResult:
    """Return hits with all derived data of a `SearchResult`; ``others`` are its other fields."""
    n = len(query.guides)
    counts = np.zeros((n, query.max_mismatches + 1), np.int64)
    found = hits.count_by_mismatches()
    counts[:, : found.shape[1]] = found
    offsets = np.searchsorted(hits.guide_ids, np.arange(n + 1, dtype=np.int32)).astype(np.int64)
    _ = hits.contig_ids, hits.starts  # computed and cached here, in the background
    cfd = for_each_hit(hits, cfd_scores)
    summaries = summaries_of(hits, cfd)
    has_cfd = any(has_scores(group.pattern) for group in query.groups)
    result = SearchResult(
        genome, query, hits, counts, offsets, cfd if has_cfd else None, summaries, seconds,
        n_compared, **others,
    )  # fmt: skip
    _ = result.pams
    return result


def iter_search_graph(
    genome: OpenGenome, query: OffTargetQuery, reference: str, *, max_sites: int = MAX_SITES
) -> Iterator[SearchStep]:
    """Search the paths of a graph; earlier steps have the results of some guides.

    ``reference`` is the sample or path to compare sites with; "" for none. The last step has the
    final result. More than ``max_sites`` sites raise a ParameterError.
    """
    start = time.perf_counter()
    guides, pattern = query.patterns
    found: PathOffTargets | None = None
    next_at = start + SHOWN_EVERY
    for progress in iter_hits_on_graph(genome.planes.graph, guides, pattern, query.options):
        if progress.n_found > max_sites:
            raise ParameterError(
                f"there are more than {n_words(max_sites, 'hit')} on stretches of paths; "
                "allow fewer mismatches or bulges, or take fewer guides"
            )
        found, n_found = progress.result, progress.n_found
        began, result = time.perf_counter(), None
        seconds = began - start
        if progress.place is not None and began > next_at:
            some = progress.place()
            rows = np.arange(len(some))
            n_with = some.presence(rows, by=HAPLOTYPE).sum(axis=1)
            result = graph_result(
                genome, query, reference, some, n_with, seconds,
                n_guides=progress.n_guides, is_growing=True,
            )  # fmt: skip
            now = time.perf_counter()
            next_at = now + max(SHOWN_EVERY, COSTS * (now - began))
        yield SearchStep(0.9 * progress.fraction, 0, n_found, seconds, result)
    n_with = np.zeros(len(found), np.int64)
    for first in range(0, len(found), N_COUNTED):
        rows = np.arange(first, min(first + N_COUNTED, len(found)))
        n_with[rows] = found.presence(rows, by=HAPLOTYPE).sum(axis=1)
        fraction = 0.9 + 0.08 * first / len(found)
        yield SearchStep(fraction, 0, len(found), time.perf_counter() - start)
    seconds = time.perf_counter() - start
    result = graph_result(genome, query, reference, found, n_with, seconds)
    yield SearchStep(1.0, 0, len(found), seconds, result)


def graph_result(
    genome: OpenGenome,
    query: OffTargetQuery,
    reference: str,
    found: PathOffTargets,
    n_with: np.ndarray,
    seconds: float,
    **others: Any,
) -> SearchResult:
    """Return sites on paths as a result; ``others`` are fields of `SearchResult`."""
    hits, groups = PlacedHits.of(found, genome.planes), found.groups(HAPLOTYPE)
    sites = GraphSites(found, groups, n_with, compare_sites(found, reference, cfd_scores(hits)))
    n_compared = 2 * found.n_bases_searched * len(query.guides)
    return make_result(
        genome, query, hits, seconds, n_compared, n_bases=genome.planes.n_bases, sites=sites,
        **others,
    )  # fmt: skip


def iter_compare(result: SearchResult, reference: str) -> Iterator[SearchStep]:
    """Compare a search's sites with another reference; the last step has the result."""
    yield SearchStep(0.5, 0, len(result), result.seconds)
    sites = result.sites
    answer = compare_sites(sites.found, reference, cfd_scores(result.hits))
    result = replace(result, sites=replace(sites, reference=answer))
    yield SearchStep(1.0, 0, len(result), result.seconds, result)
