"""Jobs take turns, can be paused and cancelled, and keep their last snapshot and their error."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import weakref

import pytest

from genoviz.errors import FileFormatError
from genoviz_app.server import jobs
from genoviz_app.server.jobs import Job, JobPool, JobState
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def thread():
    thread = JobPool("test-jobs", slice_seconds=0.005)
    yield thread
    thread.close()


class Clock:
    """Stands for the module ``time`` of the jobs: goes on when a step says so, and only then."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(jobs, "time", clock)
    return clock


def count_up(log=None, name="", clock=time, pause=0.001):
    for value in itertools.count():
        clock.sleep(pause)
        if log is not None:
            log.append(name)
        yield value


def have_a_turn(thread):
    """Return when the thread has been through all its jobs."""
    assert thread.submit(iter([1])).wait(PATIENCE)


def test_a_job_keeps_its_last_snapshot(thread):
    job = thread.submit(iter([1, 2, 3]), title="three")
    assert job.wait(PATIENCE)
    assert (job.state, job.snapshot, job.n_snapshots, job.error) == ("finished", 3, 3, None)


def test_two_jobs_share_the_time_evenly(thread, clock):
    log = []
    with thread.changed:  # both are there before the first slice
        both = [thread.submit(count_up(log, name, clock)) for name in "ab"]
    wait_until(lambda: len(log) > 200)
    for job in both:
        job.cancel()
    shares = [log[:200].count(name) for name in "ab"]
    assert min(shares) >= 95, shares


def test_a_job_with_long_steps_does_not_starve_one_with_short_steps(thread, clock):
    log = []
    with thread.changed:
        both = [
            thread.submit(count_up(log, "long", clock, pause=0.02)),
            thread.submit(count_up(log, "short", clock)),
        ]
    wait_until(lambda: log.count("long") > 10)
    for job in both:
        job.cancel()
    until_tenth = log[: [n for n, name in enumerate(log) if name == "long"][10]]
    assert until_tenth.count("short") >= 4 * until_tenth.count("long")


def test_all_slices_run_in_one_thread(thread):
    names = set()

    def note():
        for _ in range(20):
            names.add(threading.current_thread().name)
            yield

    three = [thread.submit(note()) for _ in range(3)]
    assert all(job.wait(PATIENCE) for job in three)
    assert names == {"test-jobs"}


def test_a_paused_job_stands_still_and_goes_on(thread):
    job = thread.submit(count_up())
    wait_until(lambda: job.n_snapshots > 3)
    job.pause()
    wait_until(lambda: thread.n_active == 0)
    n_snapshots = job.n_snapshots
    have_a_turn(thread)
    assert job.n_snapshots == n_snapshots
    assert job.state is JobState.PAUSED
    job.resume()
    wait_until(lambda: job.n_snapshots > n_snapshots)
    assert job.snapshot >= n_snapshots  # it went on, it did not start again


def test_a_pause_holds_when_the_slice_under_way_has_ended(thread):
    began, goes_on = threading.Event(), threading.Event()

    def steps():
        began.set()
        assert goes_on.wait(PATIENCE)
        yield 1
        yield 2

    job = thread.submit(steps())
    assert began.wait(PATIENCE)
    assert not job.is_held
    job.pause()
    assert not job.is_held
    goes_on.set()
    wait_until(lambda: job.is_held)
    assert (job.state, job.snapshot) == ("paused", 1)
    job.resume()
    assert job.wait(PATIENCE)
    assert not job.is_held


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_cancelled_job_closes_its_generator_and_frees_the_thread(thread, is_paused):
    closed_in = []

    def steps():
        try:
            while True:
                time.sleep(0.001)
                yield 7
        finally:
            closed_in.append(threading.current_thread().name)

    job = thread.submit(steps())
    wait_until(lambda: job.n_snapshots > 0)
    if is_paused:
        job.pause()
    job.cancel()
    assert job.wait(PATIENCE)
    assert (job.state, job.snapshot) == ("cancelled", 7)
    assert closed_in == ["test-jobs"]
    wait_until(lambda: thread.n_active == 0)


def test_an_error_is_kept_with_the_last_snapshot_and_others_run_on(thread):
    def fails():
        yield "half a graph"
        raise FileFormatError("a.gfa", "line has 2 fields, needs 3", line=4)

    bad, good = thread.submit(fails()), thread.submit(iter([1, 2]))
    assert bad.wait(PATIENCE)
    assert good.wait(PATIENCE)
    assert (bad.state, bad.snapshot) == ("failed", "half a graph")
    assert str(bad.error) == "a.gfa, line 4: line has 2 fields, needs 3"
    assert good.state is JobState.FINISHED


def test_an_unexpected_error_is_kept_and_logged(thread, caplog):
    def fails():
        raise ZeroDivisionError("never seen by a person")
        yield

    job = thread.submit(fails(), title="divide")
    assert job.wait(PATIENCE)
    assert isinstance(job.error, ZeroDivisionError)
    assert "divide" in caplog.text


def test_a_job_that_has_to_wait_gives_its_turn_away(thread):
    done = threading.Event()

    def waits():
        yield "waiting"
        while not done.is_set():
            yield None
        yield "done"

    def works():
        yield from range(20)
        done.set()

    waiting = thread.submit(waits())
    thread.submit(works())
    assert waiting.wait(PATIENCE)
    assert (waiting.snapshot, waiting.n_snapshots) == ("done", 2)


def test_pausing_or_cancelling_a_finished_job_changes_nothing(thread):
    job = thread.submit(iter([1]))
    assert job.wait(PATIENCE)
    job.pause()
    job.resume()
    job.cancel()
    have_a_turn(thread)
    assert job.state is JobState.FINISHED


def test_closing_the_thread_cancels_everything(thread):
    three = [thread.submit(count_up()) for _ in range(3)]
    three[0].pause()
    thread.close(PATIENCE)
    assert [job.state for job in three] == ["cancelled"] * 3
    late = thread.submit(iter([1]))
    assert (late.state, late.snapshot) == ("cancelled", None)


class Panic(BaseException):
    """As compiled libraries raise them: no Exception."""


def test_a_panic_of_a_library_ends_its_job_and_no_other(thread, caplog):
    def panics():
        yield 1
        raise Panic("of a library")

    job = thread.submit(panics(), title="a file")
    assert job.wait(PATIENCE)
    assert (job.state, job.snapshot, type(job.error)) == ("failed", 1, Panic)
    assert "job 'a file' failed" in caplog.text
    after = thread.submit(iter([1]))
    assert after.wait(PATIENCE)
    assert after.state == "finished"


@pytest.mark.parametrize("error", [Panic, ValueError])
def test_a_job_that_fails_while_it_is_ended_leaves_the_thread_alive(thread, caplog, error):
    def fails_to_close():
        try:
            while True:
                yield 1
        finally:
            raise error("of a library")

    job = thread.submit(fails_to_close(), title="a file")
    wait_until(lambda: job.n_snapshots > 0)
    job.cancel()
    assert job.wait(PATIENCE)
    assert (job.state, thread.n_active) == ("cancelled", 0)
    assert "job 'a file' failed while it was ended" in caplog.text
    after = thread.submit(iter([1]))
    assert after.wait(PATIENCE)
    assert after.state == "finished"


class Result:
    """Something that a job computes, which a weak reference can name."""


def test_a_thread_does_not_keep_what_its_last_job_has_computed(thread):
    result = Result()
    kept = weakref.ref(result)
    job = thread.submit(iter([result]))
    assert job.wait(PATIENCE)
    assert job.snapshot is kept()
    del job, result

    def is_gone():
        gc.collect()
        return kept() is None

    wait_until(is_gone)


class RecordingThread:
    """Stands for a job's thread: notes the job's state whenever its lock is taken and let go."""

    def __init__(self):
        self.changed = self
        self.job, self.seen, self.is_held = None, [], False

    def __enter__(self):
        self.is_held = True
        self.seen.append((self.job.state, self.job._is_paused, self.job._is_cancelled))

    def __exit__(self, *error):
        self.seen.append((self.job.state, self.job._is_paused, self.job._is_cancelled))
        self.is_held = False

    def enqueue(self, job):
        assert job is self.job
        assert self.is_held


@pytest.mark.parametrize(
    ("calls", "before", "after"),
    [
        (["pause"], (JobState.WAITING, False, False), (JobState.PAUSED, True, False)),
        (["pause", "resume"], (JobState.PAUSED, True, False), (JobState.WAITING, False, False)),
        (["cancel"], (JobState.WAITING, False, False), (JobState.WAITING, False, True)),
    ],
)
def test_a_job_changes_its_state_under_the_lock_of_its_thread(calls, before, after):
    """Else the thread could end the job in between, and a paused job would have ended."""
    thread = RecordingThread()
    thread.job = job = Job(iter([]), thread, "watched")
    for call in calls:
        thread.seen.clear()
        getattr(job, call)()
    assert thread.seen == [before, after]
