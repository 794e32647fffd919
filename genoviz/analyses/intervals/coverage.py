"""How much of each interval others cover, and how deep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.intervals.count import Method, count_linear
from genoviz.analyses.intervals.linear_coordinates import Strand, ZeroLength, linear_pair
from genoviz.backend import Backend, load_kernel, resolve_backend
from genoviz.errors import ParameterError
from genoviz.model.intervals.intervals import Intervals


@dataclass(frozen=True, eq=False)
class IntervalCoverage:
    """What covers each query, in the order of the queries.

    Attributes
    ----------
    counts
        int32 or int64, shape (n_queries,): subjects that overlap.
    covered_bases
        int64, shape (n_queries,): bases that at least one subject covers.
    lengths
        int64, shape (n_queries,), bp; 2 for empty queries that are widened.
    summed_bases
        int64, shape (n_queries,): bases of all subjects inside the query, overlaps of these
        repeated.
    backend
        Where all of it was computed: ``"cpu"`` or ``"cuda"``.
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
        """Subjects over a base of each query, on average; float64, 0 for empty queries."""
        return self.summed_bases / np.maximum(self.lengths, 1)


def coverage_fraction(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: Strand | None = None,
    zero_length: ZeroLength = "bedtools",
    method: Method = "auto",
    backend: Backend = "auto",
) -> IntervalCoverage:
    """Return how much of each query the subjects cover, as ``bedtools coverage`` does.

    Parameters, errors and what becomes of empty intervals are those of `count_overlaps`.

    Examples
    --------
    >>> exons = Intervals.from_columns(["chr1"], [10], [20])
    >>> reads = Intervals.from_columns(["chr1", "chr1"], [5, 8], [12, 14])
    >>> coverage = coverage_fraction(exons, reads, backend="cpu")
    >>> coverage.counts.tolist(), coverage.fractions.tolist(), coverage.mean_depths.tolist()
    ([2], [0.4], [0.6])
    """
    pair = linear_pair(queries, subjects, closed=closed, strand=strand, zero_length=zero_length)
    counts = count_linear(pair, zero_length=zero_length, method=method, backend=backend)
    lengths = queries.lengths + closed
    if zero_length == "bedtools":
        lengths = np.where(lengths == 0, 2, lengths)
    starts, ends = without_empty(pair.starts, pair.ends)
    check_sum(starts, ends)
    kernel = load_kernel("interval_count", backend)
    summed, covered = kernel.measure_cover(pair.query_starts, pair.query_ends, starts, ends)
    return IntervalCoverage(counts, covered, lengths, summed, resolve_backend(backend))


def check_sum(starts: np.ndarray, ends: np.ndarray) -> None:
    """Raise a ParameterError if intervals have more bases than can be added up."""
    if len(starts) and int(ends.max()) * len(ends) >= 2**62:
        total = float(np.subtract(ends, starts).sum(dtype=np.float64))
        if total >= 2**62:
            raise ParameterError(
                f"{len(starts):,} intervals have more than 2^62 bases together, too many to add up"
            )


def without_empty(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the intervals that have a base."""
    has_base = starts < ends
    if has_base.all():
        return starts, ends
    return starts[has_base], ends[has_base]
