"""What common prefixes tell of k-mers: spectra for any k, against sorting all k-mers of one k."""

from __future__ import annotations

import numpy as np

from benchmarks.human_like import make_human_like
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz import KmerRepeats, Sequences, make_index_text, read_sequences
from genoviz.analyses.sequences.suffix_array import common_prefixes, suffix_array

TABLE = "K-mers of a genome for any k, from common prefixes, on the CPU"
K = 21
LONG_K = 301
MAX_K = 1_000
NOTE = "the peer is numpy.unique of packed k-mers, for this k alone"


def measure(backend: str) -> list[Row]:
    """Return seconds for K-12 and a human-like text of 60 MB; there is no kernel for a GPU."""
    if backend != "cpu":
        return []
    rows = []
    path = find_real_data("genomes/ecoli_k12_mg1655.fna.gz")
    if path is not None:
        rows += _measure("E. coli K-12, 4.6 MB", read_sequences(path))
    human_like = Sequences.from_records([("human-like", make_human_like(60_000_000))])
    return rows + _measure("human-like, 60 MB", human_like)


def _measure(name: str, sequences: Sequences) -> list[Row]:
    text = make_index_text(sequences)
    order = suffix_array(text, backend="cpu")
    lcp = common_prefixes(text, order, backend="cpu")
    keys = _pack(sequences.bases, K)
    sorting = median_seconds(lambda: np.unique(keys, return_counts=True), n_runs=1)
    # What was found last is kept, so that each run begins with new repeats.
    peers = {f"spectrum, k = {K}": sorting}
    calls = {
        f"spectrum, k = {K}": lambda: KmerRepeats(text, order, lcp).spectrum(K),
        f"spectrum, k = {LONG_K}": lambda: KmerRepeats(text, order, lcp).spectrum(LONG_K),
        f"spectrum of both strands, k = {K}": lambda: KmerRepeats(text, order, lcp).spectrum(
            K, "canonical"
        ),
        f"different and unique k-mers, k = 1 to {MAX_K:,}": lambda: KmerRepeats(
            text, order, lcp
        ).distinct(MAX_K),
        f"multiplicity at every base, k = {K}": lambda: KmerRepeats(text, order, lcp).track(K),
    }
    rows = []
    for case, call in calls.items():
        rows.append(
            make_row(
                TABLE,
                f"{name}: {case}",
                ours=median_seconds(call, n_runs=3),
                peer=peers.get(case),
                unit="s",
                higher_is_better=False,
                note="peer: numpy.unique of packed k-mers, for this k alone"
                if case in peers
                else "",
            )
        )
    return rows


def _pack(bases: np.ndarray, k: int) -> np.ndarray:
    """Return the k-mers of a text, two bits a base; uint64, shape (n - k + 1,)."""
    codes = np.zeros(256, np.uint64)
    codes[np.frombuffer(b"ACGT", np.uint8)] = np.arange(4)
    symbols = codes[bases]
    keys = np.zeros(len(bases) - k + 1, np.uint64)
    for offset in range(k):
        keys <<= np.uint64(2)
        keys |= symbols[offset : offset + len(keys)]
    return keys
