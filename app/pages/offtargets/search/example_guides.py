"""Protospacers of a genome, from places by chance."""

from __future__ import annotations

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.letter_masks import LETTER_MASKS
from genoviz_app.pages.offtargets.search.query import Pam

N_GUIDES, GUIDE_LENGTH = 5, 20
STRETCH, N_TRIES = 20_000, 60


def pick_guides(
    planes: GenomePlanes, pam: Pam, random: np.random.Generator
) -> list[tuple[str, str]]:
    """Return names and letters of protospacers that stand beside a PAM on the forward strand.

    Raises
    ------
    ParameterError
        If none is found in many places.
    """
    guides: list[tuple[str, str]] = []
    for _ in range(N_TRIES):
        first = int(random.integers(max(planes.n_bases - STRETCH, 1)))
        letters = planes.cut(first, min(first + STRETCH, planes.n_bases))
        starts = _fitting(letters, pam)
        if len(starts):
            start = int(random.choice(starts)) + len(pam.letters) * pam.is_first
            word = letters[start : start + GUIDE_LENGTH].tobytes().decode()
            ends = np.array([first + start, first + start + GUIDE_LENGTH - 1])
            contig, last = planes.find_contigs(ends).tolist()
            if contig == last:
                place = first + start - int(planes.offsets[contig]) + 1
                guides.append((f"{planes.names[contig]}:{place}", word))
        if len(guides) == N_GUIDES:
            break
    if not guides:
        raise ParameterError("no protospacer with this PAM was found; choose another PAM")
    return guides


def _fitting(letters: np.ndarray, pam: Pam) -> np.ndarray:
    """Return where a PAM and a protospacer of plain bases stand side by side; int64."""
    length = GUIDE_LENGTH + len(pam.letters)
    if len(letters) < length:
        return np.empty(0, np.int64)
    masks = LETTER_MASKS[letters]
    n = len(letters) - length + 1
    is_plain = np.isin(letters, np.frombuffer(b"ACGT", np.uint8))
    sums = np.concatenate([[0], np.cumsum(is_plain)])
    fits = sums[length : length + n] - sums[:n] == length
    shift = 0 if pam.is_first else GUIDE_LENGTH
    for place, letter in enumerate(pam.letters.encode()):
        at = masks[shift + place : shift + place + n]
        fits &= (at & LETTER_MASKS[letter]) != 0
    return np.flatnonzero(fits)
