"""Multilevel graph layout, from coarse to fine, by sweeps over the paths."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.levels import (
    STRIP_RECORDS,
    WHOLE,
    MultilevelDesign,
    PathLevel,
    Round,
    draw_sweep_seeds,
    evenness,
    iter_levels,
    level_spacings,
    order_strips,
    path_lengths,
    plan_pass,
    plan_rounds,
)
from genoviz.analyses.graph.layout.near_stress import count_torn
from genoviz.analyses.graph.layout.path_records import Devices, PathRecords
from genoviz.analyses.graph.layout.run import (
    LayoutRun,
    LayoutSnapshot,
    check_range,
    first_coordinates,
    iter_run,
)
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.layout.stress_sampler import StressSampler
from genoviz.backend import Backend, load_kernel
from genoviz.generators import last_of
from genoviz.model import GraphLayout, PangenomeGraph

MIN_SLICE = STRIP_RECORDS
"""Slices are multiples of this many records."""
FIRST_SLICE_RECORDS = 400 * MIN_SLICE
"""Records of the first slice; the time that it took decides on the next."""
QUICK_RECORDS = 1_000_000
"""A graph with fewer, on all levels, is shown after each round."""
SAMPLING_SHARE, QUICK_SHARE = 0.2, 1.0
"""Most time for samples of the stress, relative to the layout's, of a large and of a quick graph.

A sample takes longer than a round of a small graph: sampled after each round, MHC_4 took five times
as long as without.
"""
QUICK_SECONDS = 0.1
"""Samples of a quick graph may take as long as this in any case, evenly spread over the rounds."""
QUALITIES = {
    "draft": {"n_rounds": 6},
    "normal": {"n_rounds": 12},
    "converged": {"n_rounds": 12, "max_passes": 10},
}
"""Options by name."""
ESTIMATE_PER_STEP, MAX_ESTIMATE = 20, 10**7
"""Terms of the stress that is compared between passes, for each step and at most."""
MIN_FALL, MIN_TORN = 0.01, 10
"""Passes go on while the stress falls by this share, or the torn joints by more than these few."""

Links = tuple[Any, ...]
"""``links`` and ``shares`` of `genoviz.kernels.path_views`, then ``followers`` of each view."""


@dataclass(frozen=True)
class MultilevelOptions:
    """Options of a multilevel layout.

    Attributes
    ----------
    n_rounds
        Rounds of sweeps over all steps, each with its own learning rate. The coarsest level has
        two and a half times as many, intermediate levels half as many. With 6 rounds the stress is
        about that of path-guided SGD; `QUALITIES` has named presets.
    max_passes
        Maximum number of extra passes over all steps, each of twice ``n_rounds`` rounds. They stop
        when the sampled stress falls by less than 1 % and the torn joints by less than a tenth (or
        ten). A pass that raises the stress is undone.
    eps
        Learning rate of the last round, bp.
    initialisation
        Initial positions of the points of the coarsest level; see `initial_coordinates`.
    seed
        Random seed. The same seed on one CPU thread gives the same bits.
    n_threads
        CPU threads; all by default.
    design
        Parameters of the levels and rounds.
    """

    n_rounds: int = QUALITIES["normal"]["n_rounds"]
    max_passes: int = 0
    eps: float = 0.1
    initialisation: str = "d"
    seed: int = 0
    n_threads: int | None = None
    design: MultilevelDesign = WHOLE

    def __post_init__(self) -> None:
        check_range("n_rounds", self.n_rounds, 2, 10**6)
        check_range("max_passes", self.max_passes, 0, 10**6)
        check_range("eps", self.eps, 1e-12, 1e18)
        check_range("seed", self.seed, 0, 2**63 - 1)
        if self.n_threads is not None:
            check_range("n_threads", self.n_threads, 1, 4096)


def multilevel_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    devices: Sequence[int] | None = None,
    backend: Backend = "auto",
    **options: Any,
) -> GraphLayout:
    """Return the multilevel layout of a graph, with about an eighth of the updates of SGD.

    The layout first places a few hundred points of the paths. It then repeatedly inserts points
    between them and relaxes them by sweeps, down to all node ends. Each level starts from a layout
    that is correct at its scale. Its learning rate therefore only needs to span the distance
    between its own points, and no joint stays torn. For the published algorithm, see
    `path_sgd_layout`.

    Parameters
    ----------
    graph
        A graph with paths. Without paths, nodes are placed in a line, and a note says so.
    paths
        Names or indices of the guiding paths; all by default. A contig name stands for all of its
        sub-paths.
    start
        A layout to refine: only the rounds over all steps are made.
    devices
        Numbers of the GPUs to use, each with a copy of the data; only the current one by default.
        They share levels with at least 2^18 points per GPU.
    options
        See `MultilevelOptions`.

    Raises
    ------
    ParameterError
        If an option is out of range, a path is not in the graph, ``start`` does not match the
        graph, or devices are given for the CPU or do not exist.

    References
    ----------
    Heumos et al. 2024, doi:10.1093/bioinformatics/btae363 (the forces and the stress);
    Harel and Koren 2002, doi:10.7155/jgaa.00051 (multi-scale layout).
    """
    return last_of(
        iter_multilevel_layout(
            graph,
            paths=paths,
            start=start,
            devices=devices,
            backend=backend,
            slice_seconds=None,
            **options,
        )
    ).layout


def iter_multilevel_layout(
    graph: PangenomeGraph,
    *,
    paths: Sequence[str | int] | None = None,
    start: GraphLayout | None = None,
    slice_seconds: float | None = 0.05,
    stress_samples: int = 0,
    copies: bool = True,
    devices: Sequence[int] | None = None,
    backend: Backend = "auto",
    **options: Any,
) -> Iterator[LayoutSnapshot]:
    """Yield snapshots of a layout while it is refined; see `multilevel_layout`.

    Parameters
    ----------
    slice_seconds
        Approximate time between snapshots; for small graphs, there is at least one per round.
        None yields only the finished layout.
    stress_samples
        Number of terms of the sampled path stress of the finished layout; 0 for none. A tenth of
        them is sampled at the end of some rounds, always of the same pairs of steps, so that
        changes reflect the layout. Altogether, this takes 0.1 s or as long as the layout, whichever
        is more, or a fifth of the layout's time for a million records or more.
    copies
        As for `iter_path_sgd_layout`.
    devices
        As for `multilevel_layout`; snapshots are on the first one.
    options
        See `MultilevelOptions`.
    """
    checked = MultilevelOptions(**options)
    used = Devices(devices, backend)

    def make_run(records: PathRecords) -> MultilevelRun:
        return MultilevelRun(
            graph, records, start, checked, stress_samples, used, backend, copies=copies
        )

    return used.iterate_on_first(iter_run(make_run, graph, paths, start, 0, slice_seconds))


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """How one level is swept.

    Attributes
    ----------
    every
        A sweep visits one in ``every`` strips.
    n_even
        Effective number of points: a level with uniform visits would revisit a point as often; see
        `evenness`.
    team
        The devices that sweep it together.
    n_workers
        Threads of each device.
    wait_for_copies
        Waits for each device's copy of the level and returns it. Copying a large level takes as
        long as a sweep, so the finest one is copied while the others are made.
    counts
        int64, shape (n_paths,), in the memory of the level: points of each path.
    """

    every: int
    n_even: int
    team: Devices
    n_workers: int
    wait_for_copies: Callable[[], list[tuple[Any, ...]]]
    counts: Any


class MultilevelRun(LayoutRun):
    """A run of the multilevel layout."""

    def __init__(
        self,
        graph: PangenomeGraph,
        records: PathRecords,
        start: GraphLayout | None,
        options: MultilevelOptions,
        stress_samples: int,
        devices: Devices,
        backend: Backend,
        *,
        copies: bool = True,
    ) -> None:
        coordinates = first_coordinates(graph, start, options.initialisation, options.seed)
        super().__init__(
            graph, records, coordinates, options.seed, stress_samples, backend, copies=copies
        )
        self.backend, self.options, self.devices = backend, options, devices
        self.kernel = load_kernel("path_sweep", backend)
        self.views = load_kernel("path_views", backend)
        self._max_workers = options.n_threads if self.xp is np else None
        lengths = path_lengths(records)
        self.spacings = level_spacings(lengths, records.n_steps)[: options.design.max_levels]
        longest_bp = float(lengths.max())
        self.rounds = plan_rounds(
            self.spacings, longest_bp, options.n_rounds, options.eps, options.design
        )
        if start is not None:
            self.rounds = [found for found in self.rounds if found.level == 0]
            self.spacings = self.spacings[:1]
        self.n_iterations = len(self.rounds)
        # An estimate from the last rounds, until the sizes of the other levels are known.
        self.n_updates_total = records.n_steps * options.n_rounds * len(options.design.finest_jumps)
        self.levels: list[PathLevel] = []
        self._pairs: dict[tuple[int, int], int] = {}
        self._slice = FIRST_SLICE_RECORDS
        self._links: Links | None = None
        self._linked: list[int] = []
        self._copies: list[Any] = []
        self._are_copies_current = False
        self._sampling_seconds, self._sample_seconds = 0.0, math.inf
        self._sampled = 0
        self._plans: list[SweepPlan] = []

    def iter_snapshots(self, slice_seconds: float | None) -> Iterator[LayoutSnapshot]:
        """Run all rounds and yield snapshots."""
        shown = 0.0
        for _ in self._iter_views():
            if slice_seconds is not None and self.seconds - shown >= slice_seconds:
                shown = self.seconds
                yield self.snapshot(0, self.rounds[0].eta, None)
        level = self.rounds[0].level
        if slice_seconds is not None:
            self._place_below(level)
            yield self.snapshot(0, self.rounds[0].eta, self._sample_stress(0))
        is_quick = sum(len(level.records) for level in self.levels) < QUICK_RECORDS
        shown, number = self.seconds, 0
        for rounds in self._iter_rounds(slice_seconds):
            while level > rounds[0].level:
                level -= 1
                self._place(level)
            self._order_strips(level)
            for is_end in self._iter_sweeps(number, rounds, slice_seconds):
                n_ended = number + is_end * len(rounds)
                if slice_seconds is None or n_ended == self.n_iterations:
                    continue
                # Placing all points takes longer than a round over the few of a coarse level.
                is_early = self.seconds - shown < slice_seconds / 2
                if is_early and not (is_end and is_quick):
                    continue
                shown = self.seconds
                self._place_below(level)
                samples = is_end and self._may_sample(n_ended, is_quick=is_quick)
                yield self.snapshot(
                    n_ended, rounds[0].eta, self._sample_stress(n_ended) if samples else None
                )
            number += len(rounds)
        yield self.final_snapshot(self.rounds[-1].eta)

    def _sample_stress(self, n_ended: int) -> PathStress | None:
        """Return the stress after so many rounds."""
        began = time.perf_counter()
        stress = self.sample_stress(is_final=False)
        if n_ended:  # the first sample may load kernels, and does not tell how long others take
            seconds = time.perf_counter() - began
            self._sampling_seconds += seconds
            self._sample_seconds = min(self._sample_seconds, seconds)
        self._sampled = n_ended
        return stress

    def _may_sample(self, n_ended: int, *, is_quick: bool) -> bool:
        """Return whether the time for stress samples allows one after so many rounds."""
        share = QUICK_SHARE if is_quick else SAMPLING_SHARE
        if self._sampling_seconds < share * self.seconds:
            return True
        if not is_quick or math.isinf(self._sample_seconds):
            return is_quick
        n_between = self.n_iterations * self._sample_seconds / QUICK_SECONDS
        return n_ended - self._sampled >= n_between

    def _iter_views(self) -> Iterator[None]:
        """Make the levels; yield after each piece of work."""
        self.devices.run(self._compile)
        n_points = len(self.points)
        began = time.perf_counter()
        for levels, of_points in iter_levels(
            self.records,
            self.spacings,
            n_points,
            n_workers=self._count_workers(n_points),
            backend=self.backend,
        ):
            self.levels, self.point_levels = levels, of_points
            if len(self._plans) < len(levels):
                self._plans.append(self._plan_sweeps(len(self._plans)))
            self.seconds += time.perf_counter() - began
            yield
            began = time.perf_counter()
        self.n_updates_total = sum(
            self._n_pairs(found.level, jump) for found in self.rounds for jump in found.jumps
        )
        if len(self.devices) > 1:
            self._wait_for_levels = self.devices.begin_copies([self.point_levels])
            self._begin_links()
        self.seconds += time.perf_counter() - began

    def _plan_sweeps(self, number: int) -> SweepPlan:
        """Return the sweep plan of a level that has been made."""
        level = self.levels[number]
        n_points = int((self.point_levels >= number).sum())
        n_visits = self.options.design.visits * n_points
        n_even = evenness(level, n_points, len(self.points), self.backend)
        team = self._find_team(n_even)
        return SweepPlan(
            every=max(len(level.records) // n_visits, 1) if number else 1,
            n_even=n_even,
            team=team,
            n_workers=self._count_workers(n_even // len(team)),
            wait_for_copies=team.begin_copies(level.paths),
            counts=self.xp.diff(level.path_starts) - 1,
        )

    def _find_team(self, n_even: int) -> Devices:
        """Return the devices for a level with so many points: all, or the first one only."""
        is_large = n_even >= len(self.devices) * self.kernel.POINTS_TO_SHARE
        return self.devices if is_large else self.devices.first

    def _compile(self, _device: int) -> None:
        """Compile or load the kernels of a device, by calls without effect."""
        records = self.xp.zeros((0, self.records.records.shape[1]), np.uint32)
        paths = records, self.xp.zeros(2, np.int64), self.xp.zeros(0, np.int32)
        points = self.xp.zeros((0, 2))
        nothing, levels = self.xp.zeros(0, np.int64), self.xp.zeros(0, np.int8)
        schedule = np.ones(1, np.int64), np.zeros(1), np.zeros(1, np.uint64)
        strips = self.xp.zeros(0, np.int32)
        self.kernel.sweep(points, paths, strips, *schedule, True, 1, 0, 0, 1)
        if len(self.devices) > 1:
            self.kernel.merge([points], points, levels, 0)
        self.views.count_visits(records, True, 1, nothing, nothing)
        self.views.choose(paths, True, 1.0, levels, 1, 0, 0, 1)
        self.views.count(records, True, levels, 1, nothing, 0, 0, 1)
        self.views.fill(records, nothing, paths, True, levels, 1, nothing, 0, 0, 1)
        noise, seed = self.options.design.noise, np.uint64(0)
        nowhere = self.xp.zeros(0, np.int8), paths, levels, 0, True, noise, seed, 0, 0, 1
        self.views.place(points, *nowhere)
        links, shares = self.xp.zeros((0, 2), np.int32), self.xp.zeros((0, 3), np.float32)
        self.views.link(links, shares, *nowhere)
        self.views.follow(points, strips, links, shares, 0, 0, 1)

    def _count_workers(self, n_points: int) -> int:
        n_workers = self.kernel.count_workers(n_points)
        return min(n_workers, self._max_workers or n_workers)

    def _iter_rounds(self, slice_seconds: float | None) -> Iterator[list[Round]]:
        """Yield groups of rounds for single kernel calls, up to the last pass."""
        yield from _together(self.rounds, slice_seconds)
        if self.options.max_passes == 0:
            return
        sampler = self.stress or StressSampler(self.records, backend=self.backend)
        first = before = self._estimate(sampler)
        n_passes = 0
        while n_passes < self.options.max_passes:
            kept = self.coordinates.copy()
            rounds = plan_pass(self.spacings[0], self.options.n_rounds, self.options.eps)
            self.rounds += rounds
            self.n_iterations += len(rounds)
            self.n_updates_total += sum(
                self._n_pairs(0, jump) for found in rounds for jump in found.jumps
            )
            yield from _together(rounds, slice_seconds)
            n_passes += 1
            after = self._estimate(sampler)
            if not after[0] < before[0]:
                self.coordinates[...] = kept
                break
            torn_at_rest = before[1] - max(before[1] // 10, MIN_TORN)
            is_at_rest = after[0] > (1.0 - MIN_FALL) * before[0] and after[1] > torn_at_rest
            before = after
            if is_at_rest:
                break
        words = "1 pass" if n_passes == 1 else f"{n_passes} passes"
        said = (
            f"Stopped after {words} more: sampled stress {first[0]:.4g}, then {before[0]:.4g}; "
            f"torn joints {first[1]:,}, then {before[1]:,}."
        )
        self.note = f"{self.note} {said}".strip()

    def _estimate(self, sampler: StressSampler) -> tuple[float, int]:
        """Return the sampled stress, and the number of torn joints."""
        began = time.perf_counter()
        n_samples = min(ESTIMATE_PER_STEP * self.records.n_steps, MAX_ESTIMATE)
        mean = sampler.sample(self.points, n_samples=n_samples, seed=self.seed).mean
        lengths = self.xp.asarray(self.graph.node_lengths)
        n_torn = count_torn(self.records, lengths, self.points, self.backend)
        self.seconds += time.perf_counter() - began
        return mean, n_torn

    def _iter_sweeps(
        self, number: int, rounds: Sequence[Round], slice_seconds: float | None
    ) -> Iterator[bool]:
        """Make the sweeps of rounds; yield after each piece whether it was the last."""
        level = rounds[0].level
        n_records = len(self.levels[level].records)
        jumps = np.array([jump for found in rounds for jump in found.jumps])
        etas = np.repeat([found.eta for found in rounds], [len(found.jumps) for found in rounds])
        seeds = draw_sweep_seeds(self.seed, number, [len(found.jumps) for found in rounds])
        at_most = self.kernel.RECORDS_AT_ONCE
        if len(self._plans[level].team) > 1:
            at_most = self.kernel.SWEEPS_TO_MERGE * n_records
        begin, first = 0, 0
        while begin < len(jumps):
            limit = at_most if slice_seconds is None else self._slice
            stop = min(first + limit, n_records)
            end = begin + (max(limit // n_records, 1) if first == 0 and stop == n_records else 1)
            began = time.perf_counter()
            self._sweep(level, jumps[begin:end], etas[begin:end], seeds[begin:end], first, stop)
            seconds = time.perf_counter() - began
            self.seconds += seconds
            for jump in jumps[begin:end].tolist():
                n_pairs = self._n_pairs(level, jump)
                self.n_updates += n_pairs * stop // n_records - n_pairs * first // n_records
            n_done = (stop - first) * len(jumps[begin:end])
            if slice_seconds is not None and 2 * n_done > limit:
                self._slice = int(n_done * min(slice_seconds / seconds, 4.0))
                self._slice = min(max(self._slice, MIN_SLICE), at_most)
                self._slice -= self._slice % MIN_SLICE
            first = stop % n_records
            begin = begin if first else end
            yield begin >= len(jumps)

    def _n_pairs(self, level: int, jump: int) -> int:
        """Return the approximate number of pairs that a sweep moves."""
        if (level, jump) not in self._pairs:
            n_pairs = int(self.xp.maximum(self._plans[level].counts - jump, 0).sum())
            self._pairs[level, jump] = n_pairs // self._plans[level].every
        return self._pairs[level, jump]

    def _order_strips(self, number: int) -> None:
        """Set the sweep order of a level's records, and copy them to all devices of its team.

        Each worker gets adjacent strips, so that two workers seldom move the same point.
        """
        began = time.perf_counter()
        plan, level = self._plans[number], self.levels[number]
        team = plan.team
        n_parts = max(plan.n_even // (len(team) * self.kernel.POINTS_AT_ONCE), 1)
        if not self._are_copies_current:
            wait_for_points = team.begin_copies([self.points])
        strips = order_strips(level.records, self.points, len(team) * n_parts, self.backend)
        self._strips = team.copy(strips)
        if not self._are_copies_current:
            self._copies = [points for (points,) in wait_for_points()]
        self._are_copies_current = len(team) > 1
        self._paths = plan.wait_for_copies()
        if len(team) > 1:
            shares = [slice(*ends) for ends in pairwise(team.split(len(self.points)))]
            self._before = team.run(lambda k: self._copies[k][shares[k]].copy())
            levels = self._wait_for_levels()
            self._levels = [levels[k][0][shares[k]] for k in range(len(team))]
        self.seconds += time.perf_counter() - began

    def _sweep(
        self,
        number: int,
        jumps: np.ndarray,
        etas: np.ndarray,
        seeds: np.ndarray,
        first: int,
        stop: int,
    ) -> None:
        level, plan = self.levels[number], self._plans[number]
        team = plan.team
        shares = team.split(len(self._strips[0]))
        at_once = self.kernel.RECORDS_AT_ONCE // STRIP_RECORDS

        def sweep(device: int) -> None:
            what = self._copies[device], self._paths[device], self._strips[device]
            begin, end = shares[device : device + 2]
            part = [
                begin + (end - begin) * edge // shares[-1]
                for edge in (first // STRIP_RECORDS, -(-stop // STRIP_RECORDS))
            ]
            # One call over many strips lets workers drift apart, and the data leave the cache.
            is_long = part[1] - part[0] > at_once
            for some in [slice(k, k + 1) for k in range(len(jumps))] if is_long else [slice(None)]:
                for at in range(*part, at_once):
                    self.kernel.sweep(
                        *what,
                        jumps[some],
                        etas[some],
                        seeds[some],
                        level.has_ends,
                        plan.every,
                        at,
                        min(at + at_once, part[1]),
                        plan.n_workers,
                    )

        team.run(sweep)
        if len(team) > 1:
            team.combine(
                self._copies,
                lambda k, parts: self.kernel.merge(parts, self._before[k], self._levels[k], number),
            )

    def _place(self, number: int) -> None:
        """Interpolate the points of a level between those of the coarser one."""
        if not self.options.design.places_points:
            return
        began = time.perf_counter()
        if self._are_copies_current and number in self._linked:
            of_devices, n_workers = self._wait_for_links(), self._plans[number].n_workers

            def follow(device: int) -> None:
                links, shares, *followers = of_devices[device]
                moved = followers[self._linked.index(number)]
                points = self._copies[device]
                self.views.follow(points, moved, links, shares, 0, len(moved), n_workers)

            self.devices.run(follow)
        else:
            self._are_copies_current = False
            is_placed = self.xp.zeros(len(self.points), np.int8)
            for part in self._parts(number):
                self.views.place(self.points, is_placed, *part)
        self.seconds += time.perf_counter() - began

    def _parts(
        self,
        number: int,
        paths: tuple[Any, ...] | None = None,
        point_levels: Any = None,
        n_workers: int | None = None,
    ) -> Iterator[tuple]:
        """Yield the arguments of `place` and `link` for the records of a level, in parts."""
        level = self.levels[number]
        n_records, at_once = len(level.records), self.kernel.RECORDS_AT_ONCE
        for first in range(0, n_records, at_once):
            yield (
                paths or level.paths,
                self.point_levels if point_levels is None else point_levels,
                number,
                level.has_ends,
                self.options.design.noise,
                np.uint64(self.seed),
                first,
                min(first + at_once, n_records),
                n_workers or self._plans[number].n_workers,
            )

    def _place_below(self, number: int) -> None:
        """Interpolate all points of finer levels, so that they can be drawn.

        Only drawing uses these positions; `_place` overwrites them later.
        """
        if number == 0:
            self._links = None
            return
        if self._links is None:
            numbers = range(len(self.levels) - 1)
            self._links = self._find_links({level: {} for level in numbers}, self.point_levels)
        links, shares, *followers = self._links
        n_workers = self._plans[0].n_workers
        for level in range(number - 1, -1, -1):
            moved = followers[level]
            self.views.follow(self.points, moved, links, shares, 0, len(moved), n_workers)

    def _begin_links(self) -> None:
        """Start to find, on the second device, where points of views are placed, for all devices.

        It depends on no position, so it is done while the first device sweeps coarse views. Each
        device then places the points in its own copy. Otherwise all devices would wait until the
        first one has gone along the finest view, and then for a copy of all points.
        """
        are_shared = [len(plan.team) > 1 for plan in self._plans]
        self._linked = [n for n, pair in enumerate(pairwise(are_shared)) if all(pair)]
        if not self._linked or not self.options.design.places_points:
            return

        def make() -> Links:
            # One worker on a CPU: workers that meet at a point would write half of a link each.
            views = {
                n: {"paths": self._plans[n].wait_for_copies()[1], "n_workers": 1}
                for n in self._linked
            }
            (point_levels,) = self._wait_for_levels()[1]
            return self._find_links(views, point_levels)

        self._wait_for_links = self.devices.begin(1, make)

    def _find_links(self, views: dict[int, dict[str, Any]], point_levels: Any) -> Links:
        """Return the neighbours between which `place` interpolates points, and these of each view.

        Parameters
        ----------
        views
            By number of the level, arguments of `_parts`.
        point_levels
            In the memory of the views.
        """
        n_points, xp = len(self.points), self.xp
        links, shares = xp.empty((n_points, 2), np.int32), xp.empty((n_points, 3), np.float32)
        is_linked = xp.zeros(n_points, np.int8)
        for number, options in views.items():
            for part in self._parts(number, point_levels=point_levels, **options):
                self.views.link(links, shares, is_linked, *part)
        at_levels = point_levels * is_linked.astype(bool) - (is_linked == 0)
        followers = [xp.flatnonzero(at_levels == number).astype(np.int32) for number in views]
        return links, shares, *followers


def _together(rounds: Sequence[Round], slice_seconds: float | None) -> list[list[Round]]:
    """Group rounds for single kernel calls: one each, or whole levels if nothing is shown."""
    if slice_seconds is not None:
        return [[found] for found in rounds]
    return [list(found) for _, found in groupby(rounds, lambda found: found.level)]
