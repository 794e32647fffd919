"""Variants of guides as base masks: the guide itself, and with a bulge at each position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.kernels.offtarget import ANY
from genoviz.model.offtargets.letters import LETTER_MASKS
from genoviz.model.offtargets.protospacer import BulgeType, Protospacer, find_protospacer

_REVERSED = np.array([int(f"{mask:04b}"[::-1], 2) for mask in range(16)], np.uint8)


def letter_masks(word: str) -> np.ndarray:
    """Return the masks of a word's letters; uint8, shape (length,).

    Examples
    --------
    >>> letter_masks("ACGTRN").tolist()
    [1, 2, 4, 8, 5, 15]
    """
    return LETTER_MASKS[np.frombuffer(word.encode("latin-1", "replace"), np.uint8)]


def reverse_masks(masks: np.ndarray) -> np.ndarray:
    """Return masks of the other strand: complemented, with the last axis reversed."""
    return _REVERSED[masks[..., ::-1]]


__all__ = ["BulgeType", "GuideVariants", "Protospacer", "find_protospacer", "iter_variants"]


@dataclass(frozen=True, eq=False)
class GuideVariants:
    """Guides of one length with the same kind of bulge.

    Parameters
    ----------
    bulge_type, bulge_size
        Bulge type, and size in nt.
    pattern
        uint8, shape (length,): masks.
    masks
        uint8, shape (n, length).
    guide_ids
        int32, shape (n,): guide of each variant.
    bulge_places
        uint8, shape (n,): letters of the window before the bulge; 0 if there is none.
    """

    bulge_type: BulgeType
    bulge_size: int
    pattern: np.ndarray
    masks: np.ndarray
    guide_ids: np.ndarray
    bulge_places: np.ndarray


def iter_variants(
    pattern: str, guides: Sequence[str], *, dna_bulge: int, rna_bulge: int
) -> Iterator[GuideVariants]:
    """Yield the variants to search: guides as given, then with bulges by type and size.

    Bulges lie between letters of the protospacer, never in the PAM or outside. An RNA bulge never
    removes the first or the last letter (the rules of cas-offinder-bulge).

    Raises
    ------
    ParameterError
        If bulges are requested and a protospacer is too short for them.
    """
    pattern_masks = letter_masks(pattern)
    masks = np.array([letter_masks(guide) for guide in guides], np.uint8)
    masks = masks.reshape(len(guides), len(pattern))
    ids = np.arange(len(guides), dtype=np.int32)
    yield GuideVariants(
        BulgeType.NONE, 0, pattern_masks, masks, ids, np.zeros(len(guides), np.uint8)
    )
    if not (dna_bulge or rna_bulge):
        return
    places = [find_protospacer(pattern, guide) for guide in guides]
    for guide, place in zip(guides, places, strict=True):
        if place.length < max(2, rna_bulge + 2 if rna_bulge else 0):
            raise ParameterError(
                f"guide {guide!r} has {place.length} letters beside the PAM, "
                f"too few for a bulge of {max(dna_bulge, rna_bulge)}"
            )
    for bulge_type, largest in ((BulgeType.DNA, dna_bulge), (BulgeType.RNA, rna_bulge)):
        for size in range(1, largest + 1):
            yield _bulge(bulge_type, size, pattern_masks, masks, places)


def _bulge(
    bulge_type: BulgeType,
    size: int,
    pattern: np.ndarray,
    masks: np.ndarray,
    places: Sequence[Protospacer],
) -> GuideVariants:
    rows, guide_ids, bulge_places = [], [], []
    gap = np.full(size, ANY, np.uint8)
    for guide, place in enumerate(places):
        stop = place.stop if bulge_type is BulgeType.DNA else place.stop - size
        for at in range(place.start + 1, stop):
            before, after = masks[guide, :at], masks[guide, at:]
            if bulge_type is BulgeType.DNA:
                rows.append(np.concatenate([before, gap, after]))
            else:
                rows.append(np.concatenate([before, after[size:]]))
            guide_ids.append(guide)
            bulge_places.append(at)
    # The pattern counts in the PAM, which is at one end.
    middle = places[0].start + 1 if places[0].is_pam_first else 0
    if bulge_type is BulgeType.DNA:
        pattern = np.concatenate([pattern[:middle], gap, pattern[middle:]])
    else:
        pattern = np.concatenate([pattern[:middle], pattern[middle + size :]])
    return GuideVariants(
        bulge_type,
        size,
        pattern,
        np.array(rows, np.uint8),
        np.array(guide_ids, np.int32),
        np.array(bulge_places, np.uint8),
    )
