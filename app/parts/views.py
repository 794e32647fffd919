"""Views of a page in tabs; only the shown one is updated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import panel as pn
import panel_material_ui as pmui

from genoviz_app.parts.styles import COMING

PATIENCE = 2
TABS: dict[str, Any] = {
    "& .MuiTabs-root, & .MuiTab-root": {"minHeight": "38px", "paddingY": "4px"},
    "& .MuiTab-root": {"paddingX": "13px", "minWidth": "60px"},
    "& .MuiTabScrollButton-root.Mui-disabled": {"display": "none"},
    # The library's line may stay below another tab than the chosen one after a quick change.
    "& .MuiTabs-indicator": {"display": "none"},
    "& .MuiTab-root.Mui-selected": {"boxShadow": "inset 0 -2px 0 currentColor"},
    **{
        narrow: {"& .MuiTab-root": {"paddingX": "9px"}}
        for narrow in ("@media (max-width: 1180px)", "@container (max-width: 860px)")
    },
}
"""Style of tabs that shows as many of them as possible."""
LETTER_PIXELS, TAB_PIXELS = 9, 26
"""Width of a letter of a title, and of the space beside it."""
COVERS = {"&:not(:empty)": {"backgroundColor": "background.paper"}}
"""Style of a view's container: it covers the message that is shown while it is empty."""


class View(Protocol):
    """Content of a tab; a view may also have a method ``poll``."""

    title: str
    panel: Any
    is_shown: bool
    has_figure: bool


@dataclass
class LateView:
    """A view that is created when it is first shown or needed; see `View`."""

    title: str
    make: Callable[[], View]
    has_figure: bool = False
    view: View | None = None


class Views:
    """Tabs with one view each.

    Parameters
    ----------
    views
        The views in order, which may include late ones.

    Attributes
    ----------
    shown
        Index of the shown view.
    panel
        The Panel object.
    """

    def __init__(self, views: Sequence[View | LateView]) -> None:
        self._views = tuple(views)
        self.shown = 0
        self.tabs = pmui.TabMenu(
            items=[{"label": view.title} for view in views],
            active=0,
            variant="scrollable",
            sizing_mode="stretch_width",
            margin=0,
            sx=tabs_style([view.title for view in views]),
        )
        self._places = [
            pmui.Column(sizing_mode="stretch_both", margin=0, visible=False,
                        styles={"min-height": "0", "flex": "1 1 0"}, sx=COVERS)
            for _ in views
        ]  # fmt: skip
        self.panel = pmui.Column(
            self.tabs,
            *self._places,
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
            sx=COMING,
        )
        self._waiting = 0
        for place, view in zip(self._places, views, strict=True):
            if view.has_figure:
                place.append(view.panel)
        self.tabs.param.watch(self._on_tab, "active")
        self._show(0)

    @property
    def slug(self) -> str:
        """Name of the shown view in links."""
        return slug_of(self._views[self.shown].title)

    def show(self, name: str) -> None:
        """Bring a view to the front, by its title or its name in links."""
        names = [slug_of(view.title) for view in self._views]
        if slug_of(name) in names:
            self.tabs.active = names.index(slug_of(name))

    def view(self, title: str) -> Any:
        """Return the view with a title, and create it if necessary."""
        return self._make(self._of_title(title))

    def made(self, title: str) -> Any:
        """Return the view with a title; None if it was not created yet."""
        view = self._of_title(title)
        return view.view if isinstance(view, LateView) else view

    def _of_title(self, title: str) -> View | LateView:
        return next(view for view in self._views if view.title == title)

    def _make(self, view: View | LateView) -> View:
        if not isinstance(view, LateView):
            return view
        if view.view is None:
            view.view = view.make()
        return view.view

    def _on_tab(self, event: Any) -> None:
        if event.new is not None:
            self._show(event.new)

    def poll(self) -> None:
        """Update the shown view; called some twenty times per second."""
        if not self._is_settled:
            self._settle()
        self._poll_shown()

    def _settle(self) -> None:
        """Let the browser create the shown view, unless it has it.

        A late view is created here, after the previous one has left the screen.

        A table created before its container has no width. A figure created while its container
        appears is measured too early, so figures are created together with the page.
        """
        place = self._places[self.shown]
        if not len(place) and self.panel.visible:
            self._waiting += 1
            if self._waiting > PATIENCE:
                chosen = self._make(self._views[self.shown])
                chosen.is_shown = True
                self._poll_shown = getattr(chosen, "poll", _rest)
                place.append(chosen.panel)
        self._is_settled = bool(len(place))

    def _show(self, shown: int) -> None:
        """Show one view; the browser creates it when it is first shown, and keeps it."""
        self.shown, self._waiting, self._is_settled = shown, 0, False
        chosen = self._views[shown]
        chosen = chosen.view if isinstance(chosen, LateView) else chosen
        self._poll_shown: Callable[[], None] = getattr(chosen, "poll", _rest)
        with pn.io.hold():
            for place, (column, view) in enumerate(zip(self._places, self._views, strict=True)):
                made = view.view if isinstance(view, LateView) else view
                if made is not None:
                    made.is_shown = place == shown
                column.visible = place == shown


def tabs_style(titles: Sequence[str]) -> dict[str, Any]:
    """Return the style of tabs with these titles, without scroll buttons where all tabs fit.

    Buttons that were needed while the page was hidden or narrower would stay.
    """
    width = sum(LETTER_PIXELS * len(title) + TAB_PIXELS for title in titles)
    hidden = {"& .MuiTabScrollButton-root": {"display": "none"}}
    return {**TABS, f"@container (min-width: {width}px)": hidden}


def _rest() -> None:
    """Do nothing, for views that do not change by themselves."""


def slug_of(title: str) -> str:
    """Return the form of a title in links.

    Examples
    --------
    >>> slug_of("Along the genome")
    'along-the-genome'
    """
    return title.lower().replace(" ", "-")
