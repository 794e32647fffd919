"""Every node gets the colour that the legend promises, and the legend's scale is the picture's."""

from __future__ import annotations

import numpy as np
import pytest

from app.pages.pangenome.colouring import ColouringCache, make_colouring
from app.plots.legend import NamedLegend, RampLegend, legend_html, ramp_ticks, short_number
from app.plots.palettes import (
    CATEGORIES,
    GROUND,
    OTHER,
    SHARED,
    blend,
    category_palette,
    ramp_palette,
)
from genoviz.analyses.drawing import LayoutDrawing
from genoviz.analyses.viewport import Viewport

VIEW = Viewport(0, 4, 0, 4, 4, 4)


def draw(graph, mode, paths=()):
    """Draw the nodes as four bars, one above the other: row i of the picture is node i."""
    coordinates = np.zeros((4, 2, 2))
    coordinates[:, :, 1] = np.arange(4)[:, None] + 0.5
    coordinates[:, 1, 0] = 3.9
    colouring = make_colouring(graph, mode, paths)
    drawing = LayoutDrawing(coordinates, node_values=colouring.node_values, backend="cpu")
    picture = drawing.draw(VIEW, **colouring.options)
    colours = [colouring.palette[row[1]] for row in picture.indices]
    return colours, colouring, picture


def test_a_path_has_its_colour_and_all_else_is_dim(graph):
    colours, colouring, picture = draw(graph, "paths", ["alt"])
    path = CATEGORIES[0]
    assert colours == [path, OTHER, path, path]
    assert colouring.legend(picture) == NamedLegend(
        "On path", ((path, "alt"), (OTHER, "other nodes"))
    )


def test_nodes_on_several_of_the_chosen_paths_are_told_apart(graph):
    colours, colouring, picture = draw(graph, "paths", ["alt", "ref"])
    alt, ref = CATEGORIES[:2]
    assert colours == [SHARED, ref, alt, SHARED]
    assert (SHARED, "several of them") in colouring.legend(picture).items


def test_many_paths_still_get_their_own_stretch_of_the_palette():
    colours = [f"#{i:02x}0000" for i in range(30)]
    palette = category_palette(colours)
    assert len(palette) == 256
    for value, colour in enumerate(colours):
        index = min(1 + int(255 * value / 29), 255)
        assert palette[index] == colour


def test_position_rises_along_the_path_and_other_nodes_are_dim(graph):
    colours, colouring, picture = draw(graph, "position", ["alt"])
    assert colours[1] == OTHER
    legend = colouring.legend(picture)
    assert (legend.title, legend.missing, legend.high) == (
        "Position on alt (bp)",
        "not on it",
        11.0,
    )
    # s1, s3, s4 have their middles at 2, 7 and 10.5 of 11 bp.
    expected = [1 + round(share * 254) for share in (2 / 11, 7 / 11, 10.5 / 11)]
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
    ("mode", "paths"), [("paths", []), ("position", ["chr9"]), ("paths", ["x"])]
)
def test_without_a_known_path_density_is_shown(graph, mode, paths):
    assert make_colouring(graph, mode, paths).node_values is None


def test_a_colouring_is_made_once(graph):
    cache = ColouringCache()
    first = cache.get(graph, "depth", ())
    assert cache.get(graph, "depth", ()) is first
    assert cache.get(graph, "paths", ("ref",)) is not first


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
    assert "<i>" not in legend_html(ramp, ramp_palette(["#000000", "#ffffff"]))


def test_ramps_begin_and_end_with_their_stops():
    palette = ramp_palette(["#102030", "#ff0000", "#ffffff"])
    assert (palette[0], palette[1], palette[128], palette[255]) == (
        GROUND,
        "#102030",
        "#ff0000",
        "#ffffff",
    )
    assert blend(["#000000", "#ffffff"], 0.5) == "#808080"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (1.26e6, "1.26M"), (3e9, "3G")]
)
def test_numbers_are_short(value, text):
    assert short_number(value) == text
