"""Find the segment nearest to a point.

================  ==============================================================================
``coordinates``   float64, (n, 2, 2), C order: ``[segment, end, axis]``; a segment with a coordinate
                  that is not finite is never the nearest
``boxes``         float64, (n_blocks, 4): the box around each block of ``BLOCK_SIZE`` consecutive
                  segments, as ``segment_raster`` makes them; boxes of an earlier time hide
                  segments that have left theirs
``aim``           the point, and how distances are measured, as an :class:`Aim`
================  ==============================================================================

``nearest_segment(coordinates, boxes, aim)`` returns the number of the nearest segment, the lowest
one on ties, and its distance; -1 and inf if none is near enough.
"""

from __future__ import annotations

from typing import NamedTuple

BLOCK_SIZE = 1024


class Aim(NamedTuple):
    """A point, how far a segment may be, and units along x and y.

    Differences in x are multiplied by ``x_scale`` before they become a distance, those in y by
    ``y_scale``. Of each segment only the part with ``x_low <= x <= x_high`` counts.
    """

    x: float
    y: float
    max_distance: float
    x_scale: float
    y_scale: float
    x_low: float
    x_high: float
