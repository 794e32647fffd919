"""At most two frames in flight, the newest state drawn, and the person's own view left alone."""

from __future__ import annotations

import zlib
from concurrent.futures import Future

import numpy as np
import pytest

from genoviz.analyses.graph.picture.palettes import ramp_palette
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.pages.pangenome.picture import frames
from genoviz_app.pages.pangenome.picture.frame import (
    Frame,
    Overview,
    PlacedLabels,
    Shapes,
    frame_message,
    palette_bytes,
)
from genoviz_app.pages.pangenome.picture.frames import PictureFrames
from genoviz_app.parts import canvas_component

PALETTE = ramp_palette(["#000000", "#ffffff"], ground="#010203", n_colours=255)
EVERYTHING = Viewport(0, 100, 0, 50, 200, 100)


class Document:
    """A Bokeh document of which only the callbacks count."""

    def __init__(self):
        self.waiting = []

    def add_next_tick_callback(self, callback):
        self.waiting.append(callback)

    def tick(self):
        waiting, self.waiting = self.waiting, []
        for callback in waiting:
            callback()


class Renderer:
    """Draws at once, or when told to."""

    def __init__(self):
        self.is_slow = False
        self.held = []

    def submit(self, draw, *arguments):
        future = Future()

        def finish():
            try:
                future.set_result(draw(*arguments))
            except ValueError as error:
                future.set_exception(error)

        if self.is_slow:
            self.held.append(finish)
        else:
            finish()
        return future


class Tab:
    """A frame loop, and its canvas as a browser would answer it."""

    def __init__(self):
        self.drawn = []
        self.shown = []
        self.sent = []
        self.error = None
        self.news = self.is_live = False
        self.n_moves = 0
        self.document = Document()
        self.moved = []
        self.loop = PictureFrames(
            self.draw,
            has_news=self.has_news,
            is_live=lambda: self.is_live,
            on_shown=self.shown.append,
            on_moved=lambda: self.moved.append(self.loop.viewport),
        )
        self.loop.view._send_msg = self.sent.append
        self.loop.attach(self.document)

    def draw(self, width, height, own_view):
        if self.error is not None:
            raise self.error
        self.drawn.append((width, height, own_view))
        view = own_view or EVERYTHING
        return Frame(np.full((height, width), len(self.drawn), np.uint8), view, PALETTE)

    def tell(self, kind, **more):
        self.loop.view._handle_msg({"kind": kind, **more})

    def resize(self, width, height, bounds=(0, 1, 0, 1)):
        self.tell("resize", bounds=list(bounds), width=width, height=height, moves=self.n_moves)

    def move(self, *bounds):
        self.n_moves += 1
        width, height = self.loop.view.size
        self.tell("view", bounds=list(bounds), width=width, height=height, moves=self.n_moves)

    def paint(self):
        self.tell("painted", n=self.n_sent)

    def has_news(self):
        has_news, self.news = self.news, False
        return has_news

    @property
    def frames(self):
        return [message for message in self.sent if message["kind"] == "frame"]

    @property
    def n_sent(self):
        return self.frames[-1]["n"] if self.frames else 0

    @property
    def image(self):
        return int(unpacked(self.frames[-1])["indices"][0])


def unpacked(message):
    """The arrays of a message, as the browser gets at them."""
    data = zlib.decompress(message["data"]) if message["is_packed"] else message["data"]
    arrays, start = {}, 0
    for name, kind, length in message["plan"]:
        arrays[name] = np.frombuffer(data, kind, length, start)
        start += arrays[name].nbytes
    assert start == len(data)
    return arrays


@pytest.fixture
def renderer(monkeypatch):
    renderer = Renderer()
    monkeypatch.setattr(frames, "RENDERER", renderer)
    return renderer


@pytest.fixture
def tab(renderer):
    return Tab()


def show_first_frame(tab):
    tab.resize(200, 100)
    tab.document.tick()
    tab.paint()


def test_nothing_is_drawn_before_the_browser_tells_its_size(tab):
    tab.loop.request()
    assert tab.drawn == []
    tab.resize(200, 100)
    assert tab.drawn == [(200, 100, None)]


def test_a_frame_carries_its_picture_its_place_and_its_colours(tab):
    show_first_frame(tab)
    frame = tab.frames[-1]
    assert (frame["bounds"], frame["width"], frame["height"]) == ([0, 100, 0, 50], 200, 100)
    arrays = unpacked(frame)
    assert (arrays["indices"] == np.ones(20_000, np.uint8)).all()
    assert (arrays["palette"].reshape(-1, 4) == palette_bytes(PALETTE)).all()
    assert frame["follows"]
    assert tab.loop.viewport == EVERYTHING
    assert len(tab.shown) == 1


def test_colours_are_sent_when_they_change_and_to_a_browser_that_shows_the_page_anew(tab):
    show_first_frame(tab)
    tab.loop.request()
    tab.document.tick()
    tab.paint()
    assert [name for name, _, _ in tab.frames[-1]["plan"]] == ["indices"]
    tab.loop.attach(tab.document)
    tab.document.tick()
    assert "palette" in unpacked(tab.frames[-1])


def test_shapes_labels_and_the_small_map_travel_with_the_picture():
    shapes = Shapes(
        np.arange(8, dtype=np.float32).reshape(2, 2, 2),
        np.array([3, 4], np.uint8),
        np.ones((1, 4, 2), np.float32),
        np.array([0, 2, 2], np.int32),
        np.frombuffer(b"AC", np.uint8),
        np.zeros((2, 2, 2), np.float32),
        ("a", "b"),
    )
    small = Viewport(0, 100, 0, 50, 20, 10)
    frame = Frame(
        np.zeros((100, 200), np.uint8),
        EVERYTHING,
        PALETTE,
        shapes=shapes,
        labels=PlacedLabels((("gene", "#ff0000", 3),), np.array([[1, 2]], np.float32)),
        overview=Overview(np.full((10, 20), 7, np.uint8), small),
    )
    message = frame_message(frame, with_palette=False)
    arrays = unpacked(message)
    assert arrays["node_ends"].tolist() == list(range(8))
    assert arrays["base_letters"].tobytes() == b"AC"
    assert arrays["base_offsets"].tolist() == [0, 2, 2]
    assert (message["names"], message["labels"]) == (["a", "b"], [["gene", "#ff0000", 3]])
    assert arrays["label_places"].tolist() == [1, 2]
    assert (message["map_size"], arrays["map"][0]) == ([20, 10], 7)
    assert message["map_bounds"] == [0, 100, 0, 50]


def test_colours_become_bytes():
    rgba = palette_bytes(("#0b1018", "#ff8000"))
    assert rgba.tolist() == [[11, 16, 24, 255], [255, 128, 0, 255]]


def test_the_next_frame_is_drawn_meanwhile_and_sent_when_this_one_is_painted(tab):
    tab.resize(200, 100)
    tab.document.tick()
    for _ in range(5):
        tab.loop.request()
        tab.document.tick()
    assert (len(tab.drawn), tab.n_sent) == (2, 1), "one shown, one ready, none queued behind"
    tab.paint()
    assert tab.n_sent == 2
    tab.document.tick()
    tab.paint()
    tab.document.tick()
    tab.paint()
    assert (len(tab.drawn), tab.n_sent) == (3, 3), "what was wanted last is drawn last"
    tab.document.tick()
    assert tab.n_sent == 3, "nothing has changed, so nothing is sent"
    assert tab.loop.n_painted == 3


def test_while_the_layout_moves_a_frame_is_sent_ahead(tab):
    show_first_frame(tab)
    tab.is_live = True
    for _ in range(5):
        tab.loop.request()
        tab.document.tick()
    assert (len(tab.drawn), tab.n_sent) == (4, 3), "two on their way, one ready"
    tab.tell("painted", n=2)
    assert tab.n_sent == 4, "the older one was painted, so there is room"
    tab.document.tick()
    tab.tell("painted", n=4)
    assert tab.n_sent == 5, "the browser left out the third"
    assert tab.loop.n_painted == 3
    tab.is_live = False
    for _ in range(3):
        tab.loop.request()
        tab.document.tick()
    assert tab.n_sent == 5
    tab.tell("painted", n=3)
    assert tab.n_sent == 5, "an old answer changes nothing"


def test_news_is_drawn_without_being_asked_for(tab):
    show_first_frame(tab)
    tab.news = True
    tab.loop.pump()
    assert len(tab.drawn) == 2
    tab.document.tick()
    tab.paint()
    assert tab.image == 2


def test_a_request_while_a_frame_is_drawn_brings_another(tab, renderer):
    show_first_frame(tab)
    renderer.is_slow = True
    tab.loop.request()
    tab.loop.request()
    assert len(renderer.held) == 1
    renderer.held.pop()()
    tab.document.tick()
    tab.paint()
    assert len(renderer.held) == 1


def test_a_frame_that_the_browser_never_paints_is_given_up(tab, monkeypatch):
    tab.resize(200, 100)
    tab.document.tick()
    tab.loop.request()
    tab.document.tick()
    assert tab.n_sent == 1
    monkeypatch.setattr(canvas_component, "LOST_FRAME_SECONDS", -1.0)
    tab.loop.pump()
    assert tab.n_sent == 2


def test_zooming_keeps_the_view_while_the_layout_moves(tab):
    show_first_frame(tab)
    tab.move(40, 60, 0, 50)
    assert tab.moved[-1] == Viewport(40, 60, 0, 50, 200, 100)
    for _ in range(3):
        tab.document.tick()
        tab.paint()
        tab.loop.request()
    own = tab.drawn[-1][2]
    assert (own.x_min, own.x_max, own.y_min, own.y_max) == (40, 60, 0, 50)
    assert tab.loop.viewport == own
    assert not tab.frames[-1]["follows"]
    tab.loop.follow()
    tab.document.tick()
    assert tab.loop.viewport == own, "one was on its way"
    tab.paint()
    tab.document.tick()
    assert tab.drawn[-1][2] is None
    assert tab.frames[-1]["follows"]
    assert tab.loop.viewport == EVERYTHING


def test_a_fitted_frame_does_not_move_a_person_who_has_moved_meanwhile(tab):
    show_first_frame(tab)
    tab.loop.request()
    tab.move(40, 60, 0, 50)
    tab.document.tick()
    assert not tab.frames[-1]["follows"]
    assert tab.loop.viewport == Viewport(40, 60, 0, 50, 200, 100)


def test_the_browser_learns_how_many_moves_were_known_when_it_is_told_to_move(tab):
    show_first_frame(tab)
    tab.move(40, 60, 0, 50)
    tab.loop.show(Viewport(0, 10, 0, 5, 200, 100))
    told = [message for message in tab.sent if message["kind"] == "view"]
    assert (told[-1]["bounds"], told[-1]["moves"]) == ([0, 10, 0, 5], 1)
    assert tab.loop.viewport == Viewport(0, 10, 0, 5, 200, 100)


def test_a_view_that_is_none_is_not_taken(tab):
    show_first_frame(tab)
    n_moved = len(tab.moved)
    tab.move(60, 60, 0, 50)
    tab.move(float("nan"), 60, 0, 50)
    assert tab.loop.viewport == EVERYTHING
    assert len(tab.moved) == n_moved


def test_another_size_brings_a_frame_of_this_size(tab):
    show_first_frame(tab)
    tab.resize(400, 50, bounds=(0, 200, 12.5, 37.5))
    tab.document.tick()
    assert tab.drawn[-1] == (400, 50, None)


def test_a_frame_that_fails_is_logged_and_the_next_is_drawn(tab, caplog):
    show_first_frame(tab)
    tab.error = ValueError("no picture")
    tab.loop.request()
    tab.document.tick()
    assert "no picture" in caplog.text
    tab.error = None
    tab.loop.request()
    tab.document.tick()
    assert tab.image == 2


def test_after_the_tab_is_closed_nothing_is_sent(tab, renderer):
    show_first_frame(tab)
    renderer.is_slow = True
    tab.loop.request()
    tab.loop.detach()
    renderer.held.pop()()
    tab.document.tick()
    assert tab.image == 1
    tab.loop.request()
    assert renderer.held == []
