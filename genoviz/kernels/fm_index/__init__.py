"""FM-index: find the rows of the suffix array that begin with a k-mer, and their text positions.

A text has ``n_symbols`` symbols: A C G T and exceptions. An exception matches nothing. The rows
are the sorted suffixes. Exceptions are smaller than A, and of two exceptions the later one is the
smaller, so rows 0 to ``n_exceptions - 1`` begin with the exceptions, from the last to the first.
The BWT symbol of row ``r`` is the symbol before its suffix; the text is circular, so the symbol
before the first one is the last one. Backward search (Ferragina & Manzini) reads a k-mer from its
last base to its first. Let the rows ``[first, last)`` begin with the bases read so far. The next
base ``c`` gives ``first = next_row(c, first)``, ``last = next_row(c, last)``, where
``next_row(c, r)`` is the number of rows that begin with a symbol below ``c``, plus the number of
``c`` in the BWT before row ``r``.

TA in GATTACA, which ends with the exception ``$``; the search starts from the rows of A::

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
                                      the low bits, the high bits and the exception flags; row
                                      ``128 i + j`` is bit ``j % 64`` of word ``j // 64``. Other
                                      letters and the padding after the last row are exceptions
                                      with bits 0. On the CPU lines start at multiples of 64 bytes
super_shift      int                  a superblock is ``2**super_shift`` lines; at most
                                      ``SUPER_SHIFT``, so that 32 bits hold its counts
super_counts     int64                ``next_row(c, first row of superblock s)``; so
                 (n_super, 4)         ``super_counts[0, c]`` is the first row that begins with
                                      ``c``
exception_ids    int64                for each row whose BWT symbol is an exception, in order of
                 (n_exceptions,)      rows: the index of that exception
start_table      uint32 or int64      row range of each k-mer of ``table_k`` bases, the last base
                 (4**table_k, 2)      in the lowest bits; ``(0, 0)`` of absent ones;
                                      uint32 below 2^32 symbols
words            uint64 (m, n_words)  k-mers: word 0 has the last 32 bases, word 1 the 32 before,
                                      ...; the last base of a word in its lowest bits
lengths          int32 (m,)           bases of each k-mer: >= 1, at most ``32 n_words``
row_ranges       as start_table       out: rows ``[first, last)`` of each k-mer; ``(0, 0)``
                 (m, 2)               of absent ones
counts           int64 (m,)           out: rows that begin with each k-mer
symbols          uint8 (m,)           0 to 3 for A C G T
sets             uint8 (total,)       concatenated k-mers; each letter is a set of bases, the sum of
                                      A 1, C 2, G 4, T 8
set_ends         int64 (m,)           where each k-mer of ``sets`` ends
n_taken          int64 (m,)           letters of each k-mer read so far, from its last one
n_wanted         int64 (m,)           letters to be read in all, above ``n_taken``; all but the
                                      last of the new ones are single bases
branch_kmers     int64 (b,)           index in ``sets`` of the k-mer of each branch
branch_ranges    as start_table       row range of the letters read so far; all rows if there are
                 (b, 2)               none
branches         as start_table       out: row ranges of the letters wanted, one for each base of
                 (b, 4, 2)            the last one; ``(0, 0)`` if absent or not in the set
samples          uint32 or int64      text positions of rows 0, ``sample_rate``,
                 (-(-n // rate),)     ``2 * sample_rate``, ...; all of them at rate 1
sample_rate      int                  a power of two
rows             as row_ranges (m,)   rows to locate
positions        as samples (m,)      out: their text positions
================ ==================== ===========================================================

Functions
---------
``build_lines`` fills lines, super_counts and exception_ids. ``fill_start_table`` fills the table;
the length of the table gives ``table_k``. On the CPU, ``begin_lines``, ``add_lines`` and
``add_starts`` build the same arrays from consecutive slices of the suffix array.

``find_row_ranges`` searches whole k-mers. ``count_kmers`` returns only the number of rows. If
``sample_rate`` is 1, it may compare the rest of a k-mer with the text once a single row is left.
``extend_row_ranges`` does one step in place: each row range becomes that of its k-mer with one base
prepended, or ``(0, 0)``. ``extend_branches`` is for k-mers with degenerate letters: it reads single
bases and then one letter of several bases, which splits a row range into up to four.
``locate_rows`` walks to the nearest sampled row, or to an exception.

``invert_bwt`` reads the text backward from the BWT. Chain ``i`` begins at row ``chain_rows[i]``,
whose suffix is at ``chain_ends[i]`` (all int64). It writes
``symbols[chain_starts[i] : chain_ends[i]]`` (uint8, 4 for an exception) from the end to the start,
and sets ``chain_rows[i]`` to the row of the suffix at ``chain_starts[i]``. The step at the ``k``-th
exception of the BWT (from 0) goes to row ``n_exceptions - 1 - exception_ids[k]``, the row that
begins with this exception.

References
----------
Ferragina & Manzini 2005, Indexing compressed text, doi:10.1145/1082036.1082039.
"""

LINE_BITS = 7
SUPER_SHIFT = 24
