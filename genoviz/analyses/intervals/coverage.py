"""Coverage of intervals by others: counts, covered bases and mean depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.intervals.count import (
    Method,
    Work,
    WorkProgress,
    count_linear_in_slices,
    iter_progress,
)
from genoviz.analyses.intervals.linear_coordinates import (
    LinearPair,
    Strand,
    ZeroLength,
    linear_pair,
)
from genoviz.backend import Backend, Scheduler, load_kernel, resolve_backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import finish, in_one_go
from genoviz.model.intervals.intervals import Intervals


@dataclass(frozen=True, eq=False)
class IntervalCoverage:
    """Coverage of each query, in query order.

    Attributes
    ----------
    counts
        int32 or int64, shape (n_queries,): number of overlapping subjects.
    covered_bases
        int64, shape (n_queries,): bases covered by at least one subject.
    lengths
        int64, shape (n_queries,), bp; 2 for empty queries that are widened.
    summed_bases
        int64, shape (n_queries,): total bases of all subjects within the query, with multiplicity.
    backend
        Where it was computed: ``"cpu"`` or ``"cuda"``.
    """

    counts: np.ndarray
    covered_bases: np.ndarray
    lengths: np.ndarray
    summed_bases: np.ndarray
    backend: str

    @property
    def fractions(self) -> np.ndarray:
        """Share of each query that is covered; float64, 0 to 1, 0 for empty queries."""
        return self.covered_bases / np.maximum(self.lengths, 1)

    @property
    def mean_depths(self) -> np.ndarray:
        """Mean depth over the bases of each query; float64, 0 for empty queries."""
        return self.summed_bases / np.maximum(self.lengths, 1)


def iter_coverage_fraction(
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
    """Yield the progress of `coverage_fraction`, with the same parameters; the last has it."""
    pair = linear_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)
    lengths = queries.lengths + closed
    if scheduler is not None:
        options = (zero_length, method, backend)
        return iter_progress(_cover_on_cluster(pair, lengths, options, scheduler))
    return iter_progress(_cover(pair, lengths, zero_length, method, backend))


@in_one_go(iter_coverage_fraction)
def coverage_fraction(last: WorkProgress) -> IntervalCoverage:
    """Return how much of each query the subjects cover, as ``bedtools coverage`` does.

    Parameters, errors and the rules for empty intervals are those of `count_overlaps`.

    Examples
    --------
    >>> exons = Intervals.from_columns(["chr1"], [10], [20])
    >>> reads = Intervals.from_columns(["chr1", "chr1"], [5, 8], [12, 14])
    >>> coverage = coverage_fraction(exons, reads, backend="cpu")
    >>> coverage.counts.tolist(), coverage.fractions.tolist(), coverage.mean_depths.tolist()
    ([2], [0.4], [0.6])
    """
    return last.found


def _cover(
    pair: LinearPair, lengths: np.ndarray, zero_length: ZeroLength, method: Method, backend: Backend
) -> Work:
    """Count, then measure: each is half of the work."""
    counting = count_linear_in_slices(pair, zero_length=zero_length, method=method, backend=backend)
    counts = yield from _half(counting, is_second=False)
    if zero_length == "bedtools":
        lengths = np.where(lengths == 0, 2, lengths)
    starts, ends = without_empty(pair.starts, pair.ends)
    check_sum(starts, ends)
    kernel = load_kernel("interval_count", backend)
    measuring = kernel.iter_measure_cover(pair.query_starts, pair.query_ends, starts, ends)
    summed, covered = yield from _half(measuring, is_second=True)
    return IntervalCoverage(counts, covered, lengths, summed, resolve_backend(backend))


def _cover_on_cluster(
    pair: LinearPair,
    lengths: np.ndarray,
    options: tuple[ZeroLength, Method, Backend],
    scheduler: Scheduler,
) -> Work:
    """Return the coverage of queries, computed by the workers of a scheduler by contig."""
    from genoviz.analyses.intervals.by_contig import iter_by_contig

    zero_length, _, backend = options
    parts = yield from iter_by_contig(_cover_part, pair, common=options, scheduler=scheduler)
    n = len(lengths)
    if zero_length == "bedtools":
        lengths = np.where(lengths == 0, 2, lengths)
    counts = np.zeros(n, np.int32 if len(pair.starts) < 2**31 else np.int64)
    covered, summed = np.zeros((2, n), np.int64)
    where = {found.backend for _, found in parts}
    for rows, found in parts:
        counts[rows], covered[rows] = found.counts, found.covered_bases
        summed[rows] = found.summed_bases
    backend = "cuda" if where == {"cuda"} or backend == "cuda" else "cpu"
    return IntervalCoverage(counts, covered, lengths, summed, backend)


def _cover_part(
    pair: LinearPair, zero_length: ZeroLength, method: Method, backend: Backend
) -> IntervalCoverage:
    lengths = np.zeros(len(pair.query_starts), np.int64)  # which this machine has
    return finish(_cover(pair, lengths, zero_length, method, backend))


def _half(work: Work, *, is_second: bool) -> Work:
    """Map the progress of work to the first or second half of a larger one."""
    for report in iter_progress(work):
        yield report.n_done + is_second * report.n_total, 2 * report.n_total
    return report.found


def check_sum(starts: np.ndarray, ends: np.ndarray) -> None:
    """Raise `ParameterError` if the total length of intervals would overflow."""
    if len(starts) and int(ends.max()) * len(ends) >= 2**62:
        total = float(np.subtract(ends, starts).sum(dtype=np.float64))
        if total >= 2**62:
            raise ParameterError(
                f"{n_words(len(starts), 'interval has', 'intervals have')} more than 2^62 bases "
                "together, too many to add up"
            )


def without_empty(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the non-empty intervals."""
    has_base = starts < ends
    if has_base.all():
        return starts, ends
    return starts[has_base], ends[has_base]
