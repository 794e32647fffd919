"""Count canonical k-mers of letters, within a number of distinct k-mers.

A k-mer is an integer of 2 bits a base, A C G T as 0 to 3, the first base in the highest bits. The
canonical k-mer is the smaller of a k-mer and its reverse complement::

    G A T T A    10 00 11 11 00  =  0x23c
    T A A T C    11 00 00 11 01  =  0x30d     so GATTA stands for both

Other letters separate k-mers. To count more k-mers than fit in memory, a part takes those whose
hash is ``part`` modulo ``n_parts``, a power of two. The hash is the low bits of the upper half of
the k-mer times 2^64 over the golden ratio (Knuth 1998, *The Art of Computer Programming* 3, 6.4).

==============  =================================================================================
``room``         of ``make_room``: the caller fills its ``letters``, uint8 on the host; the rest
                 is private to the kernel
``k``            1 to 32
``keys``         uint64, (n,), ascending: distinct canonical k-mers
``counts``       int64, (n,): occurrences of each
==============  =================================================================================

- ``make_room(n_letters, k, max_keys)``: room for so many letters at a time, and so many keys.
- ``collect_kmers(room, n_letters, part, n_parts)``: take the k-mers of the first letters. Returns
  the number of parts: it doubles whenever there are too many keys, and only those of the part of
  the same number are kept.
- ``count_collected(room, part, n_parts)``: count all k-mers collected; returns the same.
- ``keep_part(room, part, n_parts)``: drop all keys but those of a part.
- ``list_counts(room)``: ``counts`` in any order.
- ``sort_counts(room)``: ``keys, counts``. This and ``list_counts`` free the room's memory: the room
  cannot be used afterwards.
- ``tally_counts(counts)``: the distinct counts, ascending, and the number of keys with each; int64
  both, on the host.
"""

import numpy as np

MAX_K = 32
CODES = bytes({65: 0, 67: 1, 71: 2, 84: 3, 85: 3}.get(letter & ~32, 4) for letter in range(256))
"""2-bit codes of letters A C G T U in either case; 4 for other letters."""

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
HASH_SHIFT = np.uint64(40)
