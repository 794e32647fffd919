"""Which path lies on which node, as rows of bins along all nodes: what ``odgi viz`` draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.graph.query.path_groups import GROUPINGS, PathGroups, group_paths
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

MAX_CELLS = 1 << 27


@dataclass(frozen=True, eq=False)
class PathRows:
    """A row for each path or group of paths, in bins along the nodes.

    The nodes lie end to end in the order of the graph, so position x is the x-th of all bases.

    Attributes
    ----------
    groups
        The paths or groups, one a row.
    bounds
        int64, shape (n_bins + 1,): bin k is ``bounds[k]`` to ``bounds[k + 1]``, bp.
    present
        float32, shape (n_rows, n_bins): share of the bin's bases that are visited, 0 to 1.
    depths
        float32, like ``present``: how often one of its bases is visited, on average.
    reverse
        float32, like ``present``: share of these visits that are reverse; NaN without any.
    """

    groups: PathGroups
    bounds: np.ndarray
    present: np.ndarray
    depths: np.ndarray
    reverse: np.ndarray


def find_path_rows(
    graph: PangenomeGraph,
    *,
    by: str = "path",
    start: int = 0,
    end: int | None = None,
    n_bins: int = 1000,
) -> PathRows:
    """Return where along the nodes each path or group lies, how often, and on which strand.

    Parameters
    ----------
    by
        A row for each ``"path"``, ``"sample"``, ``"haplotype"`` or ``"contig"``.
    start, end
        The stretch of the nodes, bp, 0-based half-open; all of them by default.
    n_bins
        How many bins; fewer where the stretch has fewer bases.

    Raises
    ------
    ParameterError
        If the graph has no path, the stretch is not one of its nodes, or there are too many bins.
    """
    total = int(graph.node_lengths.sum())
    end = total if end is None else end
    groups = group_paths(graph, by)
    n_rows = len(groups.names)
    if not n_rows:
        raise ParameterError(f"the graph has no {GROUPINGS[by]}")
    if not 0 <= start < end <= total:
        raise ParameterError(
            f"the stretch is {start:,} to {end:,}, needs a part of 0 to {total:,} bp"
        )
    if n_bins < 1:
        raise ParameterError(f"there are {n_bins} bins, needs at least 1")
    n_bins = min(n_bins, end - start)
    if n_rows * n_bins > MAX_CELLS:
        raise ParameterError(
            f"{n_rows:,} rows of {n_bins:,} bins are {n_rows * n_bins:,} cells, "
            f"and at most {MAX_CELLS:,} can be"
        )
    bounds = start + np.arange(n_bins + 1) * (end - start) // n_bins
    sums = np.zeros((3, n_rows, n_bins), np.float32)
    _fill(
        graph.steps,
        graph.path_offsets,
        np.argsort(groups.of_path, kind="stable"),
        groups.of_path,
        np.concatenate([[0], np.cumsum(graph.node_lengths)]).astype(np.int64),
        bounds,
        sums,
    )
    present, visits, reverse = sums
    with np.errstate(invalid="ignore"):
        reverse /= visits
    widths = np.diff(bounds).astype(np.float32)
    return PathRows(groups, bounds, present / widths, visits / widths, reverse)


@njit(nogil=True, cache=True)
def _fill(steps, path_offsets, order, of_path, node_bounds, bounds, sums):
    """Add up the bases of each bin that are present, visited, and visited in reverse."""
    start, end, n_bins = bounds[0], bounds[-1], len(bounds) - 1
    last = np.full(len(node_bounds) - 1, -1, np.int64)
    for path in order:
        row = of_path[path]
        for step in range(path_offsets[path], path_offsets[path + 1]):
            node = steps[step] >> 1
            first, stop = max(node_bounds[node], start), min(node_bounds[node + 1], end)
            if first >= stop:
                continue
            is_new = last[node] != row
            last[node] = row
            k = (first - start) * n_bins // (end - start)
            while bounds[k + 1] <= first:
                k += 1
            while k < n_bins and bounds[k] < stop:
                n = min(stop, bounds[k + 1]) - max(first, bounds[k])
                sums[1, row, k] += n
                if is_new:
                    sums[0, row, k] += n
                if steps[step] & 1:
                    sums[2, row, k] += n
                k += 1
