"""Resizable and collapsible panels below the picture, one of which is shown."""

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
from genoviz_app.parts.views import slug_of, tabs_style

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
    """A panel in a tab of the dock; it may also have a method ``poll``."""

    title: str
    panel: Any

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph."""


class DockGrip(JSComponent):
    """The draggable edge.

    Parameters
    ----------
    on_height
        Called with the panel height that the user chose, px.
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
    """Tabs below the picture.

    Parameters
    ----------
    kinds
        Classes of the panels, in order.
    make
        Creates the panel of a class, when it is first shown or in idle time.

    Attributes
    ----------
    height
        Height of the open panels, px; 0 for the default.
    poll
        Updates the shown panel; called some twenty times per second. None if it does not change by
        itself.
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
            sx=tabs_style([kind.title for kind in self._kinds]),
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
        """Collapse the dock to its tab names, or expand it."""
        self.is_folded = is_folded
        self.panel.css_classes = [FOLDED] if is_folded else []
        self.fold_button.param.update(
            icon="expand_less" if is_folded else "expand_more",
            description="Open the panels" if is_folded else "Fold away",
        )

    def follow(self, height: int, slug: str = "") -> str:
        """Apply the height, px, and the panel of a link.

        0 and "" leave them unchanged. Returns a sentence if there is no such panel.
        """
        if height:
            self._on_height(height)
            self.grip.height_of_panels = height
        if not slug or self._show_named(slug):
            return ""
        first = slug.partition(".")[0]
        kinds = {slug_of(kind.title): kind for kind in self._kinds}
        views = getattr(kinds.get(first), "kinds", ())
        names = [f"{first}.{slug_of(view.title)}" for view in views] or kinds
        return f"The link's panel is {slug[:40]!r}, needs one of {', '.join(names)}."

    def _on_height(self, height: int) -> None:
        self.height = 0 if height == OPEN_HEIGHT else height

    def show_first(self) -> None:
        """Show the first panel, unless one is shown."""
        if not self._places:
            self._show_tab(self.tabs.active)

    def show(self, kind: type[DockPanel]) -> None:
        """Show the panel of a class."""
        self.tabs.active = self._kinds.index(kind)

    @property
    def slug(self) -> str:
        """Name of the shown panel in links; "" for the first."""
        shown = self.tabs.active or 0
        first, area = slug_of(self._kinds[shown].title), self._panels.get(shown)
        if isinstance(area, DockArea) and area.switch.value != area.kinds[0].title:
            return f"{first}.{slug_of(area.switch.value)}"
        return first if shown else ""

    def _show_named(self, slug: str) -> bool:
        """Show a panel by its name in links; return whether it exists."""
        first, _, second = slug.partition(".")
        names = [slug_of(kind.title) for kind in self._kinds]
        if first not in names:
            return False
        panel = self._panel(names.index(first))
        if second:
            titles = {slug_of(kind.title): kind.title for kind in getattr(panel, "kinds", ())}
            if second not in titles:
                return False
            panel.view(titles[second])
        self.tabs.active = names.index(first)
        return True

    def _on_tab(self, event: Any) -> None:
        if event.new is not None:
            self._show_tab(event.new)
            self.fold(False)

    def _show_tab(self, shown: int) -> None:
        """Show one panel; the browser creates it when it is first shown, and keeps it."""
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
        """Set another graph in all panels."""
        self._graph = graph
        for panel in self._panels.values():
            panel.set_graph(graph)

    def make_ready(self) -> None:
        """Create a missing panel in idle time while the tab is visible."""
        now = time.monotonic()
        if now >= self._next_making and len(self._panels) < len(self._kinds):
            self._next_making = now + NEXT_WAIT_SECONDS
            self._panel(next(i for i in range(len(self._kinds)) if i not in self._panels))


class DockArea:
    """Several panels in one tab of the dock, with a list of names on the left to choose from.

    Attributes
    ----------
    title, kinds
        Name of the tab, and classes of its panels, each with a title.
    panel, switch
        The Panel object, and the list of names.
    """

    title = ""
    kinds: tuple[type[DockPanel], ...] = ()

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._graph: PangenomeGraph | None = None
        self._panels: dict[str, DockPanel] = {}
        self._places: dict[str, pmui.Column] = {}
        names = [kind.title for kind in self.kinds]
        self.switch = pmui.RadioButtonGroup(
            label="", description=f"What is shown of {self.title.lower()}", options=names,
            value=names[0], orientation="vertical", size="small", margin=(6, 2, 4, 8), width=92,
            sx={"& .MuiToggleButton-root": {"padding": "3px 8px", "justifyContent": "flex-start"}},
        )  # fmt: skip
        self._body = pmui.Column(sizing_mode="stretch_both", margin=0, styles={"min-width": "0"})
        self.panel = pmui.Row(self.switch, self._body, sizing_mode="stretch_both", margin=0)
        self.switch.param.watch(lambda _: self._show(), "value")
        self._show()

    def _show(self) -> None:
        """Show one panel; it is created when first shown, and then kept."""
        name = self.switch.value
        with pn.io.hold():
            if name not in self._panels:
                kind = next(kind for kind in self.kinds if kind.title == name)
                panel = self._panels[name] = kind(*self._arguments)
                if self._graph is not None:
                    panel.set_graph(self._graph)
                self._places[name] = pmui.Column(panel.panel, sizing_mode="stretch_both", margin=0)
                self._body.append(self._places[name])
            for each, place in self._places.items():
                place.visible = each == name

    def view(self, title: str) -> Any:
        """Show the panel with a title, and return it."""
        self.switch.value = title
        return self._panels[title]

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph in all panels."""
        self._graph = graph
        for panel in self._panels.values():
            panel.set_graph(graph)

    def poll(self) -> None:
        """Update the shown panel."""
        poll = getattr(self._panels[self.switch.value], "poll", None)
        if poll is not None:
            poll()
