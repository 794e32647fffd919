"""Short work passes between two long steps, and neither can be kept waiting for ever."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from genoviz_app.server import right_of_way
from genoviz_app.server.jobs import JobPool
from genoviz_app.server.right_of_way import RightOfWay
from tests.waiting import PATIENCE


def test_short_work_never_runs_beside_a_long_step_and_goes_before_the_next(monkeypatch):
    monkeypatch.setattr(right_of_way, "SHORT_PATIENCE", PATIENCE)
    way, log, stop = RightOfWay(), [], threading.Event()

    def compute():
        while not stop.is_set():
            log.append("long begins")
            time.sleep(0.01)
            log.append("long ends")
            yield

    thread = JobPool("test", slice_seconds=0.0, way=way)
    job = thread.submit(compute())
    for _ in range(5):
        time.sleep(0.013)
        with way.short():
            log.append("short begins")
            time.sleep(0.005)
            log.append("short ends")
    stop.set()
    assert job.wait(PATIENCE)
    thread.close()
    pairs = list(zip(log[::2], log[1::2], strict=False))
    assert set(pairs) == {("long begins", "long ends"), ("short begins", "short ends")}
    assert pairs.count(("short begins", "short ends")) == 5


def test_a_very_long_step_does_not_keep_short_work_waiting(monkeypatch):
    monkeypatch.setattr(right_of_way, "SHORT_PATIENCE", 0.02)
    way = RightOfWay()
    with way.long():
        began = time.monotonic()
        with way.short():
            pass
    assert 0.02 <= time.monotonic() - began < PATIENCE


def test_endless_short_work_does_not_stop_the_computation(monkeypatch):
    monkeypatch.setattr(right_of_way, "LONG_PATIENCE", 0.02)
    way = RightOfWay()
    with way.short():
        began = time.monotonic()
        with way.long():
            pass
    assert 0.02 <= time.monotonic() - began < PATIENCE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux knows priorities of threads")
def test_threads_of_long_computations_leave_the_cores_to_others():
    def ask():
        yield os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, 0)
    found = []
    for steps_back in (True, False):
        pool = JobPool("test", steps_back=steps_back)
        job = pool.submit(ask())
        assert job.wait(PATIENCE)
        found.append(job.snapshot)
        pool.close()
    assert found == [min(before + right_of_way.NICENESS, 19), before]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
