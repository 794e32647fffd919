"""Find the segments that touch at least one of several boxes.

================  ==============================================================================
``coordinates``   float64, (n, 2, 2), C order: ``[segment, end, axis]``; a segment with a coordinate
                  that is not finite touches nothing; finite ones are below 2^1022
``boxes``         float64, (n_blocks, 4): the box around each block of ``BLOCK_SIZE`` consecutive
                  segments, as ``segment_raster`` makes them
``views``         float64, (n_views, 4): ``x_min, y_min, x_max, y_max`` of each view, on the host;
                  its border is part of it
``limit``         maximum number of segments to return
================  ==============================================================================

- ``visible_segments(coordinates, boxes, views, limit)``: int64, on the host, ascending: the first
  ``limit`` segments that touch a view.
- ``count_visible(coordinates, boxes, views)``: the number of segments that touch a view.

A segment touches a box if neither an axis nor the segment's normal separates them (the separating
axis theorem, Ericson 2004, Real-Time Collision Detection, section 5.2.1).
"""

BLOCK_SIZE = 1024
