"""The event loop that serves all browsers: measuring its lag, and reducing it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from types import coroutine
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from bokeh.application.handlers.handler import Handler
from tornado.ioloop import IOLoop, PeriodicCallback

TICK_SECONDS = 0.1
REMEMBERED_SECONDS = 300.0
BETWEEN_TURNS_SECONDS = 0.005
COLLECT_SECONDS = 300.0
FEW_COLLECTIONS = 10
NEVER = 1_000_000_000
YOUNG, MIDDLE = 700, 10
"""Python's own thresholds of collections. With those of a command one blocks the loop for 0.2 s."""
SWITCH_SECONDS = 0.0005
ROUND_SECONDS = 0.01


@dataclass(frozen=True)
class Lag:
    """Waiting time of requests for the event loop, in seconds, over the last five minutes.

    Attributes
    ----------
    p50, p99
        Median and 99th percentile.
    longest
        The longest wait.
    """

    p50: float = 0.0
    p99: float = 0.0
    longest: float = 0.0


class LoopLag:
    """Measures the lag of the event loop ten times per second.

    A request that arrives while a callback blocks the loop for two seconds waits between zero and
    two seconds, depending on when it arrives. A long block therefore counts as many ticks.

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
        """Start measuring the loop of this thread; idempotent."""
        if self._due is None:
            self._set_timer()

    def note(self, late: float) -> None:
        """Record that a tick was ``late`` seconds late."""
        n_missed = int(late / self._tick + 1e-9)
        waits = (late - i * self._tick for i in range(n_missed + 1))
        self._waits.extend(round(max(0.0, wait), 6) for wait in waits)

    def measure(self) -> Lag:
        """Return the waiting times; zeros if nothing was measured."""
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
    """Runs blocking work in pieces, and lets the event loop handle other events in between."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_set = False

    @property
    def is_awaited(self) -> bool:
        """Whether any caller waits for a turn."""
        return bool(self._waiting)

    def take(self, piece: Callable[[], object]) -> None:
        """Run a piece of blocking work in a turn of its own."""
        self._waiting.append(piece)
        self._set_timer()

    async def wait(self) -> None:
        """Wait for a turn."""
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


class Work:
    """Starts the work of all tabs in its order, but little of it in each round of the event loop.

    A request for a file or for `/status` then waits for a few pieces of work at most.
    """

    def __init__(self, *, round_seconds: float = ROUND_SECONDS) -> None:
        self._round_seconds = round_seconds
        self._waiting: deque[tuple[Coroutine, Context, asyncio.Future]] = deque()
        self._end_of_round: float | None = None

    def start(self, work: Coroutine) -> asyncio.Future:
        """Start a coroutine now or in one of the next rounds; return its future result."""
        if self._end_of_round is None:
            self._set_round()
        if not self._waiting and time.monotonic() < self._end_of_round:
            return start_now(work, copy_context())
        result = asyncio.get_running_loop().create_future()
        self._waiting.append((work, copy_context(), result))
        return result

    def _set_round(self) -> None:
        self._end_of_round = time.monotonic() + self._round_seconds
        # The context of the present work names its tab.
        asyncio.get_running_loop().call_soon(self._begin_round, context=Context())

    def _begin_round(self) -> None:
        self._end_of_round = None
        if not self._waiting:
            return
        self._set_round()
        while self._waiting:
            work, context, result = self._waiting.popleft()
            start_now(work, context).add_done_callback(partial(_hand_on, result))
            if time.monotonic() >= self._end_of_round:
                return


def _hand_on(result: asyncio.Future, done: asyncio.Future) -> None:
    if result.cancelled() or done.cancelled():
        result.cancel()
    elif (error := done.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(done.result())


def start_now(work: Coroutine, context: Context) -> asyncio.Future:
    """Run a coroutine until it has to wait; return its future result.

    Python 3.12 has this as ``asyncio.eager_task_factory``.
    """
    loop = asyncio.get_running_loop()
    try:
        waited = context.run(work.send, None)
    except StopIteration as end:
        done = loop.create_future()
        done.set_result(end.value)
    except Exception as error:
        done = loop.create_future()
        done.set_exception(error)
    else:
        _mark(waited, is_awaited=False)
        return loop.create_task(_go_on(work, waited), context=context)
    return done


def _mark(waited: Any, *, is_awaited: bool) -> None:
    """Mark a future as just awaited, or not: who awaits it next must find it unmarked."""
    if asyncio.isfuture(waited):
        waited._asyncio_future_blocking = is_awaited


@coroutine
def _go_on(work: Coroutine, waited: Any) -> Generator[Any, Any, Any]:
    """Continue a coroutine that waits for something."""
    _mark(waited, is_awaited=True)
    while True:
        try:
            step = partial(work.send, (yield waited))
        except BaseException as error:
            step = partial(work.throw, error)
        try:
            waited = step()
        except StopIteration as end:
            return end.value


class TabByTab(Handler):
    """Creates pages that are requested at the same time one after another.

    Each user has one of them in the queue: who asks for many does not keep others waiting.
    """

    def __init__(self) -> None:
        super().__init__()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def modify_document(self, doc: Any) -> None:
        """Leave the document unchanged."""

    async def on_session_created(self, session_context: Any) -> None:
        """Wait for a turn before the page is created."""
        person = session_context.token_payload.get("person", "")
        lock = self._locks.setdefault(person, asyncio.Lock())
        async with lock:
            await TURNS.wait()


@contextmanager
def collections_put_off() -> Iterator[None]:
    """Collect no garbage inside the block.

    While modules are loaded, collections find next to nothing and take a quarter of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_seldom() -> None:
    """Run full garbage collections only every few minutes; idempotent.

    A full collection visits the objects of all tabs, which blocks the event loop for half a second
    with ten tabs. Python runs one whenever the tracked objects have grown by a quarter. Objects
    from before the server's start are not tracked, so every few new pages would trigger one. Closed
    tabs need no collection, because `closed_tabs` dismantles them.
    """
    if gc.get_threshold()[2] != NEVER:
        gc.set_threshold(YOUNG, MIDDLE, NEVER)
        gc.callbacks.append(give_back_memory)
        PeriodicCallback(collect_if_due, 1000 * COLLECT_SECONDS).start()


def give_back_memory(phase: str, found: dict[str, int]) -> None:
    """Return free pages to the system after a full collection; glibc keeps most of them."""
    if phase == "stop" and found["generation"] == 2:
        trim()


def trim() -> None:
    """Return free pages to the system."""
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def collect_if_due() -> None:
    """Run a full collection if new objects were made since the last one."""
    if gc.get_count()[2] >= FEW_COLLECTIONS:
        gc.collect()


TURNS = Turns()
"""Turns of this server's event loop."""

_WORK: WeakKeyDictionary[asyncio.AbstractEventLoop, Work] = WeakKeyDictionary()


def start_in_turn(work: Coroutine) -> asyncio.Future:
    """Start a coroutine among the work of all tabs of this event loop; return its future result."""
    loop = asyncio.get_running_loop()
    queue = _WORK.get(loop)
    if queue is None:
        queue = _WORK[loop] = Work()
    return queue.start(work)


LOOP_LAG = LoopLag()
"""Lag of this server's event loop, measured from its first tab on."""


def loop_lag() -> Lag:
    """Return the waiting times of requests to this server."""
    return LOOP_LAG.measure()


def share_interpreter() -> None:
    """Let the event loop and the threads of jobs take short turns.

    The loop gives Python's lock back with each message that it sends, and by default gets it again
    after up to 5 ms. Beside jobs in plain Python, one in twenty clicks of twenty messages took 60
    to 100 ms, against 6 without jobs. With short turns it takes 14, and the jobs take no longer.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    make_properties_side_by_side()


def make_properties_side_by_side() -> None:
    """Let cached properties of different objects be computed concurrently.

    Before Python 3.12, all objects of a class share a lock. While the steps of one user's large
    graph are counted, the event loop would wait to count those of a small one.
    """
    if sys.version_info >= (3, 12):
        return
    missing = object()

    def get(self, instance, owner=None):  # noqa: ARG001
        if instance is None:
            return self
        kept = instance.__dict__
        value = kept.get(self.attrname, missing)
        if value is missing:
            value = kept[self.attrname] = self.func(instance)
        return value

    cached_property.__get__ = get
