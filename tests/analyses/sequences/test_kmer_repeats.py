from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genoviz.analyses.sequences import kmer_groups
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.analyses.sequences.kmer_groups import FEW, clear_short, mark_short
from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
from genoviz.analyses.sequences.suffix_array import common_prefixes as find_common_prefixes
from genoviz.analyses.sequences.suffix_array import suffix_array
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data
from tests.oracles.kmer_counts import count_all, kmers_of, turn
from tests.oracles.suffix_array import common_prefixes, sort_suffixes

STRANDS = ["forward", "canonical"]
FIXTURES = [
    [],
    [""],
    ["A"],
    ["N"],
    ["A" * 70],
    ["AC" * 60 + "N" + "GT" * 40],
    ["NNACGTACGTN", "ACGT", "", "RACGT"],
    ["ACGTTGCAACGATTAGCCGATAAGT" * 4, "ACTTATCGGCTAATCGTTGCAACGT" * 3],
    ["A"] * 50,
]

contigs = st.lists(
    st.one_of(
        st.text("AC", max_size=60),
        st.text("ACGTN", max_size=80),
        st.tuples(st.text("ACGT", min_size=1, max_size=40), st.integers(1, 6)).map(
            lambda pair: pair[0] * pair[1] + turn(pair[0])
        ),
    ),
    max_size=5,
)


def repeats_of(texts):
    text = make_index_text(
        Sequences.from_records([(f"c{i}", contig) for i, contig in enumerate(texts)])
    )
    symbols = text.symbols()
    order = sort_suffixes(symbols)
    lcp = common_prefixes(symbols, order)
    return KmerRepeats(text, np.array(order, np.uint32), np.array(lcp, np.uint32))


def longest_stretch(texts):
    return max((len(part) for text in texts for part in re.split("[^ACGT]", text)), default=0)


def check_refusals(repeats, texts, k):
    longest = longest_stretch(texts)
    needed = f"1 to {longest:,}" if longest else "a text with bases"
    bases = "1 base" if longest == 1 else f"{longest:,} bases"
    words = f"k is {k:,}, and the longest stretch of A C G T has {bases}; needs {needed}"
    for ask in (
        repeats.spectrum,
        repeats.track,
        lambda k, strand: repeats.kmers_with(k, 1, strand=strand),
        lambda k, strand: repeats.multiplicity(k, 0, 0, 0, strand),
        lambda k, strand: repeats.bins(k, 0, np.array([0, 1]), strand),
    ):
        for strand in STRANDS:
            with pytest.raises(ParameterError) as error:
                ask(k, strand)
            assert str(error.value) == words
    with pytest.raises(ParameterError) as error:
        repeats.distinct(k)
    assert str(error.value) == f"max_{words}"


def check_spectra(repeats, texts, k):
    for strand in STRANDS:
        counts = count_all(texts, k, strand)
        expected = Counter(counts.values())
        spectrum = repeats.spectrum(k, strand)
        found = zip(spectrum.multiplicities.tolist(), spectrum.n_kmers.tolist(), strict=True)
        assert list(found) == sorted(expected.items())
        assert spectrum.n_distinct == len(counts)
        assert spectrum.n_unique == expected[1]
        assert spectrum.n_total == sum(counts.values())
        assert spectrum.max_multiplicity == max(counts.values(), default=0)


def check_multiplicities(repeats, texts, k):
    for strand in STRANDS:
        counts = count_all(texts, k, strand)
        for contig, kmers in enumerate(kmers_of(texts, k)):
            keys = [
                kmer if kmer is None or strand == "forward" else min(kmer, turn(kmer))
                for kmer in kmers
            ]
            expected = [0 if key is None else counts[key] for key in keys]
            found = repeats.multiplicity(k, contig, 0, len(kmers), strand)
            assert found.tolist() == expected
            middle = len(kmers) // 3
            found = repeats.multiplicity(k, f"c{contig}", middle, len(kmers), strand)
            assert found.tolist() == expected[middle:]
            check_bins(repeats, contig, expected, k, strand)


def check_bins(repeats, contig, expected, k, strand):
    edges = np.unique(np.linspace(0, len(expected), 7).astype(int))
    bins = repeats.bins(k, contig, edges, strand)
    parts = [np.array(expected[a:b]) for a, b in pairwise(edges)]
    assert bins.n_kmers.tolist() == [int((part > 0).sum()) for part in parts]
    assert bins.maxima.tolist() == [int(part.max()) for part in parts]
    means = [part.sum() / max((part > 0).sum(), 1) for part in parts]
    assert bins.means.tolist() == pytest.approx(means)


def check_lists(repeats, texts, k):
    for strand in STRANDS:
        counts = count_all(texts, k, strand)
        present = count_all(texts, k, "forward")
        first = {kmer: kmer if kmer in present else turn(kmer) for kmer in counts}
        by_count = sorted(counts.items(), key=lambda item: (-item[1], first[item[0]]))
        pages = [
            repeats.kmers_with(k, 1, strand=strand, limit=3, offset=o) for o in range(0, 12, 3)
        ]
        found = [pair for page in pages for pair in zip(page.kmers, page.counts, strict=True)]
        assert found == by_count[:12]
        assert {page.n_all for page in pages} == {len(counts)}
        listed = repeats.kmers_with(k, 2, 4, strand=strand, order="kmer", limit=10**6)
        expected = sorted((first[kmer], kmer, n) for kmer, n in counts.items() if 2 <= n <= 4)
        found = list(zip(listed.kmers, listed.counts, strict=True))
        assert found == [pair[1:] for pair in expected]
        check_places(listed, texts, k, strand)


def check_places(listed, texts, k, strand):
    places = {}
    for contig, kmers in enumerate(kmers_of(texts, k)):
        for start, kmer in enumerate(kmers):
            if kmer is not None:
                key = kmer if strand == "forward" else min(kmer, turn(kmer))
                places.setdefault(key, (contig, start, 1 if key == kmer else -1))
    columns = (listed.contig_ids, listed.starts, listed.strands)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == [places[kmer] for kmer in listed.kmers]


@pytest.mark.parametrize("texts", FIXTURES, ids=lambda texts: "-".join(texts)[:20] or "empty")
@pytest.mark.parametrize("k", [1, 2, 3, 4, 8, 31, 32, 33, 50, 64, 65, 100])
def test_all_that_is_told_equals_counting(texts, k):
    repeats = repeats_of(texts)
    if k > longest_stretch(texts):
        check_refusals(repeats, texts, k)
        return
    check_spectra(repeats, texts, k)
    check_multiplicities(repeats, texts, k)
    # By now the pairs of k-mers are known, and the spectrum is that of the pairs.
    check_spectra(repeats, texts, k)
    check_lists(repeats, texts, k)


@given(contigs, st.integers(1, 80))
@example(["ACGT" * 20, "TTTT"], 40)
def test_any_text_and_any_k(texts, k):
    repeats = repeats_of(texts)
    if k > longest_stretch(texts):
        check_refusals(repeats, texts, k)
        return
    check_spectra(repeats, texts, k)
    check_multiplicities(repeats, texts, k)
    # By now the pairs of k-mers are known, and the spectrum is that of the pairs.
    check_spectra(repeats, texts, k)
    check_lists(repeats, texts, k)


@given(contigs)
def test_different_kmers_for_every_k_at_once(texts):
    repeats = repeats_of(texts)
    longest = longest_stretch(texts)
    if longest == 0:
        check_refusals(repeats, texts, 1)
        return
    found = repeats.distinct(min(longest, 40))
    assert found.ks.tolist() == list(range(1, min(longest, 40) + 1))
    assert len(repeats.distinct().ks) == longest
    for k in {min(k, longest) for k in (1, 2, 3, 7, 20, 40)}:
        counts = count_all(texts, k, "forward")
        assert found.n_distinct[k - 1] == len(counts)
        assert found.n_unique[k - 1] == sum(n == 1 for n in counts.values())
        assert found.n_total[k - 1] == sum(counts.values())
    assert repeats.longest_repeat == repeats.lcp.max(initial=0)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 64, 200])
def test_no_kmer_begins_where_an_exception_is_among_its_letters(k):
    exceptions, n = np.array([0, 1, 4, 63, 64, 129, 131]), 132
    begins = [not any(i <= place < i + k for place in exceptions) for i in range(n)]
    values = np.arange(1, n + 1)
    clear_short(exceptions, k, values)
    assert values.tolist() == [i + 1 if begins[i] else 0 for i in range(n)]
    bits = mark_short(exceptions, n, k)
    assert [not int(bits[i // 64]) >> i % 64 & 1 for i in range(n)] == begins


@pytest.mark.parametrize("n", [FEW - 1, FEW, 3 * FEW + 7, 200_000])
def test_large_groups_are_counted_over_chunks(n):
    # All A: the suffix array and its common prefixes are known without sorting.
    text = make_index_text(Sequences.from_records([("c0", "A" * n)]))
    order = np.arange(n, -1, -1).astype(np.uint32)
    lcp = np.append(0, np.arange(n)).astype(np.uint32)
    repeats = KmerRepeats(text, order, lcp)
    for k in (1, 2, n // 2, n - 1, n):
        expected = [n - k + 1]
        assert repeats.spectrum(k).multiplicities.tolist() == expected
        assert repeats.spectrum(k).n_kmers.tolist() == [1] * len(expected)
        assert repeats.spectrum(k, "canonical").multiplicities.tolist() == expected
    bins = repeats.bins(2, 0, np.array([0, 1_000, n]))
    assert bins.means.tolist() == [n - 1] * 2
    assert bins.n_kmers.tolist() == [1_000, n - 1_001]


def test_bins_beyond_a_contig_have_no_kmers():
    repeats = repeats_of(["ACGTACGT", "ACGNTT"])
    bins = repeats.bins(3, "c1", np.array([-9, -2, 1, 50, 60]))
    assert bins.n_kmers.tolist() == [0, 1, 0, 0]
    assert bins.maxima.tolist() == [0, 3, 0, 0]
    assert repeats.bins(3, "c0", np.array([4])).means.tolist() == []


def test_what_is_out_of_range_is_refused():
    repeats = repeats_of(["ACGTACGT"])
    with pytest.raises(ParameterError, match="k is 0, needs to be 1 or more"):
        repeats.spectrum(0)
    with pytest.raises(ParameterError, match="strand is 'both', needs one of forward, canonical"):
        repeats.spectrum(3, "both")
    with pytest.raises(ParameterError, match="max_k is 0, needs to be 1 or more"):
        repeats.distinct(0)
    with pytest.raises(ParameterError, match=r"c0:2-9 is not within its 8 bp"):
        repeats.multiplicity(3, "c0", 2, 9)
    with pytest.raises(ParameterError, match="no contig is named 'x'; there are 1: c0"):
        repeats.bins(3, "x", np.array([0, 3]))
    with pytest.raises(ParameterError, match="limit is -1"):
        repeats.kmers_with(3, 1, limit=-1)
    with pytest.raises(ParameterError, match=r"common prefixes are \(2,\), need \(9,\)"):
        KmerRepeats(repeats.text, repeats.suffix_array, repeats.lcp[:2])


@pytest.mark.parametrize("k", [1, 2, 7, 33, 300])
def test_chunks_of_rows_are_put_together(k):
    random = np.random.default_rng(k)
    unit = "".join(random.choice(list("ACGT"), 400))
    noise = "".join(random.choice(list("AC"), 1_500))
    texts = [unit * 3 + noise, turn(unit) + "N" + "A" * 900, "AT" * 300]
    repeats = repeats_of(texts)
    check_spectra(repeats, texts, k)
    check_multiplicities(repeats, texts, k)
    # By now the pairs of k-mers are known, and the spectrum is that of the pairs.
    check_spectra(repeats, texts, k)
    check_lists(repeats, texts, k)


def test_ecoli_has_the_kmers_that_jellyfish_counts():
    text = make_index_text(read_sequences(real_data("genomes/ecoli_k12_mg1655.fna.gz")))
    order = suffix_array(text, backend="cpu")
    repeats = KmerRepeats(text, order, find_common_prefixes(text, order, backend="cpu"))
    forward, canonical = (repeats.spectrum(21, strand) for strand in STRANDS)
    assert (forward.n_distinct, forward.n_unique, forward.max_multiplicity) == (
        4_562_542,
        4_525_684,
        43,
    )
    assert (canonical.n_distinct, canonical.n_unique) == (4_543_891, 4_510_145)
    assert forward.n_total == canonical.n_total == 4_641_652 - 20
    curve = repeats.distinct(100)
    assert (curve.n_distinct[20], curve.n_unique[20]) == (4_562_542, 4_525_684)
    values = repeats.multiplicity(21, 0, 0, 4_641_652)
    assert (values == 1).sum() == 4_525_684
    assert (values[-21:] > 0).tolist() == [True] + [False] * 20


@pytest.mark.parametrize("k", [3, 12, 40])
def test_counts_in_slices_are_those_in_one_go(monkeypatch, k):
    rng = np.random.default_rng(k)
    unit = "".join(rng.choice([*"ACGT"], 12_000))
    texts = [unit + "N" + turn(unit[:7_000]), unit[2_000:9_000] + "ACGT" * 500]
    text = make_index_text(Sequences.from_records(zip("ab", texts, strict=True)))
    order = suffix_array(text, backend="cpu")
    lcp = find_common_prefixes(text, order, backend="cpu")
    found = {}
    for n_slices in (1, 8):
        monkeypatch.setattr(kmer_groups, "N_SLICES", n_slices)
        for strand in STRANDS:
            for name, arguments in (
                ("spectrum", (k, strand)),
                ("track", (k, strand)),
                ("distinct", (k,)),
            ):
                steps = getattr(KmerRepeats(text, order, lcp), f"iter_{name}")(*arguments)
                shares = []
                while True:
                    try:
                        shares.append(next(steps))
                    except StopIteration as end:
                        found.setdefault((name, strand), []).append(end.value)
                        break
                assert shares == sorted(shares)
                assert shares[-1] == 1
                assert len(shares) >= n_slices
    for strand in STRANDS:
        expected = Counter(count_all(texts, k, strand).values())
        for spectrum in found["spectrum", strand]:
            pairs = zip(spectrum.multiplicities.tolist(), spectrum.n_kmers.tolist(), strict=True)
            assert list(pairs) == sorted(expected.items())
        one, other = found["track", strand]
        np.testing.assert_array_equal(one.values, other.values)
        one, other = found["distinct", strand]
        for column in ("ks", "n_distinct", "n_unique", "n_total"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    counts = [len(count_all(texts, size, "forward")) for size in (1, k)]
    assert found["distinct", "forward"][1].n_distinct[[0, k - 1]].tolist() == counts


class Raced(KmerRepeats):
    """Somebody else asks for another k as soon as something was computed: it is not kept."""

    def __setattr__(self, name, value):
        super().__setattr__(name, None if name in ("_groups", "_track", "_spectrum") else value)


@pytest.mark.parametrize("strand", STRANDS)
@pytest.mark.parametrize("k", [3, 40])
def test_threads_that_ask_for_different_ks_get_their_own_answers(k, strand):
    alone = repeats_of(FIXTURES[5])
    raced = Raced(alone.text, alone.suffix_array, alone.lcp)
    found, expected = raced.spectrum(k, strand), alone.spectrum(k, strand)
    assert found.multiplicities.tolist() == expected.multiplicities.tolist()
    assert found.n_kmers.tolist() == expected.n_kmers.tolist()
    assert raced.track(k, strand).values.tolist() == alone.track(k, strand).values.tolist()
