"""One frame in flight, the newest state drawn, and the person's own view left alone."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest
from bokeh.models import ColumnDataSource, LinearColorMapper
from bokeh.plotting import figure

from app.pages.pangenome import frames
from app.pages.pangenome.browser_figure import Frame
from app.pages.pangenome.frames import FrameLoop
from app.plots.palettes import ramp_palette
from genoviz.analyses.viewport import Viewport

PALETTE = ramp_palette(["#000000", "#ffffff"])
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
    """A frame loop on a figure, with the browser played by `paint`."""

    def __init__(self):
        self.drawn = []
        self.shown = []
        self.error = None
        self.news = False
        self.figure = figure(x_range=(0, 1), y_range=(0, 1))
        self.source = ColumnDataSource(data={"image": [None], "n": [0]})
        self.mapper = LinearColorMapper(palette=["#123456"])
        self.document = Document()
        self.loop = FrameLoop(self.draw, has_news=self.has_news, on_shown=self.shown.append)
        self.loop.attach(self.figure, self.source, self.mapper, self.document)
        self.client = self.loop._browser.client

    def draw(self, width, height, own_view):
        if self.error is not None:
            raise self.error
        self.drawn.append((width, height, own_view))
        view = own_view or EVERYTHING
        return Frame(np.full((height, width), len(self.drawn), np.uint8), view, PALETTE)

    def resize(self, width, height):
        self.client.data = {**self.client.data, "width": [width], "height": [height]}

    def paint(self):
        width, height = self.loop._browser.size
        n = self.source.data["n"][0]
        self.client.data = {"n": [n], "width": [width], "height": [height]}

    def has_news(self):
        has_news, self.news = self.news, False
        return has_news

    @property
    def n_sent(self):
        return self.source.data["n"][0]

    @property
    def image(self):
        return int(self.source.data["image"][0][0, 0])


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
    data = tab.source.data
    assert data["image"][0].dtype == np.uint8
    assert (data["x"], data["y"], data["dw"], data["dh"]) == ([0], [0], [100], [50])
    assert tuple(tab.mapper.palette) == PALETTE
    assert (tab.figure.x_range.start, tab.figure.x_range.end) == (0, 100)
    assert len(tab.shown) == 1


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
    monkeypatch.setattr(frames, "LOST_FRAME_SECONDS", -1.0)
    tab.loop.pump()
    assert tab.n_sent == 2


def test_zooming_keeps_the_view_while_the_layout_moves(tab):
    show_first_frame(tab)
    tab.figure.x_range.start = 40
    tab.figure.x_range.end = 60
    for _ in range(3):
        tab.document.tick()
        tab.paint()
        tab.loop.request()
    own = tab.drawn[-1][2]
    assert (own.x_min, own.x_max, own.y_min, own.y_max) == (40, 60, 0, 50)
    assert (tab.figure.x_range.start, tab.figure.x_range.end) == (40, 60)
    tab.loop.follow()
    tab.document.tick()
    assert (tab.figure.x_range.start, tab.figure.x_range.end) == (40, 60), "was on its way"
    tab.paint()
    tab.document.tick()
    assert tab.drawn[-1][2] is None
    assert (tab.figure.x_range.start, tab.figure.x_range.end) == (0, 100)


def test_the_own_view_keeps_its_scale_when_the_figure_is_resized(tab):
    show_first_frame(tab)
    tab.loop.show(Viewport(40, 60, 10, 20, 200, 100))
    tab.document.tick()
    tab.paint()
    tab.resize(400, 50)
    view = tab.loop.viewport
    assert view.bp_per_pixel == pytest.approx((0.1, 0.1))
    assert ((view.x_min + view.x_max) / 2, (view.y_min + view.y_max) / 2) == (50, 15)


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
