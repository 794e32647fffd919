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
    help
        What it says of itself.
    """

    slug = title = ""
    help = PageHelp("", ())
    narrow_height = "1100px"

    def __init__(self, session: Session) -> None:
        self._session = session

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

    def poll(self) -> None:
        """Bring the page up to date; called some twenty times a second."""
        raise NotImplementedError

    def revisit(self, link: Address) -> None:
        """Go where a person was before, by the browser's Back button."""
        self.follow(link)

    def complete(self) -> None:
        """Make what the page is sent without, now that the browser has it; most are whole."""

    def make_ready(self) -> None:
        """Make what is not shown yet, bit by bit; most pages are made at once."""

    def stay_low(self, is_low: bool) -> None:
        """Take little height, for another page is below this one or above; or the usual again."""

    def close(self) -> None:
        """Free what the page holds, as the tab is closed: most hold nothing beyond the session."""


def side_column(*panels: Any) -> list[Any]:
    """Return what stands in the sidebar: panels one below the other."""
    return [pmui.Column(*panels, sizing_mode="stretch_width", margin=(4, 10, 0, 10))]


def words_and_buttons(words: str, *buttons: Any) -> pmui.Column:
    """Return what stands where nothing is open: HTML, and buttons in a row below."""
    space = pn.layout.HSpacer
    return pmui.Column(
        pn.pane.HTML(words, sizing_mode="stretch_width"),
        pmui.Row(space(), *buttons, space(), sizing_mode="stretch_width", margin=0),
        sizing_mode="stretch_width",
        margin=0,
    )
