"""What the off-target hits of each guide amount to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.scores import LENGTH, cfd_scores, has_scores, mit_scores
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import OffTargetHits

DEFINITION = (
    "CFD specificity is 1 / (1 + sum of CFD), MIT specificity 10,000 / (100 + sum of MIT scores); "
    "the sums are over every hit but the chosen on-target, so further perfect copies count in "
    "full. Hits without a score (letters other than A, C, G, T; for MIT also bulges) are left out. "
    "A guide without any hit is not found in the genome and has no specificity."
)
"""What the specificities of `GuideSummaries` are."""


@dataclass(frozen=True, eq=False)
class GuideSummaries:
    """One value for each guide; the arrays are in the order of ``guides``.

    Attributes
    ----------
    guides
        The guides.
    counts
        int64, shape (n_guides, maximum + 1): hits without a bulge, by mismatches.
    n_bulged
        int64, shape (n_guides,): hits with a bulge.
    n_perfect
        int64, shape (n_guides,): hits without mismatch or bulge, the on-target among them.
    on_targets
        int64, shape (n_guides,): row of the hit that is meant to be cut, or -1.
    cfd_specificity
        float64, shape (n_guides,), 0 to 1; NaN for guides that have no score, or no hit.
    mit_specificity
        float64, shape (n_guides,), 0 to 100; NaN as above.
    worst_cfd
        float64, shape (n_guides,): the highest of all hits but the on-target, 0 where that is the
        only one; NaN as above.
    worst_hits
        int64, shape (n_guides,): row of that hit, or -1.
    n_unscored
        int64, shape (n_guides,): hits that have no CFD score.
    definition
        How the specificities are defined, to be shown with them.
    """

    guides: tuple[str, ...]
    counts: np.ndarray
    n_bulged: np.ndarray
    n_perfect: np.ndarray
    on_targets: np.ndarray
    cfd_specificity: np.ndarray
    mit_specificity: np.ndarray
    worst_cfd: np.ndarray
    worst_hits: np.ndarray
    n_unscored: np.ndarray
    definition: str = DEFINITION

    @property
    def is_found(self) -> np.ndarray:
        """Whether a guide has a hit at all; bool, (n_guides,)."""
        return self.counts.sum(axis=1) + self.n_bulged > 0

    @property
    def is_ambiguous(self) -> np.ndarray:
        """Whether a guide has several perfect copies, so no one target; bool, (n_guides,)."""
        return self.n_perfect > 1


def summarise_guides(
    hits: OffTargetHits,
    *,
    on_targets: np.ndarray | None = None,
    cfd: np.ndarray | None = None,
    mit: np.ndarray | None = None,
) -> GuideSummaries:
    """Return counts and specificities of guides.

    Parameters
    ----------
    hits
        With one placement of a bulge each, as `find_offtargets` returns them by default.
    on_targets
        Integers, shape (n_guides,): row of the hit of each guide that is meant to be cut, or -1.
        None takes the perfect copy with the highest CFD score, the first of several.
    cfd, mit
        The scores of all hits where they are known already.

    Raises
    ------
    ParameterError
        If an on-target is not a hit of its guide, or scores do not fit the hits.
    """
    cfd = cfd_scores(hits) if cfd is None else cfd
    mit = mit_scores(hits) if mit is None else mit
    for name, scores in (("cfd", cfd), ("mit", mit)):
        if np.shape(scores) != (len(hits),):
            raise ParameterError(f"{name} has shape {np.shape(scores)}, needs ({len(hits)},)")
    n_guides, owners = len(hits.guides), hits.guide_ids
    is_plain = hits.bulge_sizes == 0
    perfect = np.flatnonzero(is_plain & (hits.mismatches == 0))
    if on_targets is None:
        on_targets = first_best(perfect, owners, np.nan_to_num(cfd[perfect]), n_guides)
    on_targets = np.array(on_targets, np.int64)
    _check_on_targets(hits, on_targets)
    counts_off = np.ones(len(hits), bool)
    counts_off[on_targets[on_targets >= 0]] = False
    off_cfd, off_mit = (np.where(counts_off, np.nan_to_num(scores), 0) for scores in (cfd, mit))
    scored = np.flatnonzero(counts_off & ~np.isnan(cfd))
    worst_hits = first_best(scored, owners, cfd[scored], n_guides)
    worst = np.zeros(n_guides)
    worst[worst_hits >= 0] = cfd[worst_hits[worst_hits >= 0]]
    may_score = find_scored_guides(hits)
    sum_cfd, sum_mit = (
        np.bincount(owners, weights=scores, minlength=n_guides) for scores in (off_cfd, off_mit)
    )
    return GuideSummaries(
        hits.guides,
        hits.take(is_plain).count_by_mismatches(),
        np.bincount(owners[~is_plain], minlength=n_guides),
        np.bincount(owners[perfect], minlength=n_guides),
        on_targets,
        np.where(may_score, 1 / (1 + sum_cfd), np.nan),
        np.where(may_score, 1e4 / (100 + sum_mit), np.nan),
        np.where(may_score, worst, np.nan),
        worst_hits,
        np.bincount(owners[np.isnan(cfd)], minlength=n_guides),
    )


def find_scored_guides(hits: OffTargetHits) -> np.ndarray:
    """Return which guides have a hit, and are of those that scores are for; bool, (n_guides,)."""
    is_plain = np.array([{*guide[:LENGTH]} <= {*"ACGT"} for guide in hits.guides], bool)
    is_found = np.bincount(hits.guide_ids, minlength=len(hits.guides)) > 0
    return is_found & is_plain & has_scores(hits.pattern)


def first_best(
    rows: np.ndarray, owners: np.ndarray, scores: np.ndarray, n_guides: int
) -> np.ndarray:
    """Return each guide's row with the highest score, the first of several; -1 without rows."""
    best = np.full(n_guides, -np.inf)
    np.maximum.at(best, owners[rows], scores)
    rows = rows[scores == best[owners[rows]]][::-1]
    chosen = np.full(n_guides, -1, np.int64)
    # Of several values for one place NumPy keeps the last.
    chosen[owners[rows]] = rows
    return chosen


def _check_on_targets(hits: OffTargetHits, on_targets: np.ndarray) -> None:
    if on_targets.shape != (len(hits.guides),):
        raise ParameterError(
            f"on_targets has shape {on_targets.shape}, needs ({len(hits.guides)},)"
        )
    for guide, row in enumerate(on_targets.tolist()):
        if row >= len(hits) or row < -1 or (row >= 0 and hits.guide_ids[row] != guide):
            raise ParameterError(
                f"on-target {row:,} of guide {hits.guides[guide]!r} is not a row of its hits"
            )
