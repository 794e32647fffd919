"""Views of paths with fewer and fewer points, and back: points put between those of a view.

A view keeps some points of each path and leaves the others out; a point is a node's end, 2i + e.
Records come in two kinds, as in `genoviz.kernels.path_sweep`: those of *steps*, with both ends of
their node, and those of *points*. Work is shared out by blocks of 1024 records::

    steps            block 0 ........ | block 1 ........ | block 2 ...
    choose           o   o     o    o    o    o    o       o    o        one in each ``spacing`` bp
    count, fill      o o o o | o o o | o o                               a view, path by path
    place              ^   ^     ^    by bp between its neighbours       what the view left out
    link, follow       ^   ^     ^    the same again and again, from a list of neighbours

``choose`` gives points a level on every path: its first, its last, and one in each ``spacing`` bp
since the one before or since the block began; what another path has chosen already serves too.
Blocks of one call are chosen at the same time, so that paths on which nothing is chosen yet should
not all be in one call.

Arguments
---------
============ ======================== ==========================================================
paths        tuple                    records, path_starts, block_paths: a plain tuple of
records      uint32 (n_records, 2)    as for `genoviz.kernels.path_sweep`
             or (n_records, 4)
path_starts  int64 (n_paths + 1,)     first record of each path
block_paths  int32 (n_blocks,)        path of record 1024 k, for each k
has_ends     bool                     whether records are steps
levels       int8 (n_points,)         how coarse a view still has a point; ``choose`` changes it
level        int                      that of the view
spacing      float                    bp
first_block, int                      blocks that are worked on
stop_block
counts       int64 (n_blocks,)        ``count`` writes: records of the view, closing ones too
offsets      int64 (n_blocks,)        records of the view before those of each block
found,       as records, path_starts  the view; ``fill`` writes them, except for found_starts[0]
found_starts
points       float64 (n_points, 2)    bp; changed in place
is_placed    int32 (n_points,)        whether a point has its place; changed in place. Where
                                      paths differ about a point, one of them places it: with one
                                      worker on a CPU the first
noise        float                    how far from the line between its neighbours a point may
                                      lie, as a share of their distance along the path; so
                                      alleles do not cover each other
seed         uint64                   names the noise
links        int32 (n_points, 2)      ``link`` writes, where a point is placed: its neighbours
shares       float32 (n_points, 3)    likewise: how far it is from the first to the second, and
                                      what is added to x and y (noise), bp
followers    int32 (n_followers,)     points with links; none follows another one of them
first, stop  int                      records whose points are placed, or followers
n_workers    int                      threads of the CPU
============ ======================== ==========================================================

``place`` puts points of exactly ``level`` between those above it; the first and the last point of
every path lie above it. ``link`` takes ``is_placed`` as ``place`` does, and ``follow`` then puts
points where ``place`` would, but for rounding. Where workers of a CPU meet at a point that two
paths have, its links may be one of each: they are for pictures. With one worker on a CPU all
results are the same bits each time.

References
----------
Harel and Koren 2002, doi:10.7155/jgaa.00051 (multi-scale layout).
"""
