"""A search as a job, in a genome or on all paths of a graph, and its result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.graph.query.path_groups import PathGroups
from genoviz.analyses.offtargets.differences import PamClasses, count_seed_mismatches
from genoviz.analyses.offtargets.finding import iter_hits
from genoviz.analyses.offtargets.haplotype_risks import HaplotypeRisks, haplotype_risks
from genoviz.analyses.offtargets.pangenome import PathOffTargets, iter_hits_on_graph
from genoviz.analyses.offtargets.path_hits import PlacedHits
from genoviz.analyses.offtargets.reference import ReferenceSites, compare_with_reference
from genoviz.analyses.offtargets.scores import cfd_scores, has_scores
from genoviz.analyses.offtargets.summaries import GuideSummaries
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.pages.offtargets.search.guide_groups import (
    MixedHits,
    for_each_hit,
    pams_of,
    summaries_of,
)
from genoviz_app.pages.offtargets.search.query import OffTargetQuery

HAPLOTYPE = "haplotype"
MAX_HITS = 20_000_000
MAX_SITES = 2_000_000
N_COUNTED = 20_000


@dataclass(frozen=True, eq=False)
class ReferenceAnswer:
    """What a reference has of the sites.

    Attributes
    ----------
    name
        The sample or path.
    sites
        What it has at each site.
    risks
        The worst site of each guide in any haplotype, and in the reference.
    """

    name: str
    sites: ReferenceSites = field(repr=False)
    risks: HaplotypeRisks = field(repr=False)


@dataclass(frozen=True, eq=False)
class GraphSites:
    """Sites on the paths of a graph, in the order of the hits of a result.

    Attributes
    ----------
    found
        The sites and their places.
    haplotypes
        The paths in groups.
    n_with
        int64, shape (n_sites,): how many haplotypes have each.
    reference
        What the reference has, or None where none is chosen.
    """

    found: PathOffTargets = field(repr=False)
    haplotypes: PathGroups = field(repr=False)
    n_with: np.ndarray
    reference: ReferenceAnswer | None = None

    @property
    def n_haplotypes(self) -> int:
        """How many haplotypes the graph has."""
        return len(self.haplotypes.names)

    def count_copies(self, rows: np.ndarray) -> np.ndarray:
        """Return how often haplotypes have sites; int64, shape (n_rows, n_haplotypes)."""
        counts = np.zeros((len(rows), self.n_haplotypes), np.int64)
        for part in self.found.iter_batches(rows):
            places = self.found.places(rows[part])
            order = np.argsort(rows[part], kind="stable")
            at = order[np.searchsorted(rows[part], places.sites, sorter=order)] + part.start
            np.add.at(counts, (at, self.haplotypes.of_path[places.paths]), 1)
        return counts

    def reference_words(self, rows: np.ndarray) -> list[str]:
        """Return ``yes``, ``no``, or with how many mismatches; "" without a reference."""
        if self.reference is None:
            return [""] * len(rows)
        return self.reference.sites.labels(rows)


def compare_sites(found: PathOffTargets, name: str, cfd: np.ndarray) -> ReferenceAnswer | None:
    """Return what a reference has of sites; None where none is named."""
    if not name:
        return None
    sites = compare_with_reference(found, name)
    return ReferenceAnswer(name, sites, haplotype_risks(found, sites, cfd=cfd))


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


def iter_search(
    genome: OpenGenome, query: OffTargetQuery, *, max_hits: int = MAX_HITS
) -> Iterator[SearchStep]:
    """Search a genome; the last step has the result.

    Raises
    ------
    ParameterError
        If there are more than ``max_hits``.
    """
    start, groups = time.perf_counter(), query.groups
    parts: list[OffTargetHits] = []
    totals: list[int] = []
    n_bases = n_found = 0
    for number, group in enumerate(groups):
        for progress in iter_hits(group.guides, genome.planes, group.pattern, query.options):
            if n_found + progress.n_found > max_hits:
                raise ParameterError(
                    f"there are more than {max_hits:,} hits; "
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


def iter_search_graph(
    genome: OpenGenome, query: OffTargetQuery, reference: str, *, max_sites: int = MAX_SITES
) -> Iterator[SearchStep]:
    """Search the paths of a graph; the last step has the result.

    Parameters
    ----------
    genome
        The graph's paths.
    query
        What to search for.
    reference
        The sample or path that sites are compared with; "" for none.
    max_sites
        How many sites there may be.

    Raises
    ------
    ParameterError
        If there are more.
    """
    start = time.perf_counter()
    guides, pattern = query.patterns
    found: PathOffTargets | None = None
    for progress in iter_hits_on_graph(genome.planes.graph, guides, pattern, query.options):
        if progress.n_found > max_sites:
            raise ParameterError(
                f"there are more than {max_sites:,} hits on stretches of paths; "
                "allow fewer mismatches or bulges, or take fewer guides"
            )
        found, n_found = progress.result, progress.n_found
        seconds = time.perf_counter() - start
        yield SearchStep(0.9 * progress.fraction, 0, n_found, seconds)
    groups = found.groups(HAPLOTYPE)
    n_with = np.zeros(len(found), np.int64)
    for first in range(0, len(found), N_COUNTED):
        rows = np.arange(first, min(first + N_COUNTED, len(found)))
        n_with[rows] = found.presence(rows, by=HAPLOTYPE).sum(axis=1)
        fraction = 0.9 + 0.08 * first / len(found)
        yield SearchStep(fraction, 0, len(found), time.perf_counter() - start)
    hits = PlacedHits.of(found, genome.planes)
    sites = GraphSites(found, groups, n_with, compare_sites(found, reference, cfd_scores(hits)))
    seconds = time.perf_counter() - start
    n_compared = 2 * found.n_bases_searched * len(guides)
    result = make_result(genome, query, hits, seconds, n_compared, sites=sites)
    yield SearchStep(1.0, 0, len(found), seconds, result)


def iter_compare(result: SearchResult, reference: str) -> Iterator[SearchStep]:
    """Compare the sites of a search with another reference; the last step has the result."""
    yield SearchStep(0.5, 0, len(result), result.seconds)
    sites = result.sites
    answer = compare_sites(sites.found, reference, cfd_scores(result.hits))
    result = replace(result, sites=replace(sites, reference=answer))
    yield SearchStep(1.0, 0, len(result), result.seconds, result)
