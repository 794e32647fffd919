"""The tab of samples: its tables, its points, and the matrix of those that are picked."""

from __future__ import annotations

import numpy as np
import panel_material_ui as pmui
import pytest

from app.pages.genotypes.long_table import LongTable
from app.pages.genotypes.pair_rows import PAIR_COLUMNS, PairRows
from genoviz.analyses.genotypes.relatives import RelatedPairs
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


def test_a_table_that_was_just_made_shows_other_rows_at_once(session, pairs):
    table = LongTable(session, PAIR_COLUMNS, placeholder="Sample", on_row=lambda _: None)
    place = pmui.Column()
    table.make(place)
    assert not len(place)
    table.show(pairs)
    poll_until(table.poll, lambda: table.listed is not None)
    table.make(place)
    table.show(pairs, np.array([True, False, False]))
    poll_until(table.poll, lambda: len(table.listed.rows) == 1, timeout=1)
    assert len(place) == 1
    assert table.table.table.value["Sample 2"].tolist() == ["b"]
    assert table.said.object == "1 of 3 pairs"
