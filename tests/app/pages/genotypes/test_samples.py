"""The tab of samples: its tables, its points, and the matrix of those that are picked."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import panel_material_ui as pmui
import pytest

from genoviz import simulate_genotypes, write_plink
from genoviz.analyses.genotypes.relatives import RelatedPairs
from genoviz_app.pages.genotypes import long_table
from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.samples.components_panel import ComponentsPanel
from genoviz_app.pages.genotypes.samples.panel import COLUMNS, SampleList, SubjectRows
from genoviz_app.pages.genotypes.samples.relationship_panel import (
    PAIR_COLUMNS,
    PairRows,
    RelationshipPanel,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.plots.samples import FEW, MANY, ScatterFigure
from genoviz_app.session.lit_sets import Highlight
from tests.app.conftest import poll_until


@pytest.fixture
def pairs():
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    return PairRows(
        RelatedPairs(first, second, np.array([1.0, 0.5, 0.01])), np.array(["a", "b", "c"])
    )


def test_pairs_are_named_by_their_degree(pairs):
    frame = pairs.frame(np.arange(3))
    assert list(frame) == [column.title for column in PAIR_COLUMNS]
    assert frame["Degree"].tolist() == ["twins", "1st", "unrelated"]


def test_pairs_are_found_by_the_id_of_either_sample():
    pairs = PairRows(
        RelatedPairs(np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3)),
        np.array(["Anna", "Bea", "anton"]),
    )
    assert len(pairs) == 3
    for text, found in (("bea", [0, 2]), (" AN", [0, 1, 2]), ("nna", [0, 1]), ("x", [])):
        assert np.flatnonzero(pairs.find(text)).tolist() == found


def test_pairs_are_sorted_by_either_sample_or_how_related_they_are(pairs):
    assert pairs.key("Sample 1").tolist() == ["a", "a", "b"]
    assert pairs.key("Sample 2").tolist() == ["b", "c", "c"]
    assert pairs.key("Related").tolist() == pairs.key("Degree").tolist() == [1, 0.5, 0.01]


def test_a_table_that_was_just_made_shows_other_rows_at_once(session, pairs):
    table = LongTable(session, PAIR_COLUMNS, placeholder="Sample", on_row=lambda _: None)
    place = pmui.Column()
    table.make(place)
    assert not len(place)
    table.show(pairs)
    poll_until(session.poll, lambda: table.listed is not None)
    table.make(place)
    table.show(pairs, np.array([True, False, False]))
    poll_until(session.poll, lambda: len(table.listed.rows) == 1)
    assert len(place) == 1
    assert table.table.table.value["Sample 2"].tolist() == ["b"]
    assert table.said.object == "1 of 3 pairs"


def test_components_are_listed_with_their_digits(session):
    ids, scores = np.array(["a", "b"]), np.array([[-0.1234, 0.5], [0.0312, -0.25]])
    table = LongTable(session, COLUMNS, placeholder="Sample", on_row=lambda _: None)
    place = pmui.Column()
    table.make(place)
    table.show(SubjectRows(ids, ids, None, scores))
    poll_until(session.poll, lambda: table.listed is not None)
    table.make(place)
    shown = table.table.table
    assert shown.value["PC1"].tolist() == scores[:, 0].tolist()
    assert {shown.formatters[name].format for name in ("PC1", "PC2")} == {"0.0000"}


def test_a_click_on_a_sorted_and_filtered_table_picks_the_row_that_is_seen(session, pairs):
    picked = []
    table = LongTable(session, PAIR_COLUMNS, placeholder="Sample", on_row=picked.append)
    table.show(pairs, np.array([False, True, True]))
    table._on_sort("Related", False)
    poll_until(session.poll, lambda: table.listed is not None and len(table.listed.rows) == 2)
    shown = table.table.table.value
    assert shown["Sample 2"].tolist() == ["c", "c"]
    for row in (0, 1):
        table.table._on_click(SimpleNamespace(row=row))
    assert picked == [2, 1]


def test_a_click_on_a_later_part_of_a_long_table_picks_the_row_that_is_seen(
    session, pairs, monkeypatch
):
    monkeypatch.setattr(long_table, "BLOCK", 2)
    picked = []
    table = LongTable(session, PAIR_COLUMNS, placeholder="Sample", on_row=picked.append)
    table.show(pairs)
    poll_until(session.poll, lambda: table.listed is not None)
    assert (table.before.disabled, table.after.disabled) == (True, False)
    table.after.clicks += 1
    assert table.said.object == "3 to 3 of 3 pairs"
    assert (table.before.disabled, table.after.disabled) == (False, True)
    seen = table.table.table.value["Sample 2"].tolist()
    table.table._on_click(SimpleNamespace(row=0))
    assert picked == [2]
    assert seen == [pairs.frame(np.array([2]))["Sample 2"][0]]
    table.table._on_click(SimpleNamespace(row=1))
    assert picked == [2], "there is no such row"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (np.arange(10, 50), [10, 14, 18, 22, 26, 30, 34, 38, 42, 46]),
        (np.arange(10, 16), [10, 11, 12, 13, 14, 15]),
        (np.arange(10, 12), [0, 6, 12, 18, 24, 30, 36, 42, 48, 54]),
    ],
)
def test_the_matrix_is_of_the_picked_samples_or_of_some_of_them(
    session, tmp_path, chosen, expected
):
    write_plink(simulate_genotypes(60, 50, seed=1), tmp_path / "herd")
    state = GenotypeState(session)
    session.genotypes.open(str(tmp_path / "herd.bed"))
    poll_until(session.poll, lambda: state.opened is not None)
    panel = RelationshipPanel(state)
    panel.maximum.value = 10
    state.chosen = chosen
    panel.run()
    poll_until(session.poll, lambda: panel.view is not None)
    assert panel.view.samples.tolist() == expected


@pytest.mark.parametrize(("n", "is_edged"), [(FEW, True), (5 * MANY, False)])
def test_picked_points_keep_their_colour_however_many_there_are(n, is_edged):
    figure = ScatterFigure(lambda _: None)
    places, names = np.arange(n, dtype=float), np.full(n, "")
    figure.show(
        places, places, places, labels=("x", "y"), names=(names, names), palette=("#fff",),
        ends=(0, 1),
    )  # fmt: skip
    points = figure.points
    assert (points.selection_glyph.line_alpha > 0) == is_edged
    others = points.nonselection_glyph.fill_alpha
    assert others * n <= 0.14 * MANY * (1 + 1e-9)
    assert points.selection_glyph.fill_alpha == 1


def test_samples_that_are_lit_have_rings_without_a_graph(session, tmp_path):
    write_plink(simulate_genotypes(20, 30, seed=1), tmp_path / "herd")
    state = GenotypeState(session)
    session.genotypes.open(str(tmp_path / "herd.bed"))
    poll_until(session.poll, lambda: state.opened is not None)
    panel = ComponentsPanel(state)
    panel.run()
    poll_until(session.poll, lambda: state.components is not None)
    ids = state.subject.samples.ids
    names = (f"{ids[4]}#1#chr1", str(ids[9]), "absent")
    session.highlights.light_up(Highlight("some", "sample", samples=names))
    poll_until(session.poll, lambda: session.highlights.sets or session.problem)
    (lit,) = session.highlights.sets
    assert lit.words == "3 samples"
    rings = panel.figure.lit.data
    assert rings["x"].tolist() == state.components.scores[[4, 9], 0].tolist()
    assert rings["y"].tolist() == state.components.scores[[4, 9], 1].tolist()
    assert rings["colour"] == [lit.colour] * 2
    session.highlights.hide(lit.key)
    assert len(panel.figure.lit.data["x"]) == 0


def test_the_buttons_of_picked_samples_have_a_line_of_their_own(session, tmp_path):
    write_plink(simulate_genotypes(20, 30, seed=1), tmp_path / "herd")
    state = GenotypeState(session)
    session.genotypes.open(str(tmp_path / "herd.bed"))
    poll_until(session.poll, lambda: state.opened is not None)
    samples = SampleList(state)
    bar, buttons = samples.panel[0]
    assert isinstance(samples.panel[0], pmui.Column)
    assert bar is samples.table.bar
    assert not buttons.visible
    state.chosen = np.array([3, 4])
    assert buttons.visible
    samples.clear_button.clicks += 1
    assert not buttons.visible
