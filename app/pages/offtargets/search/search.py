"""A search for off-targets as a job, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from genoviz.analyses.offtargets.differences import PamClasses, count_seed_mismatches
from genoviz.analyses.offtargets.offtargets import iter_find_offtargets
from genoviz.analyses.offtargets.scores import cfd_scores, has_scores
from genoviz.analyses.offtargets.summaries import GuideSummaries
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.pages.offtargets.search.graph_sites import GraphSites
from genoviz_app.pages.offtargets.search.guide_groups import (
    MixedHits,
    for_each_hit,
    pams_of,
    summaries_of,
)
from genoviz_app.pages.offtargets.search.query import OffTargetQuery

MAX_HITS = 20_000_000


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    genome, query
        What was searched in, and for.
    hits
        All hits, by guide, contig and position.
    counts
        int64, shape (n_guides, max_mismatches + 1): hits by mismatches.
    guide_offsets
        int64, shape (n_guides + 1,): where the hits of each guide begin.
    cfd
        float64, shape (n,): the CFD score of each hit; None where it means nothing.
    summaries
        What the hits of each guide amount to.
    seconds
        How long the search took.
    n_compared
        Bases times strands times guides, with those of bulges: what the search stands for.
    sites
        Which haplotypes have the hits, where they are of a graph; the hits are then sites, each at
        its first place.
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
    sites: GraphSites | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.hits)

    @cached_property
    def seeds(self) -> np.ndarray:
        """Mismatches of each hit in the seed; uint8, shape (n,). Takes a while for millions."""
        return for_each_hit(self.hits, count_seed_mismatches)

    @cached_property
    def pams(self) -> PamClasses:
        """The PAM of each hit. Takes a while for millions, where the pattern leaves a choice."""
        return pams_of(self.hits)


@dataclass(frozen=True, eq=False)
class SearchStep:
    """How far a search is.

    Attributes
    ----------
    fraction
        Share of the bases that are searched.
    n_bases
        Bases times strands that were searched.
    n_found
        Hits so far.
    seconds
        Time so far.
    result
        The result, with the last step.
    """

    fraction: float
    n_bases: int
    n_found: int
    seconds: float
    result: SearchResult | None = None


def iter_search(genome: OpenGenome, query: OffTargetQuery) -> Iterator[SearchStep]:
    """Search a genome; the last step has the result.

    Raises
    ------
    ParameterError
        If there are more hits than the page can hold.
    """
    start, groups = time.perf_counter(), query.groups
    parts: list[OffTargetHits] = []
    totals: list[int] = []
    n_bases = n_found = 0
    for number, group in enumerate(groups):
        for progress in iter_find_offtargets(
            group.guides,
            genome.planes,
            group.pattern,
            max_mismatches=query.max_mismatches,
            dna_bulge=query.dna_bulge,
            rna_bulge=query.rna_bulge,
        ):
            if n_found + progress.n_found > MAX_HITS:
                raise ParameterError(
                    f"there are more than {MAX_HITS:,} hits; "
                    "allow fewer mismatches or bulges, or take fewer guides"
                )
            fraction = (number + progress.n_done / max(progress.n_total, 1)) / len(groups)
            seconds = time.perf_counter() - start
            done, found = n_bases + progress.n_done, n_found + progress.n_found
            if progress.hits is None:
                yield SearchStep(fraction, done, found, seconds)
        parts.append(progress.hits)
        totals.append(progress.n_total)
        n_bases, n_found = done, found
    hits = parts[0] if len(parts) == 1 else MixedHits.join(groups, parts)
    n_compared = sum(n * len(group.ids) for n, group in zip(totals, groups, strict=True))
    result = make_result(genome, query, hits, seconds, n_compared)
    yield SearchStep(1.0, n_bases, n_found, seconds, result)


def make_result(
    genome: OpenGenome,
    query: OffTargetQuery,
    hits: OffTargetHits,
    seconds: float,
    n_compared: int,
    *,
    sites: GraphSites | None = None,
) -> SearchResult:
    """Return hits with what all parts of the page need of them."""
    n = len(query.guides)
    counts = np.zeros((n, query.max_mismatches + 1), np.int64)
    found = hits.count_by_mismatches()
    counts[:, : found.shape[1]] = found
    offsets = np.searchsorted(hits.guide_ids, np.arange(n + 1)).astype(np.int64)
    _ = hits.contig_ids, hits.starts  # found here, beside the page, and kept
    cfd = for_each_hit(hits, cfd_scores)
    summaries = summaries_of(hits, cfd)
    has_cfd = any(has_scores(group.pattern) for group in query.groups)
    result = SearchResult(
        genome, query, hits, counts, offsets, cfd if has_cfd else None, summaries, seconds,
        n_compared, sites,
    )  # fmt: skip
    _ = result.pams
    return result
