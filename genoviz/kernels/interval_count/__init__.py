"""Interval counts: the number of subjects that each query overlaps.

With half-open intervals, query ``i`` overlaps
``#(starts < query_ends[i]) - #(ends <= query_starts[i])`` subjects: those that begin before its
end, minus those that have ended by its start. So starts and ends are sorted separately, and no
pairs are formed; here are 3 - 1 = 2 overlaps::

    x         1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
    subjects  [--------)     [-----------)        [-----)
                 [--------------)
    query                 [-----------)
    starts    1  2           6                    13      3 are below the end, 9
    ends               4        7        10             15   1 is not above the start, 5

The methods differ in how they compute the two numbers for all queries.

Arguments
---------
============== ================= ==============================================================
query_starts,  uint32 or int64   linear coordinates: >= 0, groups (contigs, strands) in disjoint
query_ends     (n,)              ranges; a query or subject that never counts is (0, 0) or
starts,        uint32 or int64   (top, top), where ``top`` is beyond all others. All four arrays
ends           (m,)              have one dtype; int64 stays below 2^62
method         str               one of ``METHODS``, or ``"auto"`` for the fastest
============== ================= ==============================================================

``measure_cover`` returns int64 (2, n): the bases of all subjects inside each query, with
multiplicity, and the bases covered by at least one. Subjects must have a length; they are in any
order, and their starts and ends may have another dtype than the queries'.

``iter_count_overlaps`` and ``iter_measure_cover`` return the same as generators: about once a
second they yield the amounts of work done and in all. Where slices end does not change results.

``count_overlaps`` returns int32 (n,), or int64 from 2^31 subjects on. All methods return the same.

- ``"sweep"``: sort the 2 (n + m) endpoints into one array, with ends before starts at equal
  coordinates. Two prefix sums count the subjects started and ended. A query's count is the first
  at its end minus the second at its start. Blocks of the sorted array are summed in parallel.
- ``"merge"``: sort starts, ends and queries separately, the queries packed with their numbers;
  then merge each with its counterpart, in blocks. On the GPU this is ``"search"``.
- ``"search"``: sort starts and ends, and divide the coordinates into equal cells. A table holds the
  index at which each cell begins; a query is looked up in its cell. Queries are not sorted.

``"sweep"`` and ``"merge"`` pack a coordinate, a bit and a number into one integer, so
``packed_bits`` may be at most ``MAX_PACKED_BITS``.

The CPU module also has ``sort_arrays``, ``iter_sort_arrays`` and ``order_of`` for analyses: sorted
copies of long arrays, and their argsort. They have no CUDA twin.

References
----------
Marzolla et al. 2024, Parallel intersection counting on shared-memory multiprocessors and GPUs,
doi:10.1016/j.future.2024.05.039 (``"sweep"``). Layer et al. 2013, Binary Interval Search,
doi:10.1093/bioinformatics/bts652 (the formula).
"""

METHODS = ("sweep", "merge", "search")
MAX_PACKED_BITS = 63


def packed_bits(top: int, n_queries: int, n_subjects: int) -> int:
    """Return the bits of a coordinate up to ``top``, one more bit, and an interval's number."""
    return top.bit_length() + 1 + (n_queries + n_subjects).bit_length()
