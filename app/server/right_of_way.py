"""Drawing goes before computing, so that kernels do not share the processor's cores.

A picture takes some milliseconds when it has all cores, and several times as long beside a layout
that uses them too. So the slices of long computations let waiting pictures pass.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SHORT_PATIENCE = 0.12
LONG_PATIENCE = 0.06
NICENESS = 5


class RightOfWay:
    """Short work waits for the long step under way; the next long step waits for all short work.

    Neither waits forever: a long step that takes too long is no longer waited for, and however
    many people look, the computation goes on.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_short = 0
        self._n_long = 0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Hold this while something short is computed."""
        with self._changed:
            self._n_short += 1
            self._changed.wait_for(lambda: self._n_long == 0, SHORT_PATIENCE)
        try:
            yield
        finally:
            with self._changed:
                self._n_short -= 1
                self._changed.notify_all()

    @contextmanager
    def long(self) -> Iterator[None]:
        """Hold this during a step of a long computation."""
        with self._changed:
            self._changed.wait_for(lambda: self._n_short == 0, LONG_PATIENCE)
            self._n_long += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_long -= 1
                self._changed.notify_all()


def step_back() -> None:
    """Let this thread, and those that it starts, have a third of another's share of a core.

    So pages answer while layouts run. Only Linux knows priorities of threads.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):  # a system that forbids it
            niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


CORES = RightOfWay()
"""Who may use the processor's cores now: pictures and layouts of all tabs."""
