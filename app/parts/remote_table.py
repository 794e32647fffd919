"""Tables of which the browser holds one page: searched and sorted on the server, rows clickable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
from bokeh.models.widgets.tables import NumberFormatter

MAX_ROWS = 100_000

# The table's own theme comes later than these rules, hence the emphasis.
TABLE = """
.tabulator { font-size: 12px !important; border: none; background: transparent; }
.tabulator .tabulator-header .tabulator-col .tabulator-col-content { padding: 4px 8px !important; }
.tabulator .tabulator-header .tabulator-col-title { font-size: 12px !important; }
.tabulator-row { min-height: 25px !important; cursor: pointer; }
.tabulator-row .tabulator-cell { font-size: 12px !important; height: 25px !important;
  min-height: 0 !important; padding: 3px 8px !important; font-variant-numeric: tabular-nums; }
.tabulator .tabulator-footer { padding: 0 4px !important; min-height: 30px; }
.tabulator .tabulator-footer .tabulator-footer-contents { padding: 1px 4px !important; }
.tabulator .tabulator-footer .tabulator-page { font-size: 11.5px; padding: 2px 8px !important;
  margin: 1px !important; }
"""
COUNT = """
:host { font-size: 12px; line-height: 1.4; font-variant-numeric: tabular-nums; }
p { margin: 8px 0 0; opacity: 0.8; }
"""


@dataclass(frozen=True)
class Column:
    """A column: its title, whether it holds numbers and how they are written, and its width.

    The width is a share; numbers written with a point are not whole.
    """

    title: str
    is_number: bool = False
    share: int = 1
    format: str = "0,0"

    @property
    def dtype(self) -> str:
        """Type of the values."""
        if not self.is_number:
            return "str"
        return "float64" if "." in self.format else "int64"


@dataclass(frozen=True, eq=False)
class TableRows:
    """What a table shows.

    Attributes
    ----------
    frame
        The rows; its index counts them from 0.
    words
        str array: the different texts that are searched, in lower case.
    word_of_row
        int64, shape (n_rows,): which of ``words`` each row has.
    note
        What there is to say of the rows, e.g. that there are more.
    hidden
        Columns that have nothing to say.
    """

    frame: pd.DataFrame
    words: np.ndarray
    word_of_row: np.ndarray
    note: str = ""
    hidden: tuple[str, ...] = ()

    def find(self, text: str) -> pd.DataFrame:
        """Return the rows whose words have a text in them, in any case."""
        if not text.strip() or not len(self.words):
            return self.frame
        is_found = np.char.find(self.words, text.strip().lower()) >= 0
        return self.frame[is_found[self.word_of_row]]


class RemoteTable:
    """A table with a search field.

    Parameters
    ----------
    columns
        The columns of the frames to come.
    placeholder
        What the search field says.
    on_row
        Called with the number of the row that is clicked.
    page_size
        Rows of a page, which then scrolls; by default as many as there is room for.
    min_width
        How narrow a column may become, in pixels.

    Attributes
    ----------
    search, count, place
        Panel objects: the field, how many rows there are, and where the table stands.
    table
        The table; another one when other columns are shown.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        placeholder: str,
        on_row: Callable[[int], None],
        page_size: int | None = None,
        min_width: int = 74,
    ) -> None:
        self._on_row = on_row
        self._rows: TableRows | None = None
        self.search = pmui.TextInput(
            label="", placeholder=placeholder, size="small", width=190, margin=(2, 10, 2, 0)
        )
        self.count = pn.pane.HTML("", stylesheets=[COUNT], sizing_mode="stretch_width")
        self._columns = tuple(columns)
        self._page_size, self._min_width = page_size, min_width
        self.table = self._make_table(empty_frame(columns))
        self.place = pmui.Column(self.table, sizing_mode="stretch_both", margin=0)
        self.search.param.watch(self._show, "value_input")
        self.panel = pmui.Column(
            pmui.Row(self.search, self.count, sizing_mode="stretch_width", margin=(4, 8, 0, 8)),
            self.place,
            sizing_mode="stretch_both",
            margin=0,
        )

    def _make_table(self, frame: pd.DataFrame, hidden: Sequence[str] = ()) -> pn.widgets.Tabulator:
        numbers = {column.title: column.format for column in self._columns if column.is_number}
        table = pn.widgets.Tabulator(
            frame,
            pagination="remote",
            page_size=self._page_size,
            initial_page_size=20,
            show_index=False,
            disabled=True,
            selectable=1,
            row_height=25,
            layout="fit_columns",
            hidden_columns=list(hidden),
            widths=self._widths(hidden),
            formatters={name: NumberFormatter(format=form) for name, form in numbers.items()},
            text_align=dict.fromkeys(numbers, "right"),
            configuration={
                "columnDefaults": {
                    "headerSortTristate": True,
                    "minWidth": self._min_width,
                }
            },
            stylesheets=[TABLE],
            sizing_mode="stretch_both",
            margin=0,
        )
        table.on_click(self._take_click)
        return table

    def show(self, rows: TableRows) -> None:
        """Show other rows, as far as the search allows."""
        self._rows = rows
        self._show()

    def clear(self, note: str = "") -> None:
        """Show no rows, and say why."""
        self._rows = None
        self.table.value = self.table.value.iloc[:0]
        self.count.object = f"<p>{note}</p>" if note else ""

    def _show(self, *_events: Any) -> None:
        rows = self._rows
        if rows is None:
            return
        found = rows.find(self.search.value_input or "")
        with pn.io.hold():
            if self.table.hidden_columns == list(rows.hidden):
                self.table.param.update(value=found, page=1, selection=[])
            else:
                # A browser that is still making a table cannot change its columns.
                self.table = self._make_table(found, rows.hidden)
                self.place.objects = [self.table]
            total = len(rows.frame)
            count = f"{total:,}" if len(found) == total else f"{len(found):,} of {total:,}"
            self.count.object = f"<p>{count} rows{f'; {rows.note}' if rows.note else ''}</p>"

    def _widths(self, hidden: Sequence[str]) -> dict[str, str]:
        """Return the share of the width that each column has that is shown."""
        shown = [column for column in self._columns if column.title not in hidden]
        n_shares = sum(column.share for column in shown)
        return {column.title: f"{90 * column.share / n_shares:.1f}%" for column in shown}

    def _take_click(self, event: Any) -> None:
        self._on_row(int(self.table.value.index[event.row]))


def empty_frame(columns: Sequence[Column]) -> pd.DataFrame:
    """Return no rows, in columns of the types to come: a table formats by those it sees first."""
    return pd.DataFrame({column.title: pd.Series(dtype=column.dtype) for column in columns})
