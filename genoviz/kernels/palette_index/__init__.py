"""Map images of unsigned numbers to palette indices, instead of to a colour per pixel.

==============  =================================================================================
``image``       uint32, (height, width): counts or ordered keys
``lowest``      the smallest number that counts as a value; smaller ones are ignored
``levels``      uint32, (n_levels,), ascending, n_levels <= 255: lower bound of each index
``indices``     uint8, (height, width): number of levels at or below the pixel's number
``line_width``  pixels, 1 to ``MAX_LINE_WIDTH``: diameter of the disc drawn for a pixel
==============  =================================================================================

- ``image_range(image, lowest)``: minimum, maximum and number of the pixels at or above
  ``lowest``; ``(0, 0, 0)`` without any.
- ``used_numbers(image, lowest, n_used, n_wanted)``: the numbers of the ``n_used`` pixels at or
  above ``lowest``, in order, on the host; every k-th from the first one on, with the smallest k
  that gives at most ``n_wanted``.
- ``apply_levels(image, levels)``: ``indices``.
- ``spread(indices, line_width)``: each pixel gets the largest index in the disc around it.
- ``stamp(indices, image, index, line_width)``: sets ``index`` in the discs around all nonzero
  pixels of ``image``, in place.
"""

from __future__ import annotations

MAX_LINE_WIDTH = 9


def disc_rows(line_width: int) -> list[tuple[int, int, int]]:
    """Return the disc of a line width as rows ``(dy, first dx, last dx)``.

    A disc of even width extends one pixel further towards larger x and y. The radius is slightly
    reduced, so that width 3 is a plus, and slanted lines do not look heavier than level ones.
    """
    low, high = -((line_width - 1) // 2), line_width // 2
    middle, radius = (low + high) / 2, line_width / 2 - 0.1
    rows = []
    for dy in range(low, high + 1):
        columns = [
            dx for dx in range(low, high + 1) if (dx - middle) ** 2 + (dy - middle) ** 2 < radius**2
        ]
        rows.append((dy, columns[0], columns[-1]))
    return rows
