"""The table of the strongest associations: sorted and searched among all variants."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.association.scan_rows import COLUMNS, ScanRows
from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.state import GenotypeState

LIMITS = {"All p": 0.0, "p ≤ 0.05": 1.301, "p ≤ 1e-3": 3.0, "p ≤ 1e-5": 5.0, "p ≤ 5e-8": 7.301}


class AssociationTable:
    """A table with its search field and limit; a click picks a variant.

    Attributes
    ----------
    table, limit, rows, panel
        The table, the largest p-value that is listed, what it lists, and the Panel object.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.rows: ScanRows | None = None
        self.table = LongTable(
            state.session, COLUMNS, placeholder="ID, contig or chr1:1-1000", on_row=self._pick
        )
        self.limit = pmui.Select(
            label="", description="Which p-values are listed", options=LIMITS, value=0.0,
            size="small", width=104, margin=(2, 8, 2, 0),
        )  # fmt: skip
        self.table.bar.insert(1, self.limit)
        self.limit.param.watch(lambda _: self._show(), "value")
        state.param.watch(self._follow, "scan")
        self.panel = self.table.panel

    def poll(self) -> None:
        """Show rows that are ready."""
        self.table.poll()

    @property
    def listed(self) -> np.ndarray:
        """int64: the variants that are listed, in their order."""
        if self.rows is None or self.table.listed is None:
            return np.empty(0, np.int64)
        return self.rows.order[self.table.listed.rows]

    def _follow(self, *_events: Any) -> None:
        scan, subject = self._state.scan, self._state.subject
        has_scan = scan is not None and subject is not None
        self.rows = ScanRows(subject.variants, scan) if has_scan else None
        self._show()

    def _show(self) -> None:
        least = float(self.limit.value or 0.0)
        among = self.rows.strong(least) if self.rows is not None and least else None
        self.table.show(self.rows, among)

    def _pick(self, row: int) -> None:
        if self.rows is not None:
            self._state.choose_variant(int(self.rows.order[row]))
