"""K-mers of reads and of an assembly are those of two dictionaries, within any memory."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.sequences import kmer_parts as module
from genoviz.analyses.sequences.copy_spectrum import absent_stretches, copy_spectrum
from genoviz.errors import ParameterError
from genoviz.model import Sequences
from tests.analyses.sequences.test_kmer_parts import TURN, blocks_of, count

LETTERS = st.text("ACGT", max_size=60) | st.text("ACGTNacgtU", max_size=50)


def check(reads, contigs, k, memory):
    """Compare with two dictionaries; return what was found."""
    blocks = blocks_of(reads, 40)
    assembly = Sequences.from_records((f"c{n}", text) for n, text in enumerate(contigs))
    found = copy_spectrum(lambda: blocks, assembly, k, memory=memory)
    of_reads, of_assembly = count(reads, k), count(contigs, k)
    wanted = Counter((of_reads[kmer], min(of_assembly[kmer], 5)) for kmer in of_reads | of_assembly)
    rows = zip(found.multiplicities.tolist(), found.n_kmers.tolist(), strict=True)
    shown = {(multiplicity, c): n for multiplicity, row in rows for c, n in enumerate(row) if n}
    assert shown == wanted
    absent = {kmer: n for kmer, n in of_assembly.items() if kmer not in of_reads}
    assert (found.n_places, found.n_absent) == (of_assembly.total(), sum(absent.values()))
    codes = sorted(int(kmer.translate(str.maketrans("ACGT", "0123")), 4) for kmer in absent)
    assert found.absent.tolist() == codes
    covered = set()
    for contig, text in enumerate(contigs):
        text = text.upper().replace("U", "T")
        for start in range(len(text) - k + 1):
            kmer = text[start : start + k]
            if min(kmer, kmer[::-1].translate(TURN)) in absent:
                covered |= {(f"c{contig}", at) for at in range(start, start + k)}
    stretches = absent_stretches(assembly, found)
    names = [stretches.contigs[contig] for contig in stretches.contig_ids.tolist()]
    places = [*zip(names, stretches.starts.tolist(), stretches.ends.tolist(), strict=True)]
    assert covered == {(name, at) for name, start, end in places for at in range(start, end)}
    assert all(one[0] != other[0] or one[2] < other[1] for one, other in pairwise(places))
    return found


@given(
    st.lists(LETTERS, max_size=7),
    st.lists(LETTERS, max_size=4),
    st.integers(1, 32),
    st.sampled_from([1_600, 10**6]),
)
def test_they_are_those_of_two_dictionaries(reads, contigs, k, memory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_MEMORY", 1)
        check(reads, contigs + reads[:1], k, memory)


def test_both_are_counted_in_the_same_parts(monkeypatch):
    monkeypatch.setattr(module, "MIN_MEMORY", 1)
    random = np.random.default_rng(3)
    text = "".join(random.choice(list("ACGT"), 4_000))
    reads = [text[at : at + 90] for at in random.integers(0, 3_910, 200).tolist()]
    # Once the reads, once the assembly has more k-mers than the memory holds.
    found = check(reads, [text[:900], text[500:700]], 15, 40_000)
    assert found.n_absent < found.n_places
    check(reads[:20], [text, text[:300] * 6], 15, 40_000)


def test_quality_and_completeness_are_those_of_merqury():
    random = np.random.default_rng(5)
    genome = "".join(random.choice(list("ACGT"), 20_000))
    # At all places but the ends, k-mers are in 8 reads.
    reads = [genome[at : at + 100] for at in range(0, 20_000, 10)]
    broken = genome[:7_000] + TURN_ONE[genome[7_000]] + genome[7_001:15_000]
    found = check(reads, [broken], 21, 10**9)
    assert found.n_absent == 21
    rate = 1 - (1 - 21 / (15_000 - 20)) ** (1 / 21)
    assert found.error_rate == pytest.approx(rate)
    assert found.quality == pytest.approx(-10 * math.log10(rate))
    kept = {genome[at : at + 21] for at in range(15_000 - 20) if not at <= 7_000 < at + 21}
    everything = {genome[at : at + 21] for at in range(20_000 - 20)}
    assert found.completeness(1) == pytest.approx(len(kept) / len(everything))
    perfect = check(reads, [genome], 21, 10**9)
    assert (perfect.error_rate, perfect.quality, perfect.completeness(2)) == (0, math.inf, 1)


TURN_ONE = {"A": "C", "C": "G", "G": "T", "T": "A"}


def test_nothing_has_no_quality_and_no_peak():
    found = check([], [], 5, 10**9)
    assert math.isnan(found.error_rate)
    assert math.isnan(found.quality)
    assert math.isnan(found.completeness(1))
    with pytest.raises(ParameterError, match="the spectrum falls"):
        found.find_solid()
    all_wrong = check(["AAAAAA"], ["CCCCCC"], 5, 10**9)
    assert (all_wrong.error_rate, all_wrong.quality) == (1, 0)
