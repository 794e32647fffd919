"""Features of the tracks by name: where one lies, and those whose names begin so."""

from __future__ import annotations

from collections.abc import Mapping

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.places import with_margin
from genoviz_app.pages.tracks.track_list import TrackList


def find_feature(
    tracks: TrackList, name: str, contigs: Mapping[str, int], shown: str
) -> PathRegion | None:
    """Return where a feature lies, with some room around, or None.

    Parameters
    ----------
    contigs
        Length of each contig that can be shown; the shown one comes first where several have it.
    """
    for track in tracks:
        table = track.data.features if track.data is not None else None
        row = table.find(name) if table is not None else None
        if row is None:
            continue
        found = table.region_of(row)
        for contig in (shown, *contigs):
            own = track.find_contig(contig) if contig in contigs else None
            if own is not None and own[0] == found.path and found.start >= own[1]:
                region = PathRegion(contig, found.start - own[1], found.end - own[1])
                return with_margin(region, contigs[contig])
    return None


def suggest(tracks: TrackList, text: str, contigs: Mapping[str, int], *, limit: int) -> list[str]:
    """Return names of features and contigs that begin with a text."""
    wanted = text.strip().lower()
    if not wanted or ":" in wanted:
        return []
    found: dict[str, None] = {}
    for track in tracks:
        table = track.data.features if track.data is not None else None
        if table is not None:
            found.update(dict.fromkeys(table.names_beginning(wanted, limit=limit)))
        if len(found) >= limit:
            break
    for contig in contigs:
        if len(found) >= limit:
            break
        if contig.lower().startswith(wanted):
            found.setdefault(contig)
    return [*found][:limit]
