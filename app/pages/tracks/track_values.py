"""The exact values of a track as steps, and files of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.intervals.bigwig_writer import write_bigwig
from genoviz.io.intervals.writer import iter_bedgraph
from genoviz.io.text.writer import write_text
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.pages.tracks.track import Track

BASES_PER_SLICE = 1 << 22
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def place_of(track: Track, region: PathRegion) -> tuple[str, int]:
    """Return the track's own name of a contig, and where base 0 of the contig is there.

    Raises
    ------
    ParameterError
        If the track has nothing there, or is not ready.
    """
    own = track.find_contig(region.path)
    if own is None:
        why = f"has no {region.path}" if track.data is not None else "is not ready yet"
        raise ParameterError(f"{track.title} {why}; choose a track that has")
    return own


def iter_values(track: Track, region: PathRegion) -> Iterator[tuple[Intervals, float]]:
    """Yield the steps of a track in a region, those of depth 0 left out, and the share done.

    Positions are those of the region's contig; scores are depth, or the values of a signal.
    Neighbours differ in depth.
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
    """Return steps with the following ones; a depth that goes on is one step."""
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
    """Write the exact values as bedGraph, compressed where the name ends so; yields progress."""
    parts: list[bytes] = []
    for steps, share in iter_values(track, region):
        parts.extend(iter_bedgraph(steps))
        yield OpeningProgress(f"Writing {path.name}", share)
    write_text(path, parts)


def iter_write_bigwig(
    path: Path, track: Track, region: PathRegion, length: int
) -> Iterator[OpeningProgress]:
    """Write the exact values as bigWig; yields progress.

    Parameters
    ----------
    length
        Of the contig, bp.

    Raises
    ------
    ParameterError
        If there is no value in the region.
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
        raise ParameterError(f"{track.title} has no value in {region}, and a bigWig needs one")
    joined = replace(
        parts[0],
        contig_ids=np.zeros(len(starts), np.int32),
        starts=starts,
        ends=ends,
        scores=scores,
    )
    yield OpeningProgress(f"Writing {path.name}", 0.5)
    write_bigwig(path, joined, contig_lengths=[length])
