"""How many hits there are by mismatches and bulge; a click lists those of a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from genoviz_app.pages.offtargets.hits.bulge_kinds import kinds_of, short_kind
from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.hits.place_bins import colour_of
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.offtarget_places import KindsFigure

WIDTH = 196
EDGE, CHOSEN_EDGE = "#151d28", "#ffb454"


class KindsPanel:
    """A figure.

    Attributes
    ----------
    figure, panel
        The figure, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.figure = KindsFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        pane = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(
            pane, sizing_mode="stretch_height", width=WIDTH, margin=(4, 0, 0, 0)
        )
        self.figure.plot.on_event(Tap, self._take_tap)
        state.param.watch(lambda _: self._turn.ask(), "found")

    def _draw(self) -> None:
        found = self._state.found
        if found is None:
            return
        kinds = [short_kind(name) or "None" for name in kinds_of(found.result.query).values()]
        with pn.io.hold():
            self.figure.show(make_cells(found), kinds, found.kind_counts.shape[1])

    def _take_tap(self, event: Any) -> None:
        found = self._state.found
        if found is None or event.x is None:
            return
        numbers, chosen = list(kinds_of(found.result.query)), self._state.filter
        level, row = round(event.x), round(event.y)
        if not (0 <= level < found.kind_counts.shape[1] and 0 <= row < len(numbers)):
            return
        if (chosen.mismatches, chosen.kind) == ((level, level), numbers[row]):
            self._state.change(mismatches=None, kind=-1)
        else:
            self._state.change(mismatches=(level, level), kind=numbers[row])


def make_cells(found: FoundHits) -> dict[str, Any]:
    """Return the cells of the figure, row by row."""
    counts, kinds = found.kind_counts, kinds_of(found.result.query)
    n_levels = counts.shape[1]
    rows, levels = (axis.ravel() for axis in np.indices(counts.shape))
    low, high = found.filter.mismatches or (0, n_levels)
    is_listed = (levels >= low) & (levels <= high)
    if found.filter.kind >= 0:
        is_listed &= np.array(list(kinds))[rows] == found.filter.kind
    is_all = bool(is_listed.all())
    values = counts.ravel()
    names = list(kinds.values())
    return {
        "left": levels - 0.46,
        "right": levels + 0.46,
        "bottom": rows - 0.44,
        "top": rows + 0.44,
        "colour": [colour_of(level) for level in levels.tolist()],
        "alpha": 0.08 + 0.6 * np.log1p(values) / max(float(np.log1p(values).max()), 1.0),
        "text": [_short(value) for value in values.tolist()],
        "edge": [CHOSEN_EDGE if listed and not is_all else EDGE for listed in is_listed.tolist()],
        "x": levels,
        "y": rows,
        "says": [
            f"{n_words(value, 'hit')}: {level} mismatch{'es' * (level != 1)}, "
            f"{names[row] if row else 'no bulge'}"
            for value, level, row in zip(
                values.tolist(), levels.tolist(), rows.tolist(), strict=True
            )
        ],
    }


def _short(value: int) -> str:
    """Return a count as a small cell has room for it."""
    if value < 1_000:
        return str(value)
    size, unit = next((s, u) for s, u in ((1_000_000, "M"), (1_000, "k")) if value >= s)
    return f"{value // size}{unit}"
