"""The event loop that answers all browsers: how late it is, and what holds it less."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from bokeh.application.handlers.handler import Handler
from tornado.ioloop import IOLoop, PeriodicCallback

from genoviz_app.server.class_facts import PLAIN, ClassFacts

TICK_SECONDS = 0.1
REMEMBERED_SECONDS = 300.0
BETWEEN_TURNS_SECONDS = 0.005
COLLECT_SECONDS = 300.0
FEW_COLLECTIONS = 10
NEVER = 1_000_000_000


@dataclass(frozen=True)
class Lag:
    """How long a request waited for the event loop, in seconds, over the last five minutes.

    Attributes
    ----------
    p50, p99
        Half of the moments, and 99 of 100, had to wait no longer.
    longest
        The longest wait.
    """

    p50: float = 0.0
    p99: float = 0.0
    longest: float = 0.0


class LoopLag:
    """Notes ten times a second how late the event loop comes to it.

    A callback that holds the loop for two seconds makes a request wait anything up to that, as the
    request comes at its beginning or end; so it counts as often as a tick would have been due.

    Examples
    --------
    >>> lag = LoopLag(tick_seconds=0.1)
    >>> lag.note(0.3)
    >>> lag.note(0.0)
    >>> lag.measure()
    Lag(p50=0.1, p99=0.3, longest=0.3)
    """

    def __init__(self, *, tick_seconds: float = TICK_SECONDS) -> None:
        self._tick = tick_seconds
        self._waits: deque[float] = deque(maxlen=round(REMEMBERED_SECONDS / tick_seconds))
        self._due: float | None = None

    def start(self) -> None:
        """Begin to measure the loop of this thread; again does nothing."""
        if self._due is None:
            self._set_timer()

    def note(self, late: float) -> None:
        """Take down that the loop came ``late`` seconds late to a tick."""
        n_missed = int(late / self._tick + 1e-9)
        waits = (late - i * self._tick for i in range(n_missed + 1))
        self._waits.extend(round(max(0.0, wait), 6) for wait in waits)

    def measure(self) -> Lag:
        """Return how long requests waited; zeros when nothing was measured."""
        waits = sorted(self._waits)
        if not waits:
            return Lag()
        last = len(waits) - 1
        return Lag(waits[last // 2], waits[-(-last * 99 // 100)], waits[-1])

    def _set_timer(self) -> None:
        self._due = time.monotonic() + self._tick
        IOLoop.current().call_later(self._tick, self._on_tick)

    def _on_tick(self) -> None:
        self.note(time.monotonic() - self._due)
        self._set_timer()


class Turns:
    """Has work that holds the loop done piece by piece, with everything else in between."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_set = False

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for a turn."""
        return bool(self._waiting)

    def take(self, piece: Callable[[], object]) -> None:
        """Have a piece of work that holds the loop done in a turn of its own."""
        self._waiting.append(piece)
        self._set_timer()

    async def wait(self) -> None:
        """Come back when it is one's turn."""
        turn = asyncio.get_running_loop().create_future()
        self.take(lambda: turn.done() or turn.set_result(None))
        await turn

    def _set_timer(self) -> None:
        if self._waiting and not self._is_set:
            self._is_set = True
            IOLoop.current().call_later(BETWEEN_TURNS_SECONDS, self._do_next)

    def _do_next(self) -> None:
        self._is_set = False
        try:
            self._waiting.popleft()()
        finally:
            self._set_timer()


class TabByTab(Handler):
    """Lets pages that are asked for at the same time be made one after another."""

    def modify_document(self, doc: Any) -> None:
        """Leave the page as it is."""

    async def on_session_created(self, session_context: Any) -> None:  # noqa: ARG002
        """Wait for a turn, before the page is made."""
        await TURNS.wait()


class Synced:
    """The models of a page that its browser has; one is looked up rather than all listed."""

    def __init__(self, manager: Any) -> None:
        self._models, self._new = manager._models, manager._new_models

    def __contains__(self, model: Any) -> bool:
        return self._models.get(model._id) is model and model not in self._new


@cache
def look_references_up() -> None:
    """Have a message look up the models that it names; calling it again does nothing.

    Bokeh asks all models of a tab, some thousand, for each message, most of whose time that takes.
    """
    from bokeh.core.serialization import Deserializer, Serializer
    from bokeh.document.models import DocumentModelManager
    from bokeh.model import Model

    begin, find, receive = Serializer.__init__, Serializer.get_ref, Deserializer.__init__

    def init(self, *, references=(), **options):
        self._synced = references if isinstance(references, Synced) else ()
        begin(self, references=() if self._synced else references, **options)

    def get_ref(self, obj):
        ref = find(self, obj)
        if ref is None and isinstance(obj, Model) and obj in self._synced:
            return obj.ref
        return ref

    def init_received(self, references=None, **options):
        receive(self, **options)
        self._references = {model._id: model for model in references or ()}

    Deserializer.__init__ = init_received
    Serializer.__init__, Serializer.get_ref = init, get_ref
    DocumentModelManager.synced_references = property(Synced)


def find_parts_quickly() -> None:
    """Let the walk through all models of a page, at each change of parts, ask for no defaults."""
    from bokeh.core.has_props import HasProps
    from bokeh.model import Model, util

    plain = frozenset(PLAIN)

    def look(value, queue):
        kind = type(value)
        if kind in plain:
            return
        if issubclass(kind, (list, tuple)):
            for item in value:
                look(item, queue)
        elif issubclass(kind, dict):
            for item in value.items():
                look(item, queue)
        elif issubclass(kind, Model):
            queue(value)
        elif issubclass(kind, HasProps):
            look_below(value, queue)

    def look_below(parent, queue):
        own, made = parent._property_values, parent._unstable_default_values
        themed = parent.themed_values() or ()
        for name, holds in ClassFacts.of(parent).holders:
            if name in own:
                look(own[name], queue)
            elif holds or name in made or name in themed:
                look(getattr(parent, name), queue)

    def collect_filtered_models(discard, *input_values):
        collected: dict[str, Any] = {}
        waiting: deque[Any] = deque()

        def queue(model):
            if model._id not in collected and not (discard is not None and discard(model)):
                waiting.append(model)

        look(input_values, queue)
        while waiting:
            model = waiting.popleft()
            if model._id not in collected:
                collected[model._id] = model
                look_below(model, queue)
        return list(collected.values())

    util.collect_filtered_models  # noqa: B018
    util.collect_filtered_models = collect_filtered_models


def collect_seldom() -> None:
    """Look through all objects for garbage every few minutes; calling it again does nothing.

    A whole collection holds the loop while it looks at all that all tabs have: half a second with
    ten of them. Python has one whenever the objects that it counts have grown by a quarter, and it
    does not count those that were there when the server began: so it has one with every few pages
    that are made. What a closed tab had is looked for besides, by Panel and some seconds later.
    """
    young, middle, old = gc.get_threshold()
    if old != NEVER:
        gc.set_threshold(young, middle, NEVER)
        gc.callbacks.append(give_back_memory)
        PeriodicCallback(collect_if_due, 1000 * COLLECT_SECONDS).start()


def give_back_memory(phase: str, found: dict[str, int]) -> None:
    """Return free pages to the system after a whole collection: glibc keeps most of them."""
    if phase == "stop" and found["generation"] == 2:
        with suppress(AttributeError, OSError):  # another libc
            ctypes.CDLL(None).malloc_trim(0)


def collect_if_due() -> None:
    """Look through all objects, if others have come since that was done last."""
    if gc.get_count()[2] >= FEW_COLLECTIONS:
        gc.collect()


TURNS = Turns()
"""Turns of this server's loop."""

LOOP_LAG = LoopLag()
"""The lag of this server's loop, measured from its first tab on."""


def loop_lag() -> Lag:
    """Return how long requests to this server waited for the event loop."""
    return LOOP_LAG.measure()
