"""Counts k-mers from user input, and measures the time."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genoviz.analyses.sequences.kmer_queries import count_kmers, iter_count_kmers
from genoviz.analyses.sequences.kmers import Kmer, parse_kmers
from genoviz.analyses.sequences.pangenome_queries import iter_count_per_path
from genoviz.errors import GenovizError, ParameterError
from genoviz.model.sequences.bases import reverse_complement
from genoviz_app.opening.index_data import BuiltIndex

N_TRIES, FEW = 3, 200
NO_PATHS = np.empty(0, np.int64)
MAX_LETTERS = 5_000_000
"""Maximum length of the field's text; browsers truncate longer text."""


@dataclass(frozen=True, eq=False)
class CountAnswer:
    """Counts of k-mers.

    Attributes
    ----------
    kmers
        The requested k-mers.
    strand
        Counting mode: ``"both"``, ``"forward"`` or ``"canonical"``.
    counts, forward
        int64, shape (n,): hits of each k-mer, and those on the forward strand.
    n_with
        int64, shape (n,): number of paths of a graph that have each k-mer; empty for a genome.
    n_paths
        Number of paths of the graph.
    seconds
        Duration of counting.
    problem
        Why nothing was counted; "" on success.
    """

    kmers: tuple[Kmer, ...] = ()
    strand: str = "both"
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    forward: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    seconds: float = 0.0
    problem: str = ""
    n_with: np.ndarray = field(default_factory=lambda: NO_PATHS)
    n_paths: int = 0


def iter_count_text(built: BuiltIndex, text: str, strand: str) -> Generator[Any, None, CountAnswer]:
    """Return the counts of k-mers, or an error message; yields repeatedly."""
    try:
        _check_length(text)
        kmers = parse_kmers(text)
        seconds = []
        for _ in range(N_TRIES if len(kmers) <= FEW else 1):
            start = time.perf_counter()
            counts, n_with = yield from _count(built, kmers, strand)
            seconds.append(time.perf_counter() - start)
        forward = counts
        if strand == "canonical":
            forward, _ = yield from _count(built, [canonical(kmer) for kmer in kmers], "forward")
        elif strand == "both":
            forward, _ = yield from _count(built, kmers, "forward")
    except GenovizError as error:
        return CountAnswer(strand=strand, problem=str(error))
    n_paths = 0 if built.graph is None else built.graph.n_paths
    forward = np.minimum(forward, counts)
    return CountAnswer(kmers, strand, counts, forward, min(seconds), "", n_with, n_paths)


def _check_length(text: str) -> None:
    if len(text) >= MAX_LETTERS:
        raise ParameterError(
            f"the field is full, and what was written may be cut off; needs fewer than "
            f"{MAX_LETTERS:,} letters, or 'genoviz bwt count --file' for any number of k-mers"
        )


def _count(
    built: BuiltIndex, kmers: Sequence[Kmer], strand: str
) -> Generator[Any, None, tuple[np.ndarray, np.ndarray]]:
    """Return the hits of k-mers, and on how many paths of a graph each is; yields repeatedly."""
    if built.pangenome is not None:
        counts = yield from iter_count_per_path(built.pangenome, kmers, strand=strand)
        return counts.sum(axis=1), np.count_nonzero(counts, axis=1)
    if len(kmers) == 1:
        return count_kmers(built.index, kmers, strand=strand), NO_PATHS
    for step in iter_count_kmers(built.index, kmers, strand=strand):
        if step.counts is None:
            yield step
    return step.counts, NO_PATHS


def canonical(kmer: Kmer) -> Kmer:
    """Return the lexicographically smaller of a k-mer and its reverse complement.

    Examples
    --------
    >>> canonical(Kmer("TTG")).letters
    'CAA'
    """
    letters = np.frombuffer(kmer.letters.encode(), np.uint8)
    return Kmer(min(kmer.letters, reverse_complement(letters).tobytes().decode()), kmer.name)


def say_seconds(seconds: float) -> str:
    """Format a duration in a suitable unit.

    Examples
    --------
    >>> say_seconds(1.24e-5), say_seconds(0.0031), say_seconds(2.5)
    ('12.4 µs', '3.1 ms', '2.5 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
