"""Paginated tables that are searched and sorted on the server, with clickable rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
from bokeh.models.widgets.tables import NumberFormatter

from genoviz_app.parts.column_widths import share_width
from genoviz_app.parts.made_when_shown import MadeWhenShown
from genoviz_app.parts.styles import COUNT, TABLE
from genoviz_app.parts.words import n_words

MAX_ROWS = 100_000


@dataclass(frozen=True)
class Column:
    """A column: title, number format if numeric, and width.

    The width is relative to the other columns, and at least ``min_width`` px, by default that of
    the table. A number format with a decimal point means float values. HTML cells must already be
    escaped. A spare column is hidden where there is no room for it.
    """

    title: str
    is_number: bool = False
    share: int = 1
    format: str = "0,0"
    is_html: bool = False
    is_sortable: bool = True
    min_width: int = 0
    is_spare: bool = False

    @property
    def dtype(self) -> str:
        """Type of the values."""
        if not self.is_number:
            return "str"
        return "float64" if "." in self.format else "int64"


class RowNumbers:
    """Row labels by position; has the part of the dict interface that Panel uses."""

    def __init__(self, index: Sequence[Any]) -> None:
        self._index = index

    def get(self, place: int, default: Any = None) -> Any:
        """Return the label of the row at a position."""
        return self._index[place] if 0 <= place < len(self._index) else default


class FittingTable(pn.widgets.Tabulator):
    """A table that distributes its width among its columns, in proportion to widths in per cent.

    Without this, such columns keep the width of the table at its creation.

    Attributes
    ----------
    usual_widths
        Minimum widths of columns by title, px.
    min_widths, shares
        Minimum widths, px, and relative widths of columns by title, where they are not usual.
    spare
        Titles of columns that are hidden where there is no room for them.
    """

    usual_widths: Mapping[str, int] = MappingProxyType({})
    min_widths: tuple[tuple[str, int], ...] = ()
    shares: tuple[tuple[str, int], ...] = ()
    spare: frozenset[str] = frozenset()

    def _get_data(self) -> tuple[Any, dict[str, Any]]:
        """Return the rows, and the data of the browser's page as arrays.

        Bokeh would copy a data frame twice, which takes half of the time of an update.
        """
        value = self.value
        if self.pagination != "remote" or value is None or value.columns.nlevels > 1:
            return super()._get_data()
        if value.index.nlevels > 1 or "index" in value.columns:
            return super()._get_data()
        rows = self._sort_df(self._filter_dataframe(value))
        n_rows = self.page_size or self.initial_page_size
        page = rows.iloc[(self.page - 1) * n_rows : self.page * n_rows]
        data = {page.index.name or "index": page.index.to_numpy(copy=True)}
        for title in page.columns:
            data[str(title)] = self._process_column(page[title].to_numpy(), title, page)
        return rows, data

    def _update_index_mapping(self) -> None:
        """Skip the mapping of all rows; a row's number is looked up when it is clicked."""
        self._index_mapping = RowNumbers(getattr(self._processed, "index", ()))

    def _update_selected(self, *events: Any, indices: list[int] | None = None) -> None:
        """Skip the lookup of selected rows when none is selected."""
        if self.selection or self.value is None:
            super()._update_selected(*events, indices=indices)
        else:
            super(pn.widgets.Tabulator, self)._update_selected(*events, indices=[])

    def _config_columns(self, column_objs: list[Any]) -> list[Any]:
        columns = super()._config_columns(column_objs)
        share_width(columns, dict(self.shares), self.usual_widths | dict(self.min_widths))
        for column in columns:
            column["responsive"] = int(column.get("field") in self.spare)
            column["headerTooltip"] = False  # it would repeat the title, over the first row
        return columns


class SortedElsewhere(FittingTable):
    """A table that keeps the order in which it receives rows, whatever its headers show."""

    def _sort_df(self, df: pd.DataFrame) -> pd.DataFrame:
        return df


@dataclass(frozen=True, eq=False)
class TableRows:
    """The content of a table.

    Attributes
    ----------
    frame
        The rows, with the index 0, 1, 2, ...
    words
        str array: distinct searchable texts, in lower case.
    word_of_row
        int64, shape (n_rows,): index into ``words`` of each row.
    note
        A remark on the rows, e.g. that there are more.
    hidden
        Columns to hide because they are empty.
    min_widths, shares
        Minimum widths, px, and relative widths of columns by title, where they are not usual.
    """

    frame: pd.DataFrame
    words: np.ndarray
    word_of_row: np.ndarray
    note: str = ""
    hidden: tuple[str, ...] = ()
    min_widths: tuple[tuple[str, int], ...] = ()
    shares: tuple[tuple[str, int], ...] = ()

    def find(self, text: str) -> pd.DataFrame:
        """Return the rows whose text contains ``text``, ignoring case."""
        if not text.strip() or not len(self.words):
            return self.frame
        is_found = np.char.find(self.words, text.strip().lower()) >= 0
        return self.frame[is_found[self.word_of_row]]


class RemoteTable:
    """A table with a search field.

    Parameters
    ----------
    columns
        Columns of the data frames.
    placeholder
        Placeholder of the search field.
    on_row
        Called with the number of a clicked row.
    page_size
        Rows per page, which then scrolls; by default, as many as fit.
    min_width
        Minimum width of a column, px.
    on_sort
        Called with the column and whether the order is descending when a header is clicked, and
        with ("", False) when the order is reset. The caller then has to supply sorted rows. By
        default, the table sorts its rows.

    Attributes
    ----------
    place
        The container of the table.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        placeholder: str,
        on_row: Callable[[int], None],
        page_size: int | None = None,
        min_width: int = 74,
        on_sort: Callable[[str, bool], None] | None = None,
    ) -> None:
        self._on_row, self._on_sort = on_row, on_sort
        self._rows: TableRows | None = None
        self._said, self._placeholder, self._columns = "", placeholder, tuple(columns)
        self._page_size, self._min_width = page_size, min_width
        self._table: FittingTable | None = None
        self.place = MadeWhenShown(lambda: [self.table], sizing_mode="stretch_both", margin=0)

    @cached_property
    def search(self) -> pmui.TextInput:
        """The search field."""
        field = pmui.TextInput(
            label="", placeholder=self._placeholder, size="small", width=190, margin=(2, 10, 2, 0)
        )
        field.param.watch(self._show, "value_input")
        return field

    @cached_property
    def count(self) -> pn.pane.HTML:
        """The number of rows."""
        return pn.pane.HTML(self._said, stylesheets=[COUNT], sizing_mode="stretch_width")

    @cached_property
    def panel(self) -> pmui.Column:
        """The search field, the count and the table."""
        return pmui.Column(
            pmui.Row(self.search, self.count, sizing_mode="stretch_width", margin=(4, 8, 0, 8)),
            self.place,
            sizing_mode="stretch_both",
            margin=0,
        )

    @property
    def table(self) -> FittingTable:
        """The table; replaced when the shown columns change."""
        if self._table is None:
            self._table = self._make_table(empty_frame(self._columns))
        return self._table

    def _make_table(
        self,
        frame: pd.DataFrame,
        hidden: Sequence[str] = (),
        widths: tuple[tuple[tuple[str, int], ...], ...] = ((), ()),
    ) -> FittingTable:
        numbers = {column.title: column.format for column in self._columns if column.is_number}
        make = FittingTable if self._on_sort is None else SortedElsewhere
        table = make(
            frame,
            pagination="remote", page_size=self._page_size, initial_page_size=20,
            show_index=False, disabled=True, selectable=1, row_height=25, layout="fit_columns",
            # A cell with an editor takes the focus and drops it at once, which traps the Tab key.
            editors=dict.fromkeys(column.title for column in self._columns),
            hidden_columns=list(hidden),
            sortable={column.title: column.is_sortable for column in self._columns},
            widths={column.title: f"{column.share}%" for column in self._columns},
            formatters={name: NumberFormatter(format=form) for name, form in numbers.items()}
            | {column.title: {"type": "html"} for column in self._columns if column.is_html},
            text_align=dict.fromkeys(numbers, "right"),
            header_align=dict.fromkeys(numbers, "right"),
            configuration={
                "responsiveLayout": "hide",
                "columnDefaults": {
                    "headerSortTristate": True, "headerWordWrap": True, "minWidth": self._min_width,
                    "resizable": "header",  # handles in rows would intercept clicks
                },
            },
            stylesheets=[TABLE], sizing_mode="stretch_both", margin=0,
        )  # fmt: skip
        table.usual_widths = {one.title: one.min_width or self._min_width for one in self._columns}
        table.min_widths, table.shares = widths
        table.spare = frozenset(one.title for one in self._columns if one.is_spare)
        table.on_click(self._on_click)
        if self._on_sort is not None:
            table.param.watch(self._on_sorters, "sorters")
        return table

    @property
    def _n_rows(self) -> int:
        """Rows of a page of the table."""
        return self.table.page_size or self.table.initial_page_size

    def show(self, rows: TableRows, *, keeps_page: bool = False) -> None:
        """Replace the rows, apply the search, and go to the first page unless ``keeps_page``."""
        self._rows = rows
        self._show(page=self.table.page if keeps_page else 1)

    def mark_order(self, column: str, is_descending: bool) -> None:
        """Show in the headers how the rows are sorted; "" for unsorted."""
        sorters = [{"field": column, "dir": "desc" if is_descending else "asc"}] if column else []
        if self.table.sorters != sorters:
            self.table.sorters = sorters

    def select(self, row: int) -> None:
        """Select a row, and go to its page; a search that hides it is cleared."""
        if row not in self.table.value.index and "search" in vars(self):
            self.search.param.update(value="", value_input="")
        if row in (index := self.table.value.index):
            page = 1 + self.table._processed.index.get_loc(row) // self._n_rows
            self.table.param.update(page=page, selection=[index.get_loc(row)])

    def clear(self, note: str = "") -> None:
        """Remove all rows and show the reason."""
        self._rows = None
        if self._table is not None and len(self.table.value):
            self.table.value = self.table.value.iloc[:0]
        self._say(f"<p>{note}</p>" if note else "")

    def _say(self, html: str) -> None:
        self._said = html
        if "count" in vars(self):
            self.count.object = html

    def _show(self, *_events: Any, page: int = 1) -> None:
        rows = self._rows
        if rows is None:
            return
        found = rows.find((self.search.value_input or "") if "search" in vars(self) else "")
        is_first, widths = self._table is None, (rows.min_widths, rows.shares)
        if is_first:
            is_usual = not (rows.hidden or any(widths))
            frame = empty_frame(self._columns) if is_usual else found
            self._table = self._make_table(frame, rows.hidden, widths)
        with pn.io.hold():
            is_alike = self.table.hidden_columns == list(rows.hidden)
            if is_alike and (self.table.min_widths, self.table.shares) == widths:
                page = max(min(page, -(-len(found) // self._n_rows)), 1)
                self.table.param.update(value=found, page=page, selection=[])
            else:
                # The browser cannot change columns of a table that it is still creating.
                sorters = self.table.sorters
                self._table = self._make_table(found, rows.hidden, widths)
                if self._on_sort is not None:
                    self.table.sorters = sorters
                self.place.objects = [self.table]
            if is_first:  # when it has its rows: those that come while it is made may be lost
                self.place.objects = [self.table]
            of = "" if len(found) == len(rows.frame) else f"{len(found):,} of "
            words = f"{of}{n_words(len(rows.frame), 'row')}"
            self._say(f"<p>{words}{f'; {rows.note}' if rows.note else ''}</p>")

    def _on_sorters(self, event: Any) -> None:
        first = event.new[0] if event.new else {"field": "", "dir": "asc"}
        self._on_sort(first["field"], first["dir"] == "desc")

    def _on_click(self, event: Any) -> None:
        if event.row < len(self.table.value):  # it may have been clicked on before rows left
            self._on_row(int(self.table.value.index[event.row]))


def empty_frame(columns: Sequence[Column]) -> pd.DataFrame:
    """Return no rows, with the dtypes to come: a table derives formats from its first data."""
    return pd.DataFrame({column.title: pd.Series(dtype=column.dtype) for column in columns})
