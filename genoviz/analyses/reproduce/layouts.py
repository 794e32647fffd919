"""Measurements for figures about layouts: stress, time, and effects of design choices.

Printed values are for whole human chromosomes (30 iterations of 10 updates per step), on 32 threads
of a Xeon, an RTX A6000 and an A100.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.multilevel import QUALITIES, iter_multilevel_layout
from genoviz.analyses.graph.layout.options import LayoutOptions
from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.analyses.graph.layout.path_sgd import PathSgdRun, iter_path_sgd_layout
from genoviz.analyses.graph.layout.run import LayoutSnapshot
from genoviz.analyses.graph.layout.stress import (
    count_pairs,
    path_stress,
    sampled_path_stress,
)
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.reproduce.figures import LAYOUT, Measured, Point, RunOptions
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
from genoviz.backend import Backend, describe_backend
from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz.model import GraphLayout, PangenomeGraph

N_SAMPLES = 200_000
MAX_PAIRS = 5 * 10**8
"""Maximum pairs of steps for the exact path stress, which take some 10 s on one core."""
MAX_SAMPLES = 10**7
SAMPLED_NOTE = " Of so many pairs of steps the stress is sampled."
SGD_ITERATIONS = (5, 10, 20, 30, 60)
SLICE_SECONDS = 0.05
STAGES, MANY_STAGES = (12, 14, 16, 30), (6, 10, 12, 14, 16, 18, 22, 30)
STRESSES = (142.2, 22.4, 1.3, 0.07)
CPU32, A6000, A100 = "32 threads", "RTX A6000", "A100"
# Steps and seconds; the graph sizes are those of `SIMULATION_PRESETS`.
TIMES = {
    CPU32: {"HLA-DRB1": (35_059, 0.4), "MHC": (16e6, 107), "chromosome 1": (600e6, 9_158)},
    A6000: {"chromosome 1": (600e6, 299)},
    A100: {"chromosome 1": (600e6, 162)},
}
GAINS = ("records of nodes", "coalesced random states", "merged warps")
PRINTED_GAINS = (1.4, 1.2, 1.1)

Tried = tuple[str, bool, float, PathStress]
Steps = Generator[Progress, None, Measured]


def _graph(options: RunOptions) -> PangenomeGraph:
    if options.graph is not None:
        return options.graph
    size = {"n_nodes": 1_000, "n_paths": 6} if options.small else SIMULATION_PRESETS["small"]
    return simulate_pangenome(**size, seed=options.seed)


def describe_graph(graph: PangenomeGraph) -> str:
    """Describe the size of a graph."""
    return f"{graph.n_nodes:,} nodes, {graph.n_paths:,} paths, {graph.n_steps:,} steps"


def best_stress(graph: PangenomeGraph, layout: GraphLayout) -> PathStress:
    """Return the exact path stress, or the sampled one if a graph has too many pairs of steps."""
    if count_pairs(graph) <= MAX_PAIRS:
        return path_stress(graph, layout)
    return sampled_path_stress(graph, layout, n_samples=MAX_SAMPLES)


def report_layout(
    snapshots: Iterable[LayoutSnapshot], what: str, start: float = 0.0, end: float = 1.0
) -> Generator[Progress, None, LayoutSnapshot]:
    """Report the progress of a layout as a part of the whole, and return its last snapshot."""
    for snapshot in snapshots:
        share = min(snapshot.n_updates / max(snapshot.n_updates_total, 1), 1.0)
        yield Progress(what, start + (end - start) * share)
    return snapshot


def _iter_stages(
    graph: PangenomeGraph,
    stages: Iterable[int],
    options: RunOptions,
    seed: int,
    start: float,
    end: float,
) -> Generator[Progress, None, list[tuple[int, GraphLayout]]]:
    """Return layouts after some of 30 iterations, with single updates as in odgi."""
    wanted, found = sorted(stages), []
    for snapshot in iter_path_sgd_layout(
        graph, eps=0.01, window=1, seed=seed, slice_seconds=SLICE_SECONDS,
        backend=options.backends[0],
    ):  # fmt: skip
        if wanted and snapshot.iteration == wanted[0]:
            found.append((wanted.pop(0), snapshot.layout))
        share = start + (end - start) * snapshot.iteration / 30
        yield Progress("one layout at many stages", share)
    return found


def measure_stages(options: RunOptions) -> Steps:
    """Measure the stress of one layout at four stages."""
    graph = _graph(options)
    points = [
        Point("HLA-DRB1, printed", stage, stress, f"after {stage} iterations", LAYOUT.words)
        for stage, stress in zip(STAGES, STRESSES, strict=True)
    ]
    layouts = []
    stages = yield from _iter_stages(graph, STAGES, options, options.seed, 0.0, 0.5)
    for stage, layout in stages:
        n_samples = min(100 * graph.n_steps, MAX_SAMPLES)
        stress = best_stress(graph, layout)
        sampled = sampled_path_stress(graph, layout, n_samples=n_samples).mean
        case = f"after {stage} iterations"
        if stress.is_exact:
            points.append(Point("exact", stage, stress.mean, case))
        points.append(Point("sampled", stage, sampled, case))
        layouts.append((f"{case}: path stress {stress.mean:.4g}", layout))
        yield Progress("stress at four stages", 0.5 + stage / 60)
    kind = "" if stress.is_exact else SAMPLED_NOTE
    note = f"The graph has {describe_graph(graph)}.{kind}"
    return Measured(tuple(points), note, tuple(layouts))


def measure_sampled(options: RunOptions) -> Steps:
    """Measure exact and sampled stress of layouts of many graphs at many stages."""
    given, words = options.graph, ""
    n_layouts = 3 if options.small else 40
    if given is not None:
        if count_pairs(given) > MAX_PAIRS:
            raise ParameterError(
                f"the graph has {count_pairs(given):,} pairs of steps, and the exact path stress "
                f"is taken of at most {MAX_PAIRS:,}: extract a part of it, or take a simulated one"
            )
        n_layouts, words = min(n_layouts, 10), f" of one graph with {describe_graph(given)}"
    random = np.random.default_rng(options.seed)
    points = []
    for number in range(n_layouts):
        n_nodes, n_paths = int(random.integers(300, 1_500)), int(random.integers(2, 8))
        graph = given or simulate_pangenome(n_nodes, n_paths, seed=options.seed + number)
        done = number / n_layouts
        stages = yield from _iter_stages(
            graph, MANY_STAGES, options, options.seed + number, done, done + 0.5 / n_layouts
        )
        for n, (stage, layout) in enumerate(stages, 1):
            points.append(
                Point(
                    "a layout",
                    path_stress(graph, layout).mean,
                    sampled_path_stress(graph, layout, samples_per_step=100, seed=number).mean,
                    f"{describe_graph(graph)}, after {stage} iterations",
                )
            )
            share = done + (0.5 + 0.5 * n / len(stages)) / n_layouts
            yield Progress("stress of many layouts", min(share, 1.0))
    logs = np.log([(point.x, point.y) for point in points])
    note = (
        f"{len(points):,} layouts{words}; correlation of the logarithms "
        f"{np.corrcoef(logs.T)[0, 1]:.5f}"
    )
    return Measured(tuple(points), f"{note}. On the grey line both are the same.")


def measure_scaling(options: RunOptions) -> Steps:
    """Measure the time of layouts of increasingly large graphs."""
    sizes = (300, 600, 1_200, 2_400) if options.small else (10_000, 30_000, 100_000, 300_000)
    methods = {"path-guided SGD": iter_path_sgd_layout, "coarse to fine": iter_multilevel_layout}
    graphs = [simulate_pangenome(n, 20, seed=options.seed) for n in sizes]
    note = ""
    if options.graph is not None:
        graphs = sorted([*graphs, options.graph], key=lambda graph: graph.n_steps)
        note = f"The graph with {describe_graph(options.graph)} among simulated ones."
    points, n_done = _printed_times(), 0
    n_runs = len(methods) * len(graphs) * len(options.backends)
    for backend in options.backends:
        for method, iter_layout in methods.items():
            series = f"{method}, {describe_backend(backend)}"
            for graph in graphs:
                steps = iter_layout(
                    graph, seed=options.seed, backend=backend, slice_seconds=SLICE_SECONDS,
                    copies=False,
                )  # fmt: skip
                last = yield from report_layout(
                    steps, series, n_done / n_runs, (n_done + 1) / n_runs
                )
                points.append(Point(series, graph.n_steps, last.seconds, describe_graph(graph)))
                n_done += 1
    return Measured(tuple(points), note)


def _printed_times() -> list[Point]:
    return [
        Point(f"{machine}, printed", steps, seconds, case, LAYOUT.words)
        for machine, cases in TIMES.items()
        for case, (steps, seconds) in cases.items()
    ]


def measure_ablation(options: RunOptions) -> Steps:
    """Measure the update rates of designs, each of which adds one optimization."""
    n_nodes = 10_000 if options.small else 300_000
    graph = options.graph or simulate_pangenome(n_nodes, 20, seed=options.seed)
    records = build_path_records(graph, min_steps=2)
    product = np.cumprod(PRINTED_GAINS).tolist()
    points = [
        Point("GPU, printed", 10 + n, gain, f"+ {name}, printed", LAYOUT.words)
        for n, (name, gain) in enumerate(zip(GAINS, product, strict=True))
    ]
    points.append(Point("CPU, printed", 10, 3.1, f"+ {GAINS[0]}, printed", LAYOUT.words))
    for backend in options.backends:
        series, base = describe_backend(backend), None
        designs = _designs(backend)
        for n, (name, design) in enumerate(designs.items()):
            run = PathSgdRun(graph, records, None, LayoutOptions(**design), 0, backend)
            rate = _rate(run, 3 * graph.n_steps)
            base = base or rate
            points.append(Point(series, n, rate / base, name))
            yield Progress(f"designs, {series}", (n + 1) / len(designs))
    return Measured(tuple(points), f"The graph has {describe_graph(graph)}.")


def _rate(run: PathSgdRun, n_updates: int) -> float:
    """Return the best of three update rates, in the cooling phase."""
    run.make_updates(20, n_updates // 10)
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        n_done = run.make_updates(20, n_updates)
        rates.append(n_done / (time.perf_counter() - began))
    return max(rates)


def _designs(backend: Backend) -> dict[str, dict[str, Any]]:
    """Return the options of each design."""
    if backend == "cpu":
        return {
            "single updates, one thread": {"window": 1, "n_threads": 1},
            "+ all threads": {"window": 1},
            "+ windows of 32 steps": {"window": 32},
        }
    apart = {"window": 1, "merge_warps": False}
    return {
        "single updates": apart | {"data_layout": "arrays", "random_states": "strided"},
        f"+ {GAINS[0]}": apart | {"random_states": "strided"},
        f"+ {GAINS[1]}": apart | {"random_states": "coalesced"},
        f"+ {GAINS[2]}": {"window": 1, "random_states": "coalesced"},
        "+ random states in registers": {"window": 1},
        "+ windows of 32 steps": {"window": 32},
    }


def measure_tradeoff(options: RunOptions) -> Steps:
    """Measure time and stress of layouts by both methods, from fast to thorough."""
    graph = _graph(options)
    points = []
    for backend in options.backends:
        tried: list[Tried] = []
        for progress in iter_try(graph, tried, backend=backend, seed=options.seed):
            yield Progress(progress.what, progress.fraction)
        for name, is_first, seconds, stress in tried:
            method = "coarse to fine" if is_first else "path-guided SGD"
            series = f"{method}, {describe_backend(backend)}"
            points.append(Point(series, seconds, stress.mean, name))
    return Measured(tuple(points), f"The graph has {describe_graph(graph)}.")


def iter_try(
    graph: PangenomeGraph, tried: list[Tried], *, backend: Backend = "auto", seed: int = 0
) -> Generator[Progress, None, None]:
    """Lay out a graph with several options, and record time and stress of each."""
    measured = graph_to_measure(graph)
    methods: list[tuple[str, Any, Mapping[str, int]]] = [
        (f"{name}, coarse to fine", iter_multilevel_layout, options)
        for name, options in QUALITIES.items()
    ]
    methods += [
        (f"SGD, {n} iterations", iter_path_sgd_layout, {"n_iterations": n}) for n in SGD_ITERATIONS
    ]
    given = {"slice_seconds": SLICE_SECONDS, "copies": False, "backend": backend, "seed": seed}
    for number, (name, iter_layout, more) in enumerate(methods):
        start, end = number / len(methods), (number + 1) / len(methods)
        last = yield from report_layout(iter_layout(graph, **given, **more), name, start, end)
        stress = sampled_path_stress(measured, last.layout, n_samples=N_SAMPLES, backend=backend)
        is_first = iter_layout is iter_multilevel_layout
        tried.append((name, is_first, max(last.seconds, 1e-4), stress))
    yield Progress("all options tried", 1.0, tried)


def measure_times(options: RunOptions) -> Steps:
    """Measure the time of layouts of graphs with the paper's sizes."""
    points = yield from _iter_graphs(options, lambda _graph, last: last.seconds)
    printed = [replace(point, case=f"size of {point.case}") for point in _printed_times()]
    cases = list(dict.fromkeys(point.case for point in (*points, *printed)))
    points += [replace(point, x=cases.index(point.case)) for point in printed]
    return Measured(tuple(points), _size_note(options))


def measure_quality(options: RunOptions) -> Steps:
    """Measure the sampled path stress of layouts of graphs with the paper's sizes."""

    def measure(graph: PangenomeGraph, last: LayoutSnapshot) -> float:
        n_samples = min(100 * graph.n_steps, MAX_SAMPLES)
        return sampled_path_stress(graph, last.layout, n_samples=n_samples).mean

    points = yield from _iter_graphs(options, measure)
    return Measured(tuple(points), _size_note(options))


def _size_note(options: RunOptions) -> str:
    if options.graph is not None:
        return f"The graph has {describe_graph(options.graph)}."
    smaller = ", and much smaller than what they stand for"
    return f"The graphs are simulated{smaller if options.small else ''}."


def _iter_graphs(options: RunOptions, measure: Any) -> Generator[Progress, None, list[Point]]:
    """Lay out the given graph, or graphs with the paper's sizes: chromosomes only on a GPU."""
    sizes: dict[str, Mapping[str, int]] = {
        "size of HLA-DRB1": SIMULATION_PRESETS["small"],
        "size of MHC": SIMULATION_PRESETS["mhc"],
    }
    if "cuda" in options.backends:
        sizes["size of chromosome 20"] = SIMULATION_PRESETS["chr20"]
        sizes["size of chromosome 1"] = SIMULATION_PRESETS["chr1"]
    if options.small:
        sizes = {name: {"n_nodes": 500 * 2**n, "n_paths": 5 * 2**n} for n, name in enumerate(sizes)}
    if options.graph is not None:
        sizes = {"this graph": {}}
    points = []
    for number, (name, size) in enumerate(sizes.items()):
        yield Progress(f"simulating a graph, {name}", number / len(sizes))
        graph = options.graph or simulate_pangenome(**size, seed=options.seed)
        for backend in options.backends:
            if backend == "cpu" and "chromosome" in name and not options.small:
                continue
            steps = iter_path_sgd_layout(
                graph, seed=options.seed, backend=backend, slice_seconds=SLICE_SECONDS, copies=False
            )
            start, end = number / len(sizes), (number + 1) / len(sizes)
            last = yield from report_layout(steps, f"a layout, {name}", start, end)
            points.append(Point(describe_backend(backend), number, measure(graph, last), name))
    return points
