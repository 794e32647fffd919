"""Summaries of depth and signals: of an interval in bins or exact steps, and of a whole contig."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.intervals.coverage_index import CoverageIndex
from genoviz.analyses.intervals.signal_index import SignalIndex
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.pages.tracks.track import Track

EXACT_BP = 40_000
PIXELS_PER_BIN = 2
MAX_BYTE = 255


@dataclass(frozen=True, eq=False)
class Summary:
    """Values along an interval.

    Attributes
    ----------
    edges
        int64, shape (n + 1,), bp of the displayed contig.
    low, mean, high
        float64, shape (n,): minimum, mean and maximum of each bin.
    bin_bp
        Bin size, bp; 0 for exact steps.
    minima, maxima
        float64, shape (n,): minimum and maximum of the finite values of each bin, 0 without any;
        None if no value is infinite.
    """

    edges: np.ndarray
    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray
    bin_bp: int
    minima: np.ndarray | None = None
    maxima: np.ndarray | None = None

    @property
    def is_exact(self) -> bool:
        """Whether each step has a single value."""
        return self.bin_bp <= 1

    def scaled(self, factor: float) -> Summary:
        """Return the values multiplied by a factor."""
        if factor == 1:
            return self
        return Summary(
            self.edges, factor * self.low, factor * self.mean, factor * self.high, self.bin_bp
        )


def choose_edges(start: int, end: int, width: int, length: int) -> tuple[np.ndarray, int]:
    """Return edges of equal bins about two pixels wide, and the bin size.

    Edges are multiples of the bin size, so bins keep their positions and values while the view
    moves. Only the last bin of a contig of ``length`` bp is shorter.
    """
    size = max(-(-(end - start) * PIXELS_PER_BIN // max(width, 1)), 1)
    edges = np.arange(start // size * size, min(end, length), size, dtype=np.int64)
    return np.append(edges, min(int(edges[-1]) + size, length)), size


def summarise(
    data: TrackData, contig: str, shift: int, start: int, end: int, width: int, length: int
) -> Summary:
    """Return the values of a track from ``start`` to ``end`` for a drawing of ``width`` px.

    Parameters
    ----------
    contig, shift
        The track's own name of the contig, and the position of the displayed contig's base 0 on it.
    length
        Length of the displayed contig, bp; ``start`` is on it.
    """
    is_signal = data.kind is TrackKind.SIGNAL
    index = data.signal if is_signal else data.coverage
    found = summarise_index(index, contig, shift, start, end, width, length)
    if not is_signal or data.finite_signal is data.signal:
        return found
    if found.bin_bp == 0:
        finite = np.where(np.isfinite(found.mean), found.mean, 0.0)
        return replace(found, minima=finite, maxima=finite)
    bins = data.finite_signal.bins(contig, found.edges + shift)
    means = np.where(bins.covered_bases > 0, bins.means, found.mean)
    minima, maxima = (np.nan_to_num(values) for values in (bins.minima, bins.maxima))
    return replace(found, mean=means, minima=minima, maxima=maxima)


def summarise_index(
    index: CoverageIndex | SignalIndex,
    contig: str,
    shift: int,
    start: int,
    end: int,
    width: int,
    length: int,
) -> Summary:
    """Like `summarise`, for one index."""
    if end - start <= EXACT_BP:
        found = _steps(index, contig, start + shift, end + shift)
        if len(found[1]) <= width:
            edges, values = found
            return Summary(edges - shift, values, values, values, 0)
    edges, size = choose_edges(start, end, width, length)
    bins = index.bins(contig, edges + shift)
    values = [
        np.nan_to_num(v.astype(np.float64), posinf=np.inf, neginf=-np.inf)
        for v in (bins.minima, bins.means, bins.maxima)
    ]
    return Summary(edges, *values, bin_bp=size)


def _steps(
    index: CoverageIndex | SignalIndex, contig: str, start: int, end: int
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(index, CoverageIndex):
        steps = index.steps(contig, max(start, 0), max(end, 1))
        return steps.edges, steps.depths.astype(np.float64)
    found = index.steps_of(contig, start, end)
    edges = np.stack([found.starts, found.ends], axis=1).reshape(-1)
    edges = np.concatenate([[start], np.clip(edges, start, end), [end]])
    values = np.zeros(len(edges) - 1)
    values[1::2] = found.scores
    is_long = np.diff(edges) > 0
    return np.append(edges[:-1][is_long], end), values[is_long]


def value_at(data: TrackData, contig: str, position: int) -> float:
    """Return depth or signal at one base; NaN if a signal has no value there."""
    place = np.array([position], np.int64)
    if data.kind is TrackKind.SIGNAL:
        return float(data.signal.values_at(contig, place)[0])
    return float(data.coverage.depths_at(contig, place)[0])


def range_of_contig(data: TrackData, contig: str) -> tuple[float, float]:
    """Return minimum and maximum of the finite values of a whole contig."""
    edges = np.array([0, max(data.contig_lengths[contig], 1)], np.int64)
    index = data.finite_signal if data.kind is TrackKind.SIGNAL else data.coverage
    bins = index.bins(contig, edges)
    return float(np.nan_to_num(bins.minima[0])), float(np.nan_to_num(bins.maxima[0]))


class OverviewStrip:
    """Heights along a whole contig, from the first track that has it, cached."""

    def __init__(self) -> None:
        self._of: tuple = ()

    def forget(self) -> None:
        """Send all heights the next time."""
        self._of = ()

    def news(
        self, tracks: Sequence[Track], contig: str, length: int, width: int
    ) -> np.ndarray | None:
        """Return the heights (uint8), or None if they are unchanged."""
        first = next((t for t in tracks if t.find_contig(contig) is not None), None)
        key = (contig, length, id(first.data) if first else 0, width)
        if key == self._of:
            return None
        self._of = key
        return overview_heights(first, contig, length, width)


def overview_heights(track: Track | None, contig: str, length: int, width: int) -> np.ndarray:
    """Return log-scaled means of the finite values of a track along a contig; uint8."""
    if track is None:
        return np.zeros(1, np.uint8)
    name, shift = track.find_contig(contig)
    n_bins = max(min(width // PIXELS_PER_BIN, length), 1)
    edges = np.arange(n_bins + 1, dtype=np.int64) * length // n_bins
    is_signal = track.data.kind is TrackKind.SIGNAL
    index = track.data.finite_signal if is_signal else track.data.coverage
    means = np.nan_to_num(index.bins(name, edges + shift).means.astype(float))
    heights = np.log1p(np.maximum(means, 0) / max(float(means.mean()), 1e-12))
    heights *= MAX_BYTE / max(float(heights.max(initial=0)), 1e-12)
    return np.ceil(heights).astype(np.uint8)
