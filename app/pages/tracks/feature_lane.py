"""Features of a track in packed rows, with names, exons and strands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.plots.annotation_rows import LETTER_PIXELS
from app.plots.feature_rows import first_fit_rows, hex_colours
from app.plots.lane_data import FIRST_BASE, INNER_GAP
from app.track_features import FeatureTable

MAX_BOXES, MAX_BLOCKS = 2000, 6000
NAMED_ROW, PLAIN_ROW, BOX_PIXELS = 24, 12, 9
MAX_LETTERS = 28
STRANDS = {1: " ›", -1: " ‹", 0: ""}
SIGNS = {1: "forward", -1: "reverse", 0: ""}

Columns = dict[str, Any]


@dataclass(frozen=True, eq=False)
class View:
    """What is seen of a contig: from ``start`` to ``end`` bp, ``width`` pixels wide."""

    contig: str
    start: float
    end: float
    width: int

    @property
    def bp_per_pixel(self) -> float:
        """Bases of a pixel."""
        return (self.end - self.start) / max(self.width, 1)


@dataclass(frozen=True, eq=False)
class Packing:
    """Rows of the features of a window somewhat wider than the view."""

    key: tuple
    features: np.ndarray
    rows: np.ndarray
    are_named: np.ndarray
    has_names: bool


@dataclass(eq=False)
class FeatureLane:
    """Draws the features of one track.

    Rows are chosen for windows that do not move with the view, so that features stay in their
    rows while the view is dragged.
    """

    _packing: Packing | None = field(default=None, repr=False)

    def columns(
        self, table: FeatureTable, own: tuple[str, int], view: View, strip: tuple[float, float],
        colour: str,
    ) -> tuple[Columns, Columns, Columns, int]:  # fmt: skip
        """Return columns of boxes, lines and names, and how many features found no row.

        Parameters
        ----------
        own
            The table's name of the contig, and where base 0 of the shown one is on it.
        strip
            Top and bottom of the track, pixels from above.
        """
        top, bottom = strip
        packing = self._pack(table, own, view, bottom - top - 2 * INNER_GAP)
        _name, shift = own
        starts = table.intervals.starts[packing.features] - shift
        ends = table.intervals.ends[packing.features] - shift
        is_seen = (starts <= view.end) & (ends >= view.start)
        is_drawn = is_seen & (packing.rows >= 0)
        drawn = np.flatnonzero(is_drawn)
        rows = packing.features[drawn]
        pixels = NAMED_ROW if packing.has_names else PLAIN_ROW
        tops = top + INNER_GAP + packing.rows[drawn] * pixels
        lefts, rights = starts[drawn].astype(float), ends[drawn].astype(float)
        rights = np.maximum(rights, lefts + max(view.bp_per_pixel, 0.05))
        colours = [colour] * len(rows)
        if table.colours is not None:
            colours = [*hex_colours(table.colours[rows], colour)]
        boxes, stems = _boxes(table, rows, shift, lefts, rights, tops, colours)
        named = np.flatnonzero(packing.are_named[drawn])
        texts = [_label(table, row) for row in rows[named].tolist()]
        names = _names(texts, lefts[named], rights[named], tops[named], view)
        return boxes, stems, names, int(is_seen.sum() - len(drawn))

    def _pack(
        self, table: FeatureTable, own: tuple[str, int], view: View, height: float
    ) -> Packing:
        # Steps of the scale: what changes in the last digits while dragging is no zoom.
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
        rights = np.maximum((table.intervals.ends[found] - low) / scale, lefts + 1)
        letters = np.array([len(_label(table, row)) for row in found.tolist()], np.int64)
        has_names = bool((letters > 0).any())
        n_rows = max(int(height // (NAMED_ROW if has_names else PLAIN_ROW)), 1)
        rows, are_named = first_fit_rows(
            lefts, rights, lefts + LETTER_PIXELS * letters, n_rows=n_rows
        )
        self._packing = Packing(key, found, rows, are_named & (letters > 0), has_names)
        return self._packing


def _label(table: FeatureTable, row: int) -> str:
    name = table.name_of(row)
    if len(name) > MAX_LETTERS:
        name = name[: MAX_LETTERS - 1] + "…"
    strands = table.intervals.strands
    return name + (STRANDS[int(strands[row])] if strands is not None and name else "")


def _boxes(
    table: FeatureTable,
    rows: np.ndarray,
    shift: int,
    lefts: np.ndarray,
    rights: np.ndarray,
    tops: np.ndarray,
    colours: list[str],
) -> tuple[Columns, Columns]:
    """Return a box for each feature, or for each of its blocks with a line through them."""
    offsets = table.block_offsets
    n_blocks = np.diff(offsets)[rows] if offsets is not None else np.zeros(len(rows), np.int64)
    if int(n_blocks.sum()) > MAX_BLOCKS:
        n_blocks = np.zeros(len(rows), np.int64)
    of_feature = np.repeat(np.arange(len(rows)), np.maximum(n_blocks, 1))
    box_lefts, box_rights = lefts[of_feature], rights[of_feature]
    has_blocks = n_blocks > 0
    if has_blocks.any():
        blocks = np.concatenate([table.blocks_of(row) for row in rows[has_blocks].tolist()])
        is_block = has_blocks[of_feature]
        box_lefts[is_block], box_rights[is_block] = (blocks - shift).T
    details = [_detail(table, row) for row in rows.tolist()]
    names = [table.name_of(row) for row in rows.tolist()]
    chosen = of_feature.tolist()
    boxes = {
        "left": box_lefts + FIRST_BASE,
        "right": box_rights + FIRST_BASE,
        "top": tops[of_feature],
        "bottom": tops[of_feature] + BOX_PIXELS,
        "colour": [colours[i] for i in chosen],
        "name": [names[i] for i in chosen],
        "detail": [details[i] for i in chosen],
    }
    lined = np.flatnonzero(has_blocks)
    stems = {
        "x0": lefts[lined] + FIRST_BASE,
        "x1": rights[lined] + FIRST_BASE,
        "y": tops[lined] + BOX_PIXELS / 2,
        "colour": [colours[i] for i in lined.tolist()],
    }
    return boxes, stems


def _names(
    texts: list[str], lefts: np.ndarray, rights: np.ndarray, tops: np.ndarray, view: View
) -> Columns:
    """Return the names below their boxes, moved into view with them."""
    letter = LETTER_PIXELS * view.bp_per_pixel
    widths = letter * np.array([len(text) for text in texts], float)
    lasts = np.maximum(rights - widths, lefts)
    return {
        "x": np.clip(view.start, lefts, lasts) + FIRST_BASE,
        "y": tops + BOX_PIXELS + 8,
        "text": texts,
    }


def _detail(table: FeatureTable, row: int) -> str:
    """Return where a feature lies, for its tooltip; 1-based, both ends included."""
    found = table.intervals
    start, end = int(found.starts[row]), int(found.ends[row])
    parts = [f"{start + 1:,} to {end:,} ({end - start:,} bp)"]
    if found.strands is not None:
        parts.append(SIGNS[int(found.strands[row])])
    if found.scores is not None and not np.isnan(found.scores[row]):
        parts.append(f"score {found.scores[row]:g}")
    n_blocks = len(table.blocks_of(row))
    if n_blocks:
        parts.append(f"{n_blocks:,} blocks")
    return ", ".join(part for part in parts if part)
