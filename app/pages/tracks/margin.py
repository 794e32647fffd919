"""The margin beside the tracks: names, scales, and the values under the pointer."""

from __future__ import annotations

from html import escape

import numpy as np

from app.pages.tracks.drawing import TrackRow
from app.pages.tracks.summaries import value_at
from app.plots.track_lanes import AXIS_PIXELS
from app.track_data import TrackKind

TITLE_LETTERS = 23
MARGIN_STYLE = """
:host { font-size: 12px; line-height: 1.3; }
.margin { position: relative; font-variant-numeric: tabular-nums; }
.row { position: absolute; left: 0; right: 0; padding: 4px 6px 0 10px; overflow: hidden;
  box-sizing: border-box; border-left: 3px solid transparent; }
.row b { display: block; font-weight: 600; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.row.chosen { background: rgba(127, 150, 180, 0.14); }
.row span { display: block; opacity: 0.72; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.row .value { opacity: 1; color: #ffd591; }
"""


def margin_html(
    rows: list[TrackRow], *, chosen: int, contig: str, position: int | None, height: int
) -> str:
    """Return the margin; ``position`` is the base under the pointer, or None."""
    parts = []
    for place, row in enumerate(rows):
        look = row.track.look
        notes = " ".join(row.track.data.notes) if row.track.data is not None else ""
        parts.append(
            f'<div class="row{" chosen" if place == chosen else ""}" '
            f'title="{escape(f"{row.track.title}. {row.note}. {notes}")}" '
            f'style="top:{row.top + AXIS_PIXELS}px;height:{row.bottom - row.top}px;'
            f'border-left-color:{look.colour}">'
            f"<b>{escape(shorten(row.track.title))}</b><span>{escape(row.note)}</span>"
            f'<span class="value">{escape(describe_value(row, contig, position))}</span></div>'
        )
    return f'<div class="margin" style="height:{height + AXIS_PIXELS}px">{"".join(parts)}</div>'


def shorten(title: str) -> str:
    """Return a title that has room: files of one set often differ at their ends.

    Examples
    --------
    >>> shorten("bigwig_chr9_4000000_6000000_K562_H3K27ac.bigwig")
    'bigwig_c…H3K27ac.bigwig'
    """
    if len(title) <= TITLE_LETTERS:
        return title
    return f"{title[:8]}…{title[9 - TITLE_LETTERS :]}"


def describe_value(row: TrackRow, contig: str, position: int | None) -> str:
    """Return what a track has at a base, and in the bin around it."""
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
    if data.kind is not TrackKind.SIGNAL and row.track.look.is_cpm:
        said = f"{value * data.cpm_factor:,.5g} per million ({value:,.0f})"
    summary = row.parts[0][0]
    place = int(np.searchsorted(summary.edges, position, "right")) - 1
    if summary.is_exact or len(row.parts) > 1 or not 0 <= place < len(summary.mean):
        return said
    low, mean, high = (float(v[place]) for v in (summary.low, summary.mean, summary.high))
    return f"{said} · bin {mean:,.4g} ({low:,.4g} to {high:,.4g})"


def _describe_features(row: TrackRow, contig: str, position: int) -> str:
    table = row.track.data.features
    rows = table.rows_within(contig, position, position + 1)[:50]
    names = [table.name_of(r) or "1 feature" for r in rows.tolist()
             if table.intervals.starts[r] <= position < table.intervals.ends[r]]  # fmt: skip
    more = f" and {len(names) - 2:,} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more
