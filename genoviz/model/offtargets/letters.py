"""IUPAC letters as masks of bases, and hits written as aligned letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

ALL_BASES = 15
"""The mask of ``N``, and of letters without a meaning."""

_BASES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG",
}  # fmt: skip
_GAP, _LOWER, _N = np.uint8(45), np.uint8(32), np.uint8(78)
_DNA, _RNA = 1, 2


def _make_table() -> np.ndarray:
    table = np.full(256, ALL_BASES, np.uint8)
    for letter, bases in _BASES.items():
        table[ord(letter)] = sum(1 << "ACGT".index(base) for base in bases)
    table.flags.writeable = False
    return table


LETTER_MASKS = _make_table()
"""Mask of each upper-case letter, A C G T from the lowest bit; uint8, shape (256,)."""


def _make_misfits() -> np.ndarray:
    is_plain = np.isin(LETTER_MASKS, [1, 2, 4, 8])
    misfits = np.repeat(is_plain[:, None], 256, axis=1)
    for base in b"ACGT":
        misfits[:, base] = (LETTER_MASKS & LETTER_MASKS[base]) == 0
    misfits.flags.writeable = False
    return misfits


MISFITS = _make_misfits()
"""Whether a guide's letter (row) mismatches a letter of the genome; bool, (256, 256).

N and IUPAC letters of the genome mismatch only A, C, G and T.
"""


@dataclass(frozen=True)
class Alignment:
    """A hit as two lines of the same length, 5' to 3' of the guide.

    Parameters
    ----------
    guide
        The protospacer with ``-`` at a DNA bulge, and the letters of the pattern in the PAM.
    site
        The genome with ``-`` at an RNA bulge; mismatches in lower case.
    """

    guide: str
    site: str


@dataclass(frozen=True, eq=False)
class AlignedLetters:
    """Hits as lines of letters.

    Parameters
    ----------
    guides, sites
        uint8, shape (n, width): the lines of `Alignment`, padded with 0.
    lengths
        int64, shape (n,): letters of each line.
    """

    guides: np.ndarray
    sites: np.ndarray
    lengths: np.ndarray

    def lines(self) -> list[Alignment]:
        """Return the lines as text."""
        width = self.guides.shape[1]
        guides, sites = self.guides.tobytes(), self.sites.tobytes()
        return [
            Alignment(
                guides[first : first + length].decode("latin-1"),
                sites[first : first + length].decode("latin-1"),
            )
            for first, length in zip(
                range(0, len(guides), width), self.lengths.tolist(), strict=True
            )
        ]


class GenomeLetters(NamedTuple):
    """Arrays of a genome from which its letters are read, as in `GenomePlanes`."""

    low: np.ndarray
    high: np.ndarray
    other: np.ndarray
    letter_positions: np.ndarray
    letters: np.ndarray


class HitPlaces(NamedTuple):
    """Arrays with the places of hits, as in `OffTargetHits`; shape (n,)."""

    guide_ids: np.ndarray
    positions: np.ndarray
    strands: np.ndarray
    bulge_types: np.ndarray
    bulge_sizes: np.ndarray
    bulge_places: np.ndarray


@njit(nogil=True, cache=True)
def align_letters(genome, hits, compared, shown, misfits, complements, guides, sites, lengths):
    """Write hits as two lines of the same length, 5' to 3' of the guide.

    Parameters
    ----------
    genome, hits
        `GenomeLetters` and `HitPlaces`.
    compared, shown
        uint8, shape (n_guides, length): guides as they are compared and as they are shown.
    misfits
        bool, shape (256, 256): whether a guide's letter mismatches one of the genome.
    complements
        uint8, shape (256,).
    guides, sites
        uint8, shape (n, width): filled with the lines, left-aligned.
    lengths
        int64, shape (n,): filled with the letters of each line.
    """
    low, high, other, letter_positions, letters = genome
    for row in range(len(hits.positions)):
        guide, kind = hits.guide_ids[row], hits.bulge_types[row]
        place, size = np.int64(hits.bulge_places[row]), np.int64(hits.bulge_sizes[row])
        length = compared.shape[1] + (size if kind == _DNA else 0)
        lengths[row] = length
        step = 1 if hits.strands[row] > 0 else -1
        span = length - (size if kind == _RNA else 0)
        position = hits.positions[row] if step > 0 else hits.positions[row] + span - 1
        k = 0
        for column in range(length):
            is_gap = kind != 0 and place <= column < place + size
            written = _GAP
            if not (is_gap and kind == _DNA):
                written = shown[guide, k]
            guides[row, column] = written
            if is_gap and kind == _RNA:
                sites[row, column] = _GAP
                k += 1
                continue
            word, bit = position >> 6, np.uint64(position & 63)
            if other[word] >> bit & np.uint64(1):
                letter = _N
                if len(letters):
                    at = np.searchsorted(letter_positions, position)
                    if at < len(letters) and letter_positions[at] == position:
                        letter = letters[at]
            else:
                code = (low[word] >> bit & np.uint64(1)) | (
                    (high[word] >> bit & np.uint64(1)) << np.uint64(1)
                )
                # A C G T in one number, the first in the lowest byte.
                letter = np.uint8(0x54474341 >> (8 * np.int64(code)) & 255)
            if step < 0:
                letter = complements[letter]
            if not is_gap:
                if misfits[compared[guide, k], letter]:
                    letter |= _LOWER
                k += 1
            sites[row, column] = letter
            position += step
