"""How good a layout is: exact and sampled path stress."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.path_records import PathRecords, build_path_records
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout, PangenomeGraph

SAMPLES_PER_STEP = 100
MAX_DEFAULT_SAMPLES = 10**8
MEDIAN_SAMPLES = 10**6
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
    _check_layout(graph, layout)
    records = build_path_records(graph)
    kernel = load_kernel("path_stress", backend)
    totals, counts = kernel.sum_all_pairs(
        layout.points, records.records, records.path_starts, records.block_paths
    )
    n_terms, n_skipped = counts.sum(axis=0).tolist()
    mean = math.fsum(totals) / n_terms if n_terms else math.nan
    return PathStress(mean, mean, mean, math.nan, n_terms, n_skipped, is_exact=True)


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
    _check_layout(graph, layout)
    if n_samples is None:
        n_samples = min(max(SAMPLES_PER_STEP * graph.n_steps, 1), MAX_DEFAULT_SAMPLES)
    sampler = StressSampler(build_path_records(graph), backend=backend)
    return sampler.sample(layout.points, n_samples=n_samples, seed=seed)


class StressSampler:
    """Draws stress terms of one graph again and again, as a live layout needs it.

    Parameters
    ----------
    records
        The paths, on the host or (for ``"cuda"``) already on the GPU.
    """

    def __init__(self, records: PathRecords, *, backend: Backend = "auto") -> None:
        self._records = records
        self._kernel = load_kernel("path_stress", backend)

    def sample(self, points: np.ndarray, *, n_samples: int, seed: int = 0) -> PathStress:
        """Return the stress of points (float64, (2 n_nodes, 2)) from ``n_samples`` terms."""
        if n_samples < 1:
            raise ParameterError(f"n_samples is {n_samples}, needs at least 1")
        if self._records.n_steps == 0:
            return PathStress(math.nan, math.nan, math.nan, math.nan, 0, 0, is_exact=False)
        values = np.empty(min(n_samples, MEDIAN_SAMPLES), np.float32)
        sums, counts = self._kernel.sum_samples(
            points,
            self._records.records,
            self._records.path_starts,
            self._records.block_paths,
            n_samples,
            np.uint64(seed % 2**64),
            values,
        )
        return _summarise(sums, int(counts.sum()), n_samples, values)


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
