"""The table of guides: their hits by mismatches, and what these amount to."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.guide_rows import COLUMNS, guide_rows
from genoviz_app.pages.offtargets.search.search import SearchResult
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import RemoteTable, TableRows

WORST = (
    "Columns 0, 1, ... are hits by mismatches, Exons those that touch an exon; Spec. is the CFD "
    "specificity, Worst the highest CFD but the on-target's."
)
SITES = "Columns 0, 1, ... are sites of all haplotypes by mismatches, each counted once."


class GuideTable:
    """A table; a click lists the hits of one guide.

    Attributes
    ----------
    table, all_button, panel
        The table, the button that lists the hits of all guides, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self._rows = Question(state.session, "rows of guides", self._take_rows)
        self.table = RemoteTable(
            COLUMNS,
            placeholder="Find a guide",
            on_row=self._take_row,
            min_width=24,
            page_size=100,
            is_slim=True,
        )
        self.table.search.width = 150
        self.all_button = pmui.Button(
            label="All guides", size="small", variant="outlined", margin=(4, 8, 0, 0),
            description="List the hits of all guides", visible=False,
        )  # fmt: skip
        self.all_button.on_click(lambda _: state.change(guide=-1))
        self.definition = pmui.IconButton(
            icon="info_outlined", size="18px", margin=(4, 4, 0, 0), visible=False,
            description="What specificity is",
        )  # fmt: skip
        bar = pmui.Row(
            self.table.search, self.table.count, self.definition, self.all_button,
            sizing_mode="stretch_width", margin=(4, 4, 0, 8),
        )  # fmt: skip
        self.panel = pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0)
        state.param.watch(self._follow, ["result", "genes"])
        state.param.watch(self._follow_filter, "filter")

    def poll(self) -> None:
        """Show rows that are ready."""
        self._rows.poll()

    def _follow(self, *_events: Any) -> None:
        result = self._state.result
        if result is None:
            self._rows.drop()
            self.table.clear()
        else:
            self._rows.ask(_rows_of, result, self._state.genes)

    def _take_rows(self, answer: tuple[SearchResult, TableRows]) -> None:
        result, rows = answer
        if result is not self._state.result:
            return
        with pn.io.hold():
            self.table.show(rows)
            self.definition.visible = result.cfd is not None
            self.definition.description = definition_of(result)
        self._follow_filter()

    def _follow_filter(self, *_events: Any) -> None:
        guide = self._state.filter.guide
        result = self._state.result
        self.all_button.visible = result is not None and len(result.query.guides) > 1 and guide >= 0
        index = self.table.table.value.index
        self.table.table.selection = [int(index.get_loc(guide))] if guide in index else []

    def _take_row(self, row: int) -> None:
        self._state.change(guide=row)


def definition_of(result: SearchResult) -> str:
    """Return what the columns of a search mean."""
    sites = result.sites
    if sites is None:
        return f"{WORST} {result.summaries.definition}"
    if sites.reference is None:
        return SITES
    name, definition = sites.reference.name, sites.reference.risks.definition
    return f"{SITES} Worst is the highest CFD in any haplotype, In ref. in {name}. {definition}"


def _rows_of(result: SearchResult, genes: HitGenes | None) -> tuple[SearchResult, TableRows]:
    genes = genes if genes is not None and genes.result is result else None
    return result, guide_rows(result, genes)
