"""Filters on hits, and the hits that pass them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.model.columns import iter_row_slices
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of, kinds_of
from genoviz_app.pages.offtargets.hits.order import HitOrder, sort_rows
from genoviz_app.pages.offtargets.search.genes import CLASSES, HitGenes
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.pages.offtargets.search.running import SearchResult


@dataclass(frozen=True)
class HitFilter:
    """The conditions for listed hits.

    Attributes
    ----------
    guide
        Number of the guide; -1 for all guides.
    mismatches
        Minimum and maximum number of mismatches, or None.
    kind
        Kind of bulge, numbered as in `kinds_of`; -1 for all.
    strand
        1 or -1; 0 for both.
    contig
        Number of the contig; -1 for all contigs.
    stretch
        Half-open interval on the contig that sites must overlap, or None.
    min_cfd
        Minimum CFD score; 0 for all hits, including those without a score.
    max_seed
        Maximum number of mismatches in the seed; -1 for no limit.
    pam
        Number of the PAM in the result; -1 for all PAMs.
    site_class
        Index into ``CLASSES`` of the gene region; -1 for all. Ignored without genes.
    """

    guide: int = -1
    mismatches: tuple[int, int] | None = None
    kind: int = -1
    strand: int = 0
    contig: int = -1
    stretch: tuple[int, int] | None = None
    min_cfd: float = 0.0
    max_seed: int = -1
    pam: int = -1
    site_class: int = -1


@dataclass(frozen=True, eq=False)
class FoundHits:
    """The listed hits, and counts of hits for the filter's menus.

    Attributes
    ----------
    result, filter, order
        Where the hits come from.
    rows
        int64, shape (n,): indices of the hits, in order.
    kind_counts
        int64, shape (n_kinds, max_mismatches + 1): hits by bulge kind and mismatches, ignoring the
        filter's conditions on these two.
    pam_counts
        int64, shape (n_pams,): hits by PAM, ignoring the filter's PAM.
    class_counts
        int64, shape (4,): hits by ``CLASSES``, ignoring the filter's class; None without genes.
    genes
        The genes of the hits, or None.
    """

    result: SearchResult
    filter: HitFilter
    order: HitOrder
    rows: np.ndarray
    kind_counts: np.ndarray
    pam_counts: np.ndarray
    class_counts: np.ndarray | None = None
    genes: HitGenes | None = None

    def __len__(self) -> int:
        return len(self.rows)


def filter_hits(
    result: SearchResult, chosen: HitFilter, order: HitOrder, genes: HitGenes | None = None
) -> FoundHits:
    """Return the hits that pass a filter, in order."""
    span = slice(0, len(result))
    if chosen.guide >= 0:
        span = slice(*result.guide_offsets[chosen.guide : chosen.guide + 2].tolist())
    n_pams, is_listed = len(result.pams.names), np.zeros(span.stop - span.start, bool)
    kind_counts = _count(result.query, *np.zeros((2, 0), np.int64))
    pam_counts, class_counts = np.zeros(n_pams, np.int64), np.zeros(len(CLASSES), np.int64)
    for part in iter_row_slices(len(is_listed)):
        at = slice(span.start + part.start, span.start + part.stop)
        is_there = _let_through(result, chosen, at)
        mismatches, kinds = result.hits.mismatches[at], kind_of(result, at)
        is_kind = _true_or(is_there, chosen.kind >= 0, kinds == chosen.kind)
        if chosen.mismatches is not None:
            low, high = chosen.mismatches
            is_kind = is_kind & (mismatches >= low) & (mismatches <= high)
        pams = result.pams.ids[at]
        is_pam = _true_or(is_there, chosen.pam >= 0, pams == chosen.pam)
        is_class = is_there
        if genes is not None:
            classes = genes.classes[at]
            is_class = _true_or(is_there, chosen.site_class >= 0, classes == chosen.site_class)
            class_counts += np.bincount(classes[is_kind & is_pam], minlength=len(CLASSES))
        others = is_pam & is_class
        kind_counts += _count(result.query, kinds[others], mismatches[others])
        pam_counts += np.bincount(pams[is_kind & is_class], minlength=n_pams)
        is_listed[part] = others & is_kind
    rows = np.flatnonzero(is_listed)
    rows += span.start
    rows = sort_rows(result, rows, order, genes)
    class_counts = None if genes is None else class_counts
    return FoundHits(result, chosen, order, rows, kind_counts, pam_counts, class_counts, genes)


def _let_through(result: SearchResult, chosen: HitFilter, span: slice) -> np.ndarray:
    """Return a mask of a guide's hits within the limits of strand, place, score and seed."""
    hits = result.hits
    is_there = np.ones(span.stop - span.start, bool)
    if chosen.strand:
        is_there &= hits.strands[span] == chosen.strand
    if chosen.contig >= 0:
        is_there &= hits.contig_ids[span] == chosen.contig
        if chosen.stretch is not None:
            low, high = chosen.stretch
            starts = hits.starts[span]
            is_there &= (starts < high) & (starts + hits.lengths[span] > low)
    if chosen.min_cfd and result.cfd is not None:
        is_there &= result.cfd[span] >= chosen.min_cfd  # comparisons with NaN are False
    if chosen.max_seed >= 0:
        is_there &= result.seeds[span] <= chosen.max_seed
    return is_there


def _true_or(is_there: np.ndarray, is_chosen: bool, fits: np.ndarray) -> np.ndarray:
    """Return a mask of the hits passed so far that also meet one more condition, if set."""
    return is_there & fits if is_chosen else is_there


def _count(query: OffTargetQuery, kinds: np.ndarray, mismatches: np.ndarray) -> np.ndarray:
    numbers, n_levels = np.array(list(kinds_of(query))), query.max_mismatches + 1
    keys = np.searchsorted(numbers, kinds) * n_levels + mismatches
    counts = np.bincount(keys, minlength=len(numbers) * n_levels)
    return counts.reshape(len(numbers), n_levels)
