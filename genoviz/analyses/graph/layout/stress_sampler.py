"""Sampled path stress, with an interval that holds for heavy tails."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from genoviz.analyses.graph.layout.path_records import PathRecords
from genoviz.analyses.graph.layout.stress_results import (
    PathStress,
    StratumMoments,
    StressProgress,
    interval,
    shape_of,
)
from genoviz.analyses.graph.layout.stress_strata import (
    Stratum,
    Weighting,
    check_weighting,
    find_near,
    make_strata,
    term_weights,
)
from genoviz.analyses.slices import iter_slices
from genoviz.backend import Backend, array_module, load_kernel
from genoviz.errors import ParameterError
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK

MEDIAN_SAMPLES = 10**5
FIRST_PAIRS = 10**6
FIRST_SAMPLES = 4 * SAMPLES_PER_CHUNK
MAX_SHAPED = 2**20
"""Of each stratum, so many terms tell skewness and kurtosis; more of them need no correction."""
_MEDIAN_KEY = 2**32


class StressSampler:
    """Draws stress terms of one graph again and again, as a live layout needs it.

    Parameters
    ----------
    records
        The paths, on the host or (for ``"cuda"``) already on the GPU.
    weighting
        What each path counts; see `PathStress`.
    """

    def __init__(
        self, records: PathRecords, *, weighting: Weighting = "steps", backend: Backend = "auto"
    ) -> None:
        check_weighting(weighting)
        xp, self._kernel = array_module(backend), load_kernel("path_stress", backend)
        self._as_array = xp.asarray
        self._weighting = weighting
        self._records = xp.asarray(records.records)
        self._path_starts = xp.asarray(records.path_starts)
        self._block_paths = xp.asarray(records.block_paths)
        starts = records.path_starts
        starts = starts if isinstance(starts, np.ndarray) else starts.get()
        self._n_steps = np.diff(starts) - 1

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
        if len(self._n_steps) == 0:
            nan = math.nan
            none = PathStress(nan, nan, nan, nan, 0, 0, False, self._weighting)
            yield StressProgress(n_samples, n_samples, none)
            return
        points = self._as_array(points)
        near = find_near(self._n_steps, n_samples)
        sums = _Sums()
        if near:
            for n_done in self._iter_near(points, near, sums):
                yield StressProgress(n_done, n_samples)
        n_done = sums.n_terms + sums.n_skipped
        strata = make_strata(self._n_steps, self._weighting, near, n_samples - n_done)
        for number, stratum in enumerate(strata):
            values = np.empty(min(stratum.n_samples, MAX_SHAPED), np.float32)
            for n_here, drawn in self._iter_draw(points, stratum, (seed, number), values):
                if drawn is not None:
                    sums.add_sample(stratum, drawn, values)
                yield StressProgress(n_done + n_here, n_samples)
            n_done += stratum.n_samples
        median = self._sample_median(points, min(n_samples, MEDIAN_SAMPLES), seed)
        stress = sums.summarise(self._weighting, median, is_exact=not strata)
        yield StressProgress(n_samples, n_samples, stress)

    def _iter_near(self, points: np.ndarray, near: int, sums: _Sums) -> Iterator[int]:
        """Add the terms of all pairs up to a jump; yield how many terms are done."""
        of_terms = term_weights(self._n_steps, self._weighting)
        weights = np.repeat(of_terms, self._n_steps + 1)

        def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            found = self._kernel.sum_all_pairs(
                points, self._records, self._path_starts, self._block_paths, first, stop, near
            )
            return (weights[first:stop], *found)

        n_rows = max(FIRST_PAIRS // near, 1)
        for _, (of_rows, totals, counts) in iter_slices(run, len(weights), first_size=n_rows):
            sums.add_all(of_rows, totals, counts)
            yield sums.n_terms + sums.n_skipped

    def _iter_draw(
        self,
        points: np.ndarray,
        stratum: Stratum,
        seed: tuple[int, ...],
        values: np.ndarray | None = None,
    ) -> Iterator[tuple[int, tuple[np.ndarray, int] | None]]:
        """Yield how many samples of a stratum are drawn; at last their sums and number of terms."""
        key = np.random.SeedSequence([number % 2**64 for number in seed])
        key = key.generate_state(1, np.uint64)[0]
        values = np.empty(0, np.float32) if values is None else values
        paths, shares = self._as_array(stratum.paths), self._as_array(stratum.shares)

        def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            return self._kernel.sum_samples(
                points,
                self._records,
                self._path_starts,
                paths,
                shares,
                stratum.shortest,
                stratum.longest,
                first,
                stop - first,
                key,
                values[first:stop],
            )

        sums, n_terms = [], 0
        for n_done, (found, counts) in iter_slices(
            run, stratum.n_samples, first_size=FIRST_SAMPLES, multiple=SAMPLES_PER_CHUNK
        ):
            sums.append(found)
            n_terms += int(counts.sum())
            if n_done < stratum.n_samples:
                yield n_done, None
        all_sums = np.concatenate(sums)
        yield stratum.n_samples, (np.array([math.fsum(column) for column in all_sums.T]), n_terms)

    def _sample_median(self, points: np.ndarray, n_samples: int, seed: int) -> float:
        """Return the median term of a plain sample; NaN if it has none."""
        longest = max(int(self._n_steps.max()) - 1, 1)
        stratum = make_strata(self._n_steps, self._weighting, 0, 1)[0]
        stratum = replace(stratum, shortest=1, longest=longest, n_samples=n_samples)
        values = np.empty(n_samples, np.float32)
        for _ in self._iter_draw(points, stratum, (seed, _MEDIAN_KEY), values):
            pass
        drawn = values[~np.isnan(values)]
        return float(np.median(drawn)) if len(drawn) else math.nan


class _Sums:
    """What the terms taken so far come to; those drawn count for all that they stand for."""

    def __init__(self) -> None:
        self.n_terms = self.n_skipped = 0
        self._totals: list[float] = []
        self._weights: list[float] = []
        self._strata: list[StratumMoments] = []

    def add_all(self, weights: np.ndarray, totals: np.ndarray, counts: np.ndarray) -> None:
        """Add the sums of rows of which all terms were taken."""
        self._totals.extend((weights * totals).tolist())
        self._weights.extend((weights * counts[:, 0]).tolist())
        self.n_terms += int(counts[:, 0].sum())
        self.n_skipped += int(counts[:, 1].sum())

    def add_sample(
        self, stratum: Stratum, drawn: tuple[np.ndarray, int], values: np.ndarray
    ) -> None:
        """Add the sum, the sum of squares and the number of terms drawn of a stratum."""
        (total, total_squares), n_terms = drawn
        n_samples = stratum.n_samples
        self._totals.append(stratum.weight * total / n_samples)
        self._weights.append(stratum.weight * n_terms / n_samples)
        self._strata.append(
            StratumMoments(
                stratum.weight, n_samples, n_terms, total, total_squares, *shape_of(values)
            )
        )
        self.n_terms += n_terms
        self.n_skipped += n_samples - n_terms

    def summarise(self, weighting: Weighting, median: float, *, is_exact: bool) -> PathStress:
        """Return the mean with its interval; see `stress_results`."""
        counted = math.fsum(self._weights)
        if counted == 0.0:
            nan = math.nan
            return PathStress(
                nan, nan, nan, nan, 0, self.n_skipped, is_exact=is_exact, weighting=weighting
            )
        mean = math.fsum(self._totals) / counted
        ci_low, ci_high = interval(mean, counted, self._strata)
        return PathStress(
            mean=mean,
            ci_low=ci_low,
            ci_high=ci_high,
            median=median,
            n_terms=self.n_terms,
            n_skipped=self.n_skipped,
            is_exact=is_exact,
            weighting=weighting,
        )
