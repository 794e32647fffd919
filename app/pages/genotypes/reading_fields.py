"""What files do not say: the autosomes of the species, and whose rows a table without IDs has."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz_app.session.session import Session


class ReadingFields:
    """Fields of the sidebar that are seen once genotypes are open, or a table waits for an answer.

    Attributes
    ----------
    autosomes, by_row_order, panel
        The number of autosomes, the button that takes rows in the order of the samples, and the
        Panel object.
    """

    def __init__(self, session: Session) -> None:
        self._files = session.genotypes
        self.autosomes = pmui.IntInput(
            label="Autosomes of the species", value=HUMAN_AUTOSOMES, start=1, size="small",
            description="The numbers after it are X, Y, XY and MT: 22 for humans, 29 for cattle",
            sizing_mode="stretch_width", margin=(10, 0, 4, 0),
        )  # fmt: skip
        self.by_row_order = pmui.Button(
            label="Take rows in order", icon="low_priority", variant="outlined", size="small",
            description="Take rows in order: the first row is of the first sample, and so on",
            margin=(4, 0),
        )  # fmt: skip
        self.autosomes.param.watch(self._take_autosomes, "value")
        self.by_row_order.on_click(lambda _: self._files.take_by_row_order())
        self._files.param.watch(self._follow, ["opened", "strangers"])
        self.panel = pmui.Column(
            self.autosomes, self.by_row_order, sizing_mode="stretch_width", margin=0
        )
        self._follow()

    def _follow(self, *_events: Any) -> None:
        opened = self._files.opened
        n = None if opened is None else opened.genotypes.n_autosomes
        with pn.io.hold():
            self.autosomes.param.update(value=n or HUMAN_AUTOSOMES, visible=opened is not None)
            self.by_row_order.visible = self._files.strangers is not None

    def _take_autosomes(self, event: Any) -> None:
        if event.new is not None:
            self._files.set_autosomes(event.new)
