"""Figures of the Genotypes page: what they draw, and what they say while they are empty."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz_app.parts import questions
from genoviz_app.parts.questions import Watched
from genoviz_app.plots.histograms import QualityHistogram, bin_values
from genoviz_app.plots.manhattan import ManhattanFigure, QuantileFigure
from genoviz_app.plots.one_variant import RegionFigure
from genoviz_app.plots.prediction import PredictionFigure
from genoviz_app.plots.samples import MatrixFigure, ScatterFigure
from genoviz_app.theme import CHART_THEME

NOTHING, VALUES = np.empty(0), np.array([0.5, 1.5, 2.5])
NAMES = np.array(["a", "b", "c"])


def histogram(on_threshold=lambda _: None, drops_below=True, watched=None):
    return QualityHistogram(
        "some", "x", "y", drops_below=drops_below, on_threshold=on_threshold,
        on_bar=lambda *_: None, watch=watch_in({} if watched is None else watched),
    )  # fmt: skip


def watch_in(watched):
    """What waits is put into this dictionary, as into that of a session."""
    return partial(Watched, SimpleNamespace(watched=watched))


def show_scatter(figure, values):
    names = NAMES[: len(values)]
    figure.show(
        values, values, values, labels=("x", "y"), names=(names, names), palette=("#fff",),
        ends=(0, 1),
    )  # fmt: skip


def show_region(figure, values):
    if not len(values):
        figure.show_nothing("no variant")
        return
    dots = dict.fromkeys(figure.dots.data, values)
    figure.show(dots, (0, 3), 8, "x", "three variants")


def show_manhattan(figure, values):
    if not len(values):
        figure.show_nothing("no scan")
        return
    figure.show(dict.fromkeys(figure.dots.data, values), (0, 1), "y")


def show_quantiles(figure, values):
    band = {"x": values, "low": values, "high": values}
    figure.show(dict.fromkeys(figure.dots.data, values), band, "")


def test_the_axis_of_a_manhattan_plot_has_its_ends_and_its_label():
    figure = ManhattanFigure("some", "p")
    figure.show({name: [] for name in figure.dots.data}, (2.5, 9.0), "Observed")
    assert (figure.plot.y_range.start, figure.plot.y_range.end) == (2.5, 9.0)
    assert figure.plot.yaxis[0].axis_label == "Observed"


FIGURES = {
    "scatter": (lambda: ScatterFigure(lambda _: None), show_scatter),
    "matrix": (
        lambda: MatrixFigure(lambda _: None, lambda *_: None),
        lambda figure, values: figure.draw(np.outer(values, values), (0, 3, 0, 3)),
    ),
    "prediction": (
        PredictionFigure,
        lambda figure, values: figure.show(
            {"x": values, "y": values, "name": list(values)}, {"x": [], "y": []}, ("x", "y")
        ),
    ),
    "histogram": (
        histogram,
        lambda figure, values: figure.show(bin_values(values, 0, 3)),
    ),
    "region": (RegionFigure, show_region),
    "manhattan": (lambda: ManhattanFigure("some", "p"), show_manhattan),
    "quantiles": (lambda: QuantileFigure("quantiles"), show_quantiles),
}


@pytest.mark.parametrize("name", FIGURES)
def test_an_empty_figure_has_words_in_the_place_of_numbers(name):
    make, show = FIGURES[name]
    figure = make()
    for values in (NOTHING, VALUES, NOTHING):
        show(figure, values)
        is_empty = not len(values)
        assert bool(figure.note.words) == is_empty
        assert all(axis.visible != is_empty for axis in figure.plot.axis)
        assert not (is_empty and any(grid.visible for grid in figure.plot.grid))
    show(figure, VALUES)
    assert figure.plot.ygrid[0].visible == (name != "matrix")


def test_the_words_above_variants_are_in_lines_that_fit():
    figure = RegionFigure()
    show_region(figure, VALUES)
    assert figure.words.text == "three variants"
    figure.plot.trigger("inner_width", None, 60)
    assert figure.words.text == "three\nvariants"
    show_region(figure, NOTHING)
    figure.plot.trigger("inner_width", 60, 600)
    assert figure.words.text == ""


def test_the_light_theme_leaves_what_stands_on_the_dark_ground_of_figures_legible():
    for figure in (MatrixFigure(lambda _: None, lambda *_: None), RegionFigure()):
        kinds = {kind.__name__ for part in figure.plot.right for kind in type(part).__mro__}
        assert kinds & set(CHART_THEME["attrs"]) == {"ColorBar"}


def test_the_scale_of_linkage_is_named_beside_its_highest_number():
    (bar,) = RegionFigure().plot.right
    assert not bar.title
    assert bar.major_label_overrides == {1: "r² = 1"}
    assert bar.ticker.ticks[-1] == bar.color_mapper.high == 1


def test_each_value_is_of_the_bin_that_counts_it():
    inside = [0, 0.5, 1, 1, np.nextafter(2, 0), 2, 2.5, 3]
    values = np.array([-1, *inside, 3 + 1e-12, 7, np.nan, np.inf])
    bins = bin_values(values, 0, 3, n_bins=3)
    holds = np.array([bins.holds(place, values) for place in range(3)])
    assert bins.counts.tolist() == holds.sum(1).tolist() == [3, 3, 5]
    assert holds.sum(0).tolist() == np.isfinite(values).tolist()
    assert bins.n_beyond == 2
    assert [bins.say(place, unit=" %") for place in (1, 2)] == ["1 to 2 %", "2 to 3 % and more"]
    assert bin_values(values, 0, 7, n_bins=7).say(6, digits=".2f") == "6.00 to 7.00"


@pytest.mark.parametrize("seed", range(5))
def test_bins_part_values_on_their_edges_as_they_count_them(seed):
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0, 100, 2)).tolist()
    edges = np.linspace(low, high, 41)
    values = np.concatenate([np.nextafter(edges, 200), edges, np.nextafter(edges[1:], 0)])
    bins = bin_values(values, low, high)
    assert bins.counts.tolist() == [bins.holds(place, values).sum() for place in range(40)]


def test_a_click_gives_the_bin_below_the_pointer_if_it_has_a_bar():
    given = []
    figure = QualityHistogram(
        "some", "x", "y", drops_below=None, on_threshold=None,
        on_bar=lambda bins, place: given.append((bins, place)), watch=watch_in({}),
    )  # fmt: skip
    figure._on_tap(SimpleNamespace(x=0.5))
    bins = bin_values(np.array([0.5, 2.5]), 0, 3, n_bins=3)
    figure.show(bins)
    for x in (0, 0.99, 1, 1.99, 2, 2.99, 3.01, -0.01, None):
        figure._on_tap(SimpleNamespace(x=x))
    assert given == [(bins, 0), (bins, 0), (bins, 2), (bins, 2)]


@pytest.mark.parametrize("drops_below", [True, False])
def test_a_line_that_is_dragged_is_taken_once_when_it_rests(monkeypatch, drops_below):
    taken, now, watched = [], [0.0], {}
    monkeypatch.setattr(questions.time, "monotonic", lambda: now[0])
    figure = histogram(taken.append, drops_below, watched)

    def poll():
        for each in tuple(watched):
            each.look()

    figure.show(bin_values(VALUES, 0, 3))
    for step in range(20):
        figure.line.location = step / 4
        now[0] += 0.03
        poll()
    assert taken == []
    now[0] += 0.08
    poll()
    poll()
    assert taken == [3.0]
    figure.place_line(1.0)
    now[0] += 1
    poll()
    assert taken == [3.0]
    assert (figure.shade.right if drops_below else figure.shade.left) == 1.0
    link = figure.line.js_property_callbacks["change:location"][0]
    assert list(link.args.values()).count(figure.shade) == 1
