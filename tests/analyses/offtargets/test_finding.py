"""Off-target search against a slow search and against rows of Cas-OFFinder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets.bulges import BulgeType, find_protospacer
from genoviz.analyses.offtargets.finding import (
    METHODS,
    find_offtargets,
    guides_without_pam,
    iter_find_offtargets,
)
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from genoviz.model.offtargets.protospacer import ENZYMES
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data
from tests.oracles.offtargets import find_bulged_sites, find_sites

CASES = (
    "01_basic_ngg", "03_genomeN_protospacer", "04_genomeN_pam", "05_talen_allN", "06_allN_guide",
    "08_softmask", "09_contig_edges", "10_short_contigs", "11_end_overrun", "12_overlaps",
    "12b_pam_middle", "14_cas12a_tttn", "15_sacas9_nngrrt", "17_guide_with_pam", "19_twobit",
    "21_headers", "22_bulge_1_1_ngg", "22b_bulge_1_1_nrg", "23_bulge_2_2_nrg",
    "26_guide_unknown_letters", "27b_long_lines", "28_bulk_nrg_mm6",
)  # fmt: skip
SIGNS = {1: "+", -1: "-"}


def genome_of(contigs):
    return Sequences.from_records((f"c{i}", text) for i, text in enumerate(contigs))


def as_set(hits):
    columns = (hits.guide_ids, hits.contig_ids, hits.starts, hits.strands, hits.mismatches)
    return {
        (guide, contig, start, SIGNS[strand], total)
        for guide, contig, start, strand, total in zip(*(c.tolist() for c in columns), strict=True)
    }


@st.composite
def genomes(draw):
    contigs = st.lists(st.text("ACGTACGTACGTNR", max_size=150), min_size=1, max_size=4)
    return draw(contigs)


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(contigs=genomes(), data=st.data())
def test_hits_are_those_of_a_slow_search(backend, method, contigs, data):
    length = data.draw(st.integers(3, 25))
    pattern = data.draw(st.sampled_from(["GG", "RG", "N", "TTTN"[: length - 1]]))
    pattern = "N" * (length - len(pattern)) + pattern
    words = st.text("ACGTACGTN", min_size=length, max_size=length)
    guides = data.draw(st.lists(words, min_size=1, max_size=7))
    limits = data.draw(st.lists(st.integers(0, length), min_size=len(guides), max_size=len(guides)))
    hits = find_offtargets(
        guides, genome_of(contigs), pattern, max_mismatches=limits, method=method, backend=backend
    )
    expected = find_sites(contigs, pattern, guides, limits)
    assert as_set(hits) == expected
    assert len(hits) == len(expected)


@settings(max_examples=30, deadline=None)
@given(contigs=genomes(), data=st.data())
def test_bulges_are_those_of_a_slow_search(contigs, data):
    n = data.draw(st.integers(5, 9))
    protospacer = data.draw(st.text("ACGT", min_size=n, max_size=n))
    is_pam_first = data.draw(st.booleans())
    guide, pattern, n_pam = protospacer + "NNN", "N" * n + "NGG", 3
    if is_pam_first:
        guide, pattern, n_pam = "NNN" + protospacer, "TTN" + "N" * n, -3
    sizes = {"dna_bulge": data.draw(st.integers(0, 2)), "rna_bulge": data.draw(st.integers(0, 2))}
    limit = data.draw(st.integers(0, 3))
    hits = find_offtargets(
        [guide], genome_of(contigs), pattern, max_mismatches=limit, placements="all", **sizes
    )
    found = [
        (contig, start, SIGNS[strand], total, BulgeType(kind).label, size, place)
        for contig, start, strand, total, kind, size, place in zip(
            hits.contig_ids.tolist(),
            hits.starts.tolist(),
            hits.strands.tolist(),
            hits.mismatches.tolist(),
            hits.bulge_types.tolist(),
            hits.bulge_sizes.tolist(),
            hits.bulge_places.tolist(),
            strict=True,
        )
    ]
    expected = find_bulged_sites(contigs, pattern, guide, limit, n_pam, **sizes)
    assert len(found) == len(expected)
    assert {*found} == expected
    check_best(hits)


def check_best(hits):
    best = hits.best_placements()
    loci = {}
    for row in range(len(hits)):
        key = (hits.strands[row], hits.pam_ends[row])
        loci.setdefault(key, []).append(hits.mismatches[row] + hits.bulge_sizes[row])
    found = {
        (best.strands[row], best.pam_ends[row]): best.mismatches[row] + best.bulge_sizes[row]
        for row in range(len(best))
    }
    assert len(found) == len(best)
    assert found == {key: min(values) for key, values in loci.items()}


def read_case(folder):
    lines = [line.split() for line in (folder / "input.txt").read_text().splitlines()]
    guides = []
    for line in lines[2:]:
        if not line:
            break
        guides.append(line)
    genome = folder / lines[0][0]
    files = [genome] if genome.is_file() else sorted(genome.iterdir())
    return lines[1], guides, [read_sequences(file) for file in files]


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_cas_offinder(case):
    folder = real_data(f"offtarget/cases/{case}")
    head, guides, genomes = read_case(folder)
    dna_bulge, rna_bulge = (int(head[1]), int(head[2])) if len(head) == 3 else (0, 0)
    rows = []
    for genome in genomes:
        hits = find_offtargets(
            [guide[0] for guide in guides],
            genome,
            head[0],
            max_mismatches=[int(guide[1]) for guide in guides],
            dna_bulge=dna_bulge,
            rna_bulge=rna_bulge,
            placements="all",
        )
        names = genome.descriptions or genome.names
        for row, alignment in enumerate(hits.alignments()):
            place = [names[hits.contig_ids[row]], str(hits.starts[row])]
            end = [SIGNS[int(hits.strands[row])], str(hits.mismatches[row])]
            guide = guides[hits.guide_ids[row]]
            if len(head) == 3:
                kind = BulgeType(hits.bulge_types[row]).label
                size = str(hits.bulge_sizes[row])
                rows.append([kind, alignment.guide, alignment.site, *place, *end, size])
            else:
                rows.append([guide[0].upper(), *place, alignment.site, *end, *guide[2:]])
    expected = (folder / "expected.tsv").read_text().splitlines()
    assert sorted("\t".join(row) for row in rows) == sorted(expected)


def test_progress_covers_both_strands_and_all_bulges():
    genome = make_genome_planes(genome_of(["ACGT" * 400_000]))
    steps = list(
        iter_find_offtargets(["ACGTACNNN"], genome, "NNNNNNNTA", max_mismatches=0, rna_bulge=1)
    )
    totals = [step.n_done for step in steps]
    assert totals == sorted(totals)
    assert totals[-1] == steps[-1].n_total == genome.n_bases * 4
    assert all(step.hits is None for step in steps[:-1])
    assert steps[-1].n_found >= len(steps[-1].hits) > 0


def test_blocks_with_many_hits_are_searched_again():
    contig = "".join(np.random.default_rng(0).choice(list("ACGT"), 400_000)) + "A" * 100_000
    hits = find_offtargets(
        ["AAAAAAAAAAAAAAAAAAAA"], genome_of([contig]), "N" * 20, max_mismatches=0
    )
    assert len(hits) == 100_000 - 19 + len(contig[:400_000]) - len(contig[:400_000].rstrip("A"))


def test_alignments_mark_mismatches_in_lower_case():
    genome = genome_of(["TTTACCGTACGATGGTT"])
    hits = find_offtargets(["ACCGTTCGANNN"], genome, "NNNNNNNNNNGG", max_mismatches=1)
    (alignment,) = hits.alignments()
    assert (alignment.guide, alignment.site) == ("ACCGTTCGANGG", "ACCGTaCGATGG")
    assert hits.sites() == ["ACCGTaCGATGG"]
    np.testing.assert_array_equal(hits.count_by_mismatches(), [[0, 1]])


@pytest.mark.parametrize(
    ("pattern", "guide", "expected"),
    [
        ("NNNNNNGG", "ACGTANNN", (0, 5, False)),
        ("NNNNNNGG", "ACGTAAGG", (0, 6, False)),
        ("TTTNNNNN", "NNNNACGT", (4, 8, True)),
        ("NNNNNNNN", "ACGTACGT", (0, 8, False)),
    ],
)
def test_protospacer_lies_beside_the_pam(pattern, guide, expected):
    place = find_protospacer(pattern, guide)
    assert (place.start, place.stop, place.is_pam_first) == expected
    assert place.length == expected[1] - expected[0]


def test_nucleases_have_the_pam_of_their_papers():
    ends = {name: (enzyme.pam, enzyme.is_pam_first) for name, enzyme in ENZYMES.items()}
    assert ends == {
        "SpCas9": ("NGG", False),
        "SpCas9-NG": ("NG", False),
        "SpRY": ("NRN", False),
        "SaCas9": ("NNGRRT", False),
        "SaCas9-KKH": ("NNNRRT", False),
        "Cas12a": ("TTTV", True),
    }


@pytest.mark.parametrize(
    ("guides", "pattern", "options", "words"),
    [
        (["ACG"], "NNNN", {}, "'ACG' has 3 letters and the pattern 4"),
        (["ACGT"], "", {}, "pattern has 0 letters"),
        (["ACGT"], "NNZN", {}, "pattern has 'Z'"),
        (["ACGT"], "NNGG", {"max_mismatches": -1}, "max_mismatches is -1"),
        (["ACGT"], "NNGG", {"dna_bulge": -1}, "dna_bulge is -1"),
        (["ACNN"], "NNGG", {"rna_bulge": 1}, "too few for a bulge of 1"),
        (["ACNN"], "NNGG", {"dna_bulge": 252}, "together they need to be 255 at most"),
        (["ACGT"], "NNGG", {"strands": "*"}, "strands is '\\*'"),
        (["ACGT"], "NNGG", {"placements": "some"}, "placements is 'some'"),
        (["ACGT"], "NNGG", {"method": "slow"}, "method is 'slow'"),
    ],
)
def test_wrong_searches_are_told(guides, pattern, options, words):
    with pytest.raises(ParameterError, match=words):
        find_offtargets(guides, genome_of(["ACGT"]), pattern, **{"max_mismatches": 0} | options)


SPACER = "GGCCGACCTGTCGCTGACGC"


@pytest.mark.parametrize(
    ("guide", "pam", "is_first", "expected"),
    [
        (SPACER + "AGG", "NGG", False, SPACER),
        (SPACER + "NGG", "NGG", False, SPACER),
        (SPACER + "NNN", "NGG", False, SPACER),
        (SPACER + "AAG", "NRG", False, SPACER),
        ("G" + SPACER + "AGG", "NGG", False, "G" + SPACER),
        (SPACER + "A" + "TTGAAT", "NNGRRT", False, SPACER + "A"),
        ("TTTA" + SPACER + "ACT", "TTTV", True, SPACER + "ACT"),
        ("NNNN" + SPACER, "TTTV", True, SPACER),
        # These stay: no PAM there, too short or too long without it, or a PAM that fits anything.
        (SPACER + "ACG", "NGG", False, SPACER + "ACG"),
        (SPACER + "NRG", "NGG", False, SPACER + "NRG"),
        ("TTTT" + SPACER, "TTTV", True, "TTTT" + SPACER),
        ("TTTA" + SPACER, "TTTV", False, "TTTA" + SPACER),
        (SPACER[:17] + "AGG", "NGG", False, SPACER[:17] + "AGG"),
        (SPACER[:19] + "AGG", "NGG", False, SPACER[:19] + "AGG"),
        (SPACER + "AAAAA" + "AGG", "NGG", False, SPACER + "AAAAA" + "AGG"),
        (SPACER + "AGG", "NNN", False, SPACER + "AGG"),
        (SPACER + "AGG", "", False, SPACER + "AGG"),
    ],
)
def test_a_guide_that_was_written_with_its_pam_loses_it(guide, pam, is_first, expected):
    (found,), note = guides_without_pam([guide], pam, is_pam_first=is_first, names=["name"])
    assert found == expected
    verb = "begins with" if is_first else "ends in"
    left_out = f"1 guide {verb} the PAM {pam}, which is left out of it: name"
    assert note == ("" if found == guide else left_out)


def test_the_note_names_few_of_many_guides():
    names = [f"g{number}" for number in range(1, 9)]
    guides, note = guides_without_pam([SPACER + "CGG"] * 7 + [SPACER], "NGG", names=names)
    assert guides == (SPACER,) * 8
    assert note == (
        "7 guides end in the PAM NGG, which is left out of them: g1, g2, g3, g4, g5 and 2 more"
    )
