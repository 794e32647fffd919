"""How the program ends when it is told to, with nothing half-written left behind.

SIGTERM is what batch systems and ``timeout`` send, SIGHUP comes when a terminal goes away. Both
end the program as Ctrl-C does: files on their way and temporary folders are removed.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

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
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
