"""Canonical k-mers of letters, counted by sorting; and runs of counted ones merged.

A k-mer is a number of 2 bits a base, A C G T as 0 to 3, its first base in the highest bits. The
canonical one is the smaller of it and its reverse complement::

    G A T T A    10 00 11 11 00  =  0x23c
    T A A T C    11 00 00 11 01  =  0x30d     so GATTA stands for both

What is no base parts k-mers. To count more of them than memory holds, those are taken of which a
hash leaves ``part`` when divided by ``n_parts``, a power of two: the low bits of the upper half of
the k-mer times 2^64 over the golden ratio (Knuth 1998, *The Art of Computer Programming* 3, 6.4).

==============  =================================================================================
``room``         of ``make_room``: its ``letters``, uint8 on the host, are to be filled by the
                 caller; what else it has is the kernel's own
``k``            1 to 32
``keys``         uint64, (n,), ascending: different canonical k-mers
``counts``       int64, (n,): how often each is there
==============  =================================================================================

- ``make_room(n_letters)``: where up to so many letters are counted, again and again.
- ``count_kmers(room, n_letters, k, part, n_parts)``: ``keys, counts`` of the first letters.
- ``merge_counts(keys, counts, other_keys, other_counts)``: ``keys, counts`` of both.
- ``keep_part(keys, counts, part, n_parts)``: those of a part.
- ``tally_counts(counts)``: the different counts, ascending, and how many keys have each; int64
  both, on the host.
"""

import numpy as np

MAX_K = 32
CODES = bytes({65: 0, 67: 1, 71: 2, 84: 3, 85: 3}.get(letter & ~32, 4) for letter in range(256))
"""2-bit codes of letters A C G T U, small ones too; 4 for what is no base."""

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
HASH_SHIFT = np.uint64(40)
