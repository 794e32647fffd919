"""Labelled boxes, packed into rows without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LETTER_PIXELS = 6.4
GAP_PIXELS, LABEL_OFFSET = 6.0, 4


@dataclass(frozen=True, eq=False)
class AnnotationBoxes:
    """The annotations of one path, in any order.

    Attributes
    ----------
    starts, ends
        int64, shape (n,), bp of the path.
    names
        Label of each box; may be "".
    colours
        ``#rrggbb`` of each box.
    details
        Longer descriptions for the tooltip.
    """

    starts: np.ndarray
    ends: np.ndarray
    names: Sequence[str] = ()
    colours: Sequence[str] = ()
    details: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.starts)


NO_BOXES = AnnotationBoxes(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class PackedBoxes:
    """The boxes to draw, with their rows.

    Attributes
    ----------
    boxes
        int64: indices of the placed boxes.
    rows
        int64: row of each placed box, from 0.
    n_in_view
        Number of boxes in the interval, including those without a place.
    label_starts
        float64, bp: where each label begins, before `LABEL_OFFSET` pixels are added.
    """

    boxes: np.ndarray
    rows: np.ndarray
    n_in_view: int
    label_starts: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of used rows."""
        return int(self.rows.max(initial=-1)) + 1


def pack_boxes(
    boxes: AnnotationBoxes,
    start: float,
    end: float,
    *,
    width: int,
    n_rows: int,
    limit: int = 400,
) -> PackedBoxes:
    """Assign rows to the boxes between ``start`` and ``end``, the longest first.

    Parameters
    ----------
    width
        Width of the drawing, px. A label that does not fit into its box goes to the right of it, or
        to the left at the end of the drawing.
    n_rows
        Number of rows.
    limit
        Maximum number of boxes to place.
    """
    in_view = np.flatnonzero((boxes.starts < end) & (boxes.ends > start))
    lengths = boxes.ends[in_view] - boxes.starts[in_view]
    longest = in_view[np.argsort(-lengths, kind="stable")[:limit]]
    bp_per_pixel = max(end - start, 1e-9) / max(width, 1)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(n_rows)]
    placed, labels = [], []
    for box in longest.tolist():
        left, right, label = _pixels(boxes, box, start, bp_per_pixel, width)
        for row, spans in enumerate(taken):
            if all(right <= other_left or left >= other_right for other_left, other_right in spans):
                spans.append((left, right))
                placed.append((box, row))
                labels.append(start + label * bp_per_pixel)
                break
    table = np.array(placed, np.int64).reshape(-1, 2)
    return PackedBoxes(table[:, 0], table[:, 1], len(in_view), np.array(labels, np.float64))


def _pixels(
    boxes: AnnotationBoxes, box: int, start: float, bp_per_pixel: float, width: int
) -> tuple[float, float, float]:
    """Return both ends of a box with its label, and where the label begins, px."""
    left = max((float(boxes.starts[box]) - start) / bp_per_pixel, 0.0)
    right = (float(boxes.ends[box]) - start) / bp_per_pixel
    letters = len(boxes.names[box])
    name = letters * LETTER_PIXELS + LABEL_OFFSET if letters else 0.0
    if min(right, width) - left >= name:
        return left, right + GAP_PIXELS, left
    if right + name <= width:
        return left, right + name + GAP_PIXELS, right
    if left >= name + LABEL_OFFSET:
        label = left - name - LABEL_OFFSET
        return label, right + GAP_PIXELS, label
    return left, max(right, left + name) + GAP_PIXELS, left
