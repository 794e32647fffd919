"""What all tracks look like in one view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.feature_lane import MAX_BOXES, FeatureLane, PlacedFeatures
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import Lane, TrackRow, stack
from genoviz_app.pages.tracks.drawing.scales import Scaler, factor_of
from genoviz_app.pages.tracks.drawing.summaries import Summary, summarise, summarise_index
from genoviz_app.pages.tracks.track import Track

MARGIN = 0.4
"""How much is drawn beyond each side of the view, as a share of it: for moving at once."""


@dataclass
class Drawing:
    """What is drawn of each track.

    Attributes
    ----------
    rows
        A row for each track, in order.
    lanes
        The same rows by lane.
    height
        Of all lanes, pixels.
    view
        What it was drawn for.
    bounds
        From where to where it is drawn; 0-based, bp.
    """

    rows: list[TrackRow]
    lanes: list[Lane]
    height: int
    view: View
    bounds: tuple[int, int] = field(default=(0, 1))

    @property
    def bin_bp(self) -> int:
        """Length of the bins, in bp; 0 where all steps are exact, or there are none."""
        return max((s.bin_bp for row in self.rows for s, _ in row.parts), default=0)


class TrackDrawer:
    """Draws tracks; keeps the packing of features from one view to the next."""

    def __init__(self) -> None:
        self._packers: dict[int, FeatureLane] = {}
        self._scaler = Scaler()

    def draw(self, tracks: Sequence[Track], view: View, length: int) -> Drawing:
        """Return what the tracks look like in a view of a contig of that length, in bp."""
        margin = (view.end - view.start) * MARGIN
        start = int(max(view.start - margin, 0))
        bounds = (start, max(int(np.ceil(min(view.end + margin, max(length, 1)))), start + 1))
        rows = [TrackRow(track, 0, 0) for track in tracks if not track.look.is_hidden]
        for row in rows:
            self._fill(row, view, bounds, max(length, 1))
        lanes, height = stack(rows, [row.features is None for row in rows])
        self._scaler.set_scales(lanes, view)
        return Drawing(rows, lanes, height, view, bounds)

    def _fill(self, row: TrackRow, view: View, bounds: tuple[int, int], length: int) -> None:
        track = row.track
        own = track.find_contig(view.contig)
        if own is None:
            waits = track.data is None and track.is_waiting
            row.note = "being counted" if waits else f"has no {view.contig}"
            return
        if self._is_boxes(track, own, view):
            row.features = self._place(track, own, view, bounds)
        if row.features is None:
            row.parts = _summarise(track, own, view, bounds, length)
            return
        n_hidden = row.features.n_hidden
        row.note = f"{n_hidden:,} more than fit" if n_hidden else ""

    def _is_boxes(self, track: Track, own: tuple[str, int], view: View) -> bool:
        if track.data.kind is not TrackKind.FEATURES or track.look.as_depth:
            return False
        contig, shift = own
        start = max(int(view.start) + shift, 0)
        edges = np.array([start, max(int(view.end) + shift, start + 1)])
        return int(track.data.coverage.bins(contig, edges).counts[0]) <= MAX_BOXES

    def _place(
        self, track: Track, own: tuple[str, int], view: View, bounds: tuple[int, int]
    ) -> PlacedFeatures | None:
        packer = self._packers.setdefault(id(track), FeatureLane())
        return packer.place(track.data.features, own, view, bounds, track.look.height)


def _summarise(
    track: Track, own: tuple[str, int], view: View, bounds: tuple[int, int], length: int
) -> list[tuple[Summary, bool]]:
    contig, shift = own
    start = min(max(bounds[0], -shift), bounds[1] - 1)
    width = int(view.width * (bounds[1] - start) / max(view.end - view.start, 1e-9))
    stretch = (contig, shift, start, bounds[1], max(width, 1), max(length, bounds[1]))
    data, factor = track.data, factor_of(track)
    if track.look.is_mirrored and data.strands is not None:
        found = [summarise_index(index, *stretch) for index in data.strands]
        return [(found[0].scaled(factor), False), (found[1].scaled(factor), True)]
    return [(summarise(data, *stretch).scaled(factor), False)]
