"""The panels under the picture: one is shown, and all can be folded away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import panel as pn
import panel_material_ui as pmui

from genoviz.model import PangenomeGraph
from genoviz_app.parts.styles import CARD

OPEN_HEIGHT, FOLDED_HEIGHT = 268, 42


class DockPanel(Protocol):
    """What stands in the dock under a tab of its own; a panel may have a method ``poll``, too."""

    title: str
    panel: Any

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Take another graph."""


class Dock:
    """Tabs under the picture.

    Parameters
    ----------
    panels
        What the tabs show, in order.

    Attributes
    ----------
    poll
        Brings the panel that is shown up to date; called some twenty times a second.
    """

    def __init__(self, panels: Sequence[DockPanel]) -> None:
        self._panels = tuple(panels)
        self.tabs = pmui.TabMenu(
            items=[{"label": panel.title} for panel in panels],
            active=0,
            variant="scrollable",
            sizing_mode="stretch_width",
            margin=(0, 40, 0, 0),
            sx={"& .MuiTabs-root, & .MuiTab-root": {"minHeight": "38px", "paddingY": "4px"}},
        )
        self.tabs.param.watch(self._on_tab, "active")
        self.fold_button = pmui.IconButton(
            icon="expand_more",
            description="Fold away",
            size="20px",
            color="default",
            margin=0,
            styles={"position": "absolute", "top": "2px", "right": "6px", "z-index": "2"},
        )
        self.fold_button.on_click(lambda _: self.fold(not self.is_folded))
        self.is_folded = False
        self._places = [
            pmui.Column(sizing_mode="stretch_both", margin=0, visible=False) for _ in panels
        ]
        self.panel = pmui.Paper(
            self.fold_button,
            self.tabs,
            *self._places,
            height=OPEN_HEIGHT,
            **{**CARD, "sizing_mode": "stretch_width"},
        )
        self.panel.sx = {"borderRadius": "8px", "padding": "0", "overflow": "hidden"}
        self._show_tab(0)

    def fold(self, is_folded: bool) -> None:
        """Leave only the tabs' names, or open the panels again."""
        self.is_folded = is_folded
        self.panel.height = FOLDED_HEIGHT if is_folded else OPEN_HEIGHT
        self.fold_button.param.update(
            icon="expand_less" if is_folded else "expand_more",
            description="Open the panels" if is_folded else "Fold away",
        )

    def show(self, kind: type[DockPanel]) -> None:
        """Bring the panel of a kind to the front."""
        self.tabs.active = next(
            index for index, panel in enumerate(self._panels) if isinstance(panel, kind)
        )

    def _on_tab(self, event: Any) -> None:
        if event.new is not None:
            self._show_tab(event.new)
            self.fold(False)

    def _show_tab(self, shown: int) -> None:
        """Show one panel; it is made in the browser when it is first shown, and then kept."""
        with pn.io.hold():
            if not len(self._places[shown]):
                self._places[shown].append(self._panels[shown].panel)
            for index, place in enumerate(self._places):
                place.visible = index == shown
        self.poll: Callable[[], None] = getattr(self._panels[shown], "poll", _rest)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Give all panels another graph."""
        for panel in self._panels:
            panel.set_graph(graph)


def _rest() -> None:
    """Nothing changes in this panel by itself."""
