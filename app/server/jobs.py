"""Where long computations run: a few threads that give every tab a slice in turn.

A job is a generator of `genoviz`; each value it yields is a snapshot, and None says that it has
to wait and gives its turn away. Threads take turns through the tabs, not through the jobs, and run
one job of a tab at a time: so a tab with a hundred jobs gets as much as one with a single job, what
the jobs of a tab share needs no lock, and a tab in a long step leaves the other threads to others.
The latest snapshot and the error are kept. Nobody is called back: whoever is interested looks at
the job.
"""

from __future__ import annotations

import atexit
import errno
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from enum import StrEnum
from typing import Any
from weakref import WeakSet

from genoviz.backend import explain_gpu_failure
from genoviz.errors import BackendError, GenovizError
from genoviz_app.server.limits import too_long
from genoviz_app.server.right_of_way import CORES, RightOfWay, step_back

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.002
N_FILE_THREADS = 4
"""Others' long steps may take all but one of these, and a short question is still answered."""
PATIENCE = 0.5
"""How many seconds a job waits for its turn before that is said."""


class JobState(StrEnum):
    """What a job is doing; the last three are for good."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)
_NUMBERS = itertools.count()
_TURN = threading.local()


def owner_of_turn() -> Hashable:
    """Return whose job this thread runs; None for nobody's."""
    return getattr(_TURN, "owner", None)


class Job:
    """One generator that a `JobPool` runs.

    Attributes
    ----------
    title
        What the job does, for everybody.
    about
        What it does in detail, for the log.
    owner
        Whose turns it uses: the tab.
    snapshot
        The latest value that the generator yielded; None before the first.
    n_snapshots
        How many values it yielded: a change tells that there is something new.
    error
        What stopped the job, when its state is ``failed``.
    pool
        What runs it.
    number
        Its place among all jobs, in the order in which they came.
    """

    def __init__(
        self,
        steps: Iterator[Any],
        pool: JobPool,
        title: str,
        owner: Hashable = None,
        about: str = "",
        max_minutes: float | None = None,
    ) -> None:
        self.title, self.about = title, about or title
        self.number = next(_NUMBERS)
        self._max_minutes, self._seconds = max_minutes, 0.0
        self.owner = self if owner is None else owner
        self.snapshot: Any = None
        self.n_snapshots = 0
        self.error: Exception | None = None
        self._steps = steps
        self.pool = self._pool = pool
        self._state = JobState.WAITING
        self._is_cancelled = False
        self._is_paused = False
        self._waits_since = time.perf_counter()

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

    @property
    def is_held(self) -> bool:
        """Whether a pause has come into effect: the slice that was running then has ended."""
        with self._pool.changed:
            return self._is_paused and not self._pool.is_running(self)

    @property
    def n_before(self) -> int:
        """How many jobs of others it waits for, once that takes longer than usual; else 0."""
        waits = self._state is JobState.WAITING and not self._is_cancelled
        if not waits or time.perf_counter() - self._waits_since < PATIENCE:
            return 0
        return self._pool.count_others(self.owner)

    def pause(self) -> None:
        """Stop after the slice that is running (`is_held`); `resume` goes on."""
        with self._pool.changed:
            if not self.has_ended:
                self._is_paused = True
                self._state = JobState.PAUSED

    def resume(self) -> None:
        """Go on after `pause`."""
        with self._pool.changed:
            if self._is_paused and not self.has_ended:
                self._is_paused = False
                self._state = JobState.WAITING
                self._pool.enqueue(self)

    def cancel(self) -> None:
        """End the job after the slice that is running; its last snapshot stays."""
        with self._pool.changed:
            if not self.has_ended:
                self._is_cancelled = True
                self._pool.enqueue(self)

    def cancel_unbegun(self) -> None:
        """End a job that no thread will ever run."""
        self._end(JobState.CANCELLED)

    def give_up(self) -> None:
        """End a job whose error could not even be told; only a thread of the pool calls this."""
        self._end(JobState.FAILED)
        log.exception("job %r failed", self.title)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended; return whether it has."""
        with self._pool.changed:
            return self._pool.changed.wait_for(lambda: self.has_ended, timeout)

    def run_slice(self, seconds: float) -> None:
        """Advance the generator for about ``seconds``; only a thread of the pool calls this."""
        if self._is_cancelled:
            self._end(JobState.CANCELLED)
            return
        end = time.perf_counter() + seconds
        _TURN.owner = self.owner
        try:
            while True:
                with self._pool.way.long():
                    snapshot = self._take_step()
                if snapshot is None:
                    time.sleep(IDLE_SECONDS)
                    return
                self.snapshot = snapshot
                self.n_snapshots += 1
                if self._is_cancelled:
                    self._end(JobState.CANCELLED)
                    return
                if self._is_paused or time.perf_counter() >= end:
                    return
        except StopIteration:
            self._end(JobState.FINISHED)
        except BaseException as error:  # a panic of compiled code is not an Exception
            self.error = error
            failure = explain_gpu_failure(error)
            if failure:
                self.error = BackendError(failure)
            if not isinstance(error, GenovizError):
                log.exception("job %r failed", self.about)
            self._end(JobState.FAILED)
        finally:
            _TURN.owner = None

    def _take_step(self) -> Any:
        """Return what the generator yields next, unless it has had its time."""
        if self._max_minutes is not None and self._seconds > 60 * self._max_minutes:
            raise GenovizError(too_long(self._max_minutes))
        start = time.perf_counter()
        snapshot = next(self._steps)
        self._seconds += time.perf_counter() - start
        return snapshot

    def _end(self, state: JobState) -> None:
        close = getattr(self._steps, "close", None)
        self._steps = iter(())
        try:
            if close is not None:
                close()
        except BaseException:
            log.exception("job %r failed while it was ended", self.about)
        with self._pool.changed:
            self._state = state
            self._pool.changed.notify_all()

    def set_running(self, is_running: bool) -> None:
        """Note whether a slice is running; only a thread of the pool calls this."""
        if not self.has_ended and not self._is_paused:
            self._state = JobState.RUNNING if is_running else JobState.WAITING
            self._waits_since = time.perf_counter()

    @property
    def can_run(self) -> bool:
        """Whether the job wants a slice now."""
        return not self.has_ended and (self._is_cancelled or not self._is_paused)


POOLS: WeakSet[JobPool] = WeakSet()


class JobPool:
    """Threads that run the slices of all their jobs, the owners in turn.

    Parameters
    ----------
    name
        Name of the threads.
    n_threads
        How many owners can have a turn at once; an owner has one at a time.
    slice_seconds
        How long a job runs before the next has its turn; 0.02 to 0.1 s.
    way
        What each step of a job gives way to.
    steps_back
        Whether its threads leave the cores to others who want them.
    """

    def __init__(
        self,
        name: str = "jobs",
        *,
        n_threads: int = 1,
        slice_seconds: float = 0.05,
        way: RightOfWay | None = None,
        steps_back: bool = False,
    ) -> None:
        self.name, self._steps_back = name, steps_back
        self.n_threads = n_threads
        self.slice_seconds = slice_seconds
        self.way = way or RightOfWay()
        self.changed = threading.Condition(threading.RLock())
        self._jobs: list[Job] = []
        # The owners whose jobs wait, those first whose turn it is.
        self._lines: dict[Hashable, deque[Job]] = {}
        self._current: dict[Hashable, Job] = {}
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        POOLS.add(self)

    def submit(
        self,
        steps: Iterator[Any],
        *,
        title: str = "",
        owner: Hashable = None,
        about: str = "",
        max_minutes: float | None = None,
    ) -> Job:
        """Run a generator in turn with the jobs of other owners; returns at once.

        Once the pool is closed, as a server that ends has closed it, the job is cancelled.

        Parameters
        ----------
        steps
            The generator.
        title
            What the job does; everybody may see it, so it names no file.
        owner
            Whose turns it uses; None for turns of its own.
        about
            What it does in detail, for the log; the title by default.
        max_minutes
            How long it may compute, without what it waits; None for no limit.
        """
        job = Job(iter(steps), self, title, owner, about, max_minutes)
        with self.changed:
            if self._is_closed:
                job.cancel_unbegun()
            else:
                self._jobs = [*(other for other in self._jobs if not other.has_ended), job]
                self.enqueue(job)
        return job

    @property
    def active(self) -> list[Job]:
        """The jobs that have a slice running, then those that wait for one, in order of turns."""
        with self.changed:
            waiting = (job for line in self._lines.values() for job in line)
            return [job for job in (*self._current.values(), *waiting) if not job.has_ended]

    @property
    def n_active(self) -> int:
        """Number of jobs that have a slice running or wait for one; paused jobs do not count."""
        return len(self.active)

    def count_others(self, owner: Hashable) -> int:
        """Return how many jobs of others have turns before an owner's next; 0 while it has one."""
        with self.changed:
            if owner in self._current:
                return 0
            n_others = len(self._current)
            for other, line in self._lines.items():
                if other == owner:
                    break
                n_others += len(line)
        return n_others

    def is_running(self, job: Job) -> bool:
        """Return whether a slice of a job is running."""
        return job is self._current.get(job.owner)

    def enqueue(self, job: Job) -> None:
        """Give a job its place in the line of its owner, unless it has one."""
        with self.changed:
            line = self._lines.setdefault(job.owner, deque())
            if job is not self._current.get(job.owner) and job not in line:
                line.append(job)
            if not line:
                del self._lines[job.owner]
            if len(self._threads) < min(self.n_threads, len(self._lines) + len(self._current)):
                self._start_thread()
            self.changed.notify_all()

    def close(self, timeout: float = 2.0) -> None:
        """Cancel all jobs and end the threads."""
        with self.changed:
            self._is_closed = True
            for job in self._jobs:
                job.cancel()
            self.changed.notify_all()
        end = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(end - time.monotonic(), 0.0))
        atexit.unregister(self.close)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        if not self._threads:
            atexit.register(self.close)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        if self._steps_back:
            step_back()
        while (job := self._next_job()) is not None:
            try:
                job.run_slice(self.slice_seconds)
            except BaseException:  # with the thread, the job's tab and all others would stand still
                job.give_up()
            finally:
                self._put_back(job)
            del job  # and what it has computed, while the thread waits for another one

    def _next_job(self) -> Job | None:
        """Wait for the next job that wants a slice; None when the thread is to end."""
        with self.changed:
            while True:
                job = self._take_turn()
                if job is not None:
                    job.set_running(True)
                    return job
                if self._is_closed and not self._lines:
                    return None
                self.changed.wait()

    def _take_turn(self) -> Job | None:
        """Return the first job of the first owner who has no turn; the owner goes to the end."""
        for owner in [owner for owner in self._lines if owner not in self._current]:
            line = self._lines.pop(owner)
            while line:
                job = line.popleft()
                if job.can_run:
                    self._current[owner] = job
                    if line:
                        self._lines[owner] = line
                    return job
        return None

    def _put_back(self, job: Job) -> None:
        with self.changed:
            del self._current[job.owner]
            if job.can_run:
                job.set_running(False)
                self._lines.setdefault(job.owner, deque()).append(job)
            elif job.has_ended:
                self._jobs = [other for other in self._jobs if other is not job]
            self.changed.notify_all()


KERNELS = JobPool("genoviz-kernels", way=CORES, steps_back=True)

"""Layouts and other computations of all tabs: one at a time, as each takes all cores or the GPU."""

FILES = JobPool("genoviz-files", n_threads=N_FILE_THREADS)

"""Reading, writing and answers to questions, which would keep the kernels waiting."""


def describe_problem(error: Exception | None) -> str:
    """Return an error as one sentence for a person, never a traceback."""
    if isinstance(error, GenovizError):
        text = str(error)
        return text if text.endswith((".", "!", "?")) else f"{text}."
    if isinstance(error, MemoryError):
        return "There is not enough memory on the server for this."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "There is no room left for this on the server's disk."
    name = type(error).__name__
    return f"Something unexpected went wrong ({name}); the server's log has the details."
