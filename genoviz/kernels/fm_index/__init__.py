"""FM-index: which rows of the suffix array begin with a k-mer, and where they are in the text.

A text has ``n_symbols`` symbols: A C G T and exceptions, which match nothing. Its rows are its
suffixes in order; exceptions are the smallest symbols, and of two the later one is the smaller. So
rows 0 to ``n_exceptions - 1`` begin with the exceptions from the last to the first. Row ``r`` has
in the BWT the symbol before its suffix; before the first symbol of the text comes the last one.
Backward search (Ferragina & Manzini) takes a k-mer from its last base to its first; with the rows
``[first, last)`` that begin with what was taken and ``c`` the next base,
``first = next_row(c, first)``, ``last = next_row(c, last)``, where ``next_row(c, r)`` is the number
of rows that begin with a symbol below ``c`` plus the number of ``c`` in the BWT before ``r``.

TA in GATTACA, whose end is the exception ``$``; first the rows of A are known::

    row  suffix    BWT
     0   $          A
     1   A$         C   first = 1      6 rows begin with $, A, C or G, and no T is in the BWT
     2   ACA$       T                  before row 1: TA begins at row 6 + 0
     3   ATTACA$    G
     4   CA$        A   last = 4       one T is in the BWT before row 4: TA ends at row 6 + 1
     5   GATTACA$   $
     6   TACA$      T   the row of TA
     7   TTACA$     A

Arguments
---------
================ ==================== ===========================================================
index            tuple                lines, super_counts, super_shift
text             tuple                packed, exceptions, samples, sample_rate
kmers            tuple                sets, set_ends, n_taken, n_wanted
packed           uint64               the text, 32 symbols a word, the first in the highest bits;
                 (n // 32 + 2,)       exceptions and what is beyond the text are 0
n_symbols        int                  symbols of the text, with exceptions; the last one is one
exceptions       int64                text positions of the exceptions, ascending
                 (n_exceptions,)
suffix_array     uint32 or int64      text position of each row
                 (n_symbols,)
lines            uint64               line ``i``: the BWT of rows ``128 i`` to ``128 i + 127``, and
                 (n // 128 + 1, 8)    counts before them. Words: ``A | C << 32``, ``G | T << 32``
                                      (counts since the superblock began), then two words each of
                                      the low bits, of the high bits and of "is an exception"; row
                                      ``128 i + j`` is bit ``j % 64`` of word ``j // 64``. What is
                                      no base, and what is beyond the last row, is an exception
                                      with bits 0. On the CPU lines start at multiples of 64 bytes
super_shift      int                  a superblock is ``2**super_shift`` lines; at most
                                      ``SUPER_SHIFT``, so that 32 bits hold its counts
super_counts     int64                ``next_row(c, first row of superblock s)``; so
                 (n_super, 4)         ``super_counts[0, c]`` is the first row that begins with
                                      ``c``
exception_ids    int64                which exception comes before the suffix of each row whose
                 (n_exceptions,)      BWT symbol is one, in the order of these rows
start_table      uint32 or int64      first and last row of each k-mer of ``table_k`` bases, its
                 (4**table_k, 2)      last base in the lowest bits; ``(0, 0)`` of absent ones;
                                      uint32 below 2^32 symbols
words            uint64 (m, n_words)  k-mers: word 0 has the last 32 bases, word 1 the 32 before,
                                      ...; the last base of a word in its lowest bits
lengths          int32 (m,)           bases of each k-mer: >= 1, at most ``32 n_words``
row_ranges       as start_table       out: first and last row of each k-mer, half-open; ``(0, 0)``
                 (m, 2)               of absent ones
counts           int64 (m,)           out: rows that begin with each k-mer
symbols          uint8 (m,)           0 to 3 for A C G T
sets             uint8 (total,)       k-mers one after the other, each letter the set of bases that
                                      it stands for: A 1, C 2, G 4, T 8 in the sum
set_ends         int64 (m,)           where each k-mer of ``sets`` ends
n_taken          int64 (m,)           letters of each k-mer, from its last one, that were taken
n_wanted         int64 (m,)           how many are to be taken, above ``n_taken``; all of these but
                                      the last one stand for one base
branch_kmers     int64 (b,)           which k-mer of ``sets`` a branch is of
branch_ranges    as start_table       rows that begin with the letters taken; all rows where none
                 (b, 2)               are
branches         as start_table       out: likewise with the letters wanted, by the base that the
                 (b, 4, 2)            last of these is; ``(0, 0)`` of those absent or not in the set
samples          uint32 or int64      text positions of rows 0, ``sample_rate``,
                 (-(-n // rate),)     ``2 * sample_rate``, ...; all of them at rate 1
sample_rate      int                  a power of two
rows             as row_ranges (m,)   rows to locate
positions        as samples (m,)      out: their text positions
================ ==================== ===========================================================

Functions
---------
``build_lines`` fills lines, super_counts and exception_ids. ``fill_start_table`` fills the table
for the number of bases that its length says. On the CPU ``begin_lines``, ``add_lines`` and
``add_starts`` fill all of these for some rows after the others. ``find_row_ranges`` searches whole
k-mers;
``count_kmers`` does so for the number of rows alone, and may compare the rest of a k-mer with the
text, by ``samples`` at rate 1, when one row is left. ``extend_row_ranges`` does one step: in place,
each range of rows becomes that of its k-mer with a base before it, or ``(0, 0)``.
``extend_branches`` is for k-mers that stand for several: it takes letters of one base, and then one
of several, at which a range of rows becomes up to four. ``locate_rows`` walks to the nearest
sampled row, or to an exception.

``invert_bwt`` reads the text backward from the BWT. Chain ``i`` begins at row ``chain_rows[i]``,
whose suffix is at ``chain_ends[i]`` (all int64), and writes
``symbols[chain_starts[i] : chain_ends[i]]`` (uint8, 4 for an exception), last first;
``chain_rows[i]`` becomes the row of the suffix at ``chain_starts[i]``. The row before an exception
is that which begins with it: ``n_exceptions - 1 - exception_ids[k]`` after ``k`` others.

References
----------
Ferragina & Manzini 2005, Indexing compressed text, doi:10.1145/1082036.1082039.
"""

LINE_BITS = 7
SUPER_SHIFT = 24
