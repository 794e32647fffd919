"""Suffix arrays: beside pydivsufsort and ``bwa index``, in the same run.

Texts: human-like ones (``human_like.py``); yeast; and a mixture of strains: yeast, E. coli and two
strains each of S. aureus and H. pylori, with mutated copies of them, cut to 6, 24 and 60 Mb; and
repeats of one unit and Fibonacci words, of 2 and 20 Mb.
Letters other than A C G T are A in all, as the peers index them so or at random.

pydivsufsort sorts one strand on one thread, as we do. ``bwa index`` (not a Python package) makes
the whole index of both strands, reads and writes files: it is what users wait for.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.bench_interval_count import peak_memory, threads
from benchmarks.human_like import LETTERS, make_human_like
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.analyses.sequences.suffix_array import common_prefixes, suffix_array
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences

SIZES = (6_000_000, 24_000_000, 60_000_000)
GENOMES = {
    "yeast": "sacCer3.2bit",
    "coli": "ecoli_k12_mg1655.fna.gz",
    "aureus COL": "saureus_COL.fa.gz",
    "aureus USA300": "saureus_USA300_FPR3757.fa.gz",
    "pylori G27": "hpylori_G27.fa.gz",
    "pylori Puno120": "hpylori_Puno120.fa.gz",
}
REPEATS = {
    "all A": (1, 0.0),
    "(AC)n": (2, 0.0),
    "period 7": (7, 0.0),
    "period 171": (171, 0.0),
    "period 171, 1 % changed": (171, 0.01),
}
"""Bases of the unit of repeats, and the fraction of all bases that is changed."""
FIBONACCI = "Fibonacci word"
REPEAT_SIZES = (2_000_000, 20_000_000)
# Genomes and the fractions of their bases that are mutated, in their order in the mixture.
MIXTURE = (
    ("aureus COL", 0.0),
    ("aureus USA300", 0.0),
    ("aureus COL", 0.0005),
    ("coli", 0.0),
    ("pylori G27", 0.0),
    ("pylori Puno120", 0.0),
    ("yeast", 0.0),
    ("coli", 0.01),
    ("coli", 0.02),
    ("aureus USA300", 0.001),
    ("aureus USA300", 0.005),
    ("pylori G27", 0.03),
    ("pylori Puno120", 0.03),
    ("pylori G27", 0.04),
    ("coli", 0.3),
    ("yeast", 0.35),
)
AGAINST_PYDIVSUFSORT = "Suffix arrays, against pydivsufsort"
AGAINST_BWA = "Suffix arrays, against the whole of `bwa index`"
PREFIXES = "Longest common prefixes, against pydivsufsort's"
ON_GPU = "Suffix arrays on one GPU"
DEPTHS = (18, 32, 64, 256)


def measure(backend: str) -> list[Row]:
    """Return the rows of one backend."""
    rows = []
    for name, letters in make_texts():
        if backend == "cuda":
            rows += measure_gpu(name, letters)
        else:
            rows += measure_cpu(name, letters)
    return sorted(rows, key=lambda row: row["benchmark"])


def make_texts() -> list[tuple[str, np.ndarray]]:
    """Return the names and letters of all texts."""
    texts = [(f"human-like, {n // 10**6} Mb", make_human_like(n)) for n in SIZES]
    texts += [
        (f"{name}, {n // 10**6} Mb", make_repeat(*REPEATS[name], n))
        for n in REPEAT_SIZES
        for name in REPEATS
    ]
    texts += [(f"{FIBONACCI}, {n // 10**6} Mb", make_fibonacci_word(n)) for n in REPEAT_SIZES]
    mixture = make_mixture()
    if mixture is None:
        print("  no real genomes here: texts of them are left out")
        return texts
    yeast = read_letters("yeast")
    return [
        *texts,
        (f"yeast, {len(yeast) / 1e6:.0f} Mb", yeast),
        *((f"mixture of strains, {n // 10**6} Mb", mixture[:n]) for n in SIZES),
    ]


def make_repeat(n_unit: int, rate: float, n_bases: int) -> np.ndarray:
    """Return a repeat of a unit; of one or two bases it is A or AC."""
    generator = np.random.default_rng(n_unit)
    unit = LETTERS[:n_unit] if n_unit <= 2 else LETTERS[generator.integers(0, 4, n_unit)]
    letters = np.resize(unit, n_bases)
    places = np.flatnonzero(generator.random(n_bases) < rate)
    letters[places] = LETTERS[generator.integers(0, 4, len(places))]
    return letters


def make_fibonacci_word(n_bases: int) -> np.ndarray:
    """Return the beginning of the word that is the one before, then the one before that."""
    shorter, longer = LETTERS[:1], LETTERS[:2]
    while len(longer) < n_bases:
        shorter, longer = longer, np.concatenate([longer, shorter])
    return longer[:n_bases].copy()


def read_letters(genome: str) -> np.ndarray | None:
    """Return the letters of all contigs of a real genome, or None where it is absent."""
    from genoviz.io.sequences.reader import read_sequences

    path = find_real_data(f"genomes/{GENOMES[genome]}")
    if path is None:
        return None
    letters = read_sequences(path).bases
    return np.where(np.isin(letters, LETTERS), letters, LETTERS[0])


def make_mixture() -> np.ndarray | None:
    """Return the mixture of strains, or None where a genome is absent."""
    generator = np.random.default_rng(7)
    parts = []
    for genome, rate in MIXTURE:
        letters = read_letters(genome)
        if letters is None:
            return None
        places = np.flatnonzero(generator.random(len(letters)) < rate)
        letters[places] = LETTERS[generator.integers(0, 4, len(places))]
        parts.append(letters)
    mixture = np.concatenate(parts)
    missing = max(SIZES) - len(mixture)
    return np.concatenate([mixture, LETTERS[generator.integers(0, 4, max(missing, 0))]])


def make_text(letters: np.ndarray) -> IndexText:
    """Return the text of letters as one contig."""
    offsets, masked = np.array([0, len(letters)]), np.empty((0, 2), np.int64)
    return make_index_text(Sequences(("text",), offsets, letters, masked))


def measure_cpu(name: str, letters: np.ndarray) -> list[Row]:
    """Return the time on one and two threads beside the peers, and the memory."""
    import pydivsufsort

    text = make_text(letters)
    start = time.perf_counter()
    expected = pydivsufsort.divsufsort(letters)
    peer = time.perf_counter() - start
    suffix_array(text, backend="cpu")
    with peak_memory() as memory:
        order = suffix_array(text, backend="cpu")
    n_bytes = memory[0] + text.packed.nbytes
    # The end of the text is the one exception, and the first row.
    assert order[0] == len(letters)
    np.testing.assert_array_equal(order[1:], expected)
    lengths = common_prefixes(text, order, backend="cpu")
    note = describe_ties(lengths)
    # Less than the array itself means that memory freed before was taken again.
    if n_bytes > order.nbytes:
        note += f"; peak {n_bytes / len(letters):.1f} bytes a base, text included"
    rows = []
    for n in (1, 2):
        with threads(n):
            ours = median_seconds(partial(suffix_array, text, backend="cpu"), n_runs=3)
        case = f"{name}, {n} thread{'s'[: n > 1]}"
        rows.append(
            make_row(
                AGAINST_PYDIVSUFSORT,
                case,
                ours=ours,
                peer=peer,
                unit="s",
                higher_is_better=False,
                note=note,
                in_readme=n > 1 and len(letters) == SIZES[-1],
            )
        )
    bwa = measure_bwa(letters)
    if bwa is not None:
        rows.append(
            make_row(AGAINST_BWA, case, ours=ours, peer=bwa, unit="s", higher_is_better=False)
        )
    if len(letters) == SIZES[-1]:
        start = time.perf_counter()
        peer_lengths = pydivsufsort.kasai(letters, expected)
        peer = time.perf_counter() - start
        np.testing.assert_array_equal(lengths[2:], peer_lengths[:-1])
        ours = median_seconds(partial(common_prefixes, text, order, backend="cpu"), n_runs=3)
        rows.append(
            make_row(PREFIXES, case, ours=ours, peer=peer, unit="s", higher_is_better=False)
        )
    return rows


def describe_ties(lengths: np.ndarray) -> str:
    """Return which fractions of suffixes share some first bases with another one."""
    longest = np.maximum(lengths, np.append(lengths[1:], 0))
    shares = ", ".join(f"{(longest >= depth).mean():.2%} at {depth}" for depth in DEPTHS)
    return f"tied: {shares}"


def measure_bwa(letters: np.ndarray) -> float | None:
    """Return the time of ``bwa index``, or None where there is no bwa."""
    bwa = shutil.which("bwa")
    if bwa is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.fa"
        path.write_bytes(b">text\n" + letters.tobytes() + b"\n")
        start = time.perf_counter()
        subprocess.run([bwa, "index", path], check=True, capture_output=True)
        return time.perf_counter() - start


def measure_gpu(name: str, letters: np.ndarray) -> list[Row]:
    """Return the time with the text on the GPU, beside that of our CPU kernels."""
    import cupy

    from genoviz.kernels.suffix_sort import cuda

    text = make_text(letters)
    expected = suffix_array(text, backend="cpu")
    packed, exceptions = cupy.asarray(text.packed), cupy.asarray(text.exceptions)
    order = cupy.empty(text.n_symbols, cupy.uint32)

    def sort() -> None:
        for _ in cuda.iter_sort_suffixes(packed, text.n_symbols, exceptions, order):
            pass
        cupy.cuda.Device().synchronize()

    seconds = median_seconds(sort, n_runs=5)
    np.testing.assert_array_equal(order.get(), expected)
    on_cpu = median_seconds(partial(suffix_array, text, backend="cpu"), n_runs=1)
    return [
        make_row(
            ON_GPU,
            name,
            ours=seconds * 1e3,
            peer=on_cpu * 1e3,
            unit="ms",
            higher_is_better=False,
            note=f"{len(letters) / seconds / 1e9:.2f} Gb/s; the peer is genoviz on the CPU",
            in_readme=len(letters) == SIZES[-1],
        )
    ]
