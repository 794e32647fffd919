"""What the path view says in words: the path, the stretch that is seen, the region."""

from __future__ import annotations

from html import escape

from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz.model import PathName, PathRegion

READOUT = """
.readout { font-size: 12px; line-height: 1.35; font-variant-numeric: tabular-nums;
  display: grid; grid-template-columns: max-content 1fr; gap: 0 8px; margin: 2px 0 0; }
.readout dt { opacity: 0.65; }
.readout dd { margin: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
"""
NO_PATHS = "This graph has no paths, so there is nothing to show from left to right."
NOTHING_OPEN = "Open a graph to see one of its paths from left to right."


def readout_html(
    name: PathName,
    profile: PathProfile,
    shown: tuple[float, float],
    region: PathRegion | None,
    *,
    note: str = "",
) -> str:
    """Return the numbers of the path view, three short lines.

    Parameters
    ----------
    shown
        The stretch that is seen, bp of the path.
    region
        The region, when it is on this path.
    note
        What else there is to say, e.g. of annotations that found no place.
    """
    start, end = shown
    seen = f"{start:,.0f} to {end:,.0f} ({end - start:,.0f} bp)"
    if start <= 0 and end >= profile.length:
        seen = f"all {profile.length:,} bp, {profile.n_steps:,} steps"
    rows = [("Shown", f"{seen}{f'; {note}' if note else ''}")]
    if region is None:
        rows.append(("Region", "none; drag with Select, or search one"))
    else:
        rows.append(("Region", _region_text(name, region)))
    cells = "".join(f"<dt>{key}</dt><dd>{escape(text)}</dd>" for key, text in rows)
    return f'<dl class="readout">{cells}</dl>'


def _region_text(name: PathName, region: PathRegion) -> str:
    text = f"{region.start:,} to {region.end:,} ({region.length:,} bp)"
    if name.start:
        start, end = region.start + name.start, region.end + name.start
        text += f" = {name.contig}:{start:,}-{end:,}"
    return text
