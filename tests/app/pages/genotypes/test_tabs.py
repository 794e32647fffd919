"""The tabs of the Genotypes page: each is made when it is first shown."""

from __future__ import annotations

import panel as pn
import pytest
from bokeh.plotting import figure

from genoviz import simulate_genotypes, write_plink
from genoviz_app.pages.genotypes import GenotypesPage
from genoviz_app.parts.turn import Turn
from tests.app.conftest import poll_until

TABS = ("Quality", "Samples", "Association", "Sets", "Prediction")


@pytest.fixture
def page(session, tmp_path):
    write_plink(simulate_genotypes(30, 40, seed=1), tmp_path / "herd")
    page = GenotypesPage(session)
    session.genotypes.open(str(tmp_path / "herd.bed"))
    return page


def figures(panel):
    return set(panel.select(pn.pane.Bokeh))


def test_the_figures_of_a_tab_are_made_when_it_is_shown(session, page):
    assert figures(page.content) == set()

    def poll():
        session.poll()
        page.poll()

    made = set()
    for tab in TABS:
        page.views.show(tab)
        made |= figures(page.views.view(tab).panel)
        poll_until(poll, lambda made=made: figures(page.content) == made)
    for tab in TABS:
        page.views.show(tab)
        assert figures(page.content) == made


def test_tables_wait_for_the_browser_to_lay_out_their_tab(session, page):
    quality = page.views.view("Quality")
    poll_until(lambda: (session.poll(), page.poll()), lambda: quality.variants.listed is not None)
    for _ in range(9):
        page.poll()
    assert not quality.panel.select(pn.widgets.Tabulator)
    quality.figures.figures["maf"].plot.trigger("inner_width", None, 300)
    poll_until(page.poll, lambda: len(list(quality.panel.select(pn.widgets.Tabulator))) == 1)


def test_a_turn_knows_whether_its_figure_is_laid_out():
    plot = figure()
    turn = Turn(plot, lambda: None)
    for width, expected in ((0, False), (300, True), (0, True)):
        plot.trigger("inner_width", None, width)
        assert turn.is_laid_out == expected


def test_the_tab_of_prediction_is_made_when_it_is_needed(session, page):
    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: page.state.opened is not None)
    page.state.choose_variant(3)
    assert page.link.blup == page.link.pedigree == ""
    assert page.views.made("Prediction") is None
    page.views.show("Prediction")
    assert page.views.made("Prediction") is None, "the tab before has left the screen first"
    assert [place.visible for place in page.views.panel[1:]] == [*[False] * 4, True]
    poll_until(poll, lambda: page.views.made("Prediction") is not None)
    made = page.views.made("Prediction")
    assert made is page.views.view("Prediction")
    assert made.is_shown
    assert made.effects._chosen == 3
    page.views.show("Quality")
    assert not made.is_shown
