"""Off-target hits with additional columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.offtargets.hits import OffTargetHits

ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class HitTable:
    """Hits with additional columns.

    Parameters
    ----------
    hits
        The hits of one search.
    ids
        Name of each guide, or None.
    scores
        Additional columns of numbers or texts (NumPy ``str``) by name, shape (n_hits,) each, such
        as cut sites, scores and genes. NaN is written as an empty field.

    Raises
    ------
    ParameterError
        If the numbers of names and guides, or of values and hits, differ.
    """

    hits: OffTargetHits
    ids: Sequence[str] | None = None
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ids is not None and len(self.ids) != len(self.hits.guides):
            raise ParameterError(
                f"there are {len(self.ids):,} ids for {n_words(len(self.hits.guides), 'guide')}"
            )
        for name, values in self.scores.items():
            if np.shape(values) != (len(self.hits),):
                raise ParameterError(
                    f"{name} has shape {np.shape(values)}, needs ({len(self.hits)},)"
                )

    def iter_parts(self) -> Iterator[HitTable]:
        """Yield the hits in batches."""
        if 0 < len(self.hits) <= ROWS_AT_ONCE:
            yield self
            return
        for first in range(0, len(self.hits), ROWS_AT_ONCE):
            yield self.take(slice(first, first + ROWS_AT_ONCE))

    def take(self, rows: np.ndarray | slice) -> HitTable:
        """Return a subset of the hits."""
        scores = {name: values[rows] for name, values in self.scores.items()}
        return HitTable(self.hits.take(rows), self.ids, scores)

    def without_repeats(self) -> HitTable:
        """Return the hits without duplicate guides; the duplicate with the most hits is kept."""
        hits = self.hits
        if len({*hits.guides}) == len(hits.guides):
            return self
        counts = np.bincount(hits.guide_ids, minlength=len(hits.guides))
        return self.of_guides(is_no_repeat(hits.guides, counts))

    def of_guides(self, is_kept: np.ndarray) -> HitTable:
        """Return the hits of some guides; ``is_kept`` is bool, shape (n_guides,)."""
        if is_kept.all():
            return self
        return self.take(np.flatnonzero(is_kept[self.hits.guide_ids]))


def is_no_repeat(guides: Sequence[str], ranks: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return which guides to keep if duplicates are dropped; bool, (n_guides,).

    Among equal guides the first of the highest rank is kept, such as a number of hits.
    """
    best: dict[str, int] = {}
    for number, guide in enumerate(guides):
        if guide not in best or ranks[number] > ranks[best[guide]]:
            best[guide] = number
    is_given = np.zeros(len(guides), bool)
    is_given[[*best.values()]] = True
    return is_given
