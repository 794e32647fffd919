"""Depth and strand along one path, aggregated over any range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model import PangenomeGraph

BLOCK = 64
FINE_STEPS = 500_000


@dataclass(frozen=True, eq=False)
class PathBins:
    """Depth and strand in consecutive bins of a path.

    Attributes
    ----------
    edges
        float64, shape (n_bins + 1,), bp of the path: bin i goes from edge i to edge i + 1.
    depth_mean
        float64, shape (n_bins,): mean depth of all paths over the bases of the bin.
    depth_min, depth_max
        int32, shape (n_bins,): minimum and maximum depth of the steps in each bin.
    reverse_share
        float64, shape (n_bins,): share of the bases in reverse steps, 0 to 1.
    is_exact
        Whether each bin is a single step.
    """

    edges: np.ndarray
    depth_mean: np.ndarray
    depth_min: np.ndarray
    depth_max: np.ndarray
    reverse_share: np.ndarray
    is_exact: bool


@dataclass(frozen=True, eq=False, repr=False)
class PathProfile:
    """A path prepared for aggregation over any range within a few milliseconds.

    Attributes
    ----------
    path
        Index of the path.
    nodes
        int64, shape (n_steps,): the visited nodes, in order.
    positions
        int64, shape (n_steps + 1,): start of each step, bp, followed by the length of the path.
    """

    path: int
    nodes: np.ndarray
    positions: np.ndarray
    _depths: np.ndarray
    _depth_sums: np.ndarray
    _reverse_sums: np.ndarray
    _block_min: np.ndarray
    _block_max: np.ndarray

    @classmethod
    def of(cls, graph: PangenomeGraph, path: str | int) -> PathProfile:
        """Return the profile of a path, given by name or index.

        Raises
        ------
        ParameterError
            If the graph has no such path.
        """
        index = int(graph.path_indices([path])[0])
        handles = graph.path_steps(index)
        nodes = (handles >> 1).astype(np.int64)
        lengths = graph.node_lengths[nodes]
        depths = graph.node_depths[nodes].astype(np.int32)
        return cls(
            index,
            nodes,
            _running_sum(lengths),
            depths,
            _running_sum(lengths * depths),
            _running_sum(lengths * (handles & 1)),
            _in_blocks(np.minimum, depths),
            _in_blocks(np.maximum, depths),
        )

    def __repr__(self) -> str:
        return f"PathProfile({n_words(self.n_steps, 'step')}, {self.length:,} bp)"

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.nodes)

    @property
    def length(self) -> int:
        """Length of the path, bp."""
        return int(self.positions[-1])

    def bins(self, start: float, end: float, *, n_bins: int) -> PathBins:
        """Return depth and strand from ``start`` to ``end``, bp.

        If the range has at most ``n_bins`` steps, each step is a bin; otherwise there are
        ``n_bins`` bins of equal length. Above half a million steps, minimum and maximum may include
        steps up to 64 steps outside the bin.

        Raises
        ------
        ParameterError
            If ``n_bins`` is not positive.
        """
        if n_bins < 1:
            raise ParameterError(f"n_bins is {n_bins}, needs a positive number")
        start, end = max(float(start), 0.0), min(float(end), float(self.length))
        if not end > start:
            return PathBins(np.array([start]), *_no_values(), is_exact=True)
        first, stop = self._steps_within(np.array([start]), np.array([end]))
        is_exact = int(stop[0] - first[0]) <= n_bins
        if is_exact:
            inner = self.positions[first[0] + 1 : stop[0]]
            edges = np.unique(np.concatenate([[start], inner, [end]]).astype(np.float64))
        else:
            edges = np.linspace(start, end, n_bins + 1)
        widths = np.diff(edges)
        first, stop = self._steps_within(edges[:-1], edges[1:])
        low, high = self._extremes(first, stop)
        return PathBins(
            edges,
            np.diff(self._sum_up_to(edges, self._depth_sums)) / widths,
            low,
            high,
            np.diff(self._sum_up_to(edges, self._reverse_sums)) / widths,
            is_exact,
        )

    def find_stretches(self, is_wanted: np.ndarray) -> np.ndarray:
        """Return the ranges where the path runs through wanted nodes.

        Parameters
        ----------
        is_wanted
            bool, shape (n_nodes,) of the graph.

        Returns
        -------
        numpy.ndarray
            int64, shape (n_stretches, 2): start and end, bp, ascending; adjacent ranges are merged.
        """
        padded = np.zeros(self.n_steps + 2, np.int8)
        padded[1:-1] = is_wanted[self.nodes]
        change = np.diff(padded)
        bounds = np.stack([np.flatnonzero(change == 1), np.flatnonzero(change == -1)], axis=1)
        return self.positions[bounds]

    def _steps_within(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first step of each range, and the step after its last."""
        first = self._step_at(starts)
        # As integers: for float keys, NumPy would convert a copy of all positions.
        stop = np.searchsorted(self.positions, np.ceil(ends).astype(np.int64), side="left")
        return first, np.maximum(np.minimum(stop, self.n_steps), first + 1)

    def _step_at(self, places: np.ndarray) -> np.ndarray:
        floors = np.floor(places).astype(np.int64)
        steps = np.searchsorted(self.positions, floors, side="right") - 1
        return np.clip(steps, 0, self.n_steps - 1)

    def _sum_up_to(self, places: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return the running sum at any position, interpolated linearly within steps."""
        steps = self._step_at(places)
        lengths = self.positions[steps + 1] - self.positions[steps]
        share = np.clip((places - self.positions[steps]) / np.maximum(lengths, 1), 0.0, 1.0)
        return sums[steps] + share * (sums[steps + 1] - sums[steps])

    def _extremes(self, first: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if stop[-1] - first[0] <= FINE_STEPS:
            return _reduce(np.minimum, self._depths, first, stop), _reduce(
                np.maximum, self._depths, first, stop
            )
        first, stop = first // BLOCK, -(-stop // BLOCK)
        return _reduce(np.minimum, self._block_min, first, stop), _reduce(
            np.maximum, self._block_max, first, stop
        )


def _running_sum(values: np.ndarray) -> np.ndarray:
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _in_blocks(reduce: np.ufunc, values: np.ndarray) -> np.ndarray:
    return reduce.reduceat(values, np.arange(0, len(values), BLOCK)) if len(values) else values


def _reduce(reduce: np.ufunc, values: np.ndarray, first: np.ndarray, stop: np.ndarray):
    """Reduce ``values[first:stop]`` for each pair; no range is empty."""
    padded = values[first[0] : stop[-1]]
    padded = np.append(padded, padded[-1:])
    pairs = np.stack([first, stop], axis=1) - first[0]
    return reduce.reduceat(padded, pairs.ravel())[::2]


def _no_values() -> tuple[np.ndarray, ...]:
    none = np.empty(0)
    return none, none.astype(np.int32), none.astype(np.int32), none
