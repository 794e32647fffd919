"""The FM-index is exact: its BWT spells the text again, whatever the text."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.sequences.fm_index import (
    STAGES,
    build_fm_index,
    default_table_k,
    invert_bwt,
    iter_build_fm_index,
)
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.analyses.sequences.kmer_queries import count_kmers
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data
from tests.oracles.kmers import sort_suffixes


def genome(*sequences):
    return Sequences.from_records([(f"contig {i}", s) for i, s in enumerate(sequences)])


def fibonacci(length):
    a, b = "A", "AC"
    while len(b) < length:
        a, b = b, b + a
    return b[:length]


def de_bruijn(k):
    """All k-mers once, by the least sequence that has them (prefer-largest greedy)."""
    seen, text = {"A" * k}, "A" * k
    while True:
        for base in "TGCA":
            kmer = text[-k + 1 :] + base
            if kmer not in seen:
                seen.add(kmer)
                text += base
                break
        else:
            return text


def random_bases(n, seed=0):
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), n))


COPY = random_bases(100_000)
FIXTURES = {
    "no contigs": (),
    "an empty contig": ("",),
    "one base": ("G",),
    "all A": ("A" * 1_000_000,),
    "two bases in turn": ("AC" * 20_000,),
    "Fibonacci": (fibonacci(50_000),),
    "de Bruijn": (de_bruijn(7),),
    "two copies": (COPY + "T" + COPY,),
    "two equal contigs": (COPY[:30_000], COPY[:30_000]),
    "all N": ("N" * 5_000,),
    "N at both ends": ("NNN" + random_bases(3_000) + "NN",),
    "IUPAC within": ("ACGTRYACGTNACGKT" * 50,),
    "contigs of one base": tuple(random_bases(1_000)),
    "lower case": (random_bases(5_000).lower(),),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_the_bwt_spells_the_text_again(name):
    text = make_index_text(genome(*FIXTURES[name]))
    index = build_fm_index(text, backend="cpu")
    np.testing.assert_array_equal(invert_bwt(index, backend="cpu"), text.symbols())


@pytest.mark.parametrize("path", ["genomes/ecoli_k12_mg1655.fna.gz", "genomes/sacCer3.2bit"])
def test_the_bwt_of_a_genome_spells_it_again(path):
    text = make_index_text(read_sequences(real_data(path)))
    index = build_fm_index(text, sample_rate=32, backend="cpu")
    np.testing.assert_array_equal(invert_bwt(index, backend="cpu"), text.symbols())


@settings(max_examples=60)
@given(
    st.lists(st.text("ACGTN", max_size=40), max_size=6),
    st.sampled_from([1, 2, 8]),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_any_text_is_spelled_again(sequences, sample_rate, table_k, super_shift):
    text = make_index_text(genome(*sequences))
    index = build_fm_index(
        text,
        sample_rate=sample_rate,
        table_k=table_k,
        super_shift=super_shift,
        backend="cpu",
    )
    symbols = text.symbols()
    np.testing.assert_array_equal(invert_bwt(index, backend="cpu"), symbols)
    assert index.samples.tolist() == sort_suffixes(symbols.tolist())[::sample_rate]


@given(st.text("ACGTN", max_size=300))
def test_runs_of_the_bwt_are_counted(sequence):
    text = make_index_text(genome(sequence, "ACA"))
    index = build_fm_index(text, backend="cpu")
    symbols = text.symbols()
    bwt = symbols[np.array(sort_suffixes(symbols.tolist())) - 1]
    starts = (bwt == 4) | (np.roll(bwt, 1) != bwt)
    starts[0] = True
    assert index.n_runs == int(starts.sum())


def test_building_tells_how_far_it_is():
    steps = list(iter_build_fm_index(genome(random_bases(40_000)), backend="cpu"))
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert (fractions[0] > 0, fractions[-1]) == (True, 1.0)
    assert [stage for stage in STAGES if stage in {step.stage for step in steps}] == [*STAGES]
    assert set(steps[-1].seconds) == {*STAGES}
    assert min(steps[-1].seconds.values()) >= 0
    assert [step.index is None for step in steps] == [True] * (len(steps) - 1) + [False]
    assert steps[-1].tied_fractions == steps[-2].tied_fractions


def test_memory_is_that_of_the_arrays():
    index = build_fm_index(genome(random_bases(100_000)), backend="cpu")
    assert index.bytes_of_parts["lines"] == (100_001 // 128 + 1) * 64
    assert index.bytes_of_parts["samples"] == 4 * 100_001
    assert index.bytes_of_parts["start_table"] == 8 * 4**index.table_k
    assert index.n_bytes == sum(index.bytes_of_parts.values())
    assert index.lines.ctypes.data % 64 == 0
    assert not index.lines.flags.writeable
    assert repr(index).startswith("FMIndex(100,000 bases of 1 contig, every row located")
    assert build_fm_index(genome("ACGT"), sample_rate=8, backend="cpu").suffix_array is None


@pytest.mark.parametrize(
    ("n_symbols", "expected"), [(0, 0), (7, 0), (8, 1), (200_000, 8), (60_000_000, 12), (2**34, 12)]
)
def test_the_table_takes_at_most_four_bytes_a_symbol(n_symbols, expected):
    assert default_table_k(n_symbols) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_rate": 3}, "sample_rate is 3, needs a power of two"),
        ({"sample_rate": 0}, "sample_rate is 0, needs a power of two"),
        ({"table_k": 13}, "table_k is 13, needs 0 to 12"),
        ({"super_shift": 25}, "super_shift is 25, needs 0 to 24"),
    ],
)
def test_options_out_of_range_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        build_fm_index(genome("ACGT"), backend="cpu", **options)


def test_arrays_that_do_not_fit_are_refused():
    index = build_fm_index(genome("ACGT" * 100), backend="cpu")
    with pytest.raises(ParameterError, match=r"lines is uint64 \(3, 8\), needs uint64 \(4, 8\)"):
        dataclasses.replace(index, lines=index.lines[:3])
    with pytest.raises(ParameterError, match=r"samples is uint32 \(401,\), needs uint32 \(101,\)"):
        dataclasses.replace(index, sample_rate=4)


def test_a_damaged_bwt_is_noticed():
    index = build_fm_index(genome(random_bases(2_000)), backend="cpu")
    lines = index.lines.copy()
    lines[3, 2] ^= np.uint64(1 << 17)
    damaged = dataclasses.replace(index, lines=lines)
    with pytest.raises(ParameterError, match="chains do not end where the next one began"):
        invert_bwt(damaged, backend="cpu")


@pytest.mark.parametrize("super_shift", [0, 3])
def test_small_superblocks_change_nothing(super_shift):
    sequences = genome(random_bases(30_000), random_bases(10_000, 1))
    kmers = [random_bases(k, k) for k in range(1, 12)]
    usual = build_fm_index(sequences, backend="cpu")
    small = build_fm_index(sequences, super_shift=super_shift, backend="cpu")
    expected = count_kmers(usual, kmers, backend="cpu")
    np.testing.assert_array_equal(count_kmers(small, kmers, backend="cpu"), expected)
