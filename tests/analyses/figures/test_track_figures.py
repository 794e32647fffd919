"""Figures of tracks show each value and each feature at its place, in all formats."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from genoviz.analyses.figures import (
    TRACK_FIGURE_ENDINGS,
    Curve,
    FeaturePanel,
    ValuePanel,
    make_track_figure,
    track_figure_bytes,
)
from genoviz.analyses.figures.axes import (
    MATRIX_LEFT,
    MATRIX_SIZE,
    MATRIX_TOP,
    PRINT_SCALE,
    print_matrix,
)
from genoviz.analyses.figures.parts import Box, Text
from genoviz.analyses.figures.tracks import EDGE, caption_parts, round_positions
from genoviz.analyses.graph.picture.palettes import LIGHT, blend, parse_colour
from genoviz.errors import ParameterError

SVG = "{http://www.w3.org/2000/svg}"
BLUE, ROSE = "#4fb3e8", "#e88fb4"
LEFT, RIGHT = 236, 386


def curve(values, start=100, size=10, **more):
    values = np.array(values, float)
    edges = start + size * np.arange(len(values) + 1)
    return Curve(edges, values, values, values, BLUE, **more)


def values_panel(*curves, **more):
    return ValuePanel("reads", 60, curves, more.pop("scale", (0, 4)), **more)


def genes():
    return FeaturePanel(
        "genes",
        80,
        ROSE,
        np.array([100, 110, 150]),
        np.array([190, 140, 400]),
        ["A", "B", "C"],
        np.array([1, -1, 0], np.int8),
        block_offsets=np.array([0, 2, 2, 2]),
        blocks=np.array([[100, 120], [160, 190]]),
    )


def make(*panels, start=100, end=200, **more):
    return make_track_figure(
        panels, contig="c1", start=start, end=end, **{"width": 400, "scale": 1.0, **more}
    )


def test_a_heat_map_has_each_mean_in_its_colour():
    cells = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, -0.5], [0.25, np.nan, 2.0]], np.float32)
    figure = print_matrix(cells, (0.0, 1.0), 3, "Related", "3 samples")
    areas = figure.areas[:-9]  # without those of the legend
    ramp = ("#ffffff", *LIGHT.ramps["density"])
    for row, column in np.ndindex(3, 3):
        place = PRINT_SCALE * np.array(
            [MATRIX_LEFT + (column + 0.5) * MATRIX_SIZE / 3,
             MATRIX_TOP + (row + 0.5) * MATRIX_SIZE / 3]
        )  # fmt: skip
        (colour,) = (
            area.colour for area in areas
            if (area.points.min(0) <= place).all() and (place <= area.points.max(0)).all()
        )  # fmt: skip
        wanted = blend(ramp, float(np.clip(np.nan_to_num(cells[row, column]), 0, 1)))
        assert np.abs(np.subtract(parse_colour(colour), parse_colour(wanted))).max() <= 8


def test_an_area_has_the_values_at_their_heights():
    values = [0, 4, 2, 0, 0, 0, 0, 0, 0, 1]
    points = make(values_panel(curve(values))).areas[0].points
    outline = points[: int(np.argmax(points[:, 0])) + 2]
    middles = LEFT + (np.arange(10) + 0.5) / 10 * (RIGHT - LEFT)
    bottom, top = points[:, 1].max(), points[:, 1].min()
    heights = np.interp(middles, *outline.T)
    assert (bottom - heights) / (bottom - top) * 4 == pytest.approx(values)
    assert (points[:, 0].min(), points[:, 0].max()) == pytest.approx((LEFT, RIGHT))


def test_bins_without_a_value_are_left_out_and_a_range_has_a_shade():
    whole = make(values_panel(curve([1, 2, 3])))
    gap = make(values_panel(curve([1, np.nan, 3])))
    assert (len(whole.areas), len(gap.areas)) == (1, 2)
    edges = np.array([100, 150, 200])
    ranged = Curve(edges, np.array([0.0, 1]), np.array([1.0, 2]), np.array([2.0, 4]), BLUE)
    assert [area.opacity for area in make(values_panel(ranged)).areas] == [0.62, 0.3]


def test_strands_are_drawn_up_and_down_from_the_middle():
    figure = make(values_panel(curve([4]), curve([2], is_down=True)))
    up, down = (area.points[:, 1] for area in figure.areas)
    middle = up.max()
    assert down.min() == middle
    assert down.max() - middle == pytest.approx((middle - up.min()) / 2)


def test_features_have_their_blocks_and_names_and_stay_within_the_plot():
    figure = make(genes())
    boxes = [part for part in figure.parts if isinstance(part, Box) and part.colour == ROSE][:4]
    places = sorted((round(box.x, 1), round(box.x + box.width, 1)) for box in boxes)
    to_x = [round(LEFT + (p - 100) * 1.5, 1) for p in (100, 120, 160, 190, 110, 140, 150)]
    assert places == sorted(
        [(to_x[0], to_x[1]), (to_x[2], to_x[3]), (to_x[4], to_x[5]), (to_x[6], RIGHT)]
    )
    texts = [part.text for part in figure.parts if isinstance(part, Text)]
    assert {"A >", "B <", "C"} <= set(texts)
    assert len({box.y for box in boxes}) > 1, "what overlaps is in rows of its own"


def test_features_without_room_are_counted():
    n = 40
    crowded = FeaturePanel("many", 30, ROSE, np.full(n, 110), np.full(n, 190))
    texts = [part.text for part in make(crowded).parts if isinstance(part, Text)]
    assert "39 more than fit" in texts


@pytest.mark.parametrize("ending", TRACK_FIGURE_ENDINGS)
def test_each_format_holds_the_figure_and_asks_for_nothing(ending):
    figure = make(values_panel(curve([1, 2, 3])), genes(), caption="How & why.")
    content = track_figure_bytes(figure, ending)
    assert content.startswith({".png": b"\x89PNG", ".pdf": b"%PDF"}.get(ending, b"<"))
    if ending in (".svg", ".html"):
        text = content.decode()
        svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", text, re.DOTALL)[0])
        texts = [element.text for element in svg.iter(f"{SVG}text")]
        assert "c1:101-200 (100 bp)" in texts
        assert "How & why." in texts
        assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}


# Of DejaVu Sans, which many browsers use, in thousandths of the size of the letters.
WIDE_LETTERS = {"a": 613, "m": 974, "n": 634, "o": 612, " ": 318}


def test_a_caption_stays_within_the_figure_in_the_fonts_of_browsers():
    words = " ".join(["moan", "no", "man", "ammonoan"] * 20)
    lines, _ = caption_parts(words, 0, 760 - EDGE, 1.0, LIGHT)
    assert len(lines) > 1
    for line in lines:
        width = sum(WIDE_LETTERS[letter] for letter in line.text) * line.size / 1000
        assert line.x + width <= 760


def test_a_png_has_the_colours_at_their_places():
    from PIL import Image

    figure = make(values_panel(curve([4, 4, 0, 0])), end=140)
    image = Image.open(io.BytesIO(track_figure_bytes(figure, ".png"))).convert("RGB")
    assert image.size == (figure.width, figure.height)
    y = int(figure.areas[0].points[:, 1].mean())
    blue = np.array(parse_colour(BLUE))
    mixed = np.round(0.62 * blue + 0.38 * np.array(parse_colour(figure.ground)))
    assert np.abs(np.array(image.getpixel((LEFT + 20, y))) - mixed).max() <= 2
    assert image.getpixel((RIGHT - 20, y)) == parse_colour(figure.ground)


def test_positions_are_round_and_within():
    assert [*round_positions(4_000_000, 6_000_000, 4)] == [
        4_000_000 + 500_000 * k for k in (1, 2, 3, 4)
    ]
    assert [*round_positions(6, 9, 10)] == [7, 8, 9]


@pytest.mark.parametrize(
    ("panels", "more", "words"),
    [
        ((), {}, "need a track"),
        ((genes(),), {"start": 5, "end": 5}, "need a track"),
        ((genes(),), {"width": 10}, "width is 10, needs 300 to"),
    ],
)
def test_what_cannot_be_drawn_is_said(panels, more, words):
    with pytest.raises(ParameterError, match=words):
        make(*panels, **more)


def test_wrong_arrays_and_endings_are_named():
    with pytest.raises(ParameterError, match="mean has 1 values, needs 2"):
        Curve(np.arange(3), np.zeros(2), np.zeros(1), np.zeros(2), BLUE)
    with pytest.raises(ParameterError, match="need to ascend"):
        Curve(np.array([0, 0]), *np.zeros((3, 1)), BLUE)
    with pytest.raises(ParameterError, match=r"cannot be '.gif', needs .png"):
        track_figure_bytes(make(genes()), ".gif")
