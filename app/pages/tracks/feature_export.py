"""Features of a region as BED: with blocks and colours, where there are any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.intervals.bed_writer import BedExtras, iter_bed
from genoviz.io.text.writer import write_text
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.tracks.track import Track
from genoviz_app.pages.tracks.track_values import place_of

ROWS_PER_SLICE = 20_000


def iter_write_features(path: Path, track: Track, region: PathRegion) -> Iterator[OpeningProgress]:
    """Write the features that touch a region, whole, as BED; yields progress.

    Positions are those of the region's contig. What begins before it, as it can on a path that is
    part of a chromosome, is cut off there.

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
