"""Off-target search of all paths of a graph; shared sequence is searched once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numba import njit

from genoviz.analyses.offtargets.finding import iter_hits
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.offtargets.path_places import SiteMembers
from genoviz.analyses.offtargets.paths import PLACES_AT_ONCE, PathOffTargets
from genoviz.analyses.offtargets.pieces import RUN_HITS, HitSpool, iter_spooled
from genoviz.analyses.offtargets.request import (
    PLACEMENTS,
    OffTargetRequest,
    SearchOptions,
    make_request,
)
from genoviz.analyses.sequences.shared_stretches import (
    SharedStretches,
    iter_shared_stretches,
    walk_handles,
    walk_order,
)
from genoviz.analyses.sequences.stretch_text import spell_stretches
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import in_one_go
from genoviz.model import PangenomeGraph
from genoviz.model.offtargets.hits import COLUMNS, OffTargetHits

PLACES_IN_MEMORY = 1 << 20
"""Maximum places in memory when sites are made guide by guide; one guide may have more."""
MIN_IN_MEMORY = 1 << 13
"""Minimum hits on stretches in memory; each may stand for many places."""
SHARING, SEARCHING, PLACING = "Finding what paths share", "Searching", "Placing"
_SHARING_FRACTION, _SEARCHED_FRACTION = 0.3, 0.95
_FIRST_GUIDES, _BATCH_SECONDS = 8, 0.5
"""Guides of the first search; then the number doubles until a search takes so many seconds."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class PathOffTargetsProgress:
    """Progress of `iter_find_offtargets_on_graph`.

    Attributes
    ----------
    stage, fraction
        The current stage, and the fraction of all work that is done, 0 to 1.
    n_found
        Hits on stretches so far.
    result
        All sites, None until the last report.
    n_guides
        The number of guides, from the first on, that are searched on all paths.
    place
        Returns the sites of these guides, which takes a while; None if there are no new ones.
    """

    stage: str
    fraction: float
    n_found: int = 0
    result: PathOffTargets | None = None
    n_guides: int = 0
    place: Callable[[], PathOffTargets] | None = field(default=None, repr=False)


def iter_find_offtargets_on_graph(
    graph: PangenomeGraph,
    guides: Sequence[str],
    pattern: str,
    *,
    max_mismatches: int | Sequence[int],
    dna_bulge: int = 0,
    rna_bulge: int = 0,
    placements: str = "best",
    backend: Backend = "auto",
) -> Iterator[PathOffTargetsProgress]:
    """Yield the progress of `find_offtargets_on_graph`; the last report has the sites."""
    options = SearchOptions(
        max_mismatches=max_mismatches,
        dna_bulge=dna_bulge,
        rna_bulge=rna_bulge,
        placements=placements,
        backend=backend,
    )
    return iter_hits_on_graph(graph, guides, pattern, options)


@in_one_go(iter_find_offtargets_on_graph)
def find_offtargets_on_graph(last: PathOffTargetsProgress) -> PathOffTargets:
    """Return the sites of guides on all paths of a graph.

    The places are those that `find_offtargets` finds on each path alone, but windows shared by
    paths are searched once. Windows are taken along paths, so each site is on a haplotype. Nodes
    without sequence read as N.

    Parameters
    ----------
    graph
        A graph with sequences.
    guides, pattern, max_mismatches, dna_bulge, rna_bulge, placements
        As for `find_offtargets`. Of the alignments with the same strand and PAM, the best one
        is kept on each path separately.

    Raises
    ------
    ParameterError
        As for `find_offtargets`, or if the graph was read without sequences.
    """
    return last.result


def iter_hits_on_graph(
    graph: PangenomeGraph, guides: Sequence[str], pattern: str, options: SearchOptions
) -> Iterator[PathOffTargetsProgress]:
    """Yield the progress of a search of all paths; the last report has the sites."""
    _check(graph, options)
    began, seconds = time.perf_counter(), {}
    window = max(len(pattern) + max(options.dna_bulge, 0), 1)
    for n_done, shared in iter_shared_stretches(graph, window):  # noqa: B007
        yield PathOffTargetsProgress(SHARING, _SHARING_FRACTION * n_done / max(graph.n_steps, 1))
    text = spell_stretches(graph, shared)
    planes = make_genome_planes(text.sequences)
    seconds[SHARING] = time.perf_counter() - began
    checked = make_request(guides, planes, pattern, replace(options, placements="all"))
    sorter = _SiteSorter(graph, shared, text.unit_starts, options)
    parts: list[OffTargetHits] = []
    first, n_at_once, n_found = 0, _FIRST_GUIDES, 0

    def place() -> PathOffTargets:
        return sorter.sort(_join_guides(checked, parts))

    while first < len(guides) or not parts:
        stop, batch_began = min(first + n_at_once, len(guides)), time.perf_counter()
        some = replace(checked.options, max_mismatches=checked.limits[first:stop].tolist())
        for progress in iter_hits(guides[first:stop], planes, pattern, some):
            share = progress.n_done / max(progress.n_total, 1)
            share = (first + (stop - first) * share) / max(len(guides), 1)
            fraction = _SHARING_FRACTION + (_SEARCHED_FRACTION - _SHARING_FRACTION) * share
            yield PathOffTargetsProgress(
                SEARCHING, fraction, n_found + progress.n_found, n_guides=first
            )
        parts.append(progress.hits)
        first, n_found = stop, n_found + progress.n_found
        if stop < len(guides):
            yield PathOffTargetsProgress(SEARCHING, fraction, n_found, n_guides=stop, place=place)
        if time.perf_counter() - batch_began < _BATCH_SECONDS:
            n_at_once *= 2
    seconds[SEARCHING] = time.perf_counter() - began - seconds[SHARING]
    found = place()
    seconds[PLACING] = time.perf_counter() - began - sum(seconds.values())
    found.seconds.update(seconds)
    yield PathOffTargetsProgress(PLACING, 1.0, n_found, found, len(guides))


@dataclass(frozen=True, eq=False)
class SpooledSites:
    """Progress of a search whose sites are made some guides at a time.

    Attributes
    ----------
    stage, fraction
        As of `PathOffTargetsProgress`.
    spool
        The hits on stretches, once all are found.
    sorter
        Turns them into sites.
    """

    stage: str
    fraction: float
    spool: HitSpool | None = None
    sorter: _SiteSorter | None = field(default=None, repr=False)

    def iter_guides(self) -> Iterator[tuple[int, PathOffTargets]]:
        """Yield the first guide of each batch, and the batch's sites on all paths.

        The sites are those of `find_offtargets_on_graph`. A batch has about `PLACES_IN_MEMORY`
        places on paths, or those of one guide.
        """
        maximum = max(int(PLACES_IN_MEMORY / max(self.sorter.sharing, 1.0)), MIN_IN_MEMORY)
        for first, stop, hits in self.spool.iter_guides(maximum):
            shifted = hits.guide_ids - np.int32(first)
            some = replace(hits, guides=hits.guides[first:stop], guide_ids=shifted)
            yield first, self.sorter.sort(some)


def iter_spooled_on_graph(
    graph: PangenomeGraph,
    guides: Sequence[str],
    pattern: str,
    options: SearchOptions,
    *,
    max_in_memory: int = RUN_HITS,
) -> Iterator[SpooledSites]:
    """Yield the progress of a search that spools its hits; the last report has them."""
    _check(graph, options)
    window = max(len(pattern) + max(options.dna_bulge, 0), 1)
    for n_done, shared in iter_shared_stretches(graph, window):  # noqa: B007
        yield SpooledSites(SHARING, _SHARING_FRACTION * n_done / max(graph.n_steps, 1))
    text = spell_stretches(graph, shared)
    planes = make_genome_planes(text.sequences)
    request = make_request(guides, planes, pattern, replace(options, placements="all"))
    for progress in iter_spooled(request, max_in_memory=max_in_memory):
        share = (1 - _SHARING_FRACTION) * progress.n_done / max(progress.n_total, 1)
        yield SpooledSites(SEARCHING, _SHARING_FRACTION + share)
    sorter = _SiteSorter(graph, shared, text.unit_starts, options)
    yield SpooledSites(PLACING, 1.0, progress.spool, sorter)


def _check(graph: PangenomeGraph, options: SearchOptions) -> None:
    if graph.node_sequences is None:
        raise ParameterError("the graph was opened without its sequences, which are needed here")
    check_choice("placements", options.placements, PLACEMENTS)


class _SiteSorter:
    """Turns hits on stretches into sites on paths, for all guides or some."""

    def __init__(
        self,
        graph: PangenomeGraph,
        shared: SharedStretches,
        unit_starts: np.ndarray,
        options: SearchOptions,
    ) -> None:
        self._graph, self._shared, self._unit_starts = graph, shared, unit_starts
        self._keeps_best = options.placements == "best" and options.has_bulges
        self.sharing = float(graph.path_lengths.sum()) / max(int(shared.lengths.sum()), 1)
        order = walk_order(graph, shared.is_turned)
        self._handles = walk_handles(graph, shared.is_turned, order)

    def sort(self, hits: OffTargetHits) -> PathOffTargets:
        """Return the sites of whole guides."""
        found = _gather_sites(self._graph, self._shared, self._unit_starts, self._handles, hits)
        return _sort_sites(_keep_best(found) if self._keeps_best else found)


def _join_guides(request: OffTargetRequest, parts: Sequence[OffTargetHits]) -> OffTargetHits:
    """Concatenate the hits of batches of guides to those of all guides."""
    firsts = np.cumsum([0, *(len(part.guides) for part in parts)])
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    shifts = np.repeat(firsts[:-1], [len(part) for part in parts]).astype(np.int32)
    columns["guide_ids"] = columns["guide_ids"] + shifts
    return replace(parts[0], guides=request.guides, **columns)


def _gather_sites(
    graph: PangenomeGraph,
    shared: SharedStretches,
    unit_starts: np.ndarray,
    handles: np.ndarray,
    hits: OffTargetHits,
) -> PathOffTargets:
    """Return the sites of hits on stretches; a site is a set of bases on the same nodes."""
    units = np.searchsorted(unit_starts, hits.positions, side="right") - 1
    starts = hits.positions - unit_starts[units] if len(hits) else hits.positions
    # The bases after a unit also belong to other units.
    rows = np.flatnonzero(starts < shared.lengths[units])
    hits, units, starts = hits.take(rows), units[rows], starts[rows]
    keys = np.empty(len(hits), np.uint64)
    firsts = shared.shifts[units] + starts
    hash_sites(
        handles, graph.node_lengths, shared.steps[units], firsts, hits.lengths, hits.strands, keys
    )
    columns = (hits.bulge_places, hits.bulge_sizes, hits.bulge_types, keys, hits.guide_ids)
    sorting = np.lexsort(columns)
    is_first = np.ones(len(hits), bool)
    is_first[1:] = np.any([c[sorting][1:] != c[sorting][:-1] for c in columns], axis=0)
    offsets = np.append(np.flatnonzero(is_first), len(hits)).astype(np.int64)
    lengths, strands = hits.lengths[sorting], hits.strands[sorting]
    members = SiteMembers(offsets, units[sorting], starts[sorting], lengths, strands)
    return PathOffTargets(graph, hits.take(sorting[is_first]), shared, members)


def _keep_best(found: PathOffTargets) -> PathOffTargets:
    """Keep the best of the alignments with the same path, strand and PAM."""
    hits, kept = found.hits, np.zeros(int(found.n_places.sum()), bool)
    differences = hits.mismatches.astype(np.int64) + hits.bulge_sizes
    ranks = (hits.bulge_places, hits.bulge_types, hits.bulge_sizes, differences)
    for numbers, places in found.iter_places(PLACES_AT_ONCE):
        sites = places.sites
        is_left = (places.strands > 0) == hits.is_pam_first
        pam_ends = np.where(is_left, places.starts, places.starts + hits.lengths[sites])
        locus = (pam_ends, places.strands, places.paths, hits.guide_ids[sites])
        order = np.lexsort((*(rank[sites] for rank in ranks), *locus))
        is_first = np.ones(len(sites), bool)
        is_first[1:] = np.any([c[order][1:] != c[order][:-1] for c in locus], axis=0)
        kept[numbers[order[is_first]]] = True
    found = replace(found, is_kept=kept)
    return found.take(found.n_places > 0)


def _sort_sites(found: PathOffTargets) -> PathOffTargets:
    """Sort sites by guide, then by the first place of each."""
    first = found.first_places()
    return found.take(np.lexsort((first.starts, first.paths, found.hits.guide_ids)))


@njit(nogil=True, cache=True)
def hash_sites(handles, node_lengths, steps, firsts, lengths, strands, keys):
    """Hash the beginning of each site and the handles that it reads, 5' to 3' of the guide.

    Among 10^7 different sites, the probability of any collision is 3e-6.

    Parameters
    ----------
    handles
        uint32: handles of the paths, in the order in which they are walked.
    node_lengths
        int64, bp.
    steps, firsts, lengths
        int64, shape (n,): first step, first base in it and bases of each site.
    strands
        int8, shape (n,): 1 where the guide reads along the walk, else -1.
    keys
        uint64, shape (n,): filled.
    """
    for row in range(len(steps)):
        step, inside, n_left = steps[row], firsts[row], lengths[row]
        forward = backward = np.uint64(0)
        power = np.uint64(1)
        n_over = inside + n_left
        while n_over > 0:
            handle = handles[step]
            length = node_lengths[handle >> 1]
            if length > 0:
                forward = forward * _MULTIPLIER + np.uint64(handle + 1)
                backward += power * np.uint64((handle ^ 1) + 1)
                power *= _MULTIPLIER
            n_over -= length
            step += 1
        # On the other strand, the site begins at the remaining bases of the last node.
        key, place = (forward, inside) if strands[row] > 0 else (backward, -n_over)
        key = (key ^ (key >> np.uint64(31))) * _MULTIPLIER + np.uint64(place)
        keys[row] = (key ^ (key >> np.uint64(29))) * _MULTIPLIER
