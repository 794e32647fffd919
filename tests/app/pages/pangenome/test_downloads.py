"""What is saved is what is seen: the present view, in each format and on each ground."""

from __future__ import annotations

import io

import numpy as np
import pytest

from genoviz.analyses.graph.picture.palettes import LIGHT, parse_colour
from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from genoviz_app.pages.pangenome.downloads import LIGHT_GROUND, NO_GROUND, Downloads
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.marks import Mark, NodeLabel
from tests.app.conftest import poll_until
from tests.app.pages.pangenome.test_frames import Document
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def view():
    view = LayoutView(read_gfa(get_sample("simulated")))
    poll_until(view.poll, lambda: view.run.snapshot is not None)
    view.picture.pane._send_msg = lambda _message: None
    view.picture.frames.attach(Document())
    size = {"width": 700, "height": 480}
    view.picture.pane._handle_msg({"kind": "resize", "bounds": [0, 1, 0, 1], **size, "moves": 0})
    paint(view)
    return view


def paint(view):
    """Draw anew, and answer as a browser that has painted it."""
    frames = view.picture.frames
    goal = frames.n_painted + 2  # the first may have been on its way

    def act():
        frames.request()
        frames.document.tick()
        view.picture.pane._handle_msg({"kind": "painted", "n": frames._n_sent})

    wait_until(lambda: frames.n_painted >= goal, act)


@pytest.fixture
def downloads(session, view):
    downloads = Downloads(session, view.run, view.picture, get_name=lambda: "my graph.gfa.gz")
    downloads.size.value = (1200, 96.0)
    return downloads


@pytest.mark.parametrize(
    ("ending", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF"), (".html", b"<!doctype")],
)
def test_each_format_is_made(downloads, ending, start, tmp_path):
    assert not downloads.exports.disabled
    label = f"The present view ({ending[1:].upper()})"
    name, write = downloads.exports.files[label]()
    write(tmp_path / name)
    assert name == f"my_graph{ending}"
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_has_the_size_and_the_ground_asked_for(downloads):
    from PIL import Image

    downloads.ground.value = LIGHT_GROUND
    image = Image.open(io.BytesIO(downloads._figure(".png")))
    assert image.width == 1200
    assert image.getpixel((1, 1)) == parse_colour(LIGHT.ground)
    downloads.ground.value = NO_GROUND
    assert Image.open(io.BytesIO(downloads._figure(".png"))).getpixel((1, 1))[3] == 0


def test_the_present_view_is_shown_with_its_marks_and_labels(downloads, view):
    picture = view.picture
    picture.set_mark("found", Mark(np.array([5]), "#ffffff", "found"))
    picture.set_labels("found", [NodeLabel(5, "here")])
    whole = downloads._figure(".svg").decode()
    assert ">here<" in whole
    assert ">found<" in whole
    picture.zoom(8)
    paint(view)
    near = downloads._figure(".svg").decode()
    assert near.count("M") < whole.count("M")
    downloads.ground.value = LIGHT_GROUND
    picture.fit()
    paint(view)
    assert f'fill="{LIGHT.ink}"/>' in downloads._figure(".svg").decode()
    picture.set_mark("found", None)
    picture.set_labels("found", [])


def test_nothing_is_offered_before_there_is_a_layout(session):
    view = LayoutView()
    downloads = Downloads(session, view.run, view.picture, get_name=str)
    assert downloads.exports.disabled
