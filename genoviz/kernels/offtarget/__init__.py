"""Off-target sites: where guides fit a genome with few mismatches.

A window fits when every letter of the pattern (the PAM) does; then the letters of a guide that do
not fit are its mismatches. A plain letter (A, C, G, T) fits itself alone. A degenerate letter fits
all but the plain bases outside it: so it fits what is not a base in the genome (N, IUPAC), which a
plain letter does not. These are the rules of Cas-OFFinder (doi:10.1093/bioinformatics/btu048).

The genome is bit planes: bit ``i`` of word ``w`` is base ``64 w + i`` of all contigs, one after
the other. A letter is a mask of four bits, A C G T from the lowest; ``ANY`` counts nowhere. The
other strand is searched with masks that are reversed and complemented by the caller.

Arguments
---------
================ =============================== ===============================================
planes           `Planes`                        the genome
first_word       int                             where the first block begins
block_words      int                             words of a block; the blocks follow each other
pattern          uint8 (length,)                 masks of the pattern
guides           uint8 (n_guides, length)        masks of the guides
max_mismatches   int64 (n_guides,)               0 to ``length``
hits             `Hits`                          filled
================ =============================== ===============================================

`Planes`
================ =============================== ===============================================
low, high        uint64 (n_words + padding,)     bits of the bases: A 00, C 01, G 10, T 11
other            uint64 (n_words + padding,)     what is no base; ``low`` and ``high`` are 0 there
valid            uint64 (n_words,)               starts whose window is within one contig
================ =============================== ===============================================

`Hits`
================ =============================== ===============================================
positions        int64 (n_blocks, capacity)      filled: leftmost base of a hit
guide_ids        int32 (n_blocks, capacity)      filled: its guide
mismatches       uint8 (n_blocks, capacity)      filled: its mismatches
n_found          int64 (n_blocks,)               filled: hits of a block; those beyond the capacity
                                                 are counted and not kept
counts           int64 (n_blocks, n_guides,      hits of each guide with so many mismatches are
                 n_levels)                       added; empty when they are not wanted
================ =============================== ===============================================

The planes have ``padding_words(length)`` words of zeros after the genome. Hits of a block are in
no particular order. All functions find the same:

- ``find_sites_popcount``: the bases as four bits each, AND and the count of bits, a position and a
  guide at a time; the plain method, as a reference.
- ``find_sites_dense``: a letter's mismatches at all positions are one plane; planes shifted by
  the letter's place are added with full adders, 64 positions a word, into counters of few bits.
- ``find_sites_pam_first``: the windows at which the pattern fits are gathered and transposed into
  planes, so that the adders see them alone. Guides' letters span at most ``MAX_SPAN``.

References
----------
Bae et al. 2014, Cas-OFFinder, doi:10.1093/bioinformatics/btu048 (the rules). Accelerating
CAS-Offinder, 2022 (four bits a base, AND and the count of bits: ``popcount``). Knuth, The Art of
Computer Programming 4A, 7.1.2 (side addition by full adders).
"""

from typing import NamedTuple

import numpy as np

ANY = 15
MAX_SPAN = 32


class Planes(NamedTuple):
    """A genome as bit planes; see the table."""

    low: np.ndarray
    high: np.ndarray
    other: np.ndarray
    valid: np.ndarray


class Hits(NamedTuple):
    """Room for the hits of each block; see the table."""

    positions: np.ndarray
    guide_ids: np.ndarray
    mismatches: np.ndarray
    n_found: np.ndarray
    counts: np.ndarray


def padding_words(length: int) -> int:
    """Return the words of zeros that follow the genome for windows of a length."""
    return length // 64 + 66
