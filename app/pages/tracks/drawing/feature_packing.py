"""Assigns rows and label space to the features of a track."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.plots.annotation_rows import LETTER_PIXELS
from genoviz_app.plots.feature_rows import GAP_PIXELS, first_fit_rows

MAX_LETTERS = 28
MAX_HIDDEN = 0.3
STRANDS = {1: " ›", -1: " ‹", 0: ""}


@dataclass(frozen=True, eq=False)
class View:
    """The visible interval of a contig: ``start`` to ``end`` bp, ``width`` pixels wide."""

    contig: str
    start: float
    end: float
    width: int

    @property
    def bp_per_pixel(self) -> float:
        """Bases per pixel."""
        return (self.end - self.start) / max(self.width, 1)


@dataclass(frozen=True)
class RowStyle:
    """Row pitch and box height, px, and whether labels are below the boxes."""

    pitch: int
    box: int
    has_names: bool


STYLES = (RowStyle(24, 9, True), RowStyle(12, 9, False), RowStyle(7, 5, False))
"""From the most readable to the most compact style."""
ROOMY = RowStyle(24, 18, False)
"""For few rows without labels."""


@dataclass(frozen=True, eq=False)
class Packing:
    """Rows of the features in a window somewhat wider than the view."""

    key: tuple
    features: np.ndarray
    rows: np.ndarray
    are_named: np.ndarray
    style: RowStyle

    @property
    def hidden_share(self) -> float:
        """Fraction of the features without room."""
        return float((self.rows < 0).mean()) if len(self.rows) else 0.0


@dataclass(eq=False)
class Packer:
    """Assigns rows to the features of one track.

    Rows are computed for windows on a fixed grid, so features keep their rows while the view is
    dragged.
    """

    _packing: Packing | None = field(default=None, repr=False)

    def find(self, table: FeatureTable, own: tuple[str, int], view: View, height: float) -> Packing:
        """Return rows for the features in a window around a view, for a lane ``height`` px high."""
        # Round the scale, because dragging changes its last digits and must not repack.
        scale = 2 ** (round(8 * math.log2(max(view.bp_per_pixel, 1e-3))) / 8)
        span = scale * max(view.width, 1)
        place = math.floor(view.start / span)
        key = (id(table), own, place, round(math.log2(scale) * 8), view.width, round(height))
        if self._packing is not None and self._packing.key == key:
            return self._packing
        contig, shift = own
        low, high = int((place - 1) * span) + shift, int((place + 3) * span) + shift
        found = table.rows_within(contig, low, high)
        lefts = (table.intervals.starts[found] - low) / scale
        rights = (table.intervals.ends[found] - low) / scale
        letters = np.array([len(label_of(table, row)) for row in found.tolist()], np.int64)
        for style in STYLES if letters.any() else STYLES[1:]:
            name_rights = lefts + LETTER_PIXELS * letters * style.has_names
            spare = 0 if style.has_names else style.pitch - style.box
            n_rows = max(int((height + spare) // style.pitch), 1)
            # Adjacent features without labels share a row, as in chromatin state tracks.
            minimum = lefts + 1 if style.has_names else rights
            box_gap = 1.0 if style.has_names else 0.0
            rows, are_named = first_fit_rows(
                lefts, np.maximum(rights, minimum), name_rights,
                n_rows=n_rows, gap=GAP_PIXELS if style.has_names else 0.0, box_gap=box_gap,
            )  # fmt: skip
            are_named &= (letters > 0) & style.has_names
            is_roomy = not style.has_names and (rows.max(initial=0) + 1) * ROOMY.pitch <= height
            style = ROOMY if is_roomy else style
            self._packing = Packing(key, found, rows, are_named, style)
            if self._packing.hidden_share < MAX_HIDDEN / 3:
                break
        return self._packing


def label_of(table: FeatureTable, row: int) -> str:
    """Return the label below a feature: its truncated name, and its strand."""
    name = table.name_of(row)
    if len(name) > MAX_LETTERS:
        name = name[: MAX_LETTERS - 1] + "…"
    strands = table.intervals.strands
    return name + (STRANDS[int(strands[row])] if strands is not None and name else "")
