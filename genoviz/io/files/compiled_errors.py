"""Side effects of compiled libraries: messages on standard error, panics, signal handlers."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

_OUTPUT = 2
_holding = threading.Lock()


def is_failure(error: BaseException) -> bool:
    """Return whether an error comes from a library, such as a Rust panic, not KeyboardInterrupt."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def take_back_interrupts() -> None:
    """Restore Python's SIGINT handler, which Polars replaces on first use; main thread only.

    Otherwise Python does not notice the replacement, and Ctrl-C has no effect. If SIGINT was
    ignored, as for background jobs of a script, it is ignored again.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def held_messages() -> Iterator[None]:
    """Capture output on standard error within the context; it is dropped after an error.

    The raised error then contains all of it.
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


@contextlib.contextmanager
def quiet_htslib(library: ModuleType) -> Iterator[None]:
    """Keep the htslib in pysam or cyvcf2 from writing to standard error within the context."""
    set_level = getattr(library, "set_verbosity", None) or _level_setter(library)
    before = set_level(0)
    try:
        yield
    finally:
        set_level(before)


def _level_setter(library: ModuleType) -> Callable[[int], int]:
    """Return what sets how much htslib writes, and returns how much it was before.

    cyvcf2 has no function for it; its extension module holds htslib or is linked to it.
    """
    htslib = ctypes.CDLL(library.cyvcf2.__file__)

    def set_level(level: int) -> int:
        before = htslib.hts_get_log_level()
        htslib.hts_set_log_level(level)
        return before

    return set_level


def _take_output() -> int | None:
    """Return a copy of standard error, or None if it is closed or another thread captures it."""
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
