"""Scores against published vectors, against hand-made cases, and against slow loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets import scores as offtarget_scores
from genoviz.analyses.offtargets.cuts import cut_sites, pam_lengths
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.scores import cctop_scores, cfd_scores, has_scores, mit_scores
from genoviz.analyses.offtargets.summaries import SummaryCollector, summarise_guides
from genoviz.errors import ParameterError
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data

GUIDE = "GACGCATAAAGATGAGACGC"
NRG = "N" * 21 + "RG"
TURN = str.maketrans("ACGT", "TGCA")
HSU = [0, 0, 0.014, 0, 0, 0.395, 0.317, 0, 0.389, 0.079, 0.445, 0.508, 0.613, 0.851, 0.732, 0.828,
       0.615, 0.804, 0.685, 0.583]  # fmt: skip


def search(site, guide=GUIDE, pattern=NRG, limit=20, **options):
    genome = Sequences.from_records([("c", site)])
    guides = [guide + "N" * (len(pattern) - len(guide))]
    return find_offtargets(
        guides, genome, pattern, max_mismatches=limit, backend="cpu", **{"strands": "+"} | options
    )


def with_mismatches(*positions):
    """Return the guide's site with other bases at positions from 1."""
    swap = str.maketrans("ACGT", "CATG")
    letters = [*GUIDE]
    for position in positions:
        letters[position - 1] = letters[position - 1].translate(swap)
    return "".join(letters)


def cfd_of(alignment, tables):
    """Return CFD from two lines, letter by letter; NaN for letters that are no bases."""
    score, position = 1.0, 1
    for letter, site in zip(alignment.guide[:-3], alignment.site[:-3].upper(), strict=True):
        if site not in "ACGT-":
            return math.nan
        turned = site.translate(TURN)
        base = letter.replace("T", "U")
        if letter == "-":
            score *= tables["bulge"][f"r-:d{turned}"][position - 1]
        elif site == "-":
            score *= tables["bulge"][f"r{base}:d-"][position - 1]
        elif letter != site:
            score *= tables["mismatch"][f"r{base}:d{turned}"][position - 1]
        position += letter != "-"
    return score * tables["pam"].get(alignment.site[-2:].upper(), math.nan)


def test_the_tables_of_cfd_are_the_published_ones():
    """Supplementary table 19 of Doench et al. 2016, doi:10.1038/nbt.3437."""
    tables = json.loads(real_data("offtarget/cfd.json").read_text())
    assert offtarget_scores.PAM_WEIGHTS == pytest.approx(tables["pam"], abs=1e-12)
    for own, published in (
        (offtarget_scores.MISMATCHES, tables["mismatch"]),
        (offtarget_scores.BULGES, tables["bulge"]),
    ):
        assert set(own) == set(published)
        for name, values in own.items():
            wanted = [1.0 if value is None else value for value in published[name]]
            assert values == pytest.approx(wanted, abs=1e-12), name


def test_the_values_of_pams_are_by_their_two_letters():
    published = {"GG": 1, "AG": 0.259259259, "CG": 0.107142857, "GA": 0.069444444,
                 "TG": 0.038961039, "GC": 0.022222222, "GT": 0.016129032}  # fmt: skip
    pams = offtarget_scores.CFD_TABLES[3]
    for first, letter in enumerate("ACGT"):
        for second, other in enumerate("ACGT"):
            assert pams[first, second] == published.get(letter + other, 0)


def test_cfd_is_that_of_known_vectors():
    vectors = json.loads(real_data("offtarget/cfd.json").read_text())["test_vectors"]
    for guide, site, score in vectors:
        hits = search(site.upper(), guide[:20])
        assert cfd_scores(hits) == pytest.approx([score], abs=1e-12)


@settings(max_examples=25)
@given(st.data())
def test_cfd_with_bulges_is_that_of_a_slow_loop(data):
    tables = json.loads(real_data("offtarget/cfd.json").read_text())
    kept = "".join(letter for letter in GUIDE if data.draw(st.integers(0, 19)))
    noise = data.draw(st.text("ACGTACGTACGTN", min_size=30, max_size=60))
    hits = search(
        noise + kept + "AGG" + noise, limit=14, dna_bulge=2, rna_bulge=2, placements="all",
        strands="both",
    )  # fmt: skip
    expected = [cfd_of(alignment, tables) for alignment in hits.alignments()]
    np.testing.assert_allclose(cfd_scores(hits), expected, atol=1e-12)


def test_scores_of_slices_are_those_of_all(monkeypatch):
    random = np.random.default_rng(2)
    hits = search("".join(random.choice([*"ACGT"], 4000)))
    whole = [score(hits) for score in (cfd_scores, mit_scores, cctop_scores)]
    assert len(hits) > 100
    monkeypatch.setattr(offtarget_scores, "_ROWS_AT_ONCE", 7)
    for score, expected in zip((cfd_scores, mit_scores, cctop_scores), whole, strict=True):
        np.testing.assert_array_equal(score(hits), expected)


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ((), 100),
        ((1,), 100),
        ((20,), 100 * (1 - 0.583)),
        ((10, 12), 100 * (1 - 0.079) * (1 - 0.508) / (4 * 17 / 19 + 1) / 4),
        ((1, 20), 100 * (1 - 0.583) / 1 / 4),
        ((2, 5, 13), 100 * (1 - 0.613) / (4 * (19 - 5.5) / 19 + 1) / 9),
        (range(1, 21), 100 * math.prod(1 - m for m in HSU) / (4 * 18 / 19 + 1) / 400),
    ],
)
def test_mit_is_that_of_the_formula(positions, expected):
    site = with_mismatches(*positions)
    assert mit_scores(search(site + "AGG")) == pytest.approx([expected])
    assert mit_scores(search(site + "CAG")) == pytest.approx([expected / 5])
    assert mit_scores(search(site + "CAG"), pam_factor=1) == pytest.approx([expected])


def test_cctop_adds_up_positions():
    assert cctop_scores(search(GUIDE + "AGG")) == pytest.approx([0])
    for positions in ((1,), (20,), (3, 4, 11)):
        hits = search(with_mismatches(*positions) + "TGG")
        assert cctop_scores(hits) == pytest.approx([sum(1.2**p for p in positions)])
    assert cctop_scores(search(with_mismatches(*range(1, 21)) + "AAG"))[0] == pytest.approx(
        224.0256, abs=1e-4
    )


def test_what_means_nothing_is_nan():
    scores = (cfd_scores, mit_scores, cctop_scores)
    others = [
        search(GUIDE + "AAGG", GUIDE + "A", "N" * 22 + "GG"),  # 21 nt
        search(GUIDE + "AGA", GUIDE, "N" * 21 + "GN"),  # another enzyme's PAM
        search("TTTA" + GUIDE, "NNNN" + GUIDE, "TTTN" + "N" * 20),
        search(GUIDE + "AGG", "R" + GUIDE[1:]),  # a guide with IUPAC letters
    ]
    for hits in others:
        assert len(hits) == 1
        assert all(np.isnan(score(hits)).all() for score in scores)
        summaries = summarise_guides(hits)
        assert np.isnan([summaries.cfd_specificity, summaries.mit_specificity]).all()
        assert (summaries.n_perfect.tolist(), summaries.n_unscored.tolist()) == ([1], [1])
    unknown = search(GUIDE[:5] + "N" + GUIDE[6:] + "AGG")
    assert np.isnan(cfd_scores(unknown)).all()
    assert cctop_scores(unknown) == pytest.approx([1.2**6])
    bulged = search(GUIDE[:9] + GUIDE[10:] + "AGG", rna_bulge=1, limit=0)
    assert np.isnan(mit_scores(bulged)).all()
    assert np.isnan(cctop_scores(bulged)).all()
    assert not np.isnan(cfd_scores(bulged)).any()
    none = search("A", limit=0)
    assert [len(score(none)) for score in scores] == [0, 0, 0]
    assert has_scores("N" * 20 + "NAG")
    with pytest.raises(ParameterError, match="pam_factor is 2"):
        mit_scores(none, pam_factor=2)


def test_summaries_are_those_of_a_slow_count():
    random = np.random.default_rng(5)
    noise = "".join(random.choice([*"ACGT"], 20_000))
    sites = [GUIDE + "AAG", GUIDE + "TGG", with_mismatches(3) + "CGG", GUIDE + "GGG"]
    text = "".join(noise[i * 3000 : (i + 1) * 3000] + site for i, site in enumerate(sites))
    guides = [GUIDE + "NNN", noise[100:120] + "NNN", "A" * 20 + "NNN"]
    hits = find_offtargets(
        guides, Sequences.from_records([("c", text)]), NRG, max_mismatches=[9, 9, 0],
        dna_bulge=1, rna_bulge=1, backend="cpu",
    )  # fmt: skip
    summaries = summarise_guides(hits)
    cfd, mit = cfd_scores(hits), mit_scores(hits)
    for guide in range(3):
        rows = np.flatnonzero(hits.guide_ids == guide).tolist()
        perfect = [row for row in rows if not hits.mismatches[row] and not hits.bulge_sizes[row]]
        target = max(perfect, key=lambda row: cfd[row], default=-1)
        others = [row for row in rows if row != target]
        assert summaries.on_targets[guide] == target
        assert summaries.n_perfect[guide] == len(perfect)
        assert summaries.is_ambiguous[guide] == (len(perfect) > 1)
        assert summaries.n_bulged[guide] == sum(hits.bulge_sizes[rows] > 0)
        assert summaries.counts[guide].sum() == sum(hits.bulge_sizes[rows] == 0)
        assert summaries.is_found[guide] == bool(rows)
        if not rows:
            assert np.isnan(summaries.cfd_specificity[guide])
            assert np.isnan(summaries.mit_specificity[guide])
            assert np.isnan(summaries.worst_cfd[guide])
            continue
        assert summaries.cfd_specificity[guide] == pytest.approx(
            1 / (1 + sum(cfd[row] for row in others))
        )
        assert summaries.mit_specificity[guide] == pytest.approx(
            1e4 / (100 + sum(mit[row] for row in others if not math.isnan(mit[row])))
        )
        assert summaries.worst_cfd[guide] == max((cfd[row] for row in others), default=0)
    assert hits.starts[summaries.on_targets[0]] == 6000 + 23
    assert summaries.cfd_specificity[0] < 0.5, "a second perfect copy counts in full"
    assert summaries.is_found.tolist() == [True, True, False]
    assert "1 / (1 + sum of CFD)" in summaries.definition
    collector = SummaryCollector(hits.guides, hits.pattern)
    for first in range(0, len(hits), 7):
        collector.add(hits.take(slice(first, first + 7)))
    for name, values in vars(collector.join()).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_allclose(values, getattr(summaries, name), rtol=1e-12)
    chosen = summaries.worst_hits
    again = summarise_guides(hits, on_targets=chosen, cfd=cfd, mit=mit)
    assert again.on_targets.tolist() == chosen.tolist()
    with pytest.raises(ParameterError, match="is not a row of its hits"):
        summarise_guides(hits, on_targets=[len(hits), -1, -1])
    with pytest.raises(ParameterError, match="on_targets has shape"):
        summarise_guides(hits, on_targets=[0])
    with pytest.raises(ParameterError, match="cfd has shape"):
        summarise_guides(hits, cfd=cfd[1:])


def turn(text):
    return text[::-1].translate(TURN)


@pytest.mark.parametrize(
    ("site", "guide", "pattern", "options", "cut"),
    [
        (GUIDE + "AGG", GUIDE, NRG, {}, 17),
        (GUIDE + "AGG", GUIDE + "AGG", NRG, {}, 17),
        (GUIDE[:9] + GUIDE[10:] + "AGG", GUIDE, NRG, {"rna_bulge": 1}, 16),
        ("TTTA" + GUIDE, "NNNN" + GUIDE, "TTTN" + "N" * 20, {}, 22),
        ("TTTA" + GUIDE, "NNNN" + GUIDE, "TTTN" + "N" * 20, {"distance": 23}, 27),
        (GUIDE + "AAGGAT", GUIDE, "N" * 20 + "NNGRRT", {}, 17),
    ],
)
def test_cuts_are_inside_the_protospacer(site, guide, pattern, options, cut):
    options = dict(options)
    distance = {"distance": options.pop("distance")} if "distance" in options else {}
    before = "CCATA"
    for text, strand, expected in (
        (before + site, 1, len(before) + cut),
        (before + turn(site), -1, len(before) + len(site) - cut),
    ):
        genome = Sequences.from_records([("first", "A" * 9), ("second", text)])
        hits = find_offtargets(
            [guide + "N" * (len(pattern) - len(guide))], genome, pattern, max_mismatches=0,
            backend="cpu", **options,
        )  # fmt: skip
        assert hits.strands.tolist() == [strand]
        assert cut_sites(hits, **distance).tolist() == [expected]
        assert pam_lengths(hits)[0] == len(pattern) - 20
