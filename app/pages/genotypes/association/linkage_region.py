"""The surroundings of a variant: which others are near, and how far they are linked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.model.genotypes.genotypes import Genotypes, VariantTable
from genoviz.model.intervals.intervals import aliases
from genoviz_app.opening.track_features import FeatureTable

MAX_DOSAGES, MIN_VARIANTS, MAX_VARIANTS = 40_000_000, 60, 400
LETTER_SHARE, MAX_ROWS = 0.011, 3
"""How much of the figure a letter of a gene's name takes, and rows of genes."""


@dataclass(frozen=True)
class Window:
    """How much is shown around a variant: so many bp or, if ``is_count``, variants, each way."""

    size: int
    is_count: bool = False


WINDOWS = {
    "± 20 SNPs": Window(20, True),
    "± 50 SNPs": Window(50, True),
    "± 100 SNPs": Window(100, True),
    "± 50 kb": Window(50_000),
    "± 200 kb": Window(200_000),
    "± 500 kb": Window(500_000),
    "± 1 Mb": Window(1_000_000),
    "± 5 Mb": Window(5_000_000),
}


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Variants around one, in order of position.

    Attributes
    ----------
    variant, rows
        The one, and all of them (int64, shape (n,)).
    x
        float64, shape (n,): positions from 1, or numbers in the file where none are known.
    r2
        float64, shape (n, n): between all pairs.
    ends
        Where the stretch begins and ends on the axis of ``x``.
    contig
        The contig; "" where positions are not known.
    n_more
        How many variants of the stretch are left out, the furthest ones.
    """

    variant: int
    rows: np.ndarray
    x: np.ndarray
    r2: np.ndarray
    ends: tuple[float, float]
    contig: str
    n_more: int = 0

    @property
    def place(self) -> int:
        """Which of ``rows`` the variant is."""
        return int(np.flatnonzero(self.rows == self.variant)[0])


def find_neighbours(
    variants: VariantTable, variant: int, window: Window, maximum: int
) -> tuple[np.ndarray, np.ndarray, tuple[float, float], str, int]:
    """Return rows, x, ends, contig and how many more there are; see `Neighbourhood`."""
    contig_id = int(variants.contig_ids[variant])
    rows = np.flatnonzero(variants.contig_ids == contig_id)
    positions = variants.positions[rows]
    has_positions = bool((positions != positions[0]).any() or (len(rows) == 1 and positions[0] > 0))
    if has_positions:
        rows = rows[np.argsort(positions, kind="stable")]
        x = variants.positions[rows] + 1.0
    else:
        x = rows + 1.0
    place = int(np.flatnonzero(rows == variant)[0])
    if window.is_count or not has_positions:
        size = window.size if window.is_count else MIN_VARIANTS
        first, stop = max(place - size, 0), min(place + size + 1, len(rows))
        ends = (float(x[first]), float(x[stop - 1]))
    else:
        ends = (max(x[place] - window.size, 1.0), float(x[place] + window.size))
        first = int(np.searchsorted(x, ends[0], "left"))
        stop = int(np.searchsorted(x, ends[1], "right"))
    n = stop - first
    if n > maximum:
        first = int(np.clip(place - maximum // 2, first, stop - maximum))
        stop = first + maximum
        ends = (float(x[first]), float(x[stop - 1]))
    if ends[0] == ends[1]:
        ends = (ends[0] - 1, ends[1] + 1)
    contig = variants.contigs[contig_id] if has_positions else ""
    return rows[first:stop], x[first:stop], ends, contig, max(n - maximum, 0)


def make_neighbourhood(genotypes: Genotypes, variant: int, window: Window) -> Neighbourhood:
    """Return the surroundings of a variant with linkage between all pairs."""
    from genoviz.analyses.genotypes.linkage import linkage

    maximum = int(np.clip(MAX_DOSAGES // max(genotypes.n_samples, 1), MIN_VARIANTS, MAX_VARIANTS))
    found = find_neighbours(genotypes.variants, variant, window, maximum)
    rows, x, ends, contig, n_more = found
    return Neighbourhood(variant, rows, x, linkage(genotypes, rows), ends, contig, n_more)


def genes_near(tables: list[FeatureTable], near: Neighbourhood) -> tuple[dict[str, Any], int]:
    """Return the columns of the genes in a stretch for `RegionFigure`, and their rows."""
    names = ("left", "right", "bottom", "top", "y", "label_x", "name", "says")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    free = [-np.inf] * MAX_ROWS
    letter = LETTER_SHARE * (near.ends[1] - near.ends[0])
    for start, end, name in sorted(_features(tables, near)):
        shown = max(float(start), near.ends[0])
        row = next((row for row in range(MAX_ROWS) if free[row] <= shown), None)
        if row is None:
            continue
        free[row] = max(end, shown + (len(name) + 1) * letter)
        values = (start, end, -row - 0.8, -row - 0.2, -row - 0.5, shown, name)
        says = f"{name} {near.contig}:{start + 1:,}-{end:,}".strip()
        for key, value in zip(names, (*values, says), strict=True):
            columns[key].append(value)
    return columns, int(np.isfinite(free).sum())


def _features(tables: list[FeatureTable], near: Neighbourhood) -> set[tuple[int, int, str]]:
    found: set[tuple[int, int, str]] = set()
    if not near.contig:
        return found
    start, end = int(near.ends[0]), int(near.ends[1])
    for table in tables:
        for contig in (near.contig, *aliases(near.contig)):
            if contig not in table.intervals.contigs:
                continue
            for row in table.rows_within(contig, start, end).tolist():
                low, high = int(table.intervals.starts[row]), int(table.intervals.ends[row])
                found.add((low, high, table.name_of(row)))
            break
    return found
