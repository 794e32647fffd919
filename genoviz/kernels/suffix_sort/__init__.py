"""Suffix sorting: the exact suffix array of a text of A C G T and exceptions.

Suffixes are parted into blocks by their first bases, and each block is sorted by keys of packed
bases, which hold as many bases as fit beside a position in 64 bits. What such keys leave tied is
sorted by what follows, so that the order is exact, however long repeats are.

An exception (a run of other letters, the end of a contig) is smaller than A, and of two exceptions
the later one in the text is smaller. So all suffixes differ, the first rows are the exceptions
from the last to the first, and the last symbol, an exception, needs no sentinel after it.

Arguments
---------
============ ================= ================================================================
packed       uint64            two bits a symbol (A C G T: 0 to 3), 32 a word, the first one in
             (n // 32 + 2,)    the highest bits; exceptions and what follows the text are 0
n_symbols    int               n >= 0, exceptions included
exceptions   int64 (m,)        text positions, ascending; n - 1 is one of them
suffix_array ``row_dtype(n)``  is filled: the position at which each suffix begins, smallest
             (n,)              suffix first
============ ================= ================================================================

``iter_sort_suffixes`` is a generator of ``(stage, n_done, n_total, n_tied)``; the array is complete
when it ends, and it returns how many suffixes each block had, int64 ``(n_blocks,)``. Each step is
short enough that a job may show it or end between two. ``stage`` is one of ``STAGES``; a backend
may leave some out:

- ``"partition"``: suffixes are counted and parted by their first bases;
- ``"blocks"``: blocks are sorted by packed bases. ``n_total`` suffixes are sorted in all, and
  ``n_tied`` of the ``n_done`` are not yet apart from a neighbour;
- ``"ties"``: a round of refinement of the tied ones: ``n_done`` of ``n_total`` rounds or suffixes
  are done, ``n_tied`` suffixes of those sorted in the blocks are left;
- ``"induction"``: where only some suffixes were sorted in blocks, the places of all others
  follow from theirs.

References
----------
Kärkkäinen 2007 (suffixes sorted block by block), doi:10.1016/j.tcs.2007.07.018; Jiang, Pei (the
BWT in parallel, by blocks of a prefix) and Zhao, Yin, Xiong 2012 (likewise, packed keys),
doi:10.1109/BMEI.2012.6513199; Larsson, Sadakane 2007 (doubling), doi:10.1016/j.tcs.2007.07.017;
Nong, Zhang, Chan 2011 (induction), doi:10.1109/TC.2010.188.
"""

import numpy as np

STAGES = ("partition", "blocks", "ties", "induction")
N_LARGE = 2**32 - 1


def row_dtype(n_symbols: int) -> type[np.unsignedinteger | np.signedinteger]:
    """Return the dtype of text positions and rows: uint32, or int64 from 2^32 - 1 symbols on."""
    return np.uint32 if n_symbols < N_LARGE else np.int64
