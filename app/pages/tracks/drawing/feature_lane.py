"""Features of a track in packed rows, with labels, exons and strands."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.tracks.drawing.feature_packing import MAX_HIDDEN, Packer, View, label_of
from genoviz_app.parts.words import n_words

MAX_BOXES, MAX_BLOCKS = 2000, 6000
INNER_GAP = 5
SIGNS = {1: "forward", -1: "reverse", 0: ""}


@dataclass(frozen=True, eq=False)
class PlacedFeatures:
    """Features to draw; positions in bp of the displayed contig.

    Attributes
    ----------
    rows
        int64, shape (n,): their row numbers in the table.
    lefts, rights
        int64, shape (n,).
    tops
        int64, shape (n,), pixels below the top of the lane.
    colours
        int32, shape (n,): 0xRRGGBB, -1 for the track's colour.
    strands
        int8, shape (n,).
    have_blocks
        bool, shape (n,): whether the feature is drawn as blocks on a line.
    owners, begins, stops
        int64, shape (n_boxes,): the feature of each box, and the box's start and end.
    names
        Features with room for a label, and the labels.
    box_pixels
        Height of the boxes.
    n_hidden
        Number of visible features without room.
    """

    rows: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    tops: np.ndarray
    colours: np.ndarray
    strands: np.ndarray
    have_blocks: np.ndarray
    owners: np.ndarray
    begins: np.ndarray
    stops: np.ndarray
    names: list[tuple[int, str]]
    box_pixels: int
    n_hidden: int


@dataclass(eq=False)
class FeatureLane:
    """Packs and places the features of one track."""

    _packer: Packer = field(default_factory=Packer, repr=False)

    def place(
        self,
        table: FeatureTable,
        own: tuple[str, int],
        view: View,
        bounds: tuple[int, int],
        height: float,
    ) -> PlacedFeatures | None:
        """Return the features that overlap ``bounds``; None if too many have no room.

        Parameters
        ----------
        own
            The table's name of the contig, and the position of the displayed contig's base 0 on it.
        bounds
            The interval to draw, bp.
        height
            Height of the lane, px.
        """
        packing = self._packer.find(table, own, view, height - 2 * INNER_GAP)
        if packing.hidden_share > MAX_HIDDEN:
            return None
        shift = own[1]
        starts = table.intervals.starts[packing.features] - shift
        ends = table.intervals.ends[packing.features] - shift
        is_seen = (starts <= view.end) & (ends >= view.start)
        n_hidden = int((is_seen & (packing.rows < 0)).sum())
        is_drawn = (starts <= bounds[1]) & (ends >= bounds[0]) & (packing.rows >= 0)
        drawn = np.flatnonzero(is_drawn)
        rows = packing.features[drawn]
        strands = table.intervals.strands
        named = np.flatnonzero(packing.are_named[drawn])
        return PlacedFeatures(
            rows,
            starts[drawn],
            ends[drawn],
            INNER_GAP + packing.rows[drawn] * packing.style.pitch,
            np.full(len(rows), -1, np.int32) if table.colours is None else table.colours[rows],
            np.zeros(len(rows), np.int8) if strands is None else strands[rows],
            *_boxes(table, rows, shift, starts[drawn], ends[drawn]),
            names=[(i, label_of(table, int(rows[i]))) for i in named.tolist()],
            box_pixels=packing.style.box,
            n_hidden=n_hidden,
        )


def _boxes(
    table: FeatureTable, rows: np.ndarray, shift: int, lefts: np.ndarray, rights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return which features have blocks, and owner, start and end of each box."""
    offsets = table.block_offsets
    n_blocks = np.diff(offsets)[rows] if offsets is not None else np.zeros(len(rows), np.int64)
    if int(n_blocks.sum()) > MAX_BLOCKS:
        n_blocks = np.zeros(len(rows), np.int64)
    owners = np.repeat(np.arange(len(rows)), np.maximum(n_blocks, 1))
    begins, stops = lefts[owners], rights[owners]
    have_blocks = n_blocks > 0
    if have_blocks.any():
        counts = n_blocks[have_blocks]
        firsts = np.repeat(offsets[rows[have_blocks]] - (np.cumsum(counts) - counts), counts)
        blocks = table.blocks[firsts + np.arange(int(counts.sum()))]
        is_block = have_blocks[owners]
        begins[is_block], stops[is_block] = (blocks - shift).T
    return have_blocks, owners, begins, stops


def describe_feature(table: FeatureTable, row: int) -> list[str]:
    """Describe a feature; positions are 1-based, both ends included."""
    found = table.intervals
    start, end = int(found.starts[row]), int(found.ends[row])
    parts = [f"{start + 1:,} to {end:,} ({end - start:,} bp)"]
    if found.strands is not None:
        parts.append(SIGNS[int(found.strands[row])])
    if found.scores is not None and not np.isnan(found.scores[row]):
        parts.append(f"score {found.scores[row]:g}")
    n_blocks = len(table.blocks_of(row))
    if n_blocks:
        parts.append(n_words(n_blocks, "block"))
    return [part for part in parts if part]
