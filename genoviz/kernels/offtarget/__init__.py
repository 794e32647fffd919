"""Off-target sites: find where guides match a genome with few mismatches.

A window is a candidate if every letter of the pattern (the PAM) matches; mismatches are the letters
of a guide that do not. A plain letter (A, C, G, T) matches only itself. A degenerate letter
mismatches only the plain bases outside its set, so it matches other letters of the genome (N,
IUPAC), which a plain letter does not. These are the rules of Cas-OFFinder
(doi:10.1093/bioinformatics/btu048).

The genome is stored as bit planes over the concatenated contigs: bit ``i`` of word ``w`` is base
``64 w + i``. A letter is a mask of four bits, A C G T from the lowest; ``ANY`` is ignored. To
search the other strand, the caller reverses and complements the masks.

Arguments
---------
================ =============================== ===============================================
planes           `Planes`                        the genome
first_word       int                             first word of the first block
block_words      int                             words of a block; blocks are contiguous
pattern          uint8 (length,)                 masks of the pattern
guides           uint8 (n_guides, length)        masks of the guides
max_mismatches   int64 (n_guides,)               0 to ``length``
hits             `Hits`                          filled
================ =============================== ===============================================

`Planes`
================ =============================== ===============================================
low, high        uint64 (n_words + padding,)     bits of the bases: A 00, C 01, G 10, T 11
other            uint64 (n_words + padding,)     other letters; ``low`` and ``high`` are 0 there
valid            uint64 (n_words,)               starts whose window is within one contig
================ =============================== ===============================================

`Hits`
================ =============================== ===============================================
positions        int64 (n_blocks, capacity)      filled: leftmost base of a hit
guide_ids        int32 (n_blocks, capacity)      filled: its guide
mismatches       uint8 (n_blocks, capacity)      filled: its mismatches
n_found          int64 (n_blocks,)               filled: hits of a block; those beyond the capacity
                                                 are counted but not stored
counts           int64 (n_blocks, n_guides,      incremented: hits of each guide by number of
                 n_levels)                       mismatches; empty if not wanted
================ =============================== ===============================================

The planes have ``padding_words(length)`` words of zeros after the genome. Hits of a block are in
no particular order. All functions find the same hits:

- ``find_sites_popcount``: four bits a base, AND and popcount, one position and one guide at a time;
  the plain method, as a reference.
- ``find_sites_dense``: the mismatches of a letter at all positions form a plane. Planes, shifted by
  the letter's place, are summed by bit-sliced full adders, 64 positions a word.
- ``find_sites_pam_first``: windows that match the pattern are gathered and transposed into planes,
  so the adders see only those. The letters of a guide span at most ``MAX_SPAN`` places.

References
----------
Bae et al. 2014, Cas-OFFinder, doi:10.1093/bioinformatics/btu048 (the rules). Accelerating
CAS-Offinder, 2022 (four bits a base, AND and popcount: ``popcount``). Knuth, The Art of
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
    """Return the number of zero words after the genome, for windows of a length."""
    return length // 64 + 66
