"""One browser tab: header, sidebar and the chosen page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui
from bokeh.themes import Theme
from panel.io.callbacks import PeriodicCallback
from panel.util import edit_readonly

from genoviz.backend import describe_backend
from genoviz_app.page_deck import MAIN_HEIGHT, PageDeck
from genoviz_app.parts.lighting import LitList
from genoviz_app.parts.styles import NARROW_HEADER, in_narrow_window
from genoviz_app.parts.wayfinding import AddressBar, Finder, FirstSteps, Story
from genoviz_app.parts.words import plain_text
from genoviz_app.server.closed_tabs import CLOSINGS, models_of
from genoviz_app.server.settings import SETTINGS, current_person
from genoviz_app.server.setup import forget_tab, prepare_server, share_tasks
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session
from genoviz_app.tab_links import TabLinks, default_page, first_source, parse_link
from genoviz_app.theme import CHART_THEME, FAVICON, THEME, UNFINISHED_VIEWS

log = logging.getLogger(__name__)

POLL_MILLISECONDS = 40
# Tabs whose browser has been silent for this long, without pending jobs, are polled less often.
AWAKE_SECONDS, RESTING_POLL_SECONDS = 10.0, 0.25
LINK_SECONDS = 0.5
TITLE_WIDTH = "max(0px, calc(100vw - 1480px))"
LITTLE_ROOM = "@media (max-width: 1639px) { :host { display: none !important; } }"
TOAST_MILLISECONDS = 12_000


class Polling(PeriodicCallback):
    """Checks first whether to call, which is cheaper than an idle callback through Panel."""

    is_due: Callable[[], bool]

    async def _periodic_callback(self) -> None:
        if self.is_due():
            await super()._periodic_callback()


class Dashboard:
    """The content of one tab.

    Attributes
    ----------
    session
        State of the tab.
    deck
        The pages, one of them shown.
    root
        The Panel object of the whole tab.
    """

    def __init__(self, query: str = "") -> None:
        CLOSINGS.note(self)
        self.address = parse_link(query)
        self._polling: PeriodicCallback | None = None
        self._document: Any = None
        self._next_link, self._next_resting_poll = 0.0, 0.0
        person = current_person()
        self.session = Session(
            files=SETTINGS.files,
            folders=SETTINGS.may_read(person),
            limits=SETTINGS.limits_of(person),
            quota=SETTINGS.quota_of(person),
        )
        self.session.will_open = bool(first_source(self.address))
        first = self.address.page or default_page(self.address)
        self.deck = PageDeck(self.session, first, self.address.split)
        self.links = TabLinks(self.address, self.session, self.deck)
        self.bar = AddressBar(self.links.revisit, self.links.visited.act)
        self.problem = pmui.Alert(
            "",
            severity="error",
            closeable=True,
            visible=False,
            sizing_mode="stretch_width",
            margin=(4, 4, 0, 4),
        )
        self.session.hand_over = self.bar.hand_over
        self.finder = Finder(
            self.session,
            self.links.go_to,
            lambda: [page.help.message(page.title) for page in self.deck.in_sight],
            sizing_mode="stretch_width",
            styles={"flex": "1 1 0", "min-width": "140px"},
        )
        self.lit = LitList(self.session.highlights, self.links.go_to_lit)
        self.story: Story | None = None
        self.title = pmui.Typography(
            "", variant="body1", margin=(0, 16), align="center", css_classes=["only-wide"],
            styles={"max-width": TITLE_WIDTH}, stylesheets=[LITTLE_ROOM],
            sx={"&, & *": {"overflow": "hidden", "textOverflow": "ellipsis",
                           "whiteSpace": "nowrap", "margin": 0}},
        )  # fmt: skip
        self.waiting = pmui.Typography(
            "", variant="caption", margin=(0, 12, 0, 0), align="center", visible=False,
            sx={"&, & *": {"whiteSpace": "nowrap", "margin": 0}},
        )  # fmt: skip
        # They concern the layout, and would take space from other pages.
        self.steps = FirstSteps(visible=self.deck.is_first, sizing_mode="stretch_width", margin=0)
        self.root = pmui.Page(
            title="genoviz",
            favicon=str(FAVICON),
            header=[
                self.deck.switch,
                self.deck.splits,
                self.title,
                self.finder,
                self.waiting,
                self._backend_badge(),
            ],
            sidebar=[self.deck.sidebar],
            main=[
                pmui.Column(
                    self.bar,
                    self.steps,
                    self.problem,
                    self.lit,
                    self.deck.content,
                    sizing_mode="stretch_both",
                    styles={"height": MAIN_HEIGHT, "min-height": "480px"},
                    stylesheets=in_narrow_window("auto"),
                    margin=0,
                )
            ],
            sidebar_width=300,
            sidebar_resizable=False,
            dark_theme=True,
            theme_config=THEME,
            sx=NARROW_HEADER,
        )
        # Panel's `busy` is shared by all tabs: it would keep a closed tab alive forever, and
        # traverse all models of this tab twice for each callback of any tab.
        with edit_readonly(self.root):
            self.root.busy = pn.rx(False)
        self.session.param.watch(self._show_problem, "problem")
        self.session.param.watch(self._show_opened, "opened")
        self.session.param.watch(self._show_waiting, "waiting")

    def open_first(self) -> None:
        """Complete the page; open the files of the link, or else the first file or sample."""
        self.deck.complete()
        story = pmui.Button(
            label="Story", icon="auto_stories", size="small", variant="text", margin=10,
            description="Story: views with captions, as one link or one file",
        )  # fmt: skip
        story.on_click(lambda _: self._open_story())
        self.root.sidebar = [*self.root.sidebar, story]
        self.links.open_all()
        if self.address.story:
            self._open_story()

    def _open_story(self) -> None:
        """Show the story of this tab, which may be empty; it is created on demand."""
        if self.story is None:
            self.story = Story(self.links.show_view, self._link, self._close_story)
            self.root.main[0].insert(-1, self.story)

    def _close_story(self) -> None:
        if self.story is not None:
            self.root.main[0].remove(self.story)
            self.story = None

    @property
    def page(self) -> Any:
        """The page that is shown."""
        return self.deck.page

    def start_polling(self) -> None:
        """Call `poll` periodically until the tab is closed."""
        self._document = pn.state.curdoc
        self._polling = Polling(
            callback=self.poll, period=POLL_MILLISECONDS, background=True, log=False
        )
        self._polling.is_due = self._is_due
        self._polling.start()

    def _is_due(self) -> bool:
        """Return whether to poll: always, unless the tab is idle and was polled recently."""
        now = time.monotonic()
        heard_at = getattr(self._document, "heard_at", now)
        rests = now - heard_at > AWAKE_SECONDS and not self.session.awaits_jobs
        if rests and now < self._next_resting_poll:
            return False
        self._next_resting_poll = now + RESTING_POLL_SECONDS
        return True

    def poll(self) -> None:
        """Update the tab from its jobs."""
        if self.session.is_closed:
            return
        with pn.io.hold():  # one message instead of one for each change
            self._update()

    def _update(self) -> None:
        self.session.poll()
        self.deck.poll()
        if self.steps.visible != self.deck.is_first:  # setting it takes as long as all the rest
            self.steps.visible = self.deck.is_first
        self.session.follows_link &= self.session.opens_files
        now = time.monotonic()
        if now >= self._next_link:
            self._next_link = now + LINK_SECONDS
            self._show_link()

    def close(self, context: Any = None) -> None:
        """Release everything the closed tab holds."""
        if self._polling is not None:
            self._polling.stop()
        self.deck.close()
        self.session.close()
        CLOSINGS.expect(self, models_of(context), lambda: not self.session.is_busy)

    def _backend_badge(self) -> pmui.Chip:
        return pmui.Chip(
            label=describe_backend("auto"),
            icon="memory",
            size="small",
            variant="outlined",
            align="center",
            css_classes=["only-wide"],
            stylesheets=["@media (max-width: 1150px) { :host { display: none !important; } }"],
            description="Default backend of layouts"
            + (f". Large analyses: workers of {SETTINGS.scheduler}" if SETTINGS.scheduler else ""),
        )

    def _show_problem(self, event: Any) -> None:
        lines = [plain_text(line) for line in event.new.splitlines()]
        items = "".join(f"<li>{line}</li>" for line in lines)
        words = f'<ul style="margin: 0; padding-left: 1.2em">{items}</ul>' if len(lines) > 1 else ""
        self.problem.param.update(
            object=words or "".join(lines), visible=bool(event.new), closed=False
        )

    def _show_waiting(self, event: Any) -> None:
        words = plain_text(event.new)
        self.waiting.param.update(object=words or self.waiting.object, visible=bool(words))

    def _show_opened(self, event: Any) -> None:
        self.title.object = plain_text(event.new.title) if event.new else ""

    def _show_link(self) -> None:
        """Make the browser's address a link to the current view."""
        address = self._address()
        replaces = None if address is None else self.links.visited.visit(address)
        if replaces is not None:
            self.bar.put(address.query, replaces=replaces)

    def _link(self) -> str:
        """Return the query of the current view; "" during opening."""
        address = self._address()
        return "" if address is None else replace(address, story="").query

    def _address(self) -> Address | None:
        """Return the address of the current view; None if there is nothing to link to yet."""
        address = self.links.find_address()
        return address and replace(address, story="1" if self.story is not None else "")


def make_tab() -> Any:
    """Return the dashboard of a new tab; its jobs are cancelled with the tab."""
    pn.extension(
        "filedropper",
        "tabulator",
        notifications=True,
        exception_handler=_report,
        js_files=UNFINISHED_VIEWS,
    )
    prepare_server()
    share_tasks()
    if pn.state.curdoc is not None:
        pn.state.curdoc.theme = Theme(json=CHART_THEME)
    dashboard = Dashboard(pn.state.location.search if pn.state.location else "")
    pn.state.on_session_destroyed(dashboard.close)
    pn.state.on_session_destroyed(forget_tab)
    pn.state.onload(dashboard.open_first)
    pn.state.onload(dashboard.start_polling)  # not before a browser has loaded the page
    return dashboard.root


def _report(error: Exception) -> None:
    """Log an unexpected error, and report it on the page."""
    log.exception("a callback failed", exc_info=error)
    if pn.state.notifications is not None:
        pn.state.notifications.error(
            "Something unexpected went wrong; the server's log has the details.",
            duration=TOAST_MILLISECONDS,
        )
