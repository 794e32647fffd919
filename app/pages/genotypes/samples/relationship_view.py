"""View of a relationship matrix: ordered by relatedness, binned, and as pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.relationships import RelationshipMatrix, iter_relationship_matrix
from genoviz.generators import Progress
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.server.cluster import is_worth_sharing, iter_shared
from genoviz_app.server.settings import SETTINGS

MAX_SAMPLES = 20_000
"""Samples of the largest matrix that the page computes."""

MAX_PAIRS = 1_000_000
USUAL_LEAST = 0.125
N_HISTOGRAM_BINS = 60
SHADE_QUANTILE = 0.995
ROWS = 512


@dataclass(frozen=True, eq=False)
class RelationshipView:
    """A matrix, and the data of its figures.

    Attributes
    ----------
    matrix
        The matrix.
    samples
        int64, shape (n,): the subject's samples in the matrix.
    order
        int64, shape (n,): order of the matrix's samples that puts relatives next to each other.
    edges, counts
        Histogram over pairs: float64 (n_bins + 1,), int64 (n_bins,).
    ends
        Relationships at the ends of the colour scale.
    """

    matrix: RelationshipMatrix
    samples: np.ndarray
    order: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    ends: tuple[float, float]

    @property
    def lowest_listed(self) -> float:
        """The lowest threshold that lists at most one million pairs."""
        above = np.cumsum(self.counts[::-1])[::-1]
        is_few = above <= MAX_PAIRS
        return float(self.edges[:-1][is_few][0]) if is_few.any() else float(self.edges[-2])

    @property
    def minimum(self) -> float:
        """The initial threshold for pairs."""
        return max(USUAL_LEAST, self.lowest_listed)

    def cells(
        self, bounds: tuple[int, int, int, int], maximum: int
    ) -> tuple[np.ndarray, tuple[int, int, int, int]]:
        """Return binned means of a part, float32 (rows, columns), and the limits of the bins."""
        x_low, x_high, y_low, y_high = bounds
        columns, rows = self.order[x_low:x_high], self.order[y_low:y_high]
        return bin_means(self.matrix.values, rows, columns, maximum), bounds


def bin_means(
    values: np.ndarray, rows: np.ndarray, columns: np.ndarray, maximum: int
) -> np.ndarray:
    """Return means of bins of ordered rows and columns, float32, at most ``maximum`` each way."""
    row_starts, column_starts = _starts(len(rows), maximum), _starts(len(columns), maximum)
    cells = np.empty((len(row_starts), len(column_starts)), np.float32)
    ends = np.append(row_starts[1:], len(rows))
    widths = np.diff(np.append(column_starts, len(columns)))
    for place, (start, end) in enumerate(zip(row_starts.tolist(), ends.tolist(), strict=True)):
        line = values[rows[start:end]].mean(0)[columns]
        cells[place] = np.add.reduceat(line, column_starts) / widths
    return cells


def _starts(n: int, maximum: int) -> np.ndarray:
    return np.unique(np.linspace(0, n, min(n, maximum), endpoint=False).astype(np.int64))


def iter_relate(
    genotypes: Genotypes, method: str, samples: np.ndarray | None
) -> Iterator[Progress]:
    """Compute a matrix and the data of its figures; the last step has the `RelationshipView`."""

    def make(scheduler: str | None) -> Iterator[Progress]:
        options = {"method": method, "samples": samples, "scheduler": scheduler}
        return iter_relationship_matrix(genotypes, **options)

    is_shared = SETTINGS.scheduler and is_worth_sharing(genotypes)
    for step in iter_shared(make) if is_shared else make(None):
        if step is None:
            yield None
        elif step.result is None:
            yield replace(step, fraction=0.8 * step.fraction)
        else:
            yield Progress("ordering samples by relationship", 0.85)
            yield Progress("ready", 1.0, view_of(step.result, samples))


def view_of(matrix: RelationshipMatrix, samples: np.ndarray | None = None) -> RelationshipView:
    """Return the data of a matrix's figures."""
    n = len(matrix.values)
    low, high = _pair_ends(matrix.values)
    edges = np.linspace(low, high, N_HISTOGRAM_BINS + 1)
    counts = np.zeros(N_HISTOGRAM_BINS, np.int64)
    for start in range(0, n, ROWS):
        rows = matrix.values[start : start + ROWS]
        is_pair = np.arange(n) > np.arange(start, start + len(rows))[:, None]
        counts += np.histogram(rows[is_pair], edges)[0]
    chosen = np.arange(n) if samples is None else samples
    top = _quantile_of(edges, counts, SHADE_QUANTILE)
    bottom = _quantile_of(edges, counts, 1 - SHADE_QUANTILE)
    return RelationshipView(
        matrix, chosen, matrix.order_by_clusters(), edges, counts, (bottom, max(top, bottom + 0.01))
    )


def _pair_ends(values: np.ndarray) -> tuple[float, float]:
    """Return the minimum and maximum relationship of two different samples."""
    low, high = np.inf, -np.inf
    for start in range(len(values)):
        rest = values[start, start + 1 :]
        if len(rest):
            low, high = min(low, float(rest.min())), max(high, float(rest.max()))
    if not low < high:
        return (0.0, 1.0) if not np.isfinite(low) else (low - 0.5, low + 0.5)
    return low, high


def _quantile_of(edges: np.ndarray, counts: np.ndarray, share: float) -> float:
    total = counts.sum()
    if not total:
        return float(edges[-1] if share > 0.5 else edges[0])
    place = int(np.searchsorted(np.cumsum(counts), share * total))
    at = min(place, len(counts) - 1) + (share > 0.5)
    return float(edges[at])


def pick_evenly(n: int, maximum: int) -> np.ndarray | None:
    """Return ``maximum`` evenly spaced indices below ``n``, int64; None if that is all.

    Examples
    --------
    >>> pick_evenly(10, 5).tolist(), pick_evenly(3, 5)
    ([0, 2, 4, 6, 8], None)
    """
    return None if n <= maximum else np.arange(maximum) * n // maximum


def degree_of(relationship: Any) -> np.ndarray:
    """Return the usual degree of relatedness for this relationship, str."""
    values = np.asarray(relationship)
    names = np.array(["unrelated", "3rd degree", "2nd degree", "1st degree", "twins"])
    return names[np.searchsorted([2**-3.5, 2**-2.5, 2**-1.5, 2**-0.5], values)]
