"""Sampled path stress, with a confidence interval that is valid for heavy tails.

Terms of near steps are few and can be huge; those of far steps are many and similar. All pairs up
to some jump (number of steps between the two) are therefore taken. The others are sampled from
strata of jumps, each reaching twice as far as the one before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise

import numpy as np

from genoviz.analyses.graph.layout.path_records import PathRecords
from genoviz.analyses.graph.layout.stress_results import (
    WEIGHTINGS,
    PathStress,
    StratumMoments,
    StressProgress,
    Weighting,
    interval,
    shape_of,
)
from genoviz.backend import Backend, array_module, load_kernel, to_device, to_host
from genoviz.errors import check_choice, check_minimum
from genoviz.generators import iter_slices
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK

SHARE_OF_NEAR = 2 / 3
"""Maximum share of the terms for near pairs."""
MIN_PER_STRATUM = 64
MEDIAN_SAMPLES = 10**5
FIRST_PAIRS = 10**6
FIRST_SAMPLES = 4 * SAMPLES_PER_CHUNK
MAX_SHAPED = 2**20
"""Terms per stratum used for skewness and kurtosis; larger samples need no correction."""
_MEDIAN_KEY = 2**32


@dataclass(frozen=True, eq=False)
class Stratum:
    """Pairs of steps with similar jumps.

    Attributes
    ----------
    shortest, longest
        Smallest and largest jump; paths with one step belong to the stratum that starts at 1.
    paths
        int64: the paths with such pairs.
    shares
        float64: cumulative share of the weight over these paths; the last is 1.
    weight
        Total weight of its terms.
    n_samples
        Number of terms to draw.
    """

    shortest: int
    longest: int
    paths: np.ndarray
    shares: np.ndarray
    weight: float
    n_samples: int


def count_terms(n_steps: np.ndarray, shortest: int, longest: int) -> np.ndarray:
    """Return the number of terms of each path in a range of jumps; a single step has jump 1.

    Parameters
    ----------
    n_steps
        int64: steps of each path, 1 or more.
    """
    last = np.minimum(longest, n_steps - 1)
    n_jumps = np.maximum(last - shortest + 1, 0)
    n_terms = 2 * n_jumps * (2 * n_steps - shortest - last)
    return n_terms + ((n_steps == 1) & (shortest == 1))


def term_weights(n_steps: np.ndarray, weighting: Weighting) -> np.ndarray:
    """Return the weight of a term of each path; float64.

    With ``"pairs"`` all terms have equal weight, so that a path counts by its squared number of
    steps. With ``"steps"`` the mean of each path is weighted by its number of steps.
    """
    if weighting == "pairs":
        return np.ones(len(n_steps))
    return n_steps / count_terms(n_steps, 1, int(n_steps.max(initial=1)))


def find_near(n_steps: np.ndarray, n_samples: int) -> int:
    """Return the largest jump up to which all pairs are taken; 0 for none."""
    longest = max(int(n_steps.max(initial=1)) - 1, 1)
    if count_terms(n_steps, 1, longest).sum() <= n_samples:
        return longest
    low, high = 0, longest
    while high - low > 1:
        middle = (low + high) // 2
        fits = count_terms(n_steps, 1, middle).sum() <= SHARE_OF_NEAR * n_samples
        low, high = (middle, high) if fits else (low, middle)
    return low


def make_strata(
    n_steps: np.ndarray, weighting: Weighting, near: int, n_samples: int
) -> list[Stratum]:
    """Return the strata of all jumps above ``near``, with ``n_samples`` terms in total.

    Half of the samples go to near strata, where terms vary most: half of these to the nearest, a
    quarter to the next, and so on. A quarter is distributed evenly, and a quarter by weight.
    """
    longest = int(n_steps.max(initial=1)) - 1
    bounds = [near, *_iter_doubled(near, max(longest, 1))]
    if n_samples < MIN_PER_STRATUM * len(bounds):
        bounds = [near, max(longest, 1)]
    pairs = pairwise(bounds) if near < max(longest, 1) else []
    weights = term_weights(n_steps, weighting)
    found = []
    for before, last in pairs:
        of_paths = weights * count_terms(n_steps, before + 1, last)
        paths = np.flatnonzero(of_paths)
        if len(paths):
            sums = np.cumsum(of_paths[paths])
            found.append((before + 1, last, paths, sums / sums[-1], float(sums[-1])))
    counts = _share_out(np.array([stratum[-1] for stratum in found]), n_samples)
    return [
        Stratum(*stratum, n_samples=int(count))
        for stratum, count in zip(found, counts, strict=True)
        if count
    ]


def _iter_doubled(near: int, longest: int) -> Iterator[int]:
    bound = max(2 * near, 1)
    while bound < longest:
        yield bound
        bound *= 2
    yield longest


def _share_out(weights: np.ndarray, n_samples: int) -> np.ndarray:
    if len(weights) == 0:
        return np.zeros(0, np.int64)
    halving = 0.5 ** np.arange(1, len(weights) + 1)
    shares = 0.25 * weights / weights.sum() + 0.25 / len(weights) + 0.5 * halving / halving.sum()
    counts = (shares * n_samples).astype(np.int64)
    counts[np.argmax(weights)] += n_samples - counts.sum()
    return counts


class StressSampler:
    """Samples the stress of one graph repeatedly, as needed for a live layout.

    Parameters
    ----------
    records
        The paths, on the host or (for ``"cuda"``) already on the GPU.
    weighting
        Weights of the paths; see `PathStress`.
    """

    def __init__(
        self, records: PathRecords, *, weighting: Weighting = "steps", backend: Backend = "auto"
    ) -> None:
        check_choice("weighting", weighting, WEIGHTINGS)
        xp, self._kernel = array_module(backend), load_kernel("path_stress", backend)
        self._as_array = xp.asarray
        self._weighting = weighting
        self._records = to_device(records.records, backend)
        self._path_starts = xp.asarray(records.path_starts)
        self._block_paths = xp.asarray(records.block_paths)
        self._n_steps = np.diff(to_host(records.path_starts)) - 1
        # For small graphs, these take as long as the terms; both are kept for the next sample.
        self._find_near = cache(partial(find_near, self._n_steps))
        self._make_strata = cache(partial(make_strata, self._n_steps, weighting))

    def sample(
        self, points: np.ndarray, *, n_samples: int, seed: int = 0, has_median: bool = True
    ) -> PathStress:
        """Return the stress of points (float64, (2 n_nodes, 2)) from ``n_samples`` terms."""
        for progress in self.iter_sample(
            points, n_samples=n_samples, seed=seed, has_median=has_median
        ):
            stress = progress.stress
        return stress

    def iter_sample(
        self, points: np.ndarray, *, n_samples: int, seed: int = 0, has_median: bool = True
    ) -> Iterator[StressProgress]:
        """Yield the progress of a sample; the last report has the stress.

        The median needs a second sample, of up to as many terms; without it, it is NaN.
        """
        check_minimum("n_samples", n_samples, 1)
        if len(self._n_steps) == 0:
            nan = math.nan
            none = PathStress(nan, nan, nan, nan, 0, 0, False, self._weighting)
            yield StressProgress(n_samples, n_samples, none)
            return
        points = self._as_array(points)
        if isinstance(points, np.ndarray):
            points = points.view()
            points.flags.writeable = False  # as those of a layout: else the kernels compile twice
        near = self._find_near(n_samples)
        sums = _Sums()
        if near:
            for n_done in self._iter_near(points, near, sums):
                yield StressProgress(n_done, n_samples)
        n_done = sums.n_terms + sums.n_skipped
        strata = self._make_strata(near, n_samples - n_done)
        for number, stratum in enumerate(strata):
            values = np.empty(min(stratum.n_samples, MAX_SHAPED), np.float32)
            for n_here, drawn in self._iter_draw(points, stratum, (seed, number), values):
                if drawn is not None:
                    sums.add_sample(stratum, drawn, values)
                yield StressProgress(n_done + n_here, n_samples)
            n_done += stratum.n_samples
        median = math.nan
        if has_median:
            median = self._sample_median(points, min(n_samples, MEDIAN_SAMPLES), seed)
        stress = sums.summarise(self._weighting, median, is_exact=not strata)
        yield StressProgress(n_samples, n_samples, stress)

    @cached_property
    def _row_weights(self) -> np.ndarray:
        """Weight of the terms of each record; float64."""
        return np.repeat(term_weights(self._n_steps, self._weighting), self._n_steps + 1)

    def _iter_near(self, points: np.ndarray, near: int, sums: _Sums) -> Iterator[int]:
        """Add the terms of all pairs up to a jump; yield the number of terms done."""
        weights = self._row_weights

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
        """Yield the number of samples drawn of a stratum, and finally their sums and term count."""
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
        """Return the median term of an unweighted sample; NaN if there are no terms."""
        longest = max(int(self._n_steps.max()) - 1, 1)
        stratum = self._make_strata(0, 1)[0]
        stratum = replace(stratum, shortest=1, longest=longest, n_samples=n_samples)
        values = np.empty(n_samples, np.float32)
        for _ in self._iter_draw(points, stratum, (seed, _MEDIAN_KEY), values):
            pass
        drawn = values[~np.isnan(values)]
        return float(np.median(drawn)) if len(drawn) else math.nan


class _Sums:
    """Weighted sums of the terms so far; sampled terms represent their stratum."""

    def __init__(self) -> None:
        self.n_terms = self.n_skipped = 0
        self._totals: list[float] = []
        self._weights: list[float] = []
        self._strata: list[StratumMoments] = []

    def add_all(self, weights: np.ndarray, totals: np.ndarray, counts: np.ndarray) -> None:
        """Add the sums of rows whose terms were all taken."""
        self._totals.extend((weights * totals).tolist())
        self._weights.extend((weights * counts[:, 0]).tolist())
        self.n_terms += int(counts[:, 0].sum())
        self.n_skipped += int(counts[:, 1].sum())

    def add_sample(
        self, stratum: Stratum, drawn: tuple[np.ndarray, int], values: np.ndarray
    ) -> None:
        """Add sum, sum of squares and number of the terms drawn from a stratum."""
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
