"""What a signal does to the program: its first one ends it, and its echo does not."""

from __future__ import annotations

import signal

import pytest

from genoviz.cli import stopping
from genoviz.cli.stopping import Terminated, end_on_signals


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; the signals do by default what they do to a program."""
    now = [100.0]
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield now
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_program_once_within_a_second(clock, number, code):
    with end_on_signals():
        for after, ends in ((0, True), (0, False), (0.99, False), (1.0, True), (0.5, False)):
            clock[0] += after
            if not ends:
                signal.raise_signal(number)
                continue
            with pytest.raises(Terminated) as end:
                signal.raise_signal(number)
            assert end.value.code == code
            assert end.value.sentence == f"terminated by {number.name}"
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_so(clock):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with end_on_signals():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
