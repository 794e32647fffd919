"""Counting of overlaps between two sets of intervals on any number of contigs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from genoviz.analyses.intervals.linear_coordinates import (
    LinearPair,
    Strand,
    ZeroLength,
    ordered_pair,
)
from genoviz.backend import Backend, Scheduler, load_kernel
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import finish, in_one_go
from genoviz.kernels.interval_count import MAX_PACKED_BITS, packed_bits
from genoviz.model.intervals.intervals import Intervals

Method = Literal["auto", "sweep", "merge", "search"]
Work = Generator[tuple[int, int], None, Any]


@dataclass(frozen=True, eq=False)
class WorkProgress:
    """Progress of a computation over intervals.

    Attributes
    ----------
    n_done, n_total
        Number of finished pieces of work, and their total.
    found
        Result of the computation; only in the last report.
    """

    n_done: int
    n_total: int
    found: Any = None


def iter_progress(work: Work) -> Iterator[WorkProgress]:
    """Yield the progress of a generator that yields pairs (done, total) and returns a result."""
    n_total = 1
    while True:
        try:
            n_done, n_total = next(work)
        except StopIteration as done:
            yield WorkProgress(n_total, n_total, done.value)
            return
        yield WorkProgress(n_done, n_total)


def iter_count_overlaps(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
    method: Method = "auto",
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[WorkProgress]:
    """Yield the progress of `count_overlaps`, with the same parameters; the last has the counts.

    ``"sweep"`` runs in one step.
    """
    check_choice("method", method, get_args(Method))
    pair = ordered_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)
    if scheduler is not None:
        return iter_progress(_count_on_cluster(pair, zero_length, method, scheduler, backend))
    return iter_progress(
        count_linear_in_slices(pair, zero_length=zero_length, method=method, backend=backend)
    )


@in_one_go(iter_count_overlaps)
def count_overlaps(last: WorkProgress) -> np.ndarray:
    """Return the number of subjects that overlap each query, in query order.

    All contigs are counted together in O((n + m) log(n + m)), independent of the number of
    overlaps.

    Parameters
    ----------
    queries, subjects
        Contigs are matched by name. Coordinates may be real, negative, and of any size: they are
        compared exactly, without rounding.
    closed
        Whether intervals include their ends; otherwise they are half-open. For example, [10.2,
        11.7) and [11.7, 12) do not overlap, but the closed intervals share 11.7.
    strand
        ``"same"`` counts subjects on the query's strand, ``"opposite"`` those on the other;
        intervals without a strand then never match. None ignores strands.
    zero_length
        What empty intervals overlap. ``"bedtools"`` widens them by a base on both sides, as
        ``bedtools intersect -c`` does. ``"strict"``: nothing. ``"interior"``: intervals with bases
        on both sides of them, and no other empty interval. Real coordinates have no bases, so
        ``"bedtools"`` rejects empty intervals there, unless ``closed``.
    method
        ``"sweep"`` is the two-array algorithm of Marzolla et al.; ``"merge"`` and ``"search"``
        sort less; see ``genoviz.kernels.interval_count``. The counts are the same.
    scheduler
        Address of a Dask scheduler, or a ``distributed`` client, whose workers count some contigs
        each; None uses this process only.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``.

    Returns
    -------
    numpy.ndarray
        int32, shape (n_queries,); int64 if there are 2^31 subjects or more.

    Raises
    ------
    ParameterError
        If an option is unknown, an interval is reversed, strands are requested but unknown, or an
        empty interval of real coordinates would have to be widened.

    Examples
    --------
    >>> exons = Intervals.from_columns(["chr1", "chr1"], [10, 50], [20, 60])
    >>> reads = Intervals.from_columns(["chr1", "chr1", "chr2"], [0, 15, 15], [11, 25, 25])
    >>> count_overlaps(exons, reads, backend="cpu").tolist()
    [2, 0]

    References
    ----------
    Marzolla et al. 2024, Parallel intersection counting on shared-memory multiprocessors and GPUs,
    doi:10.1016/j.future.2024.05.039.
    """
    return last.found


def total_overlaps(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
    method: Method = "auto",
    backend: Backend = "auto",
) -> int:
    """Return the number of overlapping pairs; parameters as for `count_overlaps`."""
    counts = count_overlaps(
        queries,
        subjects,
        closed=closed,
        strand=strand,
        zero_length=zero_length,
        method=method,
        backend=backend,
    )
    return int(counts.sum(dtype=np.int64))


def _count_on_cluster(
    pair: LinearPair,
    zero_length: ZeroLength,
    method: Method,
    scheduler: Scheduler,
    backend: Backend,
) -> Work:
    """Return the counts of queries, computed by the workers of a scheduler by contig."""
    from genoviz.analyses.intervals.by_contig import iter_by_contig

    options = {"zero_length": zero_length, "method": method, "backend": backend}
    parts = yield from iter_by_contig(_count_part, pair, common=(options,), scheduler=scheduler)
    counts = np.zeros(len(pair.query_starts), np.int32 if len(pair.starts) < 2**31 else np.int64)
    for rows, found in parts:
        counts[rows] = found
    return counts


def _count_part(pair: LinearPair, options: dict[str, Any]) -> np.ndarray:
    return count_linear(pair, **options)


def count_linear(
    pair: LinearPair,
    *,
    zero_length: ZeroLength,
    method: Method = "auto",
    backend: Backend = "auto",
) -> np.ndarray:
    """Run `count_linear_in_slices` in one step."""
    work = count_linear_in_slices(pair, zero_length=zero_length, method=method, backend=backend)
    return finish(work)


def count_linear_in_slices(
    pair: LinearPair,
    *,
    zero_length: ZeroLength,
    method: Method = "auto",
    backend: Backend = "auto",
) -> Work:
    """Return the counts of queries in linear coordinates, made with the same ``zero_length``.

    Raises
    ------
    ParameterError
        If a method that packs coordinates and indices into one word would overflow.
    """
    if method in ("sweep", "merge"):
        bits = packed_bits(pair.top, len(pair.query_starts), len(pair.starts))
        if bits > MAX_PACKED_BITS:
            raise ParameterError(
                f"method {method!r} needs {bits} bits for a coordinate and a number, and has "
                f"{MAX_PACKED_BITS}; choose method 'search' or 'auto'"
            )
    kernel = load_kernel("interval_count", backend)
    counts = yield from kernel.iter_count_overlaps(
        pair.query_starts, pair.query_ends, pair.starts, pair.ends, method
    )
    if zero_length == "interior":
        _correct_empty(pair, counts)
    return counts


def _correct_empty(pair: LinearPair, counts: np.ndarray) -> None:
    """Correct the count of an empty query, to which equal empty subjects contributed -1."""
    rows = np.flatnonzero((pair.query_starts == pair.query_ends) & (pair.query_starts > 0))
    if len(rows) == 0:
        return
    places = np.sort(pair.starts[pair.starts == pair.ends])
    where = pair.query_starts[rows]
    n_there = np.searchsorted(places, where, "right") - np.searchsorted(places, where, "left")
    counts[rows] += n_there.astype(counts.dtype)
