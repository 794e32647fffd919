"""The table of hits: sorted and filtered among all of them, shown some at a time."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.hits.filter_bar import FilterBar, HitChips
from genoviz_app.pages.offtargets.hits.heat_maps import DifferencesPanel, HaplotypesPanel
from genoviz_app.pages.offtargets.hits.listed_rows import BLOCK, COLUMNS, hit_rows
from genoviz_app.pages.offtargets.hits.order import HitOrder
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import RemoteTable, TableRows
from genoviz_app.parts.words import n_words

TABLE, DIFFERENCES, HAPLOTYPES = "Hits", "Differences", "Haplotypes"
ICON: dict[str, Any] = {"size": "16px", "margin": 0}
STYLE = """
:host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }
b { font-family: monospace; font-weight: 600; }
"""


class HitTable:
    """A table with filters; a click looks at a hit.

    Attributes
    ----------
    filters, chips, table, differences, haplotypes, view, said, panel
        The fields, the table, two figures of its hits and which of the three is seen, how many
        hits there are, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._first = state, 0
        self._shown: FoundHits | None = None
        self._shown_first = 0
        self._rows = Question(state.session, "rows of hits", self._on_rows)
        self.filters, self.chips = FilterBar(state), HitChips(state)
        self.table = RemoteTable(
            COLUMNS,
            placeholder="",
            on_row=self._on_row,
            min_width=24,
            is_slim=True,
            on_sort=self._on_sort,
        )
        self.said = pn.pane.HTML(
            "",
            stylesheets=[STYLE],
            sizing_mode="stretch_width",
            margin=(3, 4, 0, 4),
        )
        self.before = self._icon("chevron_left", f"The {BLOCK:,} hits before", -BLOCK)
        self.after = self._icon("chevron_right", f"The next {BLOCK:,} hits", BLOCK)
        self.view = pmui.RadioButtonGroup(
            label="", options=[TABLE, DIFFERENCES], value=TABLE, size="small",
            description="The hits, their mismatches by kind and place, or who has them",
            margin=0, sx={"& .MuiToggleButton-root": {"padding": "0 7px", "fontSize": "12px"}},
        )  # fmt: skip
        self.differences, self.haplotypes = DifferencesPanel(state), HaplotypesPanel(state)
        self.view.param.watch(self._show_view, "value")
        state.param.watch(self._show_view, "result")
        count = pmui.Row(
            self.view, self.said, self.before, self.after, sizing_mode="stretch_width", height=24,
            margin=(0, 8, 2, 8),
        )  # fmt: skip
        self.panel = pmui.Column(
            self.filters.panel, self.chips.panel, count, self.table.place, self.differences.panel,
            self.haplotypes.panel,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip
        state.param.watch(self._follow, "found")
        state.param.watch(self._follow_order, "order")

    def _icon(self, icon: str, description: str, step: int) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, visible=False, **ICON)
        button.on_click(lambda _: self._turn(step))
        return button

    def poll(self) -> None:
        """Bring the figures up to date."""
        self.differences.poll()
        self.haplotypes.poll()

    def _show_view(self, *_events: Any) -> None:
        """Show the table, or a figure of its hits."""
        result = self._state.result
        has_haplotypes = result is not None and result.sites is not None
        options = [TABLE, DIFFERENCES, *([HAPLOTYPES] if has_haplotypes else [])]
        view = self.view.value if self.view.value in options else TABLE
        with pn.io.hold():
            if self.view.options != options:
                self.view.param.update(options=options, value=view)
            self.table.place.visible = view == TABLE
            self.differences.panel.visible = view == DIFFERENCES
            self.haplotypes.panel.visible = view == HAPLOTYPES

    def _follow(self, *_events: Any) -> None:
        found, self._first = self._state.found, 0
        if found is None:
            self._rows.drop()
            self._shown = None
            self.table.clear()
            self.said.object = ""
            self.before.visible = self.after.visible = False
        else:
            self._rows.ask(_rows_of, found, 0)

    def _turn(self, step: int) -> None:
        found = self._state.found
        if found is not None:
            first = self._first + step
            if 0 <= first < len(found):
                self._first = first
                self._rows.ask(_rows_of, found, first)

    def _on_rows(self, answer: tuple[FoundHits, TableRows]) -> None:
        found, rows = answer
        if found is not self._state.found:
            return
        self._shown, self._shown_first = found, self._first
        last, n = self._first + len(rows.frame), len(found)
        with pn.io.hold():
            self.table.show(rows)
            self.before.param.update(visible=n > BLOCK, disabled=self._first == 0)
            self.after.param.update(visible=n > BLOCK, disabled=last >= n)
            self.said.object = self._words(found, last)

    def _words(self, found: FoundHits, last: int) -> str:
        n, total = len(found), len(found.result)
        words = n_words(n, "hit") if n == total else f"{n:,} of {total:,} hits"
        if n > BLOCK:
            words = f"{self._first + 1:,} to {last:,} of {words}"
        return words

    def _on_row(self, row: int) -> None:
        shown = self._shown
        if shown is not None and shown.result is self._state.result:
            self._state.choose_hit(int(shown.rows[self._shown_first + row]))

    def _follow_order(self, *_events: Any) -> None:
        order = self._state.order
        self.table.mark_order("" if order == HitOrder() else order.column, order.is_descending)

    def _on_sort(self, column: str, is_descending: bool) -> None:
        order = HitOrder(column, is_descending) if column else HitOrder()
        if order != self._state.order:
            self._state.order = order


def _rows_of(found: FoundHits, first: int) -> tuple[FoundHits, TableRows]:
    return found, hit_rows(found, first)
