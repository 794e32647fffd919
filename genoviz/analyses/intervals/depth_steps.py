"""Depth of intervals on all contigs at once, as a step function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.analyses.intervals import depth_loops
from genoviz.analyses.intervals.coverage import without_empty
from genoviz.analyses.intervals.linear_coordinates import linear_intervals, on_contigs
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.model import Intervals


def depth_steps(intervals: Intervals, *, zeros: bool = False) -> Intervals:
    """Return the stretches of one depth, which is their score, in the order of the contigs.

    Neighbours differ. Empty intervals cover no base, and those that reach beyond a contig of known
    length end with it.

    Parameters
    ----------
    intervals
        On any number of contigs.
    zeros
        Whether to give stretches of depth 0 too, up to the length of each contig.

    Raises
    ------
    ParameterError
        If an interval begins before its contig, or lengths are needed and not known.

    Examples
    --------
    >>> steps = depth_steps(Intervals.from_columns(["a", "b", "a"], [0, 4, 5], [8, 6, 9]))
    >>> steps.starts.tolist(), steps.ends.tolist(), steps.scores.tolist()
    ([0, 5, 8, 4], [5, 8, 9, 6], [1.0, 2.0, 1.0, 1.0])
    """
    intervals = on_contigs(intervals)
    linear_starts, linear_ends, offsets = linear_intervals(intervals)
    sorted_starts, sorted_ends = load_kernel("interval_count", "cpu").sort_arrays(
        without_empty(linear_starts, linear_ends)
    )
    top = int(offsets[-1])
    positions, depths = depth_loops.find_steps(sorted_starts, sorted_ends, 0, top + 1)
    rows = np.flatnonzero(depths > 0)
    ids = np.searchsorted(offsets, positions[rows], "right") - 1
    starts = positions[rows] - offsets[ids]
    ends = np.append(positions[1:], top)[rows] - offsets[ids]
    values = depths[rows]
    if zeros:
        ids, starts, ends, values = _fill_gaps(intervals, ids, starts, ends, values)
    return replace(
        intervals,
        contig_ids=ids.astype(np.int32),
        starts=starts,
        ends=ends,
        strands=None,
        names=None,
        scores=values.astype(np.float64),
    )


def _fill_gaps(
    intervals: Intervals,
    ids: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    values: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Return the steps with those of depth 0 between them."""
    lengths = intervals.contig_lengths
    if lengths is None:
        raise ParameterError("stretches of depth 0 need the lengths of the contigs")
    last_ends = np.zeros(intervals.n_contigs, np.int64)
    last_ends[ids] = ends
    is_first = np.append(True, ids[1:] != ids[:-1])[: len(ids)]
    before = np.where(is_first, 0, np.append(0, ends)[:-1])
    has_gap = before < starts
    has_tail = last_ends < lengths
    tails = np.flatnonzero(has_tail)
    all_ids = np.concatenate([ids, ids[has_gap], tails])
    all_starts = np.concatenate([starts, before[has_gap], last_ends[has_tail]])
    all_ends = np.concatenate([ends, starts[has_gap], lengths[has_tail]])
    zeros = np.zeros(len(all_ids) - len(ids), values.dtype)
    order = np.lexsort((all_starts, all_ids))
    all_values = np.concatenate([values, zeros])
    return all_ids[order], all_starts[order], all_ends[order], all_values[order]
