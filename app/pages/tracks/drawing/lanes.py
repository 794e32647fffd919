"""Drawn content of each track, and its lane; tracks may share a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.feature_lane import PlacedFeatures
from genoviz_app.pages.tracks.drawing.summaries import Summary
from genoviz_app.pages.tracks.track import Scale, Track
from genoviz_app.plots.legend import short_number

SCALE_WORDS = {
    Scale.CONTIG: "contig scale",
    Scale.GROUP: "group scale",
    Scale.FIXED: "fixed",
}


@dataclass
class TrackRow:
    """The drawn content of one track.

    Attributes
    ----------
    track
        The track.
    top, bottom
        Edges of its lane, pixels from the top.
    parts
        Values with their direction: up only, or forward up and reverse down.
    features
        Features in rows, or None if values are drawn.
    scale
        Limits of the y axis.
    note
        A note on the scale, or on the number of features without room.
    place
        Index in the lane; the track with index 0 determines the style of the lane.
    """

    track: Track
    top: int
    bottom: int
    parts: list[tuple[Summary, bool]] = field(default_factory=list)
    features: PlacedFeatures | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    note: str = ""
    place: int = 0


@dataclass
class Lane:
    """Rows drawn over one another with the same scale."""

    rows: list[TrackRow]

    @property
    def first(self) -> TrackRow:
        """The row that determines the style of the lane."""
        return self.rows[0]

    @property
    def parts(self) -> list[tuple[Summary, bool]]:
        """The values of all rows."""
        return [part for row in self.rows for part in row.parts]

    @property
    def is_mirrored(self) -> bool:
        """Whether values extend up and down from the middle."""
        return any(is_down for _, is_down in self.parts)


def stack(rows: Sequence[TrackRow], can_share: Sequence[bool]) -> tuple[list[Lane], int]:
    """Group rows into lanes and set their vertical extent; return lanes and total height.

    Parameters
    ----------
    rows
        The rows in order.
    can_share
        Whether each row draws values, which is required to share a lane.
    """
    lanes: list[Lane] = []
    top, is_open = 0, False
    for row, has_values in zip(rows, can_share, strict=True):
        if is_open and has_values and row.track.look.is_overlay:
            first, row.place = lanes[-1].first, len(lanes[-1].rows)
            row.top, row.bottom = first.top, first.bottom
            lanes[-1].rows.append(row)
            continue
        row.top, row.bottom = top, top + row.track.look.height
        top, is_open = row.bottom, has_values
        lanes.append(Lane([row]))
    return lanes, top


def describe_lane(lane: Lane) -> str:
    """Describe the y axis, as in ``0 to 34, log``."""
    row, look = lane.first, lane.first.track.look
    low, high = row.scale
    words = [f"{short_number(low)} to {short_number(high)}"]
    if look.scale is Scale.PERCENTILE:
        words.append(f"{look.percentile:g}th percentile")
    elif look.scale in SCALE_WORDS:
        words.append(SCALE_WORDS[look.scale])
    if look.is_log:
        words.append("log")
    if look.is_cpm and row.track.data.kind is not TrackKind.SIGNAL:
        words.append("per million")
    if lane.is_mirrored:
        words.append("+ up, − down")
    if row.track.data.kind is TrackKind.FEATURES:
        words.append(f"depth of {covering_words(row.track)}")
    return ", ".join(words)


def covering_words(track: Track) -> str:
    """Say what of a track of features covers bases; exons of GFF are drawn, but not counted."""
    data = track.data
    if data.blocks is not None:
        return "blocks"
    return "features" if data.features.blocks is None else "whole features"
