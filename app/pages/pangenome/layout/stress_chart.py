"""The chart of path stress beside the picture."""

from __future__ import annotations

import time

import holoviews as hv
import panel as pn

from genoviz_app.pages.pangenome.layout.layout_run import LayoutRun
from genoviz_app.plots.stress_curve import stress_curve

LOOK_SECONDS = 0.5


class StressChart:
    """Sampled path stress of a run over its iterations."""

    def __init__(self, run: LayoutRun) -> None:
        self._run = run
        self._seen: tuple = ()
        self._next_look = 0.0
        self._pipe = hv.streams.Pipe(data=((), 1))
        self._curve = hv.DynamicMap(_draw, streams=[self._pipe])
        self.pane = pn.pane.HoloViews(
            self._curve, sizing_mode="stretch_both", min_height=180, linked_axes=False, margin=0
        )

    def poll(self) -> None:
        """Draw again when the run has a new value."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        history = tuple(self._run.history)
        n_iterations = self._run.settings.n_iterations
        if (id(self._run.history), len(history), n_iterations) != self._seen:
            self._seen = (id(self._run.history), len(history), n_iterations)
            self._pipe.send((history, n_iterations))


def _draw(data: tuple) -> hv.Overlay:
    history, n_iterations = data
    return stress_curve(history, n_iterations=n_iterations)
