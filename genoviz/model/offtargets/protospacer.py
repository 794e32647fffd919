"""Protospacer and PAM of guides and patterns, bulge types, and known nucleases."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class BulgeType(IntEnum):
    """Bulged strand: with ``DNA`` the site has extra bases, with ``RNA`` it has fewer."""

    NONE = 0
    DNA = 1
    RNA = 2

    @property
    def label(self) -> str:
        """The word shown in tables: ``X`` for no bulge."""
        return "X" if self is BulgeType.NONE else self.name


@dataclass(frozen=True)
class Enzyme:
    """A named nuclease.

    Parameters
    ----------
    pam
        Its PAM, in IUPAC letters.
    is_pam_first
        Whether the PAM is at the 5' end.
    source
        DOI of the source of the PAM.
    """

    pam: str
    is_pam_first: bool
    source: str


ENZYMES = {
    "SpCas9": Enzyme("NGG", False, "10.1126/science.1225829"),
    "SpCas9-NG": Enzyme("NG", False, "10.1126/science.aas9129"),
    "SpRY": Enzyme("NRN", False, "10.1126/science.aba8853"),
    "SaCas9": Enzyme("NNGRRT", False, "10.1038/nature14299"),
    "SaCas9-KKH": Enzyme("NNNRRT", False, "10.1038/nbt.3404"),
    "Cas12a": Enzyme("TTTV", True, "10.1016/j.cell.2015.09.038"),
}


@dataclass(frozen=True)
class Protospacer:
    """Position of protospacer and PAM in a pattern.

    Parameters
    ----------
    start, stop
        The letters that a bulge may lie between, half-open.
    is_pam_first
        Whether the PAM is at the 5' end (as for Cas12a).
    """

    start: int
    stop: int
    is_pam_first: bool

    @property
    def length(self) -> int:
        """Length of the protospacer, nt."""
        return self.stop - self.start


def find_protospacer(pattern: str, guide: str) -> Protospacer:
    """Locate the protospacer of a pattern and guide.

    The PAM is at the end where only the pattern has specific letters. It extends as far as the
    guide has ``N``, and covers at least the specific letters of the pattern.
    """
    is_pam_first = False
    for first, last in zip(pattern, reversed(pattern), strict=True):
        if (first == "N") != (last == "N"):
            is_pam_first = first != "N"
            break
    ends = (pattern, guide) if is_pam_first else (pattern[::-1], guide[::-1])
    n_counting = len(ends[0]) - len(ends[0].lstrip("ACGTRYSWKMBDHV"))
    n_pam = max(n_counting, len(ends[1]) - len(ends[1].lstrip("N")))
    if is_pam_first:
        return Protospacer(n_pam, len(pattern), True)
    return Protospacer(0, len(pattern) - n_pam, False)
