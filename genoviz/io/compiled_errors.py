"""What compiled libraries do when they fail: they write to standard error, and Rust panics."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator

_OUTPUT = 2
_holding = threading.Lock()


def is_failure(error: BaseException) -> bool:
    """Tell whether an error is a library's, be it a panic, and none that ends the process."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


@contextlib.contextmanager
def held_messages() -> Iterator[None]:
    """Hold back what is written to standard error meanwhile; it is dropped where this fails.

    The error that is raised then says all of it.
    """
    if not _holding.acquire(blocking=False):
        yield
        return
    with _holding_released(), tempfile.TemporaryFile() as held:
        sys.stderr.flush()
        output = os.dup(_OUTPUT)
        os.dup2(held.fileno(), _OUTPUT)
        try:
            yield
            sys.stderr.flush()
            held.seek(0)
            os.write(output, held.read())
        finally:
            os.dup2(output, _OUTPUT)
            os.close(output)


@contextlib.contextmanager
def _holding_released() -> Iterator[None]:
    try:
        yield
    finally:
        _holding.release()
