"""Letters of IUPAC as masks of the bases that they stand for."""

from __future__ import annotations

import numpy as np

ALL_BASES = 15
"""The mask of ``N``, and of letters that stand for nothing known."""

_BASES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG",
}  # fmt: skip


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
"""Whether a guide's letter (row) is a mismatch to a letter of the genome; bool, (256, 256).

N and IUPAC letters of the genome are mismatches to A, C, G and T alone.
"""
