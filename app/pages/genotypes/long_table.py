"""Tables of millions of rows, searched and sorted on the server and sent in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, WORDS_BELOW
from genoviz_app.parts.words import n_words
from genoviz_app.session.session import Session

BLOCK = 1_000
LISTING = "Listing …"
STYLE = ":host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }"


class Rows(Protocol):
    """The rows of a table of any length.

    Attributes
    ----------
    noun
        Name of a row.
    """

    noun: str

    def __len__(self) -> int:
        """Return the number of rows."""

    def find(self, text: str) -> np.ndarray | None:
        """Return a mask of the rows that match a search, bool; None for all."""

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows as a data frame for display."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns to hide."""


@dataclass(frozen=True)
class Listed:
    """The listed rows in order, int64."""

    source: Rows
    rows: np.ndarray


def list_rows(
    source: Rows, among: np.ndarray | None, text: str, column: str, is_descending: bool
) -> Listed:
    """Return the matching rows, sorted, with NaN last.

    Parameters
    ----------
    among
        bool, shape (n_rows,): the rows to search; None for all.
    text
        The search text; empty for all.
    column, is_descending
        Sort column and direction; "" for the original order.
    """
    found = source.find(text) if text.strip() else None
    if among is not None:
        found = among if found is None else found & among
    rows = np.arange(len(source)) if found is None else np.flatnonzero(found)
    return Listed(source, sort_rows(source, rows, column, is_descending))


def sort_rows(source: Rows, rows: np.ndarray, column: str, is_descending: bool) -> np.ndarray:
    """Sort rows by a column; ties keep their original order."""
    if not column:
        return rows
    keys = source.key(column)[rows]
    if keys.dtype.kind == "f":
        return rows[np.argsort(-keys if is_descending else keys, kind="stable")]
    if not is_descending:
        return rows[np.argsort(keys, kind="stable")]
    return rows[len(rows) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]]


class LongTable:
    """A search field, a table, and buttons for the previous and next block.

    Parameters
    ----------
    session
        Runs the jobs that sort and search.
    columns
        The columns.
    placeholder
        Placeholder of the search field.
    on_row
        Called with the index of the clicked row among all rows, not only the listed ones.
    nothing
        Text while there are no rows to list.

    Attributes
    ----------
    listed
        The listed rows, or None.
    search, table, said, panel
        Panel objects: search field, table, number of rows, and all of these.
    """

    def __init__(
        self,
        session: Session,
        columns: Sequence[Column],
        *,
        placeholder: str,
        on_row: Callable[[int], None],
        nothing: str = "",
    ) -> None:
        self._pick, self._nothing = on_row, nothing
        self._source: Rows | None = None
        self._among: np.ndarray | None = None
        self._order = ("", False)
        self._first = 0
        self.listed: Listed | None = None
        self._listing = Question(session, "rows of a table", self._on_listed)
        self.table = RemoteTable(
            columns, placeholder="", on_row=self._on_row, min_width=58,
            on_sort=self._on_sort,
        )  # fmt: skip
        self.search = pmui.TextInput(
            label="", placeholder=placeholder, size="small", width=210, margin=(2, 10, 2, 0),
            sx={"& .MuiInputBase-input": {"fontSize": "13px", "padding": "6px 10px"}},
        )  # fmt: skip
        self.said = pn.pane.HTML(
            nothing,
            stylesheets=[STYLE],
            margin=(0, 4, 0, 0),
            align="center",
            styles={"flex": "0 1 auto", "min-width": "0"},
        )
        self.before = self._icon("chevron_left", f"The {BLOCK:,} before", -BLOCK)
        self.after = self._icon("chevron_right", f"The next {BLOCK:,}", BLOCK)
        self.search.param.watch(lambda _: self._ask(), "value_input")
        self.bar = pmui.Row(
            self.search, self.said, self.before, self.after,
            sizing_mode="stretch_width", margin=(2, 0, 0, 0), styles={"min-width": "0"},
            sx={**NARROW_WRAPS, **WORDS_BELOW},
        )  # fmt: skip
        self.panel = pmui.Column(
            self.bar, self.table.place,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip

    def _icon(self, icon: str, description: str, step: int) -> pmui.IconButton:
        button = pmui.IconButton(
            icon=icon, description=description, visible=False, size="16px", margin=0,
            align="center", styles={"flex": "none"},
        )  # fmt: skip
        button.on_click(lambda _: self._turn(step))
        return button

    def show(self, source: Rows | None, among: np.ndarray | None = None) -> None:
        """Replace the rows, or the subset of them to list."""
        self._source, self._among = source, among
        self._ask()

    def make(self, place: pmui.Column) -> None:
        """Create the table in its visible container, once there are rows."""
        if self.listed is not None and not len(place):
            place.append(self.table.place)

    def _ask(self) -> None:
        if self._source is None:
            self._listing.drop()
            self.listed = None
            self.table.clear()
            self.said.object = self._nothing
            self.before.visible = self.after.visible = False
            return
        if self.listed is None:
            self.said.object = LISTING
        text = self.search.value_input or ""
        self._listing.ask(list_rows, self._source, self._among, text, *self._order)

    def _on_listed(self, listed: Listed) -> None:
        self.listed, self._first = listed, 0
        self._show()

    def _turn(self, step: int) -> None:
        if self.listed is not None and 0 <= self._first + step < len(self.listed.rows):
            self._first += step
            self._show()

    def _show(self) -> None:
        source, rows = self.listed.source, self.listed.rows
        block = rows[self._first : self._first + BLOCK]
        frame = source.frame(block)
        n, total, last = len(rows), len(source), self._first + len(block)
        words = f"{'' if n == total else f'{n:,} of '}{n_words(total, source.noun)}"
        if n > BLOCK:
            words = f"{self._first + 1:,} to {last:,} of {words}"
        nothing = (np.empty(0, np.str_), np.zeros(len(block), np.int64))
        with pn.io.hold():
            self.table.show(TableRows(frame, *nothing, "", source.hidden))
            self.said.object = words
            self.before.visible = self.after.visible = n > BLOCK
            allow(self.before, "" if self._first else "this is the first page")
            allow(self.after, "" if last < n else "this is the last page")

    def _on_row(self, row: int) -> None:
        if self.listed is not None and self._first + row < len(self.listed.rows):
            self._pick(int(self.listed.rows[self._first + row]))

    def _on_sort(self, column: str, is_descending: bool) -> None:
        self._order = (column, is_descending)
        self._ask()
