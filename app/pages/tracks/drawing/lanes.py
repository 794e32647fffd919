"""What is drawn of each track, and in which lane: tracks may share one."""

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
    """What is drawn of one track.

    Attributes
    ----------
    track
        The track.
    top, bottom
        Of its lane, pixels from above.
    parts
        Values, with the way they are drawn: up alone, or forward up and reverse down.
    features
        Features in rows, or None where values are drawn.
    scale
        Lowest and highest value of the y axis.
    note
        What there is to say: the scale, or how many features have no room.
    place
        Its place among the tracks of the lane; 0 for the first, whose look the lane has.
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
    """The rows that are drawn over one another, with one scale."""

    rows: list[TrackRow]

    @property
    def first(self) -> TrackRow:
        """The row whose look the lane has."""
        return self.rows[0]

    @property
    def parts(self) -> list[tuple[Summary, bool]]:
        """The values of all rows."""
        return [part for row in self.rows for part in row.parts]

    @property
    def is_mirrored(self) -> bool:
        """Whether values go up and down from the middle."""
        return any(is_down for _, is_down in self.parts)


def stack(rows: Sequence[TrackRow], can_share: Sequence[bool]) -> tuple[list[Lane], int]:
    """Return the lanes of rows, each given its top and bottom, and their height together.

    Parameters
    ----------
    rows
        In order.
    can_share
        Whether each row draws values: only those share a lane.
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
    """Return the y axis in words, as ``0 to 34, log``."""
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
        words.append("depth of features")
    return ", ".join(words)
