"""The picture without a browser: what it draws, marks, names, finds and follows."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest

from genoviz.analyses.graph.picture.colouring import ColourChoice, make_colouring
from genoviz.analyses.graph.picture.colours import MAX_INDEX
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.model import ByteStrings, GraphLayout, PangenomeGraph
from genoviz_app.pages.pangenome.picture import frames, live_picture
from genoviz_app.pages.pangenome.picture.fitting import Shape
from genoviz_app.pages.pangenome.picture.frame_maker import RESTING_SECONDS
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.pages.pangenome.picture.marks import Mark, NodeLabel
from genoviz_app.pages.pangenome.picture.shapes import NodeParts
from genoviz_app.server.jobs import JobPool
from genoviz_app.session.layout_run import LayoutRun
from genoviz_app.session.layout_settings import LayoutSettings
from tests.app.conftest import poll_until
from tests.app.pages.pangenome.test_frames import Document, Renderer, unpacked

WIDTH, HEIGHT = 400, 300
ENDS = np.array(
    [
        [[0, 0], [400, 0]],
        [[410, 50], [610, 50]],
        [[410, -50], [1010, -50]],
        [[1020, 0], [1120, 0]],
    ],
    np.float64,
)


@pytest.fixture
def graph():
    """a (400 bp), then b (200) or c (600), then d (100)."""
    bases = ["ACGT" * 100, "AC" * 100, "GGGTTT" * 100, "A" * 100]
    return PangenomeGraph(
        node_names=ByteStrings.from_texts(["a", "b", "c", "d"]),
        node_lengths=np.array([400, 200, 600, 100]),
        edges=np.array([[0, 2], [0, 4], [2, 6], [4, 6]], np.uint32),
        path_names=("ref",),
        path_offsets=np.array([0, 3]),
        steps=np.array([0, 2, 6], np.uint32),
        node_sequences=ByteStrings.from_texts(bases),
    )


class Tab:
    """A picture of a layout that rests, and what its browser would be sent."""

    def __init__(self, run):
        self.run, self.sent, self.document = run, [], Document()
        self.picture = LivePicture(run)
        self.picture.pane._send_msg = self.sent.append
        self.picture.frames.attach(self.document)
        self.tell("resize", bounds=[0, 1, 0, 1], width=WIDTH, height=HEIGHT, moves=0)
        self.load(ENDS)

    def load(self, ends):
        """Show a layout that rests."""
        self.run.load(GraphLayout(ends))
        poll_until(self.run.poll, lambda: is_shown(self.run, ends))
        self.settle()

    def tell(self, kind, **more):
        self.picture.pane._handle_msg({"kind": kind, **more})

    def settle(self):
        """Draw and paint until nothing is new."""
        n_frames = -1
        while n_frames != len(self.frames):
            n_frames = len(self.frames)
            self.picture.poll()
            self.document.tick()
            if self.frames:
                self.tell("painted", n=self.frames[-1]["n"])
            self.document.tick()

    @property
    def frames(self):
        return [message for message in self.sent if message["kind"] == "frame"]

    @property
    def arrays(self):
        return unpacked(self.frames[-1])


def is_shown(run, ends):
    """Whether a run has taken over these ends and is done with them."""
    return run.snapshot is not None and (run.snapshot.coordinates == ends).all() and run.history


@pytest.fixture
def tab(graph, monkeypatch):
    renderer = Renderer()
    monkeypatch.setattr(frames, "RENDERER", renderer)
    monkeypatch.setattr(live_picture, "RENDERER", renderer)
    thread = JobPool("test-picture")
    run = LayoutRun(LayoutSettings(backend="cpu"), thread.submit)
    run.set_graph(graph)
    poll_until(run.poll, lambda: run.snapshot is not None)
    yield Tab(run)
    thread.close()


def test_everything_is_in_view_with_edges_names_and_the_nodes_colours(tab):
    view, arrays = tab.picture.viewport, tab.arrays
    assert view.x_min < 0 < 1120 < view.x_max
    corner = np.array([view.x_min, view.y_min])
    ends = arrays["node_ends"].reshape(-1, 2, 2) + corner
    assert ends == pytest.approx(ENDS, abs=1e-3)
    assert tab.frames[-1]["names"] == ["a", "b", "c", "d"]
    assert len(arrays["edges"]) == 4 * 8
    assert tab.frames[-1]["shows_map"] is False


def test_near_by_the_bases_stand_where_they_are_on_the_node(tab):
    tab.picture.show(Viewport(470, 510, 35, 65, WIDTH, HEIGHT))
    tab.settle()
    arrays = tab.arrays
    letters = arrays["base_letters"].tobytes().decode()
    x, y, x_step, y_step = arrays["base_lines"]
    first = round(470 + x - 410.5)  # b begins at 410, and its first base is centred half a bp on
    assert letters == ("AC" * 100)[first : first + len(letters)]
    assert len(letters) in (40, 41)
    assert (35 + y, x_step, y_step) == pytest.approx((50, 1, 0))
    assert tab.frames[-1]["shows_map"] is True
    assert any("map" in unpacked(frame) for frame in tab.frames)


def test_far_out_positions_keep_their_tenths_of_a_base(tab):
    shift = 3e9
    tab.load(ENDS + np.array([shift, 0]))
    tab.picture.show(Viewport(shift + 480, shift + 520, 35, 65, WIDTH, HEIGHT))
    tab.settle()
    starts = tab.arrays["base_lines"][0]
    assert starts % 1 == pytest.approx(0.5, abs=1e-3)


def test_marks_are_drawn_in_their_own_colour_and_go_again(tab):
    tab.picture.set_mark("found", Mark(np.array([1]), "#ff0080"))
    tab.settle()
    arrays = tab.arrays
    assert (arrays["indices"] == MAX_INDEX + 1).sum() > 30
    assert arrays["palette"].reshape(-1, 4)[MAX_INDEX + 1].tolist() == [255, 0, 128, 255]
    assert arrays["node_colours"][1] == MAX_INDEX + 1
    assert (arrays["node_colours"][[0, 2, 3]] <= MAX_INDEX).all()
    tab.picture.set_mark("found", None)
    tab.settle()
    assert (tab.arrays["indices"] <= MAX_INDEX).all()


def test_labels_stand_at_the_seen_part_of_their_node(tab):
    labels, clicked = [NodeLabel(2, "GENE", "#00ff00", key=7), NodeLabel(0, "far")], []
    tab.picture.set_labels("genes", labels)
    tab.picture.on_label(clicked.append)
    tab.picture.show(Viewport(900, 1000, -90, -15, WIDTH, HEIGHT))
    tab.settle()
    assert tab.frames[-1]["labels"] == [["GENE", "#00ff00", 7]]
    tab.tell("label", key=7)
    assert clicked == [7]
    assert tab.arrays["label_places"] == pytest.approx([50, 40])
    tab.run.reset()
    poll_until(tab.run.poll, lambda: tab.run.snapshot is not None)
    tab.picture.fit()
    tab.settle()
    assert tab.frames[-1]["labels"] == []


def test_hidden_nodes_are_neither_drawn_nor_found(tab):
    tab.picture.draw_only(np.array([0, 1]))
    tab.settle()
    assert tab.frames[-1]["names"] == ["a", "b"]
    assert tab.picture.node_at(700, -50) == -1
    tab.picture.draw_only(None)
    tab.settle()
    assert tab.picture.node_at(700, -50) == 2


@pytest.mark.parametrize("shape", list(Shape))
def test_a_click_is_told_with_the_node_that_is_seen_there(tab, shape):
    tab.picture.fitting.wish = shape
    tab.picture.fit()
    tab.settle()
    clicked = []
    tab.picture.on_click(clicked.append)
    fold = tab.picture.fold
    point = (700.0, -50.0) if fold is None else fold.to_plane(np.array([700.0, -50.0]))
    tab.tell("click", x=float(point[0]), y=float(point[1]))
    tab.tell("click", x=float(point[0]), y=tab.picture.viewport.y_max + 1e6)
    assert clicked == [2]


def test_the_nodes_of_a_box_are_told_and_escape_tells_of_none(tab):
    selected = []
    tab.picture.on_select(lambda nodes: selected.append(nodes.tolist()))
    tab.tell("select", bounds=[300, 500, -60, 10])
    tab.document.tick()
    tab.tell("select", bounds=[5, 5, 5, 5])
    tab.tell("escape")
    assert selected == [[0, 2], []]


def test_hovering_names_the_node_and_goes_on_when_the_layout_moves(tab):
    tab.tell("point", x=500.0, y=50.0)
    hover = tab.sent[-1]["hover"]
    assert hover["text"] == "Node b\n200 bp\nDepth 1 step"
    assert hover["lines"] == [[410, 50, 610, 50]]
    tab.load(ENDS + np.array([10, 0]))
    assert tab.frames[-1]["hover"] == hover | {"lines": [[420, 50, 620, 50]]}
    tab.load(ENDS + np.array([0, 1000]))
    assert tab.frames[-1]["hover"] is None


def test_stress_is_that_of_the_layout_which_is_shown(tab):
    tab.picture.choice = ColourChoice("stress")
    for move in (0, 30, 300):
        ends = ENDS.copy()
        ends[1] += [0, move]
        tab.load(ends)
        colouring = make_colouring(tab.run.graph, tab.picture.choice, layout=GraphLayout(ends))
        poll_until(tab.settle, partial(_has_values, tab.picture, colouring.node_values))


def _has_values(picture, expected):
    values = picture.shown.colouring.node_values
    return values is not None and np.array_equal(values, expected, equal_nan=True)


def test_a_view_of_nodes_follows_them_until_the_person_moves(tab):
    tab.picture.look_at_nodes(np.array([1]))
    tab.settle()
    view = tab.picture.viewport
    assert view.x_min < 410 < 610 < view.x_max
    assert view.x_max - view.x_min < 500
    tab.load(ENDS + np.array([5000, 0]))
    assert tab.picture.viewport.x_min > 5000
    tab.tell("view", bounds=[0, 400, 0, 300], width=WIDTH, height=HEIGHT, moves=1)
    tab.load(ENDS)
    assert tab.picture.viewport == Viewport(0, 400, 0, 300, WIDTH, HEIGHT)


def test_a_view_of_a_part_of_a_node_shows_its_letters(tab):
    tab.picture.look_at(NodeParts(np.array([2]), np.array([[0.5, 0.5 + 50 / 600]])))
    tab.settle()
    view = tab.picture.viewport
    assert view.x_min < 710 < 760 < view.x_max
    pixels_per_base = WIDTH / (view.x_max - view.x_min)
    assert pixels_per_base > 6  # as detail.js needs them
    assert len(tab.arrays["base_letters"]) >= 50


def test_a_very_short_node_is_seen_with_what_is_around_it(tab):
    tab.load(ENDS / 1000)
    tab.picture.look_at_nodes(np.array([3]))
    tab.settle()
    assert tab.picture.viewport.x_max - tab.picture.viewport.x_min > 50


def test_every_move_is_told_with_the_view_and_its_nodes(tab):
    views = []
    tab.picture.on_view(lambda: views.append(tab.picture.viewport))
    tab.tell("view", bounds=[1015, 1115, -40, 35], width=WIDTH, height=HEIGHT, moves=1)
    assert views == [Viewport(1015, 1115, -40, 35, WIDTH, HEIGHT)]
    assert tab.picture.visible_nodes(10).tolist() == [3]
    tab.tell("fit", moves=2)
    tab.settle()
    assert tab.picture.visible_nodes(10).tolist() == [0, 1, 2, 3]
    assert len(views) > 1


def test_a_dragged_picture_is_drawn_anew_once_the_hand_rests(tab):
    """The first frame moves the last picture; the one after it is that of a new drawing."""
    view = Viewport(300, 700, -100, 200, WIDTH, HEIGHT)
    tab.picture.show(view)
    tab.settle()
    for dx in (0.25, 0.1):
        view = view.panned(dx, 0.05)
        bounds = [view.x_min, view.x_max, view.y_min, view.y_max]
        tab.tell("view", bounds=bounds, width=WIDTH, height=HEIGHT, moves=1)
        tab.settle()
        assert tab.picture.is_moved
    poll_until(tab.settle, lambda: not tab.picture.is_moved)
    options = {**tab.picture.shown.colouring.options, "line_width": None}
    anew = LayoutDrawing(ENDS, backend="cpu").draw(view, **options)
    np.testing.assert_array_equal(tab.arrays["indices"].reshape(HEIGHT, WIDTH), anew.indices)
    n_frames = len(tab.frames)
    time.sleep(2 * RESTING_SECONDS)
    tab.settle()
    assert len(tab.frames) == n_frames


def test_another_colour_brings_another_frame(tab):
    n_frames = len(tab.frames)
    tab.picture.choice = ColourChoice("depth")
    tab.picture.refresh()
    tab.settle()
    assert len(tab.frames) > n_frames
    colours = tab.arrays["node_colours"]
    assert colours[2] != colours[1], "c lies on no path"


def test_a_button_leads_back_where_no_node_is_in_sight(tab):
    assert not tab.frames[-1]["is_lost"]
    tab.picture.show(Viewport(5000, 5400, 0, 300, WIDTH, HEIGHT))
    tab.settle()
    assert tab.frames[-1]["is_lost"]
    tab.tell("fit", moves=0)
    tab.settle()
    assert not tab.frames[-1]["is_lost"]
    assert tab.picture.viewport.x_min < 0 < 1120 < tab.picture.viewport.x_max


def test_another_graph_takes_marks_and_the_last_picture_away(tab):
    tab.picture.set_mark("found", Mark(np.array([1]), "#ff0080"))
    tab.run.set_graph(None)
    tab.picture.poll()
    assert tab.picture.notes.marks == ()
    assert tab.picture.shown is None
    assert "Open a graph" in tab.picture.pane.hint
    assert tab.picture.visible_nodes(10).size == 0
    assert tab.picture.node_at(0, 0) == -1
