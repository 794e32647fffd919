"""Saved pictures show what the screen shows: the same colours at the same places."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from app.plots import picture_file
from app.plots.legend import NamedLegend, RampLegend
from app.plots.palettes import GROUND, parse_colour, ramp_palette
from app.plots.picture_file import png_bytes, svg_bytes
from genoviz.analyses.viewport import Viewport
from genoviz.errors import ParameterError

PALETTE = ramp_palette(["#ff0000", "#00ff00", "#0000ff"])
VIEW = Viewport(0, 100, 0, 50, 200, 100)
LEGEND = RampLegend("Depth (steps)", np.linspace(1, 9, 255), 9.0)
SVG = "{http://www.w3.org/2000/svg}"


def svg_of(coordinates, colours, *, legend=LEGEND):
    content = svg_bytes(
        np.array(coordinates, float),
        np.array(colours, np.uint8),
        VIEW,
        palette=PALETTE,
        legend=legend,
        title="a < b",
    )
    return ElementTree.fromstring(content)


def lines_of(svg):
    """Return the drawn lines by colour."""
    group = svg.find(f"{SVG}g")
    return {
        path.get("stroke"): [
            tuple(float(number) for number in line)
            for line in re.findall(r"M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)", path.get("d"))
        ]
        for path in group.iter(f"{SVG}path")
    }


def test_a_png_has_the_colours_of_the_palette_and_its_first_row_is_on_top():
    indices = np.array([[0, 1, 255], [128, 0, 0]], np.uint8)
    image = Image.open(io.BytesIO(png_bytes(indices, PALETTE, title="drb1")))
    pixels = np.asarray(image.convert("RGB"))
    assert image.text["Title"] == "drb1"
    assert tuple(pixels[0, 0]) == parse_colour(PALETTE[128])
    assert tuple(pixels[1, 2]) == parse_colour(PALETTE[255])
    assert tuple(pixels[1, 0]) == parse_colour(GROUND)


def test_an_svg_has_every_node_in_view_at_its_place_in_its_colour():
    nodes = [
        [[10, 10], [20, 40]],
        [[0, 0], [100, 50]],
        [[101, 10], [150, 10]],  # right of the view
        [[-50, 25], [150, 25]],  # through it
        [[30, 30], [40, 40]],  # index 0: not drawn
    ]
    lines = lines_of(svg_of(nodes, [1, 255, 1, 1, 0]))
    assert lines == {
        PALETTE[1]: [(20, 80, 40, 20), (-100, 50, 300, 50)],
        PALETTE[255]: [(0, 100, 200, 0)],
    }


def test_an_svg_says_what_it_shows():
    svg = svg_of([[[0, 0], [1, 1]]], [1])
    texts = [element.text for element in svg.iter(f"{SVG}text")]
    assert svg.find(f"{SVG}title").text == "a < b"
    assert {"10 bp", "Depth (steps)", "2", "8"} <= set(texts)
    named = NamedLegend("On path", (("#123456", "chr<1>"),))
    assert "chr<1>" in [e.text for e in svg_of([[[0, 0], [1, 1]]], [1], legend=named).iter()]


def test_too_many_lines_are_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(picture_file, "MAX_SVG_LINES", 2)
    with pytest.raises(ParameterError, match="the view has 3 nodes, and an SVG holds at most 2"):
        svg_of([[[0, 0], [1, 1]]] * 3, [1, 1, 1])
