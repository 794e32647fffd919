"""Coarser and coarser views of paths, and the way back: place points between those of a view.

A view keeps some points of each path and leaves out the others; a point is a node's end, 2i + e.
As in `genoviz.kernels.path_sweep`, there are two kinds of records: *steps*, with both ends of their
node, and *points*. Blocks of 1024 records are the units of parallel work::

    steps            block 0 ........ | block 1 ........ | block 2 ...
    choose           o   o     o    o    o    o    o       o    o        one in each ``spacing`` bp
    count, fill      o o o o | o o o | o o                               a view, path by path
    place              ^   ^     ^    by bp between its neighbours       points left out of the view
    link, follow       ^   ^     ^    the same repeatedly, from a list of neighbours

``choose`` gives a level to points on every path: the first, the last, and one in each ``spacing``
bp since the previous one or since the start of the block. Points already chosen on another path
count too. Blocks of one call are chosen in parallel, so split paths without any chosen points over
several calls.

Arguments
---------
============ ======================== ==========================================================
paths        tuple                    records, path_starts, block_paths: a plain tuple of
records      uint32 (n_records, 2)    as for `genoviz.kernels.path_sweep`
             or (n_records, 4)
path_starts  int64 (n_paths + 1,)     first record of each path
block_paths  int32 (n_blocks,)        path of record 1024 k, for each k
has_ends     bool                     whether records are steps
levels       int8 (n_points,)         coarsest view that keeps a point; ``choose`` changes it
level        int                      that of the view
spacing      float                    bp
first_block, int                      range of blocks to work on
stop_block
counts       int64 (n_blocks,)        ``count`` writes: records of the view, with closing ones
offsets      int64 (n_blocks,)        records of the view before those of each block
found,       as records, path_starts  the view; ``fill`` writes them, except for found_starts[0]
found_starts
points       float64 (n_points, 2)    bp; changed in place
is_placed    int8 (n_points,)         whether a point is placed; changed in place. If a point is
                                      on several paths, one of them places it: with one worker
                                      on a CPU the first
noise        float                    maximum distance of a point from the line between its
                                      neighbours, relative to their distance along the path; it
                                      keeps alleles from covering each other
seed         uint64                   seed of the noise
links        int32 (n_points, 2)      ``link`` writes for placed points: the two neighbours
shares       float32 (n_points, 3)    likewise: relative place from the first to the second, and
                                      the noise added to x and y, bp
followers    int32 (n_followers,)     points with links; none is linked to another of them
stride       int                      ``count_visits`` reads one record in ``stride``
n_visits     int32 (n_points,)        of each point (of steps: of each node); zero at first
totals       int64 (2,)               zero at first: all visits, and pairs of visits of one point
first, stop  int                      range of records to place, or of followers
n_workers    int                      threads of the CPU
============ ======================== ==========================================================

The number of points is even: both ends of each node. ``place`` puts points of exactly ``level``
between those of higher levels; the first and the last point of every path have a higher level.
``link`` treats ``is_placed`` as ``place`` does, and ``follow`` then puts points where ``place``
would, up to rounding. If CPU workers meet at a point of two paths, its two links may come from
different paths: they serve pictures only. With one worker on a CPU, all results are bitwise
reproducible.

References
----------
Harel and Koren 2002, doi:10.7155/jgaa.00051 (multi-scale layout).
"""
