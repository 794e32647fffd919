"""Coarser and coarser views of the paths of a graph, and the rounds of sweeps over them."""

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
class Design:
    """What views and rounds are made of; other values than these show what each part is for.

    Attributes
    ----------
    max_levels
        Views at most, with the finest.
    coarsest_jumps, finest_jumps
        Sweeps of a round of the coarsest view and of the finest; 0 draws jumps.
    coarse_jumps
        Sweeps of a round of the views between; their rounds have these in turns.
    rounds_between
        Whether the views between the coarsest and the finest have rounds.
    places_points
        Whether points that a finer view has more are put between their neighbours.
    noise
        How far off the line they are put, of their neighbours' distance.
    visits
        A sweep of a coarse view goes over about so many records for each point, if it has more.
    """

    max_levels: int = 100
    coarsest_jumps: tuple[int, ...] = (1, 2, 4, 0, 0)
    finest_jumps: tuple[int, ...] = (1, 2)
    coarse_jumps: tuple[tuple[int, ...], ...] = ((1, 2, 0), (1, 0))
    rounds_between: bool = True
    places_points: bool = True
    noise: float = 0.05
    visits: int = 32


WHOLE = Design()


@dataclass(frozen=True, eq=False)
class PathLevel:
    """One view of the paths; `genoviz.kernels.path_views` describes the arrays.

    Attributes
    ----------
    records, path_starts, block_paths
        The kernels' arguments.
    spacing
        How far apart its points lie on a path, about, bp.
    has_ends
        Whether the records are steps, with both ends of their nodes, as only the finest level's.
    """

    records: Any
    path_starts: Any
    block_paths: Any
    spacing: float
    has_ends: bool

    @property
    def paths(self) -> tuple[Any, Any, Any]:
        """The kernels' argument of this name."""
        return self.records, self.path_starts, self.block_paths


def level_spacings(lengths: np.ndarray, n_steps: int) -> list[float]:
    """Return how far apart the points of each level lie on a path, bp; of the finest first.

    Parameters
    ----------
    lengths
        int64, shape (n_paths,): of each path, bp.
    n_steps
        Steps of all of them.
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
    """Make the views of the paths, the finest first; yield after each piece of the work.

    Each level has points about four times as far apart as the one before, in bp: where alleles
    are short, most points are left out; long nodes keep their ends. The first paths choose theirs
    before the others, so that alleles share what they can.

    Parameters
    ----------
    records
        The steps of the paths, at least one, where the backend has its arrays.
    spacings
        Of the levels to make, bp; see `level_spacings`.
    n_points
        Node ends of the graph.
    n_workers
        Threads of the CPU; one alone gives the same levels each time.

    Yields
    ------
    levels
        So far; level 0 has all points.
    levels of points
        int8, shape (n_points,), where the backend has its arrays: the coarsest level that has a
        point. The same array each time; it changes.
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


def evenness(level: PathLevel, n_points: int, backend: Backend = "auto") -> int:
    """Return how many points, if all were visited alike, would be met twice as often as these.

    It is 1 / sum(p^2), p a point's share of the visits (the inverse of Simpson's index), estimated
    from some million visits, and at most ``n_points``. Where paths loop, a few points have most of
    the visits, and threads meet there.
    """
    stride = len(level.records) // VISITS_THAT_TELL + 1
    points = level.records[::stride, 0]
    points = points[points != CLOSING]
    if level.has_ends:
        points = points >> 1
    # Sorted, as counters for all points of a graph would take longer than these visits.
    xp = array_module(backend)
    points = xp.sort(points)
    ends = xp.flatnonzero(points[1:] != points[:-1])
    counts = xp.diff(ends, prepend=-1, append=len(points) - 1).astype(np.float64)
    n = len(points)
    twice = float((counts * (counts - 1.0)).sum())
    return n_points if twice * n_points <= n * (n - 1.0) else int(n * (n - 1.0) / twice)


def order_strips(records: Any, points: Any, n_parts: int, backend: Backend) -> Any:
    """Return in which order strips of records are swept: part by part of the layout.

    The layout is cut across its longer side into parts with as many strips each; in a part they
    are in the order of the paths. So what moves at the same time fits into a cache.

    Parameters
    ----------
    records
        Of a level.
    points
        float64, shape (n_points, 2), bp, where the level's lie.

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
    # Along rows: CuPy goes through a long column with few threads.
    axes = xp.ascontiguousarray(points[records[middles, 0]].T)
    longer = max(axes, key=lambda axis: float(xp.ptp(axis)))
    # As integers in the order of the numbers, which a GPU sorts digit by digit.
    bits = longer.view(np.int64)
    bits ^= (bits >> 63) & np.int64(2**63 - 1)
    parts = xp.empty(n_strips, np.int32)
    parts[xp.argsort(bits)] = ((xp.arange(n_strips) + 1) * n_parts - 1) // n_strips
    return xp.argsort(parts, kind="stable").astype(np.int32)


def _batches(n_blocks: int, at_once: int, n_first: int) -> Iterator[tuple[int, int]]:
    """Yield which blocks choose at the same time: those of the first path, then ever more.

    Each batch has as many blocks as have chosen before it, up to a limit.
    """
    first = 0
    while first < n_blocks:
        stop = min(first + min(max(first, n_first, 1), at_once), n_blocks)
        yield first, stop
        first = stop


@dataclass(frozen=True)
class Round:
    """Sweeps over one view of the paths with one learning rate.

    Attributes
    ----------
    level
        Of the view; 0 is the finest.
    eta
        Learning rate, bp.
    jumps
        That of each sweep; 0 where each record draws one.
    """

    level: int
    eta: float
    jumps: tuple[int, ...]


def plan_rounds(
    spacings: Sequence[float],
    longest_bp: float,
    n_rounds: int,
    eps: float,
    design: Design = WHOLE,
) -> list[Round]:
    """Return all rounds of a layout from coarse to fine.

    Parameters
    ----------
    spacings
        How far apart the points of each level lie, bp; of the finest first.
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
    """Return the rounds of one more pass over all steps, twice as many as the finest view had.

    They have a drawn jump too: without, each pass would move loops towards what near steps want.

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
    """Return a seed for each sweep of rounds; uint64, in their order.

    It depends on the run's seed, the round's number and the sweep's alone (SplitMix64): how many
    rounds are requested at once makes no difference, and hundreds take microseconds.

    Parameters
    ----------
    seed
        Of the run.
    first_round
        Number of the first of the rounds.
    n_sweeps
        How many sweeps each has, fewer than 256.
    """
    places = [
        (first_round + k << 8) + 1 + np.arange(n, dtype=np.uint64) for k, n in enumerate(n_sweeps)
    ]
    (base,) = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    bits = np.concatenate(places).astype(np.uint64) * GOLDEN + base
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
