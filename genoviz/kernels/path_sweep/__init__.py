"""Sweeps over paths: every step moves with the one a jump ahead, in the order of memory.

The force is that of path-guided SGD (`genoviz.kernels.path_sgd`): two points *a* and *b* of a path
move towards the distance *d* that they have along it, by ``min(1, eta / max(d, 1))`` of what is
missing, half of it each. SGD draws its pairs; a sweep takes them all, so that no joint is left out
by chance, and reads two streams of memory in order::

    jump 3     record   0   1   2   3   4   5   6   7   8   9  closing
                        a-----------b
                            a-----------b
                                a-----------b      ... to the end of each path, path by path

With ``jump`` 0 every record draws a jump of its own, log-uniform from 1 to the end of the path, on
either side with probability 1/2: as many jumps of 1 to 2 as of 1,000 to 2,000 records. A path's
loops need that: one jump for all of a sweep pulls them as one piece.

Records come in two kinds. Those of *steps* are those of path-guided SGD: either end of the node,
by a coin for each. Those of *points* name a node's end, point 2i + e, and leave others of the path
out (``place`` puts these where they belong)::

    all points of a path    o--o-----o---o--o------o---o----o       o has a level of its own
    of level >= 1           o--------o----------------------o
    place(level 0)             ^         ^  ^      ^   ^            by bp between their neighbours

Arguments of ``sweep``
----------------------
=============== ======================== =======================================================
points          float64 (n_points, 2)    bp; changed in place
records         uint32 (n_records, 2)    handle or point, and position (bp), path by path; a record
                or (n_records, 4)        (CLOSING, path length) ends each path; of four words, they
                                         are two 64-bit numbers, low word first
path_starts     int64 (n_paths + 1,)     first record of each path; every path has >= 2 records
                                         before its closing one
block_paths     int32                    path of record 1024 k, for each k
                (n_records / 1024,)
jump            int                      records from a to b; 0 draws one for each record
eta             float                    learning rate, bp
has_ends        bool                     whether records are steps
first, stop     int                      records that are a, first <= a < stop
seed            uint64                   names the coins and the drawn jumps
n_workers       int                      threads; on a CPU each has a part of the records
=============== ======================== =======================================================

Arguments of ``place``
----------------------
As far as they are not those above:

=============== ======================== =======================================================
is_placed       int32 (n_points,)        whether a point has its place; changed in place. Where
                                         paths differ about a point, one of them places it: on a
                                         CPU the first
levels          int8 (n_points,)         how coarse a view of the paths still has a point
level           int                      points of this level are placed, by those above it; the
                                         first and the last point of every path lie above it
noise           float                    how far from the line between its neighbours a point may
                                         lie, as a share of their distance along the path; so
                                         alleles do not cover each other
first_path,     int                      paths whose points are placed
stop_path
=============== ======================== =======================================================

Workers of ``sweep`` run without locks (Hogwild): a move can be lost when two meet on a point. With
one worker on a CPU the same seed gives the same bits.

References
----------
Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (path-guided SGD);
Zheng et al. 2019, doi:10.1109/TVCG.2018.2859997 (SGD for stress with a falling rate);
Niu et al. 2011, arXiv:1106.5730 (Hogwild).
"""

BLOCK_BITS = 10
CLOSING = 0xFFFFFFFF
SHORTEST_WEIGHED = 1.0
