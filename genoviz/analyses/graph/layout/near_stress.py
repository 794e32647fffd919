"""Defects of a layout: stress by step, node and path, torn joints, and stress by distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

from genoviz.analyses.graph.layout.path_records import PathRecords, build_path_records
from genoviz.analyses.graph.layout.stress import check_layout
from genoviz.backend import Backend, array_module, load_kernel, to_device
from genoviz.errors import ParameterError
from genoviz.generators import iter_slices
from genoviz.kernels.path_records import CLOSING
from genoviz.model import GraphLayout, PangenomeGraph

REACH = 8
RECORDS_AT_ONCE = 1 << 22
TORN = 10.0
FIRST_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class NearStress:
    """Path stress of near steps, and joints; NaN where there is nothing to measure.

    Attributes
    ----------
    steps
        float64, shape (n_steps,): mean stress term of each step with those up to ``reach``
        further on in its path.
    nodes
        float64, shape (n_nodes,): mean of the terms of all steps on each node.
    paths
        float64, shape (n_paths,): mean of the terms of each path.
    gaps
        float64, shape (n_steps,): distance from the end of each step to the start of the next
        one, ideally 0, bp.
    is_torn
        bool, shape (n_steps,): whether a gap is longer than ten times the mean length of the two
        nodes, and than 10 bp.
    reach
        Steps.
    """

    steps: np.ndarray
    nodes: np.ndarray
    paths: np.ndarray
    gaps: np.ndarray
    is_torn: np.ndarray
    reach: int

    @property
    def n_torn(self) -> int:
        """Number of torn joints."""
        return int(self.is_torn.sum())

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return int((~np.isnan(self.gaps)).sum())

    def find_worst(self, graph: PangenomeGraph, n: int) -> np.ndarray:
        """Return the step with the largest stress of each of the ``n`` worst nodes; int64."""
        order = np.argsort(-np.nan_to_num(self.steps, nan=-1.0), kind="stable")
        order = order[~np.isnan(self.steps[order])]
        firsts = np.unique(graph.steps[order] >> 1, return_index=True)[1]
        return order[np.sort(firsts)[:n]]


def near_stress(
    graph: PangenomeGraph, layout: GraphLayout, *, reach: int = REACH, backend: Backend = "auto"
) -> NearStress:
    """Return the path stress of near steps by step, by node and by path, and the torn joints.

    All pairs of steps up to ``reach`` apart are included, exactly: errors of a layout are mostly
    between near steps. With ``reach`` as long as the longest path, the mean of the terms of all
    steps is the exact path stress.

    Raises
    ------
    ParameterError
        If the layout is of another graph, or ``reach`` is below 1.
    """
    check_layout(graph, layout)
    if reach < 1:
        raise ParameterError(f"reach is {reach}, needs at least 1 step")
    records = build_path_records(graph)
    kernel = load_kernel("path_stress", backend)
    arrays = [
        to_device(array, backend)
        for array in (layout.points, records.records, records.path_starts, records.block_paths)
    ]

    def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return kernel.sum_all_pairs(*arrays, first, stop, reach)

    n_rows = len(records.records)
    found = [part for _, part in iter_slices(run, n_rows, first_size=FIRST_ROWS)]
    is_step = np.ones(n_rows, bool)
    is_step[records.path_starts[1:] - 1] = False
    totals, counts = (
        np.concatenate([part[k].reshape(len(part[0]), -1)[:, 0] for part in found])[is_step]
        if found
        else np.zeros(0)
        for k in (0, 1)
    )
    of_steps = np.repeat(np.arange(graph.n_paths), np.diff(graph.path_offsets))
    nodes = (graph.steps >> 1).astype(np.int64)
    gaps, is_torn = measure_joints(
        graph.steps, graph.path_offsets, graph.node_lengths, layout.coordinates
    )
    return NearStress(
        steps=_mean(totals, counts),
        nodes=_mean_of_groups(nodes, totals, counts, graph.n_nodes),
        paths=_mean_of_groups(of_steps, totals, counts, graph.n_paths),
        gaps=gaps,
        is_torn=is_torn,
        reach=reach,
    )


def _mean(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)


def _mean_of_groups(
    groups: np.ndarray, totals: np.ndarray, counts: np.ndarray, n_groups: int
) -> np.ndarray:
    sums = (np.bincount(groups, values, minlength=n_groups) for values in (totals, counts))
    return _mean(*sums)


@njit(nogil=True, cache=True, parallel=True)
def measure_joints(steps, path_offsets, node_lengths, coordinates):
    """Return the gap after each step, NaN after the last of a path, and whether it is torn."""
    gaps = np.full(len(steps), np.nan)
    is_torn = np.zeros(len(steps), np.bool_)
    for path in prange(len(path_offsets) - 1):
        for step in range(path_offsets[path], path_offsets[path + 1] - 1):
            before, after = steps[step], steps[step + 1]
            a = coordinates[before >> 1, 1 - (before & 1)]
            b = coordinates[after >> 1, after & 1]
            gaps[step] = np.hypot(a[0] - b[0], a[1] - b[1])
            length = 0.5 * (node_lengths[before >> 1] + node_lengths[after >> 1])
            is_torn[step] = gaps[step] > TORN * max(length, 1.0)
    return gaps, is_torn


def count_torn(records: PathRecords, node_lengths: Any, points: Any, backend: Backend) -> int:
    """Return the number of torn joints, as in `NearStress`, of a layout in progress.

    Parameters
    ----------
    records
        Of the paths, on the device of the backend, like ``node_lengths`` (n_nodes,) and
        ``points`` (2 n_nodes, 2); bp.
    """
    xp, n_torn = array_module(backend), 0
    for first in range(0, len(records.records), RECORDS_AT_ONCE):
        handles = records.records[first : first + RECORDS_AT_ONCE + 1, 0]
        before, after = handles[:-1], handles[1:]
        is_joint = (before != CLOSING) & (after != CLOSING)
        before, after = before[is_joint], after[is_joint]
        gaps = xp.hypot(*(points[before ^ 1] - points[after]).T)
        lengths = 0.5 * (node_lengths[before >> 1] + node_lengths[after >> 1])
        n_torn += int((gaps > TORN * xp.maximum(lengths, 1.0)).sum())
    return n_torn


@dataclass(frozen=True, eq=False)
class DistanceStress:
    """Path stress by distance along the path, from a sample; NaN where no pair was drawn.

    Attributes
    ----------
    edges
        float64, shape (n_bins + 1,): edges of the bins, distance along the path, bp.
    mean, error
        float64, shape (n_bins,): mean of the terms, with equal weight for all pairs of steps,
        and its standard error.
    ratio
        float64, shape (n_bins,): median of the distance in the layout over that along the path,
        ideally 1.
    n_terms
        int64, shape (n_bins,): number of pairs drawn.
    pairs
        float64, shape (n_drawn, 2): each pair's distance along the path and in the layout, bp.
    """

    edges: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    ratio: np.ndarray
    n_terms: np.ndarray
    pairs: np.ndarray


def stress_by_distance(
    graph: PangenomeGraph, layout: GraphLayout, *, n_samples: int = 200_000, seed: int = 0
) -> DistanceStress:
    """Return the path stress in bins of the distance along the path: 1, 2, 5, 10, 20, ... bp.

    Jumps between the two steps are log-uniform, so that each bin gets its share of the sample; each
    term is weighted by the inverse of its pair's probability.

    Raises
    ------
    ParameterError
        If the layout is of another graph, or ``n_samples`` is below 1.
    """
    check_layout(graph, layout)
    if n_samples < 1:
        raise ParameterError(f"n_samples is {n_samples}, needs at least 1")
    random = np.random.default_rng(seed)
    first = random.integers(max(graph.n_steps, 1), size=n_samples if graph.n_steps else 0)
    paths = np.searchsorted(graph.path_offsets, first, side="right") - 1
    path_ends = graph.path_offsets[paths + 1]
    longest = (path_ends - graph.path_offsets[paths]).astype(np.float64)
    jumps = np.exp(random.random(len(first)) * np.log(longest)).astype(np.int64)
    weights = np.log(longest) / np.log1p(1 / jumps)
    is_pair = (first + jumps < path_ends) & (longest > 1)
    first, jumps, weights = first[is_pair], jumps[is_pair], weights[is_pair]
    places, points = [], []
    for steps in (first, first + jumps):
        is_end = random.integers(2, size=len(steps))
        handles = graph.steps[steps]
        lengths = graph.node_lengths[handles >> 1]
        places.append(graph.position_index.positions_of(steps) + is_end * lengths)
        points.append(layout.coordinates[handles >> 1, (handles & 1) ^ is_end])
    along = np.abs(places[1] - places[0]).astype(np.float64)
    pairs = np.column_stack([along, np.hypot(*(points[1] - points[0]).T)])
    is_term = (along > 0) & np.isfinite(pairs[:, 1])
    return _bin_terms(pairs[is_term], weights[is_term])


def _bin_terms(pairs: np.ndarray, weights: np.ndarray) -> DistanceStress:
    ratios = pairs[:, 1] / pairs[:, 0]
    n_decades = int(np.log10(pairs[:, 0].max(initial=1.0))) + 1
    edges = np.outer(10.0 ** np.arange(n_decades), [1, 2, 5]).ravel()
    edges = np.append(edges, 10.0**n_decades)
    bins = np.searchsorted(edges, pairs[:, 0], side="right") - 1
    mean, error, ratio = np.full((3, len(edges) - 1), np.nan)
    n_terms = np.bincount(bins, minlength=len(mean))
    for k in np.flatnonzero(n_terms).tolist():
        terms, shares = (ratios[bins == k] - 1) ** 2, weights[bins == k]
        mean[k] = np.average(terms, weights=shares)
        error[k] = np.sqrt(((shares * (terms - mean[k])) ** 2).sum()) / shares.sum()
        ratio[k] = np.median(ratios[bins == k])
    return DistanceStress(edges, mean, error, ratio, n_terms, pairs)
