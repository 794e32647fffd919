"""Summaries of the off-target hits of each guide."""

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
"""Definition of the specificities of `GuideSummaries`."""


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
        int64, shape (n_guides,): row of the intended target, or -1.
    cfd_specificity
        float64, shape (n_guides,), 0 to 1; NaN for guides without scores or hits.
    mit_specificity
        float64, shape (n_guides,), 0 to 100; NaN as above.
    worst_cfd
        float64, shape (n_guides,): highest CFD of all hits except the on-target, 0 if there are no
        others; NaN as above.
    worst_hits
        int64, shape (n_guides,): row of that hit, or -1.
    n_unscored
        int64, shape (n_guides,): hits without a CFD score.
    definition
        Definition of the specificities, to be shown with them.
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
        """Whether a guide has any hit; bool, (n_guides,)."""
        return self.counts.sum(axis=1) + self.n_bulged > 0

    @property
    def is_ambiguous(self) -> np.ndarray:
        """Whether a guide has several perfect sites; bool, (n_guides,)."""
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
        With one bulge placement per site, as `find_offtargets` returns them by default.
    on_targets
        Integers, shape (n_guides,): row of the intended target of each guide, or -1. None takes the
        perfect hit with the highest CFD score, the first of several.
    cfd, mit
        The scores of all hits, if already known.

    Raises
    ------
    ParameterError
        If an on-target is not a hit of its guide, or scores do not match the hits.
    """
    collector = SummaryCollector(hits.guides, hits.pattern)
    collector.add(hits, cfd=cfd, mit=mit, on_targets=on_targets)
    return collector.join()


class SummaryCollector:
    """Accumulates the summaries of guides over parts of hits, given in order."""

    def __init__(self, guides: tuple[str, ...], pattern: str) -> None:
        n = len(guides)
        self._guides, self._pattern, self._n_hits = guides, pattern, 0
        self._counts = np.zeros((n, 1), np.int64)
        self._n_bulged, self._n_perfect, self._n_unscored = np.zeros((3, n), np.int64)
        self._sums = np.zeros((2, n))
        # The on-target so far with its two scores, and the worst other hit.
        self._chosen, self._of_chosen = np.full(n, -1), np.zeros((2, n))
        self._worst_hits, self._worst = np.full(n, -1), np.full(n, -np.inf)

    def add(
        self,
        hits: OffTargetHits,
        *,
        cfd: np.ndarray | None = None,
        mit: np.ndarray | None = None,
        on_targets: np.ndarray | None = None,
    ) -> None:
        """Add the next hits; arguments are those of `summarise_guides` for this part.

        If on-targets are given, the on-target of a guide must be in one part only.
        """
        cfd = cfd_scores(hits) if cfd is None else cfd
        mit = mit_scores(hits) if mit is None else mit
        for name, scores in (("cfd", cfd), ("mit", mit)):
            if np.shape(scores) != (len(hits),):
                raise ParameterError(f"{name} has shape {np.shape(scores)}, needs ({len(hits)},)")
        n_guides, owners = len(self._guides), hits.guide_ids
        is_plain = hits.bulge_sizes == 0
        perfect = np.flatnonzero(is_plain & (hits.mismatches == 0))
        if on_targets is None:
            on_targets = first_best(perfect, owners, np.nan_to_num(cfd[perfect]), n_guides)
        on_targets = np.array(on_targets, np.int64)
        _check_on_targets(hits, on_targets)
        both = np.stack([np.nan_to_num(cfd), np.nan_to_num(mit)])
        named = np.flatnonzero(on_targets >= 0)
        is_better = self._chosen[named] < 0
        is_better |= both[0, on_targets[named]] > np.nan_to_num(self._of_chosen[0, named])
        named = named[is_better]
        self._displace(named[self._chosen[named] >= 0])
        rows = on_targets[named]
        self._chosen[named] = rows + self._n_hits
        self._of_chosen[:, named] = cfd[rows], mit[rows]
        counts_off = np.ones(len(hits), bool)
        counts_off[rows] = False
        for total, scores in zip(self._sums, both, strict=True):
            weights = np.where(counts_off, scores, 0)
            total += np.bincount(owners, weights=weights, minlength=n_guides)
        scored = np.flatnonzero(counts_off & ~np.isnan(cfd))
        worst = first_best(scored, owners, cfd[scored], n_guides)
        found = np.flatnonzero(worst >= 0)
        self._find_worst(found, cfd[worst[found]], worst[found] + self._n_hits)
        self._count(hits.take(is_plain).count_by_mismatches())
        self._n_bulged += np.bincount(owners[~is_plain], minlength=n_guides)
        self._n_perfect += np.bincount(owners[perfect], minlength=n_guides)
        self._n_unscored += np.bincount(owners[np.isnan(cfd)], minlength=n_guides)
        self._n_hits += len(hits)

    def _displace(self, guides: np.ndarray) -> None:
        """Count former on-targets among the other hits."""
        self._sums[:, guides] += np.nan_to_num(self._of_chosen[:, guides])
        guides = guides[~np.isnan(self._of_chosen[0, guides])]
        self._find_worst(guides, self._of_chosen[0, guides], self._chosen[guides])

    def _find_worst(self, guides: np.ndarray, cfd: np.ndarray, rows: np.ndarray) -> None:
        """Update the worst hits with one hit per guide; ties keep the earlier one."""
        before = self._worst[guides]
        is_worse = (cfd > before) | ((cfd == before) & (rows < self._worst_hits[guides]))
        guides = guides[is_worse]
        self._worst[guides], self._worst_hits[guides] = cfd[is_worse], rows[is_worse]

    def _count(self, counts: np.ndarray) -> None:
        n_more = counts.shape[1] - self._counts.shape[1]
        if n_more > 0:
            self._counts = np.pad(self._counts, ((0, 0), (0, n_more)))
        self._counts[:, : counts.shape[1]] += counts

    def join(self) -> GuideSummaries:
        """Return the summaries; row numbers refer to all parts together."""
        is_found = self._counts.sum(axis=1) + self._n_bulged > 0
        may_score = is_found & has_scored_letters(self._guides, self._pattern)
        cfd, mit = self._sums
        worst = np.where(self._worst_hits >= 0, self._worst, 0)
        return GuideSummaries(
            self._guides,
            self._counts,
            self._n_bulged,
            self._n_perfect,
            self._chosen,
            np.where(may_score, 1 / (1 + cfd), np.nan),
            np.where(may_score, 1e4 / (100 + mit), np.nan),
            np.where(may_score, worst, np.nan),
            self._worst_hits,
            self._n_unscored,
        )


def find_scored_guides(hits: OffTargetHits) -> np.ndarray:
    """Return which guides have a hit and can be scored; bool, (n_guides,)."""
    is_found = np.bincount(hits.guide_ids, minlength=len(hits.guides)) > 0
    return is_found & has_scored_letters(hits.guides, hits.pattern)


def has_scored_letters(guides: tuple[str, ...], pattern: str) -> np.ndarray:
    """Return which guides can be scored; bool, (n_guides,)."""
    is_plain = np.array([{*guide[:LENGTH]} <= {*"ACGT"} for guide in guides], bool)
    return is_plain & has_scores(pattern)


def first_best(
    rows: np.ndarray, owners: np.ndarray, scores: np.ndarray, n_guides: int
) -> np.ndarray:
    """Return the row with the highest score of each guide, the first of several; -1 if none."""
    best = np.full(n_guides, -np.inf)
    np.maximum.at(best, owners[rows], scores)
    rows = rows[scores == best[owners[rows]]][::-1]
    chosen = np.full(n_guides, -1, np.int64)
    # For repeated indices, NumPy keeps the last assignment.
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
