"""How good a layout is: exact and sampled path stress."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from genoviz.analyses.path_records import PathRecords, build_path_records
from genoviz.analyses.slices import iter_slices
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK
from genoviz.model import GraphLayout, PangenomeGraph

SAMPLES_PER_STEP = 100
MAX_DEFAULT_SAMPLES = 10**8
MEDIAN_SAMPLES = 10**6
FIRST_PAIRS = 10**6
FIRST_SAMPLES = 4 * SAMPLES_PER_CHUNK
Z_95 = 1.96


@dataclass(frozen=True)
class PathStress:
    """Path stress of a layout; 0 is perfect, and what is good depends on the graph.

    Attributes
    ----------
    mean
        Mean of the terms ``((D - d) / d)^2`` with D the distance in the layout and d the distance
        along the path; NaN when there is no term.
    ci_low, ci_high
        95 % confidence interval of the mean; the mean itself when it is exact.
    median
        Median term, which a few bad pairs cannot move; NaN for exact stress, whose terms are not
        kept.
    n_terms, n_skipped
        Terms in the mean, and terms left out because the two ends are one joint (d = 0).
    is_exact
        Whether all pairs were counted rather than a sample.
    """

    mean: float
    ci_low: float
    ci_high: float
    median: float
    n_terms: int
    n_skipped: int
    is_exact: bool


@dataclass(frozen=True)
class StressProgress:
    """How far a path stress is.

    Attributes
    ----------
    n_done, n_total
        Pairs of steps, or samples, done and in all.
    stress
        The result, at the end.
    """

    n_done: int
    n_total: int
    stress: PathStress | None = None


def path_stress(
    graph: PangenomeGraph, layout: GraphLayout, *, backend: Backend = "auto"
) -> PathStress:
    """Return the exact path stress: the mean over all step pairs of all paths and all ends.

    The work grows with the square of the path lengths in steps: about 2e8 terms a second on a
    CPU core. For more than some 1e5 steps a path, use `sampled_path_stress`.

    Parameters
    ----------
    graph, layout
        A graph and its layout.

    Raises
    ------
    ParameterError
        If the layout has another number of nodes than the graph.

    References
    ----------
    Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
    """
    for progress in iter_path_stress(graph, layout, backend=backend):
        stress = progress.stress
    return stress


def iter_path_stress(
    graph: PangenomeGraph, layout: GraphLayout, *, backend: Backend = "auto"
) -> Iterator[StressProgress]:
    """Yield how far the exact path stress is; the last report has it. See `path_stress`."""
    _check_layout(graph, layout)
    records = build_path_records(graph)
    xp, kernel = array_module(backend), load_kernel("path_stress", backend)
    arrays = [
        xp.asarray(array)
        for array in (layout.points, records.records, records.path_starts, records.block_paths)
    ]
    rows = _RowsOfPairs(records.path_starts)
    totals, n_terms, n_skipped = [], 0, 0

    def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return kernel.sum_all_pairs(*arrays, rows.of(first), rows.of(stop))

    for n_done, (sums, counts) in iter_slices(run, rows.n_pairs, first_size=FIRST_PAIRS):
        totals.append(sums)
        n_terms += int(counts[:, 0].sum())
        n_skipped += int(counts[:, 1].sum())
        if n_done < rows.n_pairs:
            yield StressProgress(n_done, rows.n_pairs)
    mean = math.fsum(chain.from_iterable(totals)) / n_terms if n_terms else math.nan
    stress = PathStress(mean, mean, mean, math.nan, n_terms, n_skipped, is_exact=True)
    yield StressProgress(rows.n_pairs, rows.n_pairs, stress)


class _RowsOfPairs:
    """Which row each pair is of, where the pairs of all rows are numbered row by row.

    A row is a record with itself and all later records of its path.
    """

    def __init__(self, path_starts: np.ndarray) -> None:
        self._path_starts = path_starts
        n_records = np.diff(path_starts)
        self._first_pairs = np.concatenate(([0], np.cumsum(n_records * (n_records + 1) // 2)))
        self.n_pairs = int(self._first_pairs[-1])

    def of(self, pair: int) -> int:
        """Return the row of a pair; the number of rows for that after the last."""
        path = int(np.searchsorted(self._first_pairs, pair, side="right")) - 1
        first = int(self._path_starts[path])
        if path == len(self._path_starts) - 1:
            return first
        n_records = int(self._path_starts[path + 1]) - first
        # The rows from row i on have (n - i)(n - i + 1) / 2 pairs.
        n_left = int(self._first_pairs[path + 1]) - pair
        n_rows_left = (math.isqrt(8 * n_left - 7) + 1) // 2
        return first + n_records - n_rows_left


def sampled_path_stress(
    graph: PangenomeGraph,
    layout: GraphLayout,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    backend: Backend = "auto",
) -> PathStress:
    """Return the path stress of a random sample of terms, with its 95 % confidence interval.

    Both backends draw the same terms for the same seed.

    Parameters
    ----------
    graph, layout
        A graph and its layout.
    n_samples
        Terms to draw; by default 100 for each step, at most 10^8.
    seed
        Names the sample.

    Raises
    ------
    ParameterError
        If the layout has another number of nodes than the graph, or ``n_samples`` is below 1.

    References
    ----------
    Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
    """
    for progress in iter_sampled_path_stress(
        graph, layout, n_samples=n_samples, seed=seed, backend=backend
    ):
        stress = progress.stress
    return stress


def iter_sampled_path_stress(
    graph: PangenomeGraph,
    layout: GraphLayout,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[StressProgress]:
    """Yield how far a sampled path stress is; the last report has it. See `sampled_path_stress`."""
    _check_layout(graph, layout)
    if n_samples is None:
        n_samples = min(max(SAMPLES_PER_STEP * graph.n_steps, 1), MAX_DEFAULT_SAMPLES)
    sampler = StressSampler(build_path_records(graph), backend=backend)
    yield from sampler.iter_sample(layout.points, n_samples=n_samples, seed=seed)


class StressSampler:
    """Draws stress terms of one graph again and again, as a live layout needs it.

    Parameters
    ----------
    records
        The paths, on the host or (for ``"cuda"``) already on the GPU.
    """

    def __init__(self, records: PathRecords, *, backend: Backend = "auto") -> None:
        xp, self._kernel = array_module(backend), load_kernel("path_stress", backend)
        self._as_array = xp.asarray
        self._n_steps = records.n_steps
        self._records = [
            xp.asarray(array)
            for array in (records.records, records.path_starts, records.block_paths)
        ]

    def sample(self, points: np.ndarray, *, n_samples: int, seed: int = 0) -> PathStress:
        """Return the stress of points (float64, (2 n_nodes, 2)) from ``n_samples`` terms."""
        for progress in self.iter_sample(points, n_samples=n_samples, seed=seed):
            stress = progress.stress
        return stress

    def iter_sample(
        self, points: np.ndarray, *, n_samples: int, seed: int = 0
    ) -> Iterator[StressProgress]:
        """Yield how far a sample is; the last report has the stress."""
        if n_samples < 1:
            raise ParameterError(f"n_samples is {n_samples}, needs at least 1")
        if self._n_steps == 0:
            none = PathStress(math.nan, math.nan, math.nan, math.nan, 0, 0, is_exact=False)
            yield StressProgress(n_samples, n_samples, none)
            return
        points = self._as_array(points)
        values = np.empty(min(n_samples, MEDIAN_SAMPLES), np.float32)
        key = np.uint64(seed % 2**64)

        def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            return self._kernel.sum_samples(
                points, *self._records, first, stop - first, key, values[first:stop]
            )

        sums, n_terms = [], 0
        for n_done, (found, counts) in iter_slices(
            run, n_samples, first_size=FIRST_SAMPLES, multiple=SAMPLES_PER_CHUNK
        ):
            sums.append(found)
            n_terms += int(counts.sum())
            if n_done < n_samples:
                yield StressProgress(n_done, n_samples)
        stress = _summarise(np.concatenate(sums), n_terms, n_samples, values)
        yield StressProgress(n_samples, n_samples, stress)


def _summarise(sums: np.ndarray, n_terms: int, n_samples: int, values: np.ndarray) -> PathStress:
    if n_terms == 0:
        return PathStress(math.nan, math.nan, math.nan, math.nan, 0, n_samples, is_exact=False)
    mean = math.fsum(sums[:, 0]) / n_terms
    variance = max(math.fsum(sums[:, 1]) / n_terms - mean * mean, 0.0)
    half_width = Z_95 * math.sqrt(variance / n_terms)
    drawn = values[~np.isnan(values)]
    median = float(np.median(drawn)) if len(drawn) else math.nan
    return PathStress(
        mean=mean,
        ci_low=max(mean - half_width, 0.0),
        ci_high=mean + half_width,
        median=median,
        n_terms=n_terms,
        n_skipped=n_samples - n_terms,
        is_exact=False,
    )


def _check_layout(graph: PangenomeGraph, layout: GraphLayout) -> None:
    if layout.n_nodes != graph.n_nodes:
        raise ParameterError(
            f"the layout has {layout.n_nodes:,} nodes and the graph {graph.n_nodes:,}; "
            "they need to be of the same graph"
        )
