"""All chromosomes of a simulated human pangenome, laid out one after the other on one device.

    python -m benchmarks.genome_layout --shape hprc-v1.1-mc

prints a row for each chromosome and their sum: nodes, steps, seconds of the layout alone (as
`LayoutSnapshot.seconds` has them: views and sweeps), of all that a caller waits for (records,
copies to the device, components and packing too), and the sampled path stress. Graphs are made by
processes of their own while those before them are laid out, and handed over in a folder, so that
what makes them does not hold up the thread that starts kernels.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import numba
import numpy as np

from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.simulation.genomes import (
    GENOME_SHAPES,
    ChromosomeSizes,
    iter_chromosome_sizes,
)
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import BACKENDS, describe_machine
from genoviz.model import ByteStrings, PangenomeGraph

ARRAYS = ("node_lengths", "edges", "path_offsets", "steps")
STRESS_SAMPLES = 10**7


def simulate(sizes: ChromosomeSizes, folder: Path) -> float:
    """Write the arrays of a chromosome's graph that a layout needs; return the seconds."""
    began = time.perf_counter()
    graph = simulate_pangenome(
        sizes.n_nodes, sizes.n_paths, n_steps=sizes.n_steps, seed=sizes.seed, contig=sizes.name
    )
    folder.mkdir()
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(graph, name))
    return time.perf_counter() - began


def load(folder: Path) -> PangenomeGraph:
    """Return a graph that `simulate` has written; its nodes and paths are named by numbers."""
    arrays = {name: np.load(folder / f"{name}.npy") for name in ARRAYS}
    shutil.rmtree(folder)
    n_nodes, n_paths = len(arrays["node_lengths"]), len(arrays["path_offsets"]) - 1
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        path_names=[f"path#{number}" for number in range(n_paths)],
        **arrays,
    )


def iter_graphs(
    chromosomes: Iterator[ChromosomeSizes], n_makers: int
) -> Iterator[tuple[ChromosomeSizes, float, PangenomeGraph]]:
    """Yield each chromosome, the seconds that making its graph took, and the graph."""
    n_threads = max(numba.get_num_threads() // n_makers, 1)
    context = multiprocessing.get_context("spawn")  # a process that uses a GPU is not to be forked
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            n_makers, context, initializer=numba.set_num_threads, initargs=(n_threads,)
        ) as pool,
    ):
        begun = deque()

        def begin(n: int) -> None:
            for sizes in islice(chromosomes, n):
                where = Path(folder, sizes.name)
                begun.append((sizes, where, pool.submit(simulate, sizes, where)))

        begin(n_makers + 1)
        while begun:
            sizes, where, made = begun.popleft()
            seconds = made.result()
            begin(1)
            yield sizes, seconds, load(where)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.genome_layout")
    parser.add_argument("--shape", choices=GENOME_SHAPES, default="hprc-v1.1-mc")
    parser.add_argument("--scale", type=float, default=1.0, help="of nodes and steps")
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    parser.add_argument("--makers", type=int, default=2, help="processes that make graphs")
    options = parser.parse_args()
    print(f"{describe_machine()}; {options.shape}, scale {options.scale:g}")
    began = time.perf_counter()

    def lay_out(graph: PangenomeGraph) -> tuple[float, float, float, float]:
        start = time.perf_counter()
        *_, final = iter_multilevel_layout(
            graph,
            slice_seconds=None,
            stress_samples=min(STRESS_SAMPLES, 20 * graph.n_steps),
            backend=options.backend,
        )
        return final.seconds, time.perf_counter() - start, final.stress.mean, final.n_updates

    lay_out(simulate_pangenome(5_000, 12))  # compiles
    totals = np.zeros(5)
    print("chromosome\tnodes\tsteps\tlayout_s\twith_records_s\tstress\tmade_in_s\tat_s")
    for sizes, made, graph in iter_graphs(
        iter_chromosome_sizes(options.shape, scale=options.scale), options.makers
    ):
        seconds, whole, stress, n_updates = lay_out(graph)
        totals += graph.n_nodes, graph.n_steps, seconds, whole, n_updates
        cells = f"{graph.n_nodes}\t{graph.n_steps}\t{seconds:.3f}\t{whole:.2f}\t{stress:.3g}"
        at = time.perf_counter() - began
        print(f"{sizes.name}\t{cells}\t{made:.1f}\t{at:.0f}", flush=True)
    n_nodes, n_steps, seconds, whole, n_updates = totals
    print(f"all\t{n_nodes:.0f}\t{n_steps:.0f}\t{seconds:.3f}\t{whole:.2f}")
    print(f"{n_updates / seconds / 1e9:.3g} G updates/s")


if __name__ == "__main__":
    main()
