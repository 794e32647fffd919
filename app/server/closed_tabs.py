"""A closed tab is taken apart, so that all it had is free without a search for garbage.

The parts of a tab refer to each other. Python finds such a circle only by looking at all objects of
all tabs, which holds the loop for a second where twenty are open. But it is known where the circles
of a tab are: its widgets, models and pages are each emptied, and what they had goes with them.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from functools import cache, partial
from types import CellType, FunctionType, MethodType
from typing import Any
from weakref import WeakSet

from tornado.ioloop import IOLoop

from genoviz_app.server.event_loop import BETWEEN_TURNS_SECONDS, trim

log = logging.getLogger(__name__)

REST_SECONDS = 2.0
SLICE_SECONDS = 0.008
OBJECTS_BETWEEN_LOOKS = 256
LOOK_SECONDS = 12.0
MAX_DOUBLINGS = 5
REMEMBERED = "_genoviz_models"
OF_TABS = tuple(
    f"genoviz_app.{name}"
    for name in ("dashboard", "page_deck", "pages", "parts", "plots", "session")
)
"""Modules whose objects belong to one tab each, unless they cannot be changed."""


@cache
def _is_shown(kind: type) -> bool:
    """Return whether objects of a class are shown, or follow what is: each belongs to one tab."""
    from bokeh.core.has_props import HasProps
    from panel.io.callbacks import PeriodicCallback
    from panel.reactive import Syncable
    from panel.viewable import Viewable
    from param import Parameterized

    is_own = kind.__module__.startswith(OF_TABS)
    return issubclass(kind, (HasProps, Syncable, Viewable, PeriodicCallback)) or (
        is_own and issubclass(kind, Parameterized)
    )


@cache
def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(OF_TABS) and hasattr(kind, "__dict__")


@cache
def _leads_on(kind: type) -> bool:
    """Return whether objects of a class may lead from one part of a tab to another."""
    from param.parameterized import _InstancePrivate

    ways = (dict, list, tuple, set, frozenset, deque, MethodType, partial, CellType)
    return _is_shown(kind) or issubclass(kind, (*ways, _InstancePrivate))


def _is_part(each: Any) -> bool:
    """Return whether an object belongs to one tab.

    Themes, designs and open files are everybody's. An object of ours belongs to a tab if it has
    something of it, for if it were everybody's it would keep that tab forever.
    """
    if _is_shown(type(each)):
        return True
    return _is_own(type(each)) and any(map(_is_of_part, vars(each).values()))


def _is_of_part(value: Any) -> bool:
    if type(value) is MethodType:
        value = value.__self__
        if _is_own(type(value)):
            return any(_is_shown(type(other)) for other in vars(value).values())
    return _is_shown(type(value))


def iter_parts(roots: Iterable[Any], parts: list[Any]) -> Iterator[None]:
    """Find all objects that belong to a tab, from some of them on; yields now and then.

    Parameters
    ----------
    roots
        Where the search begins.
    parts
        Each part is added to it. What only leads to parts, and what tabs may share, as files that
        are open, is not.
    """
    seen: dict[int, Any] = {}  # with the objects, so that no other gets the number of one
    waiting = list(roots)
    while waiting:
        for _ in range(min(OBJECTS_BETWEEN_LOOKS, len(waiting))):
            if not waiting:
                break
            each = waiting.pop()
            if id(each) in seen or not gc.is_tracked(each):
                continue
            kind = type(each)
            if kind is FunctionType:  # not its globals, which is a whole module
                seen[id(each)] = each
                waiting += (each.__closure__, each.__defaults__, each.__kwdefaults__)
            elif _leads_on(kind) or (_is_own(kind) and _is_part(each)):
                seen[id(each)] = each
                waiting += gc.get_referents(each)
                if _is_shown(kind) or _is_own(kind):
                    parts.append(each)
        yield


def iter_take_apart(roots: list[Any]) -> Iterator[None]:
    """Empty all parts of a tab that is closed; yields now and then.

    Nothing may use the tab any more.

    Parameters
    ----------
    roots
        Some of its objects; emptied, so that the caller keeps none.
    """
    parts: list[Any] = []
    yield from iter_parts(tuple(roots), parts)
    roots.clear()
    while parts:
        for _ in range(min(OBJECTS_BETWEEN_LOOKS // 8, len(parts))):
            vars(parts.pop()).clear()
        yield


def is_in_a_loop() -> bool:
    """Return whether an event loop runs this: none does where a page is made without a server."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Closings:
    """Takes closed tabs apart one after another, and sees to it that nothing is left of them.

    A tab that something holds all the same is looked for among all objects, less and less often.
    """

    def __init__(self, *, rest: float = REST_SECONDS, seconds: float = LOOK_SECONDS) -> None:
        self._rest, self._seconds = rest, seconds
        self._waiting: deque[tuple[float, list[Any], Callable[[], bool]]] = deque()
        self._open: WeakSet[Any] = WeakSet()
        self._closed: WeakSet[Any] = WeakSet()
        self._steps: Iterator[None] = iter(())
        self._n_doublings = 0
        self._is_set = self._looks = False

    def note(self, tab: Any) -> None:
        """Take down that a tab is open, which will be closed."""
        self._open.add(tab)

    def expect(
        self, tab: Any, others: Iterable[Any] = (), is_at_rest: Callable[[], bool] = lambda: True
    ) -> None:
        """Take a closed tab apart in a moment.

        Parameters
        ----------
        tab
            The tab.
        others
            More of its objects, that the tab itself does not lead to.
        is_at_rest
            Whether no thread works for it any more; it is taken apart once that is so.
        """
        self._open.discard(tab)
        if not is_in_a_loop():
            return
        self._closed.add(tab)
        self._waiting.append((time.monotonic() + self._rest, [tab, *others], is_at_rest))
        self._set_timer(self._rest)

    def _set_timer(self, seconds: float) -> None:
        if not self._is_set:
            self._is_set = True
            self._later(seconds, self._go_on)

    def _go_on(self) -> None:
        """Work for one slice."""
        self._is_set = False
        end = time.perf_counter() + SLICE_SECONDS
        try:
            for _ in self._steps:
                if time.perf_counter() > end:
                    self._set_timer(BETWEEN_TURNS_SECONDS)
                    return
        except Exception:
            log.exception("a closed tab was not taken apart; it is looked for among all objects")
        self._steps = iter(())
        if not self._waiting:
            self._look_later(self._seconds)
            return
        wait = self._waiting[0][0] - time.monotonic()
        self._set_timer(max(wait, BETWEEN_TURNS_SECONDS))
        if wait > 0:
            return
        _, roots, is_at_rest = self._waiting.popleft()
        if is_at_rest():
            self._steps = iter_take_apart(roots)
        else:
            self._waiting.append((time.monotonic() + self._rest, roots, is_at_rest))

    def _look_later(self, seconds: float) -> None:
        if not self._looks:
            self._looks = True
            self._later(seconds, self._look)

    def _look(self) -> None:
        """Give back what tabs had; look among all objects if one is left, or nobody would wait."""
        self._looks = False
        if self._is_set:  # another one was closed meanwhile
            pass
        elif self._closed or not self._open:
            gc.collect()  # which gives back, too
        else:
            trim()
        if self._closed:
            self._look_later(self._seconds * 2**self._n_doublings)
            self._n_doublings = min(self._n_doublings + 1, MAX_DOUBLINGS)
        else:
            self._n_doublings = 0

    @staticmethod
    def _later(seconds: float, do: Callable[[], None]) -> None:
        # In a context of its own, for that of a closed tab would keep the tab until then.
        Context().run(IOLoop.current().call_later, seconds, do)


def remember_models() -> None:
    """Let the models of a document be known once it is destroyed, which parts them from it."""
    from panel.io import application

    destroy = application._destroy_document
    if getattr(destroy, "remembers", False):
        return

    def destroy_remembered(document, session):
        vars(document)[REMEMBERED] = list(document.models)
        destroy(document, session)

    destroy_remembered.remembers = True
    application._destroy_document = destroy_remembered


def models_of(session_context: Any) -> list[Any]:
    """Return the models that a document had when it was destroyed, once."""
    document = getattr(session_context, "_document", None)
    return [] if document is None else vars(document).pop(REMEMBERED, [])


CLOSINGS = Closings()
"""Tabs of this server that were closed."""
