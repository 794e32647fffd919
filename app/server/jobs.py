"""Where long computations run: one thread that gives every job a slice in turn.

A job is a generator of `genoviz`; each value it yields is a snapshot, and None says that it has
to wait and gives its turn away. The thread runs a slice of each job, round and round, so that two
browser tabs are served alike, and keeps the latest snapshot and the error. Nobody is called back:
whoever is interested looks at the job.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from genoviz.errors import GenovizError
from genoviz_app.server.right_of_way import CORES, RightOfWay

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.002


class JobState(StrEnum):
    """What a job is doing; the last three are for good."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)


class Job:
    """One generator that a `JobThread` runs.

    Attributes
    ----------
    title
        What the job does, for people.
    snapshot
        The latest value that the generator yielded; None before the first.
    n_snapshots
        How many values it yielded: a change tells that there is something new.
    error
        What stopped the job, when its state is ``failed``.
    """

    def __init__(self, steps: Iterator[Any], thread: JobThread, title: str) -> None:
        self.title = title
        self.snapshot: Any = None
        self.n_snapshots = 0
        self.error: Exception | None = None
        self._steps = steps
        self._thread = thread
        self._state = JobState.WAITING
        self._is_cancelled = False
        self._is_paused = False

    def __repr__(self) -> str:
        return f"Job({self.title!r}, {self.state}, {self.n_snapshots} snapshots)"

    @property
    def state(self) -> JobState:
        """What the job is doing."""
        return self._state

    @property
    def has_ended(self) -> bool:
        """Whether the job is finished, failed or cancelled."""
        return self._state in ENDED

    def pause(self) -> None:
        """Stop after the slice that is running; `resume` goes on."""
        with self._thread.changed:
            if not self.has_ended:
                self._is_paused = True
                self._state = JobState.PAUSED

    def resume(self) -> None:
        """Go on after `pause`."""
        with self._thread.changed:
            if self._is_paused and not self.has_ended:
                self._is_paused = False
                self._state = JobState.WAITING
                self._thread.enqueue(self)

    def cancel(self) -> None:
        """End the job after the slice that is running; its last snapshot stays."""
        with self._thread.changed:
            if not self.has_ended:
                self._is_cancelled = True
                self._thread.enqueue(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended; return whether it has."""
        with self._thread.changed:
            return self._thread.changed.wait_for(lambda: self.has_ended, timeout)

    def run_slice(self, seconds: float) -> None:
        """Advance the generator for about ``seconds``; only the job thread calls this."""
        if self._is_cancelled:
            self._end(JobState.CANCELLED)
            return
        end = time.perf_counter() + seconds
        try:
            while True:
                with self._thread.way.long():
                    snapshot = next(self._steps)
                if snapshot is None:
                    time.sleep(IDLE_SECONDS)
                    return
                self.snapshot = snapshot
                self.n_snapshots += 1
                if self._is_paused or self._is_cancelled or time.perf_counter() >= end:
                    return
        except StopIteration:
            self._end(JobState.FINISHED)
        except BaseException as error:  # a panic of compiled code is no Exception
            self.error = error
            if not isinstance(error, GenovizError):
                log.exception("job %r failed", self.title)
            self._end(JobState.FAILED)

    def _end(self, state: JobState) -> None:
        close = getattr(self._steps, "close", None)
        self._steps = iter(())
        try:
            if close is not None:
                close()
        except BaseException:
            log.exception("job %r failed while it was ended", self.title)
        with self._thread.changed:
            self._state = state
            self._thread.changed.notify_all()

    def set_running(self, is_running: bool) -> None:
        """Note whether a slice is running; only the job thread calls this."""
        if not self.has_ended and not self._is_paused:
            self._state = JobState.RUNNING if is_running else JobState.WAITING

    @property
    def can_run(self) -> bool:
        """Whether the job wants a slice now."""
        return not self.has_ended and (self._is_cancelled or not self._is_paused)


class JobThread:
    """A thread that runs the slices of all its jobs in turn.

    Parameters
    ----------
    name
        Name of the thread.
    slice_seconds
        How long one job runs before the next has its turn; 0.02 to 0.1 s.
    way
        What each step of a job gives way to.
    """

    def __init__(
        self,
        name: str = "jobs",
        *,
        slice_seconds: float = 0.05,
        way: RightOfWay | None = None,
    ) -> None:
        self.name = name
        self.slice_seconds = slice_seconds
        self.way = way or RightOfWay()
        self.changed = threading.Condition(threading.RLock())
        self._jobs: list[Job] = []
        self._queue: deque[Job] = deque()
        self._current: Job | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, steps: Iterator[Any], *, title: str = "") -> Job:
        """Run a generator in turn with the other jobs; returns at once."""
        job = Job(iter(steps), self, title)
        with self.changed:
            if self._is_closed:
                raise RuntimeError(f"{self.name} is closed and takes no more jobs")
            self._jobs = [*(other for other in self._jobs if not other.has_ended), job]
            self.enqueue(job)
        return job

    @property
    def n_active(self) -> int:
        """Number of jobs that have a slice running or wait for one; paused jobs do not count."""
        with self.changed:
            return len(self._queue) + (self._current is not None)

    def enqueue(self, job: Job) -> None:
        """Give a job its place in the line, unless it has one."""
        with self.changed:
            if job is not self._current and job not in self._queue:
                self._queue.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self.changed.notify_all()

    def close(self, timeout: float = 2.0) -> None:
        """Cancel all jobs and end the thread."""
        with self.changed:
            self._is_closed = True
            for job in self._jobs:
                job.cancel()
            self.changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        atexit.unregister(self.close)

    def _run(self) -> None:
        while (job := self._next_job()) is not None:
            job.run_slice(self.slice_seconds)
            self._put_back(job)
            del job  # and what it has computed, while the thread waits for another one

    def _next_job(self) -> Job | None:
        """Wait for the next job that wants a slice; None when the thread is to end."""
        with self.changed:
            while True:
                self.changed.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    return None
                job = self._queue.popleft()
                if job.can_run:
                    self._current = job
                    job.set_running(True)
                    return job

    def _put_back(self, job: Job) -> None:
        with self.changed:
            self._current = None
            if job.can_run:
                job.set_running(False)
                self._queue.append(job)
            elif job.has_ended:
                self._jobs = [other for other in self._jobs if other is not job]
            self.changed.notify_all()


KERNELS = JobThread("genoviz-kernels", way=CORES)

"""Layouts and other computations of all tabs."""

FILES = JobThread("genoviz-files")

"""Reading and downloading, which would keep the kernels waiting for disks and networks."""


def describe_problem(error: Exception | None) -> str:
    """Return an error as one sentence for a person, never a traceback."""
    if isinstance(error, GenovizError):
        text = str(error)
        return text if text.endswith((".", "!", "?")) else f"{text}."
    if isinstance(error, MemoryError):
        return "There is not enough memory on the server for this."
    name = type(error).__name__
    return f"Something unexpected went wrong ({name}); the server's log has the details."
