"""Signal handling of programs that tests start and stop."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """Restore default signal handling; to be called by ``preexec_fn`` in the new process.

    A shell without job control makes background programs ignore SIGINT, and nohup makes them ignore
    SIGHUP. Their child processes inherit that.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
