"""Off-target kernels against a slow search, letter by letter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.backend import load_kernel
from genoviz.kernels.offtarget import Hits, Planes
from genoviz.kernels.offtarget.plan import plan_rows, shared_bytes_of, threads_within
from genoviz.model.sequences.sequences import Sequences
from tests.oracles.offtargets import find_sites, letter_masks, reverse_complement

pytestmark = pytest.mark.gpu

METHODS = ("popcount", "dense", "pam_first")


def search(method, backend, contigs, pattern, guides, limits, *, block_words=1, capacity=4000):
    """Return guide, contig, start, strand and mismatches of all hits, and their counts."""
    planes = make_genome_planes(
        Sequences.from_records((f"c{i}", text) for i, text in enumerate(contigs))
    )
    find = getattr(load_kernel("offtarget", backend), f"find_sites_{method}")
    valid = planes.valid_starts(len(pattern))
    n_blocks = -(-len(valid) // block_words)
    hits = set()
    counts = np.zeros((n_blocks, len(guides), len(pattern) + 1), np.int64)
    for strand in "+-":
        words = [pattern, *guides]
        if strand == "-":
            words = [reverse_complement(word) for word in words]
        masks = np.array([letter_masks(word) for word in words])
        positions = np.empty((n_blocks, capacity), np.int64)
        guide_ids = np.empty((n_blocks, capacity), np.int32)
        mismatches = np.empty((n_blocks, capacity), np.uint8)
        n_found = np.empty(n_blocks, np.int64)
        genome = Planes(planes.low, planes.high, planes.other, valid)
        room = Hits(positions, guide_ids, mismatches, n_found, counts)
        find(genome, 0, block_words, masks[0], masks[1:], np.array(limits, np.int64), room)
        for block, n in enumerate(n_found.tolist()):
            assert n <= capacity
            assert (positions[block, :n] // 64 // block_words == block).all()
            contig_ids = planes.find_contigs(positions[block, :n])
            starts = positions[block, :n] - planes.offsets[contig_ids]
            new = zip(guide_ids[block], contig_ids, starts, mismatches[block], strict=False)
            for guide, contig, start, total in new:
                hit = (int(guide), int(contig), int(start), strand, int(total))
                assert hit not in hits
                hits.add(hit)
    return hits, counts.sum(axis=0)


def check(method, backend, contigs, pattern, guides, limits, **options):
    expected = find_sites(contigs, pattern, guides, limits)
    hits, counts = search(method, backend, contigs, pattern, guides, limits, **options)
    assert hits == expected
    totals = np.zeros_like(counts)
    for guide, _, _, _, total in expected:
        totals[guide, total] += 1
    np.testing.assert_array_equal(counts, totals)


@st.composite
def searches(draw, max_length):
    contigs = draw(
        st.lists(st.text("ACGTACGTACGTNRY", max_size=200), min_size=1, max_size=4).filter(
            lambda contigs: sum(map(len, contigs)) > 0
        )
    )
    length = draw(st.integers(1, max_length))
    words = st.text("ACGTACGTACGTNRYB", min_size=length, max_size=length)
    pattern = draw(st.text("NNNNNRG", min_size=length, max_size=length))
    guides = draw(st.lists(words, min_size=1, max_size=5))
    limits = draw(st.lists(st.integers(0, length), min_size=len(guides), max_size=len(guides)))
    return contigs, pattern, guides, limits


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(case=searches(32), block_words=st.sampled_from([1, 2, 40]))
def test_all_methods_find_what_a_slow_search_finds(backend, method, case, block_words):
    check(method, backend, *case, block_words=block_words)


@pytest.mark.parametrize("length", [21, 22, 43, 64, 65, 100, 105, 110, 150])
@pytest.mark.parametrize("method", ["popcount", "dense"])
def test_guides_may_be_of_any_length(backend, method, length):
    rng = np.random.default_rng(length)
    contigs = ["".join(rng.choice(list("ACGTACGTACGTN"), n)) for n in (3 * length, 400)]
    guides = [contigs[1][:length], "".join(rng.choice(list("ACGTN"), length))]
    pattern = "N" * length
    check(method, backend, contigs, pattern, guides, [length // 3, length])


@pytest.mark.parametrize("method", METHODS)
def test_windows_of_many_words_and_guides_are_found(backend, method):
    rng = np.random.default_rng(1)
    guides = ["".join(word) + "NNN" for word in rng.choice(list("ACGT"), (40, 20))]
    contig = rng.choice(list("ACGT"), 30_000)
    for place, guide in enumerate(guides):
        contig[700 * place : 700 * place + 23] = list(guide[:20] + "TGG")
    contig[9_130:9_300] = "N"
    pattern = "N" * 21 + "GG"
    hits, _ = search(method, backend, ["".join(contig)], pattern, guides, [3] * 40, block_words=100)
    expected = search("popcount", "cpu", ["".join(contig)], pattern, guides, [3] * 40)[0]
    assert hits == expected
    assert sum(total == 0 for *_, total in hits) == 40


@pytest.mark.parametrize("method", METHODS)
def test_hits_beyond_the_capacity_are_counted(backend, method):
    hits = []
    with pytest.raises(AssertionError):
        search(method, backend, ["A" * 300], "NNN", ["AAA"], [0], block_words=5, capacity=10)
    hits, counts = search(method, backend, ["A" * 300], "NNN", ["AAA"], [0], block_words=5)
    assert len(hits) == counts[0, 0] == 298


def test_rows_of_a_plan_are_numbered_by_letter_and_place():
    guides = np.array([letter_masks("ACRNA"), letter_masks("NNRCA")])
    plan = plan_rows(letter_masks("NNYGG"), guides)
    slots = {mask: slot for slot, mask in enumerate(plan.masks.tolist())}
    assert sorted(slots) == sorted(letter_masks("ACRYG").tolist())

    def keys(letters):
        masks = letter_masks(letters).tolist()
        return [5 * slots[mask] + place for place, mask in enumerate(masks) if mask in slots]

    assert plan.pattern_keys.tolist() == keys("NNYGG")
    assert plan.row_keys.tolist() == sorted({*keys("ACRNA"), *keys("NNRCA")})
    for rows, letters in zip(plan.guide_rows.astype(int), ("ACRNA", "NNRCA"), strict=True):
        n = len(keys(letters))
        assert sorted(plan.row_keys[rows[:n]].tolist()) == sorted(keys(letters))
        assert (rows[n:] == len(plan.row_keys)).all()


KIB = 1 << 10
LETTERS = "ACGTRYSWKMBDHV"


def plan_of(n_letters, length):
    """A plan whose guides need a row of each of some letters at each place."""
    words = [[letter] * length for letter in LETTERS[:n_letters]]
    masks = np.array([letter_masks("".join(word)) for word in words])
    return plan_rows(np.full(length, 15, np.uint8), masks)


# Shared memory of a block as CUDA's programming guide has it: the least of any card, and that of
# compute capabilities 8.6 and 8.9 (GeForce RTX 30 and 40), 8.0 (A100) and 9.0 (H100).
@pytest.mark.parametrize(
    ("n_letters", "length", "expected"),
    [
        (4, 20, {48: 64, 99: 64, 163: 64, 227: 64}),  # 81 rows of 64 x 8 bytes: 41 KiB
        (4, 21, {48: 64, 99: 64, 163: 64, 227: 64}),
        (8, 21, {48: 32, 99: 64, 163: 64, 227: 64}),
        (14, 20, {48: 0, 99: 32, 163: 64, 227: 64}),
        (14, 32, {48: 0, 99: 0, 163: 32, 227: 32}),
        (14, 40, {48: 0, 99: 0, 163: 32, 227: 32}),
        (14, 100, {48: 0, 99: 0, 163: 0, 227: 0}),
        (4, 106, {48: 0, 99: 0, 163: 0, 227: 0}),  # more letters than kernels are compiled for
    ],
)
def test_blocks_have_no_more_threads_than_the_card_has_shared_memory_for(
    n_letters, length, expected
):
    plan = plan_of(n_letters, length)
    assert len(plan.row_keys) == n_letters * length
    for n_more in (0, 1):
        found = {limit: threads_within(limit * KIB, plan, n_more) for limit in expected}
        assert found == expected
        for limit, n_threads in found.items():
            assert n_threads == 0 or shared_bytes_of(plan, n_threads, n_more) <= limit * KIB
            if plan.n_groups <= 5 and n_threads < 64:
                assert shared_bytes_of(plan, n_threads + 32, n_more) > limit * KIB


@pytest.mark.parametrize("limit", [0, 48, 99])
@pytest.mark.parametrize("method", METHODS)
def test_hits_are_the_same_on_cards_with_little_shared_memory(backend, monkeypatch, method, limit):
    if backend == "cuda":
        kernel = load_kernel("offtarget", backend)
        monkeypatch.setattr(kernel, "card_attribute", lambda _: limit * KIB)
    rng = np.random.default_rng(limit)
    contigs = ["".join(rng.choice([*"ACGT"], 3_000)) for _ in range(2)]
    guides = ["".join(rng.choice([*LETTERS], 24)) + "NN" for _ in range(30)]
    check(method, backend, contigs, "N" * 24 + "GG", guides, [6] * 30, capacity=9_000)
