"""Observed against expected p-values of the scan, and how far they are inflated."""

from __future__ import annotations

from typing import Any

import panel as pn
from bokeh.events import Tap

from genoviz.analyses.genotypes.association.quantiles import Quantiles, scan_quantiles
from genoviz_app.pages.genotypes.association.manhattan_points import names_of
from genoviz_app.pages.genotypes.association.words import inflation_text, p_texts
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.qq import QuantileFigure

NEAR = 0.05
"""Which share of the axes a click may be away from a dot."""


class QuantilePanel:
    """A figure of quantiles; a click picks the variant of a dot.

    Attributes
    ----------
    figure, quantiles, panel
        The figure, what it shows, and the Panel object.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.quantiles: Quantiles | None = None
        self.figure = QuantileFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        self._asked = Question(state.session, "quantiles of a scan", self._take)
        self.figure.plot.on_event(Tap, self._take_tap)
        self.panel = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)
        state.param.watch(self._follow, "scan")

    def poll(self) -> None:
        """Draw what is ready."""
        self._asked.poll()

    def _follow(self, *_events: Any) -> None:
        scan = self._state.scan
        self._asked.drop()
        if scan is None:
            self._take(None)
        else:
            self._asked.ask(scan_quantiles, scan.minus_log10_p)

    def _take(self, quantiles: Quantiles | None) -> None:
        self.quantiles = quantiles
        self._turn.ask()

    def _draw(self) -> None:
        found, state = self.quantiles, self._state
        if found is None or state.scan is None or state.subject is None:
            self.figure.show({"x": [], "y": [], "name": [], "text": []},
                             {"x": [], "low": [], "high": []}, "")  # fmt: skip
            return
        dots = {
            "x": found.expected,
            "y": found.observed,
            "name": names_of(state.subject.variants, found.tests),
            "text": p_texts(found.observed),
        }
        band = {"x": found.expected, "low": found.low, "high": found.high}
        self.figure.show(dots, band, inflation_text(state.scan.lambda_gc))

    def _take_tap(self, event: Any) -> None:
        found = self.quantiles
        if found is None or event.x is None or not len(found.tests):
            return
        plot = self.figure.plot
        across = (found.expected - event.x) / plot.x_range.end
        up = (found.observed - event.y) / plot.y_range.end
        distances = across**2 + up**2
        best = int(distances.argmin())
        if distances[best] <= NEAR**2:
            self._state.choose_variant(int(found.tests[best]))
