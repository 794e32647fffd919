"""Execution of long computations by a few threads, with fair time slices for all tabs.

A job is a generator of `genoviz`. Each value that it yields is a snapshot; None means that it has
to wait, and ends its slice. Threads schedule round-robin over tabs rather than jobs, and run at
most one job of a tab at a time. A tab with a hundred jobs therefore gets the same share as one with
a single job, jobs of a tab need no locks for shared data, and a tab in a long step blocks only one
thread. The latest snapshot and the error are stored in the job. There are no callbacks; clients
poll the job.
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
from typing import Any, Protocol
from weakref import WeakSet

from genoviz.backend import explain_gpu_failure
from genoviz.errors import BackendError, GenovizError
from genoviz_app.parts.words import n_words
from genoviz_app.server.limits import too_long
from genoviz_app.server.right_of_way import CORES, RightOfWay, step_back

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.002
"""Pause of a thread after a job that had to wait, lest it takes all of a core to ask again."""
N_FILE_THREADS = 4
"""Long steps can occupy all but one of these, so that short questions are still answered."""
PATIENCE = 0.5
"""Seconds that a job waits for its turn before the user is informed."""


class JobState(StrEnum):
    """State of a job; the last three are final."""

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
    """Return the owner of the job that this thread runs; None if there is none."""
    return getattr(_TURN, "owner", None)


class Job:
    """A generator that a `JobPool` runs.

    Attributes
    ----------
    title
        Description of the job, visible to everybody.
    about
        Detailed description for the log.
    owner
        The tab whose turns it uses.
    snapshot
        The latest value that the generator yielded; None before the first.
    n_snapshots
        Number of values yielded so far; it changes when there is a new snapshot.
    error
        The error that stopped the job, if its state is ``failed``.
    pool
        The pool that runs it.
    number
        Sequence number among all jobs.
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
        self.pool = pool
        self._state = JobState.WAITING
        self._is_cancelled = False
        self._is_paused = False
        self._waits_since = time.perf_counter()

    def __repr__(self) -> str:
        return f"Job({self.title!r}, {self.state}, {n_words(self.n_snapshots, 'snapshot')})"

    @property
    def state(self) -> JobState:
        """Current state of the job."""
        return self._state

    @property
    def has_ended(self) -> bool:
        """Whether the job is finished, failed or cancelled."""
        return self._state in ENDED

    @property
    def is_held(self) -> bool:
        """Whether a pause has taken effect, after the end of the running slice."""
        with self.pool.changed:
            return self._is_paused and not self.pool.is_running(self)

    @property
    def n_before(self) -> int:
        """Number of other owners' jobs ahead of it, if it waits longer than usual; else 0."""
        waits = self._state is JobState.WAITING and not self._is_cancelled
        if not waits or time.perf_counter() - self._waits_since < PATIENCE:
            return 0
        return self.pool.count_others(self.owner)

    def pause(self) -> None:
        """Pause after the running slice (`is_held`); `resume` continues."""
        with self.pool.changed:
            if not self.has_ended:
                self._is_paused = True
                self._state = JobState.PAUSED

    def resume(self) -> None:
        """Continue after `pause`."""
        with self.pool.changed:
            if self._is_paused and not self.has_ended:
                self._is_paused = False
                self._state = JobState.WAITING
                self.pool.enqueue(self)

    def cancel(self) -> None:
        """Cancel the job after the running slice; its last snapshot is kept."""
        with self.pool.changed:
            if not self.has_ended:
                self._is_cancelled = True
                self.pool.enqueue(self)

    def cancel_unbegun(self) -> None:
        """Cancel a job that will never be run."""
        self._end(JobState.CANCELLED)

    def give_up(self) -> None:
        """Mark a job as failed if even reporting its error fails; for pool threads only."""
        self._end(JobState.FAILED)
        log.exception("job %r failed", self.title)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended; return whether it has."""
        with self.pool.changed:
            return self.pool.changed.wait_for(lambda: self.has_ended, timeout)

    def run_slice(self, seconds: float) -> None:
        """Run the generator for about ``seconds``; for pool threads only."""
        if self._is_cancelled:
            self._end(JobState.CANCELLED)
            return
        end = time.perf_counter() + seconds
        _TURN.owner = self.owner
        try:
            while True:
                with self.pool.way.long():
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
        except BaseException as error:  # panics of Rust extensions are not Exceptions
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
        """Return the generator's next value, unless its time limit is exceeded."""
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
        with self.pool.changed:
            self._state = state
            self.pool.changed.notify_all()

    def set_running(self, is_running: bool) -> None:
        """Record whether a slice is running; for pool threads only."""
        if not self.has_ended and not self._is_paused:
            self._state = JobState.RUNNING if is_running else JobState.WAITING
            self._waits_since = time.perf_counter()

    @property
    def can_run(self) -> bool:
        """Whether the job is ready for a slice."""
        return not self.has_ended and (self._is_cancelled or not self._is_paused)


class Submit(Protocol):
    """Submits a generator to a job thread."""

    def __call__(self, steps: Iterator[Any], *, title: str) -> Job:
        """Return the job."""


POOLS: WeakSet[JobPool] = WeakSet()


class JobPool:
    """Threads that run the slices of all jobs, with owners taking turns.

    Parameters
    ----------
    name
        Name of the threads.
    n_threads
        Maximum number of owners with a turn at once; an owner has one at a time.
    slice_seconds
        Length of a slice; 0.02 to 0.1 s.
    way
        `RightOfWay` that each step of a job yields to.
    steps_back
        Whether its threads run at low priority.
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
        # Owners with waiting jobs, in order of their turns.
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
        """Submit a generator, to take turns with the jobs of other owners; returns at once.

        If the pool is closed, as during server shutdown, the job is cancelled.

        Parameters
        ----------
        steps
            The generator.
        title
            Description of the job. Everybody may see it, so it must not name files.
        owner
            Owner of the turns; None makes the job its own owner.
        about
            Detailed description for the log; the title by default.
        max_minutes
            Limit on computing time, without waiting; None for no limit.
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
        """Running jobs, followed by waiting ones in order of their turns."""
        with self.changed:
            waiting = (job for line in self._lines.values() for job in line)
            return [job for job in (*self._current.values(), *waiting) if not job.has_ended]

    @property
    def n_active(self) -> int:
        """Number of jobs that run or wait for a slice, without paused ones."""
        return len(self.active)

    def count_others(self, owner: Hashable) -> int:
        """Return the number of other owners' turns before an owner's next; 0 if it has one."""
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
        """Append a job to its owner's queue, unless it is queued."""
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
        """Cancel all jobs and stop the threads."""
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
            except BaseException:  # a dying thread would stall this job's tab and all others
                job.give_up()
            finally:
                self._put_back(job)
            del job  # free its results while the thread waits for another one

    def _next_job(self) -> Job | None:
        """Wait for the next job that is ready; None if the thread is to stop."""
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
        """Return the first job of the first idle owner, and move the owner to the end."""
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
"""Layouts and other computations of all tabs: one at a time, as each uses all cores or the GPU."""

FILES = JobPool("genoviz-files", n_threads=N_FILE_THREADS)
"""Reading, writing and answers to questions, which would delay the kernels."""


def describe_problem(error: Exception | None) -> str:
    """Return an error as one sentence for the user, never a traceback."""
    if isinstance(error, GenovizError):
        text = str(error)
        return text if text.endswith((".", "!", "?")) else f"{text}."
    if isinstance(error, MemoryError):
        return "There is not enough memory on the server for this."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The server's disk is full."
    name = type(error).__name__
    return f"Something unexpected went wrong ({name}); the server's log has the details."
