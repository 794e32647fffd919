"""Interval counts: how many subjects each query overlaps.

With half-open intervals, query ``i`` overlaps
``#(starts < query_ends[i]) - #(ends <= query_starts[i])`` subjects: of those that begin before its
end, all but those that have ended by its start. So starts and ends are taken apart, each in
ascending order, and no pair is looked at; here are 3 - 1 = 2 overlaps::

    x         1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
    subjects  [--------)     [-----------)        [-----)
                 [--------------)
    query                 [-----------)
    starts    1  2           6                    13      3 are below the end, 9
    ends               4        7        10             15   1 is not above the start, 5

The methods differ in how they find the two numbers for all queries.

Arguments
---------
============== ================= ==============================================================
query_starts,  uint32 or int64   linear coordinates: >= 0, groups (contigs, strands) in disjoint
query_ends     (n,)              ranges; a query or subject that never counts is (0, 0) or
starts,        uint32 or int64   (top, top), where ``top`` is beyond all others. All four arrays
ends           (m,)              have one dtype; int64 stays below 2^62
method         str               one of ``METHODS``, or ``"auto"`` for the fastest
============== ================= ==============================================================

``measure_cover`` returns int64 (2, n): the bases of all subjects inside each query, overlaps of
subjects repeated, and those that at least one covers. It is given subjects that have a base, in
any order, whose starts and ends may be of another dtype than the queries'.

``iter_count_overlaps`` and ``iter_measure_cover`` return the same as generators: again and again
they yield how much of the work is done and how much there is, so that nobody waits for longer than
about a second without a sign. Where slices end changes no result.

``count_overlaps`` returns int32 (n,), or int64 where there are 2^31 subjects or more. All methods
return the same.

- ``"sweep"``: the 2 (n + m) endpoints in one sorted array, in which an end comes before a start at
  the same coordinate; two arrays of prefix sums over it, of subjects started and of subjects
  ended; a query's count is the first at its end less the second at its start. Blocks of the sorted
  array are summed up in parallel.
- ``"merge"``: starts and ends are sorted apart, and so are the queries, packed with their numbers;
  then each is merged with its counterpart, in blocks. On the GPU this is ``"search"``.
- ``"search"``: starts and ends are sorted, and a table of equal cells of the coordinates says where
  each cell begins in them; a query is looked up in its cell. Queries are not sorted.

``"sweep"`` and ``"merge"`` pack a coordinate, a bit and a number in one integer, so that
``packed_bits`` may be at most ``MAX_PACKED_BITS``.

The module of the CPU also has ``sort_arrays``, ``iter_sort_arrays`` and
``order_of``, which analyses use apart from the
counts: sorted copies of long arrays, and their rows in ascending order. They have no CUDA twin.

References
----------
Marzolla et al. 2024, Parallel intersection counting on shared-memory multiprocessors and GPUs,
doi:10.1016/j.future.2024.05.039 (``"sweep"``). Layer et al. 2013, Binary Interval Search,
doi:10.1093/bioinformatics/bts652 (the formula).
"""

METHODS = ("sweep", "merge", "search")
MAX_PACKED_BITS = 63


def packed_bits(top: int, n_queries: int, n_subjects: int) -> int:
    """Return the bits of a coordinate up to ``top`` with a bit and the number of an interval."""
    return top.bit_length() + 1 + (n_queries + n_subjects).bit_length()
