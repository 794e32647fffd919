"""Index of the depth of intervals: exact means, extremes and counts of bins at any zoom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.intervals import depth_loops
from genoviz.analyses.intervals.coverage import check_sum, without_empty
from genoviz.analyses.intervals.linear_coordinates import contig_ends, linear_intervals, on_contigs
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError, n_words
from genoviz.kernels.sorted_keys import BLOCK, block_sums
from genoviz.model.intervals.intervals import Intervals


@dataclass(frozen=True, eq=False)
class CoverageBins:
    """Depth in bins of a contig.

    Attributes
    ----------
    edges
        int64, shape (n_bins + 1,), bp: bin i goes from edge i to edge i + 1.
    means
        float64, shape (n_bins,): mean depth over the bases of the bin that lie on the contig; 0 if
        there are none.
    minima, maxima
        int64, shape (n_bins,): lowest and highest depth of these bases.
    counts
        int64, shape (n_bins,): intervals that overlap the bin.
    """

    edges: np.ndarray
    means: np.ndarray
    minima: np.ndarray
    maxima: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class DepthSteps:
    """Depth as a step function over a region of a contig.

    Attributes
    ----------
    edges
        int64, shape (n_steps + 1,), bp: step i goes from edge i to edge i + 1.
    depths
        int64, shape (n_steps,): the depth of each step; neighbours differ.
    """

    edges: np.ndarray
    depths: np.ndarray

    def __len__(self) -> int:
        return len(self.depths)


@dataclass(frozen=True, eq=False, repr=False)
class CoverageIndex:
    """Index that summarises the depth of intervals in any view within milliseconds.

    Starts and ends are sorted, with a prefix sum for every 64 of them. Two binary searches give
    the sum of depths up to a base. Extremes come from the depths after each start and end, and
    from a pyramid of their blocks of 64. Empty intervals cover no base and are dropped. An
    interval takes 16 bytes, or 24 if the contigs have 2^32 bp or more in total.

    Attributes
    ----------
    contigs
        Names of the contigs.
    contig_ends
        int64, shape (n_contigs,), bp: the largest interval end on each contig; the depth is 0
        beyond it.
    contig_lengths
        int64, shape (n_contigs,), bp: intervals are clipped to these. None if lengths are unknown;
        contigs then extend beyond the last interval.
    n_intervals
        Number of non-empty intervals.

    Examples
    --------
    >>> reads = Intervals.from_columns(["chr1", "chr1"], [0, 5], [10, 15])
    >>> index = CoverageIndex.of(reads)
    >>> bins = index.bins("chr1", [0, 10, 20])
    >>> bins.means.tolist(), bins.minima.tolist(), bins.maxima.tolist(), bins.counts.tolist()
    ([1.5, 0.5], [1, 0], [2, 1], [2, 1])
    >>> steps = index.steps("chr1", 0, 20)
    >>> steps.edges.tolist(), steps.depths.tolist()
    ([0, 5, 10, 15, 20], [1, 2, 1, 0])
    """

    contigs: tuple[str, ...]
    contig_ends: np.ndarray
    contig_lengths: np.ndarray | None
    _offsets: np.ndarray
    _starts: np.ndarray
    _ends: np.ndarray
    _coarse_starts: np.ndarray
    _coarse_ends: np.ndarray
    _start_sums: np.ndarray
    _end_sums: np.ndarray
    _maxima: tuple[np.ndarray, ...]
    _minima: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, intervals: Intervals) -> CoverageIndex:
        """Return the index of intervals on any number of contigs.

        Raises
        ------
        ParameterError
            If an interval is reversed or begins before its contig.
        """
        intervals = on_contigs(intervals)
        starts, ends, offsets = linear_intervals(intervals)
        starts, ends = load_kernel("interval_count", "cpu").sort_arrays(without_empty(starts, ends))
        check_sum(starts, ends)
        return cls(
            contigs=intervals.contigs,
            contig_ends=contig_ends(intervals),
            contig_lengths=intervals.contig_lengths,
            _offsets=offsets,
            _starts=starts,
            _ends=ends,
            _coarse_starts=starts[::BLOCK].copy(),
            _coarse_ends=ends[::BLOCK].copy(),
            _start_sums=block_sums(starts),
            _end_sums=block_sums(ends),
            _maxima=_extremes(starts, ends, 1),
            _minima=_extremes(ends, starts, -1),
        )

    def __repr__(self) -> str:
        return (
            f"CoverageIndex({n_words(self.n_intervals, 'interval')} on "
            f"{n_words(len(self.contigs), 'contig')})"
        )

    @property
    def n_intervals(self) -> int:
        """Number of non-empty intervals."""
        return len(self._starts)

    def bins(self, contig: str, edges: np.ndarray) -> CoverageBins:
        """Return means, extremes and counts of bins.

        Parameters
        ----------
        contig
            Name of the contig.
        edges
            Integers, shape (n_bins + 1,), bp, ascending. They may lie outside the contig; only
            bases on the contig count.

        Raises
        ------
        ParameterError
            If there is no such contig, or the edges do not ascend.
        """
        edges = _checked_edges(edges)
        inside = self._linear(contig, edges)
        sums, minima, maxima, counts = depth_loops.summarise_bins(
            (self._starts, self._coarse_starts, self._start_sums),
            (self._ends, self._coarse_ends, self._end_sums),
            self._maxima,
            self._minima,
            inside,
        )
        widths, inner_widths = np.diff(self._on_contig(contig, edges)), np.diff(inside)
        return CoverageBins(
            edges=edges,
            means=sums / np.maximum(widths, 1),
            minima=np.where((inner_widths == widths) & (widths > 0), minima, 0),
            maxima=np.where(inner_widths > 0, maxima, 0),
            counts=counts,
        )

    def bin_means(self, contig: str, edges: np.ndarray) -> np.ndarray:
        """Return the mean depth of each bin; float64. Parameters and errors as for `bins`."""
        return self.bins(contig, edges).means

    def bin_max(self, contig: str, edges: np.ndarray) -> np.ndarray:
        """Return the highest depth in each bin; int64. Parameters and errors as for `bins`."""
        return self.bins(contig, edges).maxima

    def bin_min(self, contig: str, edges: np.ndarray) -> np.ndarray:
        """Return the lowest depth in each bin; int64. Parameters and errors as for `bins`."""
        return self.bins(contig, edges).minima

    def bin_counts(self, contig: str, edges: np.ndarray) -> np.ndarray:
        """Return how many intervals overlap each bin; int64. As for `bins`."""
        return self.bins(contig, edges).counts

    def depths_at(self, contig: str, positions: np.ndarray) -> np.ndarray:
        """Return the depth of single bases, 0 outside the contig; int64."""
        positions = np.asarray(positions, np.int64)
        is_inside = (positions >= 0) & (positions < self._end_of(contig))
        depths = depth_loops.depths_at(self._starts, self._ends, self._linear(contig, positions))
        return np.where(is_inside, depths, 0)

    def depths(self, contig: str, start: int, end: int) -> np.ndarray:
        """Return the depth of each base of a region; int64, shape (end - start,).

        Raises the same errors as `steps`.
        """
        steps = self.steps(contig, start, end)
        return np.repeat(steps.depths, np.diff(steps.edges))

    def steps(self, contig: str, start: int, end: int) -> DepthSteps:
        """Return the depth over a region as steps, including those of depth 0.

        Raises
        ------
        ParameterError
            If there is no such contig, or the region is empty or starts before it.
        """
        if not 0 <= start < end:
            raise ParameterError(f"region goes from {start:,} to {end:,}, needs 0 <= start < end")
        offset, size = self._offset_of(contig), self._end_of(contig)
        if start >= size:
            return DepthSteps(np.array([start, end]), np.zeros(1, np.int64))
        positions, depths = depth_loops.find_steps(
            self._starts, self._ends, offset + start, offset + min(end, size + 1)
        )
        return DepthSteps(np.append(positions - offset, end), depths)

    def iter_steps(self, contig: str, *, bases: int = 1 << 24) -> Iterator[DepthSteps]:
        """Yield the steps of a contig up to its last end, ``bases`` at a time.

        A step that crosses a chunk boundary is yielded with the chunk where it begins, with its
        whole length.
        """
        size = self._end_of(contig)
        edges, depths = np.zeros(1, np.int64), np.zeros(0, np.int64)
        for start in range(0, size, bases):
            steps = self.steps(contig, start, min(start + bases, size))
            same = bool(len(depths)) and depths[-1] == steps.depths[0]
            edges = np.concatenate([edges[:-1], steps.edges[int(same) :]])
            depths = np.concatenate([depths, steps.depths[int(same) :]])
            if len(depths) > 1:
                yield DepthSteps(edges[:-1], depths[:-1])
                edges, depths = edges[-2:], depths[-1:]
        if len(depths):
            yield DepthSteps(edges, depths)

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {name: rank for rank, name in enumerate(self.contigs)}

    def _rank_of(self, contig: str) -> int:
        if contig not in self._ranks:
            examples = ", ".join(self.contigs[:3]) or "none at all"
            raise ParameterError(
                f"no contig is named {contig!r}; there are {len(self.contigs):,}: {examples}"
                + (", ..." if len(self.contigs) > 3 else "")
            )
        return self._ranks[contig]

    def _offset_of(self, contig: str) -> int:
        return int(self._offsets[self._rank_of(contig)])

    def _end_of(self, contig: str) -> int:
        return int(self.contig_ends[self._rank_of(contig)])

    def _on_contig(self, contig: str, positions: np.ndarray) -> np.ndarray:
        """Return positions clipped to the contig: its first base, or the one after its last."""
        rank = self._rank_of(contig)
        length = None if self.contig_lengths is None else self.contig_lengths[rank]
        return np.clip(positions, 0, length)

    def _linear(self, contig: str, positions: np.ndarray) -> np.ndarray:
        """Return linear coordinates of positions, clipped to the contig."""
        return self._offset_of(contig) + np.clip(positions, 0, self._end_of(contig))


def _checked_edges(edges: np.ndarray) -> np.ndarray:
    array = np.asarray(edges)
    if array.ndim != 1 or len(array) < 2 or array.dtype.kind not in "iu":
        raise ParameterError(
            f"edges are {array.dtype} {array.shape}, needs at least two integers in a row"
        )
    array = array.astype(np.int64)
    falls = np.flatnonzero(np.diff(array) <= 0)
    if len(falls):
        i = int(falls[0])
        raise ParameterError(
            f"edge {i + 1:,} is {array[i + 1]:,} after {array[i]:,}, needs ascending edges"
        )
    return array


def _extremes(events: np.ndarray, others: np.ndarray, sign: int) -> tuple[np.ndarray, ...]:
    """Return depths after each start or end, and their extremes in blocks of blocks."""
    depths = depth_loops.depths_after_events(events, others, sign)
    reduce = np.maximum if sign > 0 else np.minimum
    return depths, *depth_loops.build_extremes(depths, reduce)
