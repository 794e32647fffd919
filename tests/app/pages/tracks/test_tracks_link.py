"""A link brings tracks back as they were, and says all that it cannot bring back."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.graph.query.path_depth import path_depth_along
from genoviz.errors import ParameterError
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.opening.track_data import TrackKind, prepare
from genoviz_app.opening.track_files import TrackFile
from genoviz_app.pages.tracks import TracksPage
from genoviz_app.pages.tracks.address import follow_looks, write_looks
from genoviz_app.pages.tracks.counting.path_depths import PathSet
from genoviz_app.pages.tracks.track import COLOURS, HEIGHTS, Scale, Track, TrackLook, new_look
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session
from tests.app.conftest import poll_until


@cache
def steps():
    return prepare(Intervals.from_columns(["c"], [0], [9], scores=[1.0]), "bedgraph")


def tracks_of(n):
    files = [TrackFile(f"/d/{k}.bw", f"{k}.bw", steps()) for k in range(n)]
    return [Track(f.title, steps(), new_look(TrackKind.SIGNAL, k), f) for k, f in enumerate(files)]


def sources_of(tracks):
    return [f"/d/{k}.bw" for k in range(len(tracks))]


def test_nothing_is_said_of_what_is_usual():
    tracks = tracks_of(3)
    assert write_looks(tracks, sources_of(tracks)) == ()


def test_only_what_is_not_usual_is_said():
    tracks = tracks_of(3)
    tracks[1].look.height, tracks[1].look.is_log = 120, True
    tracks[2].look.colour, tracks[2].look.scale = "#ff00AA", Scale.GROUP
    assert write_looks(tracks, sources_of(tracks)) == (
        "2,height:120,log",
        "3,colour:ff00aa,scale:group",
    )


LOOKS = st.builds(
    TrackLook,
    colour=st.sampled_from([*COLOURS, "#123456"]),
    height=st.integers(34, 320),
    scale=st.sampled_from(Scale),
    floor=st.integers(-1000, 1000).map(float),
    limit=st.integers(0, 99_999).map(lambda n: n / 8),
    percentile=st.integers(0, 100).map(float),
    is_log=st.booleans(),
    is_cpm=st.booleans(),
    is_mirrored=st.booleans(),
    as_depth=st.booleans(),
    is_overlay=st.booleans(),
    is_hidden=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(LOOKS, min_size=1, max_size=5), st.randoms())
def test_what_is_written_is_followed(looks, random):
    tracks = tracks_of(len(looks))
    for track, look in zip(tracks, looks, strict=True):
        track.look = look
    random.shuffle(tracks)
    items = write_looks(tracks, sources_of(tracks))
    address = Address(tracks=tuple(sources_of(tracks)), looks=items)
    again = tracks_of(len(looks))
    assert Address.parse(address.query, pages=()) == address
    assert follow_looks(again, sources_of(again), items) == []
    assert [t.title for t in again] == [t.title for t in tracks]
    assert [t.look for t in again] == [t.look for t in tracks]


def test_all_that_is_wrong_is_said_and_the_rest_is_followed():
    tracks = tracks_of(2)
    items = ("7,log", "1,heigt:3,log,scale:mine,height:tall,colour:red", "2,height:9999")
    complaints = follow_looks(tracks, sources_of(tracks), items)
    assert len(complaints) == 5
    for words in ("track '7'", "'heigt'", "'mine'", "'tall', needs a number", "'red', needs six"):
        assert words in " ".join(complaints)
    assert tracks[0].look.is_log
    assert tracks[1].look.height == 320
    assert tracks[0].look.height == HEIGHTS[TrackKind.SIGNAL]


@pytest.fixture
def page(session):
    return TracksPage(session)


def settle(session, page):
    def poll():
        session.poll()
        page.poll()

    poll()
    poll_until(poll, lambda: not session.tracks.is_opening)
    poll_until(poll, lambda: all(track.data is not None for track in page.tracks))
    for _ in range(3):
        poll()


def test_a_link_restores_order_looks_and_region(session, page, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.bedgraph").write_text("c1\t0\t900\t3\n")
        session.tracks.open(str(tmp_path / f"{name}.bedgraph"))
    settle(session, page)
    page.tracks.move(page.tracks.tracks[1], -1)
    page.tracks.tracks[0].look.is_hidden = True
    page.navigation.go("c1:101-200")
    settle(session, page)
    link = Address(tracks=session.tracks.sources, **{
        name: getattr(page.link, name) for name in ("region", "looks", "depths")
    })  # fmt: skip
    other = Session()
    again = TracksPage(other)
    for source in link.tracks:
        other.tracks.open(source)
    again.follow(Address.parse(link.query, pages=()))
    settle(other, again)
    assert [t.title for t in again.tracks] == ["b.bedgraph", "a.bedgraph"]
    assert [t.look for t in again.tracks] == [t.look for t in page.tracks]
    assert again.browser.region == PathRegion("c1", 100, 200)
    assert other.problem == ""
    other.close()


def test_a_region_that_is_nowhere_is_said_beside_the_rest(session, page, tmp_path):
    (tmp_path / "a.bedgraph").write_text("c1\t0\t900\t3\n")
    session.tracks.open(str(tmp_path / "a.bedgraph"))
    session.complain("The first.")
    page.follow(Address(region=PathRegion("nope", 0, 5), looks=("x",), depths=("sample:A",)))
    settle(session, page)
    for words in ("The first.", "track 'x'", "nothing here has nope", "no graph is open"):
        assert words in session.problem


def test_sets_of_paths_have_tracks_of_their_depth(session, page, graph):
    session.opened = OpenGraph("", "small", graph)
    settle(session, page)
    page.navigation.go("alt")
    page.depth_picker.by.value = "path"
    page.depth_picker.pasted.value = "ref"
    page.depth_picker.add()
    settle(session, page)
    track = next(track for track in page.tracks if track.title == "Depth of ref")
    expected = path_depth_along(graph, "alt", ["ref"])
    assert track.data.intervals.scores.tolist() == expected.scores.tolist() == [1, 0, 1]
    assert track.data.intervals.ends.tolist() == [4, 10, 11]
    page.navigation.go("ref")
    settle(session, page)
    assert track.data.intervals.contigs == ("ref",)
    assert page.link.depths == ("path:ref",)
    page.depth_picker.pasted.value = "nobody"
    page.depth_picker.add()
    assert "no path is named 'nobody'" in session.problem
    session.opened = OpenGraph("", "another", graph)
    settle(session, page)
    assert "Depth of ref" not in [track.title for track in page.tracks]


def test_a_removed_depth_does_not_come_back(session, page, graph):
    session.opened = OpenGraph("", "small", graph)
    page.depths.add(PathSet("path", ("ref",)))
    settle(session, page)
    page.tracks.remove(next(t for t in page.tracks if t.title == "Depth of ref"))
    settle(session, page)
    assert page.depths.sets == ()


@given(
    st.sampled_from(["path", "sample", "haplotype"]),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1),
)
def test_sets_are_read_as_they_are_written(by, names):
    wanted = PathSet(by, tuple(names))
    assert PathSet.parse(str(wanted)) == wanted


@pytest.mark.parametrize("text", ["", "sample:", "colour:a", "sample"])
def test_what_is_no_set_is_said(text):
    with pytest.raises(ParameterError, match="is not a set of paths"):
        PathSet.parse(text)


def test_names_are_suggested_and_found_in_any_case(session, page, tmp_path):
    names = [f"gene{n}" for n in range(300)] + ["BRCA1", "brca2", "BRCA1"]
    order = np.random.default_rng(1).permutation(len(names))
    rows = "".join(f"c1\t{100 * k}\t{100 * k + 50}\t{names[i]}\n" for k, i in enumerate(order))
    (tmp_path / "genes.bed").write_text(rows)
    session.tracks.open(str(tmp_path / "genes.bed"))
    settle(session, page)
    suggest = page.navigation.place._filter_options
    assert suggest("Brc") == ["BRCA1", "brca2"]
    assert suggest("gene1")[:3] == ["gene1", "gene10", "gene100"]
    assert suggest("c") == ["c1"]
    assert suggest("c1:5") == suggest("zz") == []
    page.navigation.place.value = "BRCA2"
    page.poll()
    start = 100 * [names[i] for i in order].index("brca2")
    region = page.browser.region
    assert region.start < start < start + 50 < region.end


def test_where_the_view_rests_on_a_path_is_where_other_pages_go(session, page, graph, monkeypatch):
    monkeypatch.setattr("genoviz_app.pages.tracks.places.REST_SECONDS", 0.0)
    monkeypatch.setattr("genoviz_app.pages.tracks.drawing.navigation.LOOK_SECONDS", 0.0)
    session.opened = OpenGraph("", "small", graph)
    settle(session, page)
    assert session.region is None, "what nobody has chosen is not published"
    page.navigation.look_at(PathRegion("alt", 1, 9))
    settle(session, page)
    assert session.region == page.browser.region
    assert session.region.path == "alt"


def test_the_depth_of_the_graph_comes_before_its_annotations_and_the_files():
    tracks = tracks_of(1)
    built_in = [Track(title, steps(), new_look(TrackKind.SIGNAL, 0)) for title in
                ("Annotations", "Depth of paths", "Depth of ref")]  # fmt: skip
    found = [*tracks, *built_in]
    assert follow_looks(found, sources_of(tracks), ()) == []
    assert [track.title for track in found] == [
        "Depth of paths", "Annotations", "Depth of ref", "0.bw",
    ]  # fmt: skip
