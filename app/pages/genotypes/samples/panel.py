"""The tab of samples: their components and relationships, and those that are picked."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz_app.pages.genotypes.samples.components_panel import ComponentsPanel
from genoviz_app.pages.genotypes.samples.relationship_panel import RelationshipPanel
from genoviz_app.pages.genotypes.samples.sample_list import SampleList
from genoviz_app.pages.genotypes.state import GenotypeState

LINE = "1px solid rgba(128, 140, 160, 0.28)"
PATIENCE = 3


class SamplesPanel:
    """A tab of the page.

    Attributes
    ----------
    components, relationships, list, panel
        The scatter, the matrix, the table, and the Panel object.
    """

    title = "Samples"
    has_figure = False

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.is_shown = False
        self._waited = 0
        self.components = ComponentsPanel(state)
        self.relationships = RelationshipPanel(state)
        self.list = SampleList(state)
        self.components.by.param.watch(lambda event: self.list.colour_by(event.new), "value")
        self.list.colour_by(self.components.by.value)
        self.panel = pmui.Column(
            _row(self.components.panel, self.relationships.heat_panel, grow=13),
            _row(self.list.panel, self.relationships.pairs_panel, grow=8, border=LINE),
            sizing_mode="stretch_both", margin=0,
        )  # fmt: skip

    def poll(self) -> None:
        """Bring the tab up to date."""
        is_there = self.is_shown and self.components.is_laid_out
        self._waited = self._waited + 1 if is_there else 0
        if self.is_shown:
            self.components.want()
            self.relationships.want()
        is_shown = self._waited > PATIENCE
        self.relationships.poll(is_shown=is_shown)
        self.list.poll(is_shown=is_shown)


def _row(left: Any, right: Any, *, grow: int, border: str = "none") -> pmui.Row:
    """Return two halves."""
    half = {"flex": "1 1 0", "min-width": "0", "min-height": "0"}
    return pmui.Row(
        pmui.Column(left, sizing_mode="stretch_both", margin=0, styles=half),
        pmui.Column(
            right, sizing_mode="stretch_both", margin=0, styles={**half, "border-left": LINE}
        ),
        sizing_mode="stretch_both", margin=0,
        styles={"flex": f"{grow} 1 0", "min-height": "0", "border-top": border},
    )  # fmt: skip
