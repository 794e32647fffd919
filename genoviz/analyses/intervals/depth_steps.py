"""Depth of intervals on all contigs at once, as a step function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from genoviz.analyses.intervals.count import Work, WorkProgress, iter_progress
from genoviz.analyses.intervals.coverage import without_empty
from genoviz.analyses.intervals.depth_loops import extend_steps
from genoviz.analyses.intervals.linear_coordinates import linear_intervals, on_contigs
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go, iter_slices
from genoviz.model import Intervals

FIRST_STARTS = 1 << 20


def iter_depth_steps(intervals: Intervals, *, zeros: bool = False) -> Iterator[WorkProgress]:
    """Yield the progress of `depth_steps`, with the same parameters; the last has the steps."""
    return iter_progress(_steps(intervals, zeros))


@in_one_go(iter_depth_steps)
def depth_steps(last: WorkProgress) -> Intervals:
    """Return maximal stretches of constant depth, with the depth as score, in contig order.

    Empty intervals cover no base. Intervals are clipped to contigs of known length.

    Parameters
    ----------
    intervals
        On any number of contigs.
    zeros
        Whether to include stretches of depth 0, up to the length of each contig.

    Raises
    ------
    ParameterError
        If an interval starts before its contig, or contig lengths are needed but unknown.

    Examples
    --------
    >>> steps = depth_steps(Intervals.from_columns(["a", "b", "a"], [0, 4, 5], [8, 6, 9]))
    >>> steps.starts.tolist(), steps.ends.tolist(), steps.scores.tolist()
    ([0, 5, 8, 4], [5, 8, 9, 6], [1.0, 2.0, 1.0, 1.0])
    """
    return last.found


def _steps(intervals: Intervals, zeros: bool) -> Work:
    intervals = on_contigs(intervals)
    linear_starts, linear_ends, offsets = linear_intervals(intervals)
    top = int(offsets[-1])
    positions, depths = yield from _linear_steps(linear_starts, linear_ends, top)
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


def _linear_steps(starts: np.ndarray, ends: np.ndarray, top: int) -> Work:
    """Return the positions where the depth changes, up to ``top``, and the depth after each."""
    starts, ends = without_empty(starts, ends)
    n = len(starts)
    kernel = load_kernel("interval_count", "cpu")
    starts, ends = yield from kernel.iter_sort_arrays([starts, ends], n_total=3 * n)

    positions, depths = np.empty((2, 2 * n + 1), np.int64)
    positions[0] = depths[0] = 0
    at = (0, 0, 1)

    def extend(_first: int, stop: int) -> None:
        nonlocal at
        high = int(starts[stop]) if stop < n else top + 1
        i, j, n_steps = at
        at = extend_steps(starts, ends, i, j, high, positions, depths, n_steps)

    for n_done, _ in iter_slices(extend, n, first_size=FIRST_STARTS):
        yield 2 * n + n_done, 3 * n
    return positions[: at[2]], depths[: at[2]]


def _fill_gaps(
    intervals: Intervals,
    ids: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    values: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Insert the steps of depth 0 between the others."""
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
