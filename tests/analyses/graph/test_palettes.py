"""Colours stay apart for those who do not see red or green, on both grounds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from genoviz.analyses.graph.picture.palettes import (
    ALL,
    DARK,
    LIGHT,
    OTHER,
    SOME,
    blend,
    ramp_palette,
)
from tests.oracles.colours import VISION, colour_distance, lab

BOTH = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
EVERYBODY = pytest.mark.parametrize("vision", VISION)


def test_the_measure_of_colours_is_right():
    # White, mid grey and red as published for sRGB and D65.
    assert lab("#ffffff") == pytest.approx([100, 0, 0], abs=0.02)
    assert lab("#777777")[0] == pytest.approx(50.0, abs=0.1)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    # Red and green of one lightness are far apart, but not for a deuteranope.
    assert colour_distance("#d00000", "#007800", "normal") > 100
    assert colour_distance("#b06000", "#5c8a00", "deuteranopia") < 25


@EVERYBODY
@BOTH
def test_names_and_grounds_are_told_apart(theme, vision):
    colours = [theme.ground, *(theme.colour(c) for c in (OTHER, SOME, ALL))]
    for first, second in combinations([*colours, *theme.categories], 2):
        assert colour_distance(first, second, vision) > 15, (first, second)


@EVERYBODY
@BOTH
@pytest.mark.parametrize("ramp", ["density", "position", "depth", "share"])
def test_a_quarter_of_a_ramp_is_another_colour(theme, vision, ramp):
    colours = [blend(theme.ramps[ramp], step / 32) for step in range(33)]
    for first, second in combinations(range(33), 2):
        if second - first >= 8:
            far = colour_distance(colours[first], colours[second], vision)
            assert far > 12, (colours[first], colours[second])
    assert min(colour_distance(theme.ground, c, vision) for c in colours) > 19


@BOTH
@pytest.mark.parametrize("ramp", ["density", "position", "depth"])
def test_ramps_go_away_from_the_ground_in_lightness(theme, ramp):
    colours = [blend(theme.ramps[ramp], step / 32) for step in range(33)]
    steps = np.diff([lab(colour)[0] for colour in colours])
    assert (steps > 0).all() if theme.name == "dark" else (steps < 0).all()


@BOTH
def test_more_names_have_shades_and_then_repeat(theme):
    colours = [theme.colour(rank) for rank in range(theme.n_colours)]
    assert len(set(colours)) == theme.n_colours == 21
    assert theme.colour(theme.n_colours) == colours[0]
    assert theme.colour("#123456") == "#123456"


def test_ramps_begin_and_end_with_their_stops():
    palette = ramp_palette(["#102030", "#ff0000", "#ffffff"])
    assert (palette[1], palette[128], palette[255]) == ("#102030", "#ff0000", "#ffffff")
