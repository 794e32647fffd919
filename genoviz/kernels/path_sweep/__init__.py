"""Sweeps over paths: each step is moved with the one a jump ahead, in memory order.

The force is that of path-guided SGD (`genoviz.kernels.path_sgd`). Let *d* be the distance of two
points *a* and *b* along a path. Each point moves half of ``min(1, eta / max(d, 1))`` times the
difference between their distance in the layout and *d*. SGD draws random pairs; a sweep visits all
of them, so it leaves no joint out by chance, and reads two streams of memory in order::

    jump 3     record   0   1   2   3   4   5   6   7   8   9  closing
                        a-----------b
                            a-----------b
                                a-----------b      ... to the end of each path, path by path

With ``jump`` 0, each record draws its own jump, from 1 to the end of the path, on either side with
probability 1/2. Jumps are log-uniform: those of 1 to 2 records are as frequent as those of 1,000 to
2,000. Loops of a path need this: one jump for the whole sweep would pull a loop as one piece.

The log scale is linear between powers of two, like the bits of a float64
(`struct.unpack("q", struct.pack("d", room + 1))` is its logarithm up to a factor and a constant),
so no logarithm is computed.

There are two kinds of records. Records of *steps* are those of path-guided SGD: a random bit
chooses either end of the node. Records of *points* name one end of a node, point 2i + e; the other
points of the path are left out, as `genoviz.kernels.path_views` makes them.

A CPU thread interleaves four stretches of 128 records. Consecutive pairs of a stretch share a
point, so each depends on the one before; the processor overlaps pairs of different stretches::

    record      0 .. 127   128 .. 255   256 .. 383   384 .. 511
    order       1 5 9 ..   2 6 10 ..    3 7 11 ..    4 8 12 ..

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
strips          int32 (n_strips,)        strips of 512 records each, strip k from record 512 k on,
                                         in the order in which they are swept
jumps           int64 (n_sweeps,)        of each sweep, records from a to b; 0 draws one for each
                                         record. In NumPy on each backend, as the next two
etas            float64 (n_sweeps,)      of each sweep, learning rate, bp
seeds           uint64 (n_sweeps,)       of each sweep, seed of the random bits and drawn jumps
has_ends        bool                     whether records are steps
every           int                      a sweep visits one in ``every`` strips, starting with
                                         number ``seed % every``; 1 for all. If points are on many
                                         paths, one sweep can skip some
first, stop     int                      slice of ``strips`` with the records that are a: all, or
                                         a part, after which the next slice continues the sweep
n_workers       int                      threads; on a CPU each has a part of the records
=============== ======================== =======================================================

Workers run without locks (Hogwild): a move can be lost when two workers meet at a point. A sweep
ends before the next one begins. With one worker on a CPU, the same seeds give the same bits.

Several devices sweep strips of their own on copies of the points. ``merge`` makes the copies equal
again: each point takes its place from the device that has moved it farthest. That is the device
whose part contains the point; the others reach it by long jumps only. (The mean would halve each
correction. The sum would apply shared corrections once per device, and layouts would diverge.) Each
device merges a share of the points:

=============== ======================== =======================================================
copies          list of float64 (n, 2)   this share of each device's copy, in the same order on all
                                         devices; changed in place. Devices of GPUs must be able to
                                         reach each other's memory, or be given nearby copies
before          float64 (n, 2)           points at the last merge, equal on all devices; becomes
                                         ``copies``
levels          int8 (n,)                coarsest level that has each point
level           int                      that of the sweeps, which move the points of this and of
                                         coarser levels; others are left as they are
=============== ======================== =======================================================

References
----------
Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (path-guided SGD);
Zheng et al. 2019, doi:10.1109/TVCG.2018.2859997 (SGD for stress with a falling rate);
Niu et al. 2011, arXiv:1106.5730 (Hogwild).
"""

LANES, LANE_RECORDS = 4, 128
SHORTEST_WEIGHED = 1.0
