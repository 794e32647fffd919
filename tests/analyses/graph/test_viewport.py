from __future__ import annotations

import math

import numpy as np
import pytest

from genoviz import ParameterError
from genoviz.analyses.graph.picture.viewport import Viewport, move_image


@pytest.mark.parametrize("keep_aspect", [True, False])
@pytest.mark.parametrize(
    "bounds",
    [(0, 0, 1000, 10), (-5, 100, 5, 1e9), (3, 4, 3, 4), (1, 2, 1, 9), (1e9, 0, 1e9 + 1, 0)],
)
def test_a_fitted_viewport_holds_its_bounds_and_is_no_larger_than_needed(bounds, keep_aspect):
    view = Viewport.fit(bounds, 300, 200, margin=0.1, keep_aspect=keep_aspect)
    assert view.x_min < bounds[0] <= bounds[2] < view.x_max
    assert view.y_min < bounds[1] <= bounds[3] < view.y_max
    shares = (
        (bounds[2] - bounds[0]) / (view.x_max - view.x_min),
        (bounds[3] - bounds[1]) / (view.y_max - view.y_min),
    )
    if bounds[0] < bounds[2] or bounds[1] < bounds[3]:
        assert max(shares) == pytest.approx(0.8)
    if keep_aspect:
        assert view.bp_per_pixel[0] == pytest.approx(view.bp_per_pixel[1])


def test_zooming_keeps_the_point_under_the_pointer():
    view = Viewport(0, 100, 0, 50, 10, 5).zoomed(4, 25, 40)
    assert (view.x_min, view.x_max, view.y_min, view.y_max) == (18.75, 43.75, 30, 42.5)
    centred = Viewport(0, 100, 0, 50, 10, 5).zoomed(0.5)
    assert (centred.x_min, centred.x_max, centred.y_min, centred.y_max) == (-50, 150, -25, 75)


def test_panning_moves_by_parts_of_the_view():
    view = Viewport(0, 100, 0, 50, 10, 5).panned(0.5, -1)
    assert (view.x_min, view.x_max, view.y_min, view.y_max) == (50, 150, -50, 0)


@pytest.mark.parametrize(
    "numbers",
    [
        (1, 1, 0, 1, 5, 5),
        (2, 1, 0, 1, 5, 5),
        (0, math.inf, 0, 1, 5, 5),
        (0, 1, math.nan, 1, 5, 5),
        (0, 5e-324, 0, 1, 5, 5),
        (-1e308, 1e308, 0, 1, 5, 5),
        (0, 1, 0, 1, 0, 5),
        (0, 1, 0, 1, 5, -1),
        (0, 1, 0, 1, 1 << 20, 1 << 20),
    ],
)
def test_impossible_viewports_are_refused(numbers):
    with pytest.raises(ParameterError, match="a viewport"):
        Viewport(*numbers)


def test_a_margin_leaves_room():
    with pytest.raises(ParameterError, match=r"margin is 0\.5"):
        Viewport.fit((0, 0, 1, 1), 5, 5, margin=0.5)


@pytest.mark.parametrize(("columns", "rows"), [(3, 0), (0, -2), (-4, 1), (9, 4), (0, 0)])
def test_a_moved_image_is_that_of_the_moved_view(columns, rows):
    """Each pixel of this image tells its place in the plane."""
    view, drawn = Viewport(1e9, 1e9 + 20, 0, 10, 10, 5), []

    def draw(part):
        drawn.append(part.width * part.height)
        x, y = part.x_min - 1e9 + 2 * np.arange(part.width), part.y_min + 2 * np.arange(part.height)
        return np.round(1000 * y[:, None] + x)

    moved = view.part(columns, rows, 10, 5)
    assert moved.pixels_from(view) == (columns, rows)
    image = draw(view)
    drawn.clear()
    np.testing.assert_array_equal(move_image(image, view, moved, draw), draw(moved))
    assert sum(drawn) - 50 == 50 - (10 - abs(columns)) * (5 - abs(rows)), "what is new, and once"


def test_an_image_is_not_moved_by_parts_of_pixels_nor_magnified_nor_out_of_sight():
    view = Viewport(0, 20, 0, 10, 10, 5)
    others = [view.panned(0.04, 0), view.zoomed(1.001), view.panned(1, 0), view.panned(0, -2)]
    others.append(Viewport(0, 20, 0, 10, 20, 10))
    for other in others:
        assert move_image(np.zeros((5, 10)), view, other, lambda part: pytest.fail(part)) is None
