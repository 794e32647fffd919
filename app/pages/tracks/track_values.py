"""Track exports: exact values (bedGraph, bigWig), features (BED), bins of all tracks (TSV)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.intervals.bigwig_writer import write_bigwig
from genoviz.io.intervals.writer import BedExtras, iter_bed, iter_bedgraph
from genoviz.io.text.text_file import write_text
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.tracks.track import Track
from genoviz_app.parts.words import n_words, write_place

BASES_PER_SLICE = 1 << 22
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]
ROWS_PER_SLICE = 20_000
MAX_ROWS = 2_000_000


def place_of(track: Track, region: PathRegion) -> tuple[str, int]:
    """Return the track's own name of a contig, and the position of the contig's base 0 there.

    Raises
    ------
    ParameterError
        If the track has no data on the contig, or is not ready.
    """
    own = track.find_contig(region.path)
    if own is None:
        why = f"has no {region.path}" if track.data is not None else "is not ready yet"
        raise ParameterError(f"{track.title} {why}; choose a track that has")
    return own


def iter_values(track: Track, region: PathRegion) -> Iterator[tuple[Intervals, float]]:
    """Yield the steps of a track in a region, without depth 0, and the fraction done.

    Positions are those of the region's contig. Scores are depth, or values of a signal. Adjacent
    steps differ in depth.
    """
    contig, shift = place_of(track, region)
    waiting: Columns = (np.empty(0, np.int64),) * 2 + (np.empty(0),)
    for start in range(region.start, region.end, BASES_PER_SLICE):
        end = min(start + BASES_PER_SLICE, region.end)
        found = _steps(track.data, contig, max(start + shift, 0), end + shift)
        joined = _join(waiting, found) if track.data.kind is not TrackKind.SIGNAL else found
        if track.data.kind is TrackKind.SIGNAL:
            yield _intervals(region.path, shift, joined), (end - region.start) / region.length
            continue
        waiting = tuple(column[-1:] for column in joined)
        done = tuple(column[:-1] for column in joined)
        yield _intervals(region.path, shift, done), (end - region.start) / region.length
    yield _intervals(region.path, shift, waiting), 1.0


def _steps(data: TrackData, contig: str, start: int, end: int) -> Columns:
    if start >= end:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    if data.kind is TrackKind.SIGNAL:
        found = data.signal.steps_of(contig, start, end)
        starts, ends = np.maximum(found.starts, start), np.minimum(found.ends, end)
        return starts, ends, found.scores
    steps = data.coverage.steps(contig, start, end)
    is_deep = steps.depths > 0
    edges = steps.edges
    return edges[:-1][is_deep], edges[1:][is_deep], steps.depths[is_deep].astype(np.float64)


def _join(before: Columns, after: Columns) -> Columns:
    """Append steps to the previous ones; a constant depth across the boundary is one step."""
    goes_on = (
        len(before[0]) > 0
        and len(after[0]) > 0
        and before[1][-1] == after[0][0]
        and before[2][-1] == after[2][0]
    )
    if goes_on:
        starts = after[0].copy()
        starts[0] = before[0][-1]
        before = tuple(column[:-1] for column in before)
        after = (starts, *after[1:])
    return tuple(np.concatenate(pair) for pair in zip(before, after, strict=True))


def _intervals(contig: str, shift: int, columns: Columns) -> Intervals:
    starts, ends, values = columns
    ids = np.zeros(len(starts), np.int32)
    return Intervals((contig,), ids, starts - shift, ends - shift, scores=values)


def iter_write_bedgraph(path: Path, track: Track, region: PathRegion) -> Iterator[OpeningProgress]:
    """Write exact values as bedGraph, compressed if the file name says so; yields progress."""
    parts: list[bytes] = []
    for steps, share in iter_values(track, region):
        parts.extend(iter_bedgraph(steps))
        yield OpeningProgress(f"Writing {path.name}", share)
    write_text(path, parts)


def iter_write_bigwig(
    path: Path, track: Track, region: PathRegion, length: int
) -> Iterator[OpeningProgress]:
    """Write exact values as bigWig; yields progress.

    Parameters
    ----------
    length
        Length of the contig, bp.

    Raises
    ------
    ParameterError
        If the region has no values.
    """
    parts = []
    for steps, share in iter_values(track, region):
        parts.append(steps)
        yield OpeningProgress(f"Collecting the values of {path.name}", 0.5 * share)
    starts, ends, scores = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("starts", "ends", "scores")
    )
    if not len(starts):
        place = write_place(region)
        raise ParameterError(f"{track.title} has no value in {place}, and a bigWig needs one")
    joined = replace(
        parts[0],
        contig_ids=np.zeros(len(starts), np.int32),
        starts=starts,
        ends=ends,
        scores=scores,
    )
    yield OpeningProgress(f"Writing {path.name}", 0.5)
    write_bigwig(path, joined, contig_lengths=[length])


def iter_write_features(path: Path, track: Track, region: PathRegion) -> Iterator[OpeningProgress]:
    """Write the features that overlap a region, in full, as BED; yields progress.

    Positions are those of the region's contig. Features that begin before it, which is possible on
    a path that covers a part of a chromosome, are truncated.

    Raises
    ------
    ParameterError
        If the track has no features there.
    """
    contig, shift = place_of(track, region)
    if track.data.kind is not TrackKind.FEATURES:
        raise ParameterError(f"{track.title} has no features; save its values instead")
    table = track.data.features
    rows = table.rows_within(contig, region.start + shift, region.end + shift)
    parts: list[bytes] = []
    for first in range(0, len(rows), ROWS_PER_SLICE):
        some = rows[first : first + ROWS_PER_SLICE]
        parts.extend(iter_bed(*_features(table, some, region.path, shift)))
        yield OpeningProgress(f"Writing {path.name}", first / len(rows))
    write_text(path, parts)


def _features(
    table: FeatureTable, rows: np.ndarray, contig: str, shift: int
) -> tuple[Intervals, BedExtras]:
    found = table.intervals.select(rows)
    intervals = Intervals(
        (contig,),
        np.zeros(len(rows), np.int32),
        np.maximum(found.starts - shift, 0),
        np.maximum(found.ends - shift, 0),
        strands=found.strands,
        names=found.names,
        scores=found.scores,
    )
    colours = None if table.colours is None else table.colours[rows]
    if table.block_offsets is None:
        return intervals, BedExtras(colours)
    blocks = [np.maximum(table.blocks_of(row) - shift, 0) for row in rows.tolist()]
    offsets = np.append(0, np.cumsum([len(of_row) for of_row in blocks])).astype(np.int64)
    return intervals, BedExtras(colours, offsets, np.concatenate(blocks).astype(np.int64))


def bin_edges(region: PathRegion, bin_bp: int) -> np.ndarray:
    """Return edges of bins over a region; the last bin may be shorter.

    Raises
    ------
    ParameterError
        If there are too many.
    """
    n_bins = -(-region.length // max(bin_bp, 1))
    if bin_bp < 1 or n_bins > MAX_ROWS:
        raise ParameterError(
            f"bins of {bin_bp:,} bp make {n_words(n_bins, 'row')} of {write_place(region)}, "
            f"needs at most {MAX_ROWS:,}; choose longer bins"
        )
    return np.append(np.arange(region.start, region.end, bin_bp, dtype=np.int64), region.end)


def iter_write_bins(
    path: Path, tracks: Sequence[Track], region: PathRegion, bin_bp: int
) -> Iterator[OpeningProgress]:
    """Write mean, minimum and maximum of each track by bin as TSV; yields progress.

    Positions are 0-based, half-open. A signal has an empty field in bins without values. For reads
    and features, there is also the number of intervals, or else their blocks, that overlap the bin.

    Raises
    ------
    ParameterError
        If no track has the contig, or there are too many bins.
    """
    there = [track for track in tracks if track.find_contig(region.path) is not None]
    if not there:
        raise ParameterError(f"no track has {region.path}")
    edges = bin_edges(region, bin_bp)
    header = ["contig", "start", "end"]
    for track in there:
        title = track.title.replace("\t", " ")
        header += [f"{title}: {name}" for name in _bin_titles(track)]
    n_rows = len(edges) - 1
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(header) + "\n")
        for first in range(0, n_rows, ROWS_PER_SLICE):
            part = edges[first : first + ROWS_PER_SLICE + 1]
            columns = [[region.path] * (len(part) - 1), part[:-1].tolist(), part[1:].tolist()]
            for track in there:
                columns += _bin_columns(track, region.path, part)
            rows = zip(*columns, strict=True)
            file.write("".join("\t".join(map(str, row)) + "\n" for row in rows))
            yield OpeningProgress(f"Writing {path.name}", min((first + len(part)) / n_rows, 1.0))


def _bin_titles(track: Track) -> tuple[str, ...]:
    names = ("mean", "min", "max")
    return names if track.data.kind is TrackKind.SIGNAL else (*names, "intervals")


def _bin_columns(track: Track, contig: str, edges: np.ndarray) -> list[list[str]]:
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
    return [
        "" if v != v else str(int(v)) if v.is_integer() else f"{v:.7g}" for v in values.tolist()
    ]
