"""The drawing of a path: what it shows of stretches, clicks on boxes, and drawn stretches."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.document.events import ModelChangedEvent
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.query.path_profile import PathProfile
from genoviz_app.plots.annotation_rows import AnnotationBoxes
from genoviz_app.plots.path_track import PathTrack, TrackContent
from genoviz_app.plots.track_figure import Places, depth_data, view_data
from genoviz_app.server.setup import prepare_server
from tests.graphs import make_graph


@pytest.fixture
def track():
    """A path of 10,000 bp in 100 steps on a drawing of 500 x 150 pixels, with two boxes."""
    graph = make_graph([100] * 100, [list(range(1, 101)), list(range(40, 60))])
    boxes = AnnotationBoxes(
        np.array([1000, 5000]),
        np.array([1010, 9000]),
        ("a long name", "b"),
        ("#fff",) * 2,
        ("",) * 2,
    )
    track = PathTrack()
    track.size = (500, 150)
    track.show(TrackContent(PathProfile.of(graph, 0), boxes, "chr6", 30_000))
    track.flush()
    return track


def test_both_axes_show_the_same_stretch(track):
    track.look_at(2000, 3000)
    track.flush()
    x_range, contig = track.figure.x_range, track.figure.extra_x_ranges["contig"]
    assert (x_range.start, x_range.end, x_range.bounds) == (2000, 3000, (0, 10_000))
    assert (contig.start, contig.end) == (32_000, 33_000)
    assert track._contig_axis.visible
    assert track.figure.yaxis[0].major_label_overrides[150] == "chr6 bp"


def test_depth_is_drawn_as_steps_between_strand_and_top(track):
    curve = track._sources["curve"].data
    assert (np.diff(curve["x"]) >= 0).all()
    deep = (curve["x"] > 3900) & (curve["x"] < 5900)
    heights = curve["mean"] - curve["base"]
    assert heights[deep] == pytest.approx(2 * heights[0])
    assert curve["high"].max() < 150


def test_a_click_meets_a_box_by_its_name_too_and_else_the_path(track):
    boxes, places, positions = track._sources["boxes"].data, [], []
    track.on_box, track.on_click = places.append, positions.append
    for index in range(2):
        y = (boxes["top"][index] + boxes["bottom"][index]) / 2
        track._on_tap(SimpleNamespace(x=boxes["left"][index] + 8, y=y))
    y = boxes["top"][list(boxes["name"]).index("a long name")] - 2
    track._on_tap(SimpleNamespace(x=1900, y=y))
    track._on_tap(SimpleNamespace(x=4000, y=140))
    assert sorted(places) == [0, 0, 1]
    assert positions == [4000]


def test_only_a_finished_stretch_is_taken_from_left_to_right(track):
    drawn = []
    track.on_select = lambda start, end: drawn.append((start, end))
    rectangle = {"type": "rect", "x0": 700.0, "x1": 300.0}
    track._on_selection(SimpleNamespace(final=False, geometry=rectangle))
    track._on_selection(SimpleNamespace(final=True, geometry={"type": "span"}))
    track._on_selection(SimpleNamespace(final=True, geometry=rectangle))
    assert drawn == [(300, 700)]


def test_stretches_that_a_pixel_parts_are_drawn_as_one():
    stretches = np.array([[0, 50], [60, 100], [300, 301], [900, 950]])
    places = Places.in_height(150, 0)
    data = view_data(stretches, places, (40, 840), 40)
    assert (data["left"].tolist(), data["right"].tolist()) == ([0, 300], [100, 301])
    assert len(view_data(stretches[:0], places, (0, 1), 40)["left"]) == 0


def test_positions_of_a_bin_count_from_1():
    profile = PathProfile.of(make_graph([4, 3, 6], [[1, 2, 3]]), 0)
    for view, expected in (((0, 13), [(1, 4), (5, 7), (8, 13)]), ((2.5, 5), [(3, 4), (5, 5)])):
        data = depth_data(profile.bins(*view, n_bins=9), Places.in_height(150, 0))
        assert list(zip(data["first"], data["last"], strict=True)) == expected


def test_without_a_path_nothing_is_drawn(track):
    assert not PathTrack()._contig_axis.visible
    assert track._contig_axis.visible
    track.show(None)
    track.flush()
    assert not track._contig_axis.visible
    assert all(not len(column) for s in track._sources.values() for column in s.data.values())


def test_ticks_of_few_bases_are_whole_ones(track):
    assert [axis.ticker.min_interval for axis in track.figure.xaxis] == [1, 1]


class BrowserRange:
    """A range as BokehJS has it: its ends stay within the bounds that it has when they come."""

    def __init__(self, x_range):
        self.bounds, self.min_interval = x_range.bounds, x_range.min_interval
        self.start, self.end = x_range.start, x_range.end

    def take(self, event):
        if event.attr in ("start", "end"):
            low, high = self.bounds or (-np.inf, np.inf)
            setattr(self, event.attr, min(max(event.new, low), high))
        else:
            setattr(self, event.attr, event.new)
        if event.attr == "min_interval" and self.end - self.start < (self.min_interval or 0):
            raise AssertionError("the browser moves the range by itself, to have it long enough")


moves = st.sampled_from(["show long", "show short", "show nothing", "look", "flush", "send"])


@given(st.lists(moves, max_size=30))
def test_a_browser_draws_the_stretch_that_is_said_however_changes_are_held(steps):
    prepare_server()
    contents = {}
    for name, n_nodes in (("show long", 100), ("show short", 3)):
        profile = PathProfile.of(make_graph([100] * n_nodes, [list(range(1, n_nodes + 1))]), 0)
        contents[name] = TrackContent(profile)
    track, document = PathTrack(), Document()
    document.add_root(track.figure)
    x_range = track.figure.x_range
    browser = BrowserRange(x_range)

    def tell(event):
        if isinstance(event, ModelChangedEvent) and event.model is x_range:
            browser.take(event)

    document.on_change(tell)
    document.hold("combine")
    for step in [*steps, "flush", "send"]:
        if step.startswith("show"):
            track.show(contents.get(step))
        elif step == "look" and track.content is not None:
            length = track.content.profile.length
            track.look_at(0.2 * length, 0.5 * length)
        elif step == "flush":
            track.flush()
        elif step == "send":
            document.unhold()
            assert (browser.start, browser.end) == (x_range.start, x_range.end)
            assert (browser.bounds, browser.min_interval) == (x_range.bounds, x_range.min_interval)
            document.hold("combine")
