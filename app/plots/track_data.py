"""Where the parts of a path track stand, and the columns that its glyphs are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.graph.query.path_profile import PathBins
from genoviz_app.plots.annotation_rows import AnnotationBoxes, PackedBoxes

STRAND_PIXELS, ROW_PIXELS, VIEW_PIXELS, GAP = 7, 15, 4, 5
TOP_GAP, LEAST_FLOOR = 8, 10
ROWS_SHARE = 0.56

Columns = dict[str, Any]


@dataclass(frozen=True)
class Places:
    """Heights in pixels from below: annotations, then the strand, then depth, then the view.

    Attributes
    ----------
    height
        Of the whole drawing.
    floor
        Where the strand begins; annotations are below it.
    """

    height: float
    floor: float

    @classmethod
    def in_height(cls, height: float, n_rows: int) -> Places:
        """Return the places in a drawing of that height with so many rows of annotations."""
        return cls(height, max(n_rows * ROW_PIXELS + GAP, LEAST_FLOOR))

    @property
    def base(self) -> float:
        """Where depth begins."""
        return self.floor + STRAND_PIXELS + GAP

    @property
    def top(self) -> float:
        """Where the largest depth is drawn."""
        return max(self.height - VIEW_PIXELS - TOP_GAP, self.base + 10)

    def depth_scale(self, bins: PathBins) -> float:
        """Return pixels per step of depth, so that the deepest bin fits."""
        return (self.top - self.base) / max(float(bins.depth_max.max(initial=1)), 1.0)


def max_rows(height: float) -> int:
    """Return how many rows of annotations there is room for."""
    return max(int((height * ROWS_SHARE - GAP) // ROW_PIXELS), 1)


def depth_data(bins: PathBins, places: Places) -> Columns:
    """Return an unseen box for each bin, with its numbers for the tooltip."""
    n = len(bins.depth_mean)
    return {
        "left": bins.edges[:-1],
        "right": bins.edges[1:],
        "bottom": np.full(n, places.floor),
        "top": np.full(n, places.height),
        "depth": bins.depth_mean,
        "depth_min": bins.depth_min,
        "depth_max": bins.depth_max,
        "reverse": 100 * bins.reverse_share,
    }


def curve_data(bins: PathBins, places: Places, scale: float) -> Columns:
    """Return mean, smallest and largest depth as steps, two points for each bin."""
    return {
        "x": np.repeat(bins.edges, 2)[1:-1],
        "base": np.full(2 * len(bins.depth_mean), places.base),
        "low": places.base + scale * np.repeat(bins.depth_min, 2),
        "mean": places.base + scale * np.repeat(bins.depth_mean, 2),
        "high": places.base + scale * np.repeat(bins.depth_max, 2),
    }


def strand_data(bins: PathBins, places: Places) -> Columns:
    """Return a box for each bin, with its share of reverse bases."""
    return {
        "left": bins.edges[:-1],
        "right": bins.edges[1:],
        "top": np.full(len(bins.depth_mean), places.floor + STRAND_PIXELS),
        "bottom": np.full(len(bins.depth_mean), places.floor),
        "reverse": bins.reverse_share,
    }


def box_data(boxes: AnnotationBoxes, packed: PackedBoxes, places: Places, start: float) -> Columns:
    """Return the annotations that found a place; a name begins where its box comes into view."""
    chosen = packed.boxes.tolist()
    top = places.floor - GAP - packed.rows * ROW_PIXELS
    lefts = boxes.starts[packed.boxes]
    return {
        "left": lefts,
        "right": boxes.ends[packed.boxes],
        "top": top,
        "bottom": top - ROW_PIXELS + 3,
        "label_x": np.maximum(lefts, start),
        "label_y": top - ROW_PIXELS / 2 + 1,
        "name": [boxes.names[box] for box in chosen],
        "colour": [boxes.colours[box] for box in chosen],
        "detail": [boxes.details[box] for box in chosen],
    }


def view_data(
    stretches: np.ndarray, places: Places, shown: tuple[float, float], width: int
) -> Columns:
    """Return the stretches that the picture shows; those a pixel apart are drawn as one."""
    start, end = shown
    inside = stretches[(stretches[:, 1] > start) & (stretches[:, 0] < end)].astype(float)
    gap = (end - start) / max(width, 1)
    if len(inside):
        begins = np.append(True, inside[1:, 0] - inside[:-1, 1] > gap)
        ends = np.append(begins[1:], True)
        inside = np.stack([inside[begins, 0], inside[ends, 1]], axis=1)
    n = len(inside)
    return {
        "left": inside[:, 0],
        "right": inside[:, 1],
        "top": np.full(n, places.height),
        "bottom": np.full(n, places.height - VIEW_PIXELS),
        "floor": np.zeros(n),
    }
