"""The choice of k: a field with a slider, and the tab of distinct and unique k-mers by k."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from genoviz.analyses.sequences.kmer_spectrum import DistinctKmers
from genoviz_app.pages.kmers.state import WAITING, KmerState, RepeatsOf, stored_words
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.kmer_spectrum import CurveFigure
from genoviz_app.session.address import MAX_K

SLIDER_END = 64
LARGEST_KS = {"100": 100, "1,000": 1000, "10,000": 10_000}
TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"


class KField:
    """A field and a slider, synchronized with the page's k."""

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self._is_following = False
        self.number = pmui.IntInput(
            label="k (bases)", value=state.k, start=1, end=MAX_K, size="small", width=104,
            margin=(8, 4, 0, 8),
        )  # fmt: skip
        self.slider = pmui.IntSlider(
            label=f"1 to {SLIDER_END}", show_value=False, value=min(state.k, SLIDER_END),
            start=1, end=SLIDER_END,
            size="small", width=190, margin=(3, 16, 0, 8),
        )  # fmt: skip
        self.panel = pmui.Row(self.number, self.slider, margin=0)
        self.number.param.watch(self._on_change, "value")
        self.slider.param.watch(self._on_change, "value_throttled")
        state.param.watch(self._follow, "k")

    def _on_change(self, event: Any) -> None:
        if event.new is None or self._is_following:
            return
        k = min(max(int(event.new), 1), MAX_K)
        self._state.k = k
        if event.new != k:
            event.obj.value = k

    def _follow(self, event: Any) -> None:
        self._is_following = True
        try:
            with pn.io.hold():
                self.number.value = event.new
                self.slider.value = min(event.new, SLIDER_END)
        finally:
            self._is_following = False


class ChooseKPanel:
    """A tab of the page."""

    title = "Choose k"
    has_figure = True

    def __init__(self, state: KmerState, repeats: RepeatsOf) -> None:
        self._state, self._repeats = state, repeats
        self.is_shown = False
        self._asked: tuple = ()
        self.curves: DistinctKmers | None = None
        self._question = Question(state.session, "k-mers of every k", self._on_answer)
        self.figure = CurveFigure()
        self.figure.note.show(WAITING)
        self._turn = Turn(self.figure.figure, self._draw)
        self.figure.figure.on_event(Tap, self._on_tap)
        self.max_k = pmui.Select(
            label="k up to",
            options=LARGEST_KS,
            value=100,
            size="small",
            width=110,
            margin=(8, 8, 0, 10),
        )
        self.said = pn.pane.HTML(
            WAITING, sizing_mode="stretch_width", margin=(12, 8, 0, 8), stylesheets=[TEXT]
        )
        self.panel = pmui.Column(
            pmui.Row(self.max_k, self.said, sizing_mode="stretch_width", margin=(0, 0, 4, 0)),
            pn.pane.Bokeh(self.figure.figure, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
        )
        state.param.watch(lambda _: self._turn.ask(), "k")
        state.param.watch(self._follow_index, "index")

    def poll(self) -> None:
        """Update the tab."""
        if not self.is_shown or self._state.index is None:
            return
        self._repeats.want()
        repeats = self._repeats.value
        if repeats is None:
            self.said.object = self._repeats.text
        elif (id(repeats), self.max_k.value) != self._asked:
            self._asked = (id(repeats), self.max_k.value)
            maximum = min(self.max_k.value, repeats.longest_stretch)
            self._question.ask(repeats.iter_distinct, maximum or None)

    def _follow_index(self, *_events: Any) -> None:
        self._question.drop()
        self._asked, self.curves = (), None
        self._turn.ask()

    def _on_answer(self, curves: DistinctKmers) -> None:
        self.curves = curves
        self._turn.ask()

    def _draw(self) -> None:
        curves, k = self.curves, self._state.k
        self.figure.chosen.location = k
        self.figure.note.show(self._state.awaited if curves is None else "")
        if curves is None:
            self.figure.show(np.empty(0), np.empty(0))
            self.said.object = "" if self._state.index is not None else WAITING
            return
        if len(self.figure.source.data["k"]) != len(curves.ks):
            self.figure.show(curves.n_distinct, curves.n_unique)
        words = describe_k(curves.n_distinct, curves.n_unique, k)
        self.said.object = words + stored_words(self._state.index)

    def _on_tap(self, event: Any) -> None:
        if event.x is not None and event.x >= 1:
            self._state.k = max(round(event.x), 1)


def describe_k(distinct: np.ndarray, unique: np.ndarray, k: int) -> str:
    """Describe the effect of a k; curves start at k = 1."""
    words = "Click in the chart to choose k. "
    if k <= len(distinct):
        n, once = int(distinct[k - 1]), int(unique[k - 1])
        share = 100 * once / max(n, 1)
        words += f"<b>k = {k:,}</b>: {n:,} distinct k-mers, {once:,} of them unique ({share:.2f} %)"
    if len(distinct):
        too_few = np.flatnonzero(unique < 0.95 * np.maximum(distinct, 1))
        first = int(too_few[-1]) + 1 if len(too_few) else 0
        if first < len(distinct) and distinct[first] > 1:
            words += f". From k = {first + 1:,} on, 95 % are unique"
    return words
