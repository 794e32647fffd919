"""Features of a figure: boxes in rows, lines through their blocks, and names below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genoviz.analyses.figures.panels import FeaturePanel
from genoviz.analyses.figures.parts import Box, Line, Part, Text, text_width

ROW, PLAIN_ROW, BOX, NAME_SIZE, GAP = 23.0, 12.0, 8.0, 10.0, 5.0
MAX_LETTERS = 28
STRANDS = {1: " >", -1: " <", 0: ""}


def feature_parts(
    panel: FeaturePanel,
    top: float,
    height: float,
    to_x: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    scale: float,
    ink: str,
) -> tuple[list[Part], int]:
    """Return what is drawn of features, and how many have no room.

    Parameters
    ----------
    top, height
        The strip, pixels.
    to_x
        Function from bp to pixels.
    bounds
        Left and right end of the plot, pixels.
    """
    left, right = bounds
    starts, ends = to_x(panel.starts), to_x(panel.ends)
    seen = np.flatnonzero((ends >= left) & (starts <= right))
    has_names = len(panel.names) > 0
    row_height = (ROW if has_names else PLAIN_ROW) * scale
    n_rows = max(int(height / row_height), 1)
    box_free, name_free = [-np.inf] * n_rows, [-np.inf] * n_rows
    parts: list[Part] = []
    n_hidden = 0
    for row in seen.tolist():
        x0, x1 = max(float(starts[row]), left), min(float(ends[row]), right)
        x1 = max(x1, x0 + 0.75 * scale)
        label = _label(panel, row)
        size = NAME_SIZE * scale
        name_width = text_width(label, size) if label else 0.0
        free = [k for k in range(n_rows) if box_free[k] <= x0]
        if not free:
            n_hidden += 1
            continue
        named = next((k for k in free if label and name_free[k] <= x0), -1)
        at = named if named >= 0 else free[0]
        box_free[at] = x1 + (GAP if named >= 0 else 1.0) * scale
        y = top + at * row_height
        parts.extend(_boxes(panel, row, y, (x0, x1), to_x, bounds, scale))
        if named >= 0 and x0 + name_width <= right:
            name_free[at] = x0 + name_width + GAP * scale
            parts.append(Text(x0, y + (BOX + 10.5) * scale, label, size, ink))
    return parts, n_hidden


def _label(panel: FeaturePanel, row: int) -> str:
    name = panel.names[row] if len(panel.names) else ""
    if not name or name == ".":
        return ""
    if len(name) > MAX_LETTERS:
        name = name[: MAX_LETTERS - 3] + "..."
    return name + (STRANDS[int(panel.strands[row])] if panel.strands is not None else "")


def _boxes(
    panel: FeaturePanel,
    row: int,
    y: float,
    extent: tuple[float, float],
    to_x: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    scale: float,
) -> list[Part]:
    colour = panel.colours[row] if panel.colours is not None else panel.colour
    blocks = panel.blocks_of(row)
    parts: list[Part] = []
    if len(blocks) > 1:
        middle = y + BOX * scale / 2
        parts.append(Line(extent[0], middle, extent[1], middle, scale, colour))
    lefts, rights = (np.clip(to_x(blocks[:, side]), *bounds) for side in (0, 1))
    for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
        width = max(right - left, 0.75 * scale)
        if right > bounds[0] and left < bounds[1]:
            parts.append(Box(left, y, width, BOX * scale, colour))
    return parts
