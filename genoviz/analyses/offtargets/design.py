"""Design of guides for a region, ranked by their worst off-target in any haplotype of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.analyses.offtargets.candidates import GuideCandidates
from genoviz.analyses.offtargets.carriers import count_haplotypes
from genoviz.analyses.offtargets.finding import guide_with_pam
from genoviz.analyses.offtargets.guide_properties import rule_set_1_scores
from genoviz.analyses.offtargets.haplotype_risks import (
    GROUP,
    find_alleles,
    haplotype_risks,
    haplotype_specificities,
)
from genoviz.analyses.offtargets.pangenome import iter_spooled_on_graph
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.pieces import iter_spooled
from genoviz.analyses.offtargets.reference import (
    ReferenceSites,
    ReferenceVisits,
    compare_with_reference,
    find_reference_paths,
)
from genoviz.analyses.offtargets.request import SearchOptions, make_request
from genoviz.analyses.offtargets.scores import has_scores
from genoviz.analyses.offtargets.summaries import SummaryCollector
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import last_of
from genoviz.model import PangenomeGraph
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.sequences.sequences import Sequences


@dataclass(frozen=True, eq=False)
class GuideDesign:
    """Off-target profile of the guides of a region; arrays of shape (n_guides,) unless stated.

    Attributes
    ----------
    candidates
        The guides.
    order
        int64: rows of the candidates, best first: by most haplotypes with the target, then lowest
        `worst_cfd`, then fewest sites with 0, 1, 2 ... mismatches, then highest efficiency.
    counts
        int64, shape (n_guides, max_mismatches + 1): off-target sites by mismatches. On a graph,
        sites that differ between haplotypes count separately, including alleles of the target.
        Copies on the same nodes are one site, however often a haplotype visits them.
    worst_cfd
        float64: highest CFD of a site other than the target (and, on a graph, its alleles) in any
        haplotype. A second copy of the target in a haplotype counts as an off-target. 0 for guides
        without such a site, NaN for guides without scores.
    reference_worst_cfd
        float64: the same for sites of the reference; NaN for a genome.
    cfd_specificity
        float64: see `GuideSummaries`; on a graph, the lowest over haplotypes.
    n_haplotypes
        int64: on a graph, haplotypes whose target matches the guide exactly; -1 for a genome, and
        if the target is not in the graph.
    of_haplotypes
        Number of haplotypes that have the chromosome of the targets; 0 for a genome.
    efficiency
        float64: `rule_set_1_scores` for guides with PAM NGG; NaN for others.
    """

    candidates: GuideCandidates
    order: np.ndarray
    counts: np.ndarray
    worst_cfd: np.ndarray
    reference_worst_cfd: np.ndarray
    cfd_specificity: np.ndarray
    n_haplotypes: np.ndarray
    of_haplotypes: int
    efficiency: np.ndarray


def design_guides(
    candidates: GuideCandidates,
    genome: Sequences | GenomePlanes | PangenomeGraph,
    *,
    contig: str | None,
    max_mismatches: int = 3,
    reference: str | None = None,
    backend: Backend = "auto",
) -> GuideDesign:
    """Return the off-targets of a region's guides in a genome, or in all haplotypes of a graph.

    Parameters
    ----------
    candidates
        Result of `find_guides`.
    genome
        Where to search: a genome, or a graph with sequences.
    contig
        Contig of the genome, or path of the graph, from which the candidates were taken. None if
        they come from another sequence, such as a transgene; every site is then an off-target.
    max_mismatches
        Maximum number of mismatches of counted sites.
    reference
        For a graph: path or sample to compare sites with; by default the contig.

    Raises
    ------
    ParameterError
        As `find_offtargets`; if the genome has no such contig or the candidates do not match it; or
        if a graph is given with neither contig nor reference.
    """
    padded = [
        guide_with_pam(word, candidates.pam, is_pam_first=candidates.is_pam_first)
        for word in candidates.guides
    ]
    guides = [guide for guide, _ in padded]
    pattern = padded[0][1] if padded else "N" + candidates.pam
    options = SearchOptions(max_mismatches=max_mismatches, backend=backend)
    if isinstance(genome, PangenomeGraph):
        found = _search_graph(candidates, genome, guides, pattern, options, contig, reference)
    else:
        found = _search_genome(candidates, genome, guides, pattern, options, contig)
    worst, specificity, counts = found.worst_cfd, found.cfd_specificity, found.counts
    if has_scores(pattern):
        # Letters without any occurrence have no effect.
        is_lost = counts.sum(axis=1) == 0
        worst, specificity = np.where(is_lost, 0.0, worst), np.where(is_lost, 1.0, specificity)
    counts[:, 0] -= contig is not None
    efficiency = np.full(len(candidates), np.nan)
    if candidates.pam == "NGG":
        efficiency = rule_set_1_scores(candidates.contexts)
    keys = (-np.nan_to_num(efficiency), *counts.T[::-1], np.nan_to_num(worst), -found.n_haplotypes)
    return GuideDesign(
        candidates, np.lexsort(keys), counts, worst, found.reference_worst_cfd, specificity,
        found.n_haplotypes, found.of_haplotypes, efficiency,
    )  # fmt: skip


@dataclass(eq=False)
class _Profile:
    """What the hits of guides amount to, as in `GuideDesign`; counts include the targets."""

    counts: np.ndarray
    worst_cfd: np.ndarray
    reference_worst_cfd: np.ndarray
    cfd_specificity: np.ndarray
    n_haplotypes: np.ndarray
    of_haplotypes: int = 0

    @classmethod
    def empty(cls, n_guides: int, max_mismatches: int) -> _Profile:
        """Return a profile to be filled."""
        counts = np.zeros((n_guides, max_mismatches + 1), np.int64)
        return cls(counts, *np.full((3, n_guides), np.nan), np.full(n_guides, -1, np.int64))


def _search_genome(
    candidates: GuideCandidates,
    genome: Sequences | GenomePlanes,
    guides: list[str],
    pattern: str,
    options: SearchOptions,
    contig: str | None,
) -> _Profile:
    """Return the profile of guides in a genome; hits are read from a file, part by part."""
    request = make_request(guides, genome, pattern, options)
    names = request.planes.names
    if contig is not None and contig not in names:
        raise ParameterError(f"no contig is named {contig!r}")
    number = -1 if contig is None else names.index(contig)
    progress = last_of(iter_spooled(request))
    sums, found = SummaryCollector(request.guides, pattern), np.zeros(len(guides), bool)
    for hits in progress.spool.iter_parts():
        owners, targets = hits.guide_ids, np.full(len(guides), -1, np.int64)
        is_there = (hits.contig_ids == number) & (hits.starts == candidates.starts[owners])
        is_there &= (hits.mismatches == 0) & (hits.strands == candidates.strands[owners])
        rows = np.flatnonzero(is_there)
        targets[owners[rows]] = rows
        found |= targets >= 0
        sums.add(hits, on_targets=targets)
    _check_found(candidates.guides, found, contig)
    summary, profile = sums.join(), _Profile.empty(len(guides), options.max_mismatches)
    profile.counts[:] = progress.spool.counts
    profile.worst_cfd[:], profile.cfd_specificity[:] = summary.worst_cfd, summary.cfd_specificity
    return profile


def _search_graph(
    candidates: GuideCandidates,
    graph: PangenomeGraph,
    guides: list[str],
    pattern: str,
    options: SearchOptions,
    contig: str | None,
    reference: str | None,
) -> _Profile:
    """Return the profile of guides on all paths of a graph, for some guides at a time."""
    reference = reference or contig
    if reference is None:
        raise ParameterError("a graph needs the path or sample that sites are compared with")
    visits = ReferenceVisits.of(graph, find_reference_paths(graph, reference))
    path = None if contig is None else graph.find_path(contig)
    profile = _Profile.empty(len(guides), options.max_mismatches)
    profile.of_haplotypes = 0 if path is not None else len(group_paths(graph, GROUP).names)
    for first, found in last_of(
        iter_spooled_on_graph(graph, guides, pattern, options)
    ).iter_guides():
        some = slice(first, first + len(found.hits.guides))
        compared = compare_with_reference(found, reference, visits=visits)
        targets = np.full(len(found.hits.guides), -1, np.int64)
        if path is not None:
            places = candidates.starts[some], candidates.strands[some]
            targets = _find_on_path(found, path, *places)
            _check_found(candidates.guides[some], targets >= 0, contig)
            n_all = int(count_haplotypes(found)[targets].max(initial=0))
            profile.of_haplotypes = max(profile.of_haplotypes, n_all)
            profile.n_haplotypes[some] = _count_haplotypes(found, compared, targets)
        risks = haplotype_risks(found, compared, on_targets=targets)
        profile.worst_cfd[some] = risks.worst_cfd
        profile.reference_worst_cfd[some] = risks.reference_cfd
        profile.cfd_specificity[some] = haplotype_specificities(found, compared, targets).cfd
        counts = found.hits.count_by_mismatches()
        profile.counts[some, : counts.shape[1]] = counts
    return profile


def _find_on_path(
    found: PathOffTargets, path: int, starts: np.ndarray, strands: np.ndarray
) -> np.ndarray:
    """Return the site of each guide at its place on a path; int64, -1 where there is none."""
    targets, owners = np.full(len(starts), -1, np.int64), found.hits.guide_ids
    perfect = np.flatnonzero(found.hits.mismatches == 0)
    for part in found.iter_batches(perfect):
        places = found.places(perfect[part])
        of = owners[places.sites]
        is_there = (places.paths == path) & (places.starts == starts[of])
        is_there &= places.strands == strands[of]
        targets[of[is_there]] = places.sites[is_there]
    return targets


def _check_found(guides: Sequence[str], is_found: np.ndarray, contig: str | None) -> None:
    """Raise an error if a guide does not stand where it was taken from."""
    if contig is not None and not is_found.all():
        guide = guides[int(np.flatnonzero(~is_found)[0])]
        raise ParameterError(f"guide {guide} does not stand at its place on {contig}")


def _count_haplotypes(
    found: PathOffTargets, reference: ReferenceSites, targets: np.ndarray
) -> np.ndarray:
    """Return how many haplotypes match each guide exactly at its target or an allele of it."""
    owners = found.hits.guide_ids
    is_target = find_alleles(reference, targets[owners]) | (
        targets[owners] == np.arange(len(owners))
    )
    rows = np.flatnonzero(is_target & (found.hits.mismatches == 0))
    presence = np.zeros((len(targets), len(found.groups(GROUP).names)), bool)
    for part in found.iter_batches(rows):
        some = found.presence(rows[part], by=GROUP)
        np.logical_or.at(presence, owners[rows[part]], some)
    return presence.sum(axis=1)
