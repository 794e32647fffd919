"""Suffix sorting: the exact suffix array of a text of A C G T and exceptions.

Suffixes are bucketed by their first bases, and each bucket (a *block*) is sorted by packed keys,
which hold as many bases as fit beside a position in 64 bits. Suffixes that such keys leave tied are
refined by the bases that follow, so the order is exact whatever the length of repeats.

An exception (a run of other letters, the end of a contig) is smaller than A, and of two exceptions
the later one in the text is smaller. So all suffixes differ, the first rows are the exceptions
from the last to the first, and the last symbol, an exception, serves as the sentinel.

Arguments
---------
============ ================= ================================================================
packed       uint64            two bits a symbol (A C G T: 0 to 3), 32 a word, the first one in
             (n // 32 + 2,)    the highest bits; exceptions and what follows the text are 0
n_symbols    int               n >= 0, exceptions included
exceptions   int64 (m,)        text positions, ascending; n - 1 is one of them
suffix_array ``row_dtype(n)``  is filled: the position at which each suffix begins, smallest
             (n,)              suffix first

block_rows   int               maximum rows of a block; at least 1
cover_bits   int               a difference cover modulo ``2**cover_bits``; of ``COVER_BITS``
seed         int               seed of the random splitters; does not change the result
============ ================= ================================================================

``iter_sort_suffixes`` is a generator of ``(stage, n_done, n_total, n_tied)``. The array is complete
when it ends, and it returns the number of suffixes of each block, int64 ``(n_blocks,)``. Each step
is short, so a job can show progress and stop between two steps. ``stage`` is one of ``STAGES``; a
backend may skip some:

- ``"partition"``: suffixes are counted and bucketed by their first bases;
- ``"blocks"``: blocks are sorted by packed bases. ``n_total`` suffixes are sorted in all, and
  ``n_tied`` of the ``n_done`` are still tied with a neighbour;
- ``"ties"``: a round of refinement of the tied suffixes: ``n_done`` of ``n_total`` rounds or
  suffixes are done, and ``n_tied`` suffixes are still tied;
- ``"induction"``: where only some suffixes were sorted in blocks, the positions of all others
  are induced from theirs.

``iter_sort_blocks`` yields the same rows block by block, and never holds all of them. It is a
generator of ``(stage, n_done, n_total, rows)``: ``rows`` is None, or the text positions of the next
rows, in a buffer that the next step overwrites. ``stage`` is one of ``BLOCK_STAGES``:

- ``"cover"``: the suffixes of a difference cover are sorted. A difference cover is a set ``D`` of
  residues modulo ``v`` such that each residue is a difference of two of them. So for any two
  positions there is a distance below ``v`` at which both are in ``D``, and two suffixes with ``v``
  common bases compare as the ranks at that distance do::

      v = 8, D = {0, 1, 2, 4}
      residue     0 1 2 3 4 5 6 7   0 1 2 3 4 5 6 7
      in D        * * *   *         * * *   *
      i = 3             i . . . . . . *                at distance 7, i and k are at residues
      k = 5                 k . . . . . . *            2 and 4, which are both in D

- ``"splitters"``: random suffixes split the sorted order into ranges, and the suffixes of each
  range are counted. A block is a run of ranges with at most ``block_rows`` suffixes together;
- ``"blocks"``: the suffixes of each block are collected from the text and sorted; ``n_done`` of
  ``n_total`` rows are done.

``needed_bytes(n_symbols, block_rows, cover_bits)`` is the peak memory, without the text.

References
----------
Kärkkäinen 2007 (suffixes sorted block by block), doi:10.1016/j.tcs.2007.07.018; Burkhardt,
Kärkkäinen 2003 (difference covers for suffixes), doi:10.1007/3-540-44888-8_5; Colbourn, Ling 2000
(covers of few residues), doi:10.1016/S0020-0190(00)00080-6; Jiang, Pei
2013 (the BWT in parallel, by blocks of a prefix) and Zhao, Yin, Xiong 2012 (likewise, packed keys),
doi:10.1109/BMEI.2012.6513199; Larsson, Sadakane 2007 (doubling), doi:10.1016/j.tcs.2007.07.017;
Nong, Zhang, Chan 2011 (induction), doi:10.1109/TC.2010.188.
"""

from functools import cache

import numpy as np

STAGES = ("partition", "blocks", "ties", "induction")
BLOCK_STAGES = ("cover", "splitters", "blocks")
COVER_BITS = range(6, 12)
N_LARGE = 2**32 - 1


def row_dtype(n_symbols: int) -> type[np.unsignedinteger | np.signedinteger]:
    """Return the dtype of text positions and rows: uint32, or int64 from 2^32 - 1 symbols on."""
    return np.uint32 if n_symbols < N_LARGE else np.int64


def make_cover(cover_bits: int) -> np.ndarray:
    """Return a difference cover modulo ``2**cover_bits``, in ascending order from 0; int64 (n,).

    After Colbourn and Ling: with 6 r + 4 residues for up to 24 r^2 + 36 r + 13.
    """
    v, r = 1 << cover_bits, 0
    while 24 * r * r + 36 * r + 13 < v:
        r += 1
    gaps = [1] * r + [r + 1] + [2 * r + 1] * r + [4 * r + 3] * (2 * r + 1)
    gaps += [2 * r + 2] * (r + 1) + [1] * r
    return np.unique(np.append(0, np.cumsum(gaps)) % v)


def count_in_cover(n_symbols: int, cover_bits: int) -> int:
    """Return the number of text positions at residues of a cover."""
    residues = make_cover(cover_bits)
    n_whole, n_rest = divmod(n_symbols, 1 << cover_bits)
    return n_whole * len(residues) + int(np.searchsorted(residues, n_rest))


@cache
def cover_tables(cover_bits: int) -> tuple[np.ndarray, ...]:
    """Return the residues of a cover, and four tables indexed by residue; each int64.

    The tables are: the index of a residue in the cover, or -1; for each difference, the first of
    two residues in the cover with that difference; the distance from each residue to a residue in
    the cover; and the number of that distance among the few different ones.
    """
    residues, v = make_cover(cover_bits), 1 << cover_bits
    places, deltas = np.full(v, -1, np.int64), np.empty(v, np.int64)
    places[residues] = np.arange(len(residues))
    first, second = np.meshgrid(residues, residues, indexing="ij")
    deltas[(second - first).ravel() % v] = first.ravel()
    return residues, places, deltas, *_distances(residues, v)


def _distances(residues: np.ndarray, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a distance from each residue into the cover, and its number."""
    is_in = np.zeros(v, bool)
    is_in[residues] = True
    reached = np.lib.stride_tricks.sliding_window_view(np.tile(is_in, 2), v)[:v]
    offsets, classes = np.full(v, -1, np.int64), np.full(v, -1, np.int64)
    # Residues without a distance that each distance would take into the cover.
    n_left = np.full(v, len(residues))
    for number in range(v):
        if not n_left.any():
            break
        best = int(np.argmax(n_left))
        taken = (offsets < 0) & reached[:, best]
        offsets[taken], classes[taken] = best, number
        n_left -= reached[taken].sum(axis=0)
    return offsets, classes
