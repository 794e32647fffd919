"""Coarsened levels of the paths of a graph, and the schedule of sweeps over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, repeat
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.path_records import PathRecords, find_block_paths
from genoviz.analyses.graph.layout.run import learning_rates
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.kernels.path_records import BLOCK_BITS, CLOSING
from genoviz.kernels.path_sweep import LANE_RECORDS, LANES
from genoviz.kernels.splitmix import GOLDEN

STRIP_RECORDS = LANES * LANE_RECORDS
FACTOR = 4
MIN_POINTS = 500
MIN_SPACINGS = 8
VISITS_THAT_TELL = 1 << 20
PASS_JUMPS = (1, 2, 0)


@dataclass(frozen=True)
class MultilevelDesign:
    """Parameters of levels and rounds; other values serve to measure the effect of each part.

    Attributes
    ----------
    max_levels
        Maximum number of levels, including the finest.
    coarsest_jumps, finest_jumps
        Jumps of the sweeps in a round of the coarsest and of the finest level; 0 draws jumps.
    coarse_jumps
        Jumps of the sweeps in rounds of intermediate levels, used in turn.
    rounds_between
        Whether intermediate levels have rounds.
    places_points
        Whether the additional points of a finer level are interpolated between their neighbours.
    noise
        Noise of the interpolated positions, relative to the distance of the neighbours.
    visits
        Approximate number of records per point that a sweep of a coarse level visits, at most.
    """

    max_levels: int = 100
    coarsest_jumps: tuple[int, ...] = (1, 2, 4, 0, 0)
    finest_jumps: tuple[int, ...] = (1, 2)
    coarse_jumps: tuple[tuple[int, ...], ...] = ((1, 2, 0), (1, 0))
    rounds_between: bool = True
    places_points: bool = True
    noise: float = 0.05
    visits: int = 32


WHOLE = MultilevelDesign()


@dataclass(frozen=True, eq=False)
class PathLevel:
    """One level of the paths; `genoviz.kernels.path_views` describes the arrays.

    Attributes
    ----------
    records, path_starts, block_paths
        The kernels' arguments.
    spacing
        Approximate distance between its points along a path, bp.
    has_ends
        Whether the records are steps with both node ends, as in the finest level only.
    """

    records: Any
    path_starts: Any
    block_paths: Any
    spacing: float
    has_ends: bool

    @property
    def paths(self) -> tuple[Any, Any, Any]:
        """The kernels' ``paths`` argument."""
        return self.records, self.path_starts, self.block_paths


def level_spacings(lengths: np.ndarray, n_steps: int) -> list[float]:
    """Return the distance between points along a path for each level, bp, the finest first.

    Parameters
    ----------
    lengths
        int64, shape (n_paths,): length of each path, bp.
    n_steps
        Total number of steps.
    """
    total = float(lengths.sum())
    spacings = [max(total / (2 * n_steps), 1.0)]
    while len(spacings) == 1 or (
        total / (FACTOR * spacings[-1]) > MIN_POINTS
        and lengths.max() / (FACTOR * spacings[-1]) > MIN_SPACINGS
    ):
        spacings.append(FACTOR * spacings[-1])
    return spacings


def path_lengths(records: PathRecords) -> np.ndarray:
    """Return the length of each path; int64, bp."""
    closing = to_host(records.records[records.path_starts[1:] - 1]).astype(np.int64)
    half = closing.shape[1] // 2
    return closing[:, half] | (closing[:, -1] << 32 if half == 2 else 0)


def iter_levels(
    records: PathRecords,
    spacings: Sequence[float],
    n_points: int,
    *,
    n_workers: int,
    backend: Backend = "auto",
) -> Iterator[tuple[list[PathLevel], Any]]:
    """Make the levels of the paths, the finest first; yield after each piece of work.

    The points of each level are about four times as far apart, in bp, as those of the previous one.
    In regions of short alleles most points are dropped; long nodes keep their ends. The first paths
    choose their points before the others, so that paths share as many points as possible.

    Parameters
    ----------
    records
        The steps of the paths, at least one, in the memory of the backend.
    spacings
        Spacings of the levels to make, bp; see `level_spacings`.
    n_points
        Number of node ends of the graph.
    n_workers
        CPU threads; with one, the levels are reproducible.

    Yields
    ------
    levels
        Levels so far; level 0 has all points.
    levels of points
        int8, shape (n_points,), in the memory of the backend: the coarsest level that has each
        point. The same array is updated each time.
    """
    xp, kernel = array_module(backend), load_kernel("path_views", backend)
    of_points = xp.zeros(n_points, np.int8)
    level = PathLevel(*records.paths, spacings[0], has_ends=True)
    levels = [level]
    yield levels, of_points
    for number, spacing in enumerate(spacings[1:], 1):
        n_blocks, at_once = len(level.block_paths), kernel.BLOCKS_AT_ONCE
        view = level.paths, level.has_ends
        n_first = int(level.path_starts[1]) >> BLOCK_BITS
        for first, stop in _batches(n_blocks, at_once, n_first):
            kernel.choose(*view, spacing, of_points, number, first, stop, n_workers)
            yield levels, of_points
        blocks = [(first, min(first + at_once, n_blocks)) for first in range(0, n_blocks, at_once)]
        counts = xp.empty(n_blocks, np.int64)
        for first, stop in blocks:
            kernel.count(
                level.records, level.has_ends, of_points, number, counts, first, stop, n_workers
            )
            yield levels, of_points
        offsets = xp.cumsum(counts) - counts
        found = xp.empty((int(counts.sum()), level.records.shape[1]), np.uint32)
        found_starts = xp.zeros(len(level.path_starts), np.int64)
        for first, stop in blocks:
            kernel.fill(
                found, found_starts, *view, of_points, number, offsets, first, stop, n_workers
            )
            yield levels, of_points
        block_paths = find_block_paths(found_starts, len(found), xp)
        level = PathLevel(found, found_starts, block_paths, spacing, has_ends=False)
        levels.append(level)
        yield levels, of_points


def evenness(level: PathLevel, n_points: int, n_all: int, backend: Backend = "auto") -> int:
    """Return the effective number of points with respect to repeated visits.

    It is 1 / sum(p^2), with p the share of visits of a point (the inverse Simpson index), estimated
    from about a million visits, and at most ``n_points``. If paths loop, a few points have most of
    the visits, and threads collide there.

    Parameters
    ----------
    n_points, n_all
        Number of points of the level, and of all levels.
    """
    stride = len(level.records) // VISITS_THAT_TELL + 1
    xp = array_module(backend)
    n_visits, totals = xp.zeros(n_all, np.int32), xp.zeros(2, np.int64)
    kernel = load_kernel("path_views", backend)
    kernel.count_visits(level.records, level.has_ends, stride, n_visits, totals)
    n, n_pairs = to_host(totals).tolist()
    twice = 2 * n_pairs
    return n_points if twice * n_points <= n * (n - 1) else n * (n - 1) // twice


def order_strips(records: Any, points: Any, n_parts: int, backend: Backend) -> Any:
    """Return the sweep order of strips of records, grouped by region of the layout.

    The layout is cut across its longer side into parts with equally many strips; within a part,
    strips are in path order. Points that move at the same time therefore fit into a cache.

    Parameters
    ----------
    records
        The records of a level.
    points
        float64, shape (n_points, 2), bp, in the memory of the level.

    Returns
    -------
    numbers
        int32, shape (n_strips,); strip k begins at record 512 k.
    """
    xp, n_records = array_module(backend), len(records)
    n_strips = -(-n_records // STRIP_RECORDS)
    if n_parts <= 1:
        return xp.arange(n_strips, dtype=np.int32)
    middles = xp.arange(n_strips) * STRIP_RECORDS + STRIP_RECORDS // 2
    middles = xp.minimum(middles, n_records - 1)
    middles -= records[middles, 0] == CLOSING
    # Row-wise, because CuPy reduces a long column with few threads.
    axes = xp.ascontiguousarray(points[records[middles, 0]].T)
    longer = max(axes, key=lambda axis: float(xp.ptp(axis)))
    # As order-preserving integers, which a GPU radix-sorts.
    bits = longer.view(np.int64)
    bits ^= (bits >> 63) & np.int64(2**63 - 1)
    parts = xp.empty(n_strips, np.int32)
    parts[xp.argsort(bits)] = ((xp.arange(n_strips) + 1) * n_parts - 1) // n_strips
    return xp.argsort(parts, kind="stable").astype(np.int32)


def _batches(n_blocks: int, at_once: int, n_first: int) -> Iterator[tuple[int, int]]:
    """Yield which blocks choose concurrently: those of the first path, then growing batches.

    A batch has as many blocks as have chosen before it, up to a limit.
    """
    first = 0
    while first < n_blocks:
        stop = min(first + min(max(first, n_first, 1), at_once), n_blocks)
        yield first, stop
        first = stop


@dataclass(frozen=True)
class Round:
    """Sweeps over one level with one learning rate.

    Attributes
    ----------
    level
        Level number; 0 is the finest.
    eta
        Learning rate, bp.
    jumps
        Jump of each sweep; 0 if each record draws one.
    """

    level: int
    eta: float
    jumps: tuple[int, ...]


def plan_rounds(
    spacings: Sequence[float],
    longest_bp: float,
    n_rounds: int,
    eps: float,
    design: MultilevelDesign = WHOLE,
) -> list[Round]:
    """Return all rounds of a multilevel layout.

    Parameters
    ----------
    spacings
        Distance between points of each level, bp; the finest first.
    longest_bp
        Length of the longest path.
    n_rounds, eps, design
        See `MultilevelOptions`.
    """
    coarsest = len(spacings) - 1
    rounds = []
    for level in range(coarsest, -1, -1):
        if not design.rounds_between and 0 < level < coarsest:
            continue
        if level == coarsest:
            turns, n, eta_max = (design.coarsest_jumps,), round(2.5 * n_rounds), 4.0 * longest_bp
        else:
            turns, n = design.coarse_jumps, max(n_rounds // 2, 1)
            eta_max = 0.5 * spacings[level + 1]
        eta_min = 0.2 * spacings[level]
        if level == 0:
            turns, n, eta_min = (design.finest_jumps,), n_rounds, eps
        etas = learning_rates(n, eta_max=max(eta_max, eta_min), eps=eta_min)
        rounds += map(Round, repeat(level), etas.tolist(), cycle(turns))
    return rounds


def plan_pass(spacing: float, n_rounds: int, eps: float) -> list[Round]:
    """Return the rounds of an extra pass over all steps, twice as many as the finest level has.

    They include drawn jumps; without these, each pass would deform loops towards near distances.

    Parameters
    ----------
    spacing
        Of the finest level, bp.
    n_rounds, eps
        See `MultilevelOptions`.
    """
    eta_max = max(0.5 * FACTOR * spacing, eps)
    etas = learning_rates(2 * n_rounds, eta_max=eta_max, eps=eps)
    return [Round(0, float(eta), PASS_JUMPS) for eta in etas]


def draw_sweep_seeds(seed: int, first_round: int, n_sweeps: Sequence[int]) -> np.ndarray:
    """Return a seed for each sweep of the rounds, in order; uint64.

    Each depends only on the run's seed, the round number and the sweep number (SplitMix64), not on
    how many rounds are requested at once. Hundreds take microseconds.

    Parameters
    ----------
    seed
        Seed of the run.
    first_round
        Number of the first round.
    n_sweeps
        Number of sweeps of each round, below 256.
    """
    places = [
        (first_round + k << 8) + 1 + np.arange(n, dtype=np.uint64) for k, n in enumerate(n_sweeps)
    ]
    (base,) = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    bits = np.concatenate(places).astype(np.uint64) * GOLDEN + base
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
