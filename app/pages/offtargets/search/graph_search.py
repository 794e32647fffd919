"""A search for off-targets on all paths of a graph as a job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from genoviz.analyses.offtargets.pangenome import PathOffTargets, iter_find_offtargets_on_graph
from genoviz.analyses.offtargets.scores import cfd_scores
from genoviz.errors import ParameterError
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.opening.graph_genome import PlacedHits
from genoviz_app.pages.offtargets.search.graph_sites import HAPLOTYPE, GraphSites, compare_sites
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.pages.offtargets.search.search import SearchResult, SearchStep, make_result

MAX_SITES = 2_000_000
N_COUNTED = 20_000


def iter_search_graph(
    genome: OpenGenome, query: OffTargetQuery, reference: str
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

    Raises
    ------
    ParameterError
        If there are more sites than the page can hold.
    """
    start = time.perf_counter()
    guides, pattern = query.patterns
    found: PathOffTargets | None = None
    for progress in iter_find_offtargets_on_graph(
        genome.planes.graph,
        guides,
        pattern,
        max_mismatches=query.max_mismatches,
        dna_bulge=query.dna_bulge,
        rna_bulge=query.rna_bulge,
    ):
        if progress.n_found > MAX_SITES:
            raise ParameterError(
                f"there are more than {MAX_SITES:,} hits on stretches of paths; "
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
