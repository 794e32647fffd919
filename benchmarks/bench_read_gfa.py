"""Reading GFA: megabytes a second of one core and of all, and memory beside the mapped file."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numba
import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.io.files.file_source import find_source
from genoviz.io.graph.cache import load_graph, store_graph
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.model import ByteStrings, PangenomeGraph

TITLE = "Reading GFA"
SIZES = {"paths": (1_000_000, 100, 60_000_000), "segments": (2_000_000, 2, 3_000_000)}


def measure(backend: str = "cpu") -> list[Row]:
    """Return the rates for files that are mostly paths and mostly segments; CPU only."""
    if backend != "cpu":
        return []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case, path in _make_files(Path(folder)):
            rows += _measure_file(case, path)
            path.unlink()
    return rows


def _make_files(folder: Path) -> Iterator[tuple[str, Path]]:
    n_nodes, n_paths, n_steps = SIZES["paths"]
    graph = simulate_pangenome(n_nodes, n_paths, n_steps=n_steps)
    path = folder / "graph.gfa"
    write_gfa(graph, path)
    yield "paths, numbered segments", path
    _write_walks(graph, path)
    yield "walks, numbered segments", path
    numbers = np.random.default_rng(0).permutation(n_nodes)
    names = ByteStrings.from_texts([f"x{number:08x}" for number in numbers.tolist()])
    write_gfa(replace(graph, node_names=names), path)
    yield "paths, segments with text names", path
    write_gfa(simulate_pangenome(*SIZES["segments"][:2], sequences=True), path)
    yield "segments with sequences", path
    write_gfa(graph, folder / "graph.gfa.gz")
    yield "paths, numbered segments, .gz", folder / "graph.gfa.gz"


def _write_walks(graph: PangenomeGraph, target: Path) -> None:
    no_steps = {"path_offsets": np.zeros(1, np.int64), "steps": np.empty(0, np.uint32)}
    write_gfa(replace(graph, path_names=(), **no_steps), target)
    with target.open("ab") as file:
        for path in range(graph.n_paths):
            steps = graph.path_steps(path)
            signs = np.array([b">", b"<"])[steps & 1].tolist()
            names = ((steps >> 1) + 1).tolist()
            walk = b"".join(b"%b%d" % step for step in zip(signs, names, strict=True))
            file.write(b"W\ts\t%d\tc\t*\t*\t%b\n" % (path, walk))


def _measure_file(case: str, path: Path) -> list[Row]:
    n_threads = numba.config.NUMBA_NUM_THREADS
    with _peak_memory() as peak:
        graph = read_gfa(path, cache=False)
    n_result = _count_bytes(graph)
    n_text = _count_text_bytes(path, graph)
    memory = f"{n_text / 1e6:,.0f} MB of text; peak memory {peak[0] / n_result:.2f} x the arrays"
    del graph
    rows = []
    for threads in sorted({1, n_threads}):
        reading = partial(read_gfa, path, cache=False, n_threads=threads)
        seconds = median_seconds(reading, n_runs=3)
        rows.append(
            make_row(
                TITLE,
                f"{case}, {threads} {'thread' if threads == 1 else 'threads'}",
                ours=n_text / 1e6 / seconds,
                unit="MB/s",
                note=memory,
            )
        )
    return [*rows, _measure_cache(case, path)]


def _measure_cache(case: str, path: Path) -> Row:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict("os.environ", GENOVIZ_CACHE_DIR=folder),
    ):
        for _ in store_graph(find_source(path), read_gfa(path, cache=False)):
            pass
        seconds = median_seconds(lambda: list(load_graph(find_source(path), sequences=True)))
    return make_row(TITLE, f"{case}, second opening", ours=seconds, unit="s")


def _count_bytes(graph: PangenomeGraph) -> int:
    arrays = [graph.node_lengths, graph.edges, graph.path_offsets, graph.steps]
    for strings in (graph.node_names, graph.node_sequences):
        arrays += [strings.data, strings.offsets]
    return sum(array.nbytes for array in arrays)


def _count_text_bytes(path: Path, graph: PangenomeGraph) -> int:
    if path.suffix != ".gz":
        return path.stat().st_size
    plain = path.with_suffix("")
    write_gfa(graph, plain)
    n_bytes = plain.stat().st_size
    plain.unlink()
    return n_bytes


@contextmanager
def _peak_memory() -> Iterator[list[int]]:
    """Measure how much memory of its own, mapped files apart, the process gains meanwhile."""
    peak, finished = [0], threading.Event()
    before = _own_memory()

    def watch() -> None:
        while not finished.wait(0.002):
            peak[0] = max(peak[0], _own_memory() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        finished.set()
        watcher.join()


def _own_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


if __name__ == "__main__":
    start = time.perf_counter()
    for row in measure():
        print(f"{row['case']}: {row['ours']:.4g} {row['unit']} ({row['note']})")
    print(f"{time.perf_counter() - start:.0f} s in all")
