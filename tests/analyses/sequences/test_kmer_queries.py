"""Counts, hits and traces of k-mers against looking at every place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.sequences import kmer_branches, kmer_hits
from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.sequences.kmer_hits import hit_contexts, locate_kmer, locate_kmers
from genoviz.analyses.sequences.kmer_queries import count_kmers, iter_count_kmers, kmer_rows
from genoviz.analyses.sequences.kmer_trace import bwt_window, trace_kmer
from genoviz.analyses.sequences.kmers import MAX_LETTERS, Kmer, PackedKmers, are_few, count_few
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data
from tests.oracles.kmers import find_both, find_forward, reverse_complement, sort_suffixes

STRANDS = ("forward", "both", "canonical")


def build(sequences, **options):
    records = [(f"contig {i}", sequence) for i, sequence in enumerate(sequences)]
    return build_fm_index(Sequences.from_records(records), **options)


def random_bases(n, seed=0):
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), n))


def rows_of(hits):
    columns = (hits.contig_ids, hits.starts, hits.strands)
    return list(zip(*(column.tolist() for column in columns), strict=True))


texts = st.lists(st.text("ACGTacgtNR", max_size=60), max_size=4)
plain_kmers = st.lists(st.text("ACGTU", min_size=1, max_size=5), min_size=1, max_size=8)
any_kmers = st.lists(st.text("ACGTRYSWKMBDHVNacgt", min_size=1, max_size=4), max_size=6)


@settings(max_examples=80)
@given(texts, plain_kmers, any_kmers, st.sampled_from([1, 4]), st.integers(0, 3))
def test_counts_and_hits_are_all_places(sequences, plain, ambiguous, sample_rate, table_k):
    index = build(sequences, sample_rate=sample_rate, table_k=table_k, backend="cpu")
    kmers = plain + ambiguous
    forward = count_kmers(index, kmers, strand="forward", backend="cpu")
    both = count_kmers(index, kmers, backend="cpu")
    assert count_kmers(index, kmers, strand="canonical", backend="cpu").tolist() == both.tolist()
    for i, kmer in enumerate(kmers):
        expected = find_both(sequences, kmer.upper().replace("U", "T"))
        assert forward[i] == len(find_forward(sequences, kmer))
        assert both[i] == len(expected)
        assert rows_of(locate_kmer(index, kmer, backend="cpu")) == expected
        hits = locate_kmer(index, kmer, strand="forward", backend="cpu")
        assert rows_of(hits) == [(*place, 1) for place in find_forward(sequences, kmer)]
    hits = locate_kmers(index, kmers, backend="cpu")
    found = [(i, *row) for i, row in zip(hits.kmer_ids.tolist(), rows_of(hits), strict=True)]
    assert found == [
        (i, *place)
        for i, kmer in enumerate(kmers)
        for place in find_both(sequences, kmer.upper().replace("U", "T"))
    ]


@pytest.mark.parametrize("k", [1, 2, 31, 32, 33, 64, 65, 200, 10_001])
def test_any_length_is_found(backend, k):
    sequence = random_bases(12_000, 3)
    index = build([sequence[:11_000], sequence[5_000:]], backend=backend)
    kmers = [sequence[start : start + k] for start in (0, 321, 900)]
    counts = count_kmers(index, kmers, backend=backend).tolist()
    expected = [find_both([sequence[:11_000], sequence[5_000:]], kmer) for kmer in kmers[:1]]
    assert counts[0] == len(expected[0])
    assert min(counts) >= 1
    hits = locate_kmer(index, kmers[0], backend=backend)
    assert rows_of(hits) == expected[0]


def test_lengths_are_mixed_in_one_call(backend):
    sequence = random_bases(3_000, 5)
    index = build([sequence], backend=backend)
    generator = np.random.default_rng(1)
    kmers = []
    for k in generator.integers(1, 150, 60).tolist():
        start = int(generator.integers(0, 3_000 - k))
        kmers += [sequence[start : start + k], reverse_complement(sequence[start : start + k])]
        kmers += [random_bases(k, k), "R" + sequence[start + 1 : start + k]]
    counts = count_kmers(index, kmers, backend=backend)
    assert counts.tolist() == [len(find_both([sequence], kmer)) for kmer in kmers]


@pytest.mark.parametrize("strand", STRANDS)
def test_one_kmer_is_counted_as_many_are(strand):
    sequence = random_bases(3_000, 6)
    index = build([sequence, reverse_complement(sequence[:2_000])], backend="cpu")
    kmers = [sequence[9 : 9 + k] for k in (1, 2, 31, 32, 33, 64, 65, 500)]
    kmers += [kmer.lower().replace("t", "u") for kmer in kmers] + ["ACGT", "RAC", "GATN", "A" * 33]
    together = count_kmers(index, kmers, strand=strand, backend="cpu").tolist()
    for one in (
        lambda kmer: kmer,
        lambda kmer: [kmer.encode()],
        lambda kmer: (Kmer(kmer.upper()),),
    ):
        counts = [count_kmers(index, one(kmer), strand=strand, backend="cpu") for kmer in kmers]
        assert [count.tolist() for count in counts] == [[count] for count in together]


@pytest.mark.parametrize("kmer", ["", "AC_G", " ACG", "+A", "-A", "A\n", "0123", "A\u0661"])
def test_one_bad_kmer_is_refused(kmer):
    index = build(["ACGT"], backend="cpu")
    for kmers in (kmer, [kmer]):
        with pytest.raises(ParameterError, match="k-mer 1"):
            count_kmers(index, kmers, backend="cpu")


def test_kmers_longer_than_the_text_are_absent(backend):
    index = build(["ACGT", "AC"], backend=backend)
    assert count_kmers(index, ["ACGTAC", "A" * 500], backend=backend).tolist() == [0, 0]
    empty = build([], backend=backend)
    assert count_kmers(empty, ["A", "N" * 3], backend=backend).tolist() == [0, 0]
    assert len(locate_kmer(empty, "A", backend=backend)) == 0
    assert count_kmers(index, [], backend=backend).tolist() == []
    assert locate_kmers(index, [], backend=backend).n_hits == 0


def test_palindromes_count_once():
    index = build(["ACGTTTACGT"], backend="cpu")
    for strand in STRANDS:
        assert count_kmers(index, ["ACGT"], strand=strand, backend="cpu").tolist() == [2]
    assert rows_of(locate_kmer(index, "ACGT", backend="cpu")) == [(0, 0, 1), (0, 6, 1)]
    # AN and its reverse complement NT are both at AT, which is one place.
    index = build(["CATC"], backend="cpu")
    assert count_kmers(index, ["AN"], backend="cpu").tolist() == [1]


def test_canonical_hits_have_the_strand_of_the_kmer_that_comes_first():
    index = build(["GGTTTGG" + "ACGACCAAACCGT"], backend="cpu")
    for kmer in ("GGTTT", "AAACC"):
        hits = locate_kmer(index, kmer, strand="canonical", backend="cpu")
        assert rows_of(hits) == [
            (0, 0, -1),
            (0, 13, 1),
        ]
    assert rows_of(locate_kmer(index, "GGTTT", backend="cpu")) == [(0, 0, 1), (0, 13, -1)]
    # GC is its own reverse complement, and both RC and GY match it.
    index = build(["GCACGT"], backend="cpu")
    for kmer in ("RC", "GY"):
        hits = locate_kmer(index, kmer, strand="canonical", backend="cpu")
        assert rows_of(hits) == [(0, 0, 1), (0, 2, -1), (0, 4, 1)]
    long = "G" + random_bases(70, 2) + "T"
    index = build([long], backend="cpu")
    hits = locate_kmer(index, long, strand="canonical", backend="cpu")
    assert hits.strands.tolist() == [1 if long < reverse_complement(long) else -1]


def test_packed_kmers_are_searched_as_they_are(backend):
    index = build(["GATTACAGATTACA"], backend=backend)
    words = np.array([[0b10_00_11_11], [0b11_11]], np.uint64)
    kmers = PackedKmers(words, np.array([4, 2], np.int32))
    assert count_kmers(index, kmers, strand="forward", backend=backend).tolist() == [2, 2]
    assert count_kmers(index, "GATT", strand="forward", backend=backend).tolist() == [2]
    assert count_kmers(index, [Kmer("GATT")], backend=backend).tolist() == [2]


def test_limit_and_offset_give_pages_of_all_hits(backend):
    sequences = [random_bases(2_000, 1), random_bases(1_500, 2)]
    index = build(sequences, backend=backend)
    expected = find_both(sequences, "AC")
    pages = []
    for offset in range(0, len(expected) + 90, 90):
        hits = locate_kmer(index, "AC", limit=90, offset=offset, backend=backend)
        assert (hits.n_hits, hits.offset, hits.in_genome_order) == (len(expected), offset, True)
        pages += rows_of(hits)
    assert pages == expected
    several = locate_kmers(index, ["GG", "AC", "TTT"], backend=backend)
    part = locate_kmers(index, ["GG", "AC", "TTT"], limit=300, offset=50, backend=backend)
    assert rows_of(part) == rows_of(several)[50:350]
    assert part.kmer_ids.tolist() == several.kmer_ids[50:350].tolist()
    assert len(locate_kmer(index, "AC", limit=0, backend=backend)) == 0


def test_too_many_hits_to_sort_are_paged_as_they_come(monkeypatch):
    sequences = [random_bases(1_000, 1)]
    index = build(sequences, backend="cpu")
    monkeypatch.setattr(kmer_hits, "MAX_SORTED", 100)
    expected = find_both(sequences, "AC")
    assert len(expected) > 100
    pages = []
    for offset in range(0, len(expected), 7):
        hits = locate_kmer(index, "AC", limit=7, offset=offset, backend="cpu")
        assert (hits.n_hits, hits.in_genome_order) == (len(expected), False)
        pages += rows_of(hits)
    assert pages != expected
    assert sorted(pages) == expected
    hits = locate_kmer(index, "AC", backend="cpu")
    assert (rows_of(hits), hits.in_genome_order) == (expected, True)


def test_too_many_branches_are_refused_with_the_number():
    index = build([random_bases(20_000)], backend="cpu")
    with pytest.raises(ParameterError, match=r"k-mer 2: its last 3 letters stand for 64 sequences"):
        count_kmers(index, ["ACG", "ANNN"], max_branches=16, backend="cpu")
    counts = count_kmers(index, ["NNNNACGTAC", "NNNNNN"], backend="cpu")
    assert counts[0] >= 0
    assert counts[1] == 20_000 - 5


@pytest.mark.parametrize("slice_size", [1, 30, 1 << 17])
def test_many_kmers_with_iupac_codes_are_all_places(backend, monkeypatch, slice_size):
    monkeypatch.setattr(kmer_branches, "_SLICE_BRANCHES", slice_size)
    sequences = [random_bases(900, 1), random_bases(700, 2) + "NNN" + random_bases(200, 3)]
    index = build(sequences, backend=backend)
    generator = np.random.default_rng(4)
    kmers = ["RYRY", "NACGTN", "W", "NN", "GAATTN"]
    for _ in range(60):
        start, k = generator.integers(0, 850), generator.integers(2, 40)
        letters = list(sequences[0][start : start + k])
        for place in generator.integers(0, len(letters), generator.integers(1, 4)):
            letters[place] = generator.choice([*"RYSWKMBDHVN"])
        kmers += ["".join(letters), sequences[0][start : start + k]]
    steps = list(iter_count_kmers(index, kmers, backend=backend))
    expected = [find_both(sequences, kmer) for kmer in kmers]
    assert steps[-1].counts.tolist() == [len(hits) for hits in expected]
    assert [step.counts for step in steps[:-1]] == [None] * (len(steps) - 1)
    done = [step.n_done for step in steps]
    assert done == sorted(done)
    assert done[-1] == steps[-1].n_total == len(kmers)
    assert len(steps) > (2 if slice_size > 30 else 6)
    hits = locate_kmers(index, kmers, backend=backend)
    assert rows_of(hits) == [hit for found in expected for hit in found]
    canonical = locate_kmers(index, kmers, strand="canonical", backend=backend)
    expected = [find_both(sequences, min(kmer, reverse_complement(kmer))) for kmer in kmers]
    assert rows_of(canonical) == [hit for found in expected for hit in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strand": "reverse"}, "strand"),
        ({"limit": -1}, "limit is -1"),
        ({"offset": -2}, "offset -2"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        locate_kmer(build(["ACGT"], backend="cpu"), "A", backend="cpu", **options)


def test_contexts_are_the_letters_of_the_sequences():
    index = build(["ACGRNNacgtACGTTTG", "TACG"], backend="cpu")
    hits = locate_kmer(index, "ACG", strand="forward", backend="cpu")
    assert hits.ends.tolist() == [3, 9, 13, 4]
    contexts = hit_contexts(index, hits, flank=4)
    assert contexts.match == ("ACG", "acg", "ACG", "ACG")
    assert contexts.left == ("", "GRNN"[-4:], "acgt", "T")
    assert contexts.right == ("RNNa", "tACG", "TTTG", "")
    assert contexts.is_masked.tolist() == [False, True, False, False]
    none = hit_contexts(index, locate_kmer(index, "GGGG", backend="cpu"))
    assert (none.match, none.is_masked.tolist()) == ((), [])
    with pytest.raises(ParameterError, match="flank is -1"):
        hit_contexts(index, hits, flank=-1)


@pytest.mark.parametrize("kmer", ["A", "TAC", "GATTACA", "GGGGGGA", "T" * 40])
def test_a_trace_has_the_rows_after_each_base(backend, kmer):
    sequence = "GATTACAGATTNACATTTACGGA"
    index = build([sequence, "TTACA"], backend=backend)
    trace = trace_kmer(index, kmer, backend=backend)
    assert len(trace.firsts) == len(kmer) + 1
    assert (trace.firsts[0], trace.lasts[0]) == (0, index.n_symbols)
    assert "".join("ACGT"[i] for i in trace.symbols) == kmer[::-1]
    for k in range(1, len(kmer) + 1):
        rows = kmer_rows(index, kmer[-k:], backend=backend)
        assert rows.tolist() == (
            [[trace.firsts[k], trace.lasts[k]]] if trace.lasts[k] > trace.firsts[k] else []
        )
        expected = len(find_forward([sequence, "TTACA"], kmer[-k:]))
        assert trace.lasts[k] - trace.firsts[k] == expected
    with pytest.raises(ParameterError, match="IUPAC"):
        trace_kmer(index, "ANA", backend=backend)


@pytest.mark.parametrize("sample_rate", [1, 4])
def test_a_window_has_the_columns_of_the_sorted_suffixes(backend, sample_rate):
    index = build(["GATTACAGATTNACATTTACGGA", "TTACA"], sample_rate=sample_rate, backend=backend)
    symbols = index.text.symbols()
    suffix_array = np.array(sort_suffixes(symbols.tolist()))
    rank = np.argsort(suffix_array)
    n = index.n_symbols
    for first, last in ((0, n), (3, 9), (n, n)):
        window = bwt_window(index, first, last, backend=backend)
        positions = suffix_array[first:last]
        assert window.rows.tolist() == list(range(first, last))
        assert window.positions.tolist() == positions.tolist()
        assert window.first_column.tolist() == symbols[positions].tolist()
        assert window.last_column.tolist() == symbols[positions - 1].tolist()
        assert window.next_rows.tolist() == rank[positions - 1].tolist()
    with pytest.raises(ParameterError, match="not within"):
        bwt_window(index, 2, n + 1, backend=backend)


def test_counts_of_ecoli_are_those_of_jellyfish():
    index = build_fm_index(read_sequences(real_data("genomes/ecoli_k12_mg1655.fna.gz")))
    symbols, k = index.text.symbols()[:-1].astype(np.uint64), 21
    words = np.zeros(len(symbols) - k + 1, np.uint64)
    for j in range(k):
        words = words << np.uint64(2) | symbols[j : len(symbols) - k + 1 + j]
    kmers = PackedKmers(words[:, None], np.full(len(words), k, np.int32))
    for strand, distinct, unique in (
        ("forward", 4_562_542, 4_525_684),
        ("canonical", 4_543_891, 4_510_145),
    ):
        counts = count_kmers(index, kmers, strand=strand)
        # A k-mer that occurs c times is met c times; with both strands, at each of its places.
        of_count = np.bincount(counts)
        n_distinct = sum(int(n) / c for c, n in enumerate(of_count) if c)
        assert (round(n_distinct), of_count[1]) == (distinct, unique)
        if strand == "forward":
            assert len(of_count) - 1 == 43


@given(sequences=texts, kmers=plain_kmers)
@pytest.mark.parametrize("strand", STRANDS)
def test_few_kmers_are_counted_as_by_looking_at_every_place(sequences, kmers, strand):
    index = build(sequences, backend="cpu")
    queries = [Kmer(letters.replace("U", "T")) for letters in kmers]
    found = count_few(index, queries, strand=strand).tolist()
    find = find_forward if strand == "forward" else find_both
    assert found == [len(find(sequences, kmer.letters)) for kmer in queries]
    assert found == count_kmers(index, kmers, strand=strand, backend="cpu").tolist()


def test_few_kmers_in_many_lines_and_superblocks_are_those_of_the_kernel():
    sequence = random_bases(70_000) + "N" + random_bases(300) * 20
    index = build([sequence, sequence[500:9_000]], backend="cpu")
    rng = np.random.default_rng(1)
    starts = rng.integers(0, 69_000, 30).tolist()
    lengths = rng.integers(1, 40, 30).tolist()
    kmers = [Kmer(sequence[a : a + n]) for a, n in zip(starts, lengths, strict=True)]
    kmers += [Kmer("ACGT"), Kmer("GATTACA" * 9), Kmer("A"), Kmer("T")]
    for strand in STRANDS:
        expected = count_kmers(index, kmers, strand=strand, backend="cpu")
        np.testing.assert_array_equal(count_few(index, kmers, strand=strand), expected)


def test_what_is_few():
    assert are_few([Kmer("A" * MAX_LETTERS)])
    assert not are_few([Kmer("A" * MAX_LETTERS), Kmer("A")])
    assert not are_few([Kmer("GRT")])
