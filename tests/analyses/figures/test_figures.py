"""Figures show every node at its place in its colour, in all formats, with a true legend."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from unittest.mock import Mock
from xml.etree import ElementTree

import numpy as np
import pytest

from genoviz.analyses.figures import (
    FIGURE_ENDINGS,
    FigureLabel,
    FigureMark,
    FigureOptions,
    figure_bytes,
    make_figure,
    vector,
)
from genoviz.analyses.figures.graph import _is_left_free
from genoviz.analyses.figures.label_parts import legend_parts, round_length
from genoviz.analyses.figures.parts import Box, Line, Ramp, Text, clip_text, text_width, wrap_widths
from genoviz.analyses.figures.png import curve_points
from genoviz.analyses.figures.vector import parts_svg
from genoviz.analyses.graph.picture.colouring import ColourChoice, make_colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing, Picture
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.legend import NamedLegend, RampLegend
from genoviz.analyses.graph.picture.palettes import DARK, LIGHT, parse_colour
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError
from tests.graphs import make_graph

SVG = "{http://www.w3.org/2000/svg}"
COORDINATES = np.array(
    [
        [[0, 0], [100, 50]],
        [[10, 10], [20, 40]],
        [[30, 45], [90, 45]],
        [[60, 5], [95, 5]],
    ],
    float,
)
VIEW = Viewport(0, 100, 0, 50, 400, 200)


@pytest.fixture
def graph():
    """Four nodes; path0 has the first three, path1 the first two."""
    return make_graph([10, 20, 30, 40], [[1, 2, 3], [1, -2]], edges=[[0, 2], [2, 4]])


def make(graph, choice=None, *, theme=DARK, view=VIEW, coordinates=COORDINATES, **more):
    options = {"width": 400, "dpi": 96, **more.pop("options", {})}
    colouring = make_colouring(graph, choice or ColourChoice("path-depth"))
    drawing = LayoutDrawing(coordinates.copy(), nodes=more.pop("nodes", None), backend="cpu")
    return make_figure(
        graph, drawing, colouring.on(theme), FigureOptions(**options), view=view, **more
    )


def open_png(figure):
    from PIL import Image

    return Image.open(io.BytesIO(figure_bytes(figure, ".png")))


def open_svg(figure):
    return ElementTree.fromstring(figure_bytes(figure, ".svg"))


def pixel(image, x, y):
    return image.convert("RGBA").getpixel((x, y))


def colour_of(figure, node):
    """Return the colour that a node should have, from its number of paths."""
    n = [2, 2, 1, 0][node]
    return {
        2: figure.palette[int(figure.colouring.node_indices(np.array([0]), levels(figure))[0])],
        1: figure.palette[2],
        0: figure.colouring.theme.other,
    }[n]


def levels(figure):
    return figure.picture.levels


@pytest.mark.parametrize("max_lines", [100, 0], ids=["lines", "pixels"])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_a_png_has_the_nodes_at_their_places_in_their_colours(graph, theme, max_lines):
    options = {"max_lines": max_lines, "line_width": 5}
    figure = make(graph, theme=theme, options=options)
    assert (figure.lines is None) == (max_lines == 0)
    image = open_png(figure)
    assert image.size == (figure.width, figure.height)
    assert image.info["dpi"][0] == pytest.approx(96, abs=0.1)
    for node, (x, y) in {1: (15, 25), 2: (80, 45), 3: (80, 5)}.items():
        expected = (*parse_colour(colour_of(figure, node)), 255)
        found = pixel(image, 4 * x, figure.top + 200 - 4 * y)
        assert np.abs(np.subtract(found, expected)).max() <= 2, node
    assert pixel(image, 380, figure.top + 100) == (*parse_colour(theme.ground), 255)


@pytest.mark.parametrize("max_lines", [100, 0], ids=["lines", "pixels"])
def test_a_transparent_png_has_no_ground(graph, max_lines):
    options = {"is_transparent": True, "max_lines": max_lines, "line_width": 4}
    image = open_png(make(graph, theme=LIGHT, options=options))
    assert image.mode == "RGBA"
    assert pixel(image, 380, 100)[3] == 0
    red, green, blue, alpha = pixel(image, 4 * 80, 200 - 4 * 5)
    assert alpha == 255
    assert np.abs(np.subtract((red, green, blue), parse_colour(LIGHT.other))).max() <= 2


def test_pixels_at_the_edge_of_a_line_keep_its_colour(graph):
    options = {"is_transparent": True, "max_lines": 0, "line_width": 1}
    image = open_png(make(graph, options=options, nodes=np.array([0]))).convert("RGBA")
    plot = np.asarray(image)[:200, :300]
    seen = plot[plot[..., 3] > 0]
    assert len(np.unique(seen[:, 3])) > 1
    expected = parse_colour(colour_of(make(graph), 0))
    assert np.abs(seen[:, :3].astype(int) - expected).max() <= 2


def test_an_svg_has_each_node_as_a_line(graph):
    figure = make(graph)
    svg = open_svg(figure)
    group = svg.find(f"{SVG}g[@id='graph']")
    lines = {}
    for path in group.findall(f"{SVG}path"):
        if path.get("id") == "edges":
            assert path.get("d").count("C") == 2
            continue
        for line in re.findall(r"M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)", path.get("d")):
            lines[tuple(map(float, line))] = path.get("stroke")
    expected = {}
    for node, ends in enumerate(COORDINATES):
        (x0, y0), (x1, y1) = ends * [4, -4] + [0, 200]
        expected[x0, y0, x1, y1] = colour_of(figure, node)
    assert lines == expected


def test_texts_are_in_every_format(graph):
    import pypdf

    figure = make(
        graph, options={"title": "a < b"}, marks=[FigureMark(np.array([2]), "#ff0000", "mine <1>")]
    )
    svg = open_svg(figure)
    assert svg.find(f"{SVG}title").text == "a < b"
    texts = {element.text for element in svg.iter(f"{SVG}text")}
    wanted = {"a < b", "Paths on a node (of 2)", "1", "2", "10 bp", "mine <1>"}
    wanted.add("on none of these paths")
    assert wanted <= texts
    reader = pypdf.PdfReader(io.BytesIO(figure_bytes(figure, ".pdf")))
    page = reader.pages[0]
    assert [float(size) for size in page.mediabox[2:]] == pytest.approx(
        [figure.width * 0.75, figure.height * 0.75]
    )
    text = page.extract_text()
    assert all(words in text for words in wanted)
    html = figure_bytes(figure, ".html").decode()
    assert "mine &lt;1&gt;" in html
    assert "<title>a &lt; b</title>" in html


def test_marks_are_drawn_over_the_nodes_and_named(graph):
    for max_lines in (100, 0):
        options = {"max_lines": max_lines, "line_width": 3}
        figure = make(graph, options=options, marks=[FigureMark(np.array([3]), "#ff0000", "x")])
        assert pixel(open_png(figure), 4 * 80, 200 - 4 * 5)[:3] == (255, 0, 0)
    with pytest.raises(ParameterError, match="there are 17 marks, and at most 16"):
        make(graph, marks=[FigureMark(np.array([3]), "#ff0000")] * 17)


def test_chosen_nodes_alone_are_drawn(graph):
    figure = make(graph, nodes=np.array([2]))
    assert figure.lines.nodes.tolist() == [2]


def test_labels_stand_beside_their_nodes_and_not_over_each_other(graph):
    labels = [FigureLabel(2, "first"), FigureLabel(2, "second"), FigureLabel(1, "far")]
    figure = make(graph, labels=labels)
    texts = {part.text: part for part in figure.parts if isinstance(part, Text)}
    assert abs(texts["first"].x - 4 * 60) < 5
    assert abs(texts["first"].y - (200 - 4 * 45)) < 30
    assert abs(texts["second"].y - texts["first"].y) > texts["first"].size


def test_an_svg_has_each_part_at_its_place():
    colours = tuple(f"#0000{k:02x}" for k in range(20))
    parts = [
        Line(1, 2, 3, 4.5, 0.75, "#ff0000"),
        Box(5, 6, 7, 8, "#00ff00"),
        Ramp(9, 10, 11, 12, colours),
        Text(13, 14, "a < b", 15, "#000000", "end", halo="#ffffff"),
    ]
    line, box, gradient, ramp, text = ElementTree.fromstring(parts_svg(parts))
    assert line.attrib == {"stroke": "#ff0000", "stroke-width": "0.75", "d": "M1.00 2.00L3.00 4.50"}
    places = {"x": "5.00", "y": "6.00", "width": "7.00", "height": "8.00", "fill": "#00ff00"}
    assert box.attrib == places
    assert ramp.attrib["fill"] == f"url(#{gradient.attrib['id']})"
    stops = {stop.attrib["stop-color"]: float(stop.attrib["offset"]) for stop in gradient}
    assert {colours[0], colours[-1]} < set(stops)
    for colour, offset in stops.items():
        assert offset == pytest.approx(colours.index(colour) / 19, abs=1e-3)
    assert (text.text, text.attrib["text-anchor"], text.attrib["stroke"]) == (
        "a < b", "end", "#ffffff",
    )  # fmt: skip


def test_a_text_of_a_pdf_begins_where_its_anchor_says(monkeypatch):
    canvas, begins = Mock(), []
    canvas.stringWidth.return_value = 40
    monkeypatch.setattr(vector, "_write", lambda *at, **_: begins.append(at[2]))
    for anchor in ("start", "middle", "end"):
        vector._draw_text(canvas, Text(7, 8, "four", 10, "#000000", anchor))
    assert begins == [0, -20, -40]


def test_many_nodes_become_an_image_within_svg_and_pdf(graph):
    figure = make(graph, options={"max_lines": 3})
    assert figure.lines is None
    image = open_svg(figure).find(f"{SVG}g/{SVG}image")
    content = base64.b64decode(image.get("href").partition(",")[2])
    assert content.startswith(b"\x89PNG")
    assert figure_bytes(figure, ".pdf").count(b"/Subtype /Image") >= 1


@pytest.mark.parametrize("max_lines", [100, 0], ids=["lines", "pixels"])
def test_html_needs_nothing_else_and_names_nodes(graph, max_lines):
    figure = make(graph, options={"max_lines": max_lines})
    html = figure_bytes(figure, ".html").decode()
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"<(?:link|script|img|iframe)[^>]*\s(?:src|href)=", html) == []
    assert not re.search(r"@[A-Z]+@", html)
    text = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]
    data = json.loads(text)
    if max_lines:
        ends = np.frombuffer(base64.b64decode(data["lines"]), "<f4").reshape(-1, 2, 2)
        expected = COORDINATES * [4, -4] + [0, 200] - [200, 100]
        np.testing.assert_allclose(ends, expected, atol=1e-3)
        assert data["names"][1] == "2\n20 bp"
    else:
        assert data["image"].startswith("data:image/png;base64,")


def test_density_as_lines_is_one_colour_and_says_so(graph):
    figure = make(graph, ColourChoice("density"))
    legend = figure.colouring.legend(figure.picture)
    assert legend.items == ((DARK.ramps["density"][2], "node"),)
    assert set(figure.lines.colours.tolist()) == {1}


@pytest.mark.parametrize(
    ("options", "height"),
    [({}, 500), ({"is_stretched": True}, 500), ({"height": 333}, 333)],
)
def test_the_height_follows_the_layout_unless_given(graph, options, height):
    figure = make(graph, view=None, options={"width": 1000, **options})
    assert figure.height == pytest.approx(height, abs=80 if height != 333 else 0)
    assert (figure.view.width, figure.view.x_min < 0 < 100 < figure.view.x_max) == (1000, True)


def test_a_box_is_shown_with_a_margin(graph):
    figure = make(graph, view=None, box=(20.0, 10.0, 40.0, 20.0))
    view = figure.view
    assert view.x_min < 20 < 40 < view.x_max
    assert (view.x_max - view.x_min) < 60
    assert view.bp_per_pixel[0] == pytest.approx(view.bp_per_pixel[1])


def test_a_long_layout_is_noted_and_folded_into_rows():
    n = 400
    graph = make_graph([10] * n, [list(range(1, n + 1))])
    coordinates = np.zeros((n, 2, 2))
    coordinates[:, 0, 0] = np.arange(n) * 10.0
    coordinates[:, 1, 0] = coordinates[:, 0, 0] + 10
    long = make(graph, view=None, coordinates=coordinates)
    assert "times as long as high" in long.notes[0]
    choice = ColourChoice("position", ("path0",))
    folded = make(
        graph, choice, view=None, coordinates=coordinates,
        options={"is_folded": True, "max_lines": 1000},
    )  # fmt: skip
    assert folded.notes == ()
    fold = Fold((0.0, 0.0, 4000.0, 0.0), 400, 200)
    assert fold.n_rows > 2
    rows = np.unique(np.round(folded.lines.ends[:, 0, 1]))
    assert len(rows) == fold.n_rows


def test_options_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="a figure is 50 x 400 pixels, needs at least 100"):
        FigureOptions(width=50, height=400)
    with pytest.raises(ParameterError, match="at most 134,217,728 pixels"):
        FigureOptions(width=20_000, height=20_000)
    with pytest.raises(ParameterError, match="dpi is 5, needs 20 to 1200"):
        FigureOptions(dpi=5)
    for width in (0, -1, 0.009, 1000.5, math.nan):
        with pytest.raises(ParameterError, match=rf"line_width is {width:g}, needs 0.01 to 1000"):
            FigureOptions(line_width=width)
    assert [FigureOptions(line_width=width).line_width for width in (0.01, 1000)] == [0.01, 1000]
    with pytest.raises(ParameterError, match="either stretched or folded"):
        FigureOptions(is_stretched=True, is_folded=True)


def test_an_unknown_kind_of_file_is_refused(graph):
    assert FIGURE_ENDINGS == (".png", ".svg", ".pdf", ".html")
    with pytest.raises(ParameterError, match=r"cannot be '.gif', needs .png, .svg, .pdf, .html"):
        figure_bytes(make(graph), ".gif")


def test_the_ramp_of_a_legend_has_ticks_where_its_colours_change():
    edges = np.linspace(0, 90, 240)[:-1]
    legend = RampLegend("GC (%)", edges, 90.0)
    parts, _ = legend_parts(legend, make_palette(), DARK, width=800, scale=1)
    ramp = next(part for part in parts if isinstance(part, Ramp))
    ticks = {p.text: p.x for p in parts if isinstance(p, Text) and p.text != "GC (%)"}
    assert {"0", "40", "90"} <= set(ticks)
    whole = RampLegend("Paths", np.linspace(1, 3, 240)[:-1], 3.0, is_whole=True)
    assert [value for value, _ in whole.ticks()] == [1, 2, 3]
    assert (ticks["40"] - ramp.x) / ramp.width == pytest.approx(40 / 90, abs=0.01)


def make_palette():
    return tuple(f"#0000{i:02x}" for i in range(256))


def test_long_names_are_clipped_and_wrapped():
    name = "HG00438#2#JAHBCA010000042.1:24398231-24449090"
    short = clip_text(name, 12, 120)
    assert text_width(short, 12) <= 120
    assert (short[:4], short[-4:]) == (name[:4], name[-4:])
    items = tuple(("#ff0000", f"{name}{i}") for i in range(9))
    parts, height = legend_parts(NamedLegend("On", items), make_palette(), DARK, width=500, scale=1)
    texts = [part for part in parts if isinstance(part, Text)]
    assert max(part.x + text_width(part.text, part.size) for part in texts) <= 500
    assert max(part.y for part in texts) < height
    assert wrap_widths([40, 40, 40], 10, 100) == [(0, 0.0), (0, 50.0), (1, 0.0)]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    ("row", "column", "is_left_free"),
    [(39, 320, True), (40, 320, False), (0, 399, True), (0, 319, False), (39, 79, False)],
)
def test_the_scale_bar_goes_left_if_more_is_drawn_within_40_pixels_of_the_right_corner(
    n, row, column, is_left_free
):
    indices = np.zeros((n * 200, n * 400), np.uint8)
    indices[n * row : n * (row + 1), n * column : n * (column + 1)] = 3
    picture = Picture(indices, VIEW, np.empty(0), n, n)
    assert _is_left_free(picture, 1.0) == is_left_free
    assert _is_left_free(picture, 2.0) == (is_left_free or row == 40)
    indices[:n, : 2 * n] = 5
    assert not _is_left_free(picture, 1.0)


@pytest.mark.parametrize(
    ("wanted", "length"), [(1, 1), (1.9, 1), (2, 2), (7, 5), (0.3, 0.2), (4.9e6, 2e6)]
)
def test_scale_bars_have_round_lengths(wanted, length):
    assert round_length(wanted) == pytest.approx(length)


def test_points_of_a_curve_are_those_of_de_casteljau():
    curves = np.random.default_rng(6).normal(size=(5, 4, 2))
    found = curve_points(curves)
    for curve, points in zip(curves, found, strict=True):
        for share, point in zip(np.linspace(0, 1, len(points)), points, strict=True):
            between = curve
            while len(between) > 1:
                between = between[:-1] * (1 - share) + between[1:] * share
            assert point == pytest.approx(between[0], abs=1e-12)
