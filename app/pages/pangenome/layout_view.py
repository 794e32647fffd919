"""The live layout of one graph: picture, controls and stress. It needs no page around it."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.pages.pangenome.layout.layout_run import LayoutRun, RunState, Submit
from genoviz_app.pages.pangenome.layout.layout_settings import LayoutSettings
from genoviz_app.pages.pangenome.layout.run_controls import RunControls
from genoviz_app.pages.pangenome.layout.stress_chart import StressChart
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.pages.pangenome.picture.picture_bar import PictureBar
from genoviz_app.parts.styles import CARD, PICTURE_CARD
from genoviz_app.server.jobs import KERNELS

POLL_MILLISECONDS = 40


class LayoutView(pn.viewable.Viewer):
    """A graph that unfolds when Run is pressed; shows itself in a notebook cell.

    Parameters
    ----------
    graph
        The graph, or None.
    submit
        How to hand a generator to a job thread.
    height
        CSS height of the whole.

    Examples
    --------
    >>> from genoviz_app import LayoutView                           # doctest: +SKIP
    >>> LayoutView(genoviz.read_gfa("graph.gfa"))                   # doctest: +SKIP
    """

    def __init__(
        self,
        graph: PangenomeGraph | None = None,
        *,
        submit: Submit = KERNELS.submit,
        height: str = "600px",
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.settings = LayoutSettings()
        self.run = LayoutRun(self.settings, submit)
        self.picture = LivePicture(self.run)
        self.bar = PictureBar(self.picture)
        self.controls = RunControls(self.run)
        self.chart = StressChart(self.run)
        self.settings.param.watch(self._show_start, ["initialisation", "seed", "paths"])
        self.panel = self._arrange(height)
        self.set_graph(graph)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Take another graph and show where its nodes start."""
        self.run.set_graph(graph)
        self.bar.set_graph(graph)
        self.picture.fitting.wish = None
        self.picture.fit()

    def load(self, layout: GraphLayout) -> None:
        """Show a layout of the graph that was computed before."""
        self.run.load(layout)
        self.picture.fitting.wish = None
        self.picture.fit()

    def poll(self) -> None:
        """Bring everything up to date with the run; called some twenty times a second."""
        self.run.poll()
        self.picture.poll()
        self.bar.poll()
        self.controls.poll()
        self.chart.poll()

    def start_polling(self) -> None:
        """Keep the view up to date by itself, where no page does it."""
        pn.state.add_periodic_callback(self.poll, period=POLL_MILLISECONDS)

    def __panel__(self) -> Any:
        pn.state.onload(self.start_polling)
        return self.panel

    def _show_start(self, *_events: Any) -> None:
        if self.run.state is RunState.READY:
            self.run.reset()

    def _arrange(self, height: str) -> pmui.Row:
        picture = pmui.Paper(
            self.bar.top,
            self.picture.pane,
            self.bar.legend,
            **PICTURE_CARD,
        )
        layout = pmui.Paper(self.controls.panel, **{**CARD, "sizing_mode": "stretch_width"})
        chart = pmui.Paper(
            pmui.Typography("Sampled path stress", variant="subtitle2", margin=(8, 10, 4, 10)),
            self.chart.pane,
            **PICTURE_CARD,
        )
        side = pmui.Column(layout, chart, width=336, sizing_mode="stretch_height")
        return pmui.Row(
            picture,
            side,
            sizing_mode="stretch_both",
            styles={"height": height, "min-height": "0"},
            margin=0,
        )
