"""Distributed processing of queries and subjects by contig.

Contigs occupy separate ranges of a `LinearPair`, so the result for a contig depends only on its own
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np

from genoviz.analyses.intervals.linear_coordinates import MARGIN, LinearPair
from genoviz.backend import Scheduler
from genoviz.model.columns import distinct

TASK_INTERVALS = 1 << 24
"""Queries and subjects per task, unless a single contig has more: a second or more."""

Parts = list[tuple[np.ndarray, Any]]


def iter_by_contig(
    function: Callable[..., Any], pair: LinearPair, *, common: tuple, scheduler: Scheduler
) -> Generator[tuple[int, int], None, Parts]:
    """Let workers call a function for the queries and subjects of some contigs each.

    Parameters
    ----------
    function
        Called with a `LinearPair` and ``common``.
    pair
        All queries and subjects.
    common
        Arguments common to all calls.
    scheduler
        Scheduler of the workers.

    Yields
    ------
    tuple
        Numbers of finished tasks and of all tasks.

    Returns
    -------
    list
        Rows of the queries, and the function's result for them. Queries on contigs without
        subjects are not included.
    """
    from genoviz.cluster.blocks import iter_results

    rows = _rows_of_tasks(pair)
    blocks = [
        (pair.query_starts[of_q], pair.query_ends[of_q], pair.starts[of_s], pair.ends[of_s])
        for of_q, of_s in rows
    ]
    nothing = np.empty((0, 3), np.int64)
    empty = replace(
        pair,
        **dict.fromkeys(("query_starts", "query_ends", "starts", "ends", "offsets"), nothing[:, 0]),
        query_groups=nothing,
        subject_groups=nothing,
    )
    parts: Parts = []
    common = (function, empty, *common)
    for block, found in iter_results(_call, blocks, scheduler=scheduler, common=common):
        parts.append((rows[block][0], found))
        yield len(parts), len(rows)
    return parts


def _call(
    query_starts: np.ndarray,
    query_ends: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    function: Callable[..., Any],
    pair: LinearPair,
    *common: Any,
) -> Any:
    columns = {"query_starts": query_starts, "query_ends": query_ends, "starts": starts}
    return function(replace(pair, **columns, ends=ends), *common)


def _rows_of_tasks(pair: LinearPair) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of the queries and subjects of each task, in contig order."""
    groups, counts = [], []
    for starts in (pair.query_starts, pair.starts):
        found = np.searchsorted(pair.offsets[:-1], starts.astype(np.int64) + MARGIN, "right") - 1
        groups.append(np.maximum(found, 0))
        counts.append(np.bincount(groups[-1], minlength=pair.n_groups))
    has_both = (counts[0] > 0) & (counts[1] > 0)
    sizes = np.where(has_both, counts[0] + counts[1], 0)
    numbers = np.where(has_both, (np.cumsum(sizes) - sizes) // TASK_INTERVALS, -1)
    rows = []
    for of_rows in groups:
        tasks = numbers[of_rows]
        order = np.argsort(tasks, kind="stable")
        rows.append((order, tasks[order]))
    found = []
    for number in distinct(numbers[has_both]).tolist():
        both = [
            order[np.searchsorted(tasks, number) : np.searchsorted(tasks, number, "right")]
            for order, tasks in rows
        ]
        found.append((both[0], both[1]))
    return found
