"""Worst off-targets of guides in any haplotype, compared with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.reference import ReferenceSites
from genoviz.analyses.offtargets.scores import cfd_scores, mit_scores
from genoviz.analyses.offtargets.summaries import find_scored_guides, first_best
from genoviz.model.columns import distinct

DEFINITION = (
    "Risk is the highest CFD of a site in any haplotype, less the highest of those that the "
    "reference has; the on-target and its alleles are left out of both. A haplotype that has these "
    "more than once is cut there too: all but the best of its copies count."
)
GROUP = "haplotype"
_SUMS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class HaplotypeRisks:
    """One value for each guide; arrays of shape (n_guides,).

    Attributes
    ----------
    on_targets
        int64: row of the perfect site that is the intended target, the reference's if it has one;
        -1 if there is none.
    worst_cfd, reference_cfd
        float64: highest CFD score of other sites in any haplotype, and in the reference; 0 if there
        are none. NaN for a guide without scores or without a site on any path; the second is also
        NaN without a reference.
    worst_sites, reference_sites
        int64: rows of these sites, or -1. A haplotype with several copies of the on-target or of an
        allele of it can make that site the worst.
    definition
        Definition of the risk, to be shown with it.
    """

    on_targets: np.ndarray
    worst_cfd: np.ndarray
    worst_sites: np.ndarray
    reference_cfd: np.ndarray
    reference_sites: np.ndarray
    definition: str = DEFINITION

    @property
    def risks(self) -> np.ndarray:
        """Excess of the worst haplotype over the reference; float64, 0 to 1, or NaN."""
        return self.worst_cfd - self.reference_cfd


class HaplotypeSpecificities(NamedTuple):
    """Lowest specificity of guides over haplotypes; arrays of shape (n_guides,).

    Attributes
    ----------
    cfd, mit
        float64: 0 to 1, and 0 to 100; NaN for guides without scores or sites.
    """

    cfd: np.ndarray
    mit: np.ndarray


def haplotype_risks(
    found: PathOffTargets,
    reference: ReferenceSites | None,
    *,
    cfd: np.ndarray | None = None,
    on_targets: np.ndarray | None = None,
) -> HaplotypeRisks:
    """Return the worst site of each guide in any haplotype and in the reference.

    Sites at the on-target's position on the reference are alleles of it and do not count. If one
    haplotype has several copies of these, on the same nodes or not, only the best is ignored.

    Parameters
    ----------
    found
        Result of `find_offtargets_on_graph`.
    reference
        Result of `compare_with_reference` for it. None if there is no reference; alleles of the
        on-target then count like other sites.
    cfd
        `cfd_scores` of ``found.hits``, if already known.
    on_targets
        Integers, shape (n_guides,): row of the intended target of each guide, or -1. None takes the
        perfect site with the highest CFD, preferably one of the reference.
    """
    hits = found.hits
    cfd = cfd_scores(hits) if cfd is None else cfd
    n_guides, owners = len(hits.guides), hits.guide_ids
    is_there = np.zeros(len(hits), bool) if reference is None else reference.is_present
    if on_targets is None:
        perfect = np.flatnonzero((hits.mismatches == 0) & (hits.bulge_sizes == 0))
        # CFD scores are at most 1, so sites of the reference come first.
        preference = np.nan_to_num(cfd[perfect]) + 2 * is_there[perfect]
        on_targets = first_best(perfect, owners, preference, n_guides)
    is_target = _find_targets(found, reference, on_targets)
    again, again_there = _find_copies(found, reference, np.flatnonzero(is_target), cfd)
    is_scored = find_scored_guides(hits)
    counts = ~is_target & ~np.isnan(cfd)
    best = []
    for rows, is_known in (
        (np.append(np.flatnonzero(counts), again), is_scored),
        (
            np.append(np.flatnonzero(counts & is_there), again_there),
            is_scored & (reference is not None),
        ),
    ):
        sites = first_best(rows, owners, cfd[rows], n_guides)
        scores = np.where(is_known, 0.0, np.nan)
        scores[sites >= 0] = cfd[sites[sites >= 0]]
        best += [scores, sites]
    return HaplotypeRisks(on_targets, *best)


def haplotype_specificities(
    found: PathOffTargets,
    reference: ReferenceSites | None,
    on_targets: np.ndarray,
    *,
    without: Sequence[int] | np.ndarray = (),
) -> HaplotypeSpecificities:
    """Return the specificity of each guide in the haplotype where it is lowest.

    It is defined as in `GuideSummaries`, over the places of one haplotype. All places count except
    the best one of the on-target and its alleles.

    Parameters
    ----------
    found, reference
        As for `haplotype_risks`.
    on_targets
        ``on_targets`` of the result of `haplotype_risks`.
    without
        Paths to ignore, such as parts of haplotypes.
    """
    hits, groups = found.hits, found.groups(GROUP)
    n_guides, n_groups = len(hits.guides), len(groups.names)
    scores = np.nan_to_num([cfd_scores(hits), mit_scores(hits)])
    counts = np.ones(found.graph.n_paths)
    counts[np.asarray(without, np.int64)] = 0
    is_target = _find_targets(found, reference, on_targets)
    highest = np.zeros((2, n_guides))
    step = max(1, _SUMS_AT_ONCE // max(n_groups, 1))
    bounds = np.searchsorted(hits.guide_ids, np.arange(n_guides + 1))
    for first in range(0, n_guides, step):
        stop = min(first + step, n_guides)
        rows = np.arange(bounds[first], bounds[stop])
        sums, best = np.zeros((2, 2, (stop - first) * n_groups))
        for part in found.iter_batches(rows):
            places = found.places(rows[part])
            keys = (hits.guide_ids[places.sites].astype(np.int64) - first) * n_groups
            keys += groups.of_path[places.paths]
            of_target = np.flatnonzero(is_target[places.sites])
            for kind, values in enumerate(scores):
                values = values[places.sites] * counts[places.paths]
                sums[kind] += np.bincount(keys, values, sums.shape[1])
                np.maximum.at(best[kind], keys[of_target], values[of_target])
        others = np.maximum(sums - best, 0).reshape(2, stop - first, n_groups)
        highest[:, first:stop] = others.max(axis=2, initial=0)
    is_scored = find_scored_guides(hits)
    return HaplotypeSpecificities(
        np.where(is_scored, 1 / (1 + highest[0]), np.nan),
        np.where(is_scored, 1e4 / (100 + highest[1]), np.nan),
    )


def find_alleles(reference: ReferenceSites, targets: np.ndarray) -> np.ndarray:
    """Return which sites are alleles of given rows, one for each; bool, (n,)."""
    is_there = (targets >= 0) & (reference.site_paths >= 0)
    for column in (reference.site_paths, reference.pam_ends, reference.strands):
        is_there &= column == column[targets]
    return is_there


def _find_targets(
    found: PathOffTargets, reference: ReferenceSites | None, on_targets: np.ndarray
) -> np.ndarray:
    """Return which sites are on-targets or alleles of them; bool, shape (n_sites,)."""
    is_target = np.zeros(len(found), bool)
    is_target[on_targets[on_targets >= 0]] = True
    if reference is not None and len(found):
        is_target |= find_alleles(reference, on_targets[found.hits.guide_ids])
    return is_target


def _find_copies(
    found: PathOffTargets, reference: ReferenceSites | None, rows: np.ndarray, cfd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sites that a haplotype has beside a better or equal on-target or allele.

    Parameters
    ----------
    rows
        Sites that are on-targets or alleles, ascending.

    Returns
    -------
    copies, reference_copies
        int64: sites over all haplotypes, and over those of the reference.
    """
    groups, copies = found.groups(GROUP), [[np.empty(0, np.int64)] for _ in range(2)]
    rows = rows[~np.isnan(cfd[rows])]
    owners = found.hits.guide_ids[rows]
    step = max(1, _SUMS_AT_ONCE // max(found.graph.n_paths, 1))
    first = 0
    while first < len(rows):
        # A step includes all sites of a guide.
        stop = int(np.searchsorted(owners, owners[min(first + step, len(rows)) - 1], "right"))
        places = found.places(rows[first:stop])
        is_of_reference = np.zeros(len(places), bool)
        if reference is not None:
            is_of_reference = np.isin(places.paths, reference.paths)
        for kind, taken in enumerate((slice(None), is_of_reference)):
            sites, of = places.sites[taken], groups.of_path[places.paths[taken]]
            order = np.lexsort([-cfd[sites], of, found.hits.guide_ids[sites]])
            sites, of = sites[order], of[order]
            of_guide = found.hits.guide_ids[sites]
            is_next = (of[1:] == of[:-1]) & (of_guide[1:] == of_guide[:-1])
            copies[kind].append(distinct(sites[1:][is_next]))
        first = stop
    return np.concatenate(copies[0]), np.concatenate(copies[1])
