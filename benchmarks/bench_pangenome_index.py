"""Indexing the paths of graphs, and counting k-mers on each, against one index of all paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz import FMIndex, PangenomeGraph, PathRegion, Sequences, build_fm_index, read_gfa
from genoviz.analyses.graph.query.sequences import region_sequence
from genoviz.analyses.sequences.kmer_hits import locate_kmers
from genoviz.analyses.sequences.pangenome_index import build_pangenome_index
from genoviz.analyses.sequences.pangenome_queries import count_per_path

TABLE = "K-mers on the paths of graphs, against an index of all paths as they are, on the CPU"
GRAPHS = ("chr6.C4", "LPA", "hprc_RHCE", "MHC_4")
K = 31
N_KMERS = 5_000


def measure(backend: str) -> list[Row]:
    """Return rates of building and counting; there is no kernel for a GPU."""
    if backend != "cpu":
        return []
    rows = []
    for name in GRAPHS:
        path = find_real_data(f"gfa/{name}.gfa.gz")
        if path is not None:
            rows += _measure(name, read_gfa(path, cache=False))
    return rows


def _measure(name: str, graph: PangenomeGraph) -> list[Row]:
    paths = Sequences.from_records(_iter_paths(graph))
    index, plain = build_pangenome_index(graph, backend="cpu"), build_fm_index(paths, backend="cpu")
    kmers = _draw_kmers(paths)
    size = f"{graph.n_paths} paths, {index.n_path_bases / 1e6:,.1f} Mb"
    kept = (
        f"{index.n_stored_bases / 1e6:,.2f} Mb are kept, {index.sharing:.1f} times less "
        f"(k up to {index.max_k})"
    )
    builds = [
        median_seconds(lambda: build_pangenome_index(graph, backend="cpu")),
        median_seconds(lambda: build_fm_index(paths, backend="cpu"), n_runs=1),
    ]
    counts = [
        median_seconds(lambda: count_per_path(index, kmers, backend="cpu")),
        median_seconds(lambda: _count_plain(plain, kmers)),
    ]
    return [
        make_row(
            TABLE, f"{name} ({size}): {case}", ours=ours, peer=peer, unit="s",
            higher_is_better=False, note=note,
        )
        for case, (ours, peer), note in (
            ("build", builds, kept),
            (f"{len(kmers):,} {K}-mers on every path", counts, "both strands"),
        )
    ]  # fmt: skip


def _iter_paths(graph: PangenomeGraph) -> Iterator[tuple[str, np.ndarray]]:
    for name, length in zip(graph.path_names, graph.path_lengths.tolist(), strict=True):
        yield name, region_sequence(graph, PathRegion(name, 0, length))


def _draw_kmers(paths: Sequences) -> list[bytes]:
    random = np.random.default_rng(1)
    starts = random.integers(0, paths.total_length - K, N_KMERS)
    kmers = [paths.bases[start : start + K].tobytes() for start in starts]
    return [kmer for kmer in kmers if set(kmer) <= set(b"ACGT")]


def _count_plain(index: FMIndex, kmers: list[bytes]) -> np.ndarray:
    """Count hits by the path that they are on."""
    hits = locate_kmers(index, kmers, backend="cpu")
    counts = np.zeros((len(kmers), index.text.n_contigs), np.int64)
    np.add.at(counts, (hits.kmer_ids, hits.contig_ids), 1)
    return counts
