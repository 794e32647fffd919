"""Oracle: the pixels that a segment touches, one at a time, by the rules of Datashader."""

from __future__ import annotations

import math


def touched_pixels(segment, view, width, height):
    """Return the pixels (row, column) that a segment touches, in order.

    Parameters
    ----------
    segment
        x0, y0, x1, y1.
    view
        x_min, x_max, y_min, y_max.
    """
    clipped = clip(*(float(number) for number in segment), *view)
    if clipped is None:
        return []
    x_scale, y_scale = width / (view[1] - view[0]), height / (view[3] - view[2])
    ends = []
    for x, y in (clipped[:2], clipped[2:]):
        column = int(x * x_scale + -view[0] * x_scale)
        row = int(y * y_scale + -view[2] * y_scale)
        column -= column == round(view[1] * x_scale + -view[0] * x_scale)
        row -= row == round(view[3] * y_scale + -view[2] * y_scale)
        ends.append((column, row))
    return [(row, column) for column, row in line_pixels(*ends[0], *ends[1])]


def clip(x0, y0, x1, y1, x_min, x_max, y_min, y_max):
    """Return the part of a segment in a box, or None, by the Liang-Barsky algorithm."""
    if not all(map(math.isfinite, (x0, y0, x1, y1))):
        return None
    dx, dy, t0, t1 = x1 - x0, y1 - y0, 0.0, 1.0
    for p, q in ((-dx, x0 - x_min), (dx, x_max - x0), (-dy, y0 - y_min), (dy, y_max - y0)):
        if p == 0 and q < 0:
            return None
        if p < 0:
            t0 = max(t0, q / p)
        elif p > 0:
            t1 = min(t1, q / p)
        if t0 > t1:
            return None
    start = (x0 + t0 * dx, y0 + t0 * dy) if t0 > 0 else (x0, y0)
    end = (x0 + t1 * dx, y0 + t1 * dy) if t1 < 1 else (x1, y1)
    return (*start, *end)


def line_pixels(x0, y0, x1, y1):
    """Return the pixels of a line; ties go to the larger coordinate along the line."""
    dx, dy = x1 - x0, y1 - y0
    n_steps = max(abs(dx), abs(dy))
    if n_steps == 0:
        return [(x0, y0)]
    forward = (dx if abs(dx) >= abs(dy) else dy) > 0
    pixels = []
    for step in range(n_steps + 1):
        aside = 2 * step * min(abs(dx), abs(dy)) + n_steps - (not forward)
        aside //= 2 * n_steps
        long_x = abs(dx) >= abs(dy)
        x_steps, y_steps = (step, aside) if long_x else (aside, step)
        pixels.append((x0 + math.copysign(x_steps, dx), y0 + math.copysign(y_steps, dy)))
    return [(int(x), int(y)) for x, y in pixels]
