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


@pytest.fixture(scope="module")
def view():
    view = LayoutView(read_gfa(get_sample("simulated")))
    poll_until(view.poll, lambda: view.run.snapshot is not None)
    view.picture.frames.view[()]
    return view


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
    picture.frames.view[()]
    near = downloads._figure(".svg").decode()
    assert near.count("M") < whole.count("M")
    downloads.ground.value = LIGHT_GROUND
    picture.fit()
    picture.frames.view[()]
    assert f'fill="{LIGHT.ink}"/>' in downloads._figure(".svg").decode()
    picture.set_mark("found", None)
    picture.set_labels("found", [])


def test_nothing_is_offered_before_there_is_a_layout(session):
    view = LayoutView()
    downloads = Downloads(session, view.run, view.picture, get_name=str)
    assert downloads.exports.disabled
