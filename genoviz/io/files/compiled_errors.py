"""What compiled libraries do to the process: messages on standard error, panics, signals."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator

_OUTPUT = 2
_holding = threading.Lock()


def is_failure(error: BaseException) -> bool:
    """Return whether an error is a library's, such as a Rust panic; KeyboardInterrupt is not."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def take_back_interrupts() -> None:
    """Give SIGINT to Python again, from the main thread: Polars takes it when it is first used.

    Python does not know that its handler is no longer the system's, and Ctrl-C does nothing. One
    that is to be ignored, as in the background of a script, is ignored again.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def held_messages() -> Iterator[None]:
    """Hold back what is written to standard error meanwhile; it is dropped where this fails.

    The error that is raised then says all of it.
    """
    output = _take_output()
    if output is None:
        yield
        return
    try:
        with tempfile.TemporaryFile() as held:
            os.dup2(held.fileno(), _OUTPUT)
            try:
                yield
                _flush()
                held.seek(0)
                os.write(output, held.read())
            finally:
                os.dup2(output, _OUTPUT)
    finally:
        os.close(output)
        _holding.release()


def _take_output() -> int | None:
    """Return a copy of standard error, or None: it is closed, or another thread holds it."""
    if not _holding.acquire(blocking=False):
        return None
    try:
        _flush()
        return os.dup(_OUTPUT)
    except OSError:
        _holding.release()
        return None


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()
