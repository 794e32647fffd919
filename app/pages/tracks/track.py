"""One track of the page: data and style."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from genoviz.model import PangenomeGraph
from genoviz.model.intervals.intervals import aliases
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.opening.track_files import TrackFile
from genoviz_app.session.graph_places import parse_path

COLOURS = ("#4fb3e8", "#ffb454", "#7bc96f", "#e88fb4", "#b59cf0", "#5ed0c0", "#e8d35a", "#f0886c")
HEIGHTS = {TrackKind.READS: 84, TrackKind.SIGNAL: 62, TrackKind.FEATURES: 92}
MIN_HEIGHT, MAX_HEIGHT = 34, 320


class Scale(StrEnum):
    """Determines the maximum of the y axis."""

    VIEW = "view"
    CONTIG = "contig"
    GROUP = "group"
    PERCENTILE = "percentile"
    FIXED = "fixed"


@dataclass
class TrackLook:
    """The style of a track.

    Attributes
    ----------
    colour
        ``#rrggbb``.
    height
        Pixels.
    scale
        How the upper limit of the y axis is chosen.
    floor, limit
        Limits of a fixed scale.
    percentile
        Percentile of the bases in view at which a percentile scale ends.
    is_log
        Whether log(1 + value) is drawn.
    is_cpm
        Whether depth is counts per million of the file's reads or features.
    is_mirrored
        Whether the forward strand is drawn upwards and the reverse strand downwards.
    as_depth
        Whether the depth of features is drawn.
    is_overlay
        Whether the track is drawn over the track above, with the same scale.
    is_hidden
        Whether the track is hidden.
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
        Display name.
    data
        The data; None until they are available.
    look
        The style.
    file
        The source file, or None for a track of the open graph.
    is_waiting
        Whether data are still to come if there are none.
    graph
        The open graph, whose paths are placed on contigs, or None.
    """

    title: str
    data: TrackData | None
    look: TrackLook
    file: TrackFile | None = None
    is_waiting: bool = True
    graph: PangenomeGraph | None = None
    _found: dict[str, tuple[str, int] | None] = field(default_factory=dict, repr=False)

    def find_contig(self, contig: str) -> tuple[str, int] | None:
        """Return the track's own name of a contig, and the position of the contig's base 0 there.

        A path of a graph, such as ``grch38#chr6:31972046-32055647``, is mapped to that path in the
        track, or else to its contig, under any of its names.
        """
        if self.data is None:
            return None
        if contig not in self._found:
            self._found[contig] = find_contig(self.data, contig, self.graph)
        return self._found[contig]

    def forget(self) -> None:
        """Clear cached contig names because the data or the graph have changed."""
        self._found = {}


def by_title(tracks: Iterable[Track]) -> dict[str, Track]:
    """Return tracks by title; duplicate titles are numbered: ``reads``, ``reads (2)``."""
    found: dict[str, Track] = {}
    for track in tracks:
        title, n = track.title, 2
        while title in found:
            title, n = f"{track.title} ({n})", n + 1
        found[title] = track
    return found


def find_contig(
    data: TrackData, contig: str, graph: PangenomeGraph | None
) -> tuple[str, int] | None:
    """Like `Track.find_contig`."""
    known = data.counts
    for name in (contig, *aliases(contig)):
        if name in known:
            return name, 0
    parsed = parse_path(graph, contig)
    for name in (parsed.whole, parsed.contig, *aliases(parsed.contig)):
        if name in known and name != contig:
            return name, parsed.start
    return None


def new_look(kind: TrackKind, n_before: int) -> TrackLook:
    """Return the style of a new track, given the number of existing ones."""
    return TrackLook(COLOURS[n_before % len(COLOURS)], HEIGHTS[kind])
