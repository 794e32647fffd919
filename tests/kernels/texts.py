"""Texts whose suffixes are hard to sort, as arrays for kernels."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences


def make_text(*contigs: str) -> IndexText:
    records = [(f"contig{i}", letters) for i, letters in enumerate(contigs)]
    return make_index_text(Sequences.from_records(records))


def random_letters(generator: np.random.Generator, n: int, letters: str = "ACGT") -> str:
    return "".join(generator.choice(list(letters), n))


def fibonacci_letters(n: int) -> str:
    shorter, longer = "A", "AC"
    while len(longer) < n:
        shorter, longer = longer, longer + shorter
    return longer[:n]


def de_bruijn_letters(order: int) -> str:
    """Return a de Bruijn sequence, which has each k-mer once, by concatenating Lyndon words."""
    letters, word = [], [-1]
    while word:
        word[-1] += 1
        if order % len(word) == 0:
            letters += word
        word = [word[i % len(word)] for i in range(order)]
        while word and word[-1] == 3:
            word.pop()
    return "".join("ACGT"[letter] for letter in letters)


def mutated(generator: np.random.Generator, letters: str, rate: float) -> str:
    bases = np.frombuffer(letters.encode(), np.uint8).copy()
    places = np.flatnonzero(generator.random(len(bases)) < rate)
    bases[places] = generator.choice(np.frombuffer(b"ACGT", np.uint8), len(places))
    return bases.tobytes().decode()


def _copies() -> list[str]:
    letters = random_letters(np.random.default_rng(1), 100_000)
    return [letters, letters]


def _strains() -> list[str]:
    generator = np.random.default_rng(2)
    first = random_letters(generator, 30_000)
    return [first, *(mutated(generator, first, rate) for rate in (0.0003, 0.001, 0.01, 0.1))]


def _families() -> list[str]:
    """Return copies of a repeat, so many that groups are large at every depth."""
    generator = np.random.default_rng(3)
    family = random_letters(generator, 700)
    return ["".join(mutated(generator, family, 0.005) for _ in range(200))]


def _dense_exceptions() -> list[str]:
    generator = np.random.default_rng(4)
    few = [random_letters(generator, n) for n in (5, 5, 9, 33)]
    return [few[i] for i in generator.integers(0, 4, 3_000)]


def _poly_a() -> list[str]:
    """Return runs of all lengths, before a base, an exception and each other."""
    return ["C".join("A" * n for n in range(300)), "G".join("T" * n for n in range(90)), "A" * 99]


TEXTS = {
    "no contigs": list,
    "empty contigs": lambda: ["", "", ""],
    "one base": lambda: ["G"],
    "all A": lambda: ["A" * 600_000],  # more than a chunk of any kernel
    "all T": lambda: ["T" * 100_000],
    "AC again and again": lambda: ["AC" * 100_000],
    "a satellite": lambda: [random_letters(np.random.default_rng(5), 171) * 1_000],
    "long runs": lambda: [("A" * 3_000 + "C" + "T" * 2_000 + "G") * 20],
    "runs of every length": _poly_a,
    "Fibonacci": lambda: [fibonacci_letters(200_000)],
    "de Bruijn": lambda: [de_bruijn_letters(8)],
    "two copies": _copies,
    "strains": _strains,
    "families": _families,
    "all N": lambda: ["N" * 1_000, "NRY"],
    "N at both ends": lambda: ["N" * 50 + "GATTACA" * 9 + "N" * 50, "NACGTN"],
    "a thousand contigs of a base": lambda: list(random_letters(np.random.default_rng(6), 1_000)),
    "dense exceptions": _dense_exceptions,
    "N in every word": lambda: ["ACGTTGCAN" * 3_000],
    "random": lambda: [random_letters(np.random.default_rng(7), 300_000)],
}
