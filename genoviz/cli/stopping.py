"""How a command is stopped, with nothing half-written left behind.

SIGTERM is what batch systems and ``timeout`` send, SIGHUP comes when a terminal goes away. Both
end the program as Ctrl-C does: files on their way and temporary folders are removed.

Python hears a signal between two of its own steps, not while compiled code runs. Kernels let other
threads run meanwhile; so the command has a thread of its own, and the main thread waits for it or
for a signal. A command that is between two steps is ended as by Ctrl-C. One that is in a long
kernel is left there, tidied up after, and ends with the process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from genoviz.io.files.compiled_errors import take_back_interrupts

_NAMES = ("SIGTERM", "SIGHUP")

_SAME_SECONDS = 1.0


class Terminated(SystemExit):
    """A signal ends the program, with the exit code that shells have for it: 128 and its number.

    Parameters
    ----------
    number
        The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"terminated by {signal.Signals(number).name}"


@contextlib.contextmanager
def end_on_signals() -> Iterator[None]:
    """Raise `Terminated` where a signal comes, so that whatever is open is closed and removed.

    Signals that are ignored, as by nohup, stay so. ``timeout`` sends its signal twice: what comes
    within a second is one signal, lest the second one cuts off the tidying.
    """
    last = [-_SAME_SECONDS]

    def end(number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        is_same, last[0] = now - last[0] < _SAME_SECONDS, now
        if not is_same:
            raise Terminated(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    try:
        yield
    except Terminated:
        # The second one of ``timeout`` may come when Python is on its way out.
        before = dict.fromkeys(before, signal.SIG_IGN)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


GRACE_SECONDS = 1.0
HEARING_SECONDS = 0.25
NEW_OBJECTS = 250_000
"""Number of new objects after which cycles among them are looked for; Python's own is 700."""

_tidying: list[Callable[[], None]] = []

_stuck: set[threading.Event] = set()


@contextlib.contextmanager
def tidied(tidy: Callable[[], None]) -> Iterator[None]:
    """Have something tidied up if the program ends within the block and cannot leave it."""
    _tidying.append(tidy)
    try:
        yield
    finally:
        _tidying.remove(tidy)


def run_stoppable(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or raise what it raises, unless a signal comes before."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    result: list[Any] = []
    errors: list[BaseException] = []
    has_begun, is_given_up, is_done = (threading.Event() for _ in range(3))

    def work() -> None:
        has_begun.set()
        try:
            if not is_given_up.is_set():
                result.append(function())
        except BaseException as error:
            errors.append(error)
        finally:
            is_done.set()

    worker = threading.Thread(target=work, name="command", daemon=True)
    try:
        worker.start()  # a signal may come while it waits for the thread
        while not is_done.wait(HEARING_SECONDS):
            take_back_interrupts()
    except BaseException:
        is_given_up.set()
        if has_begun.is_set():
            _stop(worker, is_done)
        raise
    if errors:
        raise errors[0]
    return result[0]


def _stop(worker: threading.Thread, is_done: threading.Event) -> None:
    """Interrupt a thread; note it if that is of no use, and tidy up what it left."""
    with _silent_about_interrupts():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(worker.ident), ctypes.py_object(KeyboardInterrupt)
        )
        with contextlib.suppress(BaseException):  # a second signal ends the waiting
            is_done.wait(GRACE_SECONDS)
    if not is_done.is_set():
        _stuck.add(is_done)
    # A thread that has ended may have been interrupted in the midst of its own tidying.
    from genoviz.io.files.replace_file import remove_open_parts

    for tidy in (*reversed(_tidying), remove_open_parts):
        with contextlib.suppress(Exception):
            tidy()


@contextlib.contextmanager
def _silent_about_interrupts() -> Iterator[None]:
    """Let Python not report an interrupt that came where none can be raised, and was lost."""
    report = sys.unraisablehook
    sys.unraisablehook = lambda lost: (
        None if isinstance(lost.exc_value, KeyboardInterrupt) else report(lost)
    )
    try:
        yield
    finally:
        sys.unraisablehook = report


def forget_interrupts() -> None:
    """Let the process end with the exit code that it gives, whatever was interrupted before.

    If the last code that was run from a string (that of a dataclass, when a module is imported)
    was interrupted, ``python -m`` ends by SIGINT, whoever caught that. This is the last one now.
    """
    exec("")


def leave_stuck(code: int) -> None:
    """End the process at once if a command is still in a kernel; else do nothing."""
    if any(not is_done.is_set() for is_done in _stuck):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


@functools.cache
def forgo_garbage() -> None:
    """Have Python seldom look for cycles among the objects of libraries, and not at its end.

    It does so to free memory, a hundred times while they are imported, and once more when the
    process ends: a third of a short command's time.
    """
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)
