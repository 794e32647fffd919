"""The choice of k: a number, and a slider for the usual ones."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.session.address import MAX_K

SLIDER_END = 64


class KField:
    """A field and a slider that follow the k of the page."""

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
        self.number.param.watch(self._take, "value")
        self.slider.param.watch(self._take, "value_throttled")
        state.param.watch(self._follow, "k")

    def _take(self, event: Any) -> None:
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
