"""Means and extremes of all tracks in bins, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.track import Track

MAX_ROWS = 2_000_000
ROWS_PER_SLICE = 20_000


def bin_edges(region: PathRegion, bin_bp: int) -> np.ndarray:
    """Return edges of bins from the start of a region to its end; the last bin may be shorter.

    Raises
    ------
    ParameterError
        If there would be too many.
    """
    n_bins = -(-region.length // max(bin_bp, 1))
    if bin_bp < 1 or n_bins > MAX_ROWS:
        raise ParameterError(
            f"bins of {bin_bp:,} bp make {n_bins:,} rows of {region}, needs at most {MAX_ROWS:,}; "
            "choose longer bins"
        )
    return np.append(np.arange(region.start, region.end, bin_bp, dtype=np.int64), region.end)


def iter_write_bins(
    path: Path, tracks: Sequence[Track], region: PathRegion, bin_bp: int
) -> Iterator[OpeningProgress]:
    """Write mean, least and greatest value of each track in each bin as TSV; yields progress.

    Positions are 0-based, half-open. A signal has an empty field where no base has a value; of
    reads and features there is also the number of intervals that overlap the bin.

    Raises
    ------
    ParameterError
        If no track has the contig, or there would be too many bins.
    """
    there = [track for track in tracks if track.find_contig(region.path) is not None]
    if not there:
        raise ParameterError(f"no track has {region.path}")
    edges = bin_edges(region, bin_bp)
    header = ["contig", "start", "end"]
    for track in there:
        title = track.title.replace("\t", " ")
        header += [f"{title}: {name}" for name in _names(track)]
    n_rows = len(edges) - 1
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(header) + "\n")
        for first in range(0, n_rows, ROWS_PER_SLICE):
            part = edges[first : first + ROWS_PER_SLICE + 1]
            columns = [[region.path] * (len(part) - 1), part[:-1].tolist(), part[1:].tolist()]
            for track in there:
                columns += _columns(track, region.path, part)
            rows = zip(*columns, strict=True)
            file.write("".join("\t".join(map(str, row)) + "\n" for row in rows))
            yield OpeningProgress(f"Writing {path.name}", min((first + len(part)) / n_rows, 1.0))


def _names(track: Track) -> tuple[str, ...]:
    names = ("mean", "min", "max")
    return names if track.data.kind is TrackKind.SIGNAL else (*names, "intervals")


def _columns(track: Track, contig: str, edges: np.ndarray) -> list[list[str]]:
    own, shift = track.find_contig(contig)
    if track.data.kind is TrackKind.SIGNAL:
        bins = track.data.signal.bins(own, edges + shift)
        return [_texts(values) for values in (bins.means, bins.minima, bins.maxima)]
    bins = track.data.coverage.bins(own, edges + shift)
    values = (bins.means, bins.minima, bins.maxima, bins.counts)
    return [_texts(column) for column in values]


def _texts(values: np.ndarray) -> list[str]:
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    return ["" if value != value else f"{value:.7g}" for value in values.tolist()]
