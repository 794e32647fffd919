"""How many of the listed hits have each PAM, and lie in exons: a click lists those alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.search.genes import CLASSES
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.plots.legend import short_number

ALL = -1
MAX_CHIPS = 5
LOOK: dict[str, Any] = {
    "label": "",
    "size": "small",
    "margin": (0, 10, 2, 0),
    "visible": False,
    "sx": {
        "& .MuiToggleButton-root": {
            "padding": "0 6px",
            "fontSize": "11.5px",
            "lineHeight": "20px",
            "whiteSpace": "nowrap",
        }
    },
}


class HitChips:
    """Two rows of buttons, which are there if there is a choice.

    Attributes
    ----------
    pams, classes, panel
        The buttons, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._is_following = state, False
        self.pams = pmui.RadioButtonGroup(
            options={"All": ALL}, value=ALL, description="The PAM that a site has", **LOOK
        )
        self.classes = pmui.RadioButtonGroup(
            options={"All": ALL}, value=ALL, description="What a site lies in", **LOOK
        )
        self.pams.param.watch(self._take, "value")
        self.classes.param.watch(self._take, "value")
        self.panel = pmui.Row(
            self.pams, self.classes, sizing_mode="stretch_width", margin=(0, 8), visible=False,
            styles={"flex-wrap": "wrap"},
        )  # fmt: skip
        state.param.watch(self._follow, "found")

    def _take(self, _event: Any) -> None:
        if not self._is_following:
            self._state.change(pam=self.pams.value, site_class=self.classes.value)

    def _follow(self, *_events: Any) -> None:
        found = self._state.found
        self._is_following = True
        try:
            with pn.io.hold():
                if found is None:
                    self.panel.visible = False
                    return
                pams, classes = pam_options(found), class_options(found)
                for group, options, value in (
                    (self.pams, pams, found.filter.pam),
                    (self.classes, classes, found.filter.site_class),
                ):
                    value = value if value in options.values() else ALL
                    group.param.update(options=options, value=value, visible=len(options) > 2)
                    # Where words change and the value does not, the browser keeps the old words.
                    group.param.trigger("value")
                self.panel.visible = self.pams.visible or self.classes.visible
        finally:
            self._is_following = False


def pam_options(found: FoundHits) -> dict[str, int]:
    """Return the most frequent PAMs with their counts, and the one that is chosen."""
    counts, names = found.pam_counts, found.result.pams.names
    shown = sorted({*range(min(len(names), MAX_CHIPS)), *([found.filter.pam] * (len(names) > 0))})
    words = {f"{names[k]} {short_number(int(counts[k]))}": k for k in shown if k != ALL}
    return {"All PAMs": ALL, **words}


def class_options(found: FoundHits) -> dict[str, int]:
    """Return what hits lie in with their counts; without genes there is nothing to choose."""
    counts = found.class_counts
    if counts is None:
        return {"All": ALL}
    shown = [k for k in range(len(CLASSES)) if k < len(CLASSES) - 1 or np.any(counts[k:])]
    return {
        "All sites": ALL, **{f"{CLASSES[k]} {short_number(int(counts[k]))}": k for k in shown}
    }  # fmt: skip
