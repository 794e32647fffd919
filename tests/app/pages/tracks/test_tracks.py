"""Tracks: files are opened once, found by region and name, and drawn with the right numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz.errors import ParameterError
from genoviz.io.intervals.intervals import read_intervals
from genoviz.model import PathRegion
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks import TracksPage
from genoviz_app.pages.tracks.counting.path_depths import PathSet
from genoviz_app.pages.tracks.places import parse_place
from genoviz_app.pages.tracks.track import Scale
from genoviz_app.parts.words import write_place
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session
from tests.app.conftest import poll_until
from tests.conftest import real_data
from tests.graphs import make_graph

CHR9 = "intervals/chr9_4-6Mb"
READS = "c1\t0\t10\ta\t0\t+\nc1\t5\t20\tb\t0\t-\nc1\t5\t20\tc\t0\t-\n2\t0\t7\td\t0\t+\n"
SIGNAL = "chr2\t3\t9\t1.5\nchr2\t9\t30\t-2\n"
GENES = """c1\tx\tgene\t101\t400\t.\t-\t.\tgene_id "g1"; gene_name "BRCA9";
c1\tx\texon\t101\t150\t.\t-\t.\tgene_id "g1"; gene_name "BRCA9";
c1\tx\texon\t141\t200\t.\t-\t.\tgene_id "g1"; gene_name "BRCA9";
c1\tx\texon\t301\t400\t.\t-\t.\tgene_id "g1"; gene_name "BRCA9";
c1\tx\tgene\t1001\t1100\t.\t+\t.\tgene_id "g2"; gene_name "AB2";
"""


@pytest.fixture
def files(tmp_path):
    texts = {"reads.bed": READS, "signal.bedgraph": SIGNAL, "genes.gtf": GENES}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


@pytest.fixture
def page(session):
    return TracksPage(session)


def open_files(session, page, *sources):
    for source in sources:
        session.tracks.open(str(source))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    page.poll()
    page.poll()
    return page.browser.drawing


def test_a_file_is_read_once_for_everybody(session, files):
    other = Session()
    for tab in (session, other):
        tab.tracks.open(files["reads.bed"])
        poll_until(tab.poll, lambda tab=tab: not tab.tracks.is_opening)
    assert session.tracks.files[0].data is other.tracks.files[0].data
    assert session.tracks.sources == (files["reads.bed"],)
    other.close()


def test_what_cannot_be_opened_is_said_and_the_others_are_opened(session, page, files, tmp_path):
    bad = tmp_path / "bad.bed"
    bad.write_text("c1\t5\n")
    open_files(session, page, bad, files["genes.gtf"])
    assert "bad.bed, line 1" in session.problem
    assert [track.title for track in page.tracks] == ["genes.gtf"]


def test_an_upload_becomes_a_track(session, page):
    session.open_upload("mine.bedgraph", SIGNAL)
    poll_until(session.poll, lambda: not session.tracks.is_opening)
    assert session.tracks.files[0].data.kind is TrackKind.SIGNAL
    assert session.tracks.sources == ()


def test_contigs_that_files_name_differently_are_one_and_that_is_said(session, page, files):
    open_files(session, page, files["signal.bedgraph"], files["reads.bed"])
    assert page.tracks.contigs() == {"chr2": 30, "c1": 20}
    page.navigation.go("2")
    page.poll()
    page._show_notes()
    assert page.browser.contig == "chr2"
    assert "what it has on 2 is shown on chr2" in page.notices.object
    assert [bool(track.find_contig("chr2")) for track in page.tracks] == [True, True]


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("c1:1-20", PathRegion("c1", 0, 20)),
        (" c1 : 1,001 - 1,100 ", PathRegion("c1", 1000, 1100)),
        ("c1:1,001-1,100", PathRegion("c1", 1000, 1100)),
        ("c1", PathRegion("c1", 0, 2000)),
        ("chrc1:7", PathRegion("c1", 6, 7)),
        ("51-60", PathRegion("c1", 50, 60)),
        ("c1:1990-5000", PathRegion("c1", 1989, 2000)),
        ("p:3-9:2-4", PathRegion("p:3-9", 1, 4)),
        ("p:3-9", PathRegion("p:3-9", 0, 9)),
    ],
)
def test_places_are_1_based_with_both_ends(text, region):
    contigs = {"c1": 2000, "p:3-9": 9}
    assert parse_place(text, contigs=contigs, shown="c1", find=lambda _: None) == region


@pytest.mark.parametrize("text", ["c9:1-2", "c1:0-5", "c1:9-3", "c1:2001-2005", "nothing", ""])
def test_what_is_no_place_is_said(text):
    with pytest.raises(ParameterError):
        parse_place(text, contigs={"c1": 2000}, shown="c1", find=lambda _: None)


def test_what_is_written_is_read_back():
    region = PathRegion("chr7", 27_099_999, 27_300_000)
    text = write_place(region)
    assert parse_place(text, contigs={"chr7": 10**8}, shown="", find=lambda _: None) == region


def test_a_gene_is_found_by_name_and_drawn_with_its_exons(session, page, files):
    open_files(session, page, files["genes.gtf"])
    page.navigation.go("brca9")
    page.poll()
    region = page.browser.region
    assert region.start < 100 < 400 < region.end
    found = page.browser.drawing.rows[0].features
    gene = found.lefts.tolist().index(100)
    is_own = found.owners == gene
    exons = zip(found.begins[is_own].tolist(), found.stops[is_own].tolist(), strict=True)
    assert [*exons] == [(100, 200), (300, 400)]
    assert (found.rights[gene], found.have_blocks[gene], found.strands[gene]) == (400, True, -1)
    assert dict(found.names)[gene] == "BRCA9 ‹"
    page.navigation.go("nobody")
    assert "'nobody' is not a place here" in session.problem


def depth_of(path, contig, start, end):
    """Depth of each base, by adding up."""
    depth = np.zeros(end - start)
    intervals = read_intervals(path)
    columns = (intervals.contig_ids, intervals.starts, intervals.ends)
    for rank, first, last in zip(*(column.tolist() for column in columns), strict=True):
        if intervals.contigs[rank] == contig and first < end and last > start:
            depth[max(first - start, 0) : last - start] += 1
    return depth


def drawn_summary(page, title):
    row = next(row for row in page.browser.drawing.rows if row.track.title == title)
    return row.parts[0][0]


@pytest.mark.parametrize("width", [200_000, 2000])
def test_reads_are_drawn_as_exact_means_and_extremes(session, page, width):
    path = real_data(f"{CHR9}/bam_chr9_4000000_6000000.bam")
    open_files(session, page, path)
    region = PathRegion("chr9", 4_850_000, 4_850_000 + width)
    page.navigation.look_at(region)
    page.poll()
    found = drawn_summary(page, path.name)
    start, end = int(found.edges[0]), int(found.edges[-1])
    depth = depth_of(path, "chr9", start, end)
    expected = np.split(depth, found.edges[1:-1] - start)
    assert np.allclose(found.mean, [bin_.mean() for bin_ in expected])
    assert found.low.tolist() == [bin_.min() for bin_ in expected]
    assert found.high.tolist() == [bin_.max() for bin_ in expected]
    assert found.is_exact == (width == 2000)
    in_view = depth[region.start - start : region.end - start]
    row = page.browser.drawing.rows[0]
    if found.is_exact:
        assert row.scale == (0.0, in_view.max())
    assert "-F 1796" in page.notices.object


def test_a_signal_is_drawn_with_its_values_and_gaps_at_zero(session, page, files):
    open_files(session, page, files["signal.bedgraph"])
    page.navigation.go("chr2:1-30")
    page.poll()
    found = drawn_summary(page, "signal.bedgraph")
    values = np.repeat(found.mean, np.diff(found.edges))
    assert values.tolist() == [0.0] * 3 + [1.5] * 6 + [-2.0] * 21
    assert page.browser.drawing.rows[0].scale == (-2.0, 1.5)


def test_strands_go_up_and_down_and_cpm_is_per_million(session, page, files):
    open_files(session, page, files["reads.bed"])
    track = page.tracks.tracks[0]
    page.navigation.go("c1")
    track.look.as_depth = track.look.is_mirrored = True
    page.browser.refresh()
    page.poll()
    row = page.browser.drawing.rows[0]
    drawn = [(max(summary.high), is_down) for summary, is_down in row.parts]
    assert drawn == [(1, False), (2, True)]
    track.look.is_mirrored, track.look.is_cpm = False, True
    page.browser.refresh()
    page.poll()
    row = page.browser.drawing.rows[0]
    assert row.scale[1] == pytest.approx(3 * 1e6 / 4)
    assert "per million" in row.note


def test_a_group_has_one_scale(session, page, tmp_path):
    for name, value in (("a", 3), ("b", 8), ("c", 50)):
        (tmp_path / f"{name}.bedgraph").write_text(f"c\t0\t100\t{value}\n")
    open_files(session, page, *(tmp_path / f"{name}.bedgraph" for name in "abc"))
    first, second, third = page.tracks
    first.look.scale = second.look.scale = Scale.GROUP
    third.look.scale, third.look.limit = Scale.FIXED, 10.0
    page.browser.refresh()
    page.poll()
    assert [row.scale[1] for row in page.browser.drawing.rows] == [8, 8, 10]


def test_many_features_are_drawn_as_their_depth(session, page, tmp_path):
    rows = "".join(f"c\t{start}\t{start + 5}\tx\n" for start in range(0, 12_000, 4))
    (tmp_path / "many.bed").write_text(rows)
    open_files(session, page, tmp_path / "many.bed")
    page.navigation.go("c")
    page.poll()
    assert page.browser.drawing.rows[0].parts
    assert "depth of features" in page.browser.drawing.rows[0].note
    page.navigation.go("c:1-4000")
    page.poll()
    assert not page.browser.drawing.rows[0].parts
    assert len(page.browser.drawing.rows[0].features.lefts) > 100


def test_features_of_a_row_do_not_cover_each_other(session, page):
    open_files(session, page, real_data(f"{CHR9}/bed_chr9_4000000_6000000_chromstates.bed"))
    page.navigation.go("chr9:4,800,001-5,000,000")
    page.poll()
    found = page.browser.drawing.rows[0].features
    assert len(found.tops) > 50
    for top in set(found.tops.tolist()):
        row = np.flatnonzero(found.tops == top)
        assert (found.lefts[row][1:] >= found.rights[row][:-1]).all()


def test_tracks_are_moved_taken_away_and_kept_when_others_come(session, page, files):
    parts = (page.browser.panel, page.dock.panel, page.exports.panel)
    page.poll()
    assert not any(part.visible for part in parts), "nothing can be counted or saved"
    open_files(session, page, files["reads.bed"], files["genes.gtf"])
    assert all(part.visible for part in parts)
    page.tracks.move(page.tracks.tracks[1], -1)
    page.tracks.tracks[0].look.height = 120
    open_files(session, page, files["signal.bedgraph"])
    assert [t.title for t in page.tracks] == ["genes.gtf", "reads.bed", "signal.bedgraph"]
    assert page.browser.drawing.rows[0].bottom == 120
    page.tracks.remove(page.tracks.tracks[1])
    page.poll()
    assert [file.title for file in session.tracks.files] == ["genes.gtf", "signal.bedgraph"]
    assert page.browser.drawing.height == 120 + 62
    for track in list(page.tracks):
        page.tracks.remove(track)
    page.poll()
    assert (page.browser.contig, page.browser.region) == ("", None)
    assert not any(part.visible for part in parts)


def test_back_and_forward_visit_the_places_again_however_soon_they_were_left(
    session, page, files, monkeypatch
):
    monkeypatch.setattr("genoviz_app.pages.tracks.places.REST_SECONDS", 1e9)
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    open_files(session, page, files["genes.gtf"])
    for text in ("c1:1-50", "c1:201-300"):
        page.navigation.go(text)
        page.poll()
    page.browser.zoom(0.5)
    page.poll()
    navigation = page.navigation
    places = ["c1:200-300", "c1:0-50", "c1:200-300", "c1:225-275"]
    acts = [navigation.go_back] * 2 + [navigation.go_forward] * 2
    for act, place in zip(acts, places, strict=True):
        assert not (navigation.back if act == navigation.go_back else navigation.forward).disabled
        act()
        page.poll()
        assert str(page.browser.region) == place
    assert navigation.place.value == "c1:226-275"
    navigation.show_data()
    assert str(page.browser.region) == "c1:100-1100"


def test_a_graphs_paths_have_their_depth_and_files_on_their_contig(session, page, graph, tmp_path):
    (tmp_path / "on.bed").write_text("ref\t2\t5\tpiece\n")
    open_files(session, page, tmp_path / "on.bed")
    session.opened = OpenGraph("", "small", graph)

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: all(track.data is not None for track in page.tracks))
    page.navigation.go("ref")
    depths = page.tracks.tracks[0]
    poll_until(poll, lambda: depths.data is not None and bool(drawn_rows(page)))
    found = drawn_summary(page, depths.title)
    values = np.repeat(found.mean, np.diff(found.edges))
    assert values.tolist() == [2, 2, 2, 2, 1, 1, 2]
    session.region = PathRegion("alt", 1, 9)
    page.poll()
    assert page.browser.contig == "alt"


def test_a_shorter_path_of_that_name_in_another_graph_is_shown_whole(session, page):
    session.opened = OpenGraph("long", "long", make_graph([400, 500], [[1, 2]]))
    page.poll()
    page.navigation.look_at(PathRegion("path0", 700, 800))
    session.opened = OpenGraph("short", "short", make_graph([60], [[1]]))
    page.poll()
    assert page.browser.region == PathRegion("path0", 0, 60)


def test_tracks_are_at_the_places_of_the_open_graph(session, page, files):
    open_files(session, page, files["reads.bed"])
    (track,) = page.tracks
    assert track.find_contig("s#0#c1:6-16") == ("c1", 6)
    graph = replace(make_graph([11], [[1]]), path_names=("s#0#c1:6-16",))
    session.opened = OpenGraph("closed", "closed", graph)
    assert track.find_contig("s#0#c1:6-16") == ("c1", 5)
    open_files(session, page, files["signal.bedgraph"])
    assert all(track.graph is graph for track in page.tracks)


def test_a_contig_of_several_paths_offers_each_and_of_one_path_goes_there(session, page):
    graph = make_graph([400, 500], [[1, 2], [2], [1]])
    names = ("A#1#chr6:100-1000", "B#1#chr6", "B#1#chr7:50-450")
    session.opened = OpenGraph("two", "two", replace(graph, path_names=names))
    page.poll()
    navigation = page.navigation
    navigation.go("chr7:61-90")
    assert page.browser.region == PathRegion(names[2], 10, 40)
    assert not navigation.choices.visible
    navigation.go("chr6:201-230")
    buttons = navigation.choices.objects[1:]
    assert [button.label for button in buttons] == [f"{names[0]}:101-130", f"{names[1]}:201-230"]
    assert session.problem == ""
    buttons[1].clicks += 1
    assert page.browser.region == session.region == PathRegion("B#1#chr6", 200, 230)
    assert not navigation.choices.visible
    navigation.go("chr6:2001-2010")
    assert "there is no contig 'chr6'" in session.problem


def drawn_rows(page):
    return [row for row in page.browser.drawing.rows if row.parts]


def test_a_contig_that_is_no_path_has_no_depth_of_paths(session, page, graph, files):
    open_files(session, page, files["genes.gtf"])
    session.opened = OpenGraph("", "small", graph)
    poll_until(page.poll, lambda: len(page.tracks.tracks) > 1)
    page.depths.add(PathSet.parse("path:ref"))
    page.navigation.go("ref")
    page.navigation.go("c1")
    page.poll()
    notes = {row.track.title: row.note for row in page.browser.drawing.rows}
    assert list(notes.values()).count("has no c1") == 2, notes
    page.navigation.go("ref")
    page.poll()
    assert [row.note for row in page.browser.drawing.rows].count("being counted") == 2


def type_into(page, text):
    """Do what a browser does as somebody types."""
    page.navigation.place._process_events({"value_input": text})


def test_what_is_typed_stays_when_tracks_arrive(session, page, files, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    place = page.navigation.place
    open_files(session, page, files["reads.bed"])
    assert place.value_input == "c1:1-20"
    type_into(page, "c1:")
    many = tmp_path / "many.bed"
    many.write_text("".join(f"chr7\t{k}\t{k + 9}\n" for k in range(500)))
    open_files(session, page, many)
    assert (str(page.browser.region), place.value_input) == ("chr7:0-508", "c1:")
    page.browser.zoom(0.5)
    page.poll()
    assert place.value_input == "chr7:128-381"


def test_what_is_typed_right_after_a_move_stays(session, page, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    place = page.navigation.place
    (tmp_path / "long.bed").write_text("chr7\t0\t500\n")
    open_files(session, page, tmp_path / "long.bed")
    page.browser.zoom(0.5)
    type_into(page, "chr7:3")  # before the page has looked where the view is
    page.poll()
    assert place.value_input == "chr7:3"
    page.browser.zoom(0.5)
    page.poll()
    assert place.value_input == write_place(page.browser.region)


def test_a_text_that_the_browser_changes_late_is_not_typed(session, page, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    (tmp_path / "long.bed").write_text("chr7\t0\t500\n")
    open_files(session, page, tmp_path / "long.bed")
    page.navigation.go_to(PathRegion("chr7", 100, 300))
    type_into(page, "")  # what the field does as it shows the text before
    page.poll()
    assert page.navigation.place.value_input == "chr7:101-300"


def test_a_field_that_a_browser_first_shows_follows_the_tracks(
    session, page, files, tmp_path, monkeypatch
):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    open_files(session, page, files["reads.bed"])
    type_into(page, "")
    many = tmp_path / "many.bed"
    many.write_text("".join(f"chr7\t{k}\t{k + 9}\n" for k in range(500)))
    open_files(session, page, many)
    assert page.navigation.place.value_input == "chr7:1-508"


def test_a_place_that_was_not_found_stays_to_be_mended(session, page, files, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    place = page.navigation.place
    open_files(session, page, files["reads.bed"])
    type_into(page, "c3:1-20")
    place._process_events({"value": "c3:1-20"})
    assert "there is no contig 'c3'" in session.problem
    open_files(session, page, files["signal.bedgraph"])
    assert place.value_input == "c3:1-20"


def test_a_place_is_looked_for_until_its_file_is_open(session, page, files, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    session.tracks.open(files["genes.gtf"])
    page.navigation.go("BRCA9")
    page.poll()
    assert "Opening files, then" in page.navigation.readout.object
    assert "BRCA9" in page.navigation.readout.object
    open_files(session, page, files["reads.bed"])
    assert (page.browser.region.path, session.problem) == ("c1", "")
    assert page.browser.region.start <= 100 < 400 <= page.browser.region.end
    session.tracks.open(files["signal.bedgraph"])
    page.navigation.go("nobody")
    assert session.problem == ""
    open_files(session, page, files["reads.bed"])
    assert "'nobody' is not a place here" in session.problem
    assert "nobody" not in page.navigation.readout.object


def test_a_link_leaves_its_person_where_they_went_meanwhile(session, page, files, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    session.tracks.open(files["reads.bed"])
    page.follow(Address(region=PathRegion("c1", 3, 30)))
    page.navigation.go("c1:101-150")
    open_files(session, page, files["genes.gtf"])
    assert str(page.browser.region) == "c1:100-150"
