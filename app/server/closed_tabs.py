"""Dismantles closed tabs, so that their memory is freed without garbage collection.

The objects of a tab form reference cycles. A full garbage collection, which visits the objects of
all tabs, blocks the event loop for a second with twenty tabs open. The cycles of a tab go through
its widgets, models and pages. Emptying each of these frees everything they refer to.
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
"""Modules whose objects belong to a single tab, unless immutable."""


@cache
def _is_shown(kind: type) -> bool:
    """Return whether objects of a class are displayed, or watch displayed ones: one tab each."""
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
    """Return whether objects of a class may refer to further parts of a tab."""
    from param.parameterized import _InstancePrivate

    ways = (dict, list, tuple, set, frozenset, deque, MethodType, partial, CellType)
    return _is_shown(kind) or issubclass(kind, (*ways, _InstancePrivate))


def _is_part(each: Any) -> bool:
    """Return whether an object belongs to one tab.

    Themes, designs and open files are shared. An object of this package belongs to a tab if it
    refers to a part of it; a shared object with such a reference would keep the tab alive forever.
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
    """Find all objects that belong to a tab, starting from ``roots``; yields from time to time.

    Parameters
    ----------
    roots
        Starting points of the search.
    parts
        List to which each part is appended. Objects that only lead to parts, and shared ones such
        as open files, are not appended.
    """
    seen: dict[int, Any] = {}  # holds the objects, so that their ids are not reused
    waiting = list(roots)
    while waiting:
        for _ in range(min(OBJECTS_BETWEEN_LOOKS, len(waiting))):
            if not waiting:
                break
            each = waiting.pop()
            if id(each) in seen or not gc.is_tracked(each):
                continue
            kind = type(each)
            if kind is FunctionType:  # skip its globals, which are a whole module
                seen[id(each)] = each
                waiting += (each.__closure__, each.__defaults__, each.__kwdefaults__)
            elif _leads_on(kind) or (_is_own(kind) and _is_part(each)):
                seen[id(each)] = each
                waiting += gc.get_referents(each)
                if _is_shown(kind) or _is_own(kind):
                    parts.append(each)
        yield


def iter_take_apart(roots: list[Any]) -> Iterator[None]:
    """Empty all parts of a closed tab; yields from time to time.

    The tab must no longer be in use.

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
    """Return whether an event loop is running; there is none if a page is made without a server."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Closings:
    """Dismantles closed tabs one after another, and checks that they are freed.

    A tab that is still referenced is searched among all objects, with decreasing frequency.
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
        """Register an open tab."""
        self._open.add(tab)

    def expect(
        self, tab: Any, others: Iterable[Any] = (), is_at_rest: Callable[[], bool] = lambda: True
    ) -> None:
        """Schedule the dismantling of a closed tab.

        Parameters
        ----------
        tab
            The tab.
        others
            Further objects of the tab that are not reachable from it.
        is_at_rest
            Returns whether no thread works for the tab any more; dismantling waits for this.
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
        """Return freed memory; run a full collection if a tab is left or nobody would notice."""
        self._looks = False
        if self._is_set:  # another tab was closed meanwhile
            pass
        elif self._closed or not self._open:
            gc.collect()  # its callback also trims the heap
        else:
            trim()
        if self._closed:
            self._look_later(self._seconds * 2**self._n_doublings)
            self._n_doublings = min(self._n_doublings + 1, MAX_DOUBLINGS)
        else:
            self._n_doublings = 0

    @staticmethod
    def _later(seconds: float, do: Callable[[], None]) -> None:
        # In a new context, because that of a closed tab would keep the tab alive until then.
        Context().run(IOLoop.current().call_later, seconds, do)


def remember_models() -> None:
    """Remember the models of a document when it is destroyed, which detaches them from it."""
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
    """Return, once, the models that a document had when it was destroyed."""
    document = getattr(session_context, "_document", None)
    return [] if document is None else vars(document).pop(REMEMBERED, [])


CLOSINGS = Closings()
"""Closed tabs of this server."""
