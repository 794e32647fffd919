"""Guides of several lengths: searched by length, with hits merged into one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.offtargets.differences import (
    KINDS,
    MismatchKinds,
    PamClasses,
    classify_pams,
    count_mismatch_kinds,
)
from genoviz.analyses.offtargets.summaries import GuideSummaries, summarise_guides
from genoviz.model.offtargets.hits import COLUMNS, AlignedLetters, OffTargetHits

SIGNS = np.array([0, 1, -1])
"""Change of a site's length per base of a bulge, by the values of `BulgeType`."""


@dataclass(frozen=True, eq=False)
class GuideGroup:
    """Guides of the same length.

    Attributes
    ----------
    guides, pattern
        Guides and pattern for the search, with N in place of the PAM.
    ids
        int64, shape (n,): their indices among all guides, ascending.
    """

    guides: tuple[str, ...]
    pattern: str
    ids: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class MixedHits(OffTargetHits):
    """Hits of guides of different lengths; ``pattern`` is that of the first group.

    Attributes
    ----------
    groups
        Guides by length.
    """

    groups: tuple[GuideGroup, ...]

    @classmethod
    def join(cls, groups: Sequence[GuideGroup], found: Sequence[OffTargetHits]) -> MixedHits:
        """Merge the hits of all groups, sorted by guide, contig and position."""
        columns = {name: np.concatenate([getattr(hits, name) for hits in found])
                   for name in COLUMNS}  # fmt: skip
        ids = [group.ids[hits.guide_ids] for group, hits in zip(groups, found, strict=True)]
        columns["guide_ids"] = np.concatenate(ids).astype(np.int32)
        order = np.argsort(columns["guide_ids"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        guides = [""] * sum(len(group.ids) for group in groups)
        for group in groups:
            for place, guide in zip(group.ids.tolist(), group.guides, strict=True):
                guides[place] = guide
        planes = found[0].planes
        return cls(tuple(guides), groups[0].pattern, planes, **columns, groups=tuple(groups))

    @cached_property
    def _owners(self) -> np.ndarray:
        """Group of each guide, and index in the group; int64, shape (2, n_guides)."""
        owners = np.zeros((2, len(self.guides)), np.int64)
        for number, group in enumerate(self.groups):
            owners[0, group.ids] = number
            owners[1, group.ids] = np.arange(len(group.ids))
        return owners

    @cached_property
    def lengths(self) -> np.ndarray:
        """Length of each site including the PAM; int64, shape (n,), bp."""
        of_guide = np.array([len(guide) for guide in self.guides], np.int64)
        return of_guide[self.guide_ids] + SIGNS[self.bulge_types] * self.bulge_sizes

    def iter_groups(self) -> Iterator[tuple[np.ndarray, OffTargetHits]]:
        """Yield rows of the hits of each length, int64, and these hits."""
        owners = self._owners[0][self.guide_ids]
        for number, group in enumerate(self.groups):
            rows = np.flatnonzero(owners == number)
            columns = {name: getattr(self, name)[rows] for name in COLUMNS}
            columns["guide_ids"] = self._owners[1][columns["guide_ids"]].astype(np.int32)
            yield rows, OffTargetHits(group.guides, group.pattern, self.planes, **columns)

    def aligned_letters(self, rows: np.ndarray | slice = slice(None)) -> AlignedLetters:
        """Return the bases of hits, 5' to 3' of the guide; call it on slices if there are many."""
        hits = self.take(rows)
        parts = [(at, part.aligned_letters()) for at, part in hits.iter_groups()]
        shape = len(hits), max(letters.guides.shape[1] for _, letters in parts)
        joined = AlignedLetters(
            np.zeros(shape, np.uint8), np.zeros(shape, np.uint8), np.zeros(len(hits), np.int64)
        )
        for at, letters in parts:
            width = letters.guides.shape[1]
            joined.guides[at, :width], joined.sites[at, :width] = letters.guides, letters.sites
            joined.lengths[at] = letters.lengths
        return joined


def for_each_hit(hits: OffTargetHits, find: Callable[[OffTargetHits], np.ndarray]) -> np.ndarray:
    """Compute a value of each hit by guide length, and merge the values."""
    if not isinstance(hits, MixedHits):
        return find(hits)
    parts = [(rows, find(part)) for rows, part in hits.iter_groups()]
    values = np.empty(len(hits), parts[0][1].dtype)
    for rows, part in parts:
        values[rows] = part
    return values


def pams_of(hits: OffTargetHits) -> PamClasses:
    """Return the PAM of each hit; see `classify_pams`."""
    if not isinstance(hits, MixedHits):
        return classify_pams(hits)
    parts = [(rows, classify_pams(part)) for rows, part in hits.iter_groups()]
    names = tuple(dict.fromkeys(name for _, part in parts for name in part.names))
    ids = np.empty(len(hits), np.uint8)
    for rows, part in parts:
        numbers = np.array([names.index(name) for name in part.names], np.uint8)
        ids[rows] = numbers[part.ids]
    return PamClasses(names, ids)


def mismatch_kinds_of(hits: OffTargetHits) -> MismatchKinds:
    """Return mismatches by type and position; different lengths are aligned at the PAM."""
    if not isinstance(hits, MixedHits):
        return count_mismatch_kinds(hits)
    parts = [count_mismatch_kinds(part) for _, part in hits.iter_groups()]
    width = max(part.counts.shape[1] for part in parts)
    counts = np.zeros((len(KINDS), width), np.int64)
    for part in parts:
        n = part.counts.shape[1]
        counts[:, slice(0, n) if hits.is_pam_first else slice(width - n, width)] += part.counts
    return MismatchKinds(counts, len(hits), sum(part.n_others for part in parts))


def summaries_of(hits: OffTargetHits, cfd: np.ndarray) -> GuideSummaries:
    """Return a summary of the hits of each guide; see `summarise_guides`."""
    if not isinstance(hits, MixedHits):
        return summarise_guides(hits, cfd=cfd)
    parts = [
        (group.ids, rows, summarise_guides(part, cfd=cfd[rows]))
        for group, (rows, part) in zip(hits.groups, hits.iter_groups(), strict=True)
    ]
    most = max(part.counts.shape[1] for _, _, part in parts)
    columns = {}
    for column in fields(GuideSummaries):
        if column.name in ("guides", "definition"):
            continue
        first = getattr(parts[0][2], column.name)
        shape = (len(hits.guides), most) if column.name == "counts" else len(hits.guides)
        values = columns[column.name] = np.zeros(shape, first.dtype)
        for ids, rows, part in parts:
            of_part = getattr(part, column.name)
            if column.name == "counts":
                values[ids, : of_part.shape[1]] = of_part
            elif column.name in ("on_targets", "worst_hits"):
                values[ids] = np.where(of_part >= 0, np.append(rows, 0)[of_part], -1)
            else:
                values[ids] = of_part
    return replace(parts[0][2], guides=hits.guides, **columns)
