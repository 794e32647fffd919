"""Sweeps over paths: every step moves with the one a jump ahead, in the order of memory.

The force is that of path-guided SGD (`genoviz.kernels.path_sgd`): two points *a* and *b* of a path
move towards the distance *d* that they have along it, by ``min(1, eta / max(d, 1))`` of what is
missing, half of it each. SGD draws its pairs; a sweep takes them all, so that no joint is left out
by chance, and reads two streams of memory in order::

    jump 3     record   0   1   2   3   4   5   6   7   8   9  closing
                        a-----------b
                            a-----------b
                                a-----------b      ... to the end of each path, path by path

With ``jump`` 0 every record draws a jump of its own from 1 to the end of the path, on either side
with probability 1/2 and even on a log scale: as many of 1 to 2 as of 1,000 to 2,000 records. A
path's loops need that: one jump for all of a sweep pulls them as one piece.

Jumps are even on a log scale that is straight between powers of two, as the bits of a float64 are
(`struct.unpack("q", struct.pack("d", room + 1))` is its logarithm but for a factor and a constant):
no logarithm need be taken.

Records come in two kinds. Those of *steps* are those of path-guided SGD: either end of the node,
by a coin for each. Those of *points* name a node's end, point 2i + e, and leave others of the path
out, as `genoviz.kernels.path_views` makes them.

A CPU thread goes along four stretches of 128 records in turns: two pairs of one stretch share a
point, so that each must wait for the one before, and a processor computes pairs of the others
meanwhile::

    record      0 .. 127   128 .. 255   256 .. 383   384 .. 511
    moved as    1 5 9 ..   2 6 10 ..    3 7 11 ..    4 8 12 ..

Arguments
---------
=============== ======================== =======================================================
points          float64 (n_points, 2)    bp; changed in place
paths           tuple                    records, path_starts, block_paths: a plain tuple of
records         uint32 (n_records, 2)    handle or point, and position (bp), path by path; a record
                or (n_records, 4)        (CLOSING, path length) ends each path; of four words, they
                                         are two 64-bit numbers, low word first
path_starts     int64 (n_paths + 1,)     first record of each path; every path has >= 2 records
                                         before its closing one
block_paths     int32                    path of record 1024 k, for each k
                (n_records / 1024,)
strips          int32 (n_strips,)        which 512 records each, record 512 k on, in the order in
                                         which they are swept
jumps           int64 (n_sweeps,)        of each sweep, records from a to b; 0 draws one for each
                                         record. In NumPy on each backend, as the next two
etas            float64 (n_sweeps,)      of each sweep, learning rate, bp
seeds           uint64 (n_sweeps,)       of each sweep, names the coins and the drawn jumps
has_ends        bool                     whether records are steps
every           int                      a sweep goes over one of ``strips`` in so many, from
                                         number ``seed % every`` on; 1 for all. Where points are
                                         on many paths, one sweep need not go over all
first, stop     int                      which of ``strips`` have the records that are a: all, or a
                                         slice, after which the next goes on with the sweep
n_workers       int                      threads; on a CPU each has a part of the records
=============== ======================== =======================================================

Workers run without locks (Hogwild): a move can be lost when two meet on a point. One sweep ends
before the next begins. With one worker on a CPU the same seeds give the same bits.

Several devices sweep strips of their own on copies of the points. ``merge`` makes the copies alike
again: each point comes to lie where the device has it that has moved it farthest. That is the one
in whose part it lies, for the others only meet it with long jumps. (Their mean would take half of
what that one has mended, and their sum would mend as often as there are devices what all of them
have mended, so that layouts burst.) Each device merges a share of the points, whose rows are

=============== ======================== =======================================================
points          float64 (n, 2)           of the device's own copy; changed in place
others          float64 (n_others, n, 2) of the other copies
before          float64 (n, 2)           of all copies when they were alike; becomes ``points``
=============== ======================== =======================================================

References
----------
Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (path-guided SGD);
Zheng et al. 2019, doi:10.1109/TVCG.2018.2859997 (SGD for stress with a falling rate);
Niu et al. 2011, arXiv:1106.5730 (Hogwild).
"""

LANES, LANE_RECORDS = 4, 128
SHORTEST_WEIGHED = 1.0
