"""Statistics of tracks in regions: overlapping intervals, covered bases, mean depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from genoviz.analyses.intervals.coverage import coverage_fraction
from genoviz.analyses.intervals.split_overlaps import count_split_overlaps
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.intervals.intervals import map_contigs
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.pages.tracks.track import find_contig
from genoviz_app.parts.words import n_words

TSV_HEADER = (
    "contig\tstart\tend\tname\tlength\ttrack\tintervals\tcovered_bases\tcovered_fraction\tmean\n"
)


@dataclass(frozen=True, eq=False)
class TrackCounts:
    """Statistics of one track in each region.

    Attributes
    ----------
    title
        Name of the track.
    counts
        int64, shape (n_regions,): overlapping intervals; reads, and features with blocks, that have
        at least one base there.
    covered_bases
        int64, shape (n_regions,): bases covered by an interval.
    fractions
        float64, shape (n_regions,): fraction of the region that is covered.
    means
        float64, shape (n_regions,): mean depth over the region; for a signal, the mean over bases
        with a value, NaN without any.
    """

    title: str
    counts: np.ndarray
    covered_bases: np.ndarray
    fractions: np.ndarray
    means: np.ndarray


@dataclass(frozen=True, eq=False)
class RegionCounts:
    """Statistics of all tracks in regions.

    Attributes
    ----------
    regions, tracks
        The regions, and the statistics of each track.
    notes
        Notes: contigs with other names, regions that were left out.
    """

    regions: Intervals
    tracks: tuple[TrackCounts, ...]
    notes: tuple[str, ...] = ()


def count_view(
    region: PathRegion,
    tracks: Sequence[tuple[str, TrackData]],
    graph: PangenomeGraph | None = None,
) -> RegionCounts:
    """Return statistics of tracks in one region of a contig, or of a path of the graph."""
    regions = Intervals.from_columns([region.path], [region.start], [region.end])
    found = []
    for title, data in tracks:
        own = find_contig(data, region.path, graph)
        if own is not None:
            name, shift = own
            moved = Intervals.from_columns([name], [region.start + shift], [region.end + shift])
            found.append(_count(title, data, moved))
    return RegionCounts(regions, tuple(found))


def count_regions(regions: Intervals, tracks: Sequence[tuple[str, TrackData]]) -> RegionCounts:
    """Return statistics of tracks in many regions; contigs may have alternative names."""
    found = tuple(_count(title, data, regions) for title, data in tracks)
    notes: dict[str, list[str]] = {}
    for title, data in tracks:
        known = replace(data.intervals.select(np.empty(0, np.int64)), notes=())
        for note in map_contigs(known, regions.contigs).notes:
            notes.setdefault(note, []).append(title)
    said = (
        note if len(titles) == len(tracks) else f"{', '.join(titles)}: {note}"
        for note, titles in notes.items()
    )
    return RegionCounts(regions, found, (*regions.notes, *said))


def _count(title: str, data: TrackData, regions: Intervals) -> TrackCounts:
    # A stretch of a signal without a value (NaN) is none.
    is_signal = data.kind is TrackKind.SIGNAL
    subjects = map_contigs(data.signal.steps if is_signal else data.covering, regions.contigs)
    coverage = coverage_fraction(regions, subjects, backend="cpu")
    counts = coverage.counts
    if data.owners is not None:
        counts = count_split_overlaps(regions, subjects, subject_owners=data.owners)
    means = coverage.mean_depths
    if is_signal:
        means = _signal_means(regions, data, subjects.contigs)
    return TrackCounts(
        title,
        counts.astype(np.int64),
        coverage.covered_bases,
        coverage.fractions,
        means,
    )


def _signal_means(regions: Intervals, data: TrackData, contigs: tuple[str, ...]) -> np.ndarray:
    """Return the mean of a signal over the bases with a value, by region.

    ``contigs`` are the names that the regions have for the contigs of the signal.
    """
    means = np.full(len(regions), np.nan)
    own_names = dict(zip(contigs, data.contigs, strict=True))
    for rank, name in enumerate(regions.contigs):
        rows = np.flatnonzero(regions.contig_ids == rank)
        if len(rows) and name in own_names:
            places = regions.starts[rows], regions.ends[rows]
            means[rows] = data.signal.means(own_names[name], *places)
    return means


def write_counts(path: Path, found: RegionCounts) -> None:
    """Write counts as TSV, one line per region and track; 0-based, half-open."""
    regions = found.regions
    with path.open("w", encoding="utf-8") as file:
        file.write(TSV_HEADER)
        for row in range(len(regions)):
            contig = regions.contigs[int(regions.contig_ids[row])]
            start, end = int(regions.starts[row]), int(regions.ends[row])
            name = regions.names[row] if regions.names is not None else ""
            for track in found.tracks:
                mean = "" if np.isnan(track.means[row]) else f"{track.means[row]:.6g}"
                file.write(
                    f"{contig}\t{start}\t{end}\t{name}\t{end - start}\t{track.title}\t"
                    f"{track.counts[row]}\t{track.covered_bases[row]}\t"
                    f"{track.fractions[row]:.6g}\t{mean}\n"
                )


def first_regions(regions: Intervals, limit: int) -> Intervals:
    """Return at most the first ``limit`` regions, with a note on the others."""
    if len(regions) <= limit:
        return regions
    note = f"The first {limit:,} of {n_words(len(regions), 'region')} are counted."
    return replace(regions.select(np.arange(limit)), notes=(note,))
