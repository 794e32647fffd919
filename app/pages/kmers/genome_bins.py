"""Data of the figures along the genome: bins of hits and of counts."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
from genoviz.analyses.sequences.kmer_spectrum import KmerStrand
from genoviz.analyses.sequences.multiplicity_track import MultiplicityTrack
from genoviz_app.pages.kmers.hits import GenomeAxis, HitSet, bin_hits
from genoviz_app.plots.bin_size import round_size
from genoviz_app.plots.kmer_genome import LOWEST

PIXELS_PER_BIN = 2


@dataclass(frozen=True)
class GenomeView:
    """A view of the figures.

    Attributes
    ----------
    contig
        Index of the contig, or -1 for all contigs concatenated.
    start, end
        Visible interval; bp of the contig, or of all contigs concatenated.
    width
        Width of the figure, px.
    """

    contig: int
    start: float
    end: float
    width: int


@dataclass(frozen=True, eq=False)
class GenomeBins:
    """Bins of hits and counts for a view.

    Attributes
    ----------
    view
        The view they were computed for.
    bin_bp
        Size of a bin.
    hits, counts
        Columns for the figures; None for missing data.
    """

    view: GenomeView
    bin_bp: int
    hits: dict[str, Any] | None
    counts: dict[str, Any] | None


def choose_bins(view: GenomeView, length: int) -> tuple[np.ndarray, int]:
    """Return bin edges at multiples of a round size, and the size; int64, bp."""
    wanted = max((view.end - view.start) * PIXELS_PER_BIN / max(view.width, 1), 1.0)
    size = round_size(wanted)
    first = max(int(view.start) // size, 0) * size
    last = min(int(np.ceil(view.end / size)) * size, -(-length // size) * size)
    edges = np.arange(first, max(last, first + size) + size, size, dtype=np.int64)
    return np.minimum(edges, length)[np.r_[True, np.minimum(edges, length)[1:] > edges[:-1]]], size


def iter_make_bins(
    axis: GenomeAxis,
    view: GenomeView,
    hits: HitSet | None,
    repeats: KmerRepeats | None,
    k: int,
    strand: KmerStrand = "forward",
) -> Generator[float, None, GenomeBins]:
    """Return the data of a view; yields the fraction of counting that is done."""
    is_whole = view.contig < 0
    length = axis.total if is_whole else int(axis.lengths[view.contig])
    edges, size = choose_bins(view, length)
    shift = 0 if is_whole else int(axis.offsets[view.contig])
    hit_columns = _hit_columns(hits, edges, shift, axis, view) if hits is not None else None
    count_columns = None
    if repeats is not None and k <= repeats.longest_stretch:
        track = yield from repeats.iter_track(k, strand)
        mean, high = bin_counts(track, axis, view.contig, edges)
        count_columns = _count_columns(mean, high, edges, axis, view)
    return GenomeBins(view, size, hit_columns, count_columns)


def _hit_columns(
    hits: HitSet, edges: np.ndarray, shift: int, axis: GenomeAxis, view: GenomeView
) -> dict[str, Any]:
    forward, reverse = (bin_hits(where, edges + shift) for where in (hits.forward, hits.reverse))
    has = np.flatnonzero(forward + reverse)
    left, right = edges[has], edges[has + 1]
    return {
        "left": left,
        "right": right,
        "forward": forward[has],
        "minus_reverse": -reverse[has],
        "reverse": reverse[has],
        "place": say_places(axis, view.contig, left, right),
    }


def _count_columns(
    mean: np.ndarray, high: np.ndarray, edges: np.ndarray, axis: GenomeAxis, view: GenomeView
) -> dict[str, Any]:
    left, right = edges[:-1], edges[1:]
    return {
        "left": left,
        "right": right,
        "mean": np.maximum(mean, LOWEST),
        "high": np.maximum(high, LOWEST),
        "bottom": np.full(len(left), LOWEST),
        "place": say_places(axis, view.contig, left, right),
        "mean_text": [f"{value:,.4g}" for value in mean.tolist()],
        "high_text": [f"{value:,}" for value in high.tolist()],
    }


def bin_counts(
    track: MultiplicityTrack, axis: GenomeAxis, contig: int, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and maximum count of the k-mers that start in each bin; 0 for empty bins."""
    if contig >= 0:
        found = track.bins(contig, edges)
        return found.means, found.maxima
    sums, counts, highest = np.zeros((3, len(edges) - 1), np.float64)
    first = max(int(np.searchsorted(axis.offsets, edges[0], side="right")) - 1, 0)
    for rank in range(first, len(axis.lengths)):
        low, high = axis.offsets[rank : rank + 2].tolist()
        if low >= edges[-1]:
            break
        a = max(int(np.searchsorted(edges, low, side="right")) - 1, 0)
        b = min(int(np.searchsorted(edges, high, side="left")), len(edges) - 1)
        if a >= b:
            continue
        found = track.bins(rank, np.clip(edges[a : b + 1] - low, 0, high - low))
        sums[a:b] += found.means * found.n_kmers
        counts[a:b] += found.n_kmers
        highest[a:b] = np.maximum(highest[a:b], found.maxima)
    return sums / np.maximum(counts, 1), highest.astype(np.int64)


def say_places(axis: GenomeAxis, contig: int, left: np.ndarray, right: np.ndarray) -> list[str]:
    """Format intervals, 1-based; one that goes on in another contig has both names."""
    if contig >= 0:
        ids, first = np.full(len(left), contig), left
    else:
        ids = np.searchsorted(axis.offsets, left, side="right") - 1
        first = left - axis.offsets[ids]
    last = first + (right - left)
    texts = [
        f"{axis.names[i]}:{a + 1:,}-{b:,}"
        for i, a, b in zip(ids.tolist(), first.tolist(), last.tolist(), strict=True)
    ]
    for row in np.flatnonzero(last > axis.lengths[ids]).tolist():
        place = int(right[row]) - 1
        other = int(np.searchsorted(axis.offsets, place, side="right")) - 1
        start = f"{axis.names[ids[row]]}:{int(first[row]) + 1:,}"
        texts[row] = f"{start} to {axis.names[other]}:{place - int(axis.offsets[other]) + 1:,}"
    return texts
