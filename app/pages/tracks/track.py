"""One track of the page: what it shows and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from genoviz.model import PathName
from genoviz.model.intervals.intervals import aliases
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.opening.track_files import TrackFile

COLOURS = ("#4fb3e8", "#ffb454", "#7bc96f", "#e88fb4", "#b59cf0", "#5ed0c0", "#e8d35a", "#f0886c")
HEIGHTS = {TrackKind.READS: 84, TrackKind.SIGNAL: 62, TrackKind.FEATURES: 92}
MIN_HEIGHT, MAX_HEIGHT = 34, 320


class Scale(StrEnum):
    """What the largest value of the y axis is taken from."""

    VIEW = "view"
    CONTIG = "contig"
    GROUP = "group"
    PERCENTILE = "percentile"
    FIXED = "fixed"


@dataclass
class TrackLook:
    """How a track is drawn.

    Attributes
    ----------
    colour
        ``#rrggbb``.
    height
        Pixels.
    scale
        Where the y axis ends.
    floor, limit
        Lowest and highest value of a fixed scale.
    percentile
        How many of 100 bases in view are not above a scale by percentile.
    is_log
        Whether heights are log(1 + value).
    is_cpm
        Whether depth is per million of the file's reads or features.
    is_mirrored
        Whether forward and reverse strands are drawn up and down.
    as_depth
        Whether features are drawn as their depth.
    is_overlay
        Whether the track is drawn in the lane of the track above, with its scale.
    is_hidden
        Whether the track is not drawn.
    """

    colour: str
    height: int
    scale: Scale = Scale.VIEW
    floor: float = 0.0
    limit: float = 10.0
    percentile: float = 99.0
    is_log: bool = False
    is_cpm: bool = False
    is_mirrored: bool = False
    as_depth: bool = False
    is_overlay: bool = False
    is_hidden: bool = False


@dataclass(eq=False)
class Track:
    """A track.

    Attributes
    ----------
    title
        What people call it.
    data
        What it holds; None while it is being made.
    look
        How it is drawn.
    file
        The file that it is from, or None for a track of the open graph.
    is_waiting
        Whether data are being made if there are none.
    """

    title: str
    data: TrackData | None
    look: TrackLook
    file: TrackFile | None = None
    is_waiting: bool = True
    _found: dict[str, tuple[str, int] | None] = field(default_factory=dict, repr=False)

    def find_contig(self, contig: str) -> tuple[str, int] | None:
        """Return the track's own name of a contig, and where base 0 of the contig is there.

        A path of a graph, such as ``grch38#chr6:31972046-32055647``, is where the track has that
        path, or else its contig, under any of its names.
        """
        if self.data is None:
            return None
        if contig not in self._found:
            self._found[contig] = find_contig(self.data, contig)
        return self._found[contig]

    def forget(self) -> None:
        """Look anew for contigs: the data is another."""
        self._found = {}


def by_title(tracks: Iterable[Track]) -> dict[str, Track]:
    """Return tracks by their titles, those of one title numbered: ``reads``, ``reads (2)``."""
    found: dict[str, Track] = {}
    for track in tracks:
        title, n = track.title, 2
        while title in found:
            title, n = f"{track.title} ({n})", n + 1
        found[title] = track
    return found


def find_contig(data: TrackData, contig: str) -> tuple[str, int] | None:
    """As `Track.find_contig`."""
    known = data.counts
    for name in (contig, *aliases(contig)):
        if name in known:
            return name, 0
    parsed = PathName.parse(contig)
    for name in (parsed.whole, parsed.contig, *aliases(parsed.contig)):
        if name in known and name != contig:
            return name, parsed.start
    return None


def new_look(kind: TrackKind, n_before: int) -> TrackLook:
    """Return how a new track is drawn after so many others."""
    return TrackLook(COLOURS[n_before % len(COLOURS)], HEIGHTS[kind])
