"""What all tracks look like in one view: columns for the figure, and words for the margin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.pages.tracks.feature_lane import MAX_BOXES, FeatureLane, View
from app.pages.tracks.summaries import Summary, greatest_of_contig, summarise, summarise_index
from app.pages.tracks.track import Scale, Track
from app.plots.lane_data import INNER_GAP, Strip, area_data, clip_data
from app.plots.legend import short_number
from app.track_data import TrackKind

MARGIN = 0.25

Columns = dict[str, Any]


@dataclass
class TrackRow:
    """What is drawn of one track.

    Attributes
    ----------
    track
        The track.
    top, bottom
        Pixels from above.
    parts
        Values, with the way they are drawn: up alone, or forward up and reverse down.
    scale
        Lowest and highest value of the y axis.
    note
        What there is to say: the scale, or how many features have no room.
    """

    track: Track
    top: int
    bottom: int
    parts: list[tuple[Summary, bool]] = field(default_factory=list)
    scale: tuple[float, float] = (0.0, 1.0)
    note: str = ""


@dataclass
class Drawing:
    """Columns for the figure of all tracks, and a row for each track."""

    areas: list[tuple[str, Columns]]
    boxes: Columns
    stems: Columns
    names: Columns
    clips: Columns
    rows: list[TrackRow]
    height: int

    @property
    def bin_bp(self) -> int:
        """Length of the bins, in bp; 0 where all steps are exact, or there are none."""
        return max((s.bin_bp for row in self.rows for s, _ in row.parts), default=0)


class TrackDrawer:
    """Draws tracks; keeps the packing of features from one view to the next."""

    def __init__(self) -> None:
        self._lanes: dict[int, FeatureLane] = {}
        self._greatest: dict[tuple[int, str], float] = {}

    def draw(self, tracks: Sequence[Track], view: View, length: int) -> Drawing:
        """Return what the tracks look like in a view of a contig of that length, in bp."""
        rows, top = [], 0
        for track in tracks:
            rows.append(TrackRow(track, top, top + track.look.height))
            top += track.look.height
        boxes: list[tuple[Columns, Columns, Columns]] = []
        for row in rows:
            own = row.track.find_contig(view.contig)
            if own is None:
                waits = row.track.data is None
                row.note = "being counted" if waits else f"has no {view.contig}"
            elif self._is_boxes(row.track, own, view):
                boxes.append(self._draw_boxes(row, own, view))
            else:
                row.parts = self._summarise(row.track, own, view, length)
        self._set_scales([row for row in rows if row.parts], view)
        areas, clips = [], []
        for row in rows:
            for summary, is_down in row.parts:
                strip = _strip(row, is_down)
                values = (summary.low, summary.mean, summary.high)
                areas.append((row.track.look.colour, area_data(summary.edges, *values, strip)))
                clips.append(clip_data(summary.edges, summary.high, strip))
        joined = [join_columns(parts) for parts in zip(*boxes, strict=True)]
        empty: list[Columns] = [{}, {}, {}]
        return Drawing(areas, *(joined or empty), join_columns(clips), rows, top)

    def _is_boxes(self, track: Track, own: tuple[str, int], view: View) -> bool:
        if track.data.kind is not TrackKind.FEATURES or track.look.as_depth:
            return False
        contig, shift = own
        start = max(int(view.start) + shift, 0)
        edges = np.array([start, max(int(view.end) + shift, start + 1)])
        return int(track.data.coverage.bins(contig, edges).counts[0]) <= MAX_BOXES

    def _draw_boxes(
        self, row: TrackRow, own: tuple[str, int], view: View
    ) -> tuple[Columns, Columns, Columns]:
        lane = self._lanes.setdefault(id(row.track), FeatureLane())
        look, strip = row.track.look, (float(row.top), float(row.bottom))
        *found, n_hidden = lane.columns(row.track.data.features, own, view, strip, look.colour)
        row.note = f"{n_hidden:,} more than fit" if n_hidden else ""
        return tuple(found)

    def _summarise(
        self, track: Track, own: tuple[str, int], view: View, length: int
    ) -> list[tuple[Summary, bool]]:
        contig, shift = own
        margin = (view.end - view.start) * MARGIN
        start = int(max(view.start - margin, 0, -shift))
        end = int(np.ceil(min(view.end + margin, max(length, 1))))
        width = int(view.width * (1 + 2 * MARGIN))
        stretch = (contig, shift, start, max(end, start + 1), width)
        data, factor = track.data, track.data.cpm_factor if track.look.is_cpm else 1.0
        if track.look.is_mirrored and data.strands is not None:
            found = [summarise_index(index, *stretch) for index in data.strands]
            return [(found[0].scaled(factor), False), (found[1].scaled(factor), True)]
        return [(summarise(data, *stretch).scaled(factor), False)]

    def _set_scales(self, rows: list[TrackRow], view: View) -> None:
        seen = [_range_in_view(row.parts, view) for row in rows]
        group = [s for s, row in zip(seen, rows, strict=True) if _is_in_group(row.track)]
        for row, (low, high) in zip(rows, seen, strict=True):
            look = row.track.look
            if look.scale is Scale.GROUP:
                low, high = min(g[0] for g in group), max(g[1] for g in group)
            elif look.scale is Scale.CONTIG:
                high = self._greatest_of(row.track, view.contig)
            elif look.scale is Scale.FIXED:
                high = look.limit
            row.scale = (min(low, 0.0), high if high > 0 else 1.0)
            row.note = describe_scale(row)

    def _greatest_of(self, track: Track, contig: str) -> float:
        own, _ = track.find_contig(contig)
        key = (id(track.data), own)
        if key not in self._greatest:
            self._greatest[key] = greatest_of_contig(track.data, own)
        return self._greatest[key] * (track.data.cpm_factor if track.look.is_cpm else 1.0)


def _is_in_group(track: Track) -> bool:
    return track.look.scale is Scale.GROUP


def _range_in_view(parts: Iterable[tuple[Summary, bool]], view: View) -> tuple[float, float]:
    """Return the least and the greatest value in view, without the margins."""
    lows, highs = [0.0], [0.0]
    for summary, _ in parts:
        is_seen = (summary.edges[:-1] < view.end) & (summary.edges[1:] > view.start)
        lows.append(float(summary.low[is_seen].min(initial=0.0)))
        highs.append(float(summary.high[is_seen].max(initial=0.0)))
    return min(lows), max(highs)


def _strip(row: TrackRow, is_down: bool) -> Strip:
    top, bottom, look = row.top + INNER_GAP, row.bottom - INNER_GAP, row.track.look
    low, high = row.scale
    if len(row.parts) == 2:
        middle = (top + bottom) / 2
        top, bottom = (middle, bottom) if is_down else (top, middle)
    return Strip(top, bottom, low, high, look.is_log, is_down)


def describe_scale(row: TrackRow) -> str:
    """Return the y axis in words, as ``0 to 34, log``."""
    low, high = row.scale
    look = row.track.look
    words = [f"{short_number(low)} to {short_number(high)}"]
    if look.scale is not Scale.VIEW:
        words.append(
            {"group": "group scale", "contig": "contig scale", "fixed": "fixed"}[look.scale]
        )
    if look.is_log:
        words.append("log")
    if look.is_cpm:
        words.append("per million")
    if len(row.parts) == 2:
        words.append("+ up, − down")
    if row.track.data.kind is TrackKind.FEATURES:
        words.append("depth of features")
    return ", ".join(words)


def join_columns(parts: Sequence[Columns]) -> Columns:
    """Return the columns of several tables with the same columns as one."""
    if not parts:
        return {}
    joined = {}
    for name, first in parts[0].items():
        columns = [part[name] for part in parts]
        if isinstance(first, list):
            joined[name] = [item for column in columns for item in column]
        else:
            joined[name] = np.concatenate(columns)
    return joined
