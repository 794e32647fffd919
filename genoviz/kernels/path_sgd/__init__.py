"""Path-guided stochastic gradient descent: move node ends until path distances fit.

One update takes two steps *a* and *b* of one path and an end of each (a coin), and moves the two
node ends towards the distance that they have along the path::

    d  = |position_a - position_b|            bp, 1e-9 where both ends are one joint
    mu = min(1, eta / max(d, 1))
    p_a, p_b move by mu (|p_a - p_b| - d) / 2 along the line that joins them

So a pair acts like a spring whose length at rest is the distance along the path::

    path     ===a===>==...==>===b===>        layout     a o----> . . . <----o b     too far apart
                |<---- d bp --->|                       a o<-- -- -- -- ---->o b    too near

A joint has the weight of a distance of 1 bp, so it comes to rest when eta falls below 1. With the
weight 1 / 1e-9, as in odgi, a joint keeps jumping to the end, and its neighbours stay torn (path
stress of the RHCE region 0.018 instead of 0.03 to 0.11, of HLA-DRB1 0.068 instead of 0.070, of C4
0.350 instead of 0.347).

*a* is a uniform step of all paths. In the *cooling* branch, *b* is a Zipf-distributed number of
steps away; in the other branch, *b* is a uniform step of the path. Before cooling starts, each
branch has probability 1/2.

Updates come in *bursts*: ``window`` neighbouring steps share branch, direction and jump ``z``, so
both sides of a burst are contiguous in memory. Steps ``a_i`` run from the drawn step in the
direction opposite to the jump, in runs of ``z`` steps with gaps of ``z``, so that no step occurs
twice in a burst. Here step 10 was drawn, with the jump 3 forward and a window of 6::

    step         2  3  4  5  6  7  8  9 10 11 12 13
                 a  a  a  b  b  b  a  a  a  b  b  b
    update       6  5  4  6  5  4  3  2  1  3  2  1

The marginal distribution of a pair is that of single updates, which ``window=1`` makes. Each worker
draws from its own SplitMix64 stream, whose state persists between calls: with one worker, a run
split into any calls makes the same updates.

Arguments
---------
=============== ======================== =======================================================
points          float64 (2 n_nodes, 2)   bp; changed in place; point 2i + e is end e of node i
paths           tuple                    records, path_starts, block_paths
zipf            tuple                    zeta, zipf_factor, theta, exact_space
space           int                      longest jump of the cooling branch, steps
eta             float                    learning rate, bp
is_cooling      bool                     whether every update takes the cooling branch
n_updates       int                      updates to make; bursts may overshoot by < window each
states          uint64 (n_workers,)      random state of each worker; advanced in place
window          int                      updates in a burst, 1 to 32
=============== ======================== =======================================================

``paths`` and ``zipf``, plain tuples
=============== ======================== =======================================================
records         uint32 (n_records, 2)    handle and position (bp) of each step, path by path; a
                or (n_records, 4)        closing record (CLOSING, path length) ends each path; of
                                         four words, they are two 64-bit numbers, low word first
path_starts     int64 (n_paths + 1,)     first record of each path; every path has >= 2 steps
block_paths     int32                    path of record 1024 k, for each k
                (n_records / 1024,)
zeta            float64                  generalised harmonic numbers, see ``zipf_tables``
zipf_factor     float64                  the factor of Gray's method that goes with ``zeta``
theta           float                    Zipf exponent, below 1
exact_space     int                      ``zeta`` has every n up to here, every 100th above
=============== ======================== =======================================================

Workers run without locks (Hogwild): a move can be lost when two workers meet at a point.

References
----------
Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (algorithm);
Li et al. 2024, doi:10.1109/SC41406.2024.00035 (GPU);
Gray et al. 1994, doi:10.1145/191839.191886 (Zipf sampling);
Steele et al. 2014, doi:10.1145/2660193.2660195 (SplitMix64);
Niu et al. 2011, arXiv:1106.5730 (Hogwild).
"""

ZETA_STEP = 100
SHORTEST_WEIGHED = 1.0
