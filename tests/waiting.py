"""Waits with timeouts that only a real failure exceeds, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 240.0
"""Seconds after which a wait fails."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.02
"""Seconds between checks; a page polls every 0.05 s."""


def wait_until(condition: Callable[[], object], act: Callable[[], object] | None = None) -> None:
    """Poll a condition at increasing intervals; ``act`` is called before each check."""
    end, pause = time.monotonic() + PATIENCE, SHORTEST_PAUSE
    while not condition():
        assert time.monotonic() < end, "the condition did not come about"
        time.sleep(pause)
        pause = min(1.3 * pause, LONGEST_PAUSE)
        if act is not None:
            act()
