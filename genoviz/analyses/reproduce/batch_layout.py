"""Path-guided SGD in whole-array operations: how batches trade quality for speed.

All updates of a batch read the coordinates from before the batch, so array code (NumPy, or CuPy on
a GPU) can compute them at once. The larger the batch, the staler these coordinates. A point that
several updates of a batch move is moved by only one of them (``"overwrite"``), or by all of them,
which is too far (``"add"``). The kernels in ``genoviz.kernels.path_sgd`` have no such batches.

References
----------
Li et al. 2024, Rapid GPU-based pangenome graph layout, doi:10.1109/SC41406.2024.00035 (a PyTorch
version with batches); Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (the algorithm).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from genoviz.analyses.graph.layout.options import (
    ZipfTables,
    zipf_tables,
)
from genoviz.analyses.graph.layout.path_records import initial_coordinates
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.run import check_range, learning_rates
from genoviz.analyses.reproduce.figures import Measured, Point, RunOptions
from genoviz.analyses.reproduce.layouts import (
    SAMPLED_NOTE,
    best_stress,
    describe_graph,
    report_layout,
)
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import array_module, to_host
from genoviz.errors import ParameterError
from genoviz.generators import Progress, last_of
from genoviz.kernels.path_sgd import ZETA_STEP
from genoviz.model import GraphLayout, PangenomeGraph

THETA = 0.99
EPS = 0.1
JOINT = 1e-9
DIVERGED = 1e6
Collisions = Literal["overwrite", "add"]


@dataclass(frozen=True)
class _Steps:
    """The steps of all paths with two steps or more, as NumPy or CuPy arrays.

    ``handles`` (int64); ``positions`` (bp: int64, (n_steps, 2)) of a step's first base and past its
    last; ``first`` and ``n`` (int64): first step and number of steps of a step's path.
    """

    handles: Any
    positions: Any
    first: Any
    n: Any
    longest: int


def batch_path_sgd_layout(
    graph: PangenomeGraph,
    *,
    batch_size: int,
    n_iterations: int = 30,
    updates_per_step: float = 10.0,
    collisions: Collisions = "overwrite",
    seed: int = 0,
    xp: ModuleType = np,
) -> GraphLayout:
    """Return the layout from path-guided SGD in batches of ``batch_size`` updates.

    Parameters
    ----------
    batch_size
        Updates computed at once; batches do not extend beyond an iteration.
    n_iterations, updates_per_step
        Number of iterations, and updates per iteration and step of the paths.
    collisions
        How to move a point that several updates of a batch move: ``"overwrite"`` keeps one of the
        moves, ``"add"`` adds all of them.
    seed
        Seed of all random numbers. The same seed gives the same bits with NumPy.
    xp
        The array module: ``numpy`` or ``cupy``.

    Raises
    ------
    ParameterError
        If an option is out of range, or no path has two steps.
    """
    steps = _iter_batch_layout(
        graph, batch_size, n_iterations, updates_per_step, collisions, seed, xp
    )
    return last_of(steps).result


def _iter_batch_layout(
    graph: PangenomeGraph,
    batch_size: int,
    n_iterations: int,
    updates_per_step: float,
    collisions: Collisions,
    seed: int,
    xp: ModuleType,
) -> Iterator[Progress]:
    """Yield after each iteration; the last item has the layout."""
    check_range("batch_size", batch_size, 1, 2**31 - 1)
    check_range("n_iterations", n_iterations, 1, 10**6)
    if collisions not in ("overwrite", "add"):
        raise ParameterError(f"collisions is {collisions!r}, needs 'overwrite' or 'add'")
    steps = _prepare_steps(graph, xp)
    tables = zipf_tables(THETA, steps.longest)
    tables = ZipfTables(xp.asarray(tables.zeta), xp.asarray(tables.zipf_factor), tables.exact_space)
    points = xp.asarray(initial_coordinates(graph, "d", seed=seed).reshape(-1, 2))
    random = xp.random.default_rng(seed)
    n_updates = max(round(updates_per_step * len(steps.handles)), 1)
    etas = learning_rates(n_iterations, eta_max=float(steps.longest) ** 2, eps=EPS)
    for iteration, eta in enumerate(etas.tolist()):
        is_cooling = iteration >= n_iterations // 2
        for n_done in range(0, n_updates, batch_size):
            n = min(batch_size, n_updates - n_done)
            a, b = _draw_pairs(steps, tables, n, is_cooling, random, xp)
            with np.errstate(all="ignore"):  # large batches may diverge
                _move_points(points, steps, a, b, eta, collisions, random, xp)
        is_last = iteration == n_iterations - 1
        layout = GraphLayout(to_host(points).reshape(-1, 2, 2)) if is_last else None
        yield Progress("a layout in batches", (iteration + 1) / n_iterations, layout)


def _prepare_steps(graph: PangenomeGraph, xp: ModuleType) -> _Steps:
    counts = np.diff(graph.path_offsets)
    n = np.repeat(counts, counts)
    used = n >= 2
    if not used.any():
        raise ParameterError("the graph has no path of two steps or more, which could guide it")
    handles = graph.steps[used].astype(np.int64)
    starts = graph.step_positions[used]
    counts = counts[counts >= 2]
    first = np.repeat(np.cumsum(counts) - counts, counts)
    ends = starts + graph.node_lengths[handles >> 1]
    arrays = (handles, np.stack([starts, ends], axis=1), first, n[used])
    return _Steps(*map(xp.asarray, arrays), longest=int(counts.max()))


def _draw_pairs(
    steps: _Steps, tables: ZipfTables, n: int, is_cooling: bool, random: Any, xp: ModuleType
) -> tuple[Any, Any]:
    """Return the two steps of each of ``n`` updates."""
    a = (random.random(n) * len(steps.handles)).astype(np.int64)
    n_before = a - steps.first[a]
    n_after = steps.n[a] - 1 - n_before
    is_forward = (n_before == 0) | ((n_after > 0) & (random.random(n) < 0.5))
    jump = _draw_zipf(tables, xp.where(is_forward, n_after, n_before), random, xp)
    b = xp.where(is_forward, a + jump, a - jump)
    if is_cooling:
        return a, b
    # Uniform over the other steps of the path.
    other = steps.first[a] + (random.random(n) * (steps.n[a] - 1)).astype(np.int64)
    other += other >= a
    return a, xp.where(random.random(n) < 0.5, b, other)


def _draw_zipf(tables: ZipfTables, n: Any, random: Any, xp: ModuleType) -> Any:
    """Return a jump of 1 to ``n`` steps for each ``n``, by the method of Gray et al."""
    above = tables.exact_space + (n - tables.exact_space) // ZETA_STEP + 1
    index = xp.where(n <= tables.exact_space, n, above)
    unit = random.random(len(n))
    scaled = unit * tables.zeta[index]
    factor = tables.zipf_factor[index]
    jump = 1 + (n * (factor * unit - factor + 1.0) ** (1.0 / (1.0 - THETA))).astype(np.int64)
    jump = xp.where(scaled < 1.0, 1, xp.where(scaled < 1.0 + 0.5**THETA, 2, jump))
    return xp.minimum(jump, n)


def _move_points(
    points: Any,
    steps: _Steps,
    a: Any,
    b: Any,
    eta: float,
    collisions: Collisions,
    random: Any,
    xp: ModuleType,
) -> None:
    """Move one end of each step ``a`` and ``b`` towards their distance along the path."""
    end_a, end_b = ((random.random(len(a)) < 0.5).astype(np.int64) for _ in range(2))
    i, j = steps.handles[a] ^ end_a, steps.handles[b] ^ end_b
    distance = abs(steps.positions[a, end_a] - steps.positions[b, end_b])
    distance = xp.maximum(distance.astype(np.float64), JOINT)
    apart = points[i] - points[j]
    apart[:, 0] = xp.where(apart[:, 0] == 0.0, JOINT, apart[:, 0])
    length = xp.sqrt((apart**2).sum(axis=1))
    share = xp.minimum(eta / distance, 1.0) * 0.5 * (1.0 - distance / length)
    move = apart * share[:, None]
    if collisions == "add":
        xp.add.at(points, i, -move)
        xp.add.at(points, j, move)
    else:
        moved_a, moved_b = points[i] - move, points[j] + move
        points[i] = moved_a
        points[j] = moved_b


def measure_batches(options: RunOptions) -> Generator[Progress, None, Measured]:
    """Measure the stress of layouts in batches, whose updates read outdated coordinates."""
    sizes: Sequence[int]
    if options.graph is None:
        graph = simulate_pangenome(*((300, 3) if options.small else (5_000, 12)), seed=options.seed)
    else:
        graph = options.graph
    if not options.small:
        sizes = (10**3, 10**4, 10**5, 10**6)
    elif options.graph is None:
        sizes = (300, 3_000, 30_000)
    else:  # from a tenth of the steps; smaller batches are slow
        middle = round(math.log10(max(graph.n_steps, 10)))
        sizes = [10 ** (middle + power) for power in (-1, 0, 1)]
    backend = options.backends[-1]
    cases = [(size, collisions) for size in sizes for collisions in get_args(Collisions)]
    points = []
    for n, (size, collisions) in enumerate(cases):
        for progress in _iter_batch_layout(
            graph, size, 30, 10.0, collisions, options.seed, array_module(backend)
        ):
            yield Progress("layouts in batches", (n + progress.fraction) / (len(cases) + 1))
        with np.errstate(all="ignore"):
            stress = best_stress(graph, progress.result).mean
        if stress < DIVERGED:
            words = "one move a point" if collisions == "overwrite" else "all moves added"
            points.append(Point(words, size, stress, f"batches of {size:,}"))
    steps = iter_path_sgd_layout(graph, window=1, seed=options.seed, backend=backend)
    last = yield from report_layout(
        steps, "one update after the other", len(cases) / (len(cases) + 1)
    )
    best = best_stress(graph, last.layout)
    points += [Point("one update after the other", size, best.mean) for size in sizes]
    kind = "" if best.is_exact else SAMPLED_NOTE
    note = (
        f"The graph has {describe_graph(graph)}. A batch whose layout diverges has no point.{kind}"
    )
    return Measured(tuple(points), note)
