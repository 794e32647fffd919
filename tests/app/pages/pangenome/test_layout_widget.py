"""The widget of a notebook, by its traits and its messages: a kernel's loop, and no browser."""

from __future__ import annotations

import asyncio
import re
import sys
import time

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="needs genoviz[notebook]")

import genoviz_app
from genoviz.analyses.graph.picture.colours import MAX_INDEX
from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import GraphLayout, PathRegion
from genoviz.samples import get_sample
from genoviz_app import LayoutView, LayoutWidget
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from tests.app.conftest import poll_until
from tests.app.pages.pangenome.test_frames import Document, unpacked
from tests.waiting import LONGEST_PAUSE, PATIENCE, wait_until

SIZE = {"width": 400, "height": 300}
ENDS = np.array(
    [
        [[0, 0], [400, 0]],
        [[410, 50], [610, 50]],
        [[410, -50], [1010, -50]],
        [[1020, 0], [1120, 0]],
    ],
    np.float64,
)


class Cell:
    """A widget that is shown, and what its browser was sent and answers."""

    def __init__(self, *arguments, **options):
        self.widget = LayoutWidget(*arguments, **options)
        self.sent = []
        self.widget.send = self._take
        self.tell("hello", bounds=[0, 1, 0, 1], **SIZE, moves=0)

    def _take(self, content, buffers=None):
        self.sent.append({**content, "data": buffers[0]} if buffers else content)

    def tell(self, kind, **more):
        self.widget._handle_custom_msg({"kind": kind, **more}, [])

    @property
    def frames(self):
        return [message for message in self.sent if message["kind"] == "frame"]

    @property
    def image(self):
        return unpacked(self.frames[-1])["indices"]

    async def until(self, condition):
        """Let the kernel's loop go on, and paint all frames, until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the condition did not come about"
            await self.paint()

    async def paint(self):
        if self.frames:
            self.tell("painted", n=self.frames[-1]["n"])
        await asyncio.sleep(LONGEST_PAUSE)

    async def settle(self):
        """Paint until no frame has come for a while and two more have been asked for."""
        await self.until(lambda: self.frames)
        for _ in range(2):
            n = len(self.frames)
            self.widget._picture.refresh()
            await self.until(lambda n=n: len(self.frames) > n)


def run(coroutine):
    """Run a test's coroutine as a kernel runs what answers messages."""
    asyncio.run(asyncio.wait_for(coroutine, 2 * PATIENCE))


@pytest.fixture(autouse=True)
def _no_widget_is_left():
    yield
    LayoutWidget.close_all()


@pytest.fixture(scope="module")
def simulated():
    return read_gfa(get_sample("simulated"))


def test_the_widget_draws_what_the_page_draws(simulated):
    async def look():
        cell = Cell(simulated, place(simulated), colour_by="depth", backend="cpu")
        await cell.settle()
        page = LivePicture(cell.widget._run)
        page.choice = cell.widget._picture.choice
        sent = []
        page.pane._send_msg = sent.append
        page.frames.attach(Document())
        page.pane._handle_msg({"kind": "resize", "bounds": [0, 1, 0, 1], **SIZE, "moves": 0})

        def act():
            page.frames.request()
            page.frames.document.tick()
            page.pane._handle_msg({"kind": "painted", "n": page.frames._n_sent})

        wait_until(lambda: len(sent) > 2, act)
        ours, theirs = cell.frames[-1], sent[-1]
        assert ours["bounds"] == theirs["bounds"]
        np.testing.assert_array_equal(cell.image, unpacked(theirs)["indices"])
        assert len(np.unique(cell.image)) > 3
        await cell.until(lambda: "Depth" in cell.widget._legend)

    run(look())


def test_frames_come_while_the_layout_runs_and_it_can_be_held(simulated):
    async def look():
        cell = Cell(simulated, place(simulated), method="path_sgd", n_iterations=10**6)
        widget = cell.widget
        await cell.settle()
        n_frames, first = len(cell.frames), cell.image
        cell.tell("run")
        await cell.until(lambda: len(cell.frames) > n_frames + 3)
        assert widget.state == "running"
        cell.tell("run")  # the same button pauses
        await cell.until(lambda: widget.state == "paused")
        held = widget.graph_layout.coordinates.copy()
        await cell.settle()
        assert not np.array_equal(first, cell.image)
        np.testing.assert_array_equal(held, widget.graph_layout.coordinates)
        assert widget.wait() is True
        widget.run()
        assert widget.state == "running"
        cell.tell("stop")
        assert widget.state == "stopped"
        assert "path stress" in widget._numbers

    run(look())


def place(graph):
    """Return a layout of a graph: its nodes one after the other."""
    ends = np.concatenate([[0], np.cumsum(graph.node_lengths)]).astype(np.float64)
    x = np.stack([ends[:-1], ends[1:]], axis=1)
    return GraphLayout(np.stack([x, 0.1 * x], axis=2))


def test_a_small_graph_is_laid_out_at_once_and_can_be_waited_for(graph):
    widget = LayoutWidget(graph, backend="cpu")
    assert widget.wait(PATIENCE)
    assert widget.state == "finished"
    assert widget.graph_layout.coordinates.shape == (4, 2, 2)
    assert np.isfinite(widget.graph_layout.coordinates).all()


def test_what_is_picked_goes_both_ways(graph):
    async def look():
        cell = Cell(graph, GraphLayout(ENDS), backend="cpu")
        widget, told = cell.widget, []
        widget.observe(lambda change: told.append(change.new.tolist()), "selected")
        await cell.settle()
        cell.tell("click", x=500.0, y=50.0)
        assert widget.selected.tolist() == [1]
        cell.tell("select", bounds=[405.0, 1130.0, -60.0, 5.0])
        await cell.until(lambda: len(told) > 1)
        assert widget.selected.tolist() == [2, 3]
        await cell.settle()
        assert (cell.image == MAX_INDEX + 1).any()
        widget.selected = [0]
        await cell.settle()
        x_min, x_max, _, _ = cell.frames[-1]["bounds"]
        columns = np.flatnonzero((cell.image.reshape(300, 400) == MAX_INDEX + 1).any(axis=0))
        seen = x_min + (columns + 0.5) * (x_max - x_min) / 400
        assert -10 < seen.min() < 10
        assert 390 < seen.max() < 410
        cell.tell("escape")
        assert widget.selected.tolist() == []
        assert told == [[1], [2, 3], [0], []]
        widget.selected = np.array([], np.int64)
        assert len(told) == 4

    run(look())


def test_a_region_and_a_view_are_gone_to_and_told(graph):
    async def look():
        cell = Cell(graph, GraphLayout(ENDS), backend="cpu")
        widget = cell.widget
        await cell.settle()
        whole = widget.view
        widget.region = "alt:5-8"
        assert widget.region == PathRegion("alt", 5, 8)
        await cell.settle()
        steps = find_region_steps(graph, widget.region)
        assert steps.nodes.tolist() == [2]
        x_min, x_max, y_min, y_max = widget.view
        per_base = 600 / graph.node_lengths[2]  # along the node's line, from x 410 to 1010
        first, last = (410 + per_base * (place - steps.positions[0]) for place in (5, 8))
        assert first - 100 < x_min < first
        assert last < x_max < last + 100
        assert (y_min + y_max) / 2 == pytest.approx(-50)
        assert (cell.image == MAX_INDEX + 1).any()
        cell.tell("view", bounds=[0, 40, -15, 15], **SIZE, moves=1)
        assert widget.view == (0, 40, -15, 15)
        widget.view = (400, 440, -15, 15)
        await cell.settle()
        assert cell.frames[-1]["bounds"] == [400, 440, -15, 15]
        widget.region = None
        widget.fit()
        await cell.settle()
        assert widget.view == whole

    run(look())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("selected", [4], "selected has node 4, needs 0 to 3"),
        ("selected", [-1], "selected has node -1, needs 0 to 3"),
        ("selected", ["s1"], "needs numbers of nodes"),
        ("colour_by", "gc", "colour_by is 'gc', needs one of density, length"),
        ("region", "nowhere:1-2", "no path is named 'nowhere'"),
        ("region", 7, "region is 7, needs 'path:start-end'"),
        ("shape", "round", "shape is 'round', needs one of true"),
        ("height", 10, "height is 10 pixels, needs at least 160"),
        ("view", (1, 2), "view is (1, 2), needs x_min, x_max, y_min, y_max"),
        ("view", (2, 1, 0, 1), "needs x_min, x_max, y_min, y_max"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence_and_changes_nothing(graph, name, value, words):
    widget = LayoutWidget(graph, GraphLayout(ENDS))
    before = getattr(widget, name)
    with pytest.raises(ParameterError, match=re.escape(words)):
        setattr(widget, name, value)
    assert np.array_equal(before, getattr(widget, name))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (["graph.gfa"], {}, "graph is 'graph.gfa', needs a PangenomeGraph"),
        ([None], {"speed": 9}, "speed is no option of a layout; they are method"),
        ([None], {"quality": "best"}, "quality"),
        ([None, GraphLayout(ENDS)], {}, "the layout has 4 nodes, needs the 0 of the graph"),
    ],
)
def test_what_a_widget_cannot_be_made_of_is_said(arguments, options, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        LayoutWidget(*arguments, **options)


def test_a_failed_layout_is_said_in_the_widget_and_by_wait(graph, monkeypatch):
    widget = LayoutWidget(graph, GraphLayout(ENDS))
    poll_until(widget._run.poll, lambda: widget._run.history)

    def fail(*_arguments, **_options):
        raise ParameterError("eta is too large")
        yield

    monkeypatch.setattr("genoviz_app.session.layout_settings.iter_multilevel_layout", fail)
    widget.run()
    with pytest.raises(ParameterError, match="eta is too large"):
        widget.wait(PATIENCE)
    assert (widget.state, widget._numbers) == ("failed", "eta is too large.")


def test_nothing_is_asked_of_another_machine():
    assert set(re.findall(r"https?://|//cdn|\bimport\b", LayoutWidget._esm)) == set()
    assert LayoutWidget._esm.count("export ") == 1


def test_a_view_of_a_page_shows_itself_in_a_cell_as_the_widget_of_its_run(simulated):
    view = LayoutView(simulated)
    data = view._repr_mimebundle_()
    data = data[0] if isinstance(data, tuple) else data
    assert "application/vnd.jupyter.widget-view+json" in data
    assert view._widget.graph is simulated
    assert view._repr_mimebundle_() is not None


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    for name in ("layout_widget", "layout_traits"):
        monkeypatch.delitem(sys.modules, f"genoviz_app.pages.pangenome.{name}")
    with pytest.raises(ImportError, match=r"LayoutWidget needs anywidget.*genoviz\[app,notebook\]"):
        _ = genoviz_app.LayoutWidget
    (text,) = LayoutView()._repr_mimebundle_().values()
    assert "genoviz[app,notebook]" in text
