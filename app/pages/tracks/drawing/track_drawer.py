"""Draws all tracks in one view, and the same view as a print figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from genoviz.analyses.figures import Curve, FeaturePanel, TrackFigure, ValuePanel, make_track_figure
from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.feature_lane import MAX_BOXES, FeatureLane, PlacedFeatures
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import Lane, TrackRow, stack
from genoviz_app.pages.tracks.drawing.scales import Scaler, factor_of
from genoviz_app.pages.tracks.drawing.summaries import Summary, summarise, summarise_index
from genoviz_app.pages.tracks.track import Track
from genoviz_app.plots.feature_rows import hex_colours

MARGIN = 0.4
"""Margin drawn on each side of the view, relative to its width, so that panning is immediate."""
NAMES_PIXELS = 250
MIN_WIDTH = 700
PRINT_SCALE = 2.0


@dataclass
class Drawing:
    """All drawn tracks.

    Attributes
    ----------
    rows
        One row per track, in order.
    lanes
        The same rows grouped by lane.
    height
        Total height of the lanes, px.
    view
        The view they were drawn for.
    bounds
        Drawn interval, 0-based, bp.
    """

    rows: list[TrackRow]
    lanes: list[Lane]
    height: int
    view: View
    bounds: tuple[int, int] = field(default=(0, 1))

    @property
    def bin_bp(self) -> int:
        """Bin size, bp; 0 if all steps are exact or there are none."""
        return max((s.bin_bp for row in self.rows for s, _ in row.parts), default=0)


class TrackDrawer:
    """Draws tracks, and keeps the packing of features between views."""

    def __init__(self) -> None:
        self._packers: dict[int, FeatureLane] = {}
        self._scaler = Scaler()

    def draw(self, tracks: Sequence[Track], view: View, length: int) -> Drawing:
        """Draw the tracks in a view of a contig whose length is given in bp."""
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
            is_empty = track.data is not None and not len(track.data.intervals)
            lacks = "has no intervals" if is_empty else f"has no {view.contig}"
            row.note = "being counted" if waits else lacks
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
        end = max(int(view.end) + shift, start + 1)
        if track.data.blocks is not None:
            return track.data.features.count_within(contig, start, end) <= MAX_BOXES
        return int(track.data.coverage.bins(contig, np.array([start, end])).counts[0]) <= MAX_BOXES

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


def figure_of(tracks: Sequence[Track], view: View, length: int) -> TrackFigure:
    """Return a print figure of a view of a contig whose length is given in bp.

    Raises
    ------
    ParameterError
        If there is nothing to draw.
    """
    drawing = TrackDrawer().draw(tracks, view, length)
    if not drawing.lanes:
        raise ParameterError("no track is shown; open one, or show a hidden one again")
    start = max(round(view.start), 0)
    region = PathRegion(view.contig, start, max(min(round(view.end), length), start + 1))
    return make_track_figure(
        [panel_of(lane, region) for lane in drawing.lanes],
        contig=region.path,
        start=region.start,
        end=region.end,
        caption=caption_of(drawing),
        width=max(int(view.width) + NAMES_PIXELS, MIN_WIDTH),
        scale=PRINT_SCALE,
    )


def panel_of(lane: Lane, region: PathRegion) -> ValuePanel | FeaturePanel:
    """Return a lane as a panel with its visible features or its values."""
    row = lane.first
    track, height = row.track, row.bottom - row.top
    if row.features is not None:
        return _feature_panel(track, region, height)
    curves = [
        Curve(
            summary.edges,
            summary.low,
            summary.mean,
            summary.high,
            each.track.look.colour,
            each.track.title,
            is_down,
        )
        for each in lane.rows
        for summary, is_down in each.parts
    ]
    curves = [curve for curve in curves if len(curve.mean)]
    titles = " + ".join(each.track.title for each in lane.rows)
    look = track.look
    return ValuePanel(titles, height, curves, row.scale, row.note, look.is_log)


def _feature_panel(track: Track, region: PathRegion, height: float) -> FeaturePanel:
    table, (contig, shift) = track.data.features, track.find_contig(region.path)
    rows = table.rows_within(contig, region.start + shift, region.end + shift)
    found = table.intervals
    blocks = [table.blocks_of(row) - shift for row in rows.tolist()]
    counts = np.array([len(of_row) for of_row in blocks], np.int64)
    has_blocks = bool(counts.any())
    return FeaturePanel(
        track.title,
        height,
        track.look.colour,
        found.starts[rows] - shift,
        found.ends[rows] - shift,
        [table.name_of(row) for row in rows.tolist()] if found.names is not None else [],
        None if found.strands is None else found.strands[rows],
        None if table.colours is None else hex_colours(table.colours[rows], track.look.colour),
        np.append(0, np.cumsum(counts)) if has_blocks else None,
        np.concatenate(blocks) if has_blocks else None,
    )


def caption_of(drawing: Drawing) -> str:
    """Return a caption on the bins, and on omissions and special treatment of each track."""
    said = ["Heights are exact, base by base."]
    if drawing.bin_bp > 1:
        said = [f"Areas are means, shades ranges, of bins of {drawing.bin_bp:,} bp."]
    for row in drawing.rows:
        notes = row.track.data.notes if row.track.data is not None else ()
        said += [f"{row.track.title}: {note}" for note in notes]
    return " ".join(said)
