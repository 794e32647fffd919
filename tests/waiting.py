"""Waits that end only when the thing is broken, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 240.0
"""Seconds after which something that should have come about is taken for broken."""


def wait_until(condition: Callable[[], object], act: Callable[[], object] | None = None) -> None:
    """Wait for a condition; ``act`` is done before each look, as a page polls."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the condition did not come about"
        time.sleep(0.002)
        if act is not None:
            act()
