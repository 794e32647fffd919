"""Visible dots of a Manhattan plot: the highest in each cell of a few pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.plots.lit_stretches import Lit

CELL = 3
"""Cell size, px, smaller than a dot; the highest dot in a cell covers the others."""

GAP = 0.004
NEAR_PIXELS = 30
MAX_LIT = 2000


@dataclass(frozen=True, eq=False)
class GenomeAxis:
    """An axis of concatenated contigs.

    Attributes
    ----------
    names
        The contigs that have variants, in file order.
    starts, ends
        float64, shape (n_contigs,): interval of each contig on the axis, bp.
    ranks
        int32, shape (n_variants,): index of each variant's contig in ``names``.
    places
        float64, shape (n_variants,): coordinate of each variant on the axis.
    has_positions
        bool, shape (n_contigs,): whether coordinates derive from positions; variants of contigs
        without positions are evenly spaced.
    """

    names: tuple[str, ...]
    starts: np.ndarray
    ends: np.ndarray
    ranks: np.ndarray
    places: np.ndarray
    has_positions: np.ndarray

    @classmethod
    def of(cls, variants: VariantTable) -> GenomeAxis:
        """Create the axis of variants."""
        used, ranks = np.unique(variants.contig_ids, return_inverse=True)
        n = len(used)
        highest, lowest = np.full(n, -1, np.int64), np.full(n, np.iinfo(np.int64).max)
        np.maximum.at(highest, ranks, variants.positions)
        np.minimum.at(lowest, ranks, variants.positions)
        counts = np.bincount(ranks, minlength=n)
        has_positions = (lowest < highest) | ((counts == 1) & (highest > 0))
        known = highest[has_positions]
        spacing = known.sum() / max(counts[has_positions].sum(), 1) or 1.0
        lengths = np.where(has_positions, highest + 1.0, np.maximum(counts, 1) * spacing)
        gap = GAP * lengths.sum()
        starts = np.concatenate([[0.0], np.cumsum(lengths + gap)[:-1]]) if n else np.empty(0)
        within = np.maximum(variants.positions, 0).astype(np.float64)
        for rank in np.flatnonzero(~has_positions).tolist():
            rows = np.flatnonzero(ranks == rank)
            within[rows] = (np.arange(len(rows)) + 0.5) * spacing
        names = tuple(variants.contigs[contig] for contig in used.tolist())
        places = starts[ranks] + within if n else within
        return cls(names, starts, starts + lengths, ranks.astype(np.int32), places, has_positions)

    @property
    def length(self) -> float:
        """End of the last contig."""
        return float(self.ends[-1]) if len(self.ends) else 1.0

    @cached_property
    def extent(self) -> tuple[float, float]:
        """The initial view; for a locus of one contig it starts at the first variant."""
        is_locus = len(self.names) == 1 and bool(self.has_positions[0])
        start = float(self.places.min()) if is_locus else 0.0
        return (start, self.length) if start > self.length / 2 else (0.0, self.length)

    @property
    def room(self) -> float:
        """Padding beyond both ends."""
        return 0.01 * (self.extent[1] - self.extent[0])

    @cached_property
    def order(self) -> np.ndarray:
        """int64: the variants by coordinate."""
        return np.argsort(self.places, kind="stable")

    @cached_property
    def sorted_places(self) -> np.ndarray:
        """The coordinates of `order`."""
        return self.places[self.order]

    def within(self, start: float, end: float) -> np.ndarray:
        """Return the variants from ``start`` to ``end`` on the axis, int64, by coordinate."""
        first, stop = np.searchsorted(self.sorted_places, [start, end], side="left")
        return self.order[first : int(stop) + 1]


def lit_points(track: Track, sets: Iterable[Lit]) -> dict[str, Any]:
    """Return coordinates and colours of highlighted variants, with the last set on top.

    A set with more than 2,000 of them is reduced to those with the largest values.
    """
    axis, places = track.axis, track.axis.sorted_places
    xs, ys, colours = [np.empty(0)], [np.empty(0)], []
    for lit in sets:
        change = np.zeros(len(places) + 1, np.int64)
        for rank in np.flatnonzero(axis.has_positions).tolist():
            ends = axis.starts[rank] + lit.stretches(axis.names[rank])
            ends = np.minimum(ends, axis.ends[rank])
            first, stop = np.searchsorted(places, ends, side="left").T
            np.add.at(change, first, 1)
            np.add.at(change, stop, -1)
        rows = axis.order[np.cumsum(change)[:-1] > 0]
        rows = rows[np.isfinite(track.values[rows])]
        rows = rows[np.argsort(-np.abs(track.values[rows]), kind="stable")[:MAX_LIT]]
        xs.append(axis.places[rows])
        ys.append(track.values[rows])
        colours += [lit.colour] * len(rows)
    return {"x": np.concatenate(xs), "y": np.concatenate(ys), "colour": colours}


@dataclass(frozen=True, eq=False)
class Track:
    """Data drawn along the genome.

    Attributes
    ----------
    variants, axis
        The variants, and their axis.
    values
        float64, shape (n_variants,); NaN is not drawn.
    say
        Returns the tooltip text for the values of some variants.
    label
        Label of the y axis.
    lines
        Dashed horizontal lines: values and colours.
    strong
        Dots from this value on are emphasized.
    min_top
        Minimum upper limit of the y axis.
    """

    variants: VariantTable
    axis: GenomeAxis
    values: np.ndarray
    say: Callable[[np.ndarray], list[str]] = field(repr=False)
    label: str
    lines: dict[float, str] = field(default_factory=dict)
    strong: float = np.inf
    min_top: float = 0.0

    @cached_property
    def by_value(self) -> np.ndarray:
        """int64: the variants with a value, in ascending order of value."""
        order = np.argsort(np.abs(self.values), kind="stable")
        return order[np.isfinite(self.values[order])]

    @cached_property
    def y_ends(self) -> tuple[float, float]:
        """Limits of the y axis."""
        found = self.values[self.by_value]
        high = max(float(found.max(initial=0.0)), self.min_top)
        low = float(found.min(initial=0.0))
        room = 0.06 * (high - low) or 1.0
        return (low - room if low < 0 else 0.0), high + room


@dataclass(frozen=True)
class View:
    """The view of a figure: limits on the axis, and size in pixels."""

    start: float
    end: float
    width: int
    height: int


def thin(track: Track, view: View) -> np.ndarray:
    """Return the variants to draw, int64: the largest value in each cell of pixels."""
    axis, values = track.axis, track.values
    low, high = track.y_ends
    n_columns = max(view.width // CELL, 1)
    n_rows = max(view.height // CELL, 1)
    is_whole = view.start <= axis.sorted_places[0] and view.end >= axis.sorted_places[-1]
    if is_whole:
        rows = track.by_value
    else:
        is_in = np.zeros(len(values), bool)
        is_in[axis.within(view.start, view.end)] = True
        rows = track.by_value[is_in[track.by_value]]
    column = (axis.places[rows] - view.start) * (n_columns / max(view.end - view.start, 1e-9))
    row = (values[rows] - low) * (n_rows / (high - low))
    cells = np.clip(column, 0, n_columns - 1).astype(np.int64) * n_rows
    cells += np.clip(row, 0, n_rows - 1).astype(np.int64)
    highest = np.full(n_columns * n_rows, -1, np.int64)
    highest[cells] = rows  # the last assignment to a cell wins, which is the largest value
    return highest[highest >= 0]


def make_dots(track: Track, view: View) -> dict[str, Any]:
    """Return the columns that `ManhattanFigure` draws for a view."""
    rows = thin(track, view) if len(track.by_value) else np.empty(0, np.int64)
    values = track.values[rows]
    shades = (track.axis.ranks[rows] & 1).astype(np.uint8)
    shades[np.abs(values) >= track.strong] = 2
    return {
        "x": track.axis.places[rows],
        "y": values,
        "shade": shades,
        "variant": rows.astype(np.int32),
        "name": names_of(track.variants, rows),
        "text": track.say(rows),
    }


def nearest(track: Track, view: View, x: float, y: float) -> int | None:
    """Return the variant of the dot nearest to a point, or None if none is close."""
    per_pixel = (view.end - view.start) / max(view.width, 1)
    rows = track.axis.within(x - NEAR_PIXELS * per_pixel, x + NEAR_PIXELS * per_pixel)
    rows = rows[np.isfinite(track.values[rows])]
    if not len(rows):
        return None
    low, high = track.y_ends
    across = (track.axis.places[rows] - x) / per_pixel
    up = (track.values[rows] - y) * max(view.height, 1) / (high - low)
    distances = across**2 + up**2
    best = int(np.argmin(distances))
    return int(rows[best]) if distances[best] <= NEAR_PIXELS**2 else None


def names_of(variants: VariantTable, rows: np.ndarray) -> list[str]:
    """Return display names of variants: ID and position."""
    ids = variants.ids[rows].tolist()
    contigs = variants.contig_ids[rows].tolist()
    positions = variants.positions[rows].tolist()
    return [
        say_variant(name, variants.contigs[contig], position)
        for name, contig, position in zip(ids, contigs, positions, strict=True)
    ]


def say_variant(name: str, contig: str, position: int) -> str:
    """Return ID and 1-based position of a variant.

    Examples
    --------
    >>> say_variant("rs7", "1", 1233), say_variant(".", "chr2", 9), say_variant("a", "0", -1)
    ('rs7 · 1:1,234', 'chr2:10', 'a')
    """
    place = "" if position < 0 else f"{contig}:{position + 1:,}"
    name = "" if name == "." else name
    return " · ".join(filter(None, (name, place))) or "?"
