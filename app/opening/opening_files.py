"""Base classes for opening files in a tab: one job at a time, with progress and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import param

from genoviz.collection.members import GraphMember
from genoviz_app.opening.files import (
    OPENING,
    OpeningProgress,
    iter_after_writing,
    iter_open_source,
)
from genoviz_app.server.jobs import FILES, Job, JobPool, JobState, describe_problem
from genoviz_app.server.tab import Tab


class OpeningFiles(param.Parameterized):
    """Opens files one at a time; subclasses keep what was opened.

    Parameters
    ----------
    session
        The session that runs the jobs and shows problems.
    """

    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the opening is; None when idle."
    )
    pool: JobPool = FILES
    contents = "a file"
    iter_open: Callable[..., Iterator[Any]]
    """Opens a path with a ``source`` and a ``title``; the last step has the result."""

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(**params)
        self._session = session
        self._job: Job | None = None

    @property
    def is_opening(self) -> bool:
        """Whether something is being opened."""
        return self._job is not None

    def open(self, source: str) -> None:
        """Open a sample by name, or a file on the server by path."""
        steps = iter_open_source(source, self._session.folders, self.iter_open)
        self.begin(steps, Path(source).name or self.contents)

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Open an uploaded file, which is kept until the tab closes."""
        name = Path(name).name
        path = self._session.upload_path(name)
        self.begin(iter_after_writing(path, content, self.iter_open(path, title=name)), name)

    def begin(self, steps: Iterator[Any], title: str) -> None:
        """Start an opening; the last step has the result."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Cancel the current opening; open files stay open."""
        if self._job is not None:
            self._job.cancel()
        self._job = self.opening = None

    def _on_job(self, job: Job) -> None:
        """Store the result of the opening."""
        if job is not self._job:  # cancelled or replaced
            return
        if not job.has_ended:
            if job.snapshot is not None:
                self.opening = job.snapshot
            return
        self._job = self.opening = None
        if job.state is JobState.FAILED:
            self._session.complain(describe_problem(job.error))
        elif job.state is JobState.FINISHED:
            self.keep(job.snapshot.opened)

    def keep(self, opened: Any) -> None:
        """Store what was opened."""
        raise NotImplementedError

    def _submit(self, steps: Iterator[Any], title: str) -> None:
        self.opening = OpeningProgress(f"Opening {GraphMember.at(Path(title)).title}")
        self._job = self._session.submit(
            steps, title=OPENING, pool=self.pool, follow=self._on_job, about=f"open {title}"
        )


class OpeningFile(OpeningFiles):
    """Opens one file; the content of the last is kept in ``opened``, which subclasses define."""

    @property
    def source(self) -> str:
        """Source for reopening it; "" if a link cannot name it."""
        return "" if self.opened is None else self.opened.source

    def keep(self, opened: Any) -> None:
        """Store what was opened."""
        self.opened = opened

    def begin(self, steps: Iterator[Any], title: str, *, keeps_problem: bool = False) -> None:
        """Start an opening; the last step has the result.

        It clears the problem that is shown, unless that is of what was opened just before.
        """
        self.cancel()
        if not keeps_problem:
            self._session.forget_problem()
        self._submit(steps, title)
