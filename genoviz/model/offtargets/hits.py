"""Off-target hits as columns, and their alignments as letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from genoviz.errors import n_words
from genoviz.model.columns import fill_column, freeze_arrays, is_on_disk, iter_row_slices
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.letters import (
    MISFITS,
    AlignedLetters,
    Alignment,
    GenomeLetters,
    HitPlaces,
    align_letters,
)
from genoviz.model.offtargets.protospacer import BulgeType, find_protospacer
from genoviz.model.sequences.bases import COMPLEMENTS

__all__ = ["COLUMNS", "AlignedLetters", "Alignment", "OffTargetHits"]

COLUMNS = (
    "guide_ids", "positions", "strands", "mismatches", "bulge_types", "bulge_sizes", "bulge_places"
)  # fmt: skip


_FEW_HITS = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class OffTargetHits:
    """Sites of guides in a genome, sorted by guide, contig, position and strand.

    Parameters
    ----------
    guides
        Upper-case guides that were searched, each as long as the pattern.
    pattern
        The upper-case pattern.
    planes
        The genome.
    guide_ids
        int32, shape (n,).
    positions
        int64, shape (n,): leftmost base of the site in the concatenated contigs.
    strands
        int8, shape (n,): 1 or -1.
    mismatches
        uint8, shape (n,).
    bulge_types
        uint8, shape (n,): values of `BulgeType`.
    bulge_sizes
        uint8, shape (n,), nt.
    bulge_places
        uint8, shape (n,): letters before the bulge, 5' to 3' of the guide.
    """

    guides: tuple[str, ...]
    pattern: str
    planes: GenomePlanes
    guide_ids: np.ndarray
    positions: np.ndarray
    strands: np.ndarray
    mismatches: np.ndarray
    bulge_types: np.ndarray
    bulge_sizes: np.ndarray
    bulge_places: np.ndarray

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"OffTargetHits({n_words(len(self), 'hit')} of {n_words(len(self.guides), 'guide')})"

    @cached_property
    def contig_ids(self) -> np.ndarray:
        """Contig of each hit; int32, shape (n,)."""
        return self._derive(np.int32, lambda part: self.planes.find_contigs(self.positions[part]))

    @cached_property
    def starts(self) -> np.ndarray:
        """Leftmost base of each hit on its contig, 0-based; int64, shape (n,)."""
        contigs, offsets = self.contig_ids, self.planes.offsets
        return self._derive(np.int64, lambda part: self.positions[part] - offsets[contigs[part]])

    def _derive(self, dtype: type, find: Callable[[slice], np.ndarray]) -> np.ndarray:
        """Return a column of these hits, on disk where they are."""
        return fill_column(len(self), dtype, find, on_disk=is_on_disk(self.positions))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Length of each site, PAM included; int64, shape (n,), bp."""
        signs = np.array([0, 1, -1])[self.bulge_types]
        return len(self.pattern) + signs * self.bulge_sizes

    @cached_property
    def is_pam_first(self) -> bool:
        """Whether the PAM is at the 5' end of the guides."""
        return find_protospacer(self.pattern, "N" * len(self.pattern)).is_pam_first

    @cached_property
    def pam_ends(self) -> np.ndarray:
        """Outer end of the PAM in the concatenated contigs; int64, shape (n,)."""
        is_left = (self.strands > 0) == self.is_pam_first
        return np.where(is_left, self.positions, self.positions + self.lengths)

    def take(self, rows: np.ndarray | slice) -> OffTargetHits:
        """Return a subset of the hits."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    def best_placements(self) -> OffTargetHits:
        """Return the hit with the fewest differences for each guide, strand and PAM."""
        differences = self.mismatches.astype(np.int64) + self.bulge_sizes
        keys = (self.bulge_places, self.bulge_types, self.bulge_sizes, differences)
        order = np.lexsort((*keys, self.pam_ends, self.strands, self.guide_ids))
        locus = np.stack([self.guide_ids, self.strands, self.pam_ends])[:, order]
        is_first = np.ones(len(self), bool)
        is_first[1:] = (locus[:, 1:] != locus[:, :-1]).any(axis=0)
        return self.take(np.sort(order[is_first]))

    def count_by_mismatches(self) -> np.ndarray:
        """Return the number of hits by guide and mismatches; int64, (n_guides, maximum + 1)."""
        n_levels = int(self.mismatches.max(initial=0)) + 1
        counts = np.zeros(len(self.guides) * n_levels, np.int64)
        for part in iter_row_slices(len(self)):
            keys = self.guide_ids[part].astype(np.int64) * n_levels + self.mismatches[part]
            counts += np.bincount(keys, minlength=len(counts))
        return counts.reshape(len(self.guides), n_levels)

    def sites(self, rows: np.ndarray | slice = slice(None)) -> list[str]:
        """Return the sites 5' to 3' of the guide, with mismatches in lower case; no gaps."""
        return [alignment.site.replace("-", "") for alignment in self.alignments(rows)]

    def alignments(self, rows: np.ndarray | slice = slice(None)) -> list[Alignment]:
        """Return hits as aligned letters, 5' to 3' of the guide."""
        return self.aligned_letters(rows).lines()

    def aligned_letters(self, rows: np.ndarray | slice = slice(None)) -> AlignedLetters:
        """Return the letters of hits, 5' to 3' of the guide; pass slices if there are many hits."""
        if isinstance(rows, slice) and rows == slice(None):
            return self._few_letters if len(self) <= _FEW_HITS else self._align()
        return self.take(rows)._align()

    @cached_property
    def _few_letters(self) -> AlignedLetters:
        """The letters of all hits, cached because there are few."""
        letters = self._align()
        for array in (letters.guides, letters.sites, letters.lengths):
            array.flags.writeable = False
        return letters

    def _align(self) -> AlignedLetters:
        hits = self
        is_dna = hits.bulge_types == BulgeType.DNA
        width = len(self.pattern) + int((hits.bulge_sizes * is_dna).max(initial=0))
        shape = len(hits), width
        guides, sites = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        lengths = np.empty(len(hits), np.int64)
        genome = GenomeLetters(*(getattr(self.planes, name) for name in GenomeLetters._fields))
        places = HitPlaces(*(getattr(hits, name) for name in HitPlaces._fields))
        compared_and_shown = _letters_of(self.guides, self.pattern)
        tables = MISFITS, COMPLEMENTS
        align_letters(genome, places, *compared_and_shown, *tables, guides, sites, lengths)
        return AlignedLetters(guides, sites, lengths)


@lru_cache(maxsize=4)
def _letters_of(guides: tuple[str, ...], pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """Return guides as compared, and with the pattern's letters in the PAM."""
    compared = np.zeros((len(guides), len(pattern)), np.uint8)
    shown = compared.copy()
    for row, guide in enumerate(guides):
        place = find_protospacer(pattern, guide)
        with_pam = pattern[: place.start] + guide[place.start : place.stop] + pattern[place.stop :]
        for table, word in ((compared, guide), (shown, with_pam)):
            table[row] = np.frombuffer(word.encode("latin-1", "replace"), np.uint8)
    compared.flags.writeable = shown.flags.writeable = False
    return compared, shown
