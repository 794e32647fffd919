"""Letters of guides and patterns as masks of the bases that they stand for."""

from __future__ import annotations

import numpy as np

from genoviz.model.offtargets.letters import LETTER_MASKS

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
    """Return masks for the other strand: complemented, and the last axis reversed."""
    return _REVERSED[masks[..., ::-1]]
