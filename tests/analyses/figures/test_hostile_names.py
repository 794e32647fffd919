"""A figure that is saved shows hostile names as they are, and runs nothing of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from genoviz.analyses.figures import (
    FeaturePanel,
    figure_bytes,
    make_track_figure,
    track_figure_bytes,
)
from genoviz.analyses.figures.parts import Text
from tests.analyses.figures.test_figures import make
from tests.graphs import make_graph

HOSTILE = (
    "<img src=x onerror=hit()>",
    "<script>hit()</script>",
    "</title></script><svg onload=hit()>",
    "<!--<script>",
    '" onload="hit()',
    "' onload='hit()",
    "]]><script>hit()</script>",
    "&lt;script&gt;",
    "@DATA@",
    "@LEGEND@",
    "a\x00b\x08c\x1b[31m\ufffe",
)
SHOWN = {name: re.sub("[\x00-\x08\x1b\ufffe]", "\ufffd", name) for name in HOSTILE}
EVIL = {"script", "foreignobject", "iframe", "object", "embed", "a", "use", "animate", "set"}


def texts_of(svg):
    """Return the words of an SVG that holds nothing but shapes and words."""
    root = ElementTree.fromstring(svg)
    for part in root.iter():
        assert part.tag.rpartition("}")[2].lower() not in EVIL
        for name, value in part.attrib.items():
            assert not name.lower().startswith("on")
            assert "javascript:" not in value
            assert not name.endswith("href") or value.startswith("data:image/png;base64,")
    return {part.text for part in root.iter() if part.text}


class Page(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and the scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self._is_script = [], [], False
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._is_script = tag == "script"

    def handle_endtag(self, _tag):
        self._is_script = False

    def handle_data(self, data):
        if self._is_script:
            self.scripts.append(data)


def track_figure(name, ending):
    panel = FeaturePanel(
        "genes", 80, "#e88fb4", np.array([100]), np.array([200]), ["g"], np.array([1], np.int8)
    )
    figure = make_track_figure([panel], contig="c1", start=100, end=200, width=400, scale=1.0)
    parts = (*figure.parts, Text(10, 10, name, 12, "#000000"))
    return track_figure_bytes(replace(figure, title=name, caption=name, parts=parts), ending)


def graph_figure(name, ending):
    graph = make_graph([10, 20, 30, 40], [[1, 2, 3], [1, -2]], edges=[[0, 2], [2, 4]])
    figure = make(graph)
    parts = (*figure.parts, Text(10, figure.height - 5, name, 12, "#000000"))
    changes = {"title": name, "names": [name] * len(figure.names), "parts": parts}
    return figure_bytes(replace(figure, **changes), ending)


@pytest.mark.parametrize("make_file", [track_figure, graph_figure])
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_an_svg_shows_a_name_and_runs_nothing(make_file, name):
    texts = texts_of(make_file(name, ".svg"))
    assert SHOWN[name] in texts


@pytest.mark.parametrize("make_file", [track_figure, graph_figure])
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_page_has_no_element_or_attribute_by_a_name(make_file, name):
    page, plain = Page(make_file(name, ".html")), Page(make_file("a", ".html"))
    assert page.tags == plain.tags
    assert len(page.scripts) == len(plain.scripts)
    if page.scripts:
        assert json.loads(page.scripts[0])["names"][0] == name
        assert "<" not in page.scripts[0]
