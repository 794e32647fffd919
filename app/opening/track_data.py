"""Content of a track file, prepared for drawing: reads, a signal or features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np

from genoviz.analyses.intervals.coverage_index import CoverageIndex
from genoviz.analyses.intervals.linear_coordinates import contig_ends
from genoviz.analyses.intervals.signal_index import SignalIndex
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.intervals.intervals import SplitIntervals, iter_read_intervals, iter_read_split
from genoviz.io.intervals.kinds import READ_KINDS, find_kind
from genoviz.io.text.text_file import read_start
from genoviz.model import Annotations, Intervals
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_features import FeatureTable

SIGNAL_FILES = ("bigwig", "bedgraph")
ANNOTATION_FILES = ("bed", "gff")
ANNOTATION_BYTES = 200_000_000
BED12_COLUMNS, START_BYTES = 12, 1 << 16


class TrackKind(StrEnum):
    """What a track shows."""

    READS = "reads"
    SIGNAL = "signal"
    FEATURES = "features"


@dataclass(frozen=True, eq=False)
class TrackData:
    """The content of a track file, shared between tabs.

    Attributes
    ----------
    kind
        What is drawn.
    intervals
        Blocks of reads, steps of a signal, or features.
    coverage
        Depth of reads and features, as of ``genoviz depth``: features of BED12 cover the bases of
        their blocks. None for a signal.
    signal
        The signal; None for reads and features.
    features
        The features; None otherwise.
    strands
        Depth of forward and of reverse reads, or None if no strand is known.
    notes
        What the reader left out or treated specially.
    owners
        int64, shape (n,): the read or feature of each block, ascending from 0; None if each is one
        block.
    blocks
        The blocks of features that have any (BED12), or None.
    """

    kind: TrackKind
    intervals: Intervals
    coverage: CoverageIndex | None = None
    signal: SignalIndex | None = None
    features: FeatureTable | None = None
    strands: tuple[CoverageIndex, CoverageIndex] | None = None
    notes: tuple[str, ...] = ()
    owners: np.ndarray | None = None
    blocks: Intervals | None = None

    @property
    def contigs(self) -> tuple[str, ...]:
        """Names of the contigs."""
        return self.intervals.contigs

    @property
    def covering(self) -> Intervals:
        """What covers bases: blocks of features, or else the intervals."""
        return self.intervals if self.blocks is None else self.blocks

    @cached_property
    def finite_signal(self) -> SignalIndex:
        """The signal without infinite values, which have no place on an axis."""
        is_finite = np.isfinite(self.signal.steps.scores)
        if is_finite.all():
            return self.signal
        return SignalIndex.of(self.signal.steps.select(is_finite))

    @cached_property
    def contig_lengths(self) -> dict[str, int]:
        """Length of each contig, bp; the largest interval end if the file does not give it."""
        lengths = self.intervals.contig_lengths
        known = contig_ends(self.intervals) if lengths is None else lengths
        return dict(zip(self.contigs, known.tolist(), strict=True))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of intervals on each contig."""
        n = np.bincount(self.intervals.contig_ids, minlength=len(self.contigs))
        return dict(zip(self.contigs, n.tolist(), strict=True))

    @property
    def cpm_factor(self) -> float:
        """Factor from depth to depth per million reads or features."""
        n_reads = self.intervals.n_reads
        return 1e6 / max(len(self.intervals) if n_reads is None else n_reads, 1)

    def extent(self, contig: str) -> tuple[int, int]:
        """Return the first start and the last end on a contig; (0, 0) if it is empty."""
        is_there = self.intervals.contig_ids == self.intervals.find_contig(contig)
        if not is_there.any():
            return 0, 0
        return int(self.intervals.starts[is_there].min()), int(self.intervals.ends[is_there].max())


def iter_read_track(path: Path) -> Iterator[OpeningProgress]:
    """Read a track file; the last progress has its `TrackData`.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or is missing or truncated; the message says why.
    """
    try:
        yield from _iter_read(path)
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror or error}") from error
    except ParameterError as error:
        raise FileFormatError(path, str(error)) from error


def _iter_read(path: Path) -> Iterator[OpeningProgress]:
    kind = find_kind(path)
    if kind in ANNOTATION_FILES and path.stat().st_size < ANNOTATION_BYTES:
        yield OpeningProgress(f"Reading {path.name}")
        annotations = read_annotations(path)
        yield OpeningProgress(f"Sorting the features of {path.name}")
        yield OpeningProgress("Ready", 1.0, features_of(annotations))
        return
    intervals = None
    owners: list[np.ndarray] = []
    for progress in iter_read_intervals(path, reads_of_blocks=owners):
        intervals = progress.intervals
        fraction = progress.n_bytes_done / max(progress.n_bytes_total, 1)
        yield OpeningProgress(f"{progress.stage} of {path.name}", fraction)
    yield OpeningProgress(f"Summing up {path.name}")
    if not len(intervals):
        note = "The file has no intervals."
        intervals = replace(intervals, notes=(*intervals.notes, note))
        if kind in SIGNAL_FILES and intervals.scores is None:
            intervals = replace(intervals, scores=np.empty(0))
    split = None
    if kind == "bigbed" or (kind == "bed" and _has_blocks(path)):
        for step in iter_read_split(path):
            split = step.split
            yield OpeningProgress(f"Reading the blocks of {path.name}")
    data = prepare(intervals, kind, split)
    if owners and len(intervals) > (intervals.n_reads or 0):
        starts_read = np.diff(owners[0], prepend=owners[0][0]) > 0
        data = replace(data, owners=np.cumsum(starts_read).astype(np.int64))
    yield OpeningProgress("Ready", 1.0, data)


def _has_blocks(path: Path) -> bool:
    """Return whether a BED file begins with rows of 12 columns."""
    lines = read_start(path, START_BYTES).splitlines()
    return any(len(line.split()) >= BED12_COLUMNS for line in lines if not line.startswith(b"#"))


def prepare(intervals: Intervals, kind: str, split: SplitIntervals | None = None) -> TrackData:
    """Return intervals of a file format, and blocks of features, prepared for drawing."""
    if kind in SIGNAL_FILES:
        signal = SignalIndex.of(intervals)
        data = TrackData(TrackKind.SIGNAL, intervals, signal=signal, notes=intervals.notes)
        _ = data.finite_signal
        return data
    if kind in READ_KINDS:
        return TrackData(
            TrackKind.READS,
            intervals,
            coverage=CoverageIndex.of(intervals),
            strands=_split_strands(intervals),
            notes=intervals.notes,
        )
    table = FeatureTable.of(intervals)
    return feature_data(table, split, intervals.notes)


def features_of(annotations: Annotations) -> TrackData:
    """Return annotations, prepared for drawing."""
    table = FeatureTable.of_annotations(annotations)
    # Exons of GFF are rows of their own, and genes are what is drawn.
    split = SplitIntervals(*table.split()) if len(annotations.blocks) else None
    return feature_data(table, split, annotations.notes)


def feature_data(
    table: FeatureTable, split: SplitIntervals | None, notes: tuple[str, ...]
) -> TrackData:
    """Return features for drawing; ``split`` are their blocks, which are what they cover."""
    _ = table.names  # sorted now, in the job, rather than at the first search
    has_blocks = split is not None and (
        len(split.blocks) != len(table)
        or split.blocks.lengths.sum() != table.intervals.lengths.sum()
    )
    found = split.blocks if has_blocks else table.intervals
    if has_blocks:
        _ = table.sorted_ends
    return TrackData(
        TrackKind.FEATURES,
        table.intervals,
        coverage=CoverageIndex.of(found),
        features=table,
        strands=_split_strands(found),
        notes=notes,
        owners=split.owners if has_blocks else None,
        blocks=found if has_blocks else None,
    )


def _split_strands(intervals: Intervals) -> tuple[CoverageIndex, CoverageIndex] | None:
    strands = intervals.strands
    if strands is None or not strands.any():
        return None
    return (
        CoverageIndex.of(intervals.select(strands > 0)),
        CoverageIndex.of(intervals.select(strands < 0)),
    )
