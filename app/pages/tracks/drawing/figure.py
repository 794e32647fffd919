"""The figure of what is seen: panels of the lanes, and a caption that says how it was made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.analyses.figures import Curve, FeaturePanel, TrackFigure, ValuePanel, make_track_figure
from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.drawing import Drawing, TrackDrawer
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import Lane
from genoviz_app.pages.tracks.track import Track
from genoviz_app.plots.feature_rows import hex_colours

NAMES_PIXELS = 250
LEAST_WIDTH = 700
PRINT_SCALE = 2.0


def figure_of(tracks: Sequence[Track], view: View, length: int) -> TrackFigure:
    """Return what tracks look like in a view of a contig of that length, on white.

    Raises
    ------
    ParameterError
        If there is nothing to show.
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
        width=max(int(view.width) + NAMES_PIXELS, LEAST_WIDTH),
        scale=PRINT_SCALE,
    )


def panel_of(lane: Lane, region: PathRegion) -> ValuePanel | FeaturePanel:
    """Return a lane as a panel: its features in view, or its values."""
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
    """Return what bins mean, and what each track leaves out or treats in its own way."""
    said = ["Heights are exact, base by base."]
    if drawing.bin_bp > 1:
        said = [f"Areas are means, shades ranges, of bins of {drawing.bin_bp:,} bp."]
    for row in drawing.rows:
        notes = row.track.data.notes if row.track.data is not None else ()
        said += [f"{row.track.title}: {note}" for note in notes]
    return " ".join(said)
