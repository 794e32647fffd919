"""K-mers of several inputs are those of sets, within any memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.sequences import kmer_parts as module
from genoviz.analyses.sequences.kmer_parts import iter_kmer_parts
from genoviz.analyses.sequences.kmer_sets import blocks_of, compare_kmers, gc_spectrum
from genoviz.errors import ParameterError
from genoviz.model import Sequences
from tests.analyses.sequences.test_kmer_parts import blocks_of as blocks_of_reads
from tests.analyses.sequences.test_kmer_parts import count

LETTERS = st.text("ACGT", max_size=60) | st.text("ACGTNacgtU", max_size=50)


def check(inputs, k, memory):
    """Compare with dictionaries; return what was found, and how many parts there were."""
    openers = [lambda reads=reads: blocks_of_reads(reads, 70) for reads in inputs]
    found, n = compare_kmers(openers, k, memory=memory), len(inputs)
    counts = [count(reads, k) for reads in inputs]
    everything = set().union(*counts)
    choices = {kmer: sum((kmer in c) << i for i, c in enumerate(counts)) for kmer in everything}
    wanted = Counter(choices.values())
    assert found.n_kmers.tolist() == [wanted[choice] for choice in range(1 << n)]
    places = np.zeros((1 << n, n), np.int64)
    for kmer, choice in choices.items():
        places[choice] += [c[kmer] for c in counts]
    assert (found.n_places == places).all()
    rows, n_parts = {}, 0
    for _, part in iter_kmer_parts(openers, k, memory=memory):
        if part is not None:
            assert (np.diff(part.keys.astype(object)) > 0).all()
            assert len(part.keys) * (24 + 16 * n) <= memory
            for letters, row in zip(part.letters(), part.counts.tolist(), strict=True):
                assert letters.tobytes().decode() not in rows
                rows[letters.tobytes().decode()] = row
            n_parts += 1
    assert rows == {kmer: [c[kmer] for c in counts] for kmer in everything}
    return found, n_parts


@given(
    st.lists(st.lists(LETTERS, max_size=5), min_size=1, max_size=4),
    st.integers(1, 32),
    st.sampled_from([3_000, 10**6]),
)
def test_they_are_those_of_dictionaries(inputs, k, memory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_MEMORY", 1)
        check([*inputs, inputs[0][:1]], k, memory)


def test_many_kmers_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(module, "MIN_MEMORY", 1)
    random = np.random.default_rng(3)
    text = "".join(random.choice(list("ACGT"), 4_000))
    reads = [text[at : at + 90] for at in random.integers(0, 3_910, 60).tolist()]
    # The input with the most k-mers, which decides on the parts, is at each place once.
    inputs = [[text], reads, [text[500:800]]]
    for turn in range(3):
        _, n_parts = check(inputs[turn:] + inputs[:turn], 15, 60_000)
        assert n_parts >= 4


def test_shares_are_those_of_sets():
    found, _ = check([["ACGTTGCAAC"], ["ACGTTGCCCC", "ACGTTG"]], 6, 10**9)
    one, other = (set(count(reads, 6)) for reads in (["ACGTTGCAAC"], ["ACGTTGCCCC"]))
    assert found.n_shared == len(one & other)
    assert found.jaccard(0, 1) == pytest.approx(len(one & other) / len(one | other))
    nothing, _ = check([[], ["A"]], 6, 10**9)
    assert np.isnan(nothing.jaccard(0, 1))


def test_sequences_are_blocks_that_no_kmer_crosses():
    sequences = Sequences.from_records([("a", "GATTA"), ("b", ""), ("c", "CAGAT")])
    blocks = [*blocks_of(sequences)]
    assert b"".join(letters.tobytes() for _, letters in blocks) == b"GATTA\n\nCAGAT\n"
    assert [share for share, _ in blocks] == sorted(share for share, _ in blocks)
    assert blocks[-1][0] == 1


@pytest.mark.parametrize("n", [0, 9])
def test_too_many_inputs_are_refused(n):
    with pytest.raises(ParameterError, match=f"needs 1 to 8 inputs, not {n}"):
        compare_kmers([list] * n, 5)


@given(st.lists(LETTERS, max_size=6), st.integers(1, 32), st.sampled_from([800, 10**6]))
def test_gc_contents_are_those_of_a_dictionary(reads, k, memory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_MEMORY", 1)
        found = gc_spectrum(lambda: blocks_of_reads(reads, 70), k, memory=memory)
    wanted = Counter((n, kmer.count("G") + kmer.count("C")) for kmer, n in count(reads, k).items())
    rows = zip(found.multiplicities.tolist(), found.n_kmers.tolist(), strict=True)
    assert {(n, gc): m for n, row in rows for gc, m in enumerate(row) if m} == wanted
    assert found.n_kmers.shape == (len(found.multiplicities), k + 1)
