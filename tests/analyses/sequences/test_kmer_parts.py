"""The spectrum of reads is that of a dictionary of their k-mers, within any memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.sequences import kmer_parts as module
from genoviz.analyses.sequences.kmer_spectrum import iter_read_spectrum, read_spectrum
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from tests.conftest import real_data

TURN = str.maketrans("ACGT", "TGCA")


def count(reads, k):
    """Return how many canonical k-mers occur how often, by a dictionary."""
    counts = Counter()
    for read in reads:
        read = read.upper().replace("U", "T")
        for start in range(len(read) - k + 1):
            kmer = read[start : start + k]
            if set(kmer) <= set("ACGT"):
                counts[min(kmer, kmer[::-1].translate(TURN))] += 1
    return counts


def blocks_of(reads, n_bytes):
    text = np.frombuffer("".join(f"{read}\n" for read in reads).encode(), np.uint8)
    cuts = range(0, max(len(text), 1), n_bytes)
    return [((at + n_bytes) / max(len(text), 1), text[at : at + n_bytes]) for at in cuts]


def check(reads, k, n_bytes, memory, backend="cpu"):
    blocks = blocks_of(reads, n_bytes)
    spectrum = read_spectrum(lambda: blocks, k, memory=memory, backend=backend)
    wanted = Counter(count(reads, k).values())
    assert (spectrum.k, spectrum.strand) == (k, "canonical")
    assert spectrum.multiplicities.tolist() == sorted(wanted)
    assert spectrum.n_kmers.tolist() == [wanted[n] for n in sorted(wanted)]


@given(
    st.lists(st.text("ACGT", max_size=60) | st.text("ACGTNacgtU", max_size=50), max_size=9),
    st.integers(1, 32),
    st.integers(1, 200),
    st.sampled_from([800, 3_000, 10**6]),
    st.sampled_from([40, 500]),
)
def test_it_is_that_of_a_dictionary(reads, k, n_bytes, memory, shortest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_MEMORY", 1)
        patch.setattr(module, "MIN_LETTERS", shortest)
        check(reads, k, n_bytes, memory)


def test_many_kmers_are_counted_in_parts(monkeypatch, backend):
    monkeypatch.setattr(module, "MIN_MEMORY", 1)
    random = np.random.default_rng(3)
    reads = ["".join(random.choice(list("ACGT"), 90)) for _ in range(60)] * 2 + ["A" * 400]
    check(reads, 15, 1000, 20_000, backend)
    blocks, n_passes = blocks_of(reads, 1000), 0

    def open_blocks():
        nonlocal n_passes
        n_passes += 1
        return blocks

    shares = list(iter_read_spectrum(open_blocks, 15, memory=20_000, backend=backend))
    assert n_passes >= 8
    assert shares == sorted(shares)
    assert shares[-1] <= 1


def test_what_is_out_of_range_is_said():
    for k in (0, 33):
        with pytest.raises(ParameterError, match=f"k is {k}, needs 1 to 32 for reads"):
            read_spectrum(list, k)
    with pytest.raises(ParameterError, match="memory is 1 MB, needs 64 MB or more"):
        read_spectrum(list, 21, memory=10**6)
    spectrum = read_spectrum(list, 21, memory=64 * 10**6)
    assert (spectrum.n_distinct, len(spectrum.multiplicities)) == (0, 0)


def test_a_bacterium_has_the_kmers_that_jellyfish_counts(backend):
    genome = read_sequences(real_data("genomes/ecoli_k12_mg1655.fna.gz"))
    blocks = [(1.0, genome.bases)]
    spectrum = read_spectrum(lambda: blocks, 21, memory=64 * 10**6, backend=backend)
    # What `jellyfish count -C -m 21` and `jellyfish stats` printed of this genome.
    assert (spectrum.n_distinct, spectrum.n_unique) == (4_543_891, 4_510_145)
