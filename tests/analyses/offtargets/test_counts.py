"""Counts of off-targets and the closest of them, against the hits of the whole search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets import counts as offtarget_counts
from genoviz.analyses.offtargets import pieces as offtarget_pieces
from genoviz.analyses.offtargets import search as offtarget_search
from genoviz.analyses.offtargets.counts import (
    count_offtargets,
    find_closest_offtargets,
    iter_count_offtargets,
)
from genoviz.analyses.offtargets.finding import find_offtargets, stream_offtargets
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.offtargets.hits import HitCollector
from genoviz.analyses.offtargets.pieces import iter_pieces, iter_spooled
from genoviz.analyses.offtargets.request import SearchOptions, make_request
from genoviz.analyses.offtargets.search import iter_search, split_words
from genoviz.errors import GenovizError, ParameterError
from genoviz.generators import last_of
from genoviz.model.offtargets.hits import COLUMNS
from genoviz.model.sequences.sequences import Sequences


def genome_of(contigs):
    return Sequences.from_records((f"c{i}", text) for i, text in enumerate(contigs))


def rows_of(hits):
    return list(zip(*(getattr(hits, name).tolist() for name in COLUMNS), strict=True))


@st.composite
def searches(draw):
    contigs = draw(st.lists(st.text("ACGTACGTACGTN", max_size=300), min_size=1, max_size=3))
    length = draw(st.integers(4, 12))
    pattern = "N" * (length - 2) + draw(st.sampled_from(["GG", "RG", "NN"]))
    words = st.text("ACGTN", min_size=length, max_size=length)
    guides = draw(st.lists(words, max_size=7))
    limits = draw(st.lists(st.integers(0, length), min_size=len(guides), max_size=len(guides)))
    return guides, genome_of(contigs), pattern, limits


@pytest.mark.gpu
@settings(max_examples=40, deadline=None)
@given(search=searches(), strands=st.sampled_from(["both", "+", "-"]))
def test_counts_are_those_of_the_hits(backend, search, strands):
    guides, genome, pattern, limits = search
    options = {"max_mismatches": limits, "strands": strands, "backend": backend}
    hits = find_offtargets(guides, genome, pattern, **options)
    counts = count_offtargets(guides, genome, pattern, **options)
    assert counts.dtype == np.int64
    assert counts.shape == (len(guides), max(limits, default=0) + 1)
    expected = np.zeros_like(counts)
    np.add.at(expected, (hits.guide_ids, hits.mismatches), 1)
    np.testing.assert_array_equal(counts, expected)


def test_all_placements_of_bulges_are_counted():
    genome = genome_of(["ACGTTTTACGATGGTT" * 30, "TTTACCGTACGATGGTTCCA" * 9])
    options = {"max_mismatches": 2, "dna_bulge": 1, "rna_bulge": 2}
    search = ["ACCGTTCGANNN", "TTTACGATGNNN"], genome, "NNNNNNNNNNGG"
    hits = find_offtargets(*search, **options, placements="all")
    counts = count_offtargets(*search, **options)
    assert counts.sum() == len(hits) > 100
    np.testing.assert_array_equal(counts, hits.count_by_mismatches())


@settings(max_examples=60, deadline=None)
@given(search=searches(), limit=st.integers(1, 30))
def test_the_closest_hits_are_the_first_by_mismatches(search, limit):
    guides, genome, pattern, limits = search
    hits = find_offtargets(guides, genome, pattern, max_mismatches=limits)
    closest = find_closest_offtargets(guides, genome, pattern, max_mismatches=limits, limit=limit)
    expected = []
    for guide in range(len(guides)):
        rows = np.flatnonzero(hits.guide_ids == guide)
        best = rows[np.argsort(hits.mismatches[rows], kind="stable")][:limit]
        expected += sorted(best.tolist())
    assert rows_of(closest) == rows_of(hits.take(np.array(expected, np.int64)))


def test_closest_hits_are_thinned_out_on_the_way(monkeypatch):
    contig = "".join(np.random.default_rng(5).choice(list("ACGT"), 3_000_000))
    genome = make_genome_planes(genome_of([contig]))
    search = ["ACGTACGNN", "TTTGACTNN"], genome, "NNNNNNNGG"
    hits = find_offtargets(*search, max_mismatches=7)
    assert len(hits) > 1 << 19
    sizes = []
    prune = offtarget_counts._ClosestHits._prune
    monkeypatch.setattr(offtarget_counts, "MIN_NEW", 100)
    monkeypatch.setattr(offtarget_search, "BLOCKS_AT_ONCE", {"cpu": 2})
    monkeypatch.setattr(
        offtarget_counts._ClosestHits,
        "_prune",
        lambda self: (prune(self), sizes.append(len(self._hits))),
    )
    closest = find_closest_offtargets(*search, max_mismatches=7, limit=500)
    assert len(sizes) > 5
    assert max(sizes) == 1000
    for guide in (0, 1):
        rows = np.flatnonzero(hits.guide_ids == guide)
        best = np.sort(rows[np.argsort(hits.mismatches[rows], kind="stable")][:500])
        assert rows_of(closest.take(closest.guide_ids == guide)) == rows_of(hits.take(best))


@settings(max_examples=30, deadline=None)
@given(search=searches(), n_parts=st.integers(1, 4))
def test_parts_of_a_genome_have_the_hits_of_the_whole(search, n_parts):
    guides, genome, pattern, limits = search
    request = make_request(
        guides, genome, pattern, SearchOptions(max_mismatches=limits, backend="cpu")
    )
    collector = HitCollector(request)
    n_bases = 0
    for found in iter_search(request, split_words(request.planes.n_words, [None] * n_parts)):
        collector.add(found)
        n_bases += found.n_bases
    expected = find_offtargets(guides, genome, pattern, max_mismatches=limits)
    assert rows_of(collector.join()) == rows_of(expected)
    assert n_bases == request.n_total


@pytest.mark.gpu
def test_devices_share_the_genome(backend):
    contig = "".join(np.random.default_rng(3).choice(list("ACGT"), 500_000))
    genome = make_genome_planes(genome_of([contig, contig[:1000]]))
    search = ["ACGTACGTAANNN", "TTTGACTCCANNN"], genome, "NNNNNNNNNNNGG"
    options = {"max_mismatches": 4, "dna_bulge": 1, "backend": backend}
    if backend == "cpu":
        with pytest.raises(ParameterError, match="devices are numbers of GPUs"):
            find_offtargets(*search, **options, devices=[0, 0])
        return
    expected = find_offtargets(*search, **options)
    assert rows_of(find_offtargets(*search, **options, devices=[0, 0, 0])) == rows_of(expected)
    counts = count_offtargets(*search, **options)
    np.testing.assert_array_equal(count_offtargets(*search, **options, devices=[0, 0]), counts)
    with pytest.raises(ParameterError, match="devices is 99"):
        find_offtargets(*search, **options, devices=[99])


def test_more_hits_than_the_buffer_holds_come_in_parts(monkeypatch):
    genome = genome_of(["A" * 40_000 + "C" * 30_000])
    expected = find_offtargets(["AAAAA", "AACAA"], genome, "NNNNN", max_mismatches=[0, 1])
    assert len(expected) > 70_000
    monkeypatch.setattr(offtarget_search, "MAX_BUFFER_BYTES", 13 * 3000)
    hits = find_offtargets(["AAAAA", "AACAA"], genome, "NNNNN", max_mismatches=[0, 1])
    assert rows_of(hits) == rows_of(expected)


def test_pieces_of_a_stream_make_up_the_hits(monkeypatch):
    contig = "".join(np.random.default_rng(4).choice(list("ACGT"), 300_000))
    search = ["ACGTACGNN", "TTTGACTNN"], genome_of([contig]), "NNNNNNNGG"
    monkeypatch.setattr(offtarget_search, "BLOCKS_AT_ONCE", {"cpu": 2})
    pieces = list(stream_offtargets(*search, max_mismatches=3, dna_bulge=1))
    hits = find_offtargets(*search, max_mismatches=3, dna_bulge=1, placements="all")
    assert len(pieces) > 20
    assert max(map(len, pieces)) < len(hits) / 5
    assert sorted(row for piece in pieces for row in rows_of(piece)) == sorted(rows_of(hits))
    for piece in pieces:
        places = list(zip(piece.guide_ids.tolist(), piece.positions.tolist(), strict=True))
        assert places == sorted(places)


def pieces_of(searches, genome, pattern, most, **options):
    """Return the progress of searches in pieces of 2,048 bases, with what is kept each time."""
    asked = SearchOptions(backend="cpu", **options)
    requests = [make_request(guides, genome, pattern, asked) for guides in searches]
    steps = list(iter_pieces(requests, most))
    return steps[-1].kept, steps


@pytest.fixture
def short_pieces(monkeypatch):
    monkeypatch.setattr(offtarget_pieces, "PIECE_WORDS", (32, 32))


@pytest.mark.parametrize("pattern", ["NNNNNNNNGG", "TTNNNNNNNN", "NNNNNNNNNN"])
@pytest.mark.parametrize("placements", ["best", "all"])
def test_pieces_of_a_genome_have_the_hits_of_the_whole(short_pieces, pattern, placements):
    """Also where the alignments of a site begin on both sides of the end of a piece."""
    random = np.random.default_rng(12)
    contigs = ["".join(random.choice(list("ACGT"), n)) for n in (9000, 0, 130, 7000)]
    # Sites of a guide of one letter, which alignments may begin at many places of.
    site = "A" * 13 + "GG" if pattern.endswith("GG") else "TT" + "A" * 13
    for place in (2040, 2044, 4092, 6140):
        contigs[0] = contigs[0][:place] + site + contigs[0][place + 15 :]
    genome = make_genome_planes(genome_of(contigs))
    middle = slice(0, 8) if pattern.endswith("GG") else slice(2, 10)
    words = ["".join(random.choice(list("ACGT"), 8)) for _ in range(5)]
    words.append("A" * 8)
    guides = ["".join("N" * middle.start + word + "N" * (10 - middle.stop)) for word in words]
    if pattern == "NNNNNNNNNN":
        guides = [word + "AC" for word in words]
    options = {"max_mismatches": 2, "dna_bulge": 2, "rna_bulge": 2, "placements": placements}
    expected = find_offtargets(guides, genome, pattern, **options, backend="cpu")
    assert len(expected) > 1000
    kept, steps = pieces_of([guides[:2], guides[2:]], genome, pattern, 10**7, **options)
    first, second = kept.hits()
    is_first = expected.guide_ids < 2
    assert rows_of(first) == rows_of(expected.take(is_first))
    shifted = [(row[0] + 2, *row[1:]) for row in rows_of(second)]
    assert shifted == rows_of(expected.take(~is_first))
    assert kept.n_left_out == 0
    assert kept.max_differences is None
    ends = sorted({step.n_bases for step in steps})
    assert ends == [*range(0, genome.n_bases, 2048), genome.n_bases]
    assert steps[-1].n_done == steps[-1].n_total


def test_after_a_piece_all_hits_that_lie_in_it_are_known(short_pieces):
    text = "".join(np.random.default_rng(2).choice(list("ACGT"), 9000))
    genome, guides = make_genome_planes(genome_of([text])), ["ACGTACGTNNN", "GGATTTACNNN"]
    options = {"max_mismatches": 2, "dna_bulge": 1, "rna_bulge": 1}
    request = make_request(guides, genome, "N" * 8 + "NGG", SearchOptions(**options, backend="cpu"))
    expected = find_offtargets(guides, genome, "N" * 8 + "NGG", **options, backend="cpu")
    n_before = 0
    for step in iter_pieces([request], 10**7):
        if step.n_bases > n_before:
            n_before = step.n_bases
            (hits,) = step.kept.hits()
            rows, of_all = rows_of(hits), rows_of(expected)
            assert set(rows) <= set(of_all)
            is_inside = expected.positions + expected.lengths <= n_before - 2
            assert set(rows_of(expected.take(is_inside))) <= set(rows)
    assert n_before == 9000
    assert rows == of_all


@pytest.mark.parametrize("most", [0, 1, 40, 500, 3000, 100_000])
def test_of_too_many_hits_those_with_the_fewest_differences_are_kept(
    short_pieces, monkeypatch, most
):
    monkeypatch.setattr("genoviz.analyses.offtargets.hits._MIN_NEW", 20)
    text = "".join(np.random.default_rng(8).choice(list("ACGT"), 15_000))
    genome, guides = make_genome_planes(genome_of([text])), ["ACGTACNN", "GGATTTNN", "CCCCACNN"]
    expected = find_offtargets(guides, genome, "NNNNNNGG", max_mismatches=5, backend="cpu")
    kept, _ = pieces_of([guides], genome, "NNNNNNGG", most, max_mismatches=5)
    (hits,) = kept.hits()
    assert len(hits) <= most
    counts = expected.count_by_mismatches()
    levels = counts.sum(axis=0).cumsum()
    if most >= len(expected):
        assert kept.max_differences is None
        assert rows_of(hits) == rows_of(expected)
    elif most >= levels[0]:
        assert kept.max_differences == np.searchsorted(levels, most, side="right") - 1
        is_kept = expected.mismatches <= kept.max_differences
        assert rows_of(hits) == rows_of(expected.take(is_kept))
    else:
        assert len(hits) == most
        assert not hits.mismatches.any()
    of_hits = np.zeros_like(counts)
    found = hits.count_by_mismatches()
    of_hits[:, : found.shape[1]] = found
    np.testing.assert_array_equal(of_hits + kept.left_out[0], counts)
    assert kept.n_left_out == len(expected) - len(hits)


def test_of_too_many_hits_with_bulges_the_best_alignments_are_kept(short_pieces, monkeypatch):
    monkeypatch.setattr("genoviz.analyses.offtargets.hits._MIN_NEW", 100)
    text = "".join(np.random.default_rng(9).choice(list("ACGT"), 12_000))
    genome, guides = make_genome_planes(genome_of([text])), ["ACGTACTTNNN", "GGATTTCANNN"]
    options = {"max_mismatches": 4, "dna_bulge": 2, "rna_bulge": 1}
    expected = find_offtargets(guides, genome, "N" * 9 + "GG", **options, backend="cpu")
    kept, _ = pieces_of([guides], genome, "N" * 9 + "GG", 300, **options)
    (hits,) = kept.hits()
    differences = expected.mismatches.astype(int) + expected.bulge_sizes
    assert 0 < kept.max_differences < differences.max()
    assert rows_of(hits) == rows_of(expected.take(differences <= kept.max_differences))
    assert kept.n_left_out >= len(expected) - len(hits) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("crowded", [150, 10**6])
@pytest.mark.parametrize("bulges", [{}, {"dna_bulge": 2, "rna_bulge": 1}])
@pytest.mark.parametrize("placements", ["best", "all"])
@pytest.mark.parametrize("pattern", ["NNNNNNNNGG", "TTNNNNNNNN", "NNNNNNNNNN"])
def test_hits_that_wait_on_disk_come_in_the_order_of_the_whole(
    backend, monkeypatch, pattern, placements, bulges, crowded
):
    monkeypatch.setattr(offtarget_pieces, "PIECE_WORDS", (64, 64))
    monkeypatch.setattr(offtarget_pieces, "CROWDED_HITS", crowded)
    monkeypatch.setattr(offtarget_pieces, "PART_HITS", 70)
    random = np.random.default_rng(13)
    contigs = ["".join(random.choice(list("ACGTACGTACGTN"), n)) for n in (20_000, 0, 130, 7000)]
    contigs[0] = contigs[0][:4080] + "A" * 40 + contigs[0][4120:]
    genome = make_genome_planes(genome_of(contigs))
    words = ["".join(random.choice(list("ACGT"), 8)) for _ in range(3)] + ["A" * 8, "ACGTRNTA"]
    middle = {"N": words, "T": ["NN" + word for word in words]}[pattern[0]]
    guides = [word if len(word) == 10 else f"{word}NN" for word in middle]
    options = {**bulges, "placements": placements, "backend": backend}
    limits = [3, 2, 0, 3, 2]
    expected = find_offtargets(guides, genome, pattern, max_mismatches=limits, **options)
    request = make_request(guides, genome, pattern, SearchOptions(max_mismatches=limits, **options))
    *_, last = iter_spooled(request, max_in_memory=300)
    parts = list(last.spool.iter_parts())
    assert [row for part in parts for row in rows_of(part)] == rows_of(expected)
    assert max(map(len, parts)) <= 70 < len(expected)
    assert [len(part) for part in last.spool.iter_parts()] == [len(part) for part in parts]
    found = expected.count_by_mismatches()
    np.testing.assert_array_equal(last.spool.counts[:, : found.shape[1]], found)
    assert last.spool.counts.sum() == len(expected)
    assert last.n_done == last.n_total
    monkeypatch.setattr("genoviz.analyses.offtargets.hits._WORD_BITS", 8)
    *_, last = iter_spooled(request, max_in_memory=300)
    assert [row for part in last.spool.iter_parts() for row in rows_of(part)] == rows_of(expected)


def test_a_full_disk_is_told(monkeypatch):
    genome = make_genome_planes(genome_of(["ACGT" * 300]))
    request = make_request(["ACGTNN"], genome, "NNNNNN", SearchOptions(backend="cpu"))
    assert sum(map(len, last_of(iter_spooled(request)).spool.iter_parts())) > 500

    def refuse(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(GenovizError, match=r"bytes do not fit in .*: No space left on device"):
        last_of(iter_spooled(request, max_in_memory=100))


def test_pieces_of_nothing_have_no_hits():
    for guides in ([], ["ACGTNN"]):
        request = make_request(guides, genome_of([""]), "NNNNGG", SearchOptions(backend="cpu"))
        assert [len(part) for part in last_of(iter_spooled(request)).spool.iter_parts()] == [0]
    kept, steps = pieces_of([["ACGTNN"]], genome_of([""]), "NNNNGG", 10, max_mismatches=1)
    assert [len(hits) for hits in kept.hits()] == [0]
    assert steps[-1].n_bases == 0


def test_columns_that_fit_in_no_word_are_sorted_too(monkeypatch):
    genome = genome_of(["ACGTTTTACGATGGTT" * 30, "TTTACCGTACGATGGTTCCA" * 9])
    search = ["ACCGTTCGANNN", "TTTACGATGNNN"], genome, "NNNNNNNNNNGG"
    options = {"max_mismatches": 2, "dna_bulge": 1, "rna_bulge": 2, "placements": "all"}
    expected = find_offtargets(*search, **options)
    monkeypatch.setattr("genoviz.analyses.offtargets.hits._WORD_BITS", 8)
    assert rows_of(find_offtargets(*search, **options)) == rows_of(expected)


def test_counting_tells_how_far_it_is():
    genome = make_genome_planes(genome_of(["ACGT" * 400_000]))
    steps = list(iter_count_offtargets(["ACGTACNNN"], genome, "NNNNNNNTA", max_mismatches=0))
    done = [step.n_done for step in steps]
    assert done == sorted(done)
    assert done[-1] == steps[-1].n_total == genome.n_bases * 2
    assert steps[-1].counts.sum() > 0


def test_counts_of_blocks_at_once_fit_into_the_memory_for_them(monkeypatch):
    genome, guides = genome_of(["ACGTTGCA" * 40_000]), ["ACGTTGCAN"] * 100
    options = {"max_mismatches": 3}
    expected = count_offtargets(guides, genome, "NNNNNNNNN", **options)
    asked, search = [], offtarget_search._PartSearch._run

    def run(self, found, first, stop, block_words, capacity):
        asked.append(-(-(stop - first) // block_words))
        return search(self, found, first, stop, block_words, capacity)

    monkeypatch.setattr(offtarget_search._PartSearch, "_run", run)
    count_offtargets(guides, genome, "NNNNNNNNN", **options)
    assert max(asked) > 1
    asked.clear()
    monkeypatch.setattr(offtarget_search, "MAX_BUFFER_BYTES", 8 * 4 * 100)
    np.testing.assert_array_equal(
        count_offtargets(guides, genome, "NNNNNNNNN", **options), expected
    )
    assert set(asked) == {1}


def test_no_hit_is_no_limit():
    with pytest.raises(ParameterError, match="limit is 0"):
        find_closest_offtargets(["ACG"], genome_of(["ACGT"]), "NNN", max_mismatches=0, limit=0)
