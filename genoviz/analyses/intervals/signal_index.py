"""A signal along contigs (bedGraph, bigWig): exact means and extremes of any bins at any zoom."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.model import Intervals

BLOCK_BITS = 6


@dataclass(frozen=True, eq=False)
class SignalBins:
    """A signal in bins of a contig.

    Attributes
    ----------
    edges
        int64, shape (n_bins + 1,), bp: bin i goes from edge i to edge i + 1.
    means
        float64, shape (n_bins,): value averaged over the bases that have one; NaN where none has.
    minima, maxima
        float64, shape (n_bins,): minimum and maximum; NaN where no base has one.
    covered_bases
        int64, shape (n_bins,): bases that have a value.
    """

    edges: np.ndarray
    means: np.ndarray
    minima: np.ndarray
    maxima: np.ndarray
    covered_bases: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class SignalIndex:
    """Stretches with one value each, indexed so that any view takes a few milliseconds.

    Sums and extremes are stored for blocks of 64 stretches. A bin uses whole blocks, and single
    stretches at its ends.

    Attributes
    ----------
    steps
        The stretches, sorted by contig and start; scores are the values.

    Examples
    --------
    >>> steps = Intervals.from_columns(["c", "c"], [0, 10], [10, 30], scores=[1, 4])
    >>> bins = SignalIndex.of(steps).bins("c", [0, 20, 40])
    >>> bins.means.tolist(), bins.maxima.tolist(), bins.covered_bases.tolist()
    ([2.5, 4.0], [4.0, 4.0], [20, 10])
    """

    steps: Intervals
    _bounds: np.ndarray
    _blocks: np.ndarray

    @classmethod
    def of(cls, steps: Intervals) -> SignalIndex:
        """Return the index of a signal; stretches without length or value are left out.

        Raises
        ------
        ParameterError
            If there are no scores, or stretches overlap.
        """
        steps.check_whole("a signal")
        if steps.scores is None:
            raise ParameterError("a signal needs intervals with scores, these have none")
        kept = steps.select((steps.lengths > 0) & ~np.isnan(steps.scores))
        is_sorted = (kept.contig_ids[1:] > kept.contig_ids[:-1]) | (
            (kept.contig_ids[1:] == kept.contig_ids[:-1]) & (kept.starts[1:] >= kept.starts[:-1])
        )
        if not is_sorted.all():
            kept = kept.select(np.lexsort((kept.starts, kept.contig_ids)))
        overlaps = (kept.contig_ids[1:] == kept.contig_ids[:-1]) & (
            kept.starts[1:] < kept.ends[:-1]
        )
        if overlaps.any():
            row = int(np.argmax(overlaps))
            name = kept.contigs[kept.contig_ids[row]]
            raise ParameterError(
                f"a signal has one value a base, but two stretches overlap at {name}:"
                f"{kept.starts[row + 1]:,}"
            )
        bounds = np.searchsorted(kept.contig_ids, np.arange(kept.n_contigs + 1))
        n_blocks = (len(kept) >> BLOCK_BITS) + 1
        blocks = np.empty((4, n_blocks))
        _fill_blocks(kept.starts, kept.ends, kept.scores, blocks)
        return cls(replace(kept, strands=None, names=None), bounds, blocks)

    def __repr__(self) -> str:
        return f"SignalIndex({len(self.steps):,} steps on {self.steps.n_contigs:,} contigs)"

    @property
    def contigs(self) -> tuple[str, ...]:
        """Names of the contigs."""
        return self.steps.contigs

    def bins(self, contig: str, edges: np.ndarray) -> SignalBins:
        """Return means and extremes of bins.

        Parameters
        ----------
        contig
            Name of the contig.
        edges
            Integers, shape (n_bins + 1,), bp, ascending.

        Raises
        ------
        ParameterError
            If there is no such contig, or the edges do not ascend.
        """
        edges = np.asarray(edges)
        is_right = edges.ndim == 1 and len(edges) > 1 and edges.dtype.kind in "iu"
        if not is_right or (np.diff(edges.astype(np.int64)) <= 0).any():
            raise ParameterError(
                f"edges are {edges.dtype} {edges.shape}, needs at least two ascending integers"
            )
        edges = edges.astype(np.int64)
        return SignalBins(edges, *self._summarise(contig, edges[:-1], edges[1:]))

    def means(self, contig: str, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the means over regions, which may overlap; float64, NaN without a value.

        Parameters
        ----------
        contig
            Name of the contig.
        starts, ends
            Integers, shape (n,), bp, 0-based half-open.

        Raises
        ------
        ParameterError
            If there is no such contig.
        """
        return self._summarise(contig, np.asarray(starts, np.int64), np.asarray(ends, np.int64))[0]

    def _summarise(
        self, contig: str, lows: np.ndarray, highs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return means, minima, maxima and covered bases of regions."""
        first, stop = self._rows_of(contig)
        starts, ends = self.steps.starts[first:stop], self.steps.ends[first:stop]
        firsts = first + np.searchsorted(ends, lows, "right")
        stops = first + np.searchsorted(starts, highs, "left")
        means, minima, maxima = np.empty((3, len(lows)))
        covered = np.empty(len(lows), np.int64)
        _sum_regions(
            self.steps.starts,
            self.steps.ends,
            self.steps.scores,
            self._blocks,
            np.ascontiguousarray(lows),
            np.ascontiguousarray(highs),
            firsts,
            stops,
            means,
            minima,
            maxima,
            covered,
        )
        return means, minima, maxima, covered

    def steps_of(self, contig: str, start: int, end: int) -> Intervals:
        """Return the stretches that overlap a region, unclipped.

        Raises
        ------
        ParameterError
            If there is no such contig.
        """
        first, stop = self._rows_of(contig)
        low = first + np.searchsorted(self.steps.ends[first:stop], start, "right")
        high = first + np.searchsorted(self.steps.starts[first:stop], end, "left")
        return self.steps.select(np.arange(low, max(low, high)))

    def values_at(self, contig: str, positions: np.ndarray) -> np.ndarray:
        """Return the values of single bases; float64, NaN where there is none.

        Raises
        ------
        ParameterError
            If there is no such contig.
        """
        positions = np.asarray(positions, np.int64)
        first, stop = self._rows_of(contig)
        rows = first + np.searchsorted(self.steps.ends[first:stop], positions, "right")
        found = np.full(len(positions), np.nan)
        rows_there = np.minimum(rows, max(stop - 1, 0))
        if stop > first:
            is_there = (rows < stop) & (self.steps.starts[rows_there] <= positions)
            found[is_there] = self.steps.scores[rows_there[is_there]]
        return found

    def _rows_of(self, contig: str) -> tuple[int, int]:
        rank = self.steps.find_contig(contig)
        return int(self._bounds[rank]), int(self._bounds[rank + 1])


@njit(nogil=True, cache=True)
def _fill_blocks(starts, ends, values, blocks):
    """Fill in, for each block, the sum of value times length, the bases, minimum and maximum."""
    blocks[0], blocks[1], blocks[2], blocks[3] = 0.0, 0.0, np.inf, -np.inf
    for row in range(len(starts)):
        block = row >> BLOCK_BITS
        length = ends[row] - starts[row]
        blocks[0, block] += values[row] * length
        blocks[1, block] += length
        blocks[2, block] = min(blocks[2, block], values[row])
        blocks[3, block] = max(blocks[3, block], values[row])


@njit(nogil=True, cache=True)
def _sum_regions(
    starts, ends, values, blocks, lows, highs, firsts, stops, means, minima, maxima, covered
):
    """Fill the results; ``firsts`` to ``stops`` are the rows that overlap each region."""
    size = 1 << BLOCK_BITS
    for k in range(len(firsts)):
        low, high, total, bases = np.inf, -np.inf, 0.0, 0
        row = firsts[k]
        while row < stops[k]:
            is_whole = row & (size - 1) == 0 and row + size < stops[k] and row > firsts[k]
            if is_whole:
                block = row >> BLOCK_BITS
                total += blocks[0, block]
                bases += np.int64(blocks[1, block])
                low, high = min(low, blocks[2, block]), max(high, blocks[3, block])
                row += size
                continue
            length = min(ends[row], highs[k]) - max(starts[row], lows[k])
            total += values[row] * length
            bases += length
            low, high = min(low, values[row]), max(high, values[row])
            row += 1
        covered[k] = bases
        means[k] = total / bases if bases else np.nan
        minima[k] = low if bases else np.nan
        maxima[k] = high if bases else np.nan
