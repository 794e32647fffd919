"""K-mers on the page: counted, found, listed and saved as they are in the sequences."""

from __future__ import annotations

import itertools
import re
import threading
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest
from bokeh.models import BoxSelectTool

from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.sequences.kmer_trace import find_step
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.errors import GenovizError, ParameterError
from genoviz.generators import finish
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.sequences.fm_index import write_fm_index
from genoviz.io.sequences.gvfm_file import ArrayFile
from genoviz.model import PathRegion
from genoviz.samples import get_sample
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.graph_files import GraphFiles, OpenGraph
from genoviz_app.opening.index_data import BlockSizes, BuildReport
from genoviz_app.opening.index_files import _iter_open_graph
from genoviz_app.pages.kmers import KmersPage
from genoviz_app.pages.kmers.choosing_k import describe_k
from genoviz_app.pages.kmers.counting import iter_count_text
from genoviz_app.pages.kmers.genome_bins import (
    GenomeView,
    choose_bins,
    iter_make_bins,
    say_places,
)
from genoviz_app.pages.kmers.genome_panel import lit_of_view, show_contigs
from genoviz_app.pages.kmers.hits import (
    GenomeAxis,
    bin_hits,
    highlight_of,
    hit_rows,
    iter_find_hits,
    iter_write_hits,
)
from genoviz_app.pages.kmers.index import build_html, check_target
from genoviz_app.pages.kmers.paths_panel import Matrix, lists_html, where_html
from genoviz_app.pages.kmers.query_box import LONGEST_LINK
from genoviz_app.pages.kmers.search_panel import sizes_svg, step_html
from genoviz_app.pages.kmers.spectrum_panel import bin_edges, spectrum_bins
from genoviz_app.pages.kmers.state import ENTERED, WAITING
from genoviz_app.parts.questions import Question
from genoviz_app.plots.kmer_matrix import MatrixFigure
from genoviz_app.session.address import MAX_K, Address
from genoviz_app.session.lit_sets import LitSet
from genoviz_app.session.session import Session
from tests.app.conftest import poll_until
from tests.graphs import make_spelled_graph
from tests.oracles.kmers import find_both
from tests.oracles.paths import spell_path
from tests.waiting import PATIENCE

RANDOM = np.random.default_rng(7)
CHR1 = "".join(RANDOM.choice(list("ACGT"), 900)) + "NNNNN" + "GATTACA" * 30
CHR2 = "".join(RANDOM.choice(list("ACGT"), 300)).lower() + "TGTAATC" + "ACGT" * 5
CONTIGS = {"chr1": CHR1, "chr2": CHR2}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def reverse_complement(text):
    return text[::-1].translate(COMPLEMENT)


def places(kmer, strand="both"):
    """Every hit by looking at every place: contig, start and strand, in order."""
    found = []
    turned = reverse_complement(kmer)
    for contig, text in enumerate(CONTIGS.values()):
        for start in range(len(text) - len(kmer) + 1):
            part = text[start : start + len(kmer)].upper()
            sign = -1 if strand == "canonical" and turned < kmer else 1
            if part == kmer:
                found.append((contig, start, sign))
            elif part == turned and strand != "forward":
                found.append((contig, start, -sign))
    return found


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("kmers") / "genome.fa"
    path.write_text("".join(f">{name} one\n{text}\n" for name, text in CONTIGS.items()))
    return path


@pytest.fixture
def page(session):
    page = KmersPage(session)
    yield page
    page.close()


def test_what_is_pasted_or_cleared_is_asked_at_once_and_letters_once_typing_rests(
    page, session, monkeypatch
):
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("genoviz_app.parts.questions.time", clock)
    query, state = page.query, page.state
    for text in ("GATTACA", "", "ACGTACGT"):
        query.field.value_input = text
        session.poll()
        assert state.text == text
    for text in ("ACGTACGTA", "ACGTACGTAC"):
        query.field.value_input = text
        session.poll()
        assert state.text == "ACGTACGT"
        now[0] += 0.1
    now[0] += 0.1
    session.poll()
    assert state.text == "ACGTACGTAC"


def find_hits(*args):
    return finish(iter_find_hits(*args))


def wait(page, condition):
    def poll():
        page._session.poll()
        page.poll()

    poll_until(poll, condition)


@pytest.fixture(scope="module")
def opened(fasta):
    """A page with the sequences open, for all tests; each asks its own k-mers."""
    session = Session()
    page = KmersPage(session)
    pn.Column(*page.sidebar, page.content).get_root()
    session.open(str(fasta))
    wait(page, lambda: page.state.index is not None)
    yield page
    page.close()
    session.close()


def ask(page, text, strand="both"):
    page.query.write("")
    page.state.strand = strand
    page.query.write(text)
    wait(page, lambda: page.state.answer is not None and not page.state.is_counting)
    wait(page, lambda: not page.state.is_finding)
    return page.state.answer


@pytest.mark.parametrize("strand", ["both", "forward", "canonical"])
@pytest.mark.parametrize(
    "kmer", ["GATTACA", "ACGT", "A", CHR1[100:150], "GATTACA" * 12, "CCCCCCCCC"]
)
def test_counts_and_hits_are_those_of_the_sequences(opened, kmer, strand):
    answer = ask(opened, kmer, strand)
    expected = places(kmer, strand)
    assert answer.counts.tolist() == [len(expected)]
    hits = opened.state.hits
    found = list(zip(hits.ids.tolist(), hits.starts.tolist(), hits.strands.tolist(), strict=True))
    assert found == expected
    assert hits.n_hits == len(expected)


def test_many_k_mers_are_listed_and_one_is_looked_at(opened):
    answer = ask(opened, "GATTACA, ACGT\nTTTTTTTTTTTTTTTT")
    assert answer.counts.tolist() == [len(places(k)) for k in ("GATTACA", "ACGT", "T" * 16)]
    listed = opened.views.view("Hits").list
    assert listed.panel.visible
    assert listed.table.table.value["Hits"].tolist() == answer.counts.tolist()
    listed._on_row(1)
    wait(opened, lambda: opened.state.hits is not None and opened.state.hits.kmer.letters == "ACGT")
    assert len(opened.state.hits) == len(places("ACGT"))


def test_a_bad_letter_is_said_beside_the_field_with_its_position(opened):
    answer = ask(opened, "ACGXT")
    assert "position 4" in answer.problem
    assert "X" in opened.query.readout.object
    assert opened.query.field.error_state
    assert opened._session.problem == ""
    ask(opened, "ACGT")
    assert not opened.query.field.error_state


def test_kmers_that_are_too_long_for_a_link_are_said(opened):
    ask(opened, CHR1[:750] + "\n" + CHR1[:749])
    assert len(opened.link.kmers) == LONGEST_LINK
    assert "for a link" not in opened.query.readout.object
    ask(opened, CHR1[:750] + "\n" + CHR1[:750])
    assert opened.link.kmers == ""
    assert "too long for a link, which leaves them out" in opened.query.readout.object


def test_the_table_shows_the_bases_around_each_hit(opened):
    ask(opened, "GATTACA")
    hits, built = opened.state.hits, opened.state.index.built
    frame = hit_rows(built, hits, 0).frame
    assert len(frame) == len(places("GATTACA"))
    for row, (contig, start, strand) in zip(frame.itertuples(), places("GATTACA"), strict=True):
        text = re.sub(r"<[^>]*>|&nbsp;", "", row.Context)
        whole = list(CONTIGS.values())[contig]
        assert text == whole[max(start - 20, 0) : start + 27]
        assert row.Start == start + 1
        assert row.Strand == ("+" if strand > 0 else "−")
    masked = hit_rows(built, find_hits(built, Kmer("TGTAATC"), "forward"), 0).frame
    assert set(masked["Masked"]) == {""}
    soft = hit_rows(built, find_hits(built, Kmer(CHR2[50:80].upper()), "forward"), 0).frame
    assert soft["Masked"].tolist() == ["yes"]


def test_a_block_of_many_hits_says_how_many_there_are(opened, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.kmers.hits.BLOCK", 10)
    monkeypatch.setattr("genoviz_app.pages.kmers.hits_panel.BLOCK", 10)
    ask(opened, "A")
    panel, n = opened.views.view("Hits"), len(places("A"))
    wait(opened, lambda: f"showing 1 to 10 of {n:,} hits" in panel.said.object)
    panel._turn(10)
    wait(opened, lambda: f"showing 11 to 20 of {n:,} hits" in panel.said.object)
    panel._turn(10**9)
    wait(opened, lambda: f"to {n:,} of {n:,} hits" in panel.said.object)
    assert len(panel.table.table.value) == n % 10 or 10


def test_a_click_on_a_hit_is_where_all_pages_go(opened):
    ask(opened, "GATTACA", "forward")
    opened.views.view("Hits")._on_row(2)
    contig, start, _ = places("GATTACA", "forward")[2]
    assert opened._session.region == PathRegion(list(CONTIGS)[contig], start, start + 7)


def test_hits_are_saved_whole(opened, tmp_path):
    ask(opened, "ACGT")
    axis = GenomeAxis.of(opened.state.index.built)
    for ending in (".bed", ".tsv"):
        list(iter_write_hits(tmp_path / f"hits{ending}", opened.state.hits, axis))
    names = list(CONTIGS)
    expected = [
        (names[c], str(s), str(s + 4), "+" if strand > 0 else "-")
        for c, s, strand in places("ACGT")
    ]
    bed = [line.split("\t") for line in (tmp_path / "hits.bed").read_text().splitlines()]
    assert [(f[0], f[1], f[2], f[5]) for f in bed] == expected
    head, *rows = (tmp_path / "hits.tsv").read_text().splitlines()
    assert head == "contig\tstart\tend\tstrand\tkmer"
    assert [tuple(row.split("\t"))[:4] for row in rows] == expected


@pytest.mark.parametrize("contig", [-1, 0, 1])
def test_bins_have_every_hit_and_the_counts_of_every_place(opened, contig):
    built = opened.state.index.built
    axis, hits = GenomeAxis.of(built), find_hits(built, Kmer("ACG"), "both")
    panel = opened.views.view("Along the genome")
    opened.views.show("Along the genome")
    wait(opened, lambda: panel._repeats.value is not None)
    length = axis.total if contig < 0 else int(axis.lengths[contig])
    view = GenomeView(contig, 0.0, float(length), 60)
    bins = finish(iter_make_bins(axis, view, hits, panel._repeats.value, 3, "canonical"))
    wanted = [hit for hit in places("ACG") if contig in (-1, hit[0])]
    assert bins.hits["forward"].sum() == sum(strand > 0 for _, _, strand in wanted)
    assert bins.hits["reverse"].sum() == sum(strand < 0 for _, _, strand in wanted)
    bars = lit_of_view([LitSet(highlight_of(built, hits, "both"), 1, "#ff0000", "")], axis, view)
    shifts = [int(axis.offsets[at]) if contig < 0 else 0 for at, *_ in wanted]
    for (_, start, _), shift in zip(wanted, shifts, strict=True):
        ends = zip(bars["left"], bars["right"], strict=True)
        assert any(left <= start + shift and start + shift + 3 <= right for left, right in ends)
    texts = list(CONTIGS.values()) if contig < 0 else [list(CONTIGS.values())[contig]]
    every = [
        len(places(part)) if set(part) <= set("ACGT") else 0
        for text in texts
        for part in (*(text[i : i + 3].upper() for i in range(len(text) - 2)), "N", "N")
    ]
    edges, _size = choose_bins(view, length)
    highest = [max(every[a:b]) for a, b in itertools.pairwise(edges)]
    assert [int(text.replace(",", "")) for text in bins.counts["high_text"]] == highest
    means = [
        sum(every[a:b]) / max(sum(n > 0 for n in every[a:b]), 1)
        for a, b in itertools.pairwise(edges)
    ]
    assert bins.counts["mean_text"] == [f"{mean:,.4g}" for mean in means]


def test_bins_of_hits_are_exact_at_their_edges():
    positions = np.array([0, 5, 5, 9, 10, 30])
    assert bin_hits(positions, np.array([0, 5, 10, 20, 31])).tolist() == [1, 3, 1, 1]


def test_a_bin_over_the_end_of_a_contig_is_said_with_both():
    lengths = np.array([95, 3, 40])
    axis = GenomeAxis("abc", lengths, np.array([0, 95, 98, 138]))
    left = np.array([0, 80, 90, 120])
    assert say_places(axis, -1, left, np.array([80, 95, 120, 138])) == [
        "a:1-80", "a:81-95", "a:91 to c:22", "c:23-40"
    ]  # fmt: skip
    assert say_places(axis, 2, np.array([10]), np.array([40])) == ["c:11-40"]


def test_a_spectrum_has_every_k_mer_and_those_behind_a_bar(opened):
    panel = opened.views.view("Spectrum")
    opened.state.k = 5
    opened.views.show("Spectrum")
    wait(opened, lambda: panel.spectrum is not None and panel.spectrum.k == 5)
    counts = {}
    for text in CONTIGS.values():
        for start in range(len(text) - 4):
            part = text[start : start + 5].upper()
            if "N" not in part:
                canonical = min(part, reverse_complement(part))
                counts[canonical] = counts.get(canonical, 0) + 1
    wait(opened, lambda: len(panel.bins) > 0)
    assert sum(row[2] for row in panel.bins) == len(counts)
    assert sum(row[3] for row in panel.bins) == sum(counts.values())
    drag = panel.figure.figure.toolbar.active_drag
    assert (type(drag), drag.dimensions) == (BoxSelectTool, "width")  # a drag lists k-mers
    panel._list(2, 3)
    wait(opened, lambda: bool(panel.kmers))
    low, high = panel.bins[2][0], panel.bins[3][1]
    assert set(panel.kmers) == {kmer for kmer, n in counts.items() if low <= n <= high}
    panel._on_row(0)
    wait(opened, lambda: opened.state.answer is not None)
    assert opened.state.text == panel.kmers[0]


def test_what_is_beyond_the_limit_is_in_the_last_bar_with_its_mass():
    times, n = np.array([1, 2, 50, 700, 90_000]), np.array([10, 5, 2, 3, 1])
    bins = spectrum_bins(times, n, limit=100)
    assert bins[-1] == (101, 90_000, 4, 700 * 3 + 90_000)
    assert sum(row[2] for row in bins) == 21
    whole = spectrum_bins(times, n)
    assert sum(row[3] for row in whole) == int((times * n).sum())
    assert whole[-1][1] >= 90_000
    assert bin_edges(5)[:6] == [1, 2, 3, 4, 5, 6]
    assert spectrum_bins(times[:0], n[:0]) == ()


def test_a_k_that_is_none_becomes_the_nearest(opened):
    field = opened.views.view("Spectrum").k
    for written, k in ((40, 40), (0, 1), (7, 7), (-3, 1), (10**6, MAX_K)):
        field.number.value = written
        assert (opened.state.k, field.number.value, field.slider.value) == (k, k, min(k, 64))


def test_every_k_is_offered_and_a_click_chooses_one(opened):
    panel = opened.views.view("Choose k")
    opened.views.show("Choose k")
    wait(opened, lambda: panel.curves is not None)
    kmers = {t[i : i + 4].upper() for t in CONTIGS.values() for i in range(len(t) - 3)}
    kmers = {kmer for kmer in kmers if set(kmer) <= set("ACGT")}
    unique = sum(len(places(kmer, "forward")) == 1 for kmer in kmers)
    assert (panel.curves.n_distinct[3], panel.curves.n_unique[3]) == (len(kmers), unique)

    class Click:
        x = 12.3

    panel._on_tap(Click)
    assert opened.state.k == 12
    assert "k = 12" in panel.said.object
    panel.max_k.value = 10_000
    wait(opened, lambda: len(panel.curves.ks) > 100)
    assert len(panel.curves.ks) == max(len(run) for run in CHR1.split("N"))


def test_the_k_from_which_most_are_unique_holds_for_all_larger_ones():
    distinct, unique = np.array([[4, 20, 40, 41], [4, 20, 30, 41]])
    assert "From k = 4 on" in describe_k(distinct, unique, 2)
    assert "From" not in describe_k(distinct, np.minimum(unique, 30), 2)
    assert "From k = 1 on" in describe_k(distinct[:2], unique[:2], 2)


def test_counts_on_contigs_are_a_matrix(opened, tmp_path):
    panel = opened.views.view("Paths")
    assert not panel.names.visible  # it would take half of the room
    opened.views.show("Paths")
    ask(opened, "GATTACA,TGTAATC,ACGT", "forward")
    wait(opened, lambda: panel.matrix is not None and len(panel.matrix.rows) == 3)
    for row, kmer in enumerate(("GATTACA", "TGTAATC", "ACGT")):
        found = [contig for contig, _, _ in places(kmer, "forward")]
        assert panel.matrix.counts[row].tolist() == [found.count(0), found.count(1)]


def test_names_of_contigs_are_no_part_of_the_page(session, tmp_path):
    path = tmp_path / "names.fa"
    path.write_text("><img/src=x>\nGATTACA\n")
    page = KmersPage(session)
    session.open(str(path))
    wait(page, lambda: page.state.index is not None)
    panel = page.views.view("Paths")
    page.views.show("Paths")
    ask(page, "GATTACA", "forward")
    wait(page, lambda: panel.matrix is not None)
    panel._pointer = (0, 0)
    panel._say()
    assert panel.said.object == "<b>1 hit</b> of GATTACA on &lt;img/src=x&gt;"
    assert ">&lt;img/src=x&gt;</li>" in panel.names.object
    assert "<img" not in panel.names.object
    page.close()


def test_all_k_mers_are_in_the_table_of_counts(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.kmers.paths_panel.MAX_KMERS", 3)
    monkeypatch.setattr("genoviz_app.pages.kmers.paths_panel.MAX_HITS", 40)
    monkeypatch.setattr("genoviz_app.pages.kmers.paths_panel.MAX_SORTED", 25)
    kmers = ["GATTACA", "A", "ACGT", "TTTTTTTTTTTT", CHR1[50:90]]
    panel = opened.views.view("Paths")
    opened.views.show("Paths")
    panel._asked = None
    ask(opened, "".join(f">a\tb {rank}\n{kmer}\n" for rank, kmer in enumerate(kmers)))
    wait(opened, lambda: panel.matrix is not None and panel.matrix.n_kmers == 5)
    counts = [[[c for c, _, _ in places(kmer)].count(i) for i in range(2)] for kmer in kmers]
    assert panel.matrix.counts.tolist() == counts[:3]
    assert "showing 3 of 5 k-mers × 2 of 2 contigs" in panel.said.object
    assert not panel.names.visible
    name, write = panel._file()
    write(tmp_path / name)
    head, *rows = (tmp_path / name).read_text().splitlines()
    assert head.split("\t") == ["name", "kmer", "hits", *CONTIGS]
    assert [row.split("\t") for row in rows] == [
        [f"a b {rank}", kmer, str(sum(row)), *map(str, row)]
        for rank, (kmer, row) in enumerate(zip(kmers, counts, strict=True))
    ]
    ask(opened, "GATTACA")
    wait(opened, lambda: panel.matrix.n_kmers == 1)
    assert panel.said.object.startswith("GATTACA is on all 2 contigs. ")
    assert panel.names.visible


def test_on_how_many_paths_one_k_mer_is_is_said():
    def words(counts, noun="path"):
        names = [f"p&{column}" for column in range(len(counts))]
        return where_html(Matrix(np.array([counts]), ["A"], names, 1, len(counts)), noun)

    assert words([3, 1]) == "is on all 2 paths"
    assert words([0, 0, 0], "contig") == "is on none of 3 contigs"
    assert words([1]) == "is on the only path"
    assert words([0, 2, 0]) == "is on 1 of 3 paths"


def test_paths_of_one_k_mer_are_listed_with_their_counts_and_the_others():
    matrix = Matrix(np.array([[0, 1_200, 1]]), ["A"], ["p0", "p&1", "p2"], 1, 3)
    assert re.findall("<(?:h3|li[^>]*)>([^<]*)", lists_html(matrix, "path")) == [
        *["On 2 paths", "1,200 × p&amp;1", "p2", "Not on 1 path", "p0"]
    ]


def test_names_of_rows_and_columns_have_room():
    figure = MatrixFigure()
    figure.show(np.ones((500, 90)), [f"ACGT{i}" for i in range(500)], [str(i) for i in range(90)])
    rows = figure.figure.yaxis[0].major_label_overrides
    assert 20 <= len(rows) <= 28
    assert all(rows[-place - 0.5] == f"ACGT{place}" for place in range(0, 500, 18))
    assert len(figure.figure.xaxis[0].major_label_overrides) == 45


def test_what_may_be_cut_off_is_not_counted(opened, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.kmers.counting.MAX_LETTERS", 30)
    assert ask(opened, "GATTACA " * 3).problem == ""
    assert "the field is full" in ask(opened, "GATTACA " * 4).problem


def test_many_k_mers_are_counted_in_slices_that_can_be_stopped(opened, monkeypatch):
    monkeypatch.setattr("genoviz.analyses.sequences.kmer_branches._SLICE_BRANCHES", 16)
    kmers = [f"{CHR1[start : start + 9]}NR" for start in range(0, 60, 3)]
    steps = iter_count_text(opened.state.index.built, " ".join(kmers), "both")
    n_steps, answer = 0, None
    while answer is None:
        try:
            next(steps)
            n_steps += 1
        except StopIteration as end:
            answer = end.value
    assert n_steps > 20
    expected = [len(find_both([CHR1, CHR2], kmer)) for kmer in kmers]
    assert answer.counts.tolist() == expected
    assert ask(opened, " ".join(kmers)).counts.tolist() == expected
    # Between two slices a question can be taken back.
    taken = []
    question = Question(opened.state.session, "slices", taken.append)

    def endless():
        while True:
            yield None

    question.ask(endless)
    job = question._job
    question.drop()
    wait(opened, lambda: job.has_ended)
    assert taken == []


def test_files_of_some_hits_say_so(opened, tmp_path):
    built = opened.state.index.built
    hits = find_hits(built, Kmer("ACG"), "both", 10)
    for ending in (".bed", ".tsv"):
        path = tmp_path / f"hits{ending}"
        list(iter_write_hits(path, hits, GenomeAxis.of(built)))
        first, *rows = path.read_text().splitlines()
        assert first == f"# the first 10 of {len(places('ACG'))} hits"
        assert len(rows) == 10 + (ending == ".tsv")


def test_long_k_mers_are_said_to_be_too_long_to_be_searched_step_by_step(opened):
    panel = opened.views.view("How it works")
    opened.views.show("How it works")
    for kmer, words in (("A" * 2001, "this\none is longer"), ("GATTACAN", "IUPAC codes")):
        ask(opened, kmer)
        wait(opened, lambda words=words: words in panel.drawing.object)
        assert not panel.bar.visible


def test_contigs_of_the_same_name_are_chosen_apart(session, tmp_path):
    path = tmp_path / "twice.fa"
    path.write_text(">c\nACGTACGTAC\n>c\nGGGGGCC\n")
    page = KmersPage(session)
    panel = page.views.view("Along the genome")
    assert {note.words for note in panel.figures.notes} == {WAITING}
    assert page.views.view("Spectrum").said.object == WAITING
    session.open(str(path))
    wait(page, lambda: page.state.index is not None)
    assert {note.words for note in panel.figures.notes} == {""}
    lengths = []
    for option in panel.contig.options:
        panel.contig.value = option
        lengths.append((panel.contig_id, panel.length))
    assert lengths == [(-1, 17), (0, 10), (1, 7)]


def test_names_of_contigs_have_room(opened):
    axis = GenomeAxis(
        ["a" * 20, "b" * 20, "c" * 20], np.array([500, 480, 20]), np.array([0, 500, 980, 1000])
    )
    figures = opened.views.view("Along the genome").figures
    show_contigs(figures, axis, GenomeView(-1, 0.0, 1000.0, 600))
    assert [name[0] for name in figures.counts.xaxis[0].major_label_overrides.values()] == [
        "a",
        "b",
    ]


def test_each_step_of_a_search_leads_from_its_rows_to_the_next(opened):
    index, kmer = opened.state.index.built.index, Kmer("GATTACA")
    for step in range(1, 8):
        found = find_step(index, kmer, step)
        suffix = kmer.letters[-step:]
        n = len(places(suffix, "forward"))
        assert found.after[1] - found.after[0] == n == found.sizes[step]
        assert found.matched == suffix
        inside = [row for row in found.rows_after if row.is_inside]
        assert all(row.suffix.startswith(suffix) for row in inside)
        shown = {row.row for row in found.rows_after}
        leads = [
            row.next_row for row in found.rows_before if row.is_inside and row.before == suffix[0]
        ]
        assert leads
        assert set(leads) <= set(range(*found.after))
        assert shown & set(leads)
        html = step_html(found, kmer.letters)
        assert f"{n:,} row" in html
        assert sizes_svg(found.sizes, step).count("<rect") == 8
    absent = find_step(index, Kmer("CCCCCCCCCC"), 10)
    assert absent.rows_after == ()
    assert "is not in the genome" in step_html(absent, "CCCCCCCCCC")


def test_an_index_is_saved_and_opened_again(opened, tmp_path):
    target = tmp_path / "genome.gvfm"
    opened.saving.path.value_input = str(target)
    opened.saving._save(None)
    wait(opened, lambda: "Saved: genome.gvfm" in opened.saving.said.object)
    other = Session()
    page = KmersPage(other)
    other.open(str(target))
    wait(page, lambda: page.state.index is not None)
    assert page.state.index.built.report.is_read
    assert ask(page, "GATTACA").counts.tolist() == [len(places("GATTACA"))]
    other.close()


def test_an_index_too_large_for_a_browser_is_not_downloaded(opened, monkeypatch):
    size = opened.state.index.built.n_bytes
    for largest, is_refused in ((size - 1, True), (size, False)):
        monkeypatch.setattr("genoviz_app.pages.kmers.index.LARGEST_DOWNLOAD", largest)
        opened.state.param.trigger("index")
        assert opened.saving.download.disabled is is_refused


def test_hits_of_the_k_mer_before_are_not_saved(opened):
    panel = opened.views.view("Hits")
    ask(opened, "GATTACA")
    assert panel._file("bed")[0] == "GATTACA.bed"
    opened.query.write("TGTAATC")
    with pytest.raises(GenovizError, match="still running"):
        panel._file("bed")
    wait(opened, lambda: not opened.state.is_finding)
    assert panel._file("bed")[0] == "TGTAATC.bed"


def test_hits_of_the_k_mer_before_are_not_listed_for_long(opened, monkeypatch):
    panel, is_free = opened.views.view("Hits"), threading.Event()
    ask(opened, "GATTACA")
    wait(opened, lambda: len(panel.table.table.value) == len(places("GATTACA")))

    def find_late(*args):
        is_free.wait(PATIENCE)
        return (yield from iter_find_hits(*args))

    monkeypatch.setattr("genoviz_app.pages.kmers.state.iter_find_hits", find_late)
    opened.query.write("TGTAATC")
    try:
        wait(opened, lambda: "searching" in panel.said.object)
        assert len(panel.table.table.value) == 0
        assert opened.state.hits is None
        with pytest.raises(GenovizError, match="still running"):
            panel._file("bed")
    finally:
        is_free.set()
    wait(opened, lambda: len(panel.table.table.value) == len(places("TGTAATC")))
    assert panel.said.object.startswith(f"all {len(places('TGTAATC'))} hits")


def test_rows_of_the_k_mer_before_are_not_listed_for_long(opened, monkeypatch):
    panel, is_free = opened.views.view("Hits"), threading.Event()
    opened.views.show("Hits")
    ask(opened, "GATTACA")
    wait(opened, lambda: len(panel.table.table.value) == len(places("GATTACA")))

    def write_late(*args):
        is_free.wait(PATIENCE)
        return hit_rows(*args)

    monkeypatch.setattr("genoviz_app.pages.kmers.hits_panel.hit_rows", write_late)
    opened.query.write("TGTAATC")
    try:
        wait(opened, lambda: "searching" in panel.said.object)
        assert len(panel.table.table.value) == 0
    finally:
        is_free.set()
    wait(opened, lambda: len(panel.table.table.value) == len(places("TGTAATC")))


def test_hits_are_never_those_of_the_index_before(session, fasta, tmp_path):
    short = tmp_path / "short.fa"
    short.write_text(">a\nGATTACA\n>b\nTTT\n")
    page = KmersPage(session)
    pn.Column(*page.sidebar, page.content).get_root()
    seen = []
    page.state.param.watch(
        lambda *_: seen.append((page.state.index, page.state.hits)), ["index", "answer", "hits"]
    )
    session.open(str(fasta))
    wait(page, lambda: page.state.index is not None)
    ask(page, "GATTACA")
    long_index = page.state.index
    session.open(str(short))
    wait(page, lambda: page.state.index is not long_index)
    wait(page, lambda: page.state.hits is not None)
    assert page.state.hits.n_hits == 1
    for index, hits in seen:
        if hits is not None:
            assert hits.n_hits == (len(places("GATTACA")) if index is long_index else 1)


def test_an_index_stays_as_it_was_opened(opened, tmp_path):
    target = tmp_path / "genome.index"
    write_fm_index(opened.state.index.built.index, target)
    other = Session()
    page = KmersPage(other)
    other.indexes.open(str(target))
    wait(page, lambda: page.state.index is not None)
    with target.open("r+b") as file:
        file.write(bytes(target.stat().st_size))
    assert ask(page, "GATTACA").counts.tolist() == [len(places("GATTACA"))]
    other.close()


@pytest.mark.parametrize("section", ["lines", "start_table", "samples"])
def test_a_damaged_index_is_not_searched(opened, tmp_path, monkeypatch, section):
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    target = tmp_path / "genome.gvfm"
    write_fm_index(opened.state.index.built.index, target)
    place = ArrayFile(target).sections[section].offset
    with target.open("r+b") as file:
        file.seek(place + 9)
        file.write(b"\xee")
    other = Session()
    page = KmersPage(other)
    other.open(str(target))
    wait(page, lambda: other.problem)
    assert f"section '{section}' is not what was written (damaged file)" in other.problem
    assert page.state.index is None
    other.close()


def test_where_an_index_may_be_saved(tmp_path):
    with pytest.raises(ParameterError, match="needs to end in"):
        check_target(str(tmp_path / "x.fa"), ())
    with pytest.raises(ParameterError, match="is not below"):
        check_target("/tmp/x.gvfm", (tmp_path,))
    with pytest.raises(ParameterError, match="there is no folder"):
        check_target(str(tmp_path / "a/b/x.gvfm"), ())


def test_two_tabs_share_one_index(opened, fasta):
    other = Session()
    page = KmersPage(other)
    other.open(str(fasta))
    wait(page, lambda: page.state.index is not None)
    assert page.state.index.built is opened.state.index.built
    other.close()


def test_sequences_that_are_none_are_said(page, tmp_path):
    bad = tmp_path / "bad.fa"
    bad.write_text(">a\nAC!GT\n")
    page._session.open(str(bad))
    wait(page, lambda: page._session.problem)
    assert page._session.problem.startswith("bad.fa, line 2")
    assert page.state.index is None


def test_the_build_is_told(opened):
    text = opened.views.view("Build").text.object
    assert "Suffixes that are still tied" in text
    assert "2 contigs" in text


def test_the_speed_of_a_build_is_told_when_it_is_done():
    seconds = {"Reading": 1.0, "suffix array": 2.0}
    going_on = build_html(BuildReport(seconds, (0.1,), 10**7, "suffix array", 0.5), None)
    assert "3 s so far<" in going_on
    assert "<b>Suffix array</b>, 50 % done" in going_on
    assert "suffix array" not in going_on, "names of stages begin alike"
    assert "a second" not in going_on
    done = build_html(BuildReport(seconds, (0.1,), 10**7), None)
    assert "3 s in all for 10,000,000 bases, built at 5.00 million a second" in done


def test_the_blocks_of_a_build_are_told(opened):
    blocks = opened.state.index.built.report.blocks
    text = opened.views.view("Build").text.object
    assert f"{blocks.n_suffixes:,} suffixes were sorted in {blocks.n_blocks:,} blocks: " in text
    assert f"{blocks.median:,} in the median one, {blocks.largest:,} in the largest" in text
    assert BlockSizes.of(np.array([7, 0, 3, 9, 3])) == BlockSizes(4, 22, 7, 9)
    assert BlockSizes.of(np.empty(0, np.int64)) is None
    one = build_html(BuildReport({"a": 1.0}, n_symbols=9, blocks=BlockSizes(1, 9, 9, 9)), None)
    assert "9 suffixes were sorted in 1 block.<" in one


def test_one_contig_is_not_said_to_be_several(session, tmp_path):
    path = tmp_path / "one.fa"
    path.write_text(">a\nGATTACA\n")
    page = KmersPage(session)
    session.open(str(path))
    wait(page, lambda: page.state.index is not None)
    assert ": 1 contig, 7 bp; " in re.sub("<[^>]*>", "", page.views.view("Build").text.object)
    page.close()


def test_an_example_is_in_the_genome(opened):
    opened.write_example()
    wait(opened, lambda: opened.state.answer is not None)
    assert opened.state.answer.counts[0] >= 1


def test_a_graph_is_indexed_and_hits_are_on_its_paths(session):
    graph = read_gfa(get_sample("simulated"))
    session.opened = OpenGraph("simulated", "Simulated", graph)
    page = KmersPage(session)
    page.picker.open_graph()
    wait(page, lambda: page.state.index is not None)
    page.write_example()
    wait(page, lambda: page.state.answer is not None and not page.state.is_finding)
    hits = page.state.hits
    assert hits.n_hits == len(hits) >= 1
    page.views.show("Paths")
    panel = page.views.view("Paths")
    wait(page, lambda: panel.matrix is not None)
    counts = np.bincount(hits.ids, minlength=graph.n_paths)
    assert panel.matrix.counts[0].tolist() == counts.tolist()
    n_with = f"on {np.count_nonzero(counts):,} of {graph.n_paths:,} paths"
    assert n_with in page.query.readout.object
    page.views.view("Hits")._on_row(0)
    assert session.region.path == graph.path_names[int(hits.ids[0])]
    page.views.view("Hits").light.param.trigger("clicks")
    wait(page, lambda: session.highlights.sets)
    (lit,) = session.highlights.sets
    expected = np.unique(
        np.concatenate(
            [
                find_region_steps(
                    graph, PathRegion(graph.path_names[path], start, start + 21)
                ).nodes
                for path, start in zip(hits.ids.tolist(), hits.starts.tolist(), strict=True)
            ]
        )
    )
    assert lit.nodes.tolist() == expected.tolist()
    haplotypes = {tuple(graph.path_names[path].split("#")[:2]) for path in hits.ids.tolist()}
    n_nodes = f"{len(expected):,} node{'s' * (len(expected) != 1)}"
    assert f" on {n_nodes}, {len(haplotypes)} haplotype" in lit.words
    nodes = hit_rows(page.state.index.built, hits, 0).frame["Nodes"]
    assert nodes[0].split(" › ")[0] in graph.node_names
    assert page.link.kmers == page.state.text
    page.close()


def test_the_index_of_a_graph_is_saved_and_opened_without_the_graph(session, tmp_path):
    graph = read_gfa(get_sample("simulated"))
    session.opened = OpenGraph("simulated", "Simulated", graph)
    page = KmersPage(session)
    page.picker.open_graph()
    wait(page, lambda: page.state.index is not None)
    target = tmp_path / "paths.gvfm"
    page.saving.path.value_input = str(target)
    page.saving._save(None)
    wait(page, lambda: "Saved: paths.gvfm" in page.saving.said.object)
    name, write = page.saving._file()
    finish(write(tmp_path / name))
    assert (tmp_path / name).read_bytes() == target.read_bytes()
    page.close()

    other = Session()
    page = KmersPage(other)
    other.open(str(target))
    wait(page, lambda: page.state.index is not None)
    built = page.state.index.built
    assert built.report.is_read
    assert built.graph.path_names == graph.path_names
    texts = [spell_path(graph, path) for path in range(graph.n_paths)]
    kmer = texts[0][40:61]
    expected = [
        (path, start)
        for path, text in enumerate(texts)
        for start in range(len(text) - len(kmer) + 1)
        if text[start : start + len(kmer)] in (kmer, reverse_complement(kmer))
    ]
    answer = ask(page, kmer)
    wait(page, lambda: page.state.hits is not None and not page.state.is_finding)
    hits = page.state.hits
    assert answer.counts.tolist() == [len(expected)]
    assert list(zip(hits.ids.tolist(), hits.starts.tolist(), strict=True)) == expected
    first = find_region_steps(graph, PathRegion(graph.path_names[0], 40, 61)).nodes
    nodes = hit_rows(built, hits, 0).frame["Nodes"]
    assert nodes[expected.index((0, 40))].split(" › ")[0] == graph.node_names[int(first[0])]

    # The graph may come later: hits are lit on it by the names of its paths.
    other.opened = OpenGraph("simulated", "Simulated", graph)
    page.views.show("Hits")
    page.views.view("Hits").light.param.trigger("clicks")
    wait(page, lambda: other.highlights.sets)
    assert set(first.tolist()) <= set(other.highlights.sets[0].nodes.tolist())
    page.close()
    other.close()


def test_a_link_opens_sequences_and_asks_its_k_mers(fasta):
    query = f"?page=kmers&sequences={fasta}&kmers=GATTACA&strand=forward&k=7&tab=spectrum"
    dashboard = Dashboard(query)
    dashboard.open_first()
    page = dashboard.page
    poll_until(dashboard.poll, lambda: page.state.hits is not None)
    assert dashboard.session.opened is None
    assert page.state.answer.counts.tolist() == [len(places("GATTACA", "forward"))]
    assert page.link == Address(kmers="GATTACA", strand="forward", k=7, tab="spectrum")
    assert dashboard.session.indexes.source == str(fasta)
    dashboard.close()


def test_while_the_graph_of_a_link_is_opened_nobody_is_told_to_open_one(page, session, monkeypatch):
    assert "Open a genome first" in page.query.readout.object
    monkeypatch.setattr(GraphFiles, "is_opening", property(lambda _: True))
    page.follow(Address(kmers="GATTACA", sequences="graph"))
    page.poll()
    assert "The graph is being opened" in page.query.readout.object
    assert not page.nothing.visible
    for title in ("Hits", "Paths"):
        page.views.show(title)
        said = page.views.view(title).said
        poll_until(lambda: (session.poll(), page.poll()), lambda said=said: said.object == ENTERED)
    monkeypatch.setattr(GraphFiles, "is_opening", property(lambda _: False))  # it cannot be opened
    page.poll()
    assert "Open a genome first" in page.query.readout.object
    assert page.nothing.visible


def test_the_toolbar_fits_beside_a_layout_in_a_window_of_1024_px(page):
    for part in page.query.panel.select():
        assert max(part.width or 0, part.min_width or 0) <= 300, part


def test_the_empty_page_offers_to_index_a_graph_if_one_is_open(page, session, graph):
    assert page.nothing.visible
    assert not page.take_graph.visible
    session.opened = OpenGraph("small", "small", graph)
    assert page.take_graph.visible


def test_a_closed_tab_cancels_the_building(fasta, session):
    session.open(str(fasta))
    job = session.indexes._job
    session.close()
    assert job.wait(PATIENCE)
    assert job.state in ("cancelled", "finished")


def test_an_upload_is_indexed(session):
    page = KmersPage(session)
    session.open_upload("mine.fa", b">a\nGATTACANNGATTACA\n")
    wait(page, lambda: page.state.index is not None)
    assert (page.state.index.title, page.state.index.source) == ("mine.fa", "")
    assert ask(page, "GATTACA").counts.tolist() == [2]
    page.close()


def test_a_k_mer_longer_than_every_contig_and_letters_for_several_bases(opened):
    assert ask(opened, "ACGT" * 4000).counts.tolist() == [0]
    n = sum(len(places(kmer)) for kmer in ("GATTACA", "GATTGCA"))
    assert ask(opened, "gauurca").counts.tolist() == [n]


def test_a_graph_without_paths_has_no_index():
    graph = SimpleNamespace(graph=make_spelled_graph(["ACGT"], []), title="g")
    with pytest.raises(ParameterError, match="the graph has no paths, needs one at least"):
        next(iter(_iter_open_graph(graph)))
