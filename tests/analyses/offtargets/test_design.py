"""Design of guides against brute force, published vectors and cases made by hand."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets import pangenome, pieces
from genoviz.analyses.offtargets.candidates import find_guides
from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.design import design_guides
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.guide_properties import (
    cloning_oligos,
    edited_places,
    longest_stems,
    microhomology_scores,
    rule_set_1_scores,
)
from genoviz.analyses.offtargets.scores import cfd_scores
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.model.sequences.sequences import Sequences
from tests.analyses.offtargets.test_scores import cfd_of as cfd_by_tables
from tests.conftest import real_data
from tests.graphs import make_spelled_graph
from tests.oracles import guide_design as oracle
from tests.oracles.gfa import read_gfa_text
from tests.oracles.offtargets import count_misfits, reverse_complement

PUBLISHED = {
    "TATAGCTGCGATCTGAGGTAGGGAGGGACC": 0.713089368437,
    "TCCGCACCTGTCACGGTCGGGGCTTGGCGC": 0.0189838463593,
}
"""Of the program of Doench et al. 2014."""
EMX1 = "GGAGGAAGGGCCTGAGTCCGAGCAGAAGAAGAAGGGCTCCCATCACATCAACCGGTGGCG"
"""The example of the program of Bae et al. 2014."""


def letters_of(text):
    return np.frombuffer(text.encode(), np.uint8)


def bases(seed, n, letters="ACGT"):
    return "".join(np.random.default_rng(seed).choice([*letters], n))


def test_efficiency_is_that_of_the_published_examples():
    assert rule_set_1_scores([*PUBLISHED]) == pytest.approx([*PUBLISHED.values()], abs=1e-8)


def test_efficiency_is_that_of_another_transcription():
    contexts = [bases(seed, 25) + "GG" + bases(seed + 1, 3) for seed in range(0, 600, 2)]
    contexts += ["G" * 30, "A" * 30, "GC" * 15, "TA" * 15]
    wanted = [oracle.rule_set_1(context) for context in contexts]
    assert rule_set_1_scores(contexts) == pytest.approx(wanted, abs=1e-6)


def test_efficiency_of_what_is_no_target_is_not_known():
    text = next(iter(PUBLISHED))
    scores = rule_set_1_scores([text, text[:-1], "", text.replace("C", "N", 1), text.lower()])
    assert np.isnan(scores).tolist() == [False, True, True, True, False]
    assert scores[4] == scores[0]


def test_microhomology_is_that_of_the_published_example():
    scores, shares = microhomology_scores([EMX1])
    assert scores.tolist() == pytest.approx([4662.9])
    assert shares.tolist() == pytest.approx([50.74738896])


def test_microhomology_is_that_of_the_papers_program():
    flanks = [bases(seed, 60, "ACGT" if seed % 3 else "AC") for seed in range(12)]
    flanks += ["A" * 60, "ACG" * 20, EMX1[:30] * 2]
    scores, shares = microhomology_scores(flanks)
    wanted = [oracle.microhomology(text, 30) for text in flanks]
    assert scores == pytest.approx([score for score, _ in wanted])
    assert shares == pytest.approx([share for _, share in wanted])
    scores, shares = microhomology_scores(["", "A" * 30 + "C" * 30, "N" * 60])
    assert np.isnan(scores).tolist() == [True, False, True]
    assert scores[1] == 0
    assert np.isnan(shares).all()


@settings(max_examples=40)
@given(st.lists(st.text("ACGT", min_size=1, max_size=24), max_size=6))
def test_stems_are_those_of_looking_everywhere(guides):
    assert longest_stems(guides).tolist() == [oracle.longest_stem(guide) for guide in guides]


def test_edits_and_oligos_by_hand():
    guide = "AACACCAATAGCATCGATCA"
    assert edited_places([guide, guide[1:]], "cytosine") == ["5,6", ""]
    assert edited_places([guide], "adenine") == ["4,7"]
    with pytest.raises(ParameterError, match="the editor is 'uracil', needs one of cytosine"):
        edited_places([guide], "uracil")
    forward, reverse = cloning_oligos([guide, "G" + guide[1:]])
    assert forward == ["CACCG" + guide, "CACCG" + guide[1:]]
    assert reverse == [
        "AAAC" + reverse_complement(guide) + "C",
        "AAAC" + reverse_complement("G" + guide[1:]),
    ]


@settings(max_examples=60)
@given(
    text=st.text("ACGTN", max_size=70),
    form=st.sampled_from([("NGG", 20, False), ("NG", 5, False), ("TTTV", 23, True),
                          ("TTN", 20, True), ("NNGRRT", 6, False)]),
    bounds=st.tuples(st.integers(0, 70), st.integers(0, 70)),
)  # fmt: skip
def test_guides_are_those_of_looking_at_every_window(text, form, bounds):
    pam, length, is_pam_first = form
    start, end = sorted(min(bound, len(text)) for bound in bounds)
    found = find_guides(
        letters_of(text), pam, length=length, is_pam_first=is_pam_first, start=start, end=end
    )
    columns = (found.starts.tolist(), found.cuts.tolist(), found.strands.tolist())
    rows = list(zip(found.guides, found.pams, *columns, strict=True))
    assert len({*rows}) == len(rows) == len(found)
    assert {*rows} == oracle.find_guides(text, pam, length, is_pam_first, start, end)
    assert rows == sorted(rows, key=lambda row: (row[3], row[2], row[4]))
    for row, flank in zip(rows, found.flanks, strict=True):
        assert flank == (text[row[3] - 30 : row[3] + 30] if 30 <= row[3] <= len(text) - 30 else "")


def test_cuts_and_contexts_are_those_of_hits():
    text = bases(3, 700)
    found = find_guides(letters_of(text), "NGG")
    assert {*found.strands.tolist()} == {1, -1}
    for row, guide in enumerate(found.guides):
        genome = Sequences.from_records([("c", text)])
        options = {"max_mismatches": 0, "backend": "cpu"}
        hits = find_offtargets([guide + "NNN"], genome, "N" * 21 + "GG", **options)
        assert cut_sites(hits).tolist() == [found.cuts[row]]
        assert hits.starts.tolist() == [found.starts[row]]
        first, last = found.starts[row], found.starts[row] + 23
        around = text[first - 4 : last + 3]
        if found.strands[row] < 0:
            around = reverse_complement(text[first - 3 : last + 4])
        is_inside = first >= 4 and last + 4 <= len(text)
        assert found.contexts[row] == around or not is_inside
    at_the_start = find_guides(letters_of("ACGTACGTACGTACGTACGTAGGCCC"), "NGG")
    assert (at_the_start.contexts, at_the_start.flanks) == (("",), ("",))


def test_wrong_regions_are_told():
    with pytest.raises(ParameterError, match="the region is 5 to 99, needs to be within 0 to 4"):
        find_guides(letters_of("ACGT"), "NGG", start=5, end=99)
    with pytest.raises(ParameterError, match="guides have 0 letters"):
        find_guides(letters_of("ACGT"), "NGG", length=0)


@cache
def cfd_of(guide, site):
    options = {"max_mismatches": 20, "strands": "+", "backend": "cpu"}
    genome = Sequences.from_records([("c", site)])
    return float(
        cfd_scores(find_offtargets([guide + "NNN"], genome, "N" * 21 + "GG", **options))[0]
    )


def look_everywhere(texts, found, limit, has_target=True):
    """Return counts, worst CFD, lowest specificity and haplotypes of guides, from all windows.

    The texts differ by single bases alone, so that what is at one place in all is one locus.
    """
    results = []
    for row, guide in enumerate(found.guides):
        locus = (int(found.starts[row]), int(found.strands[row])) if has_target else None
        kinds, with_target, worst, sums = defaultdict(set), set(), 0.0, [0.0] * len(texts)
        for number, text in enumerate(texts):
            for start in range(len(text) - 22):
                for strand in (1, -1):
                    site = text[start : start + 23]
                    site = site if strand > 0 else reverse_complement(site)
                    n = count_misfits(guide, site[:20])
                    if n > limit or count_misfits("NNNNNNNNNNNNNNNNNNNNNGG", site):
                        continue
                    kinds[n].add((start, strand, site))
                    if (start, strand) != locus:
                        worst = max(worst, cfd_of(guide, site))
                        sums[number] += cfd_of(guide, site)
                    elif n == 0:
                        with_target.add(number)
        counts = [len(kinds[n]) for n in range(limit + 1)]
        counts[0] -= has_target
        results.append((counts, worst, 1 / (1 + max(sums)), len(with_target)))
    return results


def search_in_small_parts(monkeypatch):
    """Put every hit into a run and part of its own, and every guide into its own batch."""
    monkeypatch.setattr(pieces, "PART_HITS", 1)
    monkeypatch.setattr(pieces.iter_spooled, "__kwdefaults__", {"max_in_memory": 1})
    monkeypatch.setattr(pangenome, "PLACES_IN_MEMORY", 1)
    monkeypatch.setattr(pangenome, "MIN_IN_MEMORY", 1)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_design_on_haplotypes_is_that_of_looking_everywhere(seed, monkeypatch):
    """Repeats that differ a little give off-targets, alleles make and break some."""
    if seed == 2:
        search_in_small_parts(monkeypatch)
    generator = np.random.default_rng(seed)
    unit = [*bases(seed, 70)]
    reference = []
    for _ in range(4):
        copy = unit.copy()
        for place in generator.choice(70, 5, replace=False):
            copy[place] = str(generator.choice([*"ACGT"]))
        reference += copy
    places = sorted(generator.choice(len(reference), 12, replace=False).tolist())
    nodes, paths, first = [], [[] for _ in range(4)], 0
    for place in places:
        if place > first:
            nodes.append("".join(reference[first:place]))
            for path in paths:
                path.append(len(nodes))
        other = str(generator.choice([*({*"ACGT"} - {reference[place]})]))
        nodes += [reference[place], other]
        for number, path in enumerate(paths):
            path.append(len(nodes) - int(number == 0 or generator.random() < 0.5))
        first = place + 1
    nodes.append("".join(reference[first:]) or "A")
    for path in paths:
        path.append(len(nodes))
    graph = make_spelled_graph(nodes, paths)
    texts = ["".join(nodes[node - 1] for node in path) for path in paths]
    found = find_guides(letters_of(texts[0]), "NGG", start=60, end=200)
    designed = design_guides(
        found, graph, contig=graph.path_names[0], max_mismatches=3, backend="cpu"
    )
    wanted = look_everywhere(texts, found, 3)
    assert len(found) >= 8
    assert designed.of_haplotypes == 4
    for row, (counts, worst, specificity, n_with) in enumerate(wanted):
        assert designed.counts[row].tolist() == counts
        assert designed.worst_cfd[row] == pytest.approx(worst)
        assert designed.cfd_specificity[row] == pytest.approx(specificity)
        assert designed.n_haplotypes[row] == n_with
    keys = [(-designed.n_haplotypes[row], designed.worst_cfd[row]) for row in designed.order]
    assert keys == sorted(keys)
    assert sorted(designed.order.tolist()) == list(range(len(found)))


def count_targets(guide, text):
    n, at = 0, text.find(guide)
    while at >= 0:
        n += text[at + 21 : at + 23] == "GG"
        at = text.find(guide, at + 1)
    return n


@pytest.mark.parametrize(
    ("name", "contig", "region", "most"),
    [
        ("LPA", "chm13__LPA__tig00000001", (100_000, 100_300), (5, 3)),
        ("chr6.C4", "grch38#chr6:31972046-32055647", (13_000, 13_100), (2, 6)),
    ],
)
def test_designs_on_real_haplotypes_are_those_of_looking_everywhere(name, contig, region, most):
    """Kringles of LPA that differ by some bases, and genes of C4 that haplotypes have 1 to 3 times.

    The paths are written out from the lines of the file and searched as texts, whose CFD is the
    product of the published tables.
    """
    path = real_data(f"gfa/{name}.gfa.gz")
    tables = json.loads(real_data("offtarget/cfd.json").read_text())
    haplotypes = oracle.Haplotypes(read_gfa_text(gzip.decompress(path.read_bytes())), contig)

    def cfd(guide, site):
        return cfd_by_tables(SimpleNamespace(guide=guide + "NNN", site=site), tables)

    both_strands = [(text, reverse_complement(text)) for text in haplotypes.texts]
    text = haplotypes.texts[haplotypes.reference]
    start, end = region
    found = find_guides(letters_of(text), "NGG", start=start, end=end)
    designed = design_guides(found, read_gfa(path), contig=contig, max_mismatches=3, backend="cpu")
    assert len(found) >= 10
    assert designed.of_haplotypes == len(haplotypes.names)
    n_copies = []
    for row, guide in enumerate(found.guides):
        place = int(found.starts[row]), int(found.strands[row])
        counts, *figures, n_with = haplotypes.profile(guide, *place, 3, cfd)
        assert designed.counts[row].tolist() == counts
        assert [
            designed.worst_cfd[row], designed.reference_worst_cfd[row],
            designed.cfd_specificity[row],
        ] == pytest.approx(figures)  # fmt: skip
        assert designed.n_haplotypes[row] == n_with
        copies = [
            count_targets(guide, haplotype) + count_targets(guide, turned)
            for haplotype, turned in both_strands
        ]
        n_copies.append(max(copies))
        if max(copies) == 1:
            assert n_with == sum(copies)
    assert (designed.counts.sum(axis=1).max(), max(n_copies)) == most


@pytest.mark.parametrize("is_split", [False, True])
def test_a_design_on_a_genome_is_that_of_looking_everywhere(is_split, monkeypatch):
    if is_split:
        search_in_small_parts(monkeypatch)
    unit = bases(8, 120)
    text = unit + bases(9, 40) + unit[:50] + "A" + unit[51:80] + "T" + unit[81:] + bases(10, 50)
    found = find_guides(letters_of(text), "NGG", start=0, end=120)
    genome = Sequences.from_records([("c", text)])
    designed = design_guides(found, genome, contig="c", max_mismatches=3, backend="cpu")
    for row, (counts, worst, specificity, _) in enumerate(look_everywhere([text], found, 3)):
        assert designed.counts[row].tolist() == counts
        assert designed.worst_cfd[row] == pytest.approx(worst)
        assert designed.cfd_specificity[row] == pytest.approx(specificity)
    assert {*designed.n_haplotypes.tolist()} == {-1}
    assert np.nanmax(designed.worst_cfd) == 1
    assert designed.efficiency.tolist() == pytest.approx(
        [oracle.rule_set_1(text) if text else np.nan for text in found.contexts], nan_ok=True
    )
    nothing = find_guides(letters_of("ACGT"), "NGG")
    assert len(design_guides(nothing, genome, contig="c", backend="cpu").order) == 0
    graph = make_spelled_graph([unit], [[1]])
    with pytest.raises(ParameterError, match="a graph needs the path or sample"):
        design_guides(found, graph, contig=None, backend="cpu")
    for wrong, words in (
        ("d", "no contig is named 'd'"),
        ("c", "does not stand at its place on c"),
    ):
        shifted = Sequences.from_records([("c", "A" + text)])
        with pytest.raises(ParameterError, match=words):
            design_guides(found, shifted, contig=wrong, backend="cpu")


def test_a_copy_of_a_foreign_sequence_is_an_off_target():
    """A transgene shares a stretch with the genome: guides there cut the genome too."""
    shared = bases(21, 60)
    text = bases(22, 90) + shared + bases(23, 90)
    found = find_guides(letters_of(bases(24, 40) + shared + bases(25, 40)), "NGG")
    wanted = look_everywhere([text], found, 3, has_target=False)
    assert {counts[0] for counts, *_ in wanted} == {0, 1}
    for genome in (Sequences.from_records([("c", text)]), make_spelled_graph([text], [[1]])):
        reference = None if isinstance(genome, Sequences) else genome.path_names[0]
        designed = design_guides(
            found, genome, contig=None, reference=reference, max_mismatches=3, backend="cpu"
        )
        for row, (counts, worst, specificity, _) in enumerate(wanted):
            assert designed.counts[row].tolist() == counts
            assert designed.worst_cfd[row] == pytest.approx(worst)
            assert designed.cfd_specificity[row] == pytest.approx(specificity)
        assert {*designed.n_haplotypes.tolist()} == {-1}


def test_a_target_that_a_haplotype_has_twice_is_cut_twice():
    """One haplotype visits the target's nodes again, another has a copy with an allele."""
    left, gene, middle, right = (bases(seed, 80) for seed in (31, 32, 33, 34))
    nodes = [left, gene[:40], gene[40], gene[41:], middle, right]
    other = next(letter for letter in "ACGT" if letter != gene[40])
    nodes.append(other)
    once, twice, allele = (
        [1, 2, 3, 4, 5, 6],
        [1, 2, 3, 4, 5, 2, 3, 4, 6],
        [1, 2, 7, 4, 5, 2, 3, 4, 6],
    )
    for paths, n_copies in (([once, once], 1), ([once, twice], 2), ([once, allele], 2)):
        graph = make_spelled_graph(nodes, paths)
        texts = ["".join(nodes[node - 1] for node in path) for path in paths]
        found = find_guides(letters_of(texts[0]), "NGG", start=80, end=160)
        designed = design_guides(
            found, graph, contig=graph.path_names[0], max_mismatches=0, backend="cpu"
        )
        assert len(found) >= 5
        for row, guide in enumerate(found.guides):
            sites = [
                sum(
                    text[start : start + 20] == guide and text[start + 21 : start + 23] == "GG"
                    for text in (haplotype, reverse_complement(haplotype))
                    for start in range(len(text) - 22)
                )
                for haplotype in texts
            ]
            assert sites[0] == 1
            has_again = max(sites) > 1
            assert designed.worst_cfd[row] == has_again
            assert designed.reference_worst_cfd[row] == 0
            assert designed.cfd_specificity[row] == pytest.approx(1 / max(sites))
            assert designed.counts[row].tolist() == [0]
        assert designed.worst_cfd.max() == (n_copies > 1)


def test_guides_without_scores_have_none_on_a_graph():
    text = bases(41, 400)
    found = find_guides(letters_of(text), "NNGRRT", length=21)
    graph = make_spelled_graph([text], [[1]])
    assert len(found)
    designed = design_guides(found, graph, contig=graph.path_names[0], backend="cpu")
    for values in (designed.worst_cfd, designed.reference_worst_cfd, designed.cfd_specificity):
        assert np.isnan(values).all()
