"""Guides of several lengths: searched by length, with hits merged into one list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.offtargets.differences import (
    KINDS,
    OTHER_PAM,
    MismatchKinds,
    PamClasses,
    classify_pams,
    count_mismatch_kinds,
)
from genoviz.analyses.offtargets.summaries import GuideSummaries, SummaryCollector
from genoviz.model.columns import (
    ROWS_AT_ONCE,
    column_on_disk,
    fill_column,
    is_on_disk,
    iter_row_slices,
)
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
        edges = [
            np.searchsorted(hits.guide_ids, np.arange(len(group.ids) + 1))
            for group, hits in zip(groups, found, strict=True)
        ]
        counts = np.zeros(sum(len(group.ids) for group in groups), np.int64)
        for group, of_group in zip(groups, edges, strict=True):
            counts[group.ids] = np.diff(of_group)
        firsts, n = np.cumsum(counts) - counts, int(counts.sum())
        columns = {name: column_on_disk(n, getattr(found[0], name).dtype) for name in COLUMNS}
        for group, of_group, hits in zip(groups, edges, found, strict=True):
            shifts = firsts[group.ids] - of_group[:-1]
            for part in iter_row_slices(len(hits)):
                guide_ids = hits.guide_ids[part]
                rows = np.arange(part.start, part.stop) + shifts[guide_ids]
                for name, column in columns.items():
                    values = getattr(hits, name)[part]
                    column[rows] = group.ids[guide_ids] if name == "guide_ids" else values
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
    if len(hits) <= ROWS_AT_ONCE:
        return _for_each_hit(hits, find)
    return fill_column(
        len(hits), find(hits.take(slice(0))).dtype,
        lambda part: _for_each_hit(hits.take(part), find), on_disk=is_on_disk(hits.positions),
    )  # fmt: skip


def _for_each_hit(hits: OffTargetHits, find: Callable[[OffTargetHits], np.ndarray]) -> np.ndarray:
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
    counts: Counter[str] = Counter()
    for _, part in parts:
        counts.update(dict(zip(part.names, part.count().tolist(), strict=True)))
    names = sorted(counts, key=lambda name: (name == OTHER_PAM, -counts[name]))
    ids = np.empty(len(hits), np.min_scalar_type(len(names)))
    for rows, part in parts:
        numbers = np.array([names.index(name) for name in part.names], ids.dtype)
        ids[rows] = numbers[part.ids]
    return PamClasses(tuple(names), ids)


def mismatch_kinds_of(hits: OffTargetHits, rows: np.ndarray | None = None) -> MismatchKinds:
    """Return mismatches by type and position, of all hits or some rows.

    Guides of different lengths are aligned at the PAM.
    """
    n = len(hits) if rows is None else len(rows)
    found = [_mismatch_kinds(hits.take(slice(0)))]
    for part in iter_row_slices(n):
        found.append(_mismatch_kinds(hits.take(part if rows is None else np.sort(rows[part]))))
    n_others = sum(each.n_others for each in found)
    return MismatchKinds(sum(each.counts for each in found), n, n_others)


def _mismatch_kinds(hits: OffTargetHits) -> MismatchKinds:
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
    is_mixed = isinstance(hits, MixedHits)
    all_ids = np.arange(len(hits.guides))
    groups = hits.groups if is_mixed else (GuideGroup(hits.guides, hits.pattern, all_ids),)
    collectors = [SummaryCollector(group.guides, group.pattern) for group in groups]
    for part in iter_row_slices(len(hits)):
        some = hits.take(part)
        of_groups = some.iter_groups() if is_mixed else [(slice(None), some)]
        for collector, (rows, of_group) in zip(collectors, of_groups, strict=True):
            collector.add(of_group, cfd=cfd[part][rows])
    found = [collector.join() for collector in collectors]
    return _join_summaries(hits.guides, groups, found) if is_mixed else found[0]


def _join_summaries(
    guides: tuple[str, ...], groups: Sequence[GuideGroup], found: Sequence[GuideSummaries]
) -> GuideSummaries:
    """Merge the summaries of groups; rows become those among the hits of all guides."""
    n_hits = np.zeros(len(guides), np.int64)
    shifts = np.zeros(len(guides), np.int64)
    for group, part in zip(groups, found, strict=True):
        n_hits[group.ids] = part.counts.sum(axis=1) + part.n_bulged
        shifts[group.ids] -= np.cumsum(n_hits[group.ids]) - n_hits[group.ids]
    shifts += np.cumsum(n_hits) - n_hits
    maximum = max(part.counts.shape[1] for part in found)
    columns = {}
    for column in fields(GuideSummaries):
        if column.name in ("guides", "definition"):
            continue
        shape = (len(guides), maximum) if column.name == "counts" else len(guides)
        values = np.zeros(shape, getattr(found[0], column.name).dtype)
        columns[column.name] = values
        for group, part in zip(groups, found, strict=True):
            of_part = getattr(part, column.name)
            if column.name == "counts":
                values[group.ids, : of_part.shape[1]] = of_part
            elif column.name in ("on_targets", "worst_hits"):
                values[group.ids] = np.where(of_part >= 0, of_part + shifts[group.ids], -1)
            else:
                values[group.ids] = of_part
    return replace(found[0], guides=guides, **columns)
