"""Limits of the y axes of lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import Lane, describe_lane
from genoviz_app.pages.tracks.drawing.summaries import Summary, range_of_contig
from genoviz_app.pages.tracks.track import Scale, Track

Range = tuple[float, float]


class Scaler:
    """Chooses scales; caches the ranges of whole contigs."""

    def __init__(self) -> None:
        self._ranges: dict[tuple[int, str], Range] = {}

    def set_scales(self, lanes: Sequence[Lane], view: View) -> None:
        """Set a common scale and its description for the value rows of each lane."""
        lanes = [lane for lane in lanes if lane.parts]
        seen = [range_in_view(lane.parts, view) for lane in lanes]
        group = [
            found
            for found, lane in zip(seen, lanes, strict=True)
            if lane.first.track.look.scale is Scale.GROUP
        ]
        for lane, found in zip(lanes, seen, strict=True):
            scale = self._choose(lane, found, group, view)
            for row in lane.rows:
                row.scale = scale
            note = describe_lane(lane)
            if any(has_infinite(summary, view) for summary, _ in lane.parts):
                note += ", some infinite"
            for row in lane.rows:
                row.note = note

    def _choose(self, lane: Lane, seen: Range, group: Sequence[Range], view: View) -> Range:
        look = lane.first.track.look
        low, high = seen
        if look.scale is Scale.GROUP:
            low, high = min(g[0] for g in group), max(g[1] for g in group)
        elif look.scale is Scale.CONTIG:
            found = [self._range_of(row.track, view.contig) for row in lane.rows if row.parts]
            low, high = min(f[0] for f in found), max(f[1] for f in found)
        elif look.scale is Scale.PERCENTILE:
            high = percentile_in_view(lane.parts, view, look.percentile)
        elif look.scale is Scale.FIXED:
            low, high = look.floor, look.limit
            return low, (high if high > low else low + 1.0)
        low = min(low, 0.0)
        return low, (high if high > 0 else 1.0 if low == 0 else 0.0)

    def _range_of(self, track: Track, contig: str) -> Range:
        own, _ = track.find_contig(contig)
        key = (id(track.data), own)
        if key not in self._ranges:
            self._ranges[key] = range_of_contig(track.data, own)
        low, high = self._ranges[key]
        factor = factor_of(track)
        return low * factor, high * factor


def factor_of(track: Track) -> float:
    """Return the factor from a track's depth to the drawn values."""
    is_scaled = track.look.is_cpm and track.data.kind is not TrackKind.SIGNAL
    return track.data.cpm_factor if is_scaled else 1.0


def _seen(summary: Summary, view: View) -> np.ndarray:
    return (summary.edges[:-1] < view.end) & (summary.edges[1:] > view.start)


def range_in_view(parts: Sequence[tuple[Summary, bool]], view: View) -> Range:
    """Return minimum and maximum of the visible finite values; includes 0."""
    lows, highs = [0.0], [0.0]
    for summary, _ in parts:
        is_seen = _seen(summary, view)
        low = summary.low if summary.minima is None else summary.minima
        lows.append(float(low[is_seen].min(initial=0.0)))
        highs.append(float(_tops(summary)[is_seen].max(initial=0.0)))
    return min(lows), max(highs)


def _tops(summary: Summary) -> np.ndarray:
    return summary.high if summary.maxima is None else summary.maxima


def has_infinite(summary: Summary, view: View) -> bool:
    """Return whether a value in view is infinite."""
    if summary.minima is None:
        return False
    is_seen = _seen(summary, view)
    return bool(np.isinf(summary.low[is_seen]).any() or np.isinf(summary.high[is_seen]).any())


def percentile_in_view(
    parts: Sequence[tuple[Summary, bool]], view: View, percentile: float
) -> float:
    """Return a percentile of the values over the bases in view.

    Each base counts with the maximum of the finite values of its bin.
    """
    values, lengths = [np.zeros(0)], [np.zeros(0)]
    for summary, _ in parts:
        is_seen = _seen(summary, view)
        ends = np.minimum(summary.edges[1:][is_seen], view.end)
        values.append(_tops(summary)[is_seen])
        lengths.append(ends - np.maximum(summary.edges[:-1][is_seen], view.start))
    value, length = np.concatenate(values), np.concatenate(lengths)
    if not len(value):
        return 0.0
    order = np.argsort(value, kind="stable")
    shares = np.cumsum(length[order])
    place = int(np.searchsorted(shares, shares[-1] * min(percentile, 100.0) / 100 * (1 - 1e-12)))
    return float(value[order[min(place, len(order) - 1)]])
