"""Path stress: how far the distances in a layout are from those along the paths.

For two different steps *s*, *t* of a path and an end of each, with ``d`` the distance of these
ends along the path (bp) and ``D`` their distance in the layout, one term is ``((D - d) / d)^2``.
Terms with ``d = 0`` (the joint of neighbouring steps) are skipped. A path of one step has one
term: its node's own two ends.

``sum_all_pairs`` sums the terms of all unordered pairs and all four combinations of ends, one sum
for each row (step *s* against all later steps). ``sum_samples`` draws terms: sample ``k`` takes
*s* uniformly from all steps, *t* uniformly from the other steps of its path, and two coins, all
from ``mix(key + (2 k + 1) * 0x9E3779B97F4A7C15)`` and ``mix(key + (2 k + 2) * ...)`` (SplitMix64),
so both backends draw the same terms.

Arguments
---------
=============== ======================== =======================================================
points          float64 (2 n_nodes, 2)   bp; point 2i + e is end e of node i
records         uint32 (n_records, 2)    handle and position (bp) of each step, path by path; a
                or (n_records, 4)        closing record (CLOSING, path length) ends each path; of
                                         four words, they are two 64-bit numbers, low word first
path_starts     int64 (n_paths + 1,)     first record of each path; every path has >= 1 step
block_paths     int32                    path of record 1024 k, for each k
first, stop     int                      the records whose rows are summed: from first to stop - 1
first_sample    int                      number of the first sample, a multiple of
                                         SAMPLES_PER_CHUNK; a long sample is drawn in slices
n_samples       int                      terms to draw from there on
key             int                      64 bits that name the seed
values          float32 (n_kept,)        filled with the first terms drawn, NaN where skipped
=============== ======================== =======================================================

References
----------
Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
"""

BLOCK_BITS = 10
CLOSING = 0xFFFFFFFF
SAMPLES_PER_CHUNK = 1 << 16
