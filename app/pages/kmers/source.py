"""Where the index comes from: samples, files on the server, uploads, or the graph that is open."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz_app.parts.sequence_picker import SequencePicker
from genoviz_app.session.session import Session

FORMATS = "FASTA (.fa, .fna, also .gz), .2bit, or an index (.gvfm)"


class IndexPicker(SequencePicker):
    """Four ways to an index, and how far its building is.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, session.indexes, FORMATS)
        self.graph_button = pmui.Button(
            label="Index the open graph",
            icon="hub",
            description="Index the open graph: k-mers are then found on its paths",
            size="small",
            variant="outlined",
            sizing_mode="stretch_width",
            margin=(10, 0, 4, 0),
        )
        self.graph_button.on_click(lambda _: self.open_graph())
        self.panel.insert(1, self.graph_button)
        session.param.watch(self._show_graph, "opened")
        self._show_graph()

    def open_graph(self) -> None:
        """Build the index of the graph that is open."""
        if self._session.opened is None:
            self._session.problem = "No graph is open: open one on the Pangenome page first."
        else:
            self._session.indexes.open_graph(self._session.opened)

    def _show_graph(self, *_events: Any) -> None:
        self.graph_button.disabled = self._session.opened is None
