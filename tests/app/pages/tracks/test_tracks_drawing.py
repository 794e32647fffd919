"""Lanes, scales and messages of the tracks: what is drawn is what is there."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.track_data import prepare
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.drawing.feature_packing import Packer, View
from genoviz_app.pages.tracks.drawing.lanes import describe_lane
from genoviz_app.pages.tracks.drawing.margin import describe_value, feature_card
from genoviz_app.pages.tracks.drawing.summaries import overview_heights
from genoviz_app.pages.tracks.drawing.track_canvas import frame_message, track_id
from genoviz_app.pages.tracks.drawing.track_drawer import TrackDrawer
from genoviz_app.pages.tracks.track import Scale, Track, new_look
from genoviz_app.pages.tracks.track_list import TrackList, put_before, put_over
from tests.app.conftest import poll_until

LENGTH = 1000


def make_track(title, values, kind="bedgraph"):
    """A signal of 100 bp steps, or features of 50 bp."""
    starts = 100 * np.arange(len(values))
    found = Intervals.from_columns(
        ["c"] * len(values), starts, starts + (100 if kind == "bedgraph" else 50), scores=values
    )
    data = prepare(found, kind)
    return Track(title, data, new_look(data.kind, 0))


def draw(tracks, start=0, end=LENGTH, width=500):
    return TrackDrawer().draw(tracks, View("c", start, end, width), LENGTH)


def unpack(message):
    """The arrays of a message, read by its plan."""
    content = zlib.decompress(message["data"]) if message["is_packed"] else message["data"]
    arrays, at = {}, 0
    for name, kind, size in message["plan"]:
        arrays[name] = np.frombuffer(content, np.dtype(kind), size, at)
        at += arrays[name].nbytes
    return arrays


def test_tracks_of_one_lane_have_one_scale():
    low, high, other = (make_track(t, v) for t, v in (("a", [1, 2]), ("b", [9, -3]), ("c", [5, 5])))
    high.look.is_overlay = True
    drawing = draw([low, high, other])
    assert [[row.track.title for row in lane.rows] for lane in drawing.lanes] == [["a", "b"], ["c"]]
    first, second, third = drawing.rows
    assert first.scale == second.scale == (-3, 9)
    assert (first.top, first.bottom) == (second.top, second.bottom) == (0, low.look.height)
    assert (third.top, third.scale) == (low.look.height, (0, 5))
    assert drawing.height == low.look.height + other.look.height


@pytest.mark.parametrize("width", [5, 500])
@pytest.mark.parametrize("scale", [*Scale])
def test_infinite_values_leave_the_axis_to_the_others_and_are_told(width, scale):
    values = np.tile([2.0, np.inf, 5.0, -1.0, -np.inf], 40)
    starts = 5 * np.arange(200)
    steps = Intervals.from_columns(["c"] * 200, starts, starts + 5, scores=values)
    data = prepare(steps, "bedgraph")
    track = Track("p", data, new_look(data.kind, 0))
    track.look.scale, track.look.percentile = scale, 100.0
    (row,) = draw([track], width=width).rows
    if scale is not Scale.FIXED:
        assert row.scale == (-1, 5)
    assert row.note.endswith(", some infinite")
    summary = row.parts[0][0]
    assert summary.high.max() == np.inf
    assert summary.low.min() == -np.inf
    if width == 5:
        assert summary.mean[:-1].tolist() == pytest.approx([2.0] * (len(summary.mean) - 1))
    assert overview_heights(track, "c", LENGTH, 40).max() == 255
    assert describe_value(row, "c", 6).startswith("inf")
    (row,) = draw([track], start=0, end=4, width=500).rows
    assert "infinite" not in row.note


def test_features_in_rows_have_a_lane_of_their_own_whatever_is_wished():
    signal, genes = make_track("a", [1, 2]), make_track("g", [1, 2], "bed")
    after = make_track("b", [3, 3])
    genes.look.is_overlay = after.look.is_overlay = True
    drawing = draw([signal, genes, after])
    assert [len(lane.rows) for lane in drawing.lanes] == [1, 1, 1]
    genes.look.as_depth = True
    assert [len(lane.rows) for lane in draw([signal, genes, after]).lanes] == [3]


def test_the_value_of_a_base_is_said_with_that_of_its_bin():
    starts = np.arange(0, 800, 4)
    signal = Intervals.from_columns(["c"] * 200, starts, starts + 4, scores=starts / 4)
    data = prepare(signal, "bedgraph")
    (row,) = draw([Track("a", data, new_look(data.kind, 0))], width=5).rows
    edges = row.parts[0][0].edges
    assert (np.diff(edges) > 100).all()
    for left, right in zip(edges[:-1], np.minimum(edges[1:], 800), strict=True):
        values = starts[(starts >= left) & (starts < right)] / 4
        if len(values):
            said = f"bin {values.mean():,.3g} ({values.min():,.3g} to {values.max():,.3g})"
            assert describe_value(row, "c", int(left)) == f"{values[0]:g} · {said}"
            assert describe_value(row, "c", int(right) - 1) == f"{values[-1]:g} · {said}"
        else:
            assert describe_value(row, "c", int(left)) == "no value"
    assert edges[-2] >= 800
    data = prepare(signal.select(np.arange(200) != 30), "bedgraph")
    (gap,) = draw([Track("a", data, new_look(data.kind, 0))], width=5).rows
    assert describe_value(gap, "c", 121).startswith("no value · bin ")
    for contig, position in (("other", 5), ("c", None)):
        assert describe_value(row, contig, position) == ""


def test_the_features_of_a_base_are_named_and_the_rest_counted():
    starts = [0, 10, 20, 30]
    genes = Intervals.from_columns(["c"] * 4, starts, [40] * 4, names=["p", "q", "r", "s"])
    data = prepare(genes, "bed")
    (row,) = draw([Track("g", data, new_look(data.kind, 0))]).rows
    said = [describe_value(row, "c", place) for place in (0, 9, 10, 19, 20, 30, 39, 40)]
    assert said == ["p", "p", "p, q", "p, q", "p, q and 1 more", *2 * ["p, q and 2 more"], ""]
    names = [*("ended" for _ in range(60)), *(f"n{i}" for i in range(70))]
    starts = [0] * 60 + [10] * 70
    many = Intervals.from_columns(["c"] * 130, starts, [10] * 60 + [20] * 70, names=names)
    row.track = Track("g", prepare(many, "bed"), new_look("features", 0))
    assert describe_value(row, "c", 10) == "n0, n1 and 68 more"


@pytest.mark.parametrize(
    ("number", "step", "order"),
    [
        (0, 1, "bac"), (1, 1, "acb"), (2, 1, "abc"), (0, -1, "abc"), (1, -1, "bac"),
        (2, -1, "acb"), (0, 2, "bca"), (2, -9, "cab"), (0, 9, "bca"),
    ],
)  # fmt: skip
def test_a_track_moves_by_steps_and_stays_within_the_list(session, number, step, order):
    changes = []
    tracks = TrackList(session, lambda: changes.append(1))
    tracks.tracks += [make_track(title, [1]) for title in "abc"]
    n_before = len(changes)
    tracks.move(tracks.tracks[number], step)
    assert "".join(track.title for track in tracks.tracks) == order
    assert len(changes) == n_before + 1


def test_hidden_tracks_take_no_room_and_are_named():
    first, second = make_track("a", [1]), make_track("b", [2])
    first.look.is_hidden = True
    drawing = draw([first, second])
    assert [row.track for row in drawing.rows] == [second]
    message = frame_message(drawing, chosen=None, hidden=[first])
    assert message["hidden"] == [{"id": track_id(first), "title": "a"}]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale.VIEW, (0, 4)),
        (Scale.CONTIG, (-7, 100)),
        (Scale.FIXED, (-2, 50)),
        (Scale.PERCENTILE, (0, 3)),
    ],
)
def test_scales_end_where_they_say(scale, expected):
    track = make_track("a", [1, 2, 3, 4, 100, -7])
    look = track.look
    look.scale, look.floor, look.limit, look.percentile = scale, -2.0, 50.0, 75.0
    (row,) = draw([track], 0, 400).rows
    assert row.scale == expected
    look.scale = Scale.GROUP
    assert draw([track, make_track("b", [80])], 0, 400).rows[0].scale == (0, 4)


@pytest.mark.parametrize(
    ("kind", "look", "said"),
    [
        ("bedgraph", {}, "0 to 3"),
        ("bedgraph", {"is_cpm": True, "is_log": True}, "0 to 3, log"),  # a signal counts no reads
        ("bedgraph", {"scale": Scale.FIXED, "floor": 0.0, "limit": 9.0}, "0 to 9, fixed"),
        (
            "bedgraph",
            {"scale": Scale.PERCENTILE, "percentile": 100.0},
            "0 to 3, 100th percentile",
        ),
        ("bed", {"as_depth": True}, "0 to 1, depth of features"),
    ],
)
def test_the_y_axis_is_said_in_words(kind, look, said):
    track = make_track("a", [1, 2, 3], kind)
    for name, value in look.items():
        setattr(track.look, name, value)
    (lane,) = draw([track]).lanes
    assert describe_lane(lane) == said


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=12),
    st.integers(0, 900),
    st.integers(20, 900),
    st.integers(1, 100),
)
def test_a_percentile_is_what_so_many_bases_do_not_exceed(values, start, length, percentile):
    end = min(start + length, LENGTH)
    track = make_track("a", values)
    track.look.scale, track.look.percentile = Scale.PERCENTILE, float(percentile)
    (row,) = draw([track], start, end, width=4 * LENGTH).rows
    bases = np.zeros(LENGTH + 200)
    bases[: 100 * len(values)] = np.repeat(values, 100)
    expected = np.quantile(bases[start:end], percentile / 100, method="inverted_cdf")
    assert row.scale == (0, expected if expected > 0 else 1)


@pytest.mark.parametrize(("start", "end"), [(0, LENGTH), (130, 370)])
def test_what_the_browser_gets_is_what_is_drawn(start, end):
    signal, genes = make_track("a", [1, 7, 0, 2.5, 3]), make_track("g", [1, 2, 3], "bed")
    drawing = draw([signal, genes], start, end)
    message = frame_message(drawing, chosen=genes)
    arrays = unpack(message)
    values, features = message["lanes"]
    (part,) = values["rows"][0]["parts"]
    summary = drawing.rows[0].parts[0][0]
    edges = message["origin"] + arrays[f"{part['name']}edges"]
    assert edges.tolist() == summary.edges.tolist()
    assert arrays[f"{part['name']}mean"].tolist() == summary.mean.tolist()
    assert values["scale"] == [0, drawing.rows[0].scale[1]]
    name = features["rows"][0]["boxes"]["name"]
    found = drawing.rows[1].features
    assert (message["origin"] + arrays[f"{name}begins"]).tolist() == found.begins.tolist()
    assert [row["is_chosen"] for lane in message["lanes"] for row in lane["rows"]] == [False, True]


def test_bins_are_sent_with_their_range_and_without_edges():
    track = make_track("a", list(range(10)))
    track.data = prepare(
        Intervals.from_columns(["c"] * 400, np.arange(400) * 500, np.arange(1, 401) * 500,
                               scores=np.arange(400) % 7), "bedgraph")  # fmt: skip
    drawing = TrackDrawer().draw([track], View("c", 0, 200_000, 300), 200_000)
    message = frame_message(drawing, chosen=None)
    (part,) = message["lanes"][0]["rows"][0]["parts"]
    arrays = unpack(message)
    low, mean, high = (arrays[f"{part['name']}{name}"] for name in ("low", "mean", "high"))
    assert (low <= mean + 1e-6).all()
    assert (mean <= high + 1e-6).all()
    assert part["size"] == drawing.bin_bp > 1
    assert f"{part['name']}edges" not in arrays
    assert message["said"].startswith("Mean and range of")


@pytest.mark.parametrize("kind", ["bam", "bedgraph"])
@pytest.mark.parametrize("length", [100_001, 123_457, 199_999])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("width", [100, 333, 700])
def test_a_depth_of_one_is_one_in_the_last_bin_of_a_contig_too(kind, length, is_known, width):
    ends = np.array([length // 3, length])
    data = prepare(
        Intervals(
            ("c",), np.zeros(2, np.int32), np.append(0, ends[:1]), ends, scores=np.ones(2),
            contig_lengths=np.array([length]) if is_known else None,
        ),
        kind,
    )  # fmt: skip
    track = Track("a", data, new_look(data.kind, 0))
    for view in ((0, length), (length // 2, length), (length - 60_000, length)):
        drawing = TrackDrawer().draw([track], View("c", *view, width), length)
        (summary, _), = drawing.rows[0].parts  # fmt: skip
        assert drawing.bin_bp > 1
        assert summary.edges[-1] == length
        assert (np.diff(summary.edges)[:-1] == drawing.bin_bp).all()
        assert (np.diff(summary.edges) > 0).all()
        for values in (summary.low, summary.mean, summary.high):
            assert (values == 1).all()
        (part,) = frame_message(drawing, chosen=None)["lanes"][0]["rows"][0]["parts"]
        assert part["end"] == length


@pytest.mark.parametrize(("kind", "elsewhere"), [("bam", 1), ("bedgraph", 1), ("bedgraph", np.inf)])
def test_a_path_has_what_lies_at_its_place_on_the_contig(kind, elsewhere):
    # The path is the second half of a contig, of which only the last quarter has depth, and a place
    # before the path. Signals with an infinite value anywhere are averaged without it.
    data = prepare(
        Intervals(
            ("c",), np.zeros(2, np.int32), np.array([50, 150_000]), np.array([90, 200_000]),
            scores=np.array([elsewhere, 1.0]), contig_lengths=np.array([200_000]),
        ),
        kind,
    )  # fmt: skip
    track = Track("a", data, new_look(data.kind, 0))
    name = "s#0#c:100000-200000"
    assert track.find_contig(name) == ("c", 100_000)
    drawing = TrackDrawer().draw([track], View(name, 0, 100_000, 400), 100_000)
    (summary, _), = drawing.rows[0].parts  # fmt: skip
    assert drawing.bin_bp == 500
    assert summary.mean.tolist() == [0] * 100 + [1] * 100
    assert (summary.minima is None) == np.isfinite(elsewhere)
    of_axis = (summary.minima, summary.maxima) if summary.minima is not None else ()
    for values in (summary.low, summary.high, *of_axis):
        assert values.tolist() == [0] * 100 + [1] * 100


def test_a_bin_before_the_end_of_a_view_keeps_its_whole_length():
    track = make_track("a", [1] * 2000)
    drawing = TrackDrawer().draw([track], View("c", 10_000, 80_000, 300), 200_000)
    (summary, _), = drawing.rows[0].parts  # fmt: skip
    assert (np.diff(summary.edges) == drawing.bin_bp).all()
    assert summary.edges[-1] >= drawing.bounds[1]


def test_boxes_without_names_stand_a_pixel_apart_in_a_row_of_names():
    found = Intervals.from_columns(
        ["c"] * 3, [100, 117, 121], [110, 120, 130], names=["a long name", "b", "c"]
    )
    packing = Packer().find(prepare(found, "bed").features, ("c", 0), View("c", 0, 500, 500), 24)
    assert packing.style.has_names
    assert packing.rows.tolist() == [0, 0, 0]
    assert packing.are_named.tolist() == [True, False, False]


def test_a_feature_is_found_under_the_pointer():
    genes = make_track("g", [1, 2, 3], "bed")
    drawing = draw([genes])
    top = int(drawing.rows[0].features.tops[1]) + 2
    card = feature_card(drawing, 120, top)
    assert card["bounds"] == [100, 150]
    assert card["lines"] == ["101 to 150 (50 bp)", "score 2"]
    assert feature_card(drawing, 175, top) is None
    assert feature_card(drawing, 120, drawing.height + 5) is None


def test_the_strip_above_has_a_height_for_each_part_of_the_contig():
    heights = overview_heights(make_track("a", [0, 0, 5, 0, 0, 0, 0, 0, 0, 0]), "c", LENGTH, 20)
    assert heights.tolist() == [0, 0, 255, 0, 0, 0, 0, 0, 0, 0]
    assert overview_heights(None, "c", LENGTH, 20).tolist() == [0]


@st.composite
def orders(draw_from):
    n = draw_from(st.integers(1, 6))
    tracks = [make_track(str(i), [1]) for i in range(n)]
    for track in tracks[1:]:
        track.look.is_overlay = draw_from(st.booleans())
    return tracks, draw_from(st.integers(0, n - 1)), draw_from(st.integers(0, n - 1))


def lanes_of(tracks):
    lanes = []
    for track in tracks:
        if lanes and track.look.is_overlay:
            lanes[-1].append(track)
        else:
            lanes.append([track])
    return lanes


@given(orders(), st.booleans())
def test_moving_a_track_leaves_the_lanes_of_the_others(order, is_over):
    tracks, source, target = order
    moved, other = tracks[source], tracks[target]
    partners = [t for lane in lanes_of(tracks) if moved in lane for t in lane if t is not moved]
    act = put_over if is_over else put_before
    before = list(tracks)
    act(tracks, moved, other)
    assert sorted(map(id, tracks)) == sorted(map(id, before))
    assert [t for t in tracks if t is not moved] == [t for t in before if t is not moved]
    if moved is other:
        return
    lane = next(lane for lane in lanes_of(tracks) if moved in lane)
    assert (other in lane) if is_over else (lane == [moved])
    if partners and other not in partners:
        shared = next(lane for lane in lanes_of(tracks) if partners[0] in lane)
        assert all(partner in shared for partner in partners)


class Tab:
    """A document that runs its callbacks when asked to."""

    def __init__(self):
        self.waiting = []

    def add_next_tick_callback(self, callback):
        self.waiting.append(callback)


def test_one_frame_is_in_flight_and_the_next_has_the_newest_view(session, monkeypatch):
    tab, sent = Tab(), []
    monkeypatch.setattr(
        "genoviz_app.parts.canvas_component.pn.state", type("S", (), {"curdoc": tab})
    )
    tracks = TrackList(session, lambda: None)
    tracks.tracks.append(make_track("a", [1, 2, 3]))
    browser = TrackBrowser(tracks)
    at_first = browser.canvas.place
    browser.clear()
    assert browser.canvas.place == at_first
    monkeypatch.setattr(browser.canvas, "_send_msg", sent.append)
    browser.look_at(PathRegion("c", 0, 500), LENGTH)

    def tell(kind, **rest):
        place = {"contig": "c", "width": 300, "moves": 1}
        browser.canvas._handle_msg({"kind": kind, **place, **rest})

    def run():
        poll_until(lambda: None, lambda: bool(tab.waiting))
        tab.waiting.pop()()

    def frames():
        return [message for message in sent if message["kind"] == "frame"]

    tell("hello", bounds=[0, 1])
    assert sent[0]["kind"] == "view"
    assert sent[0]["bounds"] == [0, 500]
    run()
    assert [frame["n"] for frame in frames()] == [1]
    for start in (10, 20, 30):
        tell("view", bounds=[start, start + 400])
    run()
    assert len(frames()) == 1, "the first is not painted yet"
    tell("painted", n=1)
    assert [frame["n"] for frame in frames()] == [1, 2]
    tell("painted", n=2)
    run()
    assert browser.drawing.view.start == 30
    assert browser.frames.n_painted == 2
    tell("view", bounds=[-50, 400])
    tell("view", bounds=[0, 400], contig="other")
    assert browser.shown == (30, 430), "what is not a place of the contig is not taken over"
