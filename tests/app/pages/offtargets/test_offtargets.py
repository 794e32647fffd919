"""The parts of the off-targets page, and the page itself without a browser."""

from __future__ import annotations

import csv
import errno
import random
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.models import PanTool, WheelZoomTool

from genoviz.analyses.offtargets import pieces as offtarget_pieces
from genoviz.analyses.offtargets.annotation import annotate_hits
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.offtargets.guide_files import read_guides
from genoviz.model import PathRegion
from genoviz.model.columns import is_on_disk
from genoviz.model.offtargets.hits import COLUMNS, Alignment
from genoviz.model.offtargets.protospacer import find_protospacer
from genoviz.model.sequences.sequences import Sequences
from genoviz_app.opening.companions import AnnotationFile
from genoviz_app.opening.genome_files import (
    Genome,
    OpenGenome,
    iter_open_genome,
    sequences_of,
)
from genoviz_app.pages.offtargets import OffTargetsPage
from genoviz_app.pages.offtargets.hits.alignment_html import dots_html, stacked_html
from genoviz_app.pages.offtargets.hits.bulge_kinds import KIND_SIZES, kind_of, kinds_of
from genoviz_app.pages.offtargets.hits.card import HitCard, card_html, flank_of, masked_in
from genoviz_app.pages.offtargets.hits.exports import caption_of, iter_write_found, write_figure
from genoviz_app.pages.offtargets.hits.figures import PlacesPanel, make_cells
from genoviz_app.pages.offtargets.hits.filter import HitFilter, filter_hits
from genoviz_app.pages.offtargets.hits.filter_bar import NO_CHOICE, class_options
from genoviz_app.pages.offtargets.hits.listing import BLOCK, hit_rows
from genoviz_app.pages.offtargets.hits.order import HitOrder
from genoviz_app.pages.offtargets.hits.place_bins import (
    CONTIGS,
    GENOME,
    SCORES,
    PlaceView,
    lit_of_view,
    make_place_bins,
)
from genoviz_app.pages.offtargets.hits.regions import parse_place, place_text
from genoviz_app.pages.offtargets.link import LinkedHits, read_search, write_hits, write_search
from genoviz_app.pages.offtargets.search import running
from genoviz_app.pages.offtargets.search.genes import find_genes
from genoviz_app.pages.offtargets.search.guide_groups import mismatch_kinds_of
from genoviz_app.pages.offtargets.search.guide_table import guide_rows
from genoviz_app.pages.offtargets.search.query import (
    GUIDE_LENGTH,
    Guide,
    OffTargetQuery,
    Pam,
    parse_guides,
    pick_guides,
)
from genoviz_app.pages.offtargets.search.running import SearchStep, iter_search
from genoviz_app.pages.offtargets.search.words import (
    left_out_words,
    lost_words,
    progress_words,
    result_words,
)
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.plots.offtarget_places import (
    BIN_COLUMNS,
    CELL_COLUMNS,
    KindsFigure,
    PlacesFigure,
)
from genoviz_app.server.jobs import JobState
from genoviz_app.session.address import Address
from genoviz_app.session.lit_sets import Highlight, LitSet
from tests.app.conftest import poll_until

NUMBERS = random.Random(5)
SPACER = "GACCTGTCGCTGACGCATTC"
TURNED = str.maketrans("ACGT", "TGCA")


def letters(n):
    return "".join(NUMBERS.choice("ACGT") for _ in range(n))


CHR1 = letters(20_000) + SPACER + "TGG" + letters(9_000)
CHR2 = letters(700).lower() + (SPACER[:4] + "A" + SPACER[5:] + "AGG")[::-1].translate(TURNED)
GENOME_LETTERS = {"chr1": CHR1, "chr2": CHR2}


@pytest.fixture(scope="module")
def genome():
    planes = make_genome_planes(Sequences.from_records(list(GENOME_LETTERS.items())))
    return OpenGenome("", "test", Genome(planes))


@pytest.fixture(scope="module")
def result(genome):
    query = OffTargetQuery(parse_guides(f"one {SPACER}\ntwo {letters(20)}"), Pam("NGG"), 6, 1, 1)
    *_, last = iter_search(genome, query)
    return last.result


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in GENOME_LETTERS.items()))
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GATTACAGAT\nggcattacau\n", [("g1", "GATTACAGAT"), ("g2", "GGCATTACAT")]),
        (
            "a b GATTACAGAT\n# no\n\nGGCATTACAT,ctrl",
            [("a b", "GATTACAGAT"), ("ctrl", "GGCATTACAT")],
        ),
        ("c GATTACAGAT\n>x y\nGGCATTACAT", [("c", "GATTACAGAT"), ("x y", "GGCATTACAT")]),
    ],
)
def test_guides_are_read_as_people_write_them(text, expected):
    assert [(guide.name, guide.letters) for guide in parse_guides(text)] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no guide"),
        ("A GACCTGTCGCTGACGCATTC,GACCTGTCGCTGACGCATTA", "line 1 has two guides"),
        ("GATTXCA", "'X' at position 5"),
        ("a GATTACAXGATTACA", "line 1 has no guide: letter 8 of GATTACAXGATTACA is 'X'"),
        (">a\nGATTACAT\n>b", "name in line 3, b, has no guide below it"),
        (">a\nGATTACAT\n>b\nGAT\nACA", "guide below line 3 has 6 nt, needs 8"),
        (">a\nGATT\nGAT/ACA", "line 3 has '/' at position 4"),
        ("GATTACA\nhello world?", "line 2 has no guide"),
    ],
)
def test_what_is_wrong_with_guides_is_said(text, words):
    with pytest.raises(ParameterError, match=words):
        parse_guides(text)


@pytest.mark.parametrize(
    "text",
    [
        ">x y\nGATTACAGAT\n>z\nGGCATTACAT\n",
        ">wrapped one\nGACCTGTCGC\nTGACGC\nauuc\n\n  >second\n\nGACCTGTCGC TGACGCATTA\r\n",
        ">AAPL1,a;b\nGACC\nTGAT\n> \n ACGTACGT\nNNNN",
    ],
)
def test_fasta_is_read_as_that_of_files(text, tmp_path):
    path = tmp_path / "guides.fa"
    path.write_text(text, newline="")
    expected = read_guides(path)
    found = parse_guides(text)
    names = [name.replace("guide_", "g") for name in expected.names]
    assert [(guide.name, guide.letters) for guide in found] == list(
        zip(names, expected.guides, strict=True)
    )


def test_the_pam_of_a_guide_is_left_out_and_a_guide_without_a_site_has_no_score(genome):
    absent = "ACGT" * 5
    guides = parse_guides(f"whole {SPACER}AGG\nbare {SPACER}\nlost {absent}")
    query = OffTargetQuery.of(guides, Pam("NGG"), 2)
    assert [guide.letters for guide in query.guides] == [SPACER, SPACER, absent]
    assert query.note == "1 guide ends in the PAM NGG, which is left out of it: whole"
    *_, last = iter_search(genome, query)
    assert last.result.summaries.is_found.tolist() == [True, True, False]
    rows = guide_rows(last.result)
    assert np.isnan(rows.frame["Specificity"]).tolist() == [False, False, True]
    assert np.isnan(rows.frame["Worst CFD"]).tolist() == [False, False, True]
    assert rows.frame["Hits"].tolist()[2] == 0
    assert "1 not found" in rows.note
    assert lost_words(last.result) == "not found in this genome: lost"
    found = filter_hits(last.result, HitFilter(), HitOrder())
    assert "; not found in this genome: lost." in caption_of(found)


def test_a_pam_stands_at_either_end():
    guides = (Guide("a", "ACGT"),)
    assert OffTargetQuery(guides, Pam.parse("-nrg"), 1).patterns == (["ACGTNNN"], "NNNNNRG")
    assert OffTargetQuery(guides, Pam.parse("TTTV-"), 1).patterns == (["NNNNACGT"], "TTTVNNNN")
    assert OffTargetQuery(guides, Pam.parse("none"), 1).patterns == (["ACGT"], "NNNN")
    assert [str(Pam.parse(text)) for text in ("-NGG", "TTTV-", "none")] == ["-NGG", "TTTV-", "none"]


def test_filters_keep_what_a_loop_keeps(result):
    hits = result.hits
    kinds = (hits.bulge_types.astype(int) * KIND_SIZES + hits.bulge_sizes).tolist()
    chosen = HitFilter(guide=0, mismatches=(5, 6), kind=2 * KIND_SIZES + 1, strand=-1, contig=0,
                       stretch=(2_000, 28_000), min_cfd=0.0001, max_seed=5)  # fmt: skip
    expected, by_kind = [], 0
    for row in range(len(hits)):
        start = int(hits.starts[row])
        is_there = (
            hits.guide_ids[row] == 0 and hits.strands[row] < 0 and hits.contig_ids[row] == 0
            and start < 28_000 and start + int(hits.lengths[row]) > 2_000
            and result.cfd[row] >= 0.0001 and result.seeds[row] <= 5
        )  # fmt: skip
        by_kind += bool(is_there)
        if is_there and 5 <= hits.mismatches[row] <= 6 and kinds[row] == 2 * KIND_SIZES + 1:
            expected.append(row)
    found = filter_hits(result, chosen, HitOrder("Start"))
    assert expected
    assert found.rows.tolist() == expected
    assert int(found.kind_counts.sum()) == by_kind
    assert found.kind_counts[2, 5:7].sum() == len(expected)


@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize(
    "column", ["Guide", "Start", "±", "Mismatches", "Bulge", "CFD", "Differences"]
)
def test_hits_are_sorted_among_all_of_them(result, column, is_descending):
    rows = filter_hits(result, HitFilter(), HitOrder(column, is_descending)).rows
    hits = result.hits
    keys = {
        "Guide": hits.guide_ids, "Start": hits.positions, "±": -hits.strands,
        "Mismatches": hits.mismatches.astype(int), "CFD": np.nan_to_num(result.cfd, nan=-1),
        "Bulge": hits.bulge_types.astype(int) * KIND_SIZES + hits.bulge_sizes,
        "Differences": hits.mismatches.astype(int) + hits.bulge_sizes,
    }[column][rows]  # fmt: skip
    assert sorted(rows.tolist()) == list(range(len(result)))
    assert (np.diff(keys.astype(float)) * (-1 if is_descending else 1) >= 0).all()


def test_rows_say_where_hits_are_and_how_they_differ(result):
    found = filter_hits(result, HitFilter(guide=0), HitOrder())
    frame = hit_rows(found, 0).frame
    assert len(frame) == min(len(found), BLOCK)
    first = frame.iloc[0]
    assert (first["Contig"], first["Start"], first["±"]) == ("chr1", 20_001, "+")
    assert (first["Mismatches"], first["CFD"], first["Cut"]) == (0, 1.0, 20_017)
    assert "·" * 20 in first["Site"]
    assert "TGG" in first["Site"]
    second = frame[frame["Contig"] == "chr2"].iloc[0]
    assert (second["Start"], second["±"], second["Mismatches"]) == (701, "−", 1)
    assert "····<b" in second["Site"]
    assert ">A</b>" in second["Site"]
    assert hit_rows(found, 0).hidden == ("Has it", "In reference", "Guide", "Gene", "In")


def test_alignments_mark_bulges_and_the_pam():
    place = find_protospacer("NNNNNNGG", "ACGTANNN")
    dna, rna = Alignment("AC-GTANGG", "ACtGTATGG"), Alignment("ACGTANGG", "AC-TATGG")
    assert dots_html(dna, place).count("·") == 5
    assert "underline" in dots_html(dna, place)
    assert dots_html(rna, place).count("·") == 4
    assert "TGG</b>" in dots_html(rna, place)
    lines = stacked_html(rna, place).splitlines()
    assert len(lines) == 3
    assert lines[1].count("|") == 4
    assert "<i>T</i>" in lines[2]


def test_guides_have_their_hits_by_mismatches(result):
    rows = guide_rows(result)
    frame = rows.frame
    for guide, row in frame.iterrows():
        is_its = result.hits.guide_ids == guide
        plain = is_its & (result.hits.bulge_sizes == 0)
        levels = result.hits.mismatches[plain]
        assert [row[str(level)] for level in range(7)] == np.bincount(levels, minlength=7).tolist()
        assert row["Hits"] == is_its.sum() == plain.sum() + row["Bulge"]
    assert frame["0"].tolist() == [1, 0]
    assert 0 < frame["Specificity"][0] < 1
    assert set(rows.hidden) == {"7", "8", "9", "10", "Target in", "CFD in reference", "Exons"}


def test_guides_of_several_lengths_are_those_of_searches_of_one_length(genome, tmp_path):
    guides = parse_guides(f"a {SPACER}\nb {SPACER[2:]}\nc {letters(20)}\nd {SPACER[1:]}")
    *_, last = iter_search(genome, OffTargetQuery(guides, Pam("NRG"), 5, 1, 1))
    mixed = last.result
    assert (np.diff(mixed.hits.guide_ids) >= 0).all()
    kinds = mismatch_kinds_of(mixed.hits)
    n_kinds = 0
    for number, guide in enumerate(guides):
        *_, last = iter_search(genome, OffTargetQuery((guide,), Pam("NRG"), 5, 1, 1))
        alone, rows = last.result, np.flatnonzero(mixed.hits.guide_ids == number)
        hits = mixed.hits.take(rows)
        assert hits.alignments() == alone.hits.alignments()
        for name in ("positions", "strands", "mismatches", "lengths", "pam_ends"):
            assert getattr(hits, name).tolist() == getattr(alone.hits, name).tolist()
        assert np.array_equal(mixed.seeds[rows], alone.seeds)
        names = [mixed.pams.names[k] for k in mixed.pams.ids[rows].tolist()]
        assert names == [alone.pams.names[k] for k in alone.pams.ids.tolist()]
        cfd = np.full(len(alone), np.nan) if alone.cfd is None else alone.cfd
        assert np.array_equal(mixed.cfd[rows], cfd, equal_nan=True)
        summary, own = mixed.summaries, alone.summaries
        assert summary.n_perfect[number] == own.n_perfect[0]
        assert own.on_targets[0] == -1 or rows[own.on_targets[0]] == summary.on_targets[number]
        assert np.array_equal(
            summary.cfd_specificity[[number]], own.cfd_specificity, equal_nan=True
        )
        n_kinds += mismatch_kinds_of(alone.hits).counts.sum()
    assert kinds.counts.sum() == n_kinds
    found = filter_hits(mixed, HitFilter(), HitOrder())
    assert hit_rows(found, 0).frame["Cut"][0] == 20_017
    list(iter_write_found(tmp_path / "hits.tsv", found))
    assert len((tmp_path / "hits.tsv").read_text().splitlines()) == len(mixed) + 1
    with pytest.raises(ParameterError, match="18 and 19 and 20 nt"):
        _ = mixed.query.patterns


def test_hits_have_genes_and_are_filtered_by_class(result, tmp_path):
    path = tmp_path / "genes.bed"
    path.write_text("chr1\t19990\t20030\tTARGET\nchr2\t0\t723\tFIRST\n")
    genes = find_genes(result, AnnotationFile(str(path), "genes", read_annotations(path)))
    hits = result.hits
    on_first = hits.contig_ids == 0
    in_target = on_first & (hits.starts < 20_030) & (hits.starts + hits.lengths > 19_990)
    in_exon = in_target | (~on_first & (hits.starts < 723))
    assert (genes.classes == 0).tolist() == in_exon.tolist()
    exons = guide_rows(result, genes).frame["Exons"].tolist()
    assert exons == np.bincount(hits.guide_ids[in_exon], minlength=2).tolist()
    found = filter_hits(result, HitFilter(site_class=0), HitOrder("Gene"), genes)
    assert sorted(found.rows.tolist()) == np.flatnonzero(in_exon).tolist()
    assert found.class_counts.tolist() == [in_exon.sum(), 0, (~in_exon).sum(), 0]
    options = class_options(found)
    assert list(options.values()) == [NO_CHOICE, 0, 1, 2], "none is unknown, and none is offered"
    some = replace(found, class_counts=np.array([1, 0, 2, 3]))
    assert [words.split()[-1] for words in class_options(some)] == ["sites", "1", "0", "2", "3"]
    frame = hit_rows(found, 0).frame
    assert frame["Gene"].tolist() == sorted(frame["Gene"])
    assert {*frame["Gene"]} == {"TARGET", "FIRST"}
    row = int(np.flatnonzero(in_target)[0])
    assert "exon of TARGET" in card_html(result, row, flank_of(result, row, 5), genes)
    far = int(np.flatnonzero(on_first & ~in_target)[0])
    assert " bp away" in card_html(result, far, flank_of(result, far, 5), genes)
    list(iter_write_found(tmp_path / "hits.tsv", found))
    lines = (tmp_path / "hits.tsv").read_text().splitlines()
    names = "cut_site cfd mit cctop seed_mismatches gene gene_distance class"
    assert lines[0].endswith(names.replace(" ", "\t"))
    assert all(line.endswith("\texon") for line in lines[1:])


@pytest.mark.parametrize("mode", [CONTIGS, GENOME, SCORES])
def test_bins_have_every_hit_once(result, mode):
    found = filter_hits(result, HitFilter(), HitOrder())
    n_scored = int((~np.isnan(result.cfd)).sum())
    length = 29_023 if mode == CONTIGS else result.genome.planes.n_bases
    bins = make_place_bins(found, PlaceView(mode, 0, length, 300))
    assert bins.columns["n"].sum() == (n_scored if mode == SCORES else len(found))
    assert bins.columns["fewest"].min() == 0
    names, offsets = result.genome.planes.names, result.genome.planes.offsets
    things = Highlight.of_region(PathRegion(names[1], 100, 5_000))
    lit = lit_of_view([LitSet(things, 1, "#ff0000", "")], found, bins.view)
    shift = 0 if mode == CONTIGS else int(offsets[1])
    assert (lit["left"], lit["right"]) == ([100 + shift], [5_000 + shift])
    assert lit["bottom"] == [-1.5 if mode == CONTIGS else -0.6]
    part = make_place_bins(found, PlaceView(CONTIGS, 20_000, 20_300, 900))
    is_near = (result.hits.starts >= 20_000) & (result.hits.starts < 20_300)
    assert part.bin_bp == 1
    assert part.columns["n"].sum() == (is_near.sum())


@pytest.mark.parametrize(("low", "high"), [(0, 30), (7, 15), (9, 12), (6, 7), (20, 25), (12, 13)])
def test_masked_bases_are_those_of_the_intervals(low, high):
    masked = np.array([[5, 9], [12, 20]])
    wanted = [any(start <= at < stop for start, stop in masked) for at in range(low, high)]
    assert masked_in(masked, low, high).tolist() == wanted


def test_the_hit_of_the_card_is_lit(session, result, monkeypatch):
    made = []
    monkeypatch.setattr(session.highlights, "light_up", made.append)
    state = OffTargetState(session)
    state.result = result
    card, hits = HitCard(state), result.hits
    card.light.clicks += 1
    assert session.problem == "No hit is selected; click one in the table."
    state.hit = row = len(hits) - 1
    card.light.clicks += 1
    (things,) = made
    lit = things().intervals
    name = result.genome.planes.names[hits.contig_ids[row]]
    start = int(hits.starts[row])
    place = (lit.contigs[lit.contig_ids[0]], int(lit.starts[0]), int(lit.ends[0]))
    assert (len(lit), place) == (1, (name, start, start + int(hits.lengths[row])))


@pytest.mark.parametrize("mode", [CONTIGS, GENOME, SCORES])
def test_a_tap_lists_the_hits_of_the_bin_below_it(session, result, mode):
    panel = PlacesPanel(OffTargetState(session))
    found = filter_hits(result, HitFilter(), HitOrder())
    length = 29_023 if mode == CONTIGS else result.genome.planes.n_bases
    panel.shown = bins = make_place_bins(found, PlaceView(mode, 0, length, 300))
    taken = []
    panel._list_stretch = lambda _, start, end: taken.append((start, end))
    levels = (bins.columns["bottom"] + bins.columns["top"]) / 2
    cells = set(zip(levels.round(9).tolist(), bins.columns["left"].tolist(), strict=True))
    assert len({level for level, _ in cells}) > 1
    for level in {level for level, _ in cells}:
        for left in range(0, 30_000, bins.bin_bp):
            for x, y in ((left, -0.45), (left + bins.bin_bp - 0.5, 0.45)):
                panel._on_tap(SimpleNamespace(x=x, y=level + y))
                is_there = (level, left) in cells
                assert taken == [(left, left + bins.bin_bp)] * is_there
                taken.clear()
    panel._on_tap(SimpleNamespace(x=None, y=0))
    assert taken == []


def test_one_is_not_said_to_be_several(genome):
    query = OffTargetQuery(parse_guides(SPACER), Pam("NGG"), 1)
    *_, last = iter_search(genome, query)
    found = filter_hits(last.result, HitFilter(mismatches=(1, 1)), HitOrder())
    says = make_cells(found)["says"]
    assert says == ["1 hit: 0 mismatches, no bulge", "1 hit: 1 mismatch, no bulge"]
    assert caption_of(found).startswith("PAM -NGG, up to 1 mismatch; 1 of 2 hits. ")


def test_cells_count_kinds_and_mismatches(result):
    found = filter_hits(result, HitFilter(mismatches=(1, 1), kind=0), HitOrder())
    cells = make_cells(found)
    assert len(cells["text"]) == 3 * 7
    assert len(set(cells["edge"])) == 2
    says = f"{found.kind_counts[2, 6]:,} hits: 6 mismatches, RNA bulge, 1 nt"
    assert cells["says"][-1] == says


@pytest.mark.parametrize("n_levels", [1, 5, 6, 8, 11])
@pytest.mark.parametrize("n_kinds", [1, 3])
@pytest.mark.parametrize("count", ["7", "22", "222", "999k"])
def test_a_count_stays_in_its_cell(count, n_kinds, n_levels):
    figure = KindsFigure()
    cells = {name: [0] for name in CELL_COLUMNS} | {"text": [count]}
    figure.show(cells, [f"kind {number}" for number in range(n_kinds)], n_levels)
    glyph = figure.texts.glyph
    size = int(glyph.text_font_size.removesuffix("px"))
    drawn = len(count) * 0.637 * size  # a digit of DejaVu Sans, the widest of the usual fonts
    room = 0.92 * (196 - 10 - figure.plot.min_border_left) / n_levels
    assert size >= 9
    assert glyph.angle or drawn <= room
    assert not (glyph.angle and len(count) == 1), "one digit has room"


@pytest.mark.parametrize(
    ("width", "height", "is_shown"),
    [(300, 60, True), (160, 200, True), (160, 110, True), (160, 60, False), (60, 200, False)],
)
def test_counts_do_not_reach_into_other_rows(width, height, is_shown):
    figure = KindsFigure()
    cells = {name: [0] for name in CELL_COLUMNS} | {"text": ["163"]}
    figure.show(cells, [f"kind {number}" for number in range(5)], 11)
    figure._on_size("inner_width", 0, width)
    figure._on_size("inner_height", 0, height)
    assert figure.texts.visible == is_shown
    glyph = figure.texts.glyph
    size = int(glyph.text_font_size.removesuffix("px"))
    long, high = 3 * 0.637 * size, 0.73 * size  # of digits of DejaVu Sans
    across, up = (high, long) if glyph.angle else (long, high)
    assert (across <= 0.92 * width / 11 and up <= 0.92 * height / 5) == is_shown


@pytest.mark.parametrize(
    ("count", "text"),
    [(999, "999"), (1_499, "1k"), (1_999, "2k"), (999_499, "999k"), (999_500, "1M")],
)
def test_a_large_count_of_a_cell_is_rounded(count, text, result):
    found = filter_hits(result, HitFilter(), HitOrder())
    counts = np.full_like(found.kind_counts, count)
    assert set(make_cells(replace(found, kind_counts=counts))["text"]) == {text}


def test_the_card_reads_the_bases_around_a_hit(result):
    hits = result.hits
    forward = int(np.flatnonzero((hits.mismatches == 0) & (hits.bulge_sizes == 0))[0])
    flank = flank_of(result, forward, 10)
    assert (flank.before, flank.site) == (CHR1[19_990:20_000], CHR1[20_000:20_023])
    reverse = int(np.flatnonzero((hits.contig_ids == 1) & (hits.mismatches == 1))[0])
    flank = flank_of(result, reverse, 10)
    turned = CHR2[690:].translate(str.maketrans("ACGTacgt", "TGCAtgca"))[::-1]
    assert flank.text == turned
    assert flank.before == ""
    text = card_html(result, forward, flank_of(result, forward, 20))
    assert "20,001-20,023" in text
    assert "20000 to 20023" in text
    assert "after base 20,017" in text
    assert "Bulge" not in text
    assert f"<dt>CFD</dt><dd>{float(result.cfd[forward]):.4g}</dd>" in text
    bulged = int(np.flatnonzero(hits.bulge_sizes == 1)[0])
    kind = kinds_of(result.query)[int(kind_of(result, np.array([bulged]))[0])]
    text = card_html(result, bulged, flank_of(result, bulged, 9))
    assert f"<dt>Bulge</dt><dd>{kind}</dd>" in text


def test_places_are_read_and_written(result):
    assert parse_place("chr2", result) == (1, None)
    assert parse_place("chr1:1,001-2,000", result) == (0, (1_000, 2_000))
    assert place_text(HitFilter(contig=0, stretch=(1_000, 2_000)), result) == "chr1:1001-2000"
    for text, words in (("chrX", "no contig"), ("chr1:a-b", "positions")):
        with pytest.raises(ParameterError, match=words):
            parse_place(text, result)


@pytest.mark.parametrize(
    "chosen",
    [
        HitFilter(),
        HitFilter(guide=1, mismatches=(0, 3), kind=2 * KIND_SIZES + 1, strand=-1, contig=1),
        HitFilter(kind=0, strand=1, contig=0, stretch=(5, 900), min_cfd=0.023),
        HitFilter(max_seed=1, pam=0, site_class=2),
    ],
)
def test_a_link_lists_the_same_hits(result, chosen):
    assert LinkedHits(write_hits(chosen, HitOrder(), result)).resolve(result) == chosen


@pytest.mark.parametrize("order", [HitOrder(), HitOrder("CFD", True), HitOrder("±")])
def test_a_link_sorts_the_hits(result, order):
    linked = LinkedHits(write_hits(HitFilter(guide=1), order, result))
    assert linked.order == order
    assert linked.resolve(result) == HitFilter(guide=1)


@pytest.mark.parametrize("text", ["Site", "-", "--CFD", "cfd", "Differences"])
def test_a_link_sorts_by_no_other_column(text):
    with pytest.raises(ParameterError, match=f"sort is '{text}', needs one of Guide, Contig"):
        LinkedHits(f"sort:{text}").order  # noqa: B018


def test_a_link_lists_hits_by_nothing_else(result):
    with pytest.raises(ParameterError, match="hits have 'mismatch', need one of guide, mismatches"):
        LinkedHits("guide:1;mismatch:2").resolve(result)


def test_a_link_from_before_a_column_was_renamed_still_sorts():
    assert LinkedHits("sort:-In ref.").order == HitOrder("In reference", is_descending=True)


def test_a_link_has_the_search(result):
    said = write_search(result.query)
    address = Address.parse(Address(**said).query, pages=())
    assert read_search(address) == result.query
    assert read_search(Address()) is None
    named = OffTargetQuery(parse_guides(f">#1 a\n{SPACER}\n>>b\n{letters(20)}"), Pam("NGG"), 3)
    assert [guide.name for guide in named.guides] == ["1", "b"]
    assert read_search(Address(**write_search(named))) == named
    assert write_search(replace(named, guides=50 * named.guides)) == {}, (
        "too many, as the form says"
    )
    with pytest.raises(ParameterError, match="limits is '4,x,0'"):
        read_search(Address(guides="ACGT", limits="4,x,0"))
    with pytest.raises(ParameterError, match="guide is '9'"):
        LinkedHits("guide:9").resolve(result)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("guide:²", "guide is '²'"),
        ("mismatches:²-³", "mismatches is '²-³'"),
        ("seed:²", "seed is '²'"),
        ("bulge:DNA²", "bulge is 'DNA²', needs one of X, DNA1, RNA1"),
        ("bulge:DNA999", "bulge is 'DNA999'"),
        ("in:chr1:²-5", "needs positions such as chr1:1-1000"),
        ("in:chr1:5-1", "'chr1:5-1' ends before it begins"),
        (f"in:chr1:{'9' * 5000}", "needs positions such as chr1:1-1000"),
    ],
)
def test_links_that_say_what_is_not_there_are_told(result, text, words):
    with pytest.raises(ParameterError, match=words):
        LinkedHits(text).resolve(result)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (SearchStep(0.25, 4_000_000, 1, 2.0), "25 % searched; 1 hit so far; 2.00 Mbp/s"),
        (SearchStep(0.5, 200_000, 1200, 0.31), "50 % searched; 1,200 hits so far"),
        (SearchStep(1.0, 9, 1, 1.0), "All searched; scores of 1 hit are added up"),
    ],
)
def test_progress_is_told_with_the_right_number(step, words):
    assert progress_words(step) == words


def test_the_speed_of_a_short_search_is_not_told_but_how_much_it_searched(result):
    n = len(CHR1) + len(CHR2)
    said = [result_words(replace(result, seconds=seconds)) for seconds in (0.31, 4.0)]
    assert said[0].endswith(f"found in 310 ms: {n / 1000:.1f} kbp searched")
    rate = result.n_compared / 4.0
    assert said[1].endswith(f"4.0 s: {rate / 1000:.1f} k comparisons of guide and site a second")


def test_listed_hits_become_files(result, tmp_path):
    found = filter_hits(result, HitFilter(guide=0, mismatches=(0, 1)), HitOrder())
    for ending in ("tsv", "csv", "bed", "txt", "parquet"):
        list(iter_write_found(tmp_path / f"hits.{ending}", found))
    for ending, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        write_figure(tmp_path / f"hits.{ending}", found, None)
        assert (tmp_path / f"hits.{ending}").read_bytes().startswith(start)
    bed = (tmp_path / "hits.bed").read_text().splitlines()
    assert len(bed) == len(found)
    assert bed[0] == "chr1\t20000\t20023\tone\t1000\t+"
    rows = [*csv.DictReader((tmp_path / "hits.csv").read_text().splitlines())]
    assert len(rows) == len(found)
    assert rows[0] | {"cut_site": "20017", "cfd": "1", "mit": "100", "cctop": "0"} == rows[0]
    plain = next(row for row in rows if row["mismatches"] == "1" and row["bulge_size"] == "0")
    # A G to A at position 5, on the other strand.
    assert float(plain["cctop"]) == pytest.approx(1.2**5, abs=1e-4)
    assert int(plain["cut_site"]) == int(plain["start"]) + 6
    assert len((tmp_path / "hits.tsv").read_text().splitlines()) == len(found) + 1
    assert (tmp_path / "hits.txt").read_text().startswith("#Bulge type\t")


def test_examples_stand_beside_their_pam(genome):
    for pam in (Pam("NGG"), Pam("TTTV", is_first=True)):
        for name, word in pick_guides(genome.planes, pam, np.random.default_rng(3)):
            contig, place = name.split(":")
            start, text = int(place) - 1, GENOME_LETTERS[contig].upper()
            assert text[start : start + GUIDE_LENGTH] == word
            if pam.is_first:
                assert text[start - 4 : start - 1] == "TTT"
                assert text[start - 1] != "T"
            else:
                assert text[start + 21 : start + 23] == "GG"


def test_examples_on_a_graph_are_named_after_the_haplotype():
    path = "HG1#2#ctg:500-900"
    sequences = Sequences.from_records([(path, "ACGTACGTTACCATTGAACGTGGA")])
    planes = make_genome_planes(sequences)
    (name, word), *_ = pick_guides(planes, Pam("NGG"), np.random.default_rng(1))
    assert (name, word) == ("HG1#2:1", "ACGTACGTTACCATTGAACG")


def test_the_text_of_an_index_gives_its_sequences_back():
    sequences = Sequences.from_records([("a", "ACGTnnRacgt"), ("b", "NNAC")])
    again = sequences_of(make_index_text(sequences))
    assert again.bases.tobytes() == sequences.bases.tobytes()
    assert again.names == ("a", "b")
    assert again.masked.tolist() == sequences.masked.tolist()


def test_the_page_follows_a_link_and_goes_to_a_hit(session, fasta):
    page = OffTargetsPage(session)
    guides = f"one {SPACER};two {letters(20)}"
    page.follow(Address(genome=str(fasta), guides=guides, pam="-NGG", limits="3,1,0",
                        hits="guide:1;mismatches:0-1;bulge:X"))  # fmt: skip

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: page.state.found is not None and len(page.state.found) == 2)
    assert page.panel.visible
    assert not page.nothing.visible
    assert page.link.hits == "guide:1;mismatches:0-1;bulge:X"
    assert page.link.limits == "3,1,0"
    assert page.form.query == page.state.result.query
    poll_until(poll, lambda: len(page.hits.table.table.value) == 2)
    page.hits._on_row(0)
    assert session.region == PathRegion("chr1", 20_000, 20_023)
    poll_until(poll, lambda: "20,001-20,023" in page.card.text.object)
    assert page.hits.table.table.sorters == []
    page.hits.table.table.sorters = [{"field": "CFD", "dir": "desc"}]
    assert page.link.hits == "guide:1;mismatches:0-1;bulge:X;sort:-CFD"
    page.state.filter = HitFilter(contig=1)
    poll_until(poll, lambda: set(page.hits.table.table.value["Contig"]) == {"chr2"})
    place, result = page.hits.filters.place, page.state.result
    counts = np.bincount(result.hits.contig_ids, minlength=2)
    assert place.options == [f"chr{contig + 1}" for contig in np.argsort(-counts, kind="stable")]
    assert place.value == "chr2"
    place.value = "chr1:20,001-20,023"
    assert page.state.filter == HitFilter(contig=0, stretch=(20_000, 20_023))
    place.value = "chr7"
    assert place.error_state
    assert "no contig 'chr7'" in session.problem
    place.value = ""
    assert page.state.filter == HitFilter()
    page.close()


def test_the_page_sorts_as_a_link_says(session, fasta):
    page = OffTargetsPage(session)
    page.follow(Address(genome=str(fasta), guides=f"one {SPACER}", limits="10,0,0",
                        hits="sort:-Start"))  # fmt: skip

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: len(page.hits.table.table.value) > 2)
    found, starts = page.state.found, page.state.result.hits.positions
    assert found.rows.tolist() == np.argsort(-starts.astype(int), kind="stable").tolist()
    assert page.hits.table.table.sorters == [{"field": "Start", "dir": "desc"}]
    assert page.link.hits == "sort:-Start"
    page.close()


def test_the_page_says_what_is_wrong(session, fasta):
    page = OffTargetsPage(session)
    page.form.search()
    assert "no guide" in page.form.said.object
    page.follow(Address(genome=str(fasta), guides="GATTA;GATTX"))
    assert "'X' at position 5" in session.problem

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: page.state.genome is not None)
    page.form.write_example()
    poll_until(poll, lambda: page.form.guides.value)
    assert len(page.form.query.guides) > 0
    page.form.search()
    poll_until(poll, lambda: page.state.result is not None)
    assert page.state.result.query == page.form.query
    page.close()


def test_an_opened_genome_is_shared(fasta):
    *_, first = iter_open_genome(fasta, title="a")
    *_, second = iter_open_genome(fasta, title="b")
    assert first.opened.planes is second.opened.planes
    assert first.opened.planes.names == ("chr1", "chr2")


def test_the_genome_of_the_k_mers_is_taken_unless_another_is_open(session, fasta, tmp_path):
    page = OffTargetsPage(session)
    session.indexes.open(str(fasta))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: page.state.genome is not None)
    assert page.state.genome.source == str(fasta)
    other = tmp_path / "other.fa"
    other.write_text(">x\nACGTACGT\n")
    session.indexes.open(str(other))
    poll_until(poll, lambda: session.indexes.source == str(other))
    assert not session.genomes.is_opening
    page.close()


def test_a_search_can_be_stopped(session, fasta):
    page = OffTargetsPage(session)
    page.state.run(OffTargetQuery((Guide("a", SPACER),), Pam("NGG"), 3))
    assert "No genome is open" in session.problem
    session.genomes.open(str(fasta))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: page.state.genome is not None)
    page.state.run(OffTargetQuery((Guide("a", SPACER),), Pam("NGG"), 3))
    assert page.form.cancel_button.visible
    page.state.cancel()
    poll()
    assert page.state.result is None
    assert not page.form.cancel_button.visible
    page.close()


@pytest.fixture
def growing(monkeypatch):
    """A genome of 120 kb, and the steps of a search in it that shows each piece of 2,048 bases."""
    monkeypatch.setattr(offtarget_pieces, "PIECE_WORDS", (32, 32))
    monkeypatch.setattr(running, "SHOWN_EVERY", 0.0)
    monkeypatch.setattr(running, "COSTS", 0.0)
    random = np.random.default_rng(77)
    text = "".join(random.choice(list("ACGT"), 120_000))
    contigs = [("c1", text[:70_000]), ("c2", text[70_000:])]
    genome = OpenGenome("", "test", Genome(make_genome_planes(Sequences.from_records(contigs))))
    guides = parse_guides(f"a {text[500:516]}\nb {text[80_000:80_018]}\nc {text[900:916]}")
    query = OffTargetQuery(guides, Pam("NRG"), 6, 1, 1)
    return genome, query, list(running.iter_search(genome, query))


def test_hits_come_while_the_search_goes_on(growing):
    genome, query, steps = growing
    whole = steps[-1].result
    (alone,) = [part for _, part in whole.hits.iter_groups()][:1]
    expected = find_offtargets(
        alone.guides, genome.planes, alone.pattern, max_mismatches=6, dna_bulge=1, rna_bulge=1
    )
    for name in ("guide_ids", "positions", "mismatches", "bulge_sizes"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(expected, name))
    partial = list({id(step.result): step.result for step in steps if step.result}.values())[:-1]
    assert len(partial) > 40
    assert whole.is_whole
    assert not whole.is_growing
    assert whole.searched_words == ""
    ends = [result.n_bases for result in partial]
    assert ends == sorted(set(ends))
    places = whole.hits.positions
    for result in partial[::9]:
        assert result.is_growing
        n = result.n_bases
        assert result.searched_words == f"the first {n:,} of 120,000 bp"
        assert np.count_nonzero(places <= n - 30) <= len(result)
        assert len(result) <= np.count_nonzero(places < n)
        rows = [whole.row_of(result, row) for row in range(len(result))]
        assert min(rows) >= 0
        assert len(set(rows)) == len(rows)
        np.testing.assert_array_equal(result.cfd is None, whole.cfd is None)
        assert lost_words(result) == ""
        assert result.counts.sum() == len(result)
    first, row = partial[3], len(whole) - 1
    assert first.row_of(whole, row) == -1  # of the last guide, at the end
    assert query.groups[0].guides == alone.guides


def test_the_page_keeps_what_is_looked_at_while_hits_arrive(session, growing):
    genome, _, steps = growing
    page = OffTargetsPage(session)
    state = page.state
    session.genomes.opened = genome

    def show(step, has_ended=False):
        state._shown_at = 0.0
        state._job = job = SimpleNamespace(
            snapshot=step, has_ended=has_ended, state=JobState.FINISHED, cancel=lambda: None
        )
        poll_until(poll, lambda: not state._filtering.is_open)
        state._on_job(job)

    def poll():
        session.poll()
        page.poll()

    shown = [step for step in steps[:-1] if step.result is not None]
    show(shown[0])
    assert state.result is shown[0].result
    poll_until(poll, lambda: state.found is not None and state.found.result is state.result)
    poll_until(poll, lambda: "so far" in page.hits.said.object)
    assert "and grows" in page.form.said.object
    middle = shown[len(shown) // 2]
    show(middle)
    poll_until(poll, lambda: page.places.shown is not None)
    page.places._wanted = (1000.0, 5000.0)
    page.places._stale.start()
    poll_until(poll, lambda: page.places.shown.view.start == 1000)
    poll_until(poll, lambda: state.found is not None and state.found.result is state.result)
    row = int(state.found.rows[2])
    state.choose_hit(row)
    name = middle.result.pams.names[1]
    state.change(pam=1, strand=1)
    hit = tuple(getattr(middle.result.hits, each)[row] for each in ("guide_ids", "positions"))
    show(shown[-1])
    after = state.result
    assert after is shown[-1].result
    assert (after.hits.guide_ids[state.hit], after.hits.positions[state.hit]) == hit
    assert state.filter.pam == after.pams.names.index(name)
    assert state.filter.strand == 1
    poll_until(poll, lambda: state.found.result is after)
    poll_until(poll, lambda: page.hits._shown.result is after)
    assert page.places.shown.view.start == 1000
    # A row that is clicked just before others come is that hit all the same.
    listed = page.hits._shown
    state.is_continued = True
    state.result = steps[-1].result
    page.hits._on_row(0)
    wanted = listed.result.hits.positions[listed.rows[0]]
    assert state.result.hits.positions[state.hit] == wanted
    poll_until(poll, lambda: len(page.guides.table.table.value) > 1)
    for guide in (0, 1, -1):
        state.change(guide=guide)
        assert page.guides.all_button.visible == (guide >= 0)
        assert page.guides.table.table.selection == ([guide] if guide >= 0 else [])
    page.close()


def test_hits_that_arrive_are_listed_with_their_genes(session, growing, tmp_path):
    genome, _, steps = growing
    state = OffTargetState(session)
    session.genomes.opened = genome
    path = tmp_path / "genes.bed"
    path.write_text(f"{genome.planes.names[0]}\t100\t60000\tABC\t0\t+\n")
    state.gene_files.opened = AnnotationFile("", "genes.bed", read_annotations(path))
    listed = []
    state.param.watch(lambda _: listed.append((state.found.result, state.found.genes)), "found")
    shown = [step for step in steps if step.result is not None]
    for step in (shown[1], shown[-2]):
        state._shown_at = 0.0
        state._job = job = SimpleNamespace(
            snapshot=step, has_ended=False, state=JobState.FINISHED, cancel=lambda: None
        )
        state._on_job(job)
        assert state.result is step.result
        poll_until(session.poll, lambda: listed and listed[-1][0] is state.result)
    assert [result for result, _ in listed] == [shown[1].result, shown[-2].result]
    for result, genes in listed:
        found = annotate_hits(result.hits, state.gene_files.opened.annotations)
        np.testing.assert_array_equal(genes.classes, found.classes)
    state.cancel()


def test_a_search_that_is_stopped_keeps_what_it_has_found(session, growing):
    genome, query, steps = growing
    page = OffTargetsPage(session)
    state = page.state
    session.genomes.opened = genome
    step = steps[len(steps) // 2]
    job = SimpleNamespace(snapshot=step, has_ended=False, cancel=lambda: None)
    state._job = job
    state.step = step
    page.form.cancel()
    result = state.result
    assert len(result) == len(step.result)
    assert not result.is_growing
    assert not state.is_searching
    words = f"the first {step.result.n_bases:,} of 120,000 bp"
    assert f"Stopped: hits of {words}." in page.form.said.object

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: f"of {words}" in page.hits.said.object)
    assert f"of {words}" in caption_of(state.found)
    assert guide_rows(result).note.startswith(words)
    state.run(query)
    state.cancel()
    assert state.result is result  # nothing new was found
    page.close()


def test_of_too_many_hits_the_closest_are_listed_and_all_are_counted(growing, monkeypatch):
    genome, _, _ = growing
    monkeypatch.setattr("genoviz.analyses.offtargets.hits._MIN_NEW", 50)
    query = OffTargetQuery(parse_guides("GATTACCATT\nCCATTGAC"), Pam("NGG"), 5)
    *_, all_step = iter_search(genome, query)
    *_, step = iter_search(genome, query, max_hits=4000)
    result, of_all = step.result, all_step.result
    assert len(result) <= 4000 < len(of_all)
    np.testing.assert_array_equal(result.counts + result.left_out, of_all.counts)
    assert result.hits.mismatches.max() == result.max_differences
    wanted = np.count_nonzero(of_all.hits.mismatches <= result.max_differences)
    assert len(result) == wanted
    said = left_out_words(result)
    assert f"{len(result):,} hits with {result.max_differences} differences at most" in said
    assert f"{len(of_all) - len(result):,} more are counted" in said
    counted = guide_rows(result).frame
    assert counted["Hits"].tolist() == guide_rows(of_all).frame["Hits"].tolist()
    bulged = OffTargetQuery(query.guides[:1], query.pam, 4, 1, 0)
    *_, step = iter_search(genome, bulged, max_hits=500)
    assert "alignments more, with bulges at all places" in left_out_words(step.result)


def test_guides_of_two_lengths_have_more_pams_than_a_byte_holds(genome):
    guides = parse_guides(f"a {SPACER[:10]}\nb {SPACER[:11]}")
    *_, last = iter_search(genome, OffTargetQuery(guides, Pam("VVVVVRG"), 8, 0, 0))
    pams, hits = last.result.pams, last.result.hits
    assert len(pams.names) > 256
    assert pams.names[-1] == "other"
    assert (np.diff(pams.count()[:-1]) <= 0).all()
    found = [each.site[-7:].upper() for each in hits.alignments()]
    names = [pams.names[k] for k in pams.ids.tolist()]
    assert {name for name, pam in zip(names, found, strict=True) if name != pam} == {"other"}


@pytest.mark.parametrize(
    "guides", [f"a {SPACER}\nb {letters(20)}", f"a {SPACER}\nb {SPACER[2:]}\nc {SPACER}"]
)
def test_hits_in_files_are_those_in_memory(genome, guides, monkeypatch, tmp_path):
    """Columns are in files and made three rows at once, as if there were millions of hits."""
    query = OffTargetQuery(parse_guides(guides), Pam("NRG"), 9, 1, 0)
    *_, step = iter_search(genome, query)
    wanted = step.result
    bed = tmp_path / "genes.bed"
    name = genome.planes.names[0]
    bed.write_text("".join(f"{name}\t{at}\t{at + 900}\tg{at}\n" for at in range(0, 29_000, 2_000)))
    file = AnnotationFile("", "genes", read_annotations(bed))
    wanted_genes = find_genes(wanted, file)
    wanted_list = filter_hits(wanted, HitFilter(), HitOrder(), wanted_genes)
    for ending in ("tsv", "bed", "txt"):
        list(iter_write_found(tmp_path / f"wanted.{ending}", wanted_list))
    for module in ("genoviz.model.columns", "genoviz_app.pages.offtargets.search.guide_groups"):
        monkeypatch.setattr(f"{module}.ROWS_AT_ONCE", 3)
    monkeypatch.setattr("genoviz.model.columns.IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("genoviz.analyses.offtargets.differences._ROWS_AT_ONCE", 3)
    *_, step = iter_search(genome, query)
    result = step.result
    assert len(result) == len(wanted) > 20
    assert is_on_disk(result.hits.positions)
    assert is_on_disk(result.hits.starts)
    assert not is_on_disk(wanted.hits.positions)
    for name in (*COLUMNS, "contig_ids", "starts", "lengths"):
        np.testing.assert_array_equal(getattr(result.hits, name), getattr(wanted.hits, name))
    for name in ("counts", "guide_offsets", "cfd", "seeds"):
        np.testing.assert_array_equal(getattr(result, name), getattr(wanted, name))
    assert result.pams.names == wanted.pams.names
    np.testing.assert_array_equal(result.pams.ids, wanted.pams.ids)
    for field in fields(wanted.summaries):
        value, of_wanted = (getattr(each.summaries, field.name) for each in (result, wanted))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(value, of_wanted)
        else:
            assert np.array_equal(value, of_wanted)
    filters = (HitFilter(), HitFilter(guide=1, strand=-1), HitFilter(mismatches=(2, 4), pam=1))
    for chosen in (*filters, HitFilter(max_seed=2, kind=0), HitFilter(min_cfd=0.05)):
        for order in (HitOrder(), HitOrder("Mismatches", True), HitOrder("CFD", True)):
            found, of_wanted = (filter_hits(each, chosen, order) for each in (result, wanted))
            for name in ("rows", "kind_counts", "pam_counts"):
                np.testing.assert_array_equal(getattr(found, name), getattr(of_wanted, name))
    found, of_wanted = (filter_hits(each, HitFilter(), HitOrder()) for each in (result, wanted))
    genes = find_genes(result, file)
    for name in ("gene_ids", "distances", "classes", "n_genes"):
        values = getattr(wanted_genes.annotation, name)
        np.testing.assert_array_equal(getattr(genes.annotation, name), values)
    listed = filter_hits(result, HitFilter(), HitOrder(), genes)
    np.testing.assert_array_equal(listed.class_counts, wanted_list.class_counts)
    for ending in ("tsv", "bed", "txt"):
        list(iter_write_found(tmp_path / f"found.{ending}", listed))
        text = (tmp_path / f"found.{ending}").read_text()
        assert text == (tmp_path / f"wanted.{ending}").read_text()
        n_given = len(result) - (ending == "txt") * int(result.counts[2:].sum())
        assert n_given <= len(text.splitlines()) <= n_given + 1
    kinds = mismatch_kinds_of(result.hits, found.rows)
    np.testing.assert_array_equal(kinds.counts, mismatch_kinds_of(wanted.hits).counts)
    for mode in (CONTIGS, GENOME, SCORES):
        view = PlaceView(mode, 0.0, 50_000.0, 300)
        bins, of_wanted_bins = (make_place_bins(each, view) for each in (found, of_wanted))
        for name, column in of_wanted_bins.columns.items():
            np.testing.assert_array_equal(bins.columns[name], column)


def test_hits_that_do_not_fit_on_disk_are_told(genome, monkeypatch):
    monkeypatch.setattr("genoviz.model.columns.IN_MEMORY_BYTES", 0)

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", refuse)
    query = OffTargetQuery(parse_guides(SPACER), Pam("NGG"), 5)
    with pytest.raises(GenovizError, match=r"bytes do not fit in .*: No space.*TMPDIR names"):
        list(iter_search(genome, query))


def test_the_places_of_hits_move_along_their_contigs_alone():
    """All rows stay in sight."""
    tools = PlacesFigure().plot.toolbar.tools
    moving = [tool for tool in tools if isinstance(tool, (PanTool, WheelZoomTool))]
    assert [tool.dimensions for tool in moving] == ["width", "width"]


def test_rows_are_named_from_low_to_high():
    """Bokeh leaves out a name that does not lie after the one before it."""
    figure = PlacesFigure()
    nothing = {name: [] for name in BIN_COLUMNS}
    bars = {name: [] for name in ("left", "right", "bottom", "top")}
    for n in (3, 40):
        rows = {-row - 0.5: f"chr{row}" for row in range(n)}
        figure.show(nothing, bars, rows, {}, [], ("", ""))
        assert figure.rows.ticks == sorted(figure.rows.ticks)
        assert {*figure.rows.ticks} <= {*rows}
        assert max(rows) in figure.rows.ticks
        assert len(figure.rows.ticks) >= n / 2
