"""Layout quality: exact and sampled path stress."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.analyses.graph.layout.stress_results import (
    WEIGHTINGS,
    PathStress,
    StressProgress,
    Weighting,
)
from genoviz.analyses.graph.layout.stress_sampler import FIRST_PAIRS, StressSampler, term_weights
from genoviz.backend import Backend, load_kernel, to_device
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.generators import iter_slices, last_of
from genoviz.model import GraphLayout, PangenomeGraph

SAMPLES_PER_STEP = 100
MAX_DEFAULT_SAMPLES = 10**8


def path_stress(graph: PangenomeGraph, layout: GraphLayout, **options: Any) -> PathStress:
    """Return the exact path stress: the mean over all pairs of steps of all paths and all ends.

    The work is quadratic in the number of steps of a path, at about 2e8 terms per second on a CPU
    core. For paths with more than some 1e5 steps, use `sampled_path_stress`.

    Parameters
    ----------
    graph, layout
        A graph and its layout.
    options
        ``weighting`` and ``backend``; see `iter_path_stress`.

    Raises
    ------
    ParameterError
        If layout and graph differ in their number of nodes, or the weighting is unknown.

    References
    ----------
    Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
    """
    return last_of(iter_path_stress(graph, layout, **options)).stress


def count_pairs(graph: PangenomeGraph) -> int:
    """Return the number of pairs of steps of all paths."""
    counts = np.diff(graph.path_offsets).astype(object)  # Python integers do not overflow
    return int((counts * (counts - 1) // 2).sum())


def link_stress(
    graph: PangenomeGraph, layout: GraphLayout, *, backend: Backend = "auto"
) -> PathStress:
    """Return the exact path stress of all links, each as a path of two steps.

    It measures how well neighbours are placed, independent of the paths. A link counts once, also
    if the graph lists it in both directions. Self-loops are skipped, because the two ends of a node
    cannot coincide.

    Raises
    ------
    ParameterError
        If layout and graph differ in their number of nodes.
    """
    edges = graph.links[graph.links[:, 0] >> 1 != graph.links[:, 1] >> 1]
    links = replace(
        graph,
        edges=edges,
        path_names=("",) * len(edges),
        path_offsets=np.arange(len(edges) + 1) * 2,
        steps=edges.reshape(-1),
        walks=None,
        link_tags=None,
    )
    return path_stress(links, layout, backend=backend)


def iter_path_stress(
    graph: PangenomeGraph,
    layout: GraphLayout,
    *,
    weighting: Weighting = "pairs",
    backend: Backend = "auto",
) -> Iterator[StressProgress]:
    """Yield the progress of the exact path stress; the last report has it. See `path_stress`.

    Parameters
    ----------
    weighting
        ``"pairs"``: all terms have equal weight, as in the paper's exact stress. ``"steps"``: a
        path has weight by its steps, as in the paper's sampled stress.
    """
    check_layout(graph, layout)
    check_choice("weighting", weighting, WEIGHTINGS)
    records = build_path_records(graph)
    kernel = load_kernel("path_stress", backend)
    arrays = [
        to_device(array, backend)
        for array in (layout.points, records.records, records.path_starts, records.block_paths)
    ]
    rows = _RowsOfPairs(records.path_starts)
    n_records = np.diff(records.path_starts)
    row_weights = np.repeat(term_weights(n_records - 1, weighting), n_records)
    totals, weight, n_terms, n_skipped = [], [], 0, 0

    def run(first: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sums = kernel.sum_all_pairs(*arrays, rows.of(first), rows.of(stop), rows.longest)
        return (row_weights[rows.of(first) : rows.of(stop)], *sums)

    for n_done, (weights, sums, counts) in iter_slices(run, rows.n_pairs, first_size=FIRST_PAIRS):
        totals.append(weights * sums)
        weight.append(weights * counts[:, 0])
        n_terms += int(counts[:, 0].sum())
        n_skipped += int(counts[:, 1].sum())
        if n_done < rows.n_pairs:
            yield StressProgress(n_done, rows.n_pairs)
    mean = math.nan
    if n_terms:
        mean = math.fsum(chain.from_iterable(totals)) / math.fsum(chain.from_iterable(weight))
    stress = PathStress(mean, mean, mean, math.nan, n_terms, n_skipped, True, weighting)
    yield StressProgress(rows.n_pairs, rows.n_pairs, stress)


class _RowsOfPairs:
    """Maps a pair number to its row, with the pairs of all rows numbered consecutively.

    A row pairs a record with itself and all later records of its path.
    """

    def __init__(self, path_starts: np.ndarray) -> None:
        self._path_starts = path_starts
        n_records = np.diff(path_starts)
        self._first_pairs = np.concatenate(([0], np.cumsum(n_records * (n_records + 1) // 2)))
        self.n_pairs = int(self._first_pairs[-1])
        self.longest = int(n_records.max(initial=0))

    def of(self, pair: int) -> int:
        """Return the row of a pair; the number of rows for the end."""
        path = int(np.searchsorted(self._first_pairs, pair, side="right")) - 1
        first = int(self._path_starts[path])
        if path == len(self._path_starts) - 1:
            return first
        n_records = int(self._path_starts[path + 1]) - first
        # The rows from row i on have (n - i)(n - i + 1) / 2 pairs.
        n_left = int(self._first_pairs[path + 1]) - pair
        n_rows_left = (math.isqrt(8 * n_left - 7) + 1) // 2
        return first + n_records - n_rows_left


def sampled_path_stress(graph: PangenomeGraph, layout: GraphLayout, **options: Any) -> PathStress:
    """Return the path stress of a random sample of terms, with its 95 % confidence interval.

    Terms of near steps are few and can be huge, so they are all taken or oversampled, with weights
    that correct for it; see `genoviz.analyses.graph.layout.stress_sampler`. If there are at most
    as many terms as samples, all are taken. Both backends draw the same terms for the same seed.

    Parameters
    ----------
    graph, layout
        A graph and its layout.
    options
        ``n_samples`` or ``samples_per_step``, ``weighting``, ``seed`` and ``backend``; see
        `iter_sampled_path_stress`.

    Raises
    ------
    ParameterError
        If layout and graph differ in their number of nodes, ``n_samples`` is below 1 or combined
        with ``samples_per_step``, or the weighting is unknown.

    References
    ----------
    Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035.
    """
    return last_of(iter_sampled_path_stress(graph, layout, **options)).stress


def iter_sampled_path_stress(
    graph: PangenomeGraph,
    layout: GraphLayout,
    *,
    n_samples: int | None = None,
    samples_per_step: float | None = None,
    weighting: Weighting = "steps",
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[StressProgress]:
    """Yield the progress of a sampled path stress; the last has it. See `sampled_path_stress`.

    Parameters
    ----------
    n_samples
        Number of terms to draw; by default 100 per step, at most 10^8.
    samples_per_step
        Instead of ``n_samples``: number of terms per step, without a maximum. The paper uses 100.
    weighting
        ``"steps"``: a path has weight by its steps, as in the paper's sampled stress. ``"pairs"``:
        all terms have equal weight, as in the paper's exact stress.
    seed
        Random seed of the sample.
    """
    check_layout(graph, layout)
    n_samples = _count_samples(graph, n_samples, samples_per_step)
    sampler = StressSampler(build_path_records(graph), weighting=weighting, backend=backend)
    yield from sampler.iter_sample(layout.points, n_samples=n_samples, seed=seed)


def _count_samples(
    graph: PangenomeGraph, n_samples: int | None, samples_per_step: float | None
) -> int:
    if samples_per_step is not None:
        if n_samples is not None:
            raise ParameterError("n_samples and samples_per_step are both given, needs one of them")
        if not 0 < samples_per_step <= 10**9:
            raise ParameterError(
                f"samples_per_step is {samples_per_step}, needs to be above 0 and at most 10^9"
            )
        return max(round(samples_per_step * graph.n_steps), 1)
    if n_samples is not None:
        return n_samples
    return min(max(SAMPLES_PER_STEP * graph.n_steps, 1), MAX_DEFAULT_SAMPLES)


def check_layout(graph: PangenomeGraph, layout: GraphLayout) -> None:
    """Raise ``ParameterError`` unless a layout has as many nodes as the graph."""
    if layout.n_nodes != graph.n_nodes:
        raise ParameterError(
            f"the layout has {n_words(layout.n_nodes, 'node')} and the graph {graph.n_nodes:,}; "
            "they need to be of the same graph"
        )
