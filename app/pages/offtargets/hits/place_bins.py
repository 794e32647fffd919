"""Data of the figure of places: bins of hits, contig names, and the mark of one hit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.model.columns import iter_row_slices
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.plots.bin_size import round_size
from genoviz_app.plots.lit_stretches import Lit, lit_bars
from genoviz_app.plots.offtarget_places import BAR_COLOUR, MISMATCH_COLOURS

CONTIGS, GENOME, SCORES = "contigs", "genome", "scores"
PIXELS_PER_BIN = 3
MAX_CONTIGS = 24
FAINTEST = 0.35
N_SCORES = 20
LETTER_PIXELS, MAX_NAMES = 7, 200
LIT_HEIGHT, LIT_SHARE = 0.2, 0.04
"""Height of a highlighted set, relative to a row and to all rows."""


@dataclass(frozen=True)
class PlaceView:
    """A view of the figure of places.

    Attributes
    ----------
    mode
        One row per contig, or all contigs concatenated with one row per number of mismatches or per
        class of CFD scores.
    start, end
        The visible interval, bp: of each contig, or of all contigs concatenated.
    width
        Width of the figure, px.
    """

    mode: str
    start: float
    end: float
    width: int


@dataclass(frozen=True, eq=False)
class PlaceBins:
    """The data that `genoviz_app.plots.offtarget_places.PlacesFigure.show` draws."""

    view: PlaceView
    bin_bp: int
    contigs: np.ndarray
    columns: dict[str, Any]
    bars: dict[str, Any]
    rows: dict[float, str]
    names: dict[float, str]
    borders: np.ndarray
    labels: tuple[str, str]


def shown_contigs(offsets: np.ndarray) -> np.ndarray:
    """Return the contigs that get a row: the longest, in genome order; int64."""
    lengths = np.diff(offsets)
    longest = np.argsort(-lengths, kind="stable")[:MAX_CONTIGS]
    return np.sort(longest[lengths[longest] > 0])


def make_place_bins(found: FoundHits, view: PlaceView) -> PlaceBins:
    """Return the bins of the listed hits."""
    size = round_size(max((view.end - view.start) * PIXELS_PER_BIN / max(view.width, 1), 1.0))
    return (_by_contig if view.mode == CONTIGS else _along_genome)(found, view, size)


def _by_contig(found: FoundHits, view: PlaceView, size: int) -> PlaceBins:
    hits, planes = found.result.hits, found.result.genome.planes
    contigs = shown_contigs(planes.offsets)
    lengths = np.diff(planes.offsets)[contigs]
    row_of = np.full(planes.n_contigs, -1, np.int64)
    row_of[contigs] = np.arange(len(contigs))
    parts = (
        (row_of[hits.contig_ids[rows]], hits.starts[rows], hits.mismatches[rows])
        for rows in (found.rows[part] for part in iter_row_slices(len(found)))
    )
    lows, bins, counts, fewest = _bin(parts, len(contigs), view, size)
    left = bins * size
    right = np.minimum(left + size, lengths[lows])
    names = [planes.names[contig] for contig in contigs.tolist()]
    places = [
        f"{names[row]}:{first + 1:,}-{last:,}"
        for row, first, last in zip(lows.tolist(), left.tolist(), right.tolist(), strict=True)
    ]
    middles = -lows.astype(float)
    columns = _columns(left, right, middles, 0.38, counts, fewest, places)
    levels = -np.arange(len(contigs), dtype=float)
    bars = {
        "left": np.zeros(len(contigs)),
        "right": lengths,
        "bottom": levels - 0.38,
        "top": levels + 0.38,
    }
    ticks = {float(level): shorten(name) for level, name in zip(levels, names, strict=True)}
    more = planes.n_contigs - len(contigs)
    words = ["Position (bp)"]
    if found.result.sites is not None:
        words = ["First position of each hit (bp)"]
    if more:
        words.append(f"the longest {len(contigs)} of {planes.n_contigs:,}")
    label = ("; " if found.result.sites is None else "\n").join(words)
    return PlaceBins(view, size, contigs, columns, bars, ticks, {}, np.empty(0), (label, ""))


def _along_genome(found: FoundHits, view: PlaceView, size: int) -> PlaceBins:
    hits, planes = found.result.hits, found.result.genome.planes
    if view.mode == SCORES:
        n_levels = N_SCORES
        half, ticks = 0.5, {place - 0.5: f"{place / N_SCORES:g}" for place in range(0, 21, 5)}
    else:
        n_levels = found.result.query.max_mismatches + 1
        half, ticks = 0.4, _level_ticks(found.result.query.max_mismatches)
    parts = (
        (_levels_of(found, rows, view), hits.positions[rows], hits.mismatches[rows])
        for rows in (found.rows[part] for part in iter_row_slices(len(found)))
    )
    levels, bins, counts, fewest = _bin(parts, n_levels, view, size)
    left = bins * size
    right = np.minimum(left + size, planes.n_bases)
    contigs = planes.find_contigs(left)
    places = [
        f"{planes.names[contig]}:{first - int(planes.offsets[contig]) + 1:,}"
        for contig, first in zip(contigs.tolist(), left.tolist(), strict=True)
    ]
    columns = _columns(left, right, levels.astype(float), half, counts, fewest, places)
    bars = {name: np.empty(0) for name in ("left", "right", "bottom", "top")}
    names = contig_names(planes.names, planes.offsets, (view.start, view.end), view.width)
    borders = planes.offsets[1:-1] if len(planes.offsets) < MAX_NAMES else planes.offsets[:0]
    if found.result.sites is not None:
        label = "First position of each hit"
    else:
        label = "" if names else "Position (bp)"
    return PlaceBins(
        view, size, np.arange(planes.n_contigs), columns, bars, ticks, names,
        borders.astype(float), (label, "CFD" if view.mode == SCORES else "Mismatches"),
    )  # fmt: skip


def _level_ticks(maximum: int) -> dict[float, str]:
    return {float(level): str(level) for level in range(maximum + 1)}


def _levels_of(found: FoundHits, rows: np.ndarray, view: PlaceView) -> np.ndarray:
    """Return the row of the figure of hits, by mismatches or score; -1 without a score."""
    if view.mode != SCORES:
        return found.result.hits.mismatches[rows].astype(np.int64)
    scores = np.nan_to_num(found.result.cfd[rows] * N_SCORES, nan=-1.0)
    return np.minimum(scores, N_SCORES - 1).astype(np.int64)


def _bin(
    parts: Iterable[tuple[np.ndarray, ...]], n_rows: int, view: PlaceView, size: int
) -> tuple[np.ndarray, ...]:
    """Return row, bin, number of hits and fewest mismatches of each non-empty visible bin.

    Parts have the rows, positions and mismatches of some hits; those with row -1 do not count.
    """
    first, last = int(view.start) // size, max(int(np.ceil(view.end / size)), 1)
    counts = np.zeros(n_rows * (last - first), np.int64)
    fewest = np.full(len(counts), 255, np.uint8)
    for rows, positions, mismatches in parts:
        bins = positions // size
        is_seen = (bins >= first) & (bins < last) & (rows >= 0)
        keys = rows[is_seen] * (last - first) + bins[is_seen] - first
        counts += np.bincount(keys, minlength=len(counts))
        np.minimum.at(fewest, keys, mismatches[is_seen])
    found = np.flatnonzero(counts)
    return found // (last - first), found % (last - first) + first, counts[found], fewest[found]


def _columns(
    left: np.ndarray,
    right: np.ndarray,
    middles: np.ndarray,
    half: float,
    counts: np.ndarray,
    fewest: np.ndarray,
    places: list[str],
) -> dict[str, Any]:
    high = np.log1p(max(float(counts.max(initial=1)), 2.0))
    return {
        "left": left,
        "right": right,
        "bottom": middles - half,
        "top": middles + half,
        "colour": [colour_of(level) for level in fewest.tolist()],
        "alpha": FAINTEST + (1 - FAINTEST) * np.log1p(counts) / high,
        "place": places,
        "n": counts,
        "fewest": fewest.astype(np.int64),
    }


def colour_of(level: int) -> str:
    """Return the colour for a number of mismatches."""
    return MISMATCH_COLOURS[level] if level < len(MISMATCH_COLOURS) else BAR_COLOUR


def contig_names(
    names: tuple[str, ...], offsets: np.ndarray, ends: tuple[float, float], width: int
) -> dict[float, str]:
    """Return the names of contigs that fit, keyed by their middles; none for a single contig."""
    start, end = ends
    if len(names) < 2:
        return {}
    per_pixel = (end - start) / max(width, 1)
    is_seen = (offsets[1:] > start) & (offsets[:-1] < end)
    if is_seen.sum() == 1:
        return {}
    shown, last = {}, -np.inf
    for contig in np.flatnonzero(is_seen)[:MAX_NAMES].tolist():
        low, high = max(offsets[contig], start), min(offsets[contig + 1], end)
        name, middle = shorten(names[contig]), float(low + high) / 2
        half = len(name) * LETTER_PIXELS * per_pixel / 2
        if middle - half > last:
            shown[middle] = name
            last = middle + half
    return shown


def shorten(name: str) -> str:
    """Shorten a name to fit beside an axis."""
    return name if len(name) <= 11 else f"{name[:5]}…{name[-5:]}"


def lit_of_view(sets: Iterable[Lit], found: FoundHits, view: PlaceView) -> dict[str, Any]:
    """Return the highlight bars: below each contig, or below all rows."""
    planes = found.result.genome.planes
    per_pixel = (view.end - view.start) / max(view.width, 1)
    if view.mode == CONTIGS:
        contigs = enumerate(shown_contigs(planes.offsets).tolist())
        rows = [(planes.names[contig], 0.0, -row - 0.5) for row, contig in contigs]
        height = LIT_HEIGHT
    else:
        n = N_SCORES if view.mode == SCORES else found.result.query.max_mismatches + 1
        is_seen = (planes.offsets[1:] > view.start) & (planes.offsets[:-1] < view.end)
        seen = np.flatnonzero(is_seen)[:MAX_NAMES].tolist()
        rows = [(planes.names[contig], float(planes.offsets[contig]), -0.6) for contig in seen]
        height = LIT_SHARE * n
    return lit_bars(sets, rows, (view.start, view.end), per_pixel, height)


def mark_of(
    result: SearchResult | None, row: int, bins: PlaceBins | None
) -> dict[str, list[float]]:
    """Return x and y of a hit above its row of the figure; empty if it is not visible."""
    nowhere: dict[str, list[float]] = {"x": [], "y": []}
    if result is None or row < 0 or bins is None:
        return nowhere
    hits = result.hits
    if bins.view.mode == CONTIGS:
        places = np.flatnonzero(bins.contigs == hits.contig_ids[row])
        if not len(places):
            return nowhere
        return {"x": [float(hits.starts[row])], "y": [0.45 - float(places[0])]}
    level = float(hits.mismatches[row]) + 0.45
    if bins.view.mode == SCORES:
        score = np.nan if result.cfd is None else float(result.cfd[row])
        if np.isnan(score):
            return nowhere
        level = min(score * N_SCORES, N_SCORES - 1.0) + 0.6
    return {"x": [float(hits.positions[row])], "y": [level]}
