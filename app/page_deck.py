"""The pages of a tab: built when they are first shown, kept, and one of them shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import panel_material_ui as pmui

from genoviz_app.pages import PAGES
from genoviz_app.session.session import Session

HIDDEN_POLL_SECONDS = 1.0
MANY_PARTS = 12
DIVISIBLE = (pmui.Column, pmui.Row, pmui.Paper)
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
    go_on
        Has a step of a building done when the server comes to it.

    Attributes
    ----------
    switch, header, sidebar, content
        Panel objects: the switch, and what the shown page has at each place.
    """

    def __init__(
        self, session: Session, slug: str = "", *, go_on: Callable[[Callable[[], None]], None]
    ) -> None:
        self._session = session
        self._pages: dict[str, Any] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}
        self._building: dict[str, Iterator[None]] = {}
        self._built: set[str] = set()
        self._go_on = go_on
        self._next_hidden_poll = 0.0
        self.header = pmui.Row(align="center", margin=0)
        self.sidebar = pmui.Column(**WIDE)
        self.content = pmui.Column(**FILL)
        self.switch = pmui.RadioButtonGroup(
            label="",
            description="Another page with the same files",
            options={page.title: page.slug for page in PAGES},
            value=slug or PAGES[0].slug,
            size="small",
            color="primary",
            margin=(0, 12),
            align="center",
            sx={
                "& .MuiToggleButton-root": {"whiteSpace": "nowrap"},
                "& .MuiToggleButton-root:not(.Mui-selected)": {"color": "#e3eaf3"},
            },
        )
        self.switch.param.watch(self._on_switch, "value")
        session.param.watch(self._on_wish, "wanted_page")

    @property
    def page(self) -> Any:
        """The page that is shown; it is built now if it is not there yet."""
        for _ in self.iter_build():
            pass
        return self._pages[self.switch.value]

    @property
    def is_built(self) -> bool:
        """Whether the page that is to be shown is there."""
        return self.switch.value in self._built

    @property
    def is_first(self) -> bool:
        """Whether the page is shown that a link need not name."""
        return self.switch.value == PAGES[0].slug

    def show(self, slug: str) -> None:
        """Show a page."""
        self.switch.value = slug

    def poll(self) -> None:
        """Bring the shown page up to date, and now and then the others."""
        shown, now = self._pages.get(self.switch.value), time.monotonic()
        if shown is not None and self.is_built:
            shown.poll()
            if hasattr(shown, "make_ready"):
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

    def iter_build(self) -> Iterator[None]:
        """Build the page that is to be shown; each step is a turn of the server's loop."""
        slug = self.switch.value
        if slug in self._built:
            return
        steps = self._building.setdefault(slug, self._iter_build(slug))
        for _ in steps:  # no `yield from`, with which who leaves off would end the building
            yield
        self._building.pop(slug, None)

    def _on_switch(self, _event: Any) -> None:
        self._show()
        if not self.is_built:
            self._build_step()

    def _build_step(self) -> None:
        for _ in self.iter_build():
            self._go_on(self._build_step)
            return

    def _on_wish(self, event: Any) -> None:
        if event.new in self.switch.options.values():
            self.show(event.new)
        self._session.wanted_page = ""

    def _show(self) -> None:
        for slug, parts in self._parts.items():
            for part in parts:
                part.visible = slug == self.switch.value

    def _iter_build(self, slug: str) -> Iterator[None]:
        page = next(page for page in PAGES if page.slug == slug)(self._session)
        page.poll()  # a figure that changes its height while it comes up disturbs the browser
        self._pages[slug] = page
        yield
        header = pmui.Row(*page.header, align="center", margin=0)
        sidebar = pmui.Column(**WIDE)
        content = pmui.Column(*page.messages, **FILL)
        for place, part in ((self.header, header), (self.sidebar, sidebar)):
            place.append(part)
        self.content.append(content)
        self._parts[slug] = (header, sidebar, content)
        self._show()
        yield
        yield from _iter_fill(content, [page.content])
        yield from _iter_fill(sidebar, page.sidebar)
        self._built.add(slug)


def _iter_fill(place: Any, parts: Sequence[Any]) -> Iterator[None]:
    """Put parts into a layout, large ones piece by piece."""
    for part in parts:
        is_large = isinstance(part, DIVISIBLE) and len(part.select()) > MANY_PARTS
        inner = list(part) if is_large else []
        if inner:
            part.objects = []
        place.append(part)
        yield
        yield from _iter_fill(part, inner)
