"""Simulate a variation graph site by site, and mosaic haplotypes through it; CPU only.

A graph is a list of *sites* in topological order. Every site starts with an anchor node that all
paths through it visit; the rest depends on its kind:

=========== ==================================================================================
kind        what follows the anchor ``n``
=========== ==================================================================================
PLAIN       nothing
SNP         node n + 1 (allele 0) or node n + 2 (allele 1)
INDEL       node n + 1 (allele 1) or nothing (allele 0)
INSERTION   the sites up to ``extent`` (allele 1) or nothing (allele 0)
INVERSION   the sites up to ``extent``, forward (allele 0) or reverse (allele 1)
DUPLICATION the sites up to ``extent``, once (allele 0) or more often (allele 1)
BLOCK_END   nothing: it is the last site of an INSERTION, INVERSION or DUPLICATION
=========== ==================================================================================

Blocks nest. Founder ``f`` has allele ``alleles[i] >> f & 1`` at site ``i``. A path copies one
founder per *bin*, a run of sites outside blocks, so paths share haplotype blocks.

Arguments
---------
=============== ======= =================== ====================================================
name            dtype   shape               meaning
=============== ======= =================== ====================================================
kinds           uint8   (n_sites,)          the kinds above
nodes           uint32  (n_sites,)          anchor node
extents         int32   (n_sites,)          of a block: the site after its BLOCK_END; of a
                                            BLOCK_END: the site that opens its block
alleles         uint64  (n_sites,)          bit f: allele of founder f
carriers        int32   (n_sites,)          the one path with allele 1 where no founder has it,
                                            or -1
bin_sites       int64   (n_bins + 1,)       first site of each bin, and n_sites
mosaic          uint8   (n_bins, n_paths)   1 + founder that the path copies, 0 where it is absent
founder_steps   int64   (n_founders,n_bins) steps of each founder in each bin
copy_span       int64   scalar              a duplication has 1 to copy_span extra copies
path_offsets    int64   (n_paths + 1,)      where each path's steps start
steps           uint32  (n_steps,)          out: handles ``node << 1 | is_reverse``
=============== ======= =================== ====================================================

The first five are a `SiteAlleles`. All random numbers come from SplitMix64, seeded by (seed, bin or
path), so the result does not depend on the number of threads. There is no CUDA twin: the work is
one pass over the result.

References
----------
Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014.
https://doi.org/10.1145/2660193.2660195
Li, Stephens: Modeling linkage disequilibrium and identifying recombination hotspots using
single-nucleotide polymorphism data. Genetics 165 (2003) (haplotypes as mosaics of others).
https://doi.org/10.1093/genetics/165.4.2213
"""

from typing import NamedTuple

import numpy as np

PLAIN, SNP, INDEL, INSERTION, INVERSION, DUPLICATION, BLOCK_END = range(7)
MAX_FOUNDERS = 64


class SiteAlleles(NamedTuple):
    """The sites of a graph, and the alleles of founders; see the table."""

    kinds: np.ndarray
    nodes: np.ndarray
    extents: np.ndarray
    alleles: np.ndarray
    carriers: np.ndarray
