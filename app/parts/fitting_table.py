"""A table whose columns share its width, and whose pages are sent without detours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import panel as pn

# The table's own theme comes later than these rules, hence the emphasis. An arrow of sorting is
# over the title, and there when it says something: else it would cut the title off.
TABLE = """
.tabulator { font-size: 12px !important; border: none; background: transparent; }
.tabulator .tabulator-header .tabulator-col .tabulator-col-content { padding: 4px 5px !important; }
.tabulator .tabulator-header .tabulator-col-title { font-size: 12px !important; }
.tabulator-row { min-height: 25px !important; cursor: pointer; }
.tabulator-row .tabulator-cell { font-size: 12px !important; height: 25px !important;
  min-height: 0 !important; padding: 3px 5px !important; font-variant-numeric: tabular-nums; }
.tabulator-row .tabulator-cell > div { overflow: hidden; text-overflow: ellipsis; }
.tabulator-tooltip { color: #14181f; font-weight: normal; }
.tabulator .tabulator-footer { padding: 0 4px !important; min-height: 30px; }
.tabulator .tabulator-footer .tabulator-footer-contents { padding: 1px 4px !important; }
.tabulator .tabulator-footer .tabulator-page { font-size: 11.5px; padding: 2px 8px !important;
  margin: 1px !important; }
.tabulator .tabulator-header .tabulator-col.tabulator-sortable .tabulator-col-title {
  padding-right: 0 !important; }
.tabulator .tabulator-header .tabulator-col .tabulator-col-sorter { opacity: 0; }
.tabulator .tabulator-header .tabulator-col:hover .tabulator-col-sorter,
.tabulator .tabulator-header .tabulator-col[aria-sort="ascending"] .tabulator-col-sorter,
.tabulator .tabulator-header .tabulator-col[aria-sort="descending"] .tabulator-col-sorter {
  opacity: 1; }
.tabulator-tableholder:focus #row-of-keys { outline: 2px solid #4fb3e8; outline-offset: -2px; }
.tabulator .tabulator-tableholder .tabulator-table .tabulator-row.tabulator-selected {
  background-color: rgba(79, 179, 232, 0.26) !important; color: inherit !important; }
.tabulator .tabulator-tableholder .tabulator-table .tabulator-row:not(.tabulator-selected):hover {
  background-color: rgba(79, 179, 232, 0.13) !important; color: inherit !important; }
"""


class RowNumbers:
    """What rows of a table are called, by their places; like a dict, as far as Panel asks it."""

    def __init__(self, index: Sequence[Any]) -> None:
        self._index = index

    def get(self, place: int, default: Any = None) -> Any:
        """Return what the row at a place is called."""
        return self._index[place] if 0 <= place < len(self._index) else default


class FittingTable(pn.widgets.Tabulator):
    """A table whose columns share its width: those with widths in per cent, in proportion to them.

    Otherwise these would stay as wide as they were when the table was made.

    Attributes
    ----------
    min_widths
        Titles of columns that may not become as narrow as others, and how narrow, px.
    """

    min_widths: tuple[tuple[str, int], ...] = ()

    def _get_data(self) -> tuple[Any, dict[str, Any]]:
        """Return the rows, and what the browser has of a page as arrays.

        Bokeh copies a frame twice on the way, half of the time that new rows take.
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
        """Let a row's number be looked up when one is clicked, not all whenever rows come."""
        self._index_mapping = RowNumbers(getattr(self._processed, "index", ()))

    def _update_selected(self, *events: Any, indices: list[int] | None = None) -> None:
        """Take no rows out of all where none is selected."""
        if self.selection or self.value is None:
            super()._update_selected(*events, indices=indices)
        else:
            super(pn.widgets.Tabulator, self)._update_selected(*events, indices=[])

    def _config_columns(self, column_objs: list[Any]) -> list[Any]:
        columns = super()._config_columns(column_objs)
        sharing = [column for column in columns if str(column.get("width")).endswith("%")]
        shares = [float(column.pop("width").removesuffix("%")) for column in sharing]
        for column, share in zip(sharing, shares, strict=True):
            column["widthGrow"] = share / sum(shares)  # pixels of a unit are made whole
        min_widths = dict(self.min_widths)
        for column in columns:
            if column.get("field") in min_widths:
                column["minWidth"] = min_widths[column["field"]]
        return columns
