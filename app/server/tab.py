"""A tab as the server sees it: its jobs and their turn, its limits, uploads and problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import param

from genoviz.model.temporary_file import TemporaryFolder
from genoviz_app.opening.files import FileCache
from genoviz_app.opening.served_files import safe_name
from genoviz_app.parts.words import n_words, shorten_middle
from genoviz_app.server.jobs import FILES, KERNELS, Job, JobPool
from genoviz_app.server.limits import GB, TAB, Limits, Quota, Share, first_jobs, iter_while

WAITING_SECONDS = 1.0

MAX_PROBLEMS, MAX_SENTENCE = 8, 600
"""Maximum number of problem lines (the newest are kept), and length of each."""


class _Followed:
    """A job, and the callback for its progress and result."""

    def __init__(self, job: Job, follow: Callable[[Job], None]) -> None:
        self.job, self._follow, self._n_seen = job, follow, 0

    def look(self, *, has_ended: bool) -> None:
        """Call the callback if there is progress, or at the end."""
        n_snapshots = self.job.n_snapshots
        if has_ended or n_snapshots != self._n_seen:
            self._n_seen = n_snapshots
            self._follow(self.job)


class Tab(param.Parameterized):
    """A tab that runs jobs, keeps uploads and reports problems.

    Parameters
    ----------
    folders
        If not empty, only files below these folders can be opened.
    limits
        Resource limits of the tab.
    quota
        Resource limits shared with the other tabs of its group; None without a group.
    """

    waiting = param.String(doc="For how many jobs of others a job waits; empty when for none.")
    problem = param.String(doc="What went wrong last, as one sentence; empty when nothing.")

    _all: ClassVar[WeakSet[Tab]] = WeakSet()

    def __init__(
        self,
        *,
        folders: tuple[Path, ...] = (),
        limits: Limits = TAB,
        quota: Quota | None = None,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.folders, self.limits, self.quota = folders, limits, quota
        self._all.add(self)
        self._jobs: list[Job] = []
        self._followed: list[_Followed] = []
        self.watched: dict[Any, None] = {}
        """What `poll` looks at, in the order of its start, until it removes itself."""
        self._next_waiting = 0.0
        self._uploads: TemporaryFolder | None = None
        self.is_closed = False
        self.follows_link = False  # until everything that the link names is open

    def submit(
        self,
        steps: Iterator[Any],
        *,
        title: str,
        pool: JobPool = KERNELS,
        follow: Callable[[Job], None] | None = None,
        about: str = "",
    ) -> Job:
        """Run a generator as a job of this tab; it is cancelled when the tab closes.

        Parameters
        ----------
        steps
            The generator.
        title
            Description of the job. Everybody may see it, so it must not name files.
        pool
            Where to compute.
        follow
            Called with the job from `poll` after progress, and at its end; an idle job is not
            polled.
        about
            Detailed description for the log.
        """
        own: list[Job] = []
        if self._is_counted(pool):
            steps = iter_while(lambda: any(job in self._first_of_group() for job in own), steps)
        minutes = self.limits.job_minutes
        job = pool.submit(steps, title=title, owner=self, about=about, max_minutes=minutes)
        own.append(job)
        self._jobs = [*(other for other in self._jobs if not other.has_ended), job]
        if follow is not None:
            self._followed.append(_Followed(job, follow))
        return job

    @property
    def shares(self) -> tuple[Share, ...]:
        """The memory budgets of the tab: its own, and that of its group."""
        found, of_tab = [], self.limits.memory_gigabytes
        if of_tab is not None:
            remedy = "open it in a tab of its own, or close files in this one"
            found.append(Share("this tab", of_tab * GB, (self,), remedy))
        of_group = None if self.quota is None else self.quota.limits.memory_gigabytes
        if of_group is not None:
            remedy = "close files or tabs of this group first"
            found.append(Share(self.quota.words, of_group * GB, self._group(), remedy))
        return tuple(found)

    def max_rows(self, shown: int) -> int:
        """Return the maximum number of rows of a result, of which a page can show so many."""
        rows = self.limits.rows
        return shown if rows is None else min(rows, shown)

    def _group(self) -> tuple[Tab, ...]:
        """Return all open tabs of the group."""
        found = (tab for tab in tuple(self._all) if tab.quota == self.quota)
        return tuple(tab for tab in found if not tab.is_closed)

    def _is_counted(self, pool: JobPool) -> bool:
        return self.quota is not None and self.quota.limits.jobs is not None and pool is not FILES

    def _first_of_group(self) -> list[Job]:
        """Return the jobs of the group that may run now."""
        jobs = (job for tab in self._group() for job in tab._jobs if self._is_counted(job.pool))
        return first_jobs(jobs, self.quota.limits.jobs)

    @property
    def _awaits_group(self) -> bool:
        """Whether a job of the tab waits for others of its group."""
        if not self._is_counted(KERNELS):
            return False
        first = self._first_of_group()
        return any(job.can_run and job not in first for job in self._jobs if job.pool is not FILES)

    def upload_path(self, name: str) -> Path:
        """Return the path where an uploaded file is kept until the tab closes."""
        if self._uploads is None or not self._uploads.path.is_dir():
            self._forget_uploads()  # the folder was removed by somebody else
            self._uploads = TemporaryFolder("genoviz-uploads")
        return self._uploads.path / safe_name(name) if name else self._uploads.path

    def complain(self, sentence: str) -> None:
        """Report a problem, in addition to earlier ones, each once and on its own line."""
        told = self.problem.splitlines()
        sentence = "\n".join(shorten_middle(line, MAX_SENTENCE) for line in sentence.splitlines())
        if not set(sentence.splitlines()) <= {*told}:
            self.problem = "\n".join((*told[1 - MAX_PROBLEMS :], sentence))

    def forget_problem(self) -> None:
        """Clear the reported problems before a new action.

        An action that follows a link does not clear the problems of the rest of the link.
        """
        if not self.follows_link:
            self.problem = ""

    @contextmanager
    def following(self) -> Iterator[None]:
        """Mark everything that is started within the context as following a link."""
        before, self.follows_link = self.follows_link, True
        try:
            yield
        finally:
            self.follows_link = before

    @property
    def is_busy(self) -> bool:
        """Whether a job of this tab runs or waits."""
        return any(job.can_run for job in self._jobs)

    @property
    def awaits_jobs(self) -> bool:
        """Whether the next `poll` may have a job result to process."""
        return bool(self._followed) or self.is_busy

    def poll(self) -> None:
        """Process the results of jobs, and what waits; called some twenty times per second."""
        for each in tuple(self._followed):
            has_ended = each.job.has_ended
            if has_ended:
                self._followed.remove(each)
            each.look(has_ended=has_ended)
        for each in tuple(self.watched):
            each.look()
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        """Update the waiting message once per second, because turns change more often."""
        if time.monotonic() < self._next_waiting:
            return
        n_before = max((job.n_before for job in self._jobs), default=0)
        words = f"waiting for {n_words(n_before, 'other job')}" if n_before else ""
        if self._awaits_group:
            words = f"waiting for other jobs of {self.quota.words}"
        if words != self.waiting:
            self._next_waiting = time.monotonic() + WAITING_SECONDS
            self.waiting = words

    def free_results(self) -> None:
        """Free the results of jobs that have ended."""
        self._jobs = [job for job in self._jobs if not job.has_ended]

    def close(self) -> None:
        """Cancel the jobs of the tab and remove its uploads."""
        self.is_closed = True
        for job in self._jobs:
            job.cancel()
        self.free_results()
        self._followed = []
        self.watched.clear()
        self._forget_uploads()

    def _forget_uploads(self) -> None:
        if self._uploads is not None:
            self._uploads.remove()
            FileCache.forget_below(self._uploads.path)
