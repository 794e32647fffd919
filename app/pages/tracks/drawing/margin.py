"""Labels beside the tracks, and the values under the pointer."""

from __future__ import annotations

import numpy as np

from genoviz_app.pages.tracks.drawing.feature_lane import describe_feature
from genoviz_app.pages.tracks.drawing.lanes import TrackRow
from genoviz_app.pages.tracks.drawing.scales import factor_of
from genoviz_app.pages.tracks.drawing.summaries import value_at
from genoviz_app.pages.tracks.drawing.track_drawer import Drawing

TITLE_LETTERS, FIRST_LETTERS = 21, 5
FEATURE_PIXELS = 3


def shorten(title: str) -> str:
    """Shorten a title in the middle, because files of one data set often differ at the end.

    Examples
    --------
    >>> shorten("bigwig_chr9_4000000_6000000_K562_H3K27ac.bigwig")
    'bigwi…_H3K27ac.bigwig'
    """
    if len(title) <= TITLE_LETTERS:
        return title
    return f"{title[:FIRST_LETTERS]}…{title[FIRST_LETTERS + 1 - TITLE_LETTERS :]}"


def hint_of(row: TrackRow) -> str:
    """Describe a track in a sentence or two."""
    notes = row.track.data.notes if row.track.data is not None else ()
    return " ".join((f"{row.track.title}.", f"{row.note}." if row.note else "", *notes))


def describe_value(row: TrackRow, contig: str, position: int | None) -> str:
    """Describe the value of a track at a base, and in its bin."""
    own = row.track.find_contig(contig) if position is not None else None
    if own is None:
        return ""
    data, (name, shift) = row.track.data, own
    if position + shift < 0:
        return ""
    if not row.parts:
        return _describe_features(row, name, position + shift)
    value = value_at(data, name, position + shift)
    said = "no value" if np.isnan(value) else f"{value:,.5g}"
    if factor_of(row.track) != 1:
        said = f"{value * factor_of(row.track):,.5g} per million ({value:,.0f})"
    summary = row.parts[0][0]
    place = int(np.searchsorted(summary.edges, position, "right")) - 1
    if summary.is_exact or len(row.parts) > 1 or not 0 <= place < len(summary.mean):
        return said
    if np.isnan(value):
        bounds = summary.edges[place : place + 2] + shift
        if data.signal.bins(name, bounds).covered_bases[0] == 0:
            return said
    low, mean, high = (float(v[place]) for v in (summary.low, summary.mean, summary.high))
    return f"{said} · bin {mean:,.3g} ({low:,.3g} to {high:,.3g})"


def _describe_features(row: TrackRow, contig: str, position: int) -> str:
    table = row.track.data.features
    rows = table.rows_within(contig, position, position + 1)
    rows = rows[table.intervals.starts[rows] < table.intervals.ends[rows]]
    names = [table.name_of(row) or "1 feature" for row in rows[:2].tolist()]
    more = f" and {len(rows) - 2:,} more" if len(rows) > 2 else ""
    return ", ".join(names) + more


def row_at(drawing: Drawing | None, y: float) -> TrackRow | None:
    """Return the first track of the lane at a height, or None."""
    rows = drawing.rows if drawing is not None else []
    return next((row for row in rows if row.top <= y < row.bottom), None)


def feature_card(drawing: Drawing | None, position: float, y: float) -> dict | None:
    """Return the description of the feature at a point for the browser; None without a feature."""
    row = row_at(drawing, y)
    if row is None or row.features is None:
        return None
    found, table = row.features, row.track.data.features
    near = FEATURE_PIXELS * drawing.view.bp_per_pixel
    tops = found.tops + row.top
    is_here = (found.lefts - near <= position) & (found.rights + near >= position)
    is_here &= (tops - 2 <= y) & (y <= tops + found.box_pixels + 2)
    if not is_here.any():
        # The label is below its box.
        is_here = (found.lefts <= position) & (found.rights >= position)
        is_here &= (tops <= y) & (y <= tops + found.box_pixels + 14)
    places = np.flatnonzero(is_here)
    if not len(places):
        return None
    lengths = found.rights[places] - found.lefts[places]
    chosen = int(places[np.argmin(lengths)])
    feature = int(found.rows[chosen])
    name = table.name_of(feature)
    return {
        "title": name or row.track.title,
        "lines": [*([row.track.title] if name else []), *describe_feature(table, feature)],
        "bounds": [int(found.lefts[chosen]), int(found.rights[chosen])],
    }
