"""The pages of a tab: built when they are first shown, kept, and one of them shown."""

from __future__ import annotations

import time
from typing import Any

import panel_material_ui as pmui

from genoviz_app.pages import PAGES
from genoviz_app.parts.page import Page
from genoviz_app.parts.styles import in_narrow_window
from genoviz_app.session.session import Session

HIDDEN_POLL_SECONDS = 1.0
MAIN_HEIGHT = "calc(100vh - 54px)"
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}


class PageDeck:
    """All pages of a tab, and the switch between them.

    Parameters
    ----------
    session
        What the pages show.
    slug
        Name of the page that is shown first; "" for the first of all.

    Attributes
    ----------
    switch, sidebar, content
        Panel objects: the switch, and what the shown page has at each place.
    """

    def __init__(self, session: Session, slug: str = "") -> None:
        self._session = session
        self._pages: dict[str, Page] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}
        self._next_hidden_poll = 0.0
        self._is_seen = False
        self._shown = ""
        self._clicked = ""
        self.sidebar = pmui.Column(**WIDE)
        self.content = pmui.Column(
            css_classes=["page-place"], stylesheets=in_narrow_window("auto"), **FILL
        )
        self.switch = pmui.RadioButtonGroup(
            label="",
            description="Another page with the same files",
            options={page.title: page.slug for page in PAGES},
            value=slug or PAGES[0].slug,
            css_classes=["page-switch"],
            size="small",
            color="primary",
            margin=(0, 12),
            align="center",
            sx={
                "& .MuiToggleButton-root": {"whiteSpace": "nowrap"},
                "& .MuiToggleButton-root:not(.Mui-selected)": {"color": "#e3eaf3"},
                "&& .MuiToggleButton-root.Mui-selected": {
                    "color": "#06121c",
                    "backgroundColor": "#4fb3e8",
                },
                "&& .MuiToggleButton-root.Mui-selected:hover": {"backgroundColor": "#7cc6ee"},
            },
        )
        self.switch.param.watch(self._on_switch, "value")
        session.param.watch(self._on_wish, "wanted_page")
        self._show(self.switch.value)

    @property
    def page(self) -> Page:
        """The page that is shown."""
        return self._pages[self._shown]

    @property
    def is_first(self) -> bool:
        """Whether the page is shown that a link need not name."""
        return self._shown == PAGES[0].slug

    def show(self, slug: str) -> None:
        """Show a page."""
        self.switch.value = slug
        self._show(slug)

    def complete(self) -> None:
        """Make what pages are sent without, now that the browser has them."""
        self._is_seen = True
        for page in self._pages.values():
            page.complete()

    def poll(self) -> None:
        """Bring the shown page up to date, and now and then the others."""
        if self._clicked:
            self._show(self._clicked)
        shown, now = self.page, time.monotonic()
        shown.poll()
        shown.make_ready()
        if now < self._next_hidden_poll:
            return
        self._next_hidden_poll = now + HIDDEN_POLL_SECONDS
        for page in self._pages.values():
            if page is not shown:
                page.poll()

    def close(self) -> None:
        """Free what the pages hold; the tab is closed."""
        for page in self._pages.values():
            page.close()

    def _on_switch(self, event: Any) -> None:
        """Show a page that is made already; make another one later, unless it is clicked past."""
        if event.new in self._pages:
            self._show(event.new)
        else:
            self._clicked = event.new

    def _on_wish(self, event: Any) -> None:
        if event.new in self.switch.options.values():
            self.show(event.new)
        self._session.wanted_page = ""

    def _show(self, slug: str) -> None:
        self._clicked = ""
        if slug not in self._pages:
            self._build(slug)
        self._shown = slug
        for other, parts in self._parts.items():
            for part in parts:
                part.visible = other == slug

    def _build(self, slug: str) -> None:
        page = next(page for page in PAGES if page.slug == slug)(self._session)
        if self._is_seen:
            page.complete()
        page.poll()  # a figure that changes its height while it comes up disturbs the browser
        classes = [f"of-page-{list(self.switch.options.values()).index(slug)}"]  # page_switch.js
        sidebar = pmui.Column(*page.sidebar, css_classes=classes, **WIDE)
        content = pmui.Column(
            page.content,
            css_classes=classes,
            stylesheets=in_narrow_window(page.narrow_height),
            **FILL,
        )
        self.sidebar.append(sidebar)
        self.content.append(content)
        self._pages[slug] = page
        self._parts[slug] = (sidebar, content)
