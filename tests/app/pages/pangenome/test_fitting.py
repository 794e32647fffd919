"""The fitted view holds everything, does not jump about, and says how it distorts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.pages.pangenome.picture.fitting import (
    Fitting,
    Shape,
    shape_text,
    stretch_text,
    unstretched,
)

numbers = st.floats(-1e7, 1e7)


@st.composite
def boxes(draw):
    xs, ys = sorted([draw(numbers), draw(numbers)]), sorted([draw(numbers), draw(numbers)])
    return (xs[0], ys[0], xs[1], ys[1])


@given(st.lists(boxes(), min_size=1, max_size=5), st.sampled_from([None, *Shape]))
def test_every_view_holds_the_whole_layout(layouts, wish):
    fitting, view = Fitting(), None
    fitting.wish = wish
    for box in layouts:
        view = fitting.fit(box, 600, 400, view)
        if fitting.fold is not None:
            folded = fitting.fold.layout_bounds
            assert folded[0] <= box[0] <= box[2] <= folded[2]
            assert folded[1] <= box[1] <= box[3] <= folded[3]
            box = fitting.fold.bounds
        slack = 1e-9 * max(view.x_max - view.x_min, view.y_max - view.y_min, 1)
        assert view.x_min - slack <= box[0] <= box[2] <= view.x_max + slack
        assert view.y_min - slack <= box[1] <= box[3] <= view.y_max + slack


def test_the_view_stays_while_the_layout_moves_a_little_and_follows_when_it_must():
    fitting = Fitting()
    first = fitting.fit((0, 0, 100, 80), 600, 400, None)
    assert fitting.fit((1, 1, 99, 79), 600, 400, first) is first
    assert fitting.fit((0, 0, 130, 80), 600, 400, first) is not first
    assert fitting.fit((0, 0, 50, 40), 600, 400, first) is not first
    assert fitting.fit((0, 0, 100, 80), 700, 400, first) is not first


def test_only_a_very_long_layout_is_stretched_unless_one_wishes():
    fitting = Fitting()
    fitting.fit((0, 0, 1000, 300), 400, 400, None)
    assert fitting.shape is Shape.TRUE
    long = fitting.fit((0, 0, 100_000, 1000), 400, 400, None)
    assert fitting.shape is Shape.STRETCHED
    assert stretch_text(long) == "Height stretched 100 times"
    fitting.fit((0, 0, 100_000, 10_000), 400, 400, long)
    assert fitting.shape is Shape.STRETCHED, "it does not flip back and forth near the limit"
    fitting.wish = Shape.TRUE
    true = fitting.fit((0, 0, 100_000, 1000), 400, 400, long)
    assert stretch_text(true) == ""


def test_a_fold_stays_while_the_layout_moves_a_little_and_goes_with_the_wish():
    fitting = Fitting()
    fitting.wish = Shape.FOLDED
    view = fitting.fit((0, 0, 100_000, 500), 400, 400, None)
    fold = fitting.fold
    assert fold.n_rows > 3
    assert view.bp_per_pixel[0] == pytest.approx(view.bp_per_pixel[1])
    assert shape_text(view, fold) == f"Folded into {fold.n_rows} rows"
    assert fitting.fit((10, 3, 99_000, 490), 400, 400, view) is view
    assert fitting.fold is fold
    fitting.fit((0, 0, 300_000, 500), 400, 400, view)
    assert fitting.fold is not fold
    fitting.wish = Shape.STRETCHED
    fitting.fit((0, 0, 100_000, 500), 400, 400, view)
    assert fitting.fold is None


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (Viewport(0, 10, 0, 10, 100, 100), ""),
        (Viewport(0, 25, 0, 10, 100, 100), "Height stretched 2.5 times"),
        (Viewport(0, 10, 0, 5000, 100, 100), "Width stretched 500 times"),
    ],
)
def test_distortion_is_said_in_words(view, text):
    assert stretch_text(view) == text


def test_a_link_to_a_canvas_of_another_height_is_as_wide_and_not_stretched():
    sent = Viewport(100, 900, -50, 350, 800, 400)
    taken = unstretched(Viewport(100, 900, -50, 350, 800, 500))
    assert taken == Viewport(100, 900, -100, 400, 800, 500)
    assert unstretched(Viewport(100, 900, -100, 400, 800, 400)) == sent
    tall = Viewport(0, 8000, 0, 40, 800, 400)  # stretched on purpose
    assert unstretched(tall) == tall
