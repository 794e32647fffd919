"""The tables that share their width among columns, and are searched."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pandas as pd
import panel as pn
import pytest
from panel.models.tabulator import CellClickEvent

from genoviz_app.parts.remote_table import Column, FittingTable, RemoteTable, TableRows

FRAME = pd.DataFrame({"name": ["Ann", "Bo", "Cy"], "place": ["x", "y", "z"], "n": [1, 2, 3]})


class Narrow(FittingTable):
    min_widths = (("place", 90),)
    usual_widths = MappingProxyType({"name": 20})
    shares = (("place", 15),)


def test_columns_share_the_width_in_proportion_to_their_per_cents():
    table = Narrow(FRAME, widths={"name": "30%", "place": "10%", "n": 50}, show_index=False)
    columns = {c["field"]: c for c in table.get_root().configuration["columns"] if "field" in c}
    assert columns["name"]["widthGrow"] == pytest.approx(2 / 3)
    assert columns["place"]["widthGrow"] == pytest.approx(1 / 3)
    assert "width" not in columns["name"]
    assert "widthGrow" not in columns["n"]
    assert columns["place"]["minWidth"] == 90
    assert 20 < columns["name"]["minWidth"] < 60, "the title is whole"


def test_rows_are_found_by_their_words_in_any_case():
    rows = TableRows(FRAME, np.array(["ann", "bo"]), np.array([0, 1, 1]))
    assert rows.find("  ") is FRAME
    assert rows.find(" O ")["name"].tolist() == ["Bo", "Cy"]
    assert rows.find("AN")["name"].tolist() == ["Ann"]
    assert rows.find("q")["name"].tolist() == []


def test_a_table_is_made_when_it_has_rows_or_is_shown():
    columns = (Column("name"), Column("n", is_number=True))
    table = RemoteTable(columns, placeholder="", on_row=lambda _: None)
    table.clear("Nothing yet")
    assert not table.place.select(FittingTable)
    rows = TableRows(FRAME[["name", "n"]], np.array([]), np.zeros(3, np.int64), hidden=("n",))
    table.show(rows)
    (made,) = table.place.select(FittingTable)
    assert made.value["name"].tolist() == ["Ann", "Bo", "Cy"]
    assert "3 rows" in table.count.object
    shown = RemoteTable(columns, placeholder="", on_row=lambda _: None)
    shown.clear("Nothing yet")
    assert shown.place.get_root().data.objects
    assert shown.table.value.columns.tolist() == ["name", "n"]
    assert "Nothing yet" in shown.count.object


@pytest.mark.parametrize("kind", [pn.widgets.Tabulator, FittingTable])
def test_what_is_clicked_and_selected_is_as_in_a_table_of_panels(kind):
    """On the second page of rows of which some were left out."""
    frame = pd.DataFrame({"n": range(60)})[lambda all_rows: all_rows["n"] % 2 == 0]
    table, clicked = kind(frame, pagination="remote", page_size=20, disabled=True), []
    table.on_click(lambda event: clicked.append((event.row, event.value)))
    model = table.get_root()
    table.page = 2
    table._process_event(CellClickEvent(model, "n", 3))
    table.selection = [21, 3]
    selected = list(model.source.selected.indices)
    table.selection = []
    table.param.update(value=frame.iloc[:3], page=1)
    assert clicked == [(23, 46)]
    assert (selected, list(model.source.selected.indices)) == ([1], [])
    assert list(model.source.data["n"]) == [0, 2, 4]


@pytest.mark.parametrize("n_rows", [0, 1, 45])
def test_a_page_is_sent_as_panel_sends_it(n_rows):
    """Of each kind of value, with what is missing; the frame stays as it is."""
    numbers = np.arange(n_rows)
    frame = pd.DataFrame(
        {
            "text": [f"t{n}" if n % 7 else None for n in numbers],
            "n": numbers,
            "x": np.where(numbers % 5, numbers / 3, np.nan),
            "is": numbers % 2 == 0,
            "any": pd.Series([n if n % 2 else "odd" for n in numbers], dtype=object),
            3: pd.to_datetime(numbers, unit="D"),
        }
    )[::-1]
    before = frame.copy()
    tables = [
        kind(frame, pagination="remote", page_size=20)
        for kind in (pn.widgets.Tabulator, FittingTable)
    ]
    for page in range(1, max(1, -(-n_rows // 20)) + 1):
        for table in tables:
            table.page = page
        (rows, expected), (own_rows, found) = (table._get_data() for table in tables)
        assert own_rows.equals(rows)
        assert list(found) == list(expected)
        for name in expected:
            assert np.asarray(found[name]).dtype == np.asarray(expected[name]).dtype, name
            pd.testing.assert_series_equal(pd.Series(found[name]), pd.Series(expected[name]))
    pd.testing.assert_frame_equal(frame, before)
