"""Programs that tests stop by a signal hear it, however the tests themselves were started."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """Let a program hear what ends it; ``preexec_fn`` calls this in the new process.

    A shell without job control has its programs in the background ignore SIGINT, and nohup SIGHUP;
    what they start inherits that. The tests themselves keep it.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
