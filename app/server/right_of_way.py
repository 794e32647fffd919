"""Drawing takes precedence over long computations, so that they do not compete for cores.

A picture takes some milliseconds with all cores, and several times as long next to a running
layout. The slices of long computations therefore wait for pending pictures.
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

    Both waits are bounded: short work proceeds if a long step takes too long, and long steps
    proceed however many pictures are requested.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_short = 0
        self._n_long = 0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Hold this during a short computation."""
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
    """Lower the priority of this thread, and of those it starts, to a third of a normal share.

    Pages then stay responsive while layouts run. Thread priorities exist on Linux only.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):  # not permitted
            niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


CORES = RightOfWay()
"""Coordinates the use of CPU cores between pictures and layouts of all tabs."""
