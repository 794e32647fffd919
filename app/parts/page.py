"""What all pages of the dashboard have, and what most of them leave as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.session.address import Address
from genoviz_app.session.session import Session


@dataclass(frozen=True)
class PageHelp:
    """What a page says of itself when a person asks: what it shows, its steps, keys and mouse."""

    shows: str
    steps: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = ()

    def message(self, title: str) -> dict[str, Any]:
        """Return it as the browser takes it, under the title of the page."""
        keys = [list(pair) for pair in self.keys]
        return {"title": title, "shows": self.shows, "steps": list(self.steps), "keys": keys}


class Page:
    """A page of the dashboard.

    Attributes
    ----------
    slug, title
        Name in links, and on the screen.
    narrow_height
        CSS height of the content in a narrow window, where it is scrolled.
    docked_heights
        CSS height that it has at least where it is docked: on a page wide enough, and on one so
        narrow that its parts stand one below the other.
    help
        What it says of itself.
    example
        What the button of the empty page opens: samples, and a view of them worth looking at.
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
        """What stands in the sidebar."""
        raise NotImplementedError

    @property
    def content(self) -> Any:
        """What stands in the main area."""
        raise NotImplementedError

    @property
    def link(self) -> Address:
        """What a link to the present view says."""
        raise NotImplementedError

    def follow(self, link: Address) -> None:
        """Show what a link asks for, once its files are open."""
        raise NotImplementedError

    def try_example(self) -> None:
        """Open the samples of the example, and show what is worth looking at."""
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
        """Bring the page up to date; called some twenty times a second."""
        raise NotImplementedError

    def revisit(self, link: Address) -> None:
        """Go where a person was before, by the browser's Back button."""
        self.follow(link)

    def complete(self) -> None:
        """Make what the page is sent without, now that the browser has it; most are whole."""
        self.is_complete = True

    def make_ready(self) -> None:
        """Make what is not shown yet, bit by bit; most pages are made at once."""

    def stay_low(self, is_low: bool) -> None:
        """Take little height, for another page is below this one or above; or the usual again."""

    def close(self) -> None:
        """Free what the page holds, as the tab is closed: most hold nothing beyond the session."""


def side_column(*panels: Any) -> list[Any]:
    """Return what stands in the sidebar: panels one below the other."""
    return [pmui.Column(*panels, sizing_mode="stretch_width", margin=(4, 10, 0, 10))]


class EmptyState(pmui.Column):
    """What stands on a page while nothing is open: words, and buttons with that of its example.

    It is made when it is first shown, for many a page is never empty.

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

    def show(self, is_empty: bool, words: str = "") -> None:
        """Show it while the page is empty, with other words where there are some."""
        self._words = words or self._words
        if is_empty and not len(self):
            self.objects = self._make()
        if is_empty and self[0].object != self._words:
            self[0].object = self._words
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
