"""What a signal does to the program: its first one ends it, and its echo does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from genoviz.cli import stopping
from genoviz.cli.stopping import Terminated, end_on_signals
from tests.conftest import ROOT
from tests.signals import hear_signals
from tests.waiting import PATIENCE, wait_until


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


TAKEN = """
import os, signal, threading, time
import polars
from genoviz.cli.stopping import run_stoppable

def work():
    polars.DataFrame({"a": [1, 2]}).lazy().select("a").collect()
    threading.Timer(120, os._exit, [9]).start()
    while True:  # the main thread looks every quarter of a second
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

try:
    run_stoppable(work)
except KeyboardInterrupt:
    os._exit(7)
"""


def run_source(source, before):
    """Run a program in which ``before`` has said what signals do; return how it ended."""
    return subprocess.run(
        [sys.executable, "-c", source],
        timeout=PATIENCE,
        check=False,
        capture_output=True,
        preexec_fn=before,
    )


def test_ctrl_c_is_heard_after_polars_took_it():
    ended = run_source(TAKEN, hear_signals)
    assert ended.returncode == 7, ended.stderr.decode()


IGNORED = """
import os, signal, sys
import polars
from genoviz.io.files.compiled_errors import take_back_interrupts

def work():
    return polars.DataFrame({"a": [1, 2]}).lazy().select("a").collect()["a"].sum()

work()
take_back_interrupts()
os.kill(os.getpid(), signal.SIGINT)
from pathlib import Path
ignored = int(Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0], 16)
assert ignored >> signal.SIGINT - 1 & 1, "as it was when the program was started"
sys.exit(work())
"""


def test_ctrl_c_that_is_ignored_stays_so_after_polars_took_it():
    """A program in the background of a script is not for the Ctrl-C that ends another one."""
    ended = run_source(IGNORED, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert ended.returncode == 3, ended.stderr.decode()


def run_module(folder, source):
    """Run a program by ``python -m``, as `genoviz` is; return how it ended."""
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "program"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, timeout=PATIENCE, check=False, capture_output=True
    )


INTERRUPTED = """
from genoviz.cli import main as program

def run(command, arguments):
    try:
        exec("raise KeyboardInterrupt")  # as while a module with a dataclass is imported
    except KeyboardInterrupt:
        raise SystemExit(130) from None

program._run = run
program.main([])
"""


def test_the_exit_code_stays_whatever_was_interrupted(tmp_path):
    ended = run_module(tmp_path, INTERRUPTED)
    assert ended.returncode == 130, ended.stderr.decode()


LATE = """
import os, signal
from genoviz.cli import main as program

def run(command, arguments):
    signal.raise_signal(signal.SIGTERM)

class AtTheVeryEnd:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, 15)

kept = AtTheVeryEnd()
program._run = run
program.main([])
"""


def test_the_second_signal_of_timeout_may_come_late(tmp_path):
    ended = run_module(tmp_path, LATE)
    assert ended.returncode == 143, ended.stderr.decode()


@pytest.mark.parametrize("is_started", [True, False])
def test_a_signal_while_the_thread_starts_ends_its_work_too(monkeypatch, is_started):
    """The main thread waits in ``start`` until the thread runs, and hears signals there."""
    workers, n_steps = [], []

    class Worker(threading.Thread):
        def start(self):
            workers.append(self)
            if is_started:
                super().start()
                wait_until(lambda: n_steps)
            raise KeyboardInterrupt

    def work():
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            n_steps.append(1)
            time.sleep(0.001)

    monkeypatch.setattr(stopping.threading, "Thread", Worker)
    with pytest.raises(KeyboardInterrupt):
        stopping.run_stoppable(work)
    (worker,) = workers
    monkeypatch.undo()
    if not is_started:  # as if the system began the thread only now
        threading.Thread.start(worker)
    worker.join(PATIENCE / 4)
    assert not worker.is_alive()
    assert bool(n_steps) == is_started
