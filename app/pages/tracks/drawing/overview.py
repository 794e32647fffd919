"""What a whole contig has, for the strip above the tracks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.summaries import PIXELS_PER_BIN
from genoviz_app.pages.tracks.track import Track

GREATEST = 255


class OverviewStrip:
    """Heights over a whole contig, of the first track that has it; kept until it is another."""

    def __init__(self) -> None:
        self._of: tuple = ()

    def forget(self) -> None:
        """Send all of it next time."""
        self._of = ()

    def news(
        self, tracks: Sequence[Track], contig: str, length: int, width: int
    ) -> np.ndarray | None:
        """Return the heights (uint8), or None if they are those of before."""
        first = next((t for t in tracks if t.find_contig(contig) is not None), None)
        key = (contig, length, id(first.data) if first else 0, width)
        if key == self._of:
            return None
        self._of = key
        return overview_heights(first, contig, length, width)


def overview_heights(track: Track | None, contig: str, length: int, width: int) -> np.ndarray:
    """Return the logarithm of a track's means along a contig, as uint8 up to 255."""
    if track is None:
        return np.zeros(1, np.uint8)
    name, shift = track.find_contig(contig)
    n_bins = max(min(width // PIXELS_PER_BIN, length), 1)
    edges = np.arange(n_bins + 1, dtype=np.int64) * length // n_bins
    index = track.data.signal if track.data.kind is TrackKind.SIGNAL else track.data.coverage
    means = np.nan_to_num(index.bins(name, edges + shift).means.astype(float))
    heights = np.log1p(np.maximum(means, 0) / max(float(means.mean()), 1e-12))
    heights *= GREATEST / max(float(heights.max(initial=0)), 1e-12)
    return np.ceil(heights).astype(np.uint8)
