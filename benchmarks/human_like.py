"""A text with the repeats of a human genome, the same on every machine.

What makes suffixes hard to sort is how many of them share their first bases with another one. The
rates below are set so that these fractions are about those of a stretch of human genome with its
repeat families, duplications and satellites: 12 % at 18 bases, 4.3 % at 32, 1.6 % at 64.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LETTERS = np.frombuffer(b"ACGT", np.uint8)
AT_FRACTION = 0.63
# Families of interspersed repeats: fraction of the text, length of the consensus, shortest copy,
# least and greatest divergence from the consensus.
FAMILIES = (
    (0.100, 300, 250, 0.08, 0.20),
    (0.110, 6_100, 500, 0.09, 0.30),
    (0.040, 3_000, 200, 0.12, 0.30),
    (0.040, 1_500, 200, 0.12, 0.30),
    *((0.011, 700, 200, 0.12, 0.30),) * 10,
)
DUPLICATED = 0.05
SATELLITE = 0.03
MONOMER, MONOMERS = 171, 12
MICROSATELLITES = 0.012


def make_human_like(n_bases: int, seed: int = 1) -> np.ndarray:
    """Return the letters of a text with repeats; uint8, shape (n_bases,), A C G T only."""
    generator = np.random.default_rng(seed)
    bases = _random_bases(generator, n_bases)
    for fraction, length, shortest, least, greatest in FAMILIES:
        consensus = _random_bases(generator, length)
        mean = (shortest + length) // 2 if shortest > length // 2 else shortest * 2
        n_copies = int(fraction * n_bases / mean)
        drawn = shortest + generator.exponential(mean - shortest + 1, n_copies)
        _insert_copies(
            bases,
            consensus,
            generator.random(n_copies),
            np.minimum(drawn, length).astype(np.int64),
            generator.uniform(least, greatest, n_copies),
            generator.integers(0, 2, n_copies),
            generator,
        )
    _insert_satellites(bases, generator)
    _insert_microsatellites(bases, generator)
    _duplicate_segments(bases, generator)
    return LETTERS[bases]


def _random_bases(generator: np.random.Generator, n: int) -> np.ndarray:
    edges = np.cumsum([AT_FRACTION / 2, (1 - AT_FRACTION) / 2, (1 - AT_FRACTION) / 2])
    return np.searchsorted(edges, generator.random(n, np.float32)).astype(np.uint8)


@njit(cache=True)
def _insert_copies(bases, consensus, places, lengths, divergences, strands, generator):
    n = len(bases)
    for copy in range(len(places)):
        length = min(lengths[copy], n)
        start = np.int64(places[copy] * (n - length))
        for i in range(length):
            source = len(consensus) - length + i
            base = consensus[source]
            if generator.random() < divergences[copy]:
                base = (base + 1 + np.int64(generator.random() * 3)) & 3
            if strands[copy]:
                bases[start + length - 1 - i] = 3 - base
            else:
                bases[start + i] = base


def _insert_satellites(bases: np.ndarray, generator: np.random.Generator) -> None:
    """Put arrays of a higher-order repeat: variants of a monomer in a row, again and again."""
    n_arrays = max(len(bases) // 20_000_000, 1)
    length = int(SATELLITE * len(bases) / n_arrays)
    for _ in range(n_arrays):
        monomer = _random_bases(generator, MONOMER)
        unit = np.tile(monomer, MONOMERS)
        _mutate(unit, 0.25, generator)
        array = np.resize(unit, length)
        _mutate(array, 0.05, generator)
        start = int(generator.integers(0, len(bases) - length + 1))
        bases[start : start + length] = array


def _insert_microsatellites(bases: np.ndarray, generator: np.random.Generator) -> None:
    n_places = int(MICROSATELLITES * len(bases) / 30)
    starts = generator.integers(0, max(len(bases) - 60, 1), n_places).tolist()
    lengths = generator.integers(15, 46, n_places).tolist()
    periods = generator.choice([1, 2, 2, 3, 4], n_places).tolist()
    for start, length, period in zip(starts, lengths, periods, strict=True):
        unit = _random_bases(generator, period)
        part = bases[start : start + length]
        part[:] = np.resize(unit, len(part))


def _duplicate_segments(bases: np.ndarray, generator: np.random.Generator) -> None:
    n_left = int(DUPLICATED * len(bases))
    while n_left > 0:
        length = int(min(10 ** generator.uniform(3, 5.3), n_left, len(bases) // 2))
        source, target = generator.integers(0, len(bases) - length + 1, 2)
        copy = bases[source : source + length].copy()
        _mutate(copy, float(generator.uniform(0.001, 0.12)), generator)
        bases[target : target + length] = copy
        n_left -= max(length, 1)


def _mutate(bases: np.ndarray, rate: float, generator: np.random.Generator) -> None:
    places = generator.integers(0, len(bases), generator.binomial(len(bases), rate))
    bases[places] = (bases[places] + generator.integers(1, 4, len(places))) & 3
