"""The segment nearest to a point.

================  ==============================================================================
``coordinates``   float64, (n, 2, 2), C order: ``[segment, end, axis]``; a segment with a coordinate
                  that is not finite is never the nearest
``boxes``         float64, (n_blocks, 4): the box around each block of ``BLOCK_SIZE`` consecutive
                  segments, as ``segment_raster`` makes them
``x``, ``y``      the point
``max_distance``  how far a segment may be; inf for any distance
================  ==============================================================================

``nearest_segment(coordinates, boxes, x, y, max_distance)`` returns the number of the nearest
segment, the lowest of several at the same distance, or -1.
"""

BLOCK_SIZE = 1024
