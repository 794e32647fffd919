"""Navigation: the search field of the header, the browser's address and history, and stories.

Panel's own location is not notified of the browser's Back button, and adds a history entry for each
change. The address is therefore managed here, and followed when the user navigates back or forward.
A story is a sequence of views given by their links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from genoviz_app.opening.files import MAX_SHOWN
from genoviz_app.parts.canvas_component import join_scripts
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.session.address import Address
from genoviz_app.session.finding import (
    MAX_CHOICES,
    Found,
    Openings,
    also_here,
    find_everywhere,
    suggest,
)
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

SCRIPTS = Path(__file__).parent
SEARCHED = ("k-mer", "guide")
"""Kinds that are searched on their own pages, and have no position yet."""


class Finder(JSComponent):
    """The search field with suggestions, the results, and the history buttons.

    Parameters
    ----------
    session
        The session to search.
    on_go
        Called with the selected result.
    get_help
        Returns the help on each visible page: the fields of `PageHelp`, and its title.
    """

    suggestions = param.Dict({}, doc="The text, and names that begin so with their kinds.")
    found = param.Dict({}, doc="What was found: title, kind, place, what else is here, choices.")

    _esm = join_scripts([SCRIPTS / "page_help.js", SCRIPTS / "finder.js"])

    def __init__(
        self,
        session: Session,
        on_go: Callable[[Found], None],
        get_help: Callable[[], list[dict[str, Any]]],
        **params: Any,
    ) -> None:
        super().__init__(margin=(0, 8), align="center", **params)
        self._session, self._on_go, self._get_help = session, on_go, get_help
        self._text, self._n_answers = "", 0
        self._results: tuple[Found, ...] = ()
        self._awaited: Found | None = None
        self._awaiting = Watched(session, self._find_awaited, lambda: not session.graphs.is_opening)
        self._finding = Question(session, "find", self._on_found)
        self._suggesting = Question(session, "names that begin so", self._on_suggestions)
        self._looking = Question(session, "what else is at a place", self._show)
        self._asking = Question(session, "what a place of a link may mean", self._on_meanings)
        self._is_asked = self._has_more = False
        session.param.watch(lambda _: self.clear(), "opened")
        session.param.watch(self._on_unclear, "unclear")

    def clear(self) -> None:
        """Drop the results because another graph is open."""
        for question in (self._finding, self._looking, self._asking):
            question.drop()
        self._results, self.found = (), {}

    def _on_unclear(self, event: Any) -> None:
        """Offer the possible meanings of a link's place, without going to any."""
        if event.new:
            self._text = event.new
            self._asking.ask(find_everywhere, Openings.of(self._session), event.new)
            self._session.unclear = ""

    def _on_meanings(self, results: tuple[Found, ...]) -> None:
        self._take(results)
        self._offer("place of the link", "Several contigs have this name. Which one?")

    def _offer(self, kind: str, words: str) -> None:
        """Let the user choose a result, without going to any."""
        self._is_asked, self._n_answers = True, self._n_answers + 1
        own = {"title": self._text, "kind": kind, "place": words}
        self.found = self._message(self._results) | own

    def _take(self, results: tuple[Found, ...]) -> None:
        self._has_more = len(results) > MAX_CHOICES
        self._results, self._is_asked = results[:MAX_CHOICES], False

    def find(self, text: str) -> None:
        """Search for a text in all that is open, and go to the best match."""
        self._text = text.strip()
        if self._text:
            self._session.forget_problem()
            self._finding.ask(find_everywhere, Openings.of(self._session), self._text)

    def _find_awaited(self) -> None:
        """Continue a search in a chromosome that is open now, with its layout."""
        awaited, opened = self._awaited, self._session.opened
        if awaited.text and opened is not None and opened.source == awaited.source:
            self.find(awaited.text)

    def _handle_msg(self, data: dict[str, Any]) -> None:
        act, text = data.get("act"), str(data.get("text", ""))
        if act == "type":
            self._suggesting.ask(lambda: (text, suggest(Openings.of(self._session), text)))
        elif act == "find":
            self.find(text)
        elif act == "choose":
            row = int(data["row"]) - self._is_asked  # row 0 is the place itself
            if 0 <= row < len(self._results):
                self._go(row)
        elif act == "light" and self._results:
            self._light_up(self._results[0])
        elif act == "help":
            self._send_msg({"help": self._get_help()})
        elif act == "close":
            self.clear()

    def _on_suggestions(self, answer: tuple[str, tuple[tuple[str, str], ...]]) -> None:
        self.suggestions = {"text": answer[0], "names": [list(name) for name in answer[1]]}

    def _on_found(self, results: tuple[Found, ...]) -> None:
        self._take(results)
        if results and self._asks_first(results):
            words = "" if self._session.opened is None else "This closes the open file."
            self._offer("not open", words)
        elif results:
            self._go(0)
        else:
            self.found = {}
            self._session.problem = (
                f"Nothing that is open is called {self._text[:MAX_SHOWN]!r}: a node's name, "
                "path:start-end, or the name of a gene, a feature or a SNP is needed; or a k-mer "
                "or a guide in the letters ACGTN."
            )

    def _asks_first(self, results: tuple[Found, ...]) -> bool:
        """Return whether to ask first: opening a chromosome is slow and closes the current one."""
        is_alone = len(results) == 1 and self._session.opened is None
        return results[0].kind == "chromosome" and not is_alone

    def _go(self, row: int) -> None:
        """Go to one of the results, and move it to the top."""
        chosen = self._results[row]
        if chosen.kind == "chromosome":
            self.clear()
            self._awaited = chosen
            self._on_go(chosen)
            self._awaiting.start()
            return
        others = (*self._results[:row], *self._results[row + 1 :])
        self._results, self._is_asked = (chosen, *others), False
        self._n_answers += 1
        self._show("")
        if chosen.region is not None:
            self._looking.ask(also_here, Openings.of(self._session), chosen.region)
        self._on_go(chosen)

    def _show(self, also: str) -> None:
        chosen, *others = self._results
        if chosen.kind in SEARCHED and not others:
            self.found = {}  # its page shows everything
            return
        self.found = {
            **self._message(others),
            "title": chosen.title,
            "kind": chosen.kind,
            "place": chosen.place,
            "also": also,
            "can_light": chosen.kind not in SEARCHED,
        }

    def _message(self, others: Sequence[Found]) -> dict[str, Any]:
        """Return the message to the browser with the result and its alternatives."""
        more = "Several match: enter a position, or more of the name."
        return {
            "n": self._n_answers,
            "also": "",
            "can_light": False,
            "choices": [f"{other.title} ({other.kind})" for other in others],
            "more": more if self._has_more else "",
        }

    def _light_up(self, found: Found) -> None:
        if found.region is not None:
            things = Highlight.of_region(found.region, found.title, found.kind)
        else:
            opened = self._session.opened
            graph = None if opened is None else opened.graph
            things = Highlight(found.title, "node", nodes=found.nodes, graph=graph)
        self._session.highlights.light_up(things)


class FirstSteps(JSComponent):
    """Steps for new users, until they are closed; the browser stores that."""

    _esm = (SCRIPTS / "first_steps.js").read_text()


class Story(JSComponent):
    """Views with captions, whose links and pictures are kept by the browser, after the ``#``.

    Parameters
    ----------
    on_show
        Called with the query of the view to show.
    link
        Returns the query of the current view.
    on_close
        Called when the story is closed.
    """

    _esm = (SCRIPTS / "story.js").read_text()

    def __init__(
        self,
        on_show: Callable[[str], None],
        link: Callable[[], str],
        on_close: Callable[[], None],
        **params: Any,
    ) -> None:
        super().__init__(sizing_mode="stretch_width", margin=0, **params)
        self._on_show, self._link, self._on_close = on_show, link, on_close

    def _handle_msg(self, data: dict[str, Any]) -> None:
        act = data.get("act")
        if act == "show":
            self._on_show(str(data.get("query", "")))
        elif act == "link":
            self._send_msg({"query": self._link()})
        elif act == "close":
            self._on_close()


class Visited:
    """Decides which addresses are shown, and which get a history entry of their own.

    An address is shown once it is stable. It gets its own entry if it is another place (page,
    files, region, view) and the user has acted since the previous entry. The consequences of a
    single action, such as a page and then a region on it, share one entry.

    Examples
    --------
    >>> visited = Visited()
    >>> at = [Address(file=name) for name in ("a", "a", "b", "b", "c", "c")]
    >>> answers = []
    >>> for n, address in enumerate(at):
    ...     if n == 2:
    ...         visited.act()
    ...     answers.append(visited.visit(address))
    >>> answers
    [None, True, None, False, None, True]
    """

    def __init__(self) -> None:
        self._candidate: str | None = None
        self._shown: str | None = None
        self._place: tuple | None = None
        self._n_acts = 0  # counted by those that came before the address did
        self._n_acts_of_candidate = self._n_acts_of_entry = 0

    def act(self) -> None:
        """Record a user action."""
        self._n_acts += 1

    def visit(self, address: Address) -> bool | None:
        """Return whether an address replaces the previous entry; None if it is not shown."""
        query = address.query
        if query != self._candidate:
            self._candidate, self._n_acts_of_candidate = query, self._n_acts
            return None
        if query == self._shown:
            return None
        place, n_acts = _place_of(address), self._n_acts_of_candidate
        replaces = place == self._place or n_acts == self._n_acts_of_entry
        self._shown, self._place = query, place
        self._n_acts_of_entry = self._n_acts_of_entry if replaces else n_acts
        return replaces

    def revisit(self, query: str) -> None:
        """Record that the browser has gone back or forward, which is a special action."""
        self._shown = self._candidate = query
        self._n_acts_of_entry = self._n_acts_of_candidate = self._n_acts


def _place_of(address: Address) -> tuple:
    return (
        address.page,
        address.file,
        address.sequences,
        address.genome,
        address.tracks,
        address.region,
        address.view,
        address.tab,
    )


class AddressBar(JSComponent):
    """An invisible component; see `put` and `hand_over`.

    Parameters
    ----------
    on_visit
        Called with the query of an address after back or forward navigation.
    on_act
        Called when the user presses a key, clicks or scrolls, before the consequences.
    """

    shown = param.Dict({}, doc="The query, and whether it takes the place of the one before.")

    _esm = (SCRIPTS / "address_bar.js").read_text()

    def __init__(
        self, on_visit: Callable[[str], None], on_act: Callable[[], None], **params: Any
    ) -> None:
        super().__init__(
            width=0, height=0, margin=0, sizing_mode="fixed", styles={"position": "absolute"},
            **params,
        )  # fmt: skip
        self._on_visit, self._on_act = on_visit, on_act

    def put(self, query: str, *, replaces: bool) -> None:
        """Change the query, as a new history entry or replacing the previous."""
        self.shown = {"query": query, "replaces": replaces}

    def hand_over(self, name: str, content: bytes) -> None:
        """Let the browser save a file."""
        self._send_msg({"name": name, "content": content})

    def _handle_msg(self, data: dict[str, Any]) -> None:
        if "query" in data:
            self._on_visit(str(data["query"]))
        else:
            self._on_act()
