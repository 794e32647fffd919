"""Path stress: the difference between distances in a layout and along the paths.

For two different steps *s*, *t* of a path and an end of each, with ``d`` the distance of these
ends along the path (bp) and ``D`` their distance in the layout, one term is ``((D - d) / d)^2``.
Terms with ``d = 0`` (the joint of neighbouring steps) are skipped. A path of one step has one
term: its node's own two ends.

``sum_all_pairs`` sums the terms of unordered pairs and all four combinations of ends, one sum for
each row: step *s* against the later steps at most ``longest`` further on. ``sum_samples`` draws
terms. Sample ``k`` draws a path by its share, then a jump from ``shortest`` to ``longest`` and a
start such that both steps are in the path (uniform over such pairs), and two random bits. The
random numbers are ``mix(key + (2 k + 1) * 0x9E3779B97F4A7C15)`` and the next ones (SplitMix64), so
both backends draw the same terms.

Arguments
---------
=============== ======================== =======================================================
points          float64 (2 n_nodes, 2)   bp; point 2i + e is end e of node i
records         uint32 (n_records, 2)    handle and position (bp) of each step, path by path; a
                or (n_records, 4)        closing record (CLOSING, path length) ends each path; of
                                         four words, they are two 64-bit numbers, low word first
path_starts     int64 (n_paths + 1,)     first record of each path; every path has >= 1 step
block_paths     int32                    path of record 1024 k, for each k
first, stop     int                      records ``[first, stop)``, whose rows are summed
longest         int                      longest jump: steps between the two of a pair
shortest        int                      shortest jump to draw, 1 or more
paths           int64 (n_drawn,)         paths to draw from: of one step, or more than ``shortest``
shares          float64 (n_drawn,)       cumulative share of draws up to each path; the last is 1
first_sample    int                      number of the first sample, a multiple of
                                         SAMPLES_PER_CHUNK; a long sample is drawn in slices
n_samples       int                      number of terms to draw from there on
key             int                      64-bit seed of the sample
values          float32 (n_kept,)        filled with the first terms drawn, NaN where skipped
=============== ======================== =======================================================

References
----------
Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
"""

SAMPLES_PER_CHUNK = 1 << 16
