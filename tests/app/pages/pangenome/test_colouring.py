"""Every node gets the colour that the legend promises, and the legend's scale is the picture's."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

from genoviz.analyses.graph.picture.colouring import ColourChoice, make_colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.legend import NamedLegend, RampLegend, ramp_ticks, short_number
from genoviz.analyses.graph.picture.palettes import DARK, category_palette, ramp_palette
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.pages.pangenome.picture import frame_maker
from genoviz_app.pages.pangenome.picture.frame_maker import ColouringCache
from genoviz_app.plots.legend import legend_html
from tests.app.conftest import poll_until
from tests.waiting import PATIENCE

VIEW = Viewport(0, 4, 0, 4, 4, 4)


def draw(graph, mode, paths=()):
    """Draw the nodes as four bars, one above the other: row i of the picture is node i."""
    coordinates = np.zeros((4, 2, 2))
    coordinates[:, :, 1] = np.arange(4)[:, None] + 0.5
    coordinates[:, 1, 0] = 3.9
    colouring = make_colouring(graph, ColourChoice(mode, tuple(paths)))
    drawing = LayoutDrawing(coordinates, node_values=colouring.node_values, backend="cpu")
    picture = drawing.draw(VIEW, **colouring.options)
    colours = [colouring.palette[row[1]] for row in picture.indices]
    return colours, colouring, picture


def test_a_path_has_its_colour_and_all_else_is_dim(graph):
    colours, colouring, picture = draw(graph, "paths", ["alt"])
    path = DARK.categories[0]
    assert colours == [path, DARK.other, path, path]
    assert colouring.legend(picture) == NamedLegend(
        "On path (nodes)", ((path, "alt (3)"), (DARK.other, "other nodes (1)"))
    )


def test_nodes_on_several_of_the_chosen_paths_are_told_apart(graph):
    colours, colouring, picture = draw(graph, "paths", ["alt", "ref"])
    alt, ref = DARK.categories[:2]
    assert colours == [DARK.everything, ref, alt, DARK.everything]
    assert colouring.legend(picture).items == (
        (alt, "alt (1)"),
        (ref, "ref (1)"),
        (DARK.everything, "both (2)"),
    )


def test_many_categories_still_get_their_own_index_of_the_palette():
    colours = [f"#{i:02x}0000" for i in range(255)]
    palette = category_palette(colours)
    assert len(palette) == 256
    assert list(palette[1:]) == colours


def test_position_rises_along_the_path_and_other_nodes_are_dim(graph):
    colours, colouring, picture = draw(graph, "position", ["alt"])
    assert colours[1] == DARK.other
    legend = colouring.legend(picture)
    assert (legend.title, legend.missing, legend.high) == (
        "Position on alt (bp)",
        "not on it",
        11.0,
    )
    # s1, s3, s4 have their middles at 2, 7 and 10.5 of 11 bp.
    expected = [1 + round(share * 238) for share in (2 / 11, 7 / 11, 10.5 / 11)]
    indices = [colouring.palette.index(colours[node]) for node in (0, 2, 3)]
    assert np.abs(np.array(indices) - expected).max() <= 2


def test_depth_is_scaled_by_the_graph_not_by_the_view(graph):
    _, colouring, picture = draw(graph, "depth")
    assert colouring.options["value_range"] == (1.0, 2.0)
    assert colouring.legend(picture).high == 2.0


def test_density_counts_nodes(graph):
    _, colouring, picture = draw(graph, "density")
    assert colouring.legend(picture).title == "Nodes in a pixel"


@pytest.mark.parametrize(
    ("mode", "paths"), [("position", ["chr9"]), ("paths", ["x"]), ("gc", []), ("table", [])]
)
def test_what_cannot_be_coloured_is_said_and_density_is_shown(graph, mode, paths):
    cache = ColouringCache()
    assert cache.get(graph, ColourChoice(mode, tuple(paths))).node_values is None
    assert cache.problem.startswith("Not coloured so: ")
    cache.get(graph, ColourChoice())
    assert cache.problem == ""


def test_a_colouring_is_made_once_and_again_when_its_table_changes(graph):
    cache = ColouringCache()
    first = cache.get(graph, ColourChoice("depth"))
    assert cache.get(graph, ColourChoice("depth")) is first
    cache.annotations = object()
    assert cache.get(graph, ColourChoice("depth")) is not first


def test_the_last_colours_are_shown_while_others_are_made(graph, monkeypatch):
    cache, may_end = ColouringCache(), threading.Event()
    first = cache.get(graph, ColourChoice("depth"))

    def make_slowly(*arguments, **options):
        assert may_end.wait(PATIENCE)
        return make_colouring(*arguments, **options)

    monkeypatch.setattr(frame_maker, "make_colouring", make_slowly)
    assert cache.get(graph, ColourChoice("length")) is first
    before = cache.version
    may_end.set()
    poll_until(lambda: None, lambda: cache.version > before)
    assert cache.get(graph, ColourChoice("length")).title == "Node length (bp)"


@pytest.mark.parametrize("how", ["log", "linear"])
def test_ticks_stand_where_the_picture_has_their_colour(how):
    coordinates = np.zeros((1000, 2, 2))
    coordinates[:, :, 0] = np.arange(1000)[:, None] + 0.5
    coordinates[:, 1, 1] = 0.5
    values = np.linspace(1, 5000, 1000, dtype=np.float32)
    numbers = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000]
    values[: len(numbers)] = numbers
    drawing = LayoutDrawing(coordinates, node_values=values, backend="cpu")
    picture = drawing.draw(Viewport(0, 1000, 0, 1, 1000, 1), by="max", how=how)
    row = picture.indices[0]
    ticks = ramp_ticks(picture.levels, float(values.max()))
    assert len(ticks) >= 3
    for value, place in ticks:
        pixel = int(np.argmin(np.abs(values - value)))
        assert abs(row[pixel] - (1 + place * 254)) <= 2, (value, place)


def test_a_ramp_of_one_number_has_one_tick():
    assert ramp_ticks(np.full(255, 3.0), 3.0) == [(3.0, 1.0)]


def test_names_in_legends_are_text_not_markup():
    html = legend_html(NamedLegend("On <b>", (("#ffffff", "<script>"),)), ramp_palette(["#000000"]))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    ramp = RampLegend("<i>", np.linspace(0, 1, 255), 1.0, missing="<u>")
    html = legend_html(ramp, ramp_palette(["#000000", "#ffffff"]))
    assert "<i>" not in html
    stops = re.findall(r'<stop offset="([0-9.]+)" stop-color="(#[0-9a-f]{6})"/>', html)
    # The first colour is that of what is missing.
    assert (stops[0], stops[-1]) == (("0.000", "#010101"), ("1.000", "#ffffff"))
    assert stops == sorted(stops)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (1.26e6, "1.26M"), (3e9, "3G")]
)
def test_numbers_are_short(value, text):
    assert short_number(value) == text
