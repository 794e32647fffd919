"""The pages of a tab: created when first shown, then kept; one is shown, or two side by side.

A page docked beside or below the layout is the same object in another position. Nothing is created
twice, and nothing moves in the browser's DOM; style sheets determine the position.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from genoviz_app.pages import PAGES
from genoviz_app.parts.canvas_component import join_scripts
from genoviz_app.parts.page import Page
from genoviz_app.parts.styles import docked_style, in_narrow_window
from genoviz_app.server.event_loop import TURNS
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session
from genoviz_app.session.split import BELOW, BESIDE, Split, within

SCRIPTS = Path(__file__).parent / "parts"
HIDDEN_POLL_SECONDS = 1.0
MAIN_HEIGHT = "calc(100vh - 54px)"
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
MEASURED = {"container-type": "inline-size"}  # a docked page is narrower than the window
SPLIT_ICONS = {BESIDE: "vertical_split", BELOW: "horizontal_split"}
NARROW = "@media (max-width: 899.95px) { :host { display: none !important; } }"
# The divider's place has the head and the docked page in it; page_switch.js sets the attributes.
SPLIT_PLACES = """
:host(:not([data-split])) .page-divider { display: none; }
:host([data-split]) .MuiBox-root { display: grid; }
:host([data-split]) .child-wrapper > * {
  min-width: 0 !important; min-height: 0 !important; overflow: hidden auto;
  scrollbar-width: thin; }
:host([data-split="beside"]) .MuiBox-root {
  grid-template: 38px minmax(0, 1fr) / minmax(0, 1fr) 9px minmax(0, var(--dock, 45%)); }
:host([data-split="beside"]) .child-wrapper > * { grid-area: 1 / 1 / 3 / 2; }
:host([data-split="beside"]) .page-divider { grid-area: 1 / 2 / 3 / 4; }
:host([data-split="beside"]) [data-docked] { grid-area: 2 / 3 / 3 / 4; }
:host([data-split="below"]) .MuiBox-root {
  grid-template: minmax(0, 1fr) 43px minmax(0, var(--dock, 45%)) / minmax(0, 1fr); }
:host([data-split="below"]) .child-wrapper > * { grid-area: 1 / 1 / 2 / 2; }
:host([data-split="below"]) .page-divider { grid-area: 2 / 1 / 4 / 2; }
:host([data-split="below"]) [data-docked] { grid-area: 3 / 1 / 4 / 2; }
"""
DOCKED_SIDEBAR = """
:host([data-docked]) { border-top: 1px solid rgba(128, 145, 170, 0.4); order: 2; }
:host([data-beside])::before { content: "%s"; display: block; margin: 8px 14px 0; opacity: 0.75;
  font: 600 12px/1.4 system-ui, sans-serif; text-transform: uppercase; letter-spacing: 0.06em; }
"""


class PageDivider(JSComponent):
    """The divider between the layout and the docked page, with page names above the latter.

    Parameters
    ----------
    on_act
        Called with the user's action: ``{"act": "page", "page": slug}``, "side", "share", "full"
        or "close".
    """

    split = param.Dict({}, doc="Page, side and share; empty where nothing is docked.")
    pages = param.List([], doc="Slug and title of each page that can be docked.")

    _esm = join_scripts([SCRIPTS / "separator.js", SCRIPTS / "page_divider.js"])

    def __init__(self, on_act: Callable[[dict[str, Any]], None], **params: Any) -> None:
        super().__init__(css_classes=["page-divider"], **FILL, **params)
        self._on_act = on_act

    def _handle_msg(self, data: dict[str, Any]) -> None:
        self._on_act(data)


class PageDeck:
    """All pages of a tab, and the switch between them.

    Parameters
    ----------
    session
        State of the tab.
    slug
        Page to show first; "" for the first of all.

    Attributes
    ----------
    switch, splits, sidebar, content
        Panel objects: the page switch, buttons that dock a page, and the pages' parts.
    split
        The page docked when the layout is shown, or None.
    """

    def __init__(self, session: Session, slug: str = "", split: Split | None = None) -> None:
        self._session = session
        self._pages: dict[str, Page] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}
        self._next_hidden_poll = 0.0
        self._is_seen = False
        self._shown = ""
        self._clicked = ""
        self._low: set[str] = set()
        self._link = Address()
        self.split: Split | None = None
        self._last_split = split or Split(PAGES[1].slug)
        self.divider = PageDivider(
            self._on_divider, pages=[[page.slug, page.title] for page in PAGES[1:]]
        )
        self.sidebar = pmui.Column(**WIDE)
        self.content = pmui.Column(
            self.divider,
            css_classes=["page-place"],
            stylesheets=[SPLIT_PLACES, *in_narrow_window("auto")],
            **FILL,
        )
        self._split_buttons = {side: self._split_button(side) for side in SPLIT_ICONS}
        self.splits = pmui.Row(
            *self._split_buttons.values(), align="center", margin=0, stylesheets=[NARROW]
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
                "@media (min-width: 900px) and (max-width: 1150px)": {
                    "& .MuiToggleButton-root": {"padding": "5px 5px", "fontSize": "12px"}
                },
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
        self.dock(split)

    @property
    def page(self) -> Page:
        """The page that is shown."""
        return self._pages[self._shown]

    @property
    def is_first(self) -> bool:
        """Whether the default page is shown, which a link need not name."""
        return self._shown == PAGES[0].slug

    @property
    def docked(self) -> Page | None:
        """The page docked beside or below the layout, if the layout is shown."""
        is_split = self.split is not None and self.is_first
        return self._pages.get(self.split.page) if is_split else None

    @property
    def in_sight(self) -> tuple[Page, ...]:
        """The shown page, and the docked one."""
        return tuple(page for page in (self.page, self.docked) if page is not None)

    def link(self) -> Address:
        """Return the link to all visible pages; the shown page comes first.

        Parts of the tab's original link for pages that have not been shown are kept.
        """
        own = self.page.link
        others = [] if self.docked is None else [self.docked.link]
        unmade = (page.slug for page in PAGES if page.slug not in self._pages)
        for other in (*others, *map(self._link.of_page, unmade)):
            said = {name: value for name, value in vars(own).items() if value}
            own = replace(other, **said)
        return replace(own, page="" if self.is_first else self.page.slug, split=self.split)

    def follow(self, link: Address) -> None:
        """Follow a link; a page that is not created yet follows it when it is shown."""
        self._link = link
        for page in self.in_sight:
            page.follow(link)

    def show(self, slug: str) -> None:
        """Show a page."""
        self.switch.value = slug
        self._show(slug)

    def bring(self, slug: str) -> Page:
        """Show a page unless it is visible; return it."""
        if self._is_changed:
            self._show(self._shown)
        if all(page.slug != slug for page in self.in_sight):
            self.show(slug)
        return self._pages[slug]

    def dock(self, split: Split | None) -> None:
        """Dock another page beside or below the layout; None undocks it."""
        self.split = split
        self._last_split = split or self._last_split
        for side, button in self._split_buttons.items():
            is_on = split is not None and split.side == side
            button.color = "primary" if is_on else "default"
            button.description = _split_words(side, is_on)
        docks = [] if split is None else [f"docks-{self._number_of(split.page)}-{split.side}"]
        self.content.css_classes = ["page-place", *docks]  # page_switch.js
        self.divider.split = {} if split is None else vars(split)
        self._is_changed = True

    def _number_of(self, slug: str) -> int:
        return list(self.switch.options.values()).index(slug)

    def complete(self) -> None:
        """Create the deferred parts of pages, now that the browser has loaded them."""
        self._is_seen = True
        for page in self._pages.values():
            page.complete()
        if self._clicked or self._is_changed:
            self._show(self._clicked or self._shown)  # a click may come before the page is loaded

    def poll(self) -> None:
        """Update the visible pages, and occasionally the others."""
        if self._clicked or self._is_changed:
            self._show(self._clicked or self._shown)
        shown, now = self.in_sight, time.monotonic()
        for page in shown:
            page.poll()
            if not TURNS.is_awaited:  # hidden pages wait for the pages of new tabs
                page.make_ready()
        if now < self._next_hidden_poll:
            return
        self._next_hidden_poll = now + HIDDEN_POLL_SECONDS
        for page in self._pages.values():
            if page not in shown:
                page.poll()

    def close(self) -> None:
        """Release what the pages hold; the tab is closed."""
        for page in self._pages.values():
            page.close()

    def _on_switch(self, event: Any) -> None:
        """Show an existing page; create a new one later, unless the user clicks past it."""
        if event.new in self._pages:
            self._show(event.new)
        else:
            self._clicked = event.new

    def _on_wish(self, event: Any) -> None:
        if event.new in self.switch.options.values():
            self.bring(event.new)
        self._session.wanted_page = ""

    def _split_button(self, side: str) -> pmui.IconButton:
        button = pmui.IconButton(
            icon=SPLIT_ICONS[side], description=_split_words(side, False), size="22px",
            margin=(0, 2), align="center", color="default",
        )  # fmt: skip
        button.on_click(lambda _: self._on_split_button(side))
        return button

    def _on_split_button(self, side: str) -> None:
        """Dock the shown page, or else the last docked one; or undock."""
        if self.docked is not None and self.split.side == side:
            self.dock(None)
            return
        page = self._last_split.page if self.is_first else self._shown
        self.dock(replace(self._last_split, page=page, side=side))
        self.show(PAGES[0].slug)

    def _on_divider(self, data: dict[str, Any]) -> None:
        split, act = self.split, data.get("act")
        if split is None:
            return
        if act == "close":
            self.dock(None)
        elif act == "full":
            self.show(split.page)
        elif act == "share":
            self.dock(replace(split, share=within(float(data["share"]))))
        elif act == "page" and data["page"] in [page.slug for page in PAGES[1:]]:
            self.dock(replace(split, page=data["page"]))

    def _show(self, slug: str) -> None:
        self._clicked, self._is_changed = "", False
        wanted = [slug]
        if self.split is not None and slug == PAGES[0].slug:
            wanted.append(self.split.page)
        for each in wanted:
            if each not in self._pages:
                self._build(each)
            is_low = self.split is not None and self.split.side == BELOW and len(wanted) > 1
            if is_low or each in self._low:
                self._pages[each].stay_low(is_low)
                self._low = (self._low | {each}) if is_low else (self._low - {each})
        self._shown = slug
        self._session.is_split = len(wanted) > 1
        for other, parts in self._parts.items():
            is_wanted = other in wanted
            for part in parts:
                if part.visible != is_wanted:
                    part.visible = is_wanted

    def _build(self, slug: str) -> None:
        page = next(page for page in PAGES if page.slug == slug)(self._session)
        if self._is_seen:
            page.complete()
        page.poll()  # a figure that resizes while it appears disturbs the browser
        classes = [f"of-page-{self._number_of(slug)}"]  # page_switch.js
        sidebar = pmui.Column(
            *page.sidebar, css_classes=classes, stylesheets=[DOCKED_SIDEBAR % page.title], **WIDE
        )
        content = pmui.Column(
            page.content,
            css_classes=classes,
            styles=MEASURED,
            stylesheets=[
                docked_style(*page.docked_heights),
                *in_narrow_window(page.narrow_height),
            ],
            **FILL,
        )
        self.sidebar.append(sidebar)
        self.content.append(content)
        self._pages[slug] = page
        self._parts[slug] = (sidebar, content)
        link = self._link.of_page(slug)
        if link != Address():
            with self._session.following():
                page.follow(link)


def _split_words(side: str, is_on: bool) -> str:
    if is_on:
        return f"The layout alone again, without the page {side} it"
    return f"Keep the layout in sight, with another page {side} it"
