"""Where tracks have something: the contig with the most, and the stretch that is not empty."""

from __future__ import annotations

from collections.abc import Mapping

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.track_list import TrackList


def busiest_contig(tracks: TrackList, contigs: Mapping[str, int]) -> str:
    """Return the contig with the most intervals, or else the first; "" without any."""
    counts = dict.fromkeys(contigs, 0)
    for track in tracks:
        is_whole = track.data is not None and len(track.data.contigs) > 1
        if track.data is not None and (is_whole or track.file is not None):
            for name, n in track.data.counts.items():
                if name in counts:
                    counts[name] += n
    return max(counts, key=counts.__getitem__, default="")


def data_region(tracks: TrackList, contig: str, length: int) -> PathRegion:
    """Return the stretch of a contig that has intervals; a path of a graph as a whole."""
    graph = tracks.graph
    if graph is not None and contig in graph.path_names:
        return PathRegion(contig, 0, length)
    extents = []
    for track in tracks:
        own = track.find_contig(contig)
        start, end = track.data.extent(own[0]) if own is not None else (0, 0)
        if end > start:
            extents.append((max(start - own[1], 0), min(end - own[1], length)))
    first = min((extent[0] for extent in extents), default=0)
    last = max((extent[1] for extent in extents), default=length)
    return PathRegion(contig, first, max(last, first + 1))
