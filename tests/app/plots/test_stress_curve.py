"""The chart has the numbers of the run, on a log axis that holds them."""

from __future__ import annotations

import math
from dataclasses import replace

import holoviews as hv
import numpy as np
import pytest
from bokeh.models import Label

from genoviz.analyses.graph.layout.stress import PathStress
from genoviz_app.pages.pangenome.controls import numbers_html, plain
from genoviz_app.plots.elements import stress_curve
from genoviz_app.plots.empty_note import EmptyNote
from genoviz_app.plots.graph_picture import StressFigure, plain_figure
from genoviz_app.session.layout_run import RunProgress, RunState


def stress(mean, half=0.0):
    return PathStress(mean, mean - half, mean + half, mean / 2, 1000, 3, False)


def test_the_curve_and_its_band_have_the_values_of_the_run():
    history = [(0, stress(50.0, 20.0)), (1, stress(4.0, 1.0)), (2, stress(0.3, 0.1))]
    band, curve, last = stress_curve(history, n_iterations=30)
    assert curve.dimension_values("stress").tolist() == [50.0, 4.0, 0.3]
    assert band.dimension_values("high").tolist() == [70.0, 5.0, 0.4]
    assert band.dimension_values("low").tolist() == pytest.approx([30.0, 3.0, 0.2])
    assert last.dimension_values("iteration").tolist() == [2]
    assert curve.range("iteration") == (0, 30)
    low, high = curve.range("stress")
    assert low == pytest.approx(0.1)
    assert high == pytest.approx(100)


@pytest.mark.parametrize(
    "history",
    [(), [(0, stress(math.nan))], [(0, stress(0.0))], [(0, stress(1.0, 3.0))]],
)
def test_what_a_log_axis_cannot_show_is_left_out_and_still_drawn(history):
    plot = hv.render(stress_curve(history, n_iterations=5), backend="bokeh")
    assert plot.y_range.start > 0
    assert plot.y_range.end >= 100 * plot.y_range.start


@pytest.mark.parametrize(
    "history",
    [(), [(0, stress(math.nan)), (3, stress(1.0, 3.0))], [(0, stress(50.0, 20.0)), (2, stress(4))]],
)
def test_the_figure_of_a_page_shows_what_the_curve_shows(history):
    band, curve, last = stress_curve(history, n_iterations=30)
    made = StressFigure()
    made.show([(7, stress(1e6))], n_iterations=5)
    made.show(history, n_iterations=30)
    assert (made.figure.x_range.start, made.figure.x_range.end) == curve.range("iteration")
    assert (made.figure.y_range.start, made.figure.y_range.end) == curve.range("stress")
    area, line, point = (renderer.data_source.data for renderer in made.figure.renderers)
    np.testing.assert_array_equal(line["x"], curve.dimension_values("iteration"))
    np.testing.assert_array_equal(line["y"], curve.dimension_values("stress"))
    np.testing.assert_array_equal(area["low"], band.dimension_values("low"))
    np.testing.assert_array_equal(area["high"], band.dimension_values("high"))
    np.testing.assert_array_equal(point["x"], last.dimension_values("iteration"))


def test_the_numbers_are_readable():
    progress = RunProgress(12, 30, 0.4, 38.4e6, 1.2, 75.0, 5.0, stress(0.0153, 0.00078))
    html = numbers_html(RunState.RUNNING, progress)
    for text in ("12 of 30", "38.4M updates/s", "1 min 15 s", "0.0153 ± 0.00078", "median"):
        assert text in html
    unsure = numbers_html(RunState.RUNNING, replace(progress, stress=stress(0.0054, 0.0082)))
    assert "<dd" in unsure
    assert ">below 0.014<" in unsure, "an interval wider than the mean"
    assert "±" not in unsure
    assert [plain(x, 3) for x in (0.0153, 262.4, 43_210.0, 1.5e9)] == [
        "0.0153",
        "262",
        "43,200",
        "1.5e+09",
    ]


def test_a_note_fits_into_a_narrow_figure():
    plot = plain_figure("narrow")
    note = EmptyNote(plot)
    words = "Press Run to see the effects of all variants."
    note.show(words)
    label = plot.select_one(Label)
    lines = {}
    for width in (700, 110, 20, 700):
        plot.trigger("inner_width", None, width)
        lines[width] = label.text.splitlines()
        assert " ".join(lines[width]) == words
    assert len(lines[700]) == 2
    assert max(map(len, lines[110])) * 7 <= 110
    assert max(map(len, lines[20])) == len("variants.")
