"""Base class of all pages, with defaults for most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.session.address import Address
from genoviz_app.session.session import Session


@dataclass(frozen=True)
class PageHelp:
    """Help text of a page: what it shows, its steps, keys and mouse actions."""

    shows: str
    steps: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = ()

    def message(self, title: str) -> dict[str, Any]:
        """Return the help as a browser message, with the title of the page."""
        keys = [list(pair) for pair in self.keys]
        return {"title": title, "shows": self.shows, "steps": list(self.steps), "keys": keys}


class Page:
    """A page of the dashboard.

    Attributes
    ----------
    slug, title
        Name in links, and title on the screen.
    narrow_height
        CSS height of the content in a narrow window, where it scrolls.
    docked_heights
        Minimum CSS heights when docked: on a wide page, and on a page so narrow that its parts are
        stacked.
    help
        Its help text.
    example
        Button of the empty page: its samples, and an interesting view of them.
    """

    slug = title = ""
    help = PageHelp("", ())
    example = Address()
    narrow_height = "1100px"
    docked_heights = ("340px", "560px")

    def __init__(self, session: Session) -> None:
        self._session = session
        self.is_complete = False

    @property
    def sidebar(self) -> list[Any]:
        """Content of the sidebar."""
        raise NotImplementedError

    @property
    def content(self) -> Any:
        """Content of the main area."""
        raise NotImplementedError

    @property
    def link(self) -> Address:
        """Address of the current view."""
        raise NotImplementedError

    def follow(self, link: Address) -> None:
        """Apply a link once its files are open."""
        raise NotImplementedError

    def try_example(self) -> None:
        """Open the samples and the view of the example."""
        session, link = self._session, self.example
        if link.file:
            session.open(link.file)
        for track in link.tracks:
            session.tracks.open(track)
        if link.sequences:
            session.indexes.open(link.sequences)
        if link.genotypes:
            session.genotypes.open(link.genotypes)
        self.follow(link)

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        raise NotImplementedError

    def revisit(self, link: Address) -> None:
        """Return to an earlier view, after the browser's Back button."""
        self.follow(link)

    def complete(self) -> None:
        """Create deferred parts, now that the browser has the page; most pages have none."""
        self.is_complete = True

    def make_ready(self) -> None:
        """Create hidden parts step by step; most pages have none."""

    def stay_low(self, is_low: bool) -> None:
        """Use little height because another page is above or below; or the default again."""

    def close(self) -> None:
        """Release resources when the tab is closed; most pages have none."""


def side_column(*panels: Any) -> list[Any]:
    """Return the panels of the sidebar in a column."""
    return [pmui.Column(*panels, sizing_mode="stretch_width", margin=(4, 10, 0, 10))]


class EmptyState(pmui.Column):
    """Content of a page while nothing is open: text, and buttons including that of its example.

    It is created when first shown, because many pages are never empty.

    Parameters
    ----------
    page
        The page, which has an example.
    words
        HTML.
    others
        Other buttons beside that of the example.
    """

    def __init__(self, page: Page, words: str, *others: pmui.Button) -> None:
        super().__init__(visible=False, sizing_mode="stretch_width", margin=0)
        self._page, self._words, self._others = page, words, others

    def show(self, is_empty: bool, words: str = "", *, offers: bool = True) -> None:
        """Show it while the page is empty, with another text if one is given.

        Without ``offers``, its buttons are hidden, because something is under way already.
        """
        self._words = words or self._words
        if is_empty and not len(self):
            self.objects = self._make()
        if is_empty and self[0].object != self._words:
            self[0].object = self._words
        if is_empty and self[1].visible != offers:
            self[1].visible = offers
        if self.visible != is_empty:
            self.visible = is_empty

    def _make(self) -> list[Any]:
        example = pmui.Button(label="Try the example", icon="science", variant="outlined", margin=8)
        example.on_click(lambda _: self._page.try_example())
        return [
            pn.pane.HTML(self._words, sizing_mode="stretch_width"),
            pmui.FlexBox(
                example,
                *self._others,
                justify_content="center",
                sizing_mode="stretch_width",
                margin=0,
            ),
        ]
