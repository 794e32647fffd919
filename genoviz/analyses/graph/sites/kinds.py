"""Kinds of variation, by the lengths of a site's alleles."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class SiteKind(IntEnum):
    """Kind of a site by its allele lengths; the first that applies.

    Attributes
    ----------
    MONOMORPHIC
        All paths that traverse the site read the same bases, by whichever walk.
    SNP
        Every allele is 1 bp long.
    MNP
        All alleles are of one length.
    INSERTION
        The reference allele is empty.
    DELETION
        The reference allele is not empty, and the others are.
    INDEL
        Alleles of several lengths, one of them empty.
    COMPLEX
        Alleles of several lengths, none of them empty.
    """

    MONOMORPHIC = 0
    SNP = 1
    MNP = 2
    INSERTION = 3
    DELETION = 4
    INDEL = 5
    COMPLEX = 6

    @property
    def label(self) -> str:
        """The kind in words."""
        return self.name if self in (SiteKind.SNP, SiteKind.MNP) else self.name.lower()


def classify_sites(
    n_alleles: np.ndarray,
    reference_lengths: np.ndarray,
    min_lengths: np.ndarray,
    max_lengths: np.ndarray,
    max_other_lengths: np.ndarray,
) -> np.ndarray:
    """Return the kind of each site; uint8, shape (n_sites,).

    Parameters
    ----------
    n_alleles, reference_lengths, min_lengths, max_lengths, max_other_lengths
        int64: number of alleles, bp of the reference allele, of the shortest and longest of all,
        and of the longest that is not the reference allele.
    """
    has_one_length = min_lengths == max_lengths
    conditions = {
        SiteKind.MONOMORPHIC: n_alleles < 2,
        SiteKind.SNP: has_one_length & (max_lengths == 1),
        SiteKind.MNP: has_one_length,
        SiteKind.INSERTION: reference_lengths == 0,
        SiteKind.DELETION: max_other_lengths == 0,
        SiteKind.INDEL: min_lengths == 0,
    }
    return np.select(
        list(conditions.values()), [int(kind) for kind in conditions], int(SiteKind.COMPLEX)
    ).astype(np.uint8)
