"""Longest common prefixes: the number of bases that each suffix shares with the previous row.

Arguments
---------
============ ================= ================================================================
packed       uint64            two bits a symbol (A C G T: 0 to 3), 32 a word, the first one in
             (n // 32 + 2,)    the highest bits; exceptions and what follows the text are 0
n_symbols    int               n >= 0, exceptions included
exceptions   int64 (m,)        text positions, ascending; n - 1 is one of them
suffix_array uint32 or int64   the sorted suffixes (``genoviz.kernels.suffix_sort``)
             (n,)
============ ================= ================================================================

``longest_common_prefixes`` returns uint32 (n,): the number of common bases of the suffixes of rows
``i - 1`` and ``i``, 0 for row 0. Exceptions match nothing. Lengths saturate at 2^32 - 1.

References
----------
Kärkkäinen, Manzini, Puglisi 2009, Permuted longest-common-prefix array,
doi:10.1007/978-3-642-02441-2_17.
"""
