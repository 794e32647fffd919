"""The panels under the picture: one is shown, as high as one likes; all can be folded away."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import panel as pn
import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from genoviz.model import PangenomeGraph
from genoviz_app.parts.canvas_component import join_scripts
from genoviz_app.parts.styles import CARD
from genoviz_app.parts.views import TABS

SCRIPTS = Path(__file__).parent
OPEN_HEIGHT, FOLDED_HEIGHT = 268, 42
FOLDED = "folded"
HEIGHTS = f"""
:host {{ height: min(var(--lower, {OPEN_HEIGHT}px), max(150px, 100vh - 360px)) !important;
  flex: none !important; }}
:host > div, .MuiPaper-root {{ height: 100% !important; max-height: none !important; }}
:host(.{FOLDED}) {{ height: {FOLDED_HEIGHT}px !important; }}
:host(.{FOLDED}) .dock-grip {{ display: none; }}
"""
FIRST_WAIT_SECONDS, NEXT_WAIT_SECONDS = 3.0, 0.5


class DockPanel(Protocol):
    """What stands in the dock under a tab of its own; a panel may have a method ``poll``, too."""

    title: str
    panel: Any

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Take another graph."""


class DockGrip(JSComponent):
    """The edge that is dragged.

    Parameters
    ----------
    on_height
        Called with the height of the panels that a person chose, px.
    """

    height_of_panels = param.Integer(OPEN_HEIGHT, doc="How high the panels are, px.")
    usual = param.Integer(OPEN_HEIGHT, doc="How high they are unless a person chose, px.")

    _esm = join_scripts([SCRIPTS / "separator.js", SCRIPTS / "dock_grip.js"])

    def __init__(self, on_height: Callable[[int], None], **params: Any) -> None:
        super().__init__(
            css_classes=["dock-grip"], sizing_mode="stretch_width", margin=0,
            styles={"position": "absolute", "top": "0", "left": "0", "z-index": "1"}, **params,
        )  # fmt: skip
        self._on_height = on_height

    def _handle_msg(self, data: dict[str, Any]) -> None:
        self._on_height(int(data["height"]))


class Dock:
    """Tabs under the picture.

    Parameters
    ----------
    kinds
        Classes of what the tabs show, in order.
    make
        Makes the panel of a class: when it is first shown, or else when there is time for it.

    Attributes
    ----------
    height
        How high the panels are while they are open, px; 0 for as high as usual.
    poll
        Brings the panel that is shown up to date; called some twenty times a second. None where
        it does not change by itself.
    """

    def __init__(
        self, kinds: Sequence[type[DockPanel]], make: Callable[[type[DockPanel]], DockPanel]
    ) -> None:
        self._kinds, self._make = tuple(kinds), make
        self._panels: dict[int, DockPanel] = {}
        self._graph: PangenomeGraph | None = None
        self._next_making = time.monotonic() + FIRST_WAIT_SECONDS
        self.tabs = pmui.TabMenu(
            items=[{"label": kind.title} for kind in self._kinds],
            active=0,
            variant="scrollable",
            sizing_mode="stretch_width",
            margin=(0, 40, 0, 0),
            sx=TABS,
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
        self._places: dict[int, pmui.Column] = {}
        self.height = 0
        self.grip = DockGrip(self._on_height)
        self.panel = pmui.Paper(
            self.fold_button,
            self.tabs,
            self.grip,
            height=OPEN_HEIGHT,
            stylesheets=[HEIGHTS],
            **{**CARD, "sizing_mode": "stretch_width"},
        )
        self.panel.sx = {"borderRadius": "8px", "padding": "0", "overflow": "hidden"}
        self.poll: Callable[[], None] | None = None

    def fold(self, is_folded: bool) -> None:
        """Leave only the tabs' names, or open the panels again."""
        self.is_folded = is_folded
        self.panel.css_classes = [FOLDED] if is_folded else []
        self.fold_button.param.update(
            icon="expand_less" if is_folded else "expand_more",
            description="Open the panels" if is_folded else "Fold away",
        )

    def follow(self, height: int) -> None:
        """Make the panels as high as a link says, px; 0 leaves them as they are."""
        if height:
            self._on_height(height)
            self.grip.height_of_panels = height

    def _on_height(self, height: int) -> None:
        self.height = 0 if height == OPEN_HEIGHT else height

    def show_first(self) -> None:
        """Show the first panel, unless one is shown."""
        if not self._places:
            self._show_tab(self.tabs.active)

    def show(self, kind: type[DockPanel]) -> None:
        """Bring the panel of a kind to the front."""
        self.tabs.active = self._kinds.index(kind)

    def _on_tab(self, event: Any) -> None:
        if event.new is not None:
            self._show_tab(event.new)
            self.fold(False)

    def _show_tab(self, shown: int) -> None:
        """Show one panel; it is made in the browser when it is first shown, and then kept."""
        panel = self._panel(shown)
        with pn.io.hold():
            if shown not in self._places:
                self._places[shown] = pmui.Column(panel.panel, sizing_mode="stretch_both", margin=0)
                self.panel.append(self._places[shown])
            for index, place in self._places.items():
                place.visible = index == shown
        self.poll = getattr(panel, "poll", None)

    def _panel(self, index: int) -> DockPanel:
        if index not in self._panels:
            panel = self._panels[index] = self._make(self._kinds[index])
            if self._graph is not None:
                panel.set_graph(self._graph)
        return self._panels[index]

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Give all panels another graph."""
        self._graph = graph
        for panel in self._panels.values():
            panel.set_graph(graph)

    def make_ready(self) -> None:
        """Make a panel that is missing, now and then; called while the tab is looked at."""
        now = time.monotonic()
        if now >= self._next_making and len(self._panels) < len(self._kinds):
            self._next_making = now + NEXT_WAIT_SECONDS
            self._panel(next(i for i in range(len(self._kinds)) if i not in self._panels))
