"""The worst off-target of each guide in any haplotype, beside the worst in the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.reference import ReferenceSites
from genoviz.analyses.offtargets.scores import cfd_scores
from genoviz.analyses.offtargets.summaries import first_best

DEFINITION = (
    "Risk is the highest CFD of a site in any haplotype, less the highest of those that the "
    "reference has; the on-target and its alleles are left out of both."
)


@dataclass(frozen=True, eq=False)
class HaplotypeRisks:
    """One value for each guide; arrays of shape (n_guides,).

    Attributes
    ----------
    on_targets
        int64: row of the perfect copy that is meant to be cut, the reference's if it has one; -1
        without any.
    worst_cfd, reference_cfd
        float64: the highest CFD score of other sites in any haplotype, and of those that the
        reference has; 0 without any, and NaN of a guide that no path has a site of.
    worst_sites, reference_sites
        int64: rows of these sites, or -1.
    definition
        What a risk is, to be shown with it.
    """

    on_targets: np.ndarray
    worst_cfd: np.ndarray
    worst_sites: np.ndarray
    reference_cfd: np.ndarray
    reference_sites: np.ndarray
    definition: str = DEFINITION

    @property
    def risks(self) -> np.ndarray:
        """How much worse any haplotype is than the reference; float64, 0 to 1, or NaN."""
        return self.worst_cfd - self.reference_cfd


def haplotype_risks(
    found: PathOffTargets, reference: ReferenceSites, *, cfd: np.ndarray | None = None
) -> HaplotypeRisks:
    """Return the worst site of each guide in any haplotype and in the reference.

    Sites at the on-target's place on the reference are alleles of it and left out.

    Parameters
    ----------
    found
        What `find_offtargets_on_graph` returns.
    reference
        What `compare_with_reference` returns for it.
    cfd
        `cfd_scores` of ``found.hits`` where they are known already.
    """
    hits = found.hits
    cfd = cfd_scores(hits) if cfd is None else cfd
    n_guides, owners = len(hits.guides), hits.guide_ids
    perfect = np.flatnonzero((hits.mismatches == 0) & (hits.bulge_sizes == 0))
    # No CFD score is above 1.
    preference = np.nan_to_num(cfd[perfect]) + 2 * reference.is_present[perfect]
    on_targets = first_best(perfect, owners, preference, n_guides)
    counts = ~np.isnan(cfd)
    counts[on_targets[on_targets >= 0]] = False
    counts &= ~find_alleles(reference, on_targets[owners])
    is_found = np.bincount(owners, minlength=n_guides) > 0
    best = []
    for rows in (np.flatnonzero(counts), np.flatnonzero(counts & reference.is_present)):
        sites = first_best(rows, owners, cfd[rows], n_guides)
        scores = np.where(is_found, 0.0, np.nan)
        scores[sites >= 0] = cfd[sites[sites >= 0]]
        best += [scores, sites]
    return HaplotypeRisks(on_targets, *best)


def find_alleles(reference: ReferenceSites, targets: np.ndarray) -> np.ndarray:
    """Return which sites are at the reference's place of some rows, one for each; bool, (n,)."""
    is_there = (targets >= 0) & (reference.site_paths >= 0)
    for column in (reference.site_paths, reference.pam_ends, reference.strands):
        is_there &= column == column[targets]
    return is_there
