"""GBWT decoding: steps a second, from compressed records to the steps of all paths.

``python -m benchmarks.bench_gbwt --preset chr20 --backend cuda`` measures one preset. Records are
made by `genoviz.io.graph.gbz_writer` of a simulated graph; what is decoded is compared with it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
from genoviz.backend import array_module, load_kernel, resolve_backend, to_host
from genoviz.generators import finish
from genoviz.io.graph.gbz_loops import read_starts
from genoviz.io.graph.gbz_writer import build_gbwt

TITLE = "GBWT decoding, from compressed records to steps"
PRESETS = {"cpu": "mhc", "cuda": "chr20"}


def measure(backend: str = "cpu") -> list[Row]:
    """Return the rate of one preset."""
    return [_measure_preset(PRESETS[backend], backend)]


def _measure_preset(preset: str, backend: str) -> Row:
    graph = simulate_pangenome(**SIMULATION_PRESETS[preset])
    start = time.perf_counter()
    records = build_gbwt(graph, np.arange(graph.n_nodes), 1)
    print(
        f"{graph}: {len(records.data):,} bytes in {time.perf_counter() - start:.0f} s", flush=True
    )
    module, kernel = array_module(backend), load_kernel("gbwt", backend)
    slots = np.arange(graph.n_nodes, dtype=np.uint32)
    handles = module.asarray(np.append(slots << 1, slots[::-1] << 1 | 1))
    on_device = [module.asarray(part) for part in records[:2]]
    found = []

    def decode():
        found.clear()
        sizes = module.zeros(2 * graph.n_nodes, np.int64)
        assert kernel.measure_records(*on_device, records.alphabet_offset, sizes) == -1
        record_starts = np.append(0, np.cumsum(to_host(sizes)))
        starts = read_starts(*records, record_starts, 2 * graph.n_paths)
        source = (*on_device, records.alphabet_offset, record_starts, handles, starts)
        found.append(finish(kernel.iter_decode_paths(*source)))
        if backend == "cuda":
            module.cuda.Device().synchronize()

    seconds = median_seconds(decode, n_runs=5)
    assert found[0].fault == 0
    assert np.array_equal(to_host(found[0].path_offsets), graph.path_offsets)
    assert np.array_equal(to_host(found[0].steps), graph.steps)
    return make_row(
        TITLE,
        f"{preset}: {graph.n_paths:,} paths, {graph.n_steps:,} steps",
        ours=graph.n_steps / 1e6 / seconds,
        unit="M steps/s",
        note=f"{len(records.data) / graph.n_steps:.2f} bytes a step; both directions are read and "
        "compared; records made by the project's own writer of a simulated graph",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_gbwt", description=__doc__)
    parser.add_argument("--preset", choices=SIMULATION_PRESETS, default="mhc")
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    options = parser.parse_args()
    row = _measure_preset(options.preset, resolve_backend(options.backend))
    print(f"{row['case']}: {row['ours']:,.0f} {row['unit']} ({row['note']})")
