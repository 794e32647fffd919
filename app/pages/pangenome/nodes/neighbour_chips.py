"""The nodes beyond the two ends of a node, to be clicked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.model import PangenomeGraph

N_CHIPS = 8


class NeighbourChips:
    """Two rows of chips, for the left and for the right end.

    Parameters
    ----------
    on_pick
        Called with the node that is clicked.
    """

    def __init__(self, on_pick: Callable[[int], None]) -> None:
        self._on_pick = on_pick
        self._nodes = {side: [] for side in ("Left", "Right")}
        self._parts = {side: self._make_side(side) for side in self._nodes}
        self.panel = pmui.Column(
            *(row for row, _chips, _more in self._parts.values()),
            sizing_mode="stretch_width",
            margin=(4, 0),
        )

    def _make_side(self, side: str) -> tuple[pn.FlexBox, list[pmui.Chip], pmui.Typography]:
        chips = []
        for place in range(N_CHIPS):
            chip = pmui.Chip(
                label="", size="small", variant="outlined", visible=False, margin=(1, 4, 1, 0)
            )
            chip.on_click(lambda _, place=place: self._on_pick(self._nodes[side][place]))
            chips.append(chip)
        more = pmui.Typography("", variant="caption", margin=(3, 0), visible=False)
        title = pmui.Typography(side, variant="caption", width=40, margin=(3, 4, 0, 0))
        row = pn.FlexBox(title, *chips, more, sizing_mode="stretch_width", margin=0)
        return row, chips, more

    def show(self, graph: PangenomeGraph, left: np.ndarray, right: np.ndarray) -> None:
        """Show the handles (node << 1, with 1 when entered through the right end) of a node."""
        for side, handles in (("Left", left), ("Right", right)):
            row, chips, more = self._parts[side]
            row.visible = len(handles) > 0
            self._nodes[side] = (handles[:N_CHIPS] >> 1).tolist()
            for place, chip in enumerate(chips):
                chip.visible = place < len(handles)
                if chip.visible:
                    handle = int(handles[place])
                    turned = " (turned)" if handle & 1 == (side == "Right") else ""
                    chip.label = f"{graph.node_names[handle >> 1]}{turned}"
            n_more = len(handles) - N_CHIPS
            more.param.update(object=f"and {n_more:,} more", visible=n_more > 0)
