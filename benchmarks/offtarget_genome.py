"""A genome to search for off-targets, the same on every machine."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.model.offtargets.genome_planes import BASES_PER_WORD, PADDING_WORDS, GenomePlanes
from genoviz.model.sequences.sequences import Sequences

N_CONTIGS = 5
GC = 0.41
UNKNOWN = 0.036
UNKNOWN_LENGTH = 36_000
REPEATS_PER_MB = 30
REPEAT_LENGTHS = 300, 1_000
DIVERGENCE = 0.1
MASKED = 0.5
MASKED_LENGTH = 300
LETTERS = np.frombuffer(b"ACGT", np.uint8)


def make_genome(n_bases: int, seed: int = 1) -> list[tuple[str, np.ndarray]]:
    """Return contigs with diverged repeats, runs of N and soft-masked halves; uint8 letters."""
    generator = np.random.default_rng(seed)
    edges = np.cumsum([(1 - GC) / 2, GC / 2, GC / 2])
    bases = LETTERS[np.searchsorted(edges, generator.random(n_bases, np.float32))]
    for _ in range(n_bases * REPEATS_PER_MB // 1_000_000):
        length = int(generator.integers(*REPEAT_LENGTHS))
        source, target = generator.integers(0, n_bases - length, 2)
        copy = bases[source : source + length].copy()
        is_other = generator.random(length) < DIVERGENCE
        copy[is_other] = LETTERS[generator.integers(0, 4, int(is_other.sum()))]
        bases[target : target + length] = copy
    for start in _starts(generator, n_bases, UNKNOWN, UNKNOWN_LENGTH):
        bases[start : start + UNKNOWN_LENGTH] = ord("N")
    for start in _starts(generator, n_bases, MASKED, MASKED_LENGTH):
        bases[start : start + MASKED_LENGTH] |= 32
    return [(f"chr{i}", part) for i, part in enumerate(np.array_split(bases, N_CONTIGS), start=1)]


def _starts(
    generator: np.random.Generator, n_bases: int, fraction: float, length: int
) -> list[int]:
    return generator.integers(0, n_bases - length, int(fraction * n_bases / length)).tolist()


def make_planes(records: list[tuple[str, np.ndarray]]) -> GenomePlanes:
    """Return the planes of contigs."""
    return make_genome_planes(Sequences.from_records(records))


def make_random_planes(n_bases: int, n_contigs: int, seed: int = 1) -> GenomePlanes:
    """Return planes of equal and independent bases, made at once; contigs of whole words."""
    generator = np.random.default_rng(seed)
    n_words = n_bases // BASES_PER_WORD
    n_bases = n_words * BASES_PER_WORD
    shape = n_words + 1 + PADDING_WORDS
    low, high, other = (np.zeros(shape, np.uint64) for _ in range(3))
    for plane in (low, high):
        plane[:n_words] = generator.integers(0, 1 << 64, n_words, np.uint64)
    names = tuple(f"chr{i}" for i in range(1, n_contigs + 1))
    offsets = np.linspace(0, n_words, n_contigs + 1).astype(np.int64) * BASES_PER_WORD
    return GenomePlanes(
        low,
        high,
        other,
        np.empty(0, np.int64),
        np.empty(0, np.uint8),
        names,
        names,
        offsets,
        np.empty((0, 2), np.int64),
    )


def draw_guides(planes: GenomePlanes, n: int, seed: int = 2) -> list[str]:
    """Return protospacers of 20 nt that the genome has, either strand."""
    generator = np.random.default_rng(seed)
    guides: list[str] = []
    while len(guides) < n:
        start = int(generator.integers(0, planes.n_bases - 20))
        letters = planes.cut(start, start + 20).tobytes().decode()
        if not {*letters} <= {*"ACGT"}:
            continue
        if generator.random() < 0.5:
            letters = letters[::-1].translate(str.maketrans("ACGT", "TGCA"))
        guides.append(letters)
    return guides
