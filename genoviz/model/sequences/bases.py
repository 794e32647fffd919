"""Bases of nucleic acids: complements."""

from __future__ import annotations

import numpy as np

_PAIRS = "AT CG GC TA RY YR KM MK BV VB DH HD"


def _complement_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint8)
    for pair in _PAIRS.split():
        for base, complement in (pair, pair.lower()):
            table[ord(base)] = ord(complement)
    table[ord("U")], table[ord("u")] = ord("A"), ord("a")
    table.flags.writeable = False
    return table


COMPLEMENTS = _complement_table()


def reverse_complement(bases: np.ndarray) -> np.ndarray:
    """Return the other strand of a sequence; uint8 letters, shape (n,).

    Case and IUPAC codes are kept; letters without a complement (``N``, ``-``) are unchanged.

    Examples
    --------
    >>> reverse_complement(np.frombuffer(b"AACGRn", np.uint8)).tobytes()
    b'nYCGTT'
    """
    return COMPLEMENTS[bases[::-1]]
